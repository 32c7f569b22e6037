/** Recognizes addresses of web pages. Pure. */

const BARE = /(?:https?:\/\/|www\.)[^\s<>"`\\^{}|\u2e80-\uffff]+/iy;
const MAX_CHARS = 2000;

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
  for (;;) {
    const last = found.at(-1);
    if (".,;:!?'*_~".includes(last ?? " ")) found = found.slice(0, -1);
    else if ((last === ")" && !balanced(found, "(", ")")) || (last === "]" && !balanced(found, "[", "]"))) found = found.slice(0, -1);
    else break;
    if (!found) break;
  }
  const address = found.length > 7 ? webAddress(found) : null;
  return address && { text: found, address };
}

function balanced(text, open, closed) {
  return text.split(open).length >= text.split(closed).length;
}
