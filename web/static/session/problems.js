/** Texts of problems: one sentence says what happened, the next what to do. Pure. */

/**
 * @typedef {object} Problem
 * @property {string} what
 * @property {string} remedy
 * @property {"reconnect" | "microphone" | "audio" | "token" | "start"} [action] action of its button
 */

/** @type {Record<string, Problem>} */
export const PROBLEMS = {
  "no-microphone": {
    what: "No microphone was found.",
    remedy: "Connect one, and the page will use it. Until then you can type.",
    action: "microphone",
  },
  "denied": {
    what: "The browser does not let this page use the microphone.",
    remedy: "Allow it in the site settings next to the address, then try again. Until then you can type.",
    action: "microphone",
  },
  "busy": {
    what: "The microphone could not be opened.",
    remedy: "Another program may be using it. Close that program, or choose another microphone.",
    action: "microphone",
  },
  "unplugged": {
    what: "The microphone is no longer available.",
    remedy: "It was unplugged, or its permission was withdrawn. Connect it, allow it, or choose another microphone.",
    action: "microphone",
  },
  "device-missing": {
    what: "The chosen microphone was not found.",
    remedy: "The browser's default microphone is used instead.",
  },
  "insecure": {
    what: "Browsers allow a microphone only on secure pages, and this page was loaded over plain HTTP.",
    remedy: "On the server's own machine, open http://localhost:8765. On another machine, first run "
      + "ssh -L 8765:localhost:8765 HOST, then open http://localhost:8765 there. Or start the server with --tls-self-signed.",
  },
  "no-worklet": {
    what: "This browser has no AudioWorklet, so the page can neither record nor play sound.",
    remedy: "Use a current Chrome, Edge or Firefox, or Safari 16.4 or later, over HTTPS or on localhost.",
  },
  "no-sound": {
    what: "The browser could not open the sound device.",
    remedy: "Reload the page. If that does not help, close other programs that may be using the sound card.",
    action: "start",
  },
  "unreachable": {
    what: "The server could not be reached.",
    remedy: "Check that the server runs and that the network works, then try again.",
    action: "again",
  },
  "suspended": {
    what: "The browser has paused the sound.",
    remedy: "Press Resume. If that does not help, close other programs that use the sound card.",
    action: "audio",
  },
  "lost": {
    what: "The connection was lost.",
    remedy: "The page is reconnecting. The server keeps the conversation for a limited time, so that it can continue.",
    action: "reconnect",
  },
  "slow": {
    what: "The network is too slow to send your voice in time.",
    remedy: "Some words may arrive late or be lost. Typed text needs less bandwidth.",
  },
  "not-kept": {
    what: "The server no longer has the previous conversation.",
    remedy: "It keeps a conversation only for a limited time. This is a new conversation, without the text above.",
  },
  "full": {
    what: "The server is full: it accepts no more conversations.",
    remedy: "The page tries again until another conversation ends.",
    action: "reconnect",
  },
  "overloaded": {
    what: "The server is busy: it accepts no further conversation for now.",
    remedy: "The page tries again after the time below.",
    action: "reconnect",
  },
  "loading": {
    what: "The server is still loading its engines.",
    remedy: "The page tries again until the server is ready.",
    action: "reconnect",
  },
  "restarting": {
    what: "The server is shutting down.",
    remedy: "The page tries again, because the server may be restarting.",
    action: "reconnect",
  },
  "idle": {
    what: "The server ended the conversation because it received nothing for too long.",
    remedy: "Start a new one.",
    action: "start",
  },
  "too-long": {
    what: "The conversation has reached the maximum length that the server allows.",
    remedy: "Start a new one.",
    action: "start",
  },
  "token": {
    what: "This server requires a token.",
    remedy: "Ask the person who runs the server for the token. It is the value of REPARTEE_TOKEN.",
    action: "token",
  },
  "refused": {
    what: "The server refused the connection.",
    remedy: "Open the page at the server's own address, or ask the person who runs the server to add this address to "
      + "server.allowed_hosts.",
    action: "start",
  },
  "ended": {
    what: "The server ended the conversation.",
    remedy: "Start a new one.",
    action: "start",
  },
  "reply-failed": {
    what: "The reply failed.",
    remedy: "Say or type it again. If that does not help, the line below names the cause.",
  },
  "overflow": {
    what: "The reply is longer than this page can store.",
    remedy: "A part of it is missing. Ask for a shorter reply.",
  },
};

/** Problems that do not apply to a stopped page. */
export const SESSION_PROBLEMS = [
  "lost", "slow", "full", "overloaded", "loading", "restarting", "not-kept", "suspended", "reply-failed", "unplugged", "denied", "busy", "no-microphone",
];

const BY_EXCEPTION = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  NotFoundError: "no-microphone",
  NotReadableError: "busy",
  AbortError: "busy",
  OverconstrainedError: "device-missing",
};

/**
 * @param {{name: string}} exception thrown by getUserMedia
 * @returns {string} a name in PROBLEMS
 */
export function microphoneProblem(exception) {
  return BY_EXCEPTION[exception.name] ?? "busy";
}

/**
 * Finds a problem that is known before anything is tried.
 * @param {{secure: boolean, worklet: boolean, devices: boolean}} browser
 * @returns {string | null} a name in PROBLEMS
 */
export function browserProblem({ secure, worklet, devices }) {
  if (!secure) return "insecure"; // browsers hide the others from an insecure page
  if (!worklet) return "no-worklet";
  return devices ? null : "no-microphone";
}
