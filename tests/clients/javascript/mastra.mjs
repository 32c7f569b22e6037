// The npm package @mastra/voice-openai-realtime as a client program: present events, and settings with the beta's names.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import * as shared from "../shared/reporting.mjs";

const { assert, refusal, runFeatures, sleep, speak } = shared;
const file = join(process.env.CLIENT_PACKAGES, "@mastra", "voice-openai-realtime", "dist", "index.js");
const { OpenAIRealtimeVoice } = await import(pathToFileURL(file));

async function talking(settings, test, tools) {
  const url = `${settings.url.replace("http", "ws")}/realtime`;
  const voice = new OpenAIRealtimeVoice({ url, model: "repartee", apiKey: "none" });
  const talk = { voice, said: "", heard: "", sounds: 0, done: [], updated: [], failure: null };
  voice.on("writing", ({ text, role }) => {
    if (role === "user") talk.heard += text;
    else talk.said += text;
  });
  voice.on("speaking", () => (talk.sounds += 1));
  voice.on("response.done", ({ response }) => talk.done.push(response));
  voice.on("session.updated", ({ session }) => talk.updated.push(session));
  voice.on("error", (event) => (talk.failure = event.error ? refusal(event.error) : event));
  talk.until = async (holds) => {
    while (!holds()) {
      if (talk.failure) throw talk.failure;
      await sleep(20);
    }
  };
  talk.ask = (text) => {
    const content = [{ type: "input_text", text }];
    voice.sendEvent("conversation.item.create", { item: { type: "message", role: "user", content } });
    return voice.answer({});
  };
  talk.say = () => speak(settings.speech, (block) => voice.send(new Int16Array(block.buffer)));
  if (tools) voice.addTools(tools);
  try {
    await voice.connect();
    await talk.until(() => talk.updated.length);
    await test(talk);
  } finally {
    voice.close();
  }
}

async function speech(settings) {
  await talking(settings, async (talk) => {
    const stop = talk.say();
    await talk.until(() => talk.done.some(({ status }) => status === "completed"));
    stop();
    assert(talk.heard.trim().toLowerCase() === shared.QUESTION, talk.heard);
    assert(talk.said.trim() === shared.ANSWER && talk.sounds > 0, talk.said);
  });
}

const features = {
  text: (settings) =>
    talking(settings, async (talk) => {
      await talk.ask("What time is it?");
      await talk.until(() => talk.done.length);
      assert(talk.said.trim() === shared.ANSWER, talk.said);
    }),
  speech: (settings) => speech(settings),
  "stalled network": (settings) => speech({ ...settings, url: settings.stalled_url }),
  "function call": (settings) => {
    const execute = async () => "done";
    const tool = { description: "Switches the lamp.", inputSchema: shared.LAMP.parameters, execute };
    return talking(
      settings,
      async (talk) => {
        await talk.ask(shared.LAMP_REQUEST);
        await talk.until(() => talk.said.trim() === shared.LAMP_ANSWER);
      },
      { set_lamp: tool },
    );
  },
  interruption: (settings) =>
    talking(settings, async (talk) => {
      await talk.ask(shared.STORY_REQUEST);
      await talk.until(() => talk.sounds > 4);
      let cut = false;
      talk.voice.on("openAIRealtime:conversation.item.truncated", () => (cut = true));
      const stop = talk.say();
      await talk.until(() => cut);
      stop();
    }),
  "session settings": (settings) =>
    talking(settings, async (talk) => {
      talk.voice.updateConfig({ voice: "ash", turn_detection: { type: "server_vad", silence_duration_ms: 400 } });
      await talk.until(() => talk.updated.length > 1);
      assert(talk.updated[1].audio.input.turn_detection.silence_duration_ms === 400, "the silence");
    }),
  greeting: (settings) =>
    talking(settings, async (talk) => {
      await talk.voice.speak("Greet the user.", { speaker: "ash" });
      await talk.until(() => talk.done.length);
      assert(talk.said.trim() === shared.GREETING, talk.said);
    }),
};

const settings = JSON.parse(process.argv[2]);
settings.speech = new Uint8Array(await readFile(settings.speech));
await runFeatures(features, settings, (line) => console.log(line));
process.exit(0);
