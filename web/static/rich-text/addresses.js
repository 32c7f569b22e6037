/** Recognizes addresses of web pages. Pure. */

const MAX_CHARS = 2000;
const BARE = new RegExp(`(?:https?://|www\\.)[^\\s<>"\`\\\\^{}|\\u2e80-\\uffff]{1,${MAX_CHARS}}`, "iy");

/**
 * Returns an address that may be opened: http and https only.
 * @param {string} text
 * @returns {{href: string, host: string} | null}
 */
export function webAddress(text) {
  if (text.length > MAX_CHARS || !/^(?:https?:\/\/|www\.)/i.test(text)) return null;
  let url;
  try {
    url = new URL(/^www\./i.test(text) ? `https://${text}` : text);
  } catch {
    return null;
  }
  if (!["http:", "https:"].includes(url.protocol) || url.username || url.password) return null; // a name before "@" misleads
  return { href: url.href, host: url.host.replace(/^www\./, "") };
}

/**
 * Returns the address that is written at a position, without the punctuation after it.
 * @returns {{text: string, address: {href: string, host: string}} | null}
 */
export function bareAddress(text, at) {
  BARE.lastIndex = at;
  let found = BARE.exec(text)?.[0] ?? "";
  const unopened = { ")": excess(found, "(", ")"), "]": excess(found, "[", "]") };
  for (let last = found.at(-1); last !== undefined; last = found.at(-1)) {
    if (unopened[last] > 0) unopened[last]--;
    else if (!".,;:!?'*_~".includes(last)) break;
    found = found.slice(0, -1);
  }
  const address = found.length > 7 ? webAddress(found) : null;
  return address && { text: found, address };
}

/** Returns how many closing brackets have no opening one. */
function excess(text, open, closed) {
  return text.split(closed).length - text.split(open).length;
}
