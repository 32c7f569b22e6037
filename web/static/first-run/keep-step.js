/** Step 4: whether conversations are kept. */

import { keepChoice, PLACES, setKeepChoice } from "../history/keeping.js";
import { text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";

export class KeepStep {
  title = text("keep.title");

  constructor() {
    this._choices = makeElement("div", { class: "choices", role: "radiogroup", "aria-label": this.title });
    this.element = makeElement("div", { class: "step" }, makeElement("p", { text: text("keep.why") }), this._choices);
  }

  show() {
    const chosen = keepChoice();
    this._choices.replaceChildren(
      ...PLACES.map((value) => {
        const input = makeElement("input", { type: "radio", name: "first-run-keep", value });
        input.checked = value === chosen;
        return makeElement("div", { class: "choice" }, makeElement("label", {}, input, makeElement("span", { text: text(`keep.${value}`) }, makeElement("small", { text: text(`keep.${value}_meaning`) }))));
      }),
    );
  }

  hide() {}

  async next() {
    setKeepChoice(this._choices.querySelector("input:checked").value);
  }
}
