/** Step 4: whether conversations are kept. */

import { keepChoice, PLACES, setKeepChoice } from "../history/keeping.js";
import { makeElement } from "../view/dom.js";

export class KeepStep {
  title = "Keep conversations";

  constructor() {
    this._choices = makeElement("div", { class: "choices", role: "radiogroup", "aria-label": "Keep conversations" });
    this.element = makeElement("div", { class: "step" }, makeElement("p", { text: "What you say and hear can be kept, so that you can read it again, continue it or delete it." }), this._choices);
  }

  show() {
    const chosen = keepChoice();
    this._choices.replaceChildren(
      ...Object.entries(PLACES).map(([value, [name, meaning]]) => {
        const input = makeElement("input", { type: "radio", name: "first-run-keep", value });
        input.checked = value === chosen;
        return makeElement("div", { class: "choice" }, makeElement("label", {}, input, makeElement("span", { text: name }, makeElement("small", { text: meaning }))));
      }),
    );
  }

  hide() {}

  async next() {
    setKeepChoice(this._choices.querySelector("input:checked").value);
  }
}
