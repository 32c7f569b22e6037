// The npm package openai-realtime-api, which knows only the protocol's beta, as a client program.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import * as shared from "../shared/reporting.mjs";

const { assert, refusal, runFeatures, sleep, speak } = shared;
const file = join(process.env.CLIENT_PACKAGES, "openai-realtime-api", "dist", "index.js");
const { RealtimeClient } = await import(pathToFileURL(file));

async function talking(settings, test, { session, tool } = {}) {
  const url = `${settings.url.replace("http", "ws")}/realtime`;
  const sessionConfig = { turn_detection: { type: "server_vad" }, ...session };
  const client = new RealtimeClient({ url, model: "repartee", apiKey: "none", sessionConfig });
  const talk = { client, sounds: 0, done: [], updated: [], cut: false, failure: null };
  client.realtime.on("server.response.audio.delta", () => (talk.sounds += 1));
  client.realtime.on("server.response.done", ({ response }) => talk.done.push(response));
  client.realtime.on("server.session.updated", (event) => talk.updated.push(event.session));
  client.realtime.on("server.conversation.item.truncated", () => (talk.cut = true));
  client.realtime.on("server.error", ({ error }) => (talk.failure = refusal(error)));
  talk.until = async (holds) => {
    while (!holds()) {
      if (talk.failure) throw talk.failure;
      await sleep(20);
    }
  };
  talk.said = (role) => {
    const items = client.conversation.getItems().filter((item) => item.role === role);
    return items.at(-1)?.formatted.transcript || items.at(-1)?.formatted.text || "";
  };
  talk.say = () => speak(settings.speech, (block) => client.appendInputAudio(new Int16Array(block.buffer)));
  if (tool) client.addTool(shared.LAMP, tool);
  try {
    await client.connect();
    await client.waitForSessionCreated();
    await talk.until(() => talk.updated.length);
    await test(talk);
  } finally {
    client.disconnect();
  }
}

const ask = (talk, text) => talk.client.sendUserMessageContent([{ type: "input_text", text }]);

async function speech(settings) {
  await talking(settings, async (talk) => {
    const stop = talk.say();
    await talk.until(() => talk.done.some(({ status }) => status === "completed"));
    stop();
    assert(talk.said("user").toLowerCase() === shared.QUESTION, talk.said("user"));
    assert(talk.said("assistant") === shared.ANSWER && talk.sounds > 0, talk.said("assistant"));
  });
}

const features = {
  text: (settings) =>
    talking(settings, async (talk) => {
      ask(talk, "What time is it?");
      await talk.until(() => talk.done.length);
      assert(talk.said("assistant") === shared.ANSWER, talk.said("assistant"));
    }),
  speech: (settings) => speech(settings),
  "stalled network": (settings) => speech({ ...settings, url: settings.stalled_url }),
  "function call": (settings) =>
    talking(
      settings,
      async (talk) => {
        ask(talk, shared.LAMP_REQUEST);
        await talk.until(() => talk.said("assistant") === shared.LAMP_ANSWER);
      },
      { tool: async () => "done" },
    ),
  interruption: (settings) =>
    talking(settings, async (talk) => {
      ask(talk, shared.STORY_REQUEST);
      await talk.until(() => talk.sounds > 4);
      const stop = talk.say();
      await talk.until(() => talk.cut);
      stop();
    }),
  "truncation by the client": (settings) =>
    talking(settings, async (talk) => {
      ask(talk, shared.STORY_REQUEST);
      await talk.until(() => talk.sounds > 11);
      const { id } = talk.client.conversation.getItems().at(-1);
      talk.client.realtime.send("conversation.item.truncate", { item_id: id, content_index: 0, audio_end_ms: 400 });
      await talk.until(() => talk.cut);
    }),
  "session settings": (settings) =>
    talking(
      settings,
      async (talk) => {
        const [session] = talk.updated;
        assert(session.instructions === "Be brief." && session.modalities.length === 1, JSON.stringify(session));
        assert(session.input_audio_format === "g711_ulaw", session.input_audio_format);
        ask(talk, "What time is it?");
        await talk.until(() => talk.done.length);
        assert(talk.said("assistant") === shared.ANSWER, talk.said("assistant"));
      },
      { session: { instructions: "Be brief.", modalities: ["text"], input_audio_format: "g711_ulaw" } },
    ),
  greeting: (settings) =>
    talking(
      settings,
      async (talk) => {
        talk.client.createResponse();
        await talk.until(() => talk.done.length);
        assert(talk.said("assistant") === shared.GREETING, talk.said("assistant"));
      },
      { session: { instructions: "Greet the user first." } },
    ),
};

const settings = JSON.parse(process.argv[2]);
settings.speech = new Uint8Array(await readFile(settings.speech));
await runFeatures(features, settings, (line) => console.log(line));
process.exit(0);
