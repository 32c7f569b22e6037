// @openai/agents-realtime in Node, over a WebSocket, as a client program.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { MCP_REQUEST, runFeatures } from "../shared/reporting.mjs";
import { errorOf, featuresOf } from "./agents.mjs";

const load = (name) =>
  import(pathToFileURL(join(process.env.CLIENT_PACKAGES, "@openai", name, "dist", "index.mjs")));
const api = await load("agents-realtime");
const { hostedMcpTool } = await load("agents-core");

async function connection(settings, options) {
  const base = options?.tls ? settings.tls_url : settings.url;
  const url = `${base.replace("http", "ws")}/realtime?model=repartee`;
  return { transport: new api.OpenAIRealtimeWebSocket({ url }), apiKey: "none" };
}

const settings = JSON.parse(process.argv[2]);
settings.speech = new Uint8Array(await readFile(settings.speech));
const features = featuresOf(api, connection);
features.TLS = (given) => featuresOf(api, (one) => connection(one, { tls: true })).text(given);
features["MCP tool"] = async (given) => {
  const { transport, apiKey } = await connection(given);
  const orders = hostedMcpTool({ serverLabel: "orders", serverUrl: given.mcp_url, requireApproval: "never" });
  const agent = new api.RealtimeAgent({ name: "butler", instructions: "Be brief.", tools: [orders] });
  const session = new api.RealtimeSession(agent, { transport, apiKey, tracingDisabled: true });
  const called = new Promise((resolve, reject) => {
    session.on("mcp_tools_changed", () => session.sendMessage(MCP_REQUEST));
    session.on("mcp_tool_call_completed", resolve);
    session.on("error", ({ error }) => reject(errorOf(error)));
  });
  try {
    await session.connect({ apiKey });
    await called;
  } finally {
    session.close();
  }
};
await runFeatures(features, settings, (line) => console.log(line));
process.exit(0);
