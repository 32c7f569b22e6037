/** Shows the text of one reply as rich text, and which of it was heard. Parses it anew only when it has changed. */

import { heardWith } from "./heard-units.js";
import { parseMarkdown } from "./markdown.js";
import { renderBlock } from "./render.js";
import { pageLanguage, text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";

export class RichText {
  /** @param {HTMLElement} element receives the blocks */
  constructor(element) {
    this._element = element;
    element.classList.add("rich");
    /** @type {{source: string, element: HTMLElement, units: import("./render.js").ShownUnit[]}[]} the blocks as shown */
    this._blocks = [];
    this._source = null;
    this._open = false;
    this._state = "";
    this._heardWith = [];
  }

  /**
   * Draws what has changed.
   * @param {object} shown
   * @param {string} shown.source the text as Markdown
   * @param {boolean} shown.open whether more text may follow
   * @param {string[]} shown.words the words as spoken so far
   * @param {number} shown.played how many of them were heard
   * @param {boolean} shown.spoken whether it is spoken; if not, all of it counts as heard
   * @param {boolean} shown.interrupted whether the rest will not be heard
   */
  draw({ source, open, words, played, spoken, interrupted }) {
    const parse = source !== this._source || open !== this._open;
    if (parse) this._drawBlocks(source, open);
    const state = `${words.length} ${words.at(-1)} ${interrupted} ${open}`;
    if (parse || state !== this._state) {
      this._state = state;
      this._heardWith = heardWith(this._units, words, !open && !interrupted);
    }
    this._drawHeard(spoken ? played : Infinity, words.length, interrupted);
    this._drawMark(interrupted && spoken);
  }

  get _units() {
    return this._blocks.flatMap(({ units }) => units);
  }

  /** Replaces the blocks from the first one that has changed: what is selected or focused above it stays so. */
  _drawBlocks(source, open) {
    this._source = source;
    this._open = open;
    const blocks = parseMarkdown(source, open).map((block) => ({ block, source: JSON.stringify(block) }));
    let same = 0;
    while (same < blocks.length && this._blocks[same]?.source === blocks[same].source) same++;
    for (const { element } of this._blocks.splice(same)) element.remove();
    for (const { block, source: written } of blocks.slice(same)) {
      const units = [];
      const element = renderBlock(block, units);
      this._element.append(element);
      this._blocks.push({ source: written, element, units });
    }
  }

  /** Puts a label for screen readers before what was not heard. @param {boolean} marked whether anything may be unheard */
  _drawMark(marked) {
    const first = marked ? this._units.find(({ element }) => !element.classList.contains("played"))?.element : undefined;
    if (!first) return this._mark?.remove();
    this._mark ??= makeElement("span", { class: "visually-hidden", lang: pageLanguage, text: ` (${text("export.not_heard")}) ` });
    if (this._mark.nextSibling !== first) first.before(this._mark);
  }

  _drawHeard(played, words, interrupted) {
    this._units.forEach(({ element }, n) => {
      const word = this._heardWith[n];
      element.classList.toggle("played", word < played);
      element.classList.toggle("current", word === played - 1 && played < words && !interrupted);
    });
  }
}
