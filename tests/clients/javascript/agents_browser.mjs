// @openai/agents-realtime in a browser, with a client secret: over a WebSocket, and over WebRTC.

import { QUESTION, Refused, assert, runFeatures, sleep } from "../shared/reporting.mjs";
import { clientSecret, featuresOf } from "./agents.mjs";

export async function run(settings, report) {
  const api = await import("/client/packages/@openai/agents-realtime/dist/bundle/openai-realtime-agents.mjs");
  const speech = await fetch("/client/speech.pcm");
  settings.speech = new Uint8Array(await speech.arrayBuffer());

  async function connection(given) {
    const url = `${given.url.replace("http", "ws")}/realtime?model=repartee`;
    return { transport: new api.OpenAIRealtimeWebSocket({ url }), apiKey: await clientSecret(given) };
  }

  const features = featuresOf(api, connection);
  features["client secret"] = features.text;
  // One after the other, because calls share the microphone, which speaks only now and then.
  let before = Promise.resolve();
  const inTurn = (test) => (given) => (before = before.catch(() => {}).then(() => test(given)));
  features.WebRTC = inTurn((given) => webRtc(api, given));
  features["stalled WebRTC"] = inTurn((given) => stalledWebRtc(api, given));
  await runFeatures(features, settings, report);
}

/** Calls the server. Returns its session, transport and events, and a function that waits for some of them. */
async function call(api, settings, baseUrl) {
  const apiKey = await clientSecret(settings);
  const agent = new api.RealtimeAgent({ name: "butler", instructions: "Be brief." });
  const transport = new api.OpenAIRealtimeWebRTC({ baseUrl, audioElement: document.createElement("audio") });
  const session = new api.RealtimeSession(agent, { apiKey, transport, tracingDisabled: true });
  const events = [];
  session.on("transport_event", (event) => events.push(event));
  const until = async (type, count = 1) => {
    for (;;) {
      const found = events.filter((event) => event.type === type);
      if (found.length >= count) return found[count - 1];
      await sleep(20);
    }
  };
  await session.connect({ apiKey });
  return { session, transport, until, count: (type) => events.filter((event) => event.type === type).length };
}

const HEARD = "conversation.item.input_audio_transcription.completed";

/** Asks by text and hears the answer; then the microphone, which plays a recording, asks. */
async function webRtc(api, settings) {
  const baseUrl = `${settings.url}/realtime/calls`;
  const probe = await fetch(baseUrl, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: "v=0" });
  if (probe.status === 404) {
    const { error } = await probe.json();
    throw new Refused(`${error.code}: ${baseUrl.replace(/.*\/v1/, "/v1")}`);
  }
  const { session, transport, until } = await call(api, settings, baseUrl);
  session.sendMessage("What time is it?");
  await until("response.done");
  await until("output_audio_buffer.started");
  assert((await until(HEARD)).transcript.toLowerCase() === QUESTION, "the words of the question");
  await until("response.done", 2);
  const stats = await transport.connectionState.peerConnection.getStats();
  const inbound = [...stats.values()].filter((one) => one.type === "inbound-rtp" && one.kind === "audio");
  assert(inbound[0]?.totalAudioEnergy > 0, "the answer is audible");
  session.close();
}

/** The microphone asks, and all packets of the call wait as soon as the first words are heard. */
async function stalledWebRtc(api, settings) {
  const { session, until, count } = await call(api, settings, settings.stalled_calls_url);
  await until("input_audio_buffer.speech_started");
  const began = Date.now();
  navigator.sendBeacon(new URL("/stall", settings.stalled_calls_url));
  assert((await until(HEARD)).transcript.toLowerCase() === QUESTION, "the words of the question");
  assert(Date.now() - began > settings.stall_s * 1000, "the call stalled");
  await until("output_audio_buffer.started");
  await until("response.done");
  assert(count("input_audio_buffer.committed") === 1, "one turn");
  session.close();
}
