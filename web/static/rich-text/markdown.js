/**
 * Parses the Markdown of a reply into a tree. Pure.
 *
 * A subset of CommonMark with GitHub's tables, task lists and "~~": paragraphs, headings with "#", quotes, lists within
 * lists, fenced code, rules, tables, formulas between "$$" or "\[ \]". Not supported: HTML (tags are left out), code by indentation, headings that
 * are underlined, addresses given elsewhere ("[text][1]"), images (they become links). A line break is kept as it is.
 *
 * Any text can be parsed. A text that is still being written can, too: what is not closed yet counts as closed at its end.
 */

import { parseInline } from "./markdown-inline.js";
import { withoutReasoning } from "./tags.js";

/**
 * @typedef {import("./markdown-inline.js").Inline} Inline
 * @typedef {{type: "paragraph", children: Inline[]} | {type: "heading", level: number, children: Inline[]}
 *   | {type: "code", language: string, text: string} | {type: "formula", text: string} | {type: "rule"}
 *   | {type: "quote", children: Block[]}
 *   | {type: "list", ordered: boolean, start: number, items: {checked: boolean | null, children: Block[]}[]}
 *   | {type: "table", align: ("" | "left" | "center" | "right")[], head: Inline[][], rows: Inline[][][]}} Block
 */

/** Longer texts are shown as they are. */
export const MAX_CHARS = 100_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}>[ \t]?/;
const ITEM = /^( *)([-*+•]|\d{1,9}[.)])(?:[ \t]+|$)/;
const TASK = /^\[([ xX])\][ \t]+/;
const DELIMITER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const FORMULA = { "$$": "$$", "\\[": "\\]" };
const MAX_DEPTH = 12; // of lists and quotes within each other; what is deeper is text
const MAX_COLUMNS = 40;

/**
 * @param {string} text
 * @param {boolean} open whether more of it may follow
 * @returns {Block[]}
 */
export function parseMarkdown(text, open = false) {
  if (text.length > MAX_CHARS) return [{ type: "paragraph", children: [{ type: "text", text }] }];
  const lines = withoutReasoning(text).replace(/\r\n?/g, "\n").replaceAll("\t", "    ").split("\n");
  return parseBlocks(lines, open, 0);
}

function parseBlocks(lines, open, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at++;
      continue;
    }
    const [block, next] = parseBlock(lines, at, open, depth);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

/** Returns the block that begins at a line, and the line after it. */
function parseBlock(lines, at, open, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return parseCode(lines, at, fence);
  const formula = FORMULA[line.trim().slice(0, 2)];
  if (formula) {
    const found = parseFormula(lines, at, formula, open);
    if (found) return found;
  }
  const heading = HEADING.exec(line);
  if (heading) return [{ type: "heading", level: heading[1].length, children: parseInline(heading[2] ?? "", isLast(lines, at, open)) }, at + 1];
  if (RULE.test(line)) return [{ type: "rule" }, at + 1];
  if (QUOTE.test(line) && depth < MAX_DEPTH) return parseQuote(lines, at, open, depth);
  if (ITEM.test(line) && depth < MAX_DEPTH) return parseList(lines, at, open, depth);
  if (startsTable(lines, at, open)) return parseTable(lines, at, open);
  return parseParagraph(lines, at, open, depth);
}

function isLast(lines, at, open) {
  return open && lines.slice(at + 1, at + 3).every((line) => !line.trim()) && at + 3 >= lines.length;
}

function parseCode(lines, at, [, marks, info]) {
  const indent = lines[at].length - lines[at].trimStart().length;
  const closing = new RegExp(`^ {0,3}\\${marks[0]}{${marks.length},}[ \\t]*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end])) end++;
  const code = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length)));
  return [{ type: "code", language: info.trim(), text: code.join("\n") }, end + 1];
}

function parseFormula(lines, at, closing, open) {
  const text = [];
  let line = lines[at].trim().slice(2);
  for (let end = at; ; line = lines[end]) {
    const close = line.indexOf(closing);
    if (close >= 0) {
      if (line.slice(close + 2).trim()) return null; // words follow: it is part of a sentence
      return [{ type: "formula", text: [...text, line.slice(0, close)].join("\n").trim() }, end + 1];
    }
    text.push(line);
    if (++end >= lines.length) return open ? [{ type: "formula", text: text.join("\n").trim() }, end] : null;
    if (!lines[end].trim() && text.length > 40) return null;
  }
}

function parseQuote(lines, at, open, depth) {
  const inner = [];
  let end = at;
  for (; end < lines.length && lines[end].trim(); end++) {
    if (!QUOTE.test(lines[end]) && interruptsParagraph(lines[end])) break;
    inner.push(lines[end].replace(QUOTE, ""));
  }
  return [{ type: "quote", children: parseBlocks(inner, open && end >= lines.length, depth + 1) }, end];
}

function parseList(lines, at, open, depth) {
  const first = ITEM.exec(lines[at]);
  const ordered = /\d/.test(first[2]);
  const list = { type: "list", ordered, start: ordered ? Number.parseInt(first[2], 10) : 1, items: [] };
  const [indent, kind] = [first[1].length, markKind(first[2])];
  let end = at;
  while (end < lines.length) {
    const found = ITEM.exec(lines[end]);
    if (!found || found[1].length > indent + 1 || found[1].length < indent - 1 || markKind(found[2]) !== kind || RULE.test(lines[end])) break;
    const [item, next] = itemLines(lines, end, found);
    const task = TASK.exec(item[0]);
    if (task) item[0] = item[0].slice(task[0].length);
    const checked = task ? task[1] !== " " : null;
    list.items.push({ checked, children: parseBlocks(item, open && next >= lines.length, depth + 1) });
    end = next;
  }
  return [list, end];
}

/** "1." and "1)" are of one kind, as are the bullets: models mix them. */
function markKind(mark) {
  return /\d/.test(mark) ? "number" : "bullet";
}

/** Returns the lines of a list item without their indentation, and the line after it. */
function itemLines(lines, at, found) {
  const width = found[0].length;
  const least = found[1].length + 2; // models indent by two or three columns below "1."
  const item = [lines[at].slice(width)];
  let end = at + 1;
  for (; end < lines.length; end++) {
    const line = lines[end];
    const indent = line.length - line.trimStart().length;
    if (!line.trim()) {
      const next = lines.slice(end + 1, end + 3).find((one) => one.trim());
      if (next === undefined || next.length - next.trimStart().length < least) {
        const again = next === undefined ? null : ITEM.exec(next);
        // A blank line between two items does not end the list.
        return [item, again && again[1].length <= found[1].length + 1 && again[1].length >= found[1].length - 1 ? end + 1 + (lines[end + 1]?.trim() ? 0 : 1) : end];
      }
      item.push("");
    } else if (indent >= least) item.push(line.slice(Math.min(indent, width)));
    else if (ITEM.test(line) || interruptsParagraph(line)) break;
    else item.push(line.trimStart()); // a line that was wrapped
  }
  return [item, end];
}

function interruptsParagraph(line) {
  return FENCE.test(line) || (HEADING.test(line) && /^ {0,3}#+[ \t]/.test(line)) || RULE.test(line) || QUOTE.test(line);
}

function parseParagraph(lines, at, open, depth) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim()) {
    if (interruptsParagraph(lines[end]) || startsTable(lines, end, open)) break;
    const item = ITEM.exec(lines[end]);
    if (item && depth < MAX_DEPTH && (!/\d/.test(item[2]) || /^1[.)]$/.test(item[2])) && item[0].length < lines[end].length) break;
    end++;
  }
  const text = lines.slice(at, end).map((line, n) => (n ? line : line.trimStart())).join("\n").trimEnd();
  const children = parseInline(text, isLast(lines, end - 1, open));
  return [children.length ? { type: "paragraph", children } : null, end];
}

// Tables ----------------------------------------------------------------------------------------------------------

function startsTable(lines, at, open) {
  if (!lines[at].includes("|")) return false;
  const next = lines[at + 1];
  if (next === undefined) return open && /^ {0,3}\|.*\|/.test(lines[at]);
  if (open && at + 2 === lines.length && /^ {0,3}\|.*\|/.test(lines[at]) && /^[ |:-]*$/.test(next)) return true;
  return DELIMITER.test(next) && next.includes("-") && (next.includes("|") || cells(lines[at]).length === 1) && cells(next).length === cells(lines[at]).length;
}

function parseTable(lines, at, open) {
  const head = cells(lines[at]).slice(0, MAX_COLUMNS);
  const align = cells(lines[at + 1] ?? "").map((mark) => (
    /^:-+:$/.test(mark) ? "center" : /^:-+$/.test(mark) ? "left" : /^-+:$/.test(mark) ? "right" : ""));
  const rows = [];
  let end = Math.min(at + 2, lines.length);
  for (; end < lines.length && lines[end].includes("|"); end++) {
    if (interruptsParagraph(lines[end])) break;
    rows.push(cells(lines[end]));
  }
  const parse = (row, last) => Array.from({ length: Math.max(head.length, Math.min(row.length, MAX_COLUMNS)) }, (_, n) => parseInline(row[n] ?? "", last && n === row.length - 1));
  const last = (n) => open && end >= lines.length && n === rows.length - 1;
  return [{ type: "table", align: head.map((_, n) => align[n] ?? ""), head: parse(head, open && !rows.length), rows: rows.map((row, n) => parse(row, last(n))) }, end];
}

/** Returns the cells of a table row. A "|" in code or after a backslash is text. */
function cells(line) {
  const found = [];
  let cell = "";
  let inCode = false;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === "\\" && line[at + 1] === "|") cell += line[++at];
    else if (line[at] === "`") {
      inCode = !inCode && line.indexOf("`", at + 1) > 0;
      cell += "`";
    } else if (line[at] === "|" && !inCode) {
      found.push(cell.trim());
      cell = "";
    } else cell += line[at];
  }
  found.push(cell.trim());
  if (line.trimStart().startsWith("|")) found.shift();
  if (found.length > 1 && !found.at(-1)) found.pop();
  return found;
}
