/** Rows of the settings: a control, the server's value, and a button that returns to it. */

import { pageLanguage, text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";

/**
 * Makes a group with a heading.
 * @param {string} id @param {string} title @param {...Node} rows
 */
export function makeGroup(id, title, ...rows) {
  const heading = makeElement("h3", { id: `${id}-title`, text: title });
  return makeElement("div", { class: "settings-group", id, role: "group", "aria-labelledby": `${id}-title` }, heading, ...rows);
}

/**
 * A setting that is the server's unless this browser differs.
 */
export class Row {
  /**
   * @param {{name: string, label: string, control: HTMLElement, beside?: Node[], reset: () => void}} row
   */
  constructor({ name, label, control, beside = [], reset }) {
    this.control = control;
    control.id = `setting-${name}`;
    control.setAttribute("aria-describedby", `setting-${name}-server`);
    this._server = makeElement("span", { id: `setting-${name}-server` });
    this._reset = makeElement("button", { type: "button", class: "reset", text: text("settings.reset"), "aria-label": text("settings.reset_label", { name: pageLanguage === "de" ? label : label.toLowerCase() }), hidden: "" });
    this._reset.onclick = () => {
      reset();
      control.focus({ preventScroll: true });
    };
    this.element = makeElement("div", { class: "setting", "data-setting": name },
      makeElement("label", { for: control.id, text: label }),
      makeElement("div", { class: "setting-control" }, control, ...beside),
      makeElement("p", { class: "setting-server" }, this._server, this._reset));
  }

  /**
   * @param {string} note about the server's value
   * @param {boolean} differs whether this browser's is another
   * @param {string} [command] that the note ends with
   */
  draw(note, differs, command) {
    this._server.replaceChildren(note, ...(command ? [makeElement("code", { text: command })] : []));
    this._reset.hidden = !differs;
    this._server.parentElement.hidden = !note && !differs;
    this.element.classList.toggle("differs", differs);
  }
}

/** Replaces the options of a select and keeps its value if it is among them. @param {{value: string, text: string}[]} options */
export function setOptions(select, options, value) {
  select.replaceChildren(...options.map(({ value: one, text: label }) => makeElement("option", { value: one, text: label })));
  select.value = options.some((one) => one.value === value) ? value : "";
}

/** @param {string} id @param {string} label @param {string} [more] second line */
export function makeSwitch(id, label, more = "") {
  const words = makeElement("span", { text: `${label} ` }, ...(more ? [makeElement("small", { text: more })] : []));
  return makeElement("label", { class: "switch" }, makeElement("input", { id, type: "checkbox", role: "switch" }), words);
}

/** @param {string} id @param {string} label @param {Record<string, string>} options texts by value */
export function makeField(id, label, options) {
  const select = makeElement("select", { id }, ...Object.entries(options).map(([value, name]) => makeElement("option", { value, text: name })));
  return makeElement("label", { class: "field" }, makeElement("span", { text: label }), select);
}
