// @openai/agents-realtime in a browser, with a client secret: over a WebSocket, and over WebRTC.

import { Refused, assert, runFeatures } from "../shared/reporting.mjs";
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
  features.WebRTC = (given) => webRtc(api, given);
  await runFeatures(features, settings, report);
}

/** Asks by text and hears the answer; then the microphone, which plays a recording, asks. */
async function webRtc(api, settings) {
  const baseUrl = `${settings.url}/realtime/calls`;
  const probe = await fetch(baseUrl, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: "v=0" });
  if (probe.status === 404) {
    const { error } = await probe.json();
    throw new Refused(`${error.code}: ${baseUrl.replace(/.*\/v1/, "/v1")}`);
  }
  const apiKey = await clientSecret(settings);
  const agent = new api.RealtimeAgent({ name: "butler", instructions: "Be brief." });
  const transport = new api.OpenAIRealtimeWebRTC({ baseUrl, audioElement: document.createElement("audio") });
  const session = new api.RealtimeSession(agent, { apiKey, transport, tracingDisabled: true });
  const events = [];
  session.on("transport_event", (event) => events.push(event));
  const until = async (holds) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await session.connect({ apiKey });
  session.sendMessage("What time is it?");
  await until(() => events.some((event) => event.type === "response.done"));
  await until(() => events.some((event) => event.type === "output_audio_buffer.started"));
  await until(() => events.some((event) => event.type === "conversation.item.input_audio_transcription.completed"));
  await until(() => events.filter((event) => event.type === "response.done").length > 1);
  const stats = await transport.connectionState.peerConnection.getStats();
  const inbound = [...stats.values()].filter((one) => one.type === "inbound-rtp" && one.kind === "audio");
  assert(inbound[0]?.totalAudioEnergy > 0, "the answer is audible");
  session.close();
}
