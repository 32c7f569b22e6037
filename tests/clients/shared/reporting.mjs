// What all JavaScript client programs share: see reporting.py. Runs in Node and in a browser.

export const QUESTION = "what time is it";
export const ANSWER = "It is noon.";
export const STORY_REQUEST = "Tell me the long story.";
export const LAMP_REQUEST = "Switch the lamp on.";
export const LAMP_ANSWER = "The lamp is on.";
export const GREETING = "Welcome to the castle.";
export const IMAGE_ANSWER = "I see a picture.";
export const MCP_REQUEST = "How is the weather in Oslo?";
export const LAMP = {
  type: "function",
  name: "set_lamp",
  description: "Switches the lamp.",
  parameters: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
};
export const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

const LIMIT_MS = 40_000;
const AT_ONCE = 3;
const BLOCK_MS = 100;
const BLOCK_BYTES = 4800;

/** The server refused what the feature needs with an error of the protocol. */
export class Refused extends Error {}

/** The server gave an answer, but without what the feature is for. */
export class Missing extends Error {}

export function refusal(error) {
  return new Refused(`${error.code}: ${error.param ?? error.message}`);
}

export function assert(holds, what) {
  if (!holds) throw new Error(`not so: ${what}`);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Says the speech (a Uint8Array of 24 kHz PCM), then silence, in real time until the returned function is called. */
export function speak(speech, send) {
  let at = 0;
  let ended = false;
  (async () => {
    let due = Date.now();
    while (!ended) {
      const block = new Uint8Array(BLOCK_BYTES);
      block.set(speech.subarray(at, at + BLOCK_BYTES));
      at += BLOCK_BYTES;
      send(block);
      due += BLOCK_MS;
      await sleep(Math.max(0, due - Date.now()));
    }
  })();
  return () => {
    ended = true;
  };
}

/** Runs features, a few at a time; `report` gets a line for each. */
export async function runFeatures(features, settings, report) {
  const only = settings.only?.length ? new Set(settings.only) : null;
  const waiting = Object.entries(features).filter(([name]) => !only || only.has(name));
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) report(await outcome(next[0], next[1], settings));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function outcome(feature, test, settings) {
  const began = Date.now();
  let answer = "works";
  let detail = "";
  let timer;
  try {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("timed out")), LIMIT_MS);
    });
    await Promise.race([test(settings), late]);
  } catch (error) {
    answer = error instanceof Refused ? "refused" : error instanceof Missing ? "missing" : "failed";
    detail = answer === "failed" ? String(error?.stack ?? JSON.stringify(error)) : error.message;
  }
  clearTimeout(timer);
  return JSON.stringify({ feature, answer, detail, s: Math.round((Date.now() - began) / 100) / 10 });
}
