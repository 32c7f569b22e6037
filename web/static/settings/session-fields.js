/** Turns the choices of this browser into fields of session.update. Pure. */

const EAGERNESS = { auto: "auto", patient: "low", balanced: "medium", eager: "high" };

/**
 * @typedef {object} ServerValues the server's own values, from /v1/repartee/settings; null if it did not answer
 */

/**
 * Returns the fields for session.update. Without choices there are none.
 * A setting that was sent before and is the server's again is sent once more, with the server's value.
 * @param {Record<string, string | number | boolean>} choices
 * @param {ServerValues | null} server
 * @param {Set<string>} sent names of the settings that this session has got; changed here
 */
export function sessionFields(choices, server, sent) {
  const session = {};
  const setField = (name, back, place) => {
    if (choices[name] === undefined && !sent.has(name)) return;
    if (choices[name] === undefined) sent.delete(name);
    else sent.add(name);
    const value = choices[name] ?? back;
    if (value !== undefined) place(value);
  };
  const own = (name) => server?.[name]?.default;
  const language = (code) => ((session.audio ??= {}).input = { transcription: { language: code } });
  const output = (name) => (value) => (((session.audio ??= {}).output ??= {})[name] = value);
  const extension = (name) => (value) => ((session.repartee ??= {})[name] = value);
  setField("language", own("language"), language);
  setField("voice", own("voice"), output("voice"));
  setField("speed", 1, output("speed"));
  setField("instructions", own("instructions"), (text) => (session.instructions = text));
  setField("endpoint", null, extension("endpoint"));
  setField("room", "", extension("room"));
  setField("words", null, extension("words"));
  return session;
}

/**
 * Returns turn detection with the chosen profile.
 * @param {object | null | undefined} detection null: the page ends the turns
 * @param {string | undefined} profile undefined: the server's
 * @param {boolean} wasSent whether this session has got a profile before
 */
export function withProfile(detection, profile, wasSent) {
  if (detection?.type !== "semantic_vad" || (profile === undefined && !wasSent)) return detection;
  return { ...detection, eagerness: EAGERNESS[profile] ?? "auto" };
}

/** Returns `changes` merged into `session`, object by object. */
export function merged(session, changes) {
  const all = { ...session };
  for (const [name, value] of Object.entries(changes)) {
    const both = isObject(all[name]) && isObject(value);
    all[name] = both ? merged(all[name], value) : value;
  }
  return all;
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}
