/** Says in words what state the page is in, and what the user can do now. Pure. */

/**
 * @typedef {object} PageState
 * @property {string} phase of the session; "idle" without one
 * @property {boolean} muted
 * @property {boolean} microphoneOpen whether the browser records
 * @property {boolean} typed whether the conversation was started by typing: no microphone was asked for
 * @property {boolean} pushToTalk
 * @property {boolean} held whether the push-to-talk key is down
 * @property {boolean} [continues] whether the next start continues the conversation that is shown
 * @property {boolean} [ended] whether a conversation that has ended is shown
 * @property {string} [awaitedPhrase] words without which speech is not answered now
 */

const PHASES = {
  idle: "Not started",
  connecting: "Connecting",
  reconnecting: "Reconnecting",
  listening: "Listening",
  hearing: "You are speaking",
  thinking: "Thinking",
  speaking: "Repartee is speaking",
};

/** Phases in which the state of the microphone matters. */
const WAITING = new Set(["listening", "hearing"]);

/** @param {PageState} state @returns {string} the state in a few words */
export function phaseText({ phase, muted, microphoneOpen, typed, pushToTalk, held, awaitedPhrase, continues, ended }) {
  if (phase === "idle") return continues ? "Paused" : ended ? "Ended" : PHASES.idle;
  if (!WAITING.has(phase)) return PHASES[phase];
  if (typed && !microphoneOpen) return "Microphone off: you can type";
  if (muted) return "Muted";
  if (!microphoneOpen) return "No microphone: you can type";
  if (!pushToTalk) return phase === "listening" && awaitedPhrase ? `Waiting for “${awaitedPhrase}”` : PHASES[phase];
  return held ? "Microphone open: speak, then release" : "Microphone closed: hold to talk";
}

/** @param {PageState} state @returns {string} what to do in a conversation without a word yet; "" while it connects */
export function hintText({ phase, muted, microphoneOpen, pushToTalk, awaitedPhrase }) {
  const speak = awaitedPhrase ? `say “${awaitedPhrase}” and what you want` : pushToTalk ? "hold the button or the space bar while you speak" : "speak";
  if (phase === "idle") return `Press Start conversation and ${speak}, or type a message.`;
  if (!WAITING.has(phase)) return "";
  if (muted || !microphoneOpen) return "Type a message.";
  return `${speak[0].toUpperCase()}${speak.slice(1)}, or type a message.`;
}
