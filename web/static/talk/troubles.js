/** Texts of problems: one sentence for the problem, one for the remedy. Pure. */

/**
 * @typedef {object} Trouble
 * @property {string} what
 * @property {string} remedy
 * @property {"reconnect" | "microphone" | "sound" | "token" | "start"} [action] action of its button
 */

/** @type {Record<string, Trouble>} */
export const TROUBLES = {
  "no-microphone": {
    what: "No microphone was found.",
    remedy: "Plug one in: it is taken up by itself. Until then you can type.",
    action: "microphone",
  },
  "denied": {
    what: "The browser does not let this page use the microphone.",
    remedy: "Allow it in the site settings, beside the address, then try again. Until then you can type.",
    action: "microphone",
  },
  "busy": {
    what: "The microphone could not be opened.",
    remedy: "Another program may hold it: close that one, or choose another microphone.",
    action: "microphone",
  },
  "unplugged": {
    what: "The microphone went away.",
    remedy: "It was unplugged, or its permission was withdrawn. Plug it in, allow it, or choose another one.",
    action: "microphone",
  },
  "wish": {
    what: "The microphone that was chosen is not there.",
    remedy: "The browser's choice is used instead.",
  },
  "insecure": {
    what: "Browsers give a microphone only to secure pages, and this one came over plain HTTP.",
    remedy: "Open it as http://localhost on the server's own machine (ssh -L 8765:localhost:8765 HOST brings it to yours), "
      + "or put HTTPS in front of the server.",
  },
  "no-worklet": {
    what: "This browser has no AudioWorklet, so the page can neither hear nor speak.",
    remedy: "Any Chrome, Edge or Firefox of the last years and Safari from 16.4 on can, over HTTPS or on localhost.",
  },
  "no-sound": {
    what: "The browser could not open its sound.",
    remedy: "Reload the page. If that does not help, another program may hold the sound card.",
    action: "start",
  },
  "away": {
    what: "The server could not be reached.",
    remedy: "It may be down, or the network is. Start again when it is back.",
    action: "start",
  },
  "suspended": {
    what: "The browser has paused the sound.",
    remedy: "It does so until you touch the page, or while another program has the sound card.",
    action: "sound",
  },
  "lost": {
    what: "The connection was lost.",
    remedy: "Trying again. The conversation is kept for a minute and goes on where it was.",
    action: "reconnect",
  },
  "slow": {
    what: "The network is too slow for your voice.",
    remedy: "What you say arrives late, and some of it not at all. What you type needs less.",
  },
  "not-kept": {
    what: "The server no longer has the conversation from before.",
    remedy: "It keeps one for a minute. This is a new one: it does not remember the words above.",
  },
  "full": {
    what: "The server is full: as many conversations as it takes are under way.",
    remedy: "Trying again until one ends.",
    action: "reconnect",
  },
  "loading": {
    what: "The server is still loading its engines.",
    remedy: "Trying again until it is ready.",
    action: "reconnect",
  },
  "restarting": {
    what: "The server is going down.",
    remedy: "Trying again: it may come back.",
    action: "reconnect",
  },
  "idle": {
    what: "The server ended the conversation: nothing came for too long.",
    remedy: "Start a new one.",
    action: "start",
  },
  "too-long": {
    what: "This conversation has reached the length the server allows.",
    remedy: "Start a new one.",
    action: "start",
  },
  "token": {
    what: "This server wants a token.",
    remedy: "Whoever runs it set it as REPARTEE_TOKEN.",
    action: "token",
  },
  "refused": {
    what: "The server refused the connection.",
    remedy: "Open the page by the address the server knows as its own, or have that address put on its allow-list.",
    action: "start",
  },
  "ended": {
    what: "The server has ended the conversation.",
    remedy: "Start a new one.",
    action: "start",
  },
  "overflow": {
    what: "The server sends sound faster than it can be kept.",
    remedy: "Some of the reply is missing.",
  },
};

const BY_EXCEPTION = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  NotFoundError: "no-microphone",
  NotReadableError: "busy",
  AbortError: "busy",
  OverconstrainedError: "wish",
};

/**
 * @param {{name: string}} exception thrown by getUserMedia
 * @returns {string} a name in TROUBLES
 */
export function microphoneTrouble(exception) {
  return BY_EXCEPTION[exception.name] ?? "busy";
}

/**
 * Finds a problem that is known before anything is tried.
 * @param {{secure: boolean, worklet: boolean, devices: boolean}} browser
 * @returns {string | null} a name in TROUBLES
 */
export function obstacle({ secure, worklet, devices }) {
  if (!secure) return "insecure"; // browsers hide the others from an insecure page
  if (!worklet) return "no-worklet";
  return devices ? null : "no-microphone";
}
