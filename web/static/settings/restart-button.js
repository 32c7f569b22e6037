/** The button that lets the server start again, after a change that needs it. */

import { text } from "../texts/texts.js";
import { makeElement } from "../view/dom.js";
import { ChangeError, restartServer } from "./server-changes.js";

/** @param {() => void} onRestarted called when the server is there again @returns {HTMLElement} */
export function restartButton(onRestarted = () => {}) {
  const button = makeElement("button", { type: "button", class: "small restart-now", text: text("restart.now") });
  const status = makeElement("span", { class: "hint", role: "status" });
  let anyway = false;
  button.onclick = async () => {
    button.disabled = true;
    status.textContent = text("restart.running");
    try {
      await restartServer({ own: !["idle", "connecting", "reconnecting"].includes(document.body.dataset.phase), anyway });
      status.textContent = text("restart.done");
      button.hidden = true;
      onRestarted();
    } catch (error) {
      if (!(error instanceof ChangeError)) throw error;
      anyway = error.code === "others_talk";
      if (anyway) button.textContent = text("restart.anyway");
      status.textContent = error.message;
    }
    button.disabled = false;
  };
  return makeElement("div", { class: "restart-row" }, button, status);
}
