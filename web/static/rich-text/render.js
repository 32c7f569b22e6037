/**
 * Builds the elements of parsed Markdown. Text gets into the page only as text nodes, and an address only as the
 * `href` of a link to http or https: nothing that a model writes can become markup.
 */

import { splitWords } from "../session/word-timing.js";
import { pageLanguage, text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";
import { letters } from "./heard-units.js";

/**
 * @typedef {object} ShownUnit
 * @property {HTMLElement} element
 * @property {string} letters see `heard-units.js`
 * @property {boolean} block
 */

/**
 * @param {import("./markdown.js").Block} block
 * @param {ShownUnit[]} units receives what lights up, in order
 * @returns {HTMLElement}
 */
export function renderBlock(block, units) {
  switch (block.type) {
    case "heading": return paragraph("div", block.children, units, { class: `rich-heading level-${block.level}`, role: "heading", "aria-level": "3" });
    case "rule": return makeElement("hr");
    case "quote": return makeElement("blockquote", {}, ...block.children.map((one) => renderBlock(one, units)));
    case "list": return renderList(block, units);
    case "table": return asUnit(renderTable(block), units);
    case "code": return asUnit(renderCode(block), units);
    case "formula": return asUnit(makeElement("pre", { class: "rich-formula", dir: "ltr", translate: "no", tabindex: "0", role: "group", "aria-label": text("rich.formula"), text: block.text }), units);
    default: return paragraph("p", block.children, units);
  }
}

function paragraph(tag, children, units, attributes = {}) {
  const element = makeElement(tag, { dir: "auto", ...attributes });
  const language = languageOf(plainText(children));
  if (language) element.lang = language;
  appendInline(element, children, units);
  return element;
}

/** Returns the language of text in a script that decides it, so that the browser takes the right font and breaks lines. */
function languageOf(text) {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  if (/\p{Script=Hangul}/u.test(text)) return "ko";
  if (/\p{Script=Thai}/u.test(text)) return "th";
  return "";
}

function plainText(children) {
  return children.map((one) => (one.children ? plainText(one.children) : one.text ?? "\n")).join("");
}

/** @param {ShownUnit[] | null} units null where the words do not light up one by one */
function appendInline(parent, children, units) {
  for (const child of children) {
    switch (child.type) {
      case "text": appendWords(parent, child.text, units); break;
      case "code": appendWords(parent.appendChild(makeElement("code", { dir: "ltr", translate: "no" })), child.text, units); break;
      case "break": parent.append(makeElement("br")); break;
      case "link": appendLink(parent, child, units); break;
      default: appendInline(parent.appendChild(makeElement({ strong: "strong", emphasis: "em", deleted: "s" }[child.type])), child.children, units);
    }
  }
}

function appendWords(parent, text, units) {
  if (!units) return parent.append(text);
  const words = splitWords(text);
  for (const word of words) addWord(parent, word, letters(word), units);
  const rest = text.length - words.join("").length;
  if (rest) parent.append(text.slice(-rest)); // the space before markup
}

function addWord(parent, word, spoken, units) {
  const element = parent.appendChild(makeElement("span", { class: "word", text: word }));
  units.push({ element, letters: spoken, block: false });
}

function appendLink(parent, link, units) {
  const element = makeElement("a", { href: link.href, target: "_blank", rel: "noopener noreferrer", dir: "auto" });
  parent.append(element);
  if (link.address && units) addWord(element, plainText(link.children), letters(link.host), units); // only its host is spoken
  else appendInline(element, link.children, units);
  if (!plainText(link.children).includes(link.host)) parent.append(makeElement("span", { class: "link-host", dir: "ltr", text: link.host }));
}

/** Returns the direction of the first letter in a list. */
function firstDirection(list) {
  const text = (node) => (Array.isArray(node) ? node.map(text).join("") : (node.text ?? "") + [node.children, node.items].filter(Boolean).map(text).join(""));
  const letter = /\p{L}/u.exec(text(list))?.[0] ?? "";
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(letter) ? "rtl" : "ltr";
}

function renderList(list, units) {
  const element = makeElement(list.ordered ? "ol" : "ul", { dir: firstDirection(list) }); // "auto" would ignore paragraphs, which have their own
  if (list.ordered && list.start !== 1) element.setAttribute("start", String(list.start));
  for (const { checked, children } of list.items) {
    const item = makeElement("li");
    if (checked !== null) {
      item.className = "task";
      item.append(makeElement("span", { class: "task-mark", role: "img", "aria-label": text(checked ? "rich.done" : "rich.not_done"), text: checked ? "☑" : "☐" }));
    }
    item.append(...children.map((one) => renderBlock(one, units)));
    element.append(item);
  }
  return element;
}

function renderTable({ align, head, rows }) {
  const row = (cells, tag) => makeElement("tr", {}, ...cells.map((cell, n) => {
    const element = makeElement(tag, { dir: "auto", ...(tag === "th" && cell.length ? { scope: "col" } : {}) });
    if (align[n]) element.className = `align-${align[n]}`;
    appendInline(element, cell, null);
    return element;
  }));
  const filled = head.some((cell) => cell.length);
  const table = makeElement("table", {}, ...(filled ? [makeElement("thead", {}, row(head, "th"))] : []), makeElement("tbody", {}, ...rows.map((cells) => row(cells, "td"))));
  for (const cell of table.querySelectorAll("th:empty")) cell.replaceWith(makeElement("td"));
  return makeElement("div", { class: "rich-table", tabindex: "0", role: "group", "aria-label": text("rich.table") }, table);
}

function renderCode({ language, text: source }) {
  const copy = makeElement("button", { class: "quiet small", type: "button", text: text("rich.copy") });
  copy.onclick = () => copyText(source, copy);
  const bar = makeElement("div", { class: "rich-code-bar", lang: pageLanguage }, makeElement("span", { text: language || text("rich.code_bar") }), copy);
  const code = makeElement("pre", { tabindex: "0", role: "group", "aria-label": language ? text("rich.code_of", { language }) : text("rich.code") }, makeElement("code", { text: source }));
  return makeElement("div", { class: "rich-code", dir: "ltr", translate: "no" }, bar, code);
}

async function copyText(copied, button) {
  let done = text("rich.copied");
  try {
    await navigator.clipboard.writeText(copied);
  } catch { // no permission, or the page is not secure: the user can copy what is selected
    const range = document.createRange();
    range.selectNodeContents(button.closest(".rich-code").querySelector("code"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    done = text("rich.selected");
  }
  button.textContent = done;
  button.setAttribute("aria-live", "polite");
  setTimeout(() => (button.textContent = text("rich.copy")), 2500);
}

function asUnit(element, units) {
  element.classList.add("heard-block");
  units.push({ element, letters: "", block: true });
  return element;
}
