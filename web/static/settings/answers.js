/** Who answers, in the header: shown before the conversation begins. */

import { byId, makeElement } from "../view/dom.js";

/**
 * @param {object | null} server from /v1/repartee/settings
 * @param {string | undefined} endpoint the endpoint that this browser has chosen
 * @returns {{text: string, problem: string} | null} null if it is not known
 */
export function whoAnswers(server, endpoint) {
  if (!server) return null;
  const chosen = server.endpoint.choices.find(({ name }) => name === endpoint);
  if (chosen) return described(chosen.here ? `${chosen.model} on this machine` : `${chosen.model}, ${chosen.name}`, chosen.reachable);
  const { kind, name, here, reachable, problem } = server.answers;
  if (kind === "skills") return { text: "Built-in skills", problem: problem && `No language model: ${problem}` };
  const others = kind === "models" ? " and others" : "";
  return described(`${name}${here ? " on this machine" : ""}${others}`, reachable);
}

function described(text, reachable) {
  return { text, problem: reachable === false ? "unreachable" : "" };
}

export class Answers {
  /** @param {() => void} open opens the settings where this is chosen */
  constructor(open) {
    this._button = makeElement("button", { type: "button", class: "quiet small answers-button" });
    this._button.onclick = open;
    byId("answers").replaceChildren(this._button);
  }

  draw(server, endpoint) {
    const who = whoAnswers(server, endpoint);
    byId("answers").hidden = !who;
    if (!who) return;
    const { text, problem } = who;
    const parts = [makeElement("span", { class: "visually-hidden", text: "Who answers: " }), makeElement("span", { class: "name", text })];
    if (problem) parts.push(makeElement("span", { class: "problem", text: problem.startsWith("No language model") ? "no language model" : problem }));
    this._button.title = problem ? `${text}: ${problem}` : `${text} answers`;
    this._button.replaceChildren(...parts);
  }
}
