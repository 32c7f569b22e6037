// @openai/agents-realtime in Node, over a WebSocket, as a client program.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { runFeatures } from "../shared/reporting.mjs";
import { featuresOf } from "./agents.mjs";

const file = join(process.env.CLIENT_PACKAGES, "@openai", "agents-realtime", "dist", "index.mjs");
const api = await import(pathToFileURL(file));

async function connection(settings, options) {
  const base = options?.tls ? settings.tls_url : settings.url;
  const url = `${base.replace("http", "ws")}/realtime?model=repartee`;
  return { transport: new api.OpenAIRealtimeWebSocket({ url }), apiKey: "none" };
}

const settings = JSON.parse(process.argv[2]);
settings.speech = new Uint8Array(await readFile(settings.speech));
const features = featuresOf(api, connection);
features.TLS = (given) => featuresOf(api, (one) => connection(one, { tls: true })).text(given);
await runFeatures(features, settings, (line) => console.log(line));
process.exit(0);
