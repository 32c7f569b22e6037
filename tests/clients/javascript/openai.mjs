// The npm package openai as a client program. It forces wss://, so everything goes over TLS.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import * as shared from "../shared/reporting.mjs";

const { assert, refusal, runFeatures, sleep, speak, Missing } = shared;
const folder = join(process.env.CLIENT_PACKAGES, "openai");
const load = (file) => import(pathToFileURL(join(folder, file)));
const { OpenAI } = await load("index.mjs");
const { OpenAIRealtimeWS } = await load("realtime/ws.mjs");

class Talk {
  constructor(settings, apiKey = "none", props = { model: "repartee" }) {
    this.events = [];
    this.waiting = new Set();
    const client = new OpenAI({ baseURL: settings.tls_url, apiKey });
    this.connection = new OpenAIRealtimeWS(props, client);
    this.connection.on("event", (event) => {
      this.events.push(event);
      this.wake();
    });
    this.connection.on("error", (error) => {
      this.error = error.error ? refusal(error.error) : error;
      this.wake();
    });
  }

  wake() {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  of(type) {
    return this.events.filter((event) => event.type === type);
  }

  async until(type, count = 1) {
    for (;;) {
      const found = this.of(type);
      if (found.length >= count) return found[count - 1];
      if (this.error) throw this.error;
      await new Promise((resolve) => this.waiting.add(resolve));
    }
  }

  send(type, fields = {}) {
    this.connection.send({ type, ...fields });
  }

  write(text, fields = {}) {
    const item = { type: "message", role: "user", content: [{ type: "input_text", text }], ...fields };
    this.send("conversation.item.create", { item });
  }

  async update(session) {
    this.send("session.update", { session: { type: "realtime", ...session } });
    return (await this.until("session.updated")).session;
  }

  async answer(response, count = 1) {
    this.send("response.create", response ? { response } : {});
    return (await this.until("response.done", count)).response;
  }

  speak(speech) {
    return speak(speech, (block) =>
      this.send("input_audio_buffer.append", { audio: Buffer.from(block).toString("base64") }),
    );
  }
}

async function talking(settings, test, ...options) {
  const talk = new Talk(settings, ...options);
  try {
    await talk.until("session.created");
    await test(talk);
  } finally {
    talk.connection.close();
  }
}

function textOf(response) {
  const part = response.output.at(-1).content[0];
  return part.transcript ?? part.text;
}

const features = {
  text: (settings) =>
    talking(settings, async (talk) => {
      talk.write("What time is it?");
      const done = await talk.answer({ output_modalities: ["text"] });
      assert(textOf(done) === shared.ANSWER, textOf(done));
    }),
  speech: (settings) =>
    talking(settings, async (talk) => {
      const stop = talk.speak(settings.speech);
      const done = (await talk.until("response.done")).response;
      stop();
      assert(textOf(done) === shared.ANSWER, textOf(done));
      const heard = talk.of("conversation.item.input_audio_transcription.completed")[0].transcript;
      assert(heard.toLowerCase() === shared.QUESTION, heard);
    }),
  "stalled network": (settings) => features.speech({ ...settings, tls_url: settings.stalled_tls_url }),
  "function call": (settings) =>
    talking(settings, async (talk) => {
      await talk.update({ tools: [shared.LAMP], output_modalities: ["text"] });
      talk.write(shared.LAMP_REQUEST);
      const call = (await talk.answer()).output[0];
      assert(call.type === "function_call" && call.name === "set_lamp", JSON.stringify(call));
      talk.send("conversation.item.create", {
        item: { type: "function_call_output", call_id: call.call_id, output: "done" },
      });
      assert(textOf(await talk.answer(undefined, 2)) === shared.LAMP_ANSWER, "the answer after the call");
    }),
  interruption: (settings) =>
    talking(settings, async (talk) => {
      talk.write(shared.STORY_REQUEST);
      talk.send("response.create");
      await talk.until("response.output_audio.delta", 5);
      const stop = talk.speak(settings.speech);
      const done = (await talk.until("response.done")).response;
      assert((await talk.until("conversation.item.truncated")).item_id === done.output[0].id, "the truncated item");
      stop();
    }),
  "truncation by the client": (settings) =>
    talking(settings, async (talk) => {
      talk.write(shared.STORY_REQUEST);
      talk.send("response.create");
      const { item_id } = await talk.until("response.output_audio.delta", 12);
      talk.send("conversation.item.truncate", { item_id, content_index: 0, audio_end_ms: 400 });
      assert((await talk.until("conversation.item.truncated")).audio_end_ms === 400, "the cut");
      talk.send("response.cancel");
      assert((await talk.until("response.done")).response.status === "cancelled", "the status");
    }),
  "session settings": (settings) =>
    talking(settings, async (talk) => {
      const turn_detection = { type: "server_vad", silence_duration_ms: 400 };
      const session = await talk.update({ instructions: "Be brief.", audio: { input: { turn_detection } } });
      assert(session.instructions === "Be brief.", session.instructions);
      assert(session.audio.input.turn_detection.silence_duration_ms === 400, "the silence");
    }),
  "response out of band": (settings) =>
    talking(settings, async (talk) => {
      const message = { type: "message", role: "user", content: [{ type: "input_text", text: "What time is it?" }] };
      const metadata = { topic: "time" };
      const done = await talk.answer({ conversation: "none", input: [message], output_modalities: ["text"], metadata });
      assert(textOf(done) === shared.ANSWER && done.metadata.topic === "time", JSON.stringify(done));
    }),
  image: (settings) =>
    talking(settings, async (talk) => {
      talk.write("", { content: [{ type: "input_image", image_url: shared.PIXEL }] });
      assert(textOf(await talk.answer({ output_modalities: ["text"] })) === shared.IMAGE_ANSWER, "the answer");
    }),
  "sound in a message": (settings) =>
    talking(settings, async (talk) => {
      const audio = Buffer.from(settings.speech).toString("base64");
      talk.write("", { content: [{ type: "input_audio", audio }] });
      assert(textOf(await talk.answer({ output_modalities: ["text"] })) === shared.ANSWER, "the answer");
    }),
  retrieval: (settings) =>
    talking(settings, async (talk) => {
      talk.write("What time is it?", { id: "mine" });
      talk.send("conversation.item.retrieve", { item_id: "mine" });
      const { item } = await talk.until("conversation.item.retrieved");
      assert(item.content[0].text === "What time is it?", JSON.stringify(item));
    }),
  "retrieval of sound": (settings) =>
    talking(settings, async (talk) => {
      const stop = talk.speak(settings.speech);
      const { item_id } = await talk.until("input_audio_buffer.committed");
      await talk.until("response.done");
      stop();
      talk.send("conversation.item.retrieve", { item_id });
      const { item } = await talk.until("conversation.item.retrieved");
      if (!item.content[0].audio) throw new Missing("the item has no sound");
    }),
  "turns by the client": (settings) =>
    talking(settings, async (talk) => {
      await talk.update({ audio: { input: { turn_detection: null } } });
      const stop = talk.speak(settings.speech);
      await sleep(2200);
      stop();
      talk.send("input_audio_buffer.commit");
      assert(textOf(await talk.answer()) === shared.ANSWER, "the answer");
    }),
  greeting: (settings) =>
    talking(settings, async (talk) => {
      await talk.update({ instructions: "Greet the user first.", output_modalities: ["text"] });
      assert(textOf(await talk.answer()) === shared.GREETING, "the greeting");
    }),
  "transcription session": (settings) =>
    talking(
      settings,
      async (talk) => {
        const input = { transcription: { model: "gpt-4o-transcribe" } };
        talk.send("session.update", { session: { type: "transcription", audio: { input } } });
        await talk.until("session.updated");
        const stop = talk.speak(settings.speech);
        const heard = await talk.until("conversation.item.input_audio_transcription.completed");
        stop();
        assert(heard.transcript.toLowerCase() === shared.QUESTION, heard.transcript);
      },
      "none",
      { intent: "transcription" },
    ),
  "client secret": async (settings) => {
    const client = new OpenAI({ baseURL: settings.url, apiKey: "none" });
    const secret = await client.realtime.clientSecrets.create({
      session: { type: "realtime", instructions: "Be brief." },
    });
    await talking(
      settings,
      async (talk) => {
        const { session } = talk.of("session.created")[0];
        assert(session.instructions === "Be brief.", session.instructions);
      },
      secret.value,
    );
  },
  TLS: (settings) =>
    talking(settings, async (talk) => {
      assert(talk.connection.url.protocol === "wss:", talk.connection.url);
    }),
};

const settings = JSON.parse(process.argv[2]);
settings.speech = new Uint8Array(await readFile(settings.speech));
await runFeatures(features, settings, (line) => console.log(line));
process.exit(0);
