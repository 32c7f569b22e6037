/** The problems that the page shows. `texts/` has their texts: one sentence says what happened, the next what to do. Pure. */

/** @typedef {{action?: "reconnect" | "microphone" | "audio" | "token" | "start" | "again" | "answers"}} Problem `action` of its button */

/** @type {Record<string, Problem>} */
export const PROBLEMS = {
  "no-microphone": { action: "microphone" },
  "denied": { action: "microphone" },
  "busy": { action: "microphone" },
  "unplugged": { action: "microphone" },
  "taken": { action: "microphone" },
  "device-missing": {},
  "insecure": {},
  "no-worklet": {},
  "no-sound": { action: "start" },
  "unreachable": { action: "again" },
  "suspended": { action: "audio" },
  "lost": { action: "reconnect" },
  "slow": {},
  "not-kept": {},
  "full": { action: "reconnect" },
  "overloaded": { action: "reconnect" },
  "loading": { action: "reconnect" },
  "restarting": { action: "reconnect" },
  "idle": { action: "start" },
  "too-long": { action: "start" },
  "token": { action: "token" },
  "refused": { action: "start" },
  "ended": { action: "start" },
  "reply-failed": { action: "answers" },
  "overflow": {},
};

/** Problems that do not apply to a stopped page. */
export const SESSION_PROBLEMS = [
  "lost", "slow", "full", "overloaded", "loading", "restarting", "not-kept", "suspended", "reply-failed", "unplugged", "taken", "denied", "busy", "no-microphone",
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
