/** Parses the inline part of Markdown: emphasis, code, links, line breaks. Pure; see `markdown.js`. */

import { bareAddress, webAddress } from "./addresses.js";
import { TAG, isKnownTag } from "./tags.js";

/**
 * @typedef {{type: "text", text: string} | {type: "code", text: string} | {type: "break"}
 *   | {type: "strong" | "emphasis" | "deleted", children: Inline[]}
 *   | {type: "link", href: string, host: string, address: boolean, children: Inline[]}} Inline
 */

const PUNCTUATION = /[!-/:-@[-`{-~\p{P}\p{S}]/u;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: "\"", apos: "'", nbsp: "\u00a0", "#39": "'", "#34": "\"", ndash: "–", mdash: "—", hellip: "…" };
const ENTITY = /&(#?\w{1,8});/y;
const TARGET = /\(\s*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)/y;
const OPEN_TARGET = /\([^\s()]*(?:\([^\s()]*\)?[^\s()]*)*(?:\s+["'][^\n]*)?$/y; // a link that is still being written
const REFERENCE_MARK = /【[^】\n]{0,60}】/y; // a citation as some models write it
const MAX_DEPTH = 8; // of links and brackets within each other
const MAX_OPENERS = 64; // marks that may still be closed

/**
 * @param {string} text of one paragraph, heading or cell
 * @param {boolean} open whether more of it may follow: marks that are not closed yet then count as closed at its end
 * @returns {Inline[]}
 */
export function parseInline(text, open = false, depth = 0) {
  const parser = new InlineParser(text, open, depth);
  return parser.parse();
}

class InlineParser {
  constructor(text, open, depth) {
    this._text = text;
    this._open = open;
    this._depth = depth;
    this._nodes = [];
    this._plain = "";
    this._openers = []; // indices of marks among the nodes
    this._noCode = new Set(); // numbers of backticks for which no closing run follows
    this._brackets = depth < MAX_DEPTH ? matchBrackets(text) : new Map();
  }

  parse() {
    const text = this._text;
    let at = 0;
    while (at < text.length) {
      const next = this._step(text, at);
      if (next === at) this._plain += text[at++];
      else at = next;
    }
    this._flush();
    return this._resolve();
  }

  /** Returns the position after a construct that begins at `at`; `at` for a plain character. */
  _step(text, at) {
    switch (text[at]) {
      case "\\": return this._backslash(text, at);
      case "\n": return this._lineBreak(at + 1);
      case "`": return this._code(text, at);
      case "*": case "_": case "~": return this._mark(text, at);
      case "[": return this._link(text, at, at);
      case "!": return text[at + 1] === "[" ? this._link(text, at, at + 1) : at;
      case "<": return this._angle(text, at);
      case "&": return this._entity(text, at);
      case "【": return matchAt(REFERENCE_MARK, text, at)?.end ?? at;
      case "h": case "H": case "w": case "W": return this._address(text, at);
      default: return at;
    }
  }

  _flush() {
    if (this._plain) this._nodes.push({ type: "text", text: this._plain });
    this._plain = "";
  }

  _push(node) {
    this._flush();
    this._nodes.push(node);
  }

  _lineBreak(next) {
    this._plain = this._plain.trimEnd();
    this._push({ type: "break" });
    while (this._text[next] === " ") next++;
    return next;
  }

  _backslash(text, at) {
    const following = text[at + 1];
    if (following === "\n") return this._lineBreak(at + 2);
    if (following === undefined || !/[!-/:-@[-`{-~]/.test(following)) return at;
    this._plain += following;
    return at + 2;
  }

  _entity(text, at) {
    const found = matchAt(ENTITY, text, at);
    const char = found && Object.hasOwn(ENTITIES, found.groups[1]) ? ENTITIES[found.groups[1]] : undefined;
    if (char === undefined) return at;
    this._plain += char;
    return found.end;
  }

  _code(text, at) {
    let end = at;
    while (text[end] === "`") end++;
    const run = text.slice(at, end);
    const close = this._noCode.has(run.length) ? -1 : closingRun(text, end, run.length);
    if (close < 0) {
      this._noCode.add(run.length);
      if (this._open && text.indexOf("`", end) < 0) { // still being written
        if (end < text.length) this._push({ type: "code", text: text.slice(end) });
        return text.length;
      }
      this._plain += run;
      return end;
    }
    let inner = text.slice(end, close).replaceAll("\n", " ");
    if (inner.startsWith(" ") && inner.endsWith(" ") && inner.trim()) inner = inner.slice(1, -1);
    this._push({ type: "code", text: inner });
    return close + run.length;
  }

  /** Adds a run of "*", "_" or "~~", which may open or close emphasis. */
  _mark(text, at) {
    const char = text[at];
    let end = at;
    while (text[end] === char) end++;
    const count = end - at;
    if (char === "~" && count !== 2) {
      this._plain += text.slice(at, end);
      return end;
    }
    const [before, after] = [text[at - 1] ?? " ", text[end] ?? " "];
    if (char === "*" && count === 1 && /\d/.test(before) && /\d/.test(after)) { // "2*3" is a product
      this._plain += char;
      return end;
    }
    const leftFlanking = !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before));
    const rightFlanking = !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after));
    const inWord = char === "_" && leftFlanking && rightFlanking;
    if (this._open && end === text.length && !rightFlanking && count <= 3) return end; // its text is still to come
    this._push({ type: "mark", char, count, canOpen: leftFlanking && !inWord, canClose: rightFlanking && !inWord });
    return end;
  }

  /** @param {number} at start of the link or image @param {number} bracket position of its "[" */
  _link(text, at, bracket) {
    const close = this._brackets.get(bracket);
    if (close === undefined) return this._unfinishedLink(text, at, bracket);
    const target = matchAt(TARGET, text, close + 1);
    const label = text.slice(bracket + 1, close);
    if (target) {
      this._pushLink(target.groups[1] ?? target.groups[2] ?? "", label);
      return target.end;
    }
    if (this._open && matchAt(OPEN_TARGET, text, close + 1)) {
      for (const node of parseInline(label, false, this._depth + 1)) this._push(node);
      return text.length;
    }
    return at;
  }

  /** Leaves out the bracket of a link whose text is still being written. */
  _unfinishedLink(text, at, bracket) {
    const last = this._open && this._depth === 0 && text.indexOf("[", bracket + 1) < 0 && !text.slice(bracket).includes("\n");
    return last && text.length - bracket < 200 ? bracket + 1 : at;
  }

  _pushLink(target, label) {
    const address = webAddress(target);
    const children = parseInline(label || target, false, this._depth + 1);
    // An address that is not http or https is neither followed nor shown; the label is.
    if (address) this._push({ type: "link", ...address, address: false, children });
    else for (const node of children) this._push(node);
  }

  _angle(text, at) {
    const end = text.indexOf(">", at);
    const inner = end > at && end - at < 2000 ? text.slice(at + 1, end) : "";
    const address = /^https?:\/\/\S+$/i.test(inner) ? webAddress(inner) : null;
    if (address) {
      this._push({ type: "link", ...address, address: true, children: [{ type: "text", text: inner }] });
      return end + 1;
    }
    const tag = matchAt(TAG, text, at);
    if (!tag || !isKnownTag(tag.groups[2])) return at;
    if (tag.groups[2].toLowerCase() === "br") return this._lineBreak(tag.end);
    return tag.end;
  }

  _address(text, at) {
    if (/[\p{L}\p{N}]/u.test(text[at - 1] ?? " ")) return at;
    const found = bareAddress(text, at);
    if (!found) return at;
    this._push({ type: "link", ...found.address, address: true, children: [{ type: "text", text: found.text }] });
    return at + found.text.length;
  }

  /** Turns pairs of marks into emphasis; other marks become text. */
  _resolve() {
    const out = [];
    const openers = []; // {node, at}: marks of `out` that may be closed
    for (const node of this._nodes) {
      if (node.type !== "mark") {
        out.push(node);
        continue;
      }
      let left = node.count;
      while (node.canClose && left > 0) {
        const nth = openers.findLastIndex((one) => one.node.char === node.char && one.node.count > 0);
        if (nth < 0) break;
        const opener = openers[nth];
        const used = node.char === "~" || (opener.node.count >= 2 && left >= 2) ? 2 : 1;
        if (opener.node.count < used) break;
        close(out, opener, used);
        openers.length = opener.node.count ? nth + 1 : nth;
        left -= used;
      }
      if (left <= 0) continue;
      const rest = { ...node, count: left };
      if (node.canOpen && openers.length < MAX_OPENERS) openers.push({ node: rest, at: out.length });
      out.push(rest);
    }
    if (this._open) while (openers.length) {
      const opener = openers.pop();
      const used = Math.min(2, opener.node.count);
      if (used) close(out, opener, used);
    }
    return joined(out);
  }
}

/** Wraps what follows the opening mark into emphasis. */
function close(out, opener, used) {
  const children = joined(out.splice(opener.at + 1));
  opener.node.count -= used;
  const type = opener.node.char === "~" ? "deleted" : used === 2 ? "strong" : "emphasis";
  if (!opener.node.count) out.splice(opener.at, 1);
  if (children.length) out.push({ type, children });
}

/** Returns the nodes with the remaining marks as text, and with adjacent text joined. */
function joined(nodes) {
  const out = [];
  for (const node of nodes) {
    const plain = node.type === "mark" ? { type: "text", text: node.char.repeat(node.count) } : node;
    if (plain.type === "text" && out.at(-1)?.type === "text") out[out.length - 1] = { type: "text", text: out.at(-1).text + plain.text };
    else if (plain.type !== "text" || plain.text) out.push(plain);
  }
  return out;
}

/** Returns for each "[" the position of its "]". */
function matchBrackets(text) {
  const found = new Map();
  const open = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "[") open.push(at);
    else if (text[at] === "]" && open.length) found.set(open.pop(), at);
  }
  return found;
}

function closingRun(text, from, length) {
  for (let at = text.indexOf("`", from); at >= 0; at = text.indexOf("`", at)) {
    let end = at;
    while (text[end] === "`") end++;
    if (end - at === length) return at;
    at = end;
  }
  return -1;
}

/** Matches a sticky expression at a position. */
export function matchAt(expression, text, at) {
  expression.lastIndex = at;
  const groups = expression.exec(text);
  return groups && { groups, end: at + groups[0].length };
}

