/** Who answers, in the header: shown before the conversation begins. */

import { text } from "../texts/texts.js";
import { byId, makeElement } from "../view/dom.js";

/**
 * @param {object | null} server from /v1/repartee/settings
 * @param {string | undefined} endpoint the endpoint that this browser has chosen
 * @returns {{name: string, problem: string, short: string} | null} null if it is not known; `short`: the problem in two or three words
 */
export function whoAnswers(server, endpoint) {
  if (!server) return null;
  const chosen = server.endpoint.choices.find(({ name }) => name === endpoint);
  if (chosen) return described(chosen.here ? text("answers.here", { model: chosen.model }) : `${chosen.model}, ${chosen.name}`, chosen.reachable);
  const { kind, name, here, reachable, problem } = server.answers;
  if (kind === "skills") return { name: text("answers.skills"), problem: problem && text("answers.no_model_why", { problem }), short: text("answers.no_model") };
  const several = kind === "models";
  if (here) return described(text(several ? "answers.here_others" : "answers.here", { model: name }), reachable);
  return described(several ? text("answers.others", { model: name }) : name, reachable);
}

function described(name, reachable) {
  const problem = reachable === false ? text("answers.unreachable") : "";
  return { name, problem, short: problem };
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
    const { name, problem, short } = who;
    const parts = [makeElement("span", { class: "visually-hidden", text: text("answers.label") }), makeElement("span", { class: "name", text: name })];
    if (problem) parts.push(makeElement("span", { class: "problem", text: short }));
    this._button.title = problem ? `${name}: ${problem}` : text("answers.title", { name });
    this._button.replaceChildren(...parts);
  }
}
