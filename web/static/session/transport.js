/** Chooses how the page connects. Pure. */

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * On this machine no packet is lost, and a WebSocket is simpler. Elsewhere WebRTC does not wait for lost packets.
 * @param {string} preference "auto", "websocket" or "webrtc"
 * @param {string} host of the page
 * @param {boolean} supported whether the browser has WebRTC
 * @returns {"websocket" | "webrtc"}
 */
export function chooseTransport(preference, host, supported) {
  if (!supported || preference === "websocket") return "websocket";
  return preference === "webrtc" || !LOOPBACK.has(host) ? "webrtc" : "websocket";
}
