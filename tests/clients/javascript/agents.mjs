// The features of @openai/agents-realtime, for Node and for a browser.

import * as shared from "../shared/reporting.mjs";

const { assert, refusal, sleep, speak, Refused } = shared;

/** Returns the error to throw for one that a session reports. */
export function errorOf(error) {
  const told = error?.error?.error ?? error?.error ?? error;
  return told?.code ? refusal(told) : new Error(`${told?.message ?? JSON.stringify(told)}`);
}

/** A session and its events. */
class Talk {
  constructor(api, agent, transport, apiKey, options = {}) {
    this.events = [];
    this.named = [];
    this.waiting = new Set();
    this.session = new api.RealtimeSession(agent, { apiKey, transport, tracingDisabled: true, ...options });
    this.session.on("transport_event", (event) => this.note(() => this.events.push(event)));
    this.session.on("error", ({ error }) =>
      this.note(() => {
        this.error ??= errorOf(error);
      }),
    );
    for (const name of ["agent_handoff", "agent_tool_end", "guardrail_tripped", "audio_interrupted", "audio"])
      this.session.on(name, (...values) => this.note(() => this.named.push({ name, values })));
    this.session.on("history_updated", () => this.note(() => {}));
    this.apiKey = apiKey;
  }

  note(change) {
    change();
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  of(type) {
    return this.events.filter((event) => event.type === type);
  }

  got(name) {
    return this.named.filter((one) => one.name === name);
  }

  async until(holds) {
    for (;;) {
      const value = holds();
      if (this.error) throw this.error;
      if (value) return value;
      await new Promise((resolve) => this.waiting.add(resolve));
    }
  }

  /** Returns the last message of a role in the history. */
  said(role) {
    const messages = this.session.history.filter((item) => item.type === "message" && item.role === role);
    const part = messages.at(-1)?.content.at(-1);
    return part?.transcript ?? part?.text ?? "";
  }
}

/** Returns the features, given the package and how a session is connected. */
export function featuresOf(api, connection) {
  const agentOf = (options = {}) => new api.RealtimeAgent({ name: "butler", instructions: "Be brief.", ...options });

  async function talking(settings, agent, test, options) {
    const { transport, apiKey } = await connection(settings, options);
    const talk = new Talk(api, agent, transport, apiKey, options?.session);
    try {
      await talk.session.connect({ apiKey });
      await test(talk);
    } finally {
      talk.session.close();
    }
  }

  const say = (talk, speech) => speak(speech, (block) => talk.session.sendAudio(block.buffer));

  return {
    text: (settings) =>
      talking(settings, agentOf(), async (talk) => {
        talk.session.sendMessage("What time is it?");
        await talk.until(() => talk.said("assistant") === shared.ANSWER);
      }),
    speech: (settings) =>
      talking(settings, agentOf(), async (talk) => {
        const stop = say(talk, settings.speech);
        await talk.until(() => talk.said("user").toLowerCase() === shared.QUESTION);
        await talk.until(() => talk.said("assistant") === shared.ANSWER && talk.got("audio").length > 0);
        stop();
      }),
    "stalled network": (settings) =>
      talking({ ...settings, url: settings.stalled_url }, agentOf(), async (talk) => {
        const stop = say(talk, settings.speech);
        await talk.until(() => talk.said("user").toLowerCase() === shared.QUESTION);
        await talk.until(() => talk.said("assistant") === shared.ANSWER);
        assert(talk.of("input_audio_buffer.committed").length === 1, "one turn");
        stop();
      }),
    "function call": async (settings) => {
      const tool = api.tool({
        name: "set_lamp",
        description: "Switches the lamp.",
        parameters: { ...shared.LAMP.parameters, additionalProperties: false },
        strict: true,
        execute: async ({ on }) => (on ? "done" : "off"),
      });
      await talking(settings, agentOf({ tools: [tool] }), async (talk) => {
        talk.session.sendMessage(shared.LAMP_REQUEST);
        const [ended] = await talk.until(() => talk.got("agent_tool_end").length && talk.got("agent_tool_end"));
        assert(ended.values[3] === "done", JSON.stringify(ended.values[3]));
        await talk.until(() => talk.said("assistant") === shared.LAMP_ANSWER);
      });
    },
    interruption: (settings) =>
      talking(settings, agentOf(), async (talk) => {
        talk.session.sendMessage(shared.STORY_REQUEST);
        await talk.until(() => talk.of("response.output_audio.delta").length > 4);
        const stop = say(talk, settings.speech);
        await talk.until(() => talk.got("audio_interrupted").length);
        await talk.until(() => talk.of("conversation.item.truncated").length);
        await talk.until(() => talk.said("assistant") === shared.ANSWER);
        stop();
      }),
    "truncation by the client": (settings) =>
      talking(settings, agentOf(), async (talk) => {
        talk.session.sendMessage(shared.STORY_REQUEST);
        await talk.until(() => talk.of("response.output_audio.delta").length > 11);
        talk.session.interrupt();
        await talk.until(() => talk.of("conversation.item.truncated").length);
        await talk.until(() => talk.of("response.done").length);
      }),
    "session settings": (settings) => {
      const audio = {
        input: {
          format: "g711_ulaw",
          turnDetection: { type: "server_vad", silenceDurationMs: 400 },
          transcription: { model: "gpt-4o-mini-transcribe" },
          noiseReduction: { type: "near_field" },
        },
        output: { voice: "ash", speed: 1.2 },
      };
      return talking(
        settings,
        agentOf(),
        async (talk) => {
          const [{ session }] = await talk.until(() => talk.of("session.updated").length && talk.of("session.updated"));
          assert(session.instructions === "Be brief.", session.instructions);
          assert(session.audio.input.format.type === "audio/pcmu", JSON.stringify(session.audio.input.format));
          assert(session.audio.input.turn_detection.silence_duration_ms === 400, "the silence");
        },
        { session: { config: { audio } } },
      );
    },
    image: (settings) =>
      talking(settings, agentOf(), async (talk) => {
        talk.session.addImage(shared.PIXEL);
        await talk.until(() => talk.said("assistant") === shared.IMAGE_ANSWER);
      }),
    "turns by the client": (settings) =>
      talking(
        settings,
        agentOf(),
        async (talk) => {
          const stop = say(talk, settings.speech);
          await sleep(2200);
          stop();
          talk.session.sendAudio(new ArrayBuffer(4800), { commit: true });
          talk.session.transport.sendEvent({ type: "response.create" });
          await talk.until(() => talk.said("assistant") === shared.ANSWER);
        },
        { session: { config: { audio: { input: { turnDetection: null } } } } },
      ),
    greeting: (settings) =>
      talking(settings, agentOf({ instructions: "Greet the user first." }), async (talk) => {
        talk.session.transport.sendEvent({ type: "response.create" });
        await talk.until(() => talk.said("assistant") === shared.GREETING);
      }),
    handoff: async (settings) => {
      const accountant = new api.RealtimeAgent({ name: "accountant", instructions: "Answer questions about bills." });
      await talking(settings, agentOf({ handoffs: [accountant] }), async (talk) => {
        talk.session.sendMessage("What about my bill?");
        const [handed] = await talk.until(() => talk.got("agent_handoff").length && talk.got("agent_handoff"));
        assert(handed.values[2].name === "accountant", handed.values[2].name);
        await talk.until(() => talk.said("assistant"));
      });
    },
    guardrail: (settings) => {
      const guard = {
        name: "no passwords",
        execute: async ({ agentOutput }) => ({
          tripwireTriggered: agentOutput.includes("swordfish"),
          outputInfo: {},
        }),
      };
      return talking(
        settings,
        agentOf(),
        async (talk) => {
          talk.session.sendMessage("What is the password?");
          await talk.until(() => talk.got("guardrail_tripped").length);
          await talk.until(() => talk.of("response.done").length >= 2); // the reply to the guardrail's own message
        },
        { session: { outputGuardrails: [guard] } },
      );
    },
  };
}

/** Makes a client secret, as a page's own server would. */
export async function clientSecret(settings) {
  const response = await fetch(`${settings.url}/realtime/client_secrets`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer none" },
    body: JSON.stringify({ session: { type: "realtime" } }),
  });
  const body = await response.json();
  if (!response.ok) throw new Refused(`${body.error.code}: ${body.error.param}`);
  return body.value;
}
