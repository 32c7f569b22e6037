/** Step 4: whether conversations are kept. */

import { keepChoice, setKeepChoice } from "../history/keeping.js";
import { makeElement } from "../view/dom.js";

const PLACES = [
  ["no", "Nowhere: they are gone when you close the tab"],
  ["browser", "In this browser only"],
  ["server", "On the server, so that you find them again in this browser later"],
];

export class KeepStep {
  title = "Conversations";

  constructor() {
    this._choices = makeElement("div", { class: "choices", role: "radiogroup", "aria-label": "Conversations" });
    this.element = makeElement("div", { class: "step" }, makeElement("p", { text: "What you say and hear can be kept, so that you can read it again, continue it or delete it." }), this._choices);
  }

  show() {
    const chosen = keepChoice();
    this._choices.replaceChildren(
      ...PLACES.map(([value, text]) => {
        const input = makeElement("input", { type: "radio", name: "first-run-keep", value });
        input.checked = value === chosen;
        return makeElement("div", { class: "choice" }, makeElement("label", {}, input, makeElement("span", { text })));
      }),
    );
  }

  hide() {}

  async next() {
    setKeepChoice(this._choices.querySelector("input:checked").value);
  }
}
