/** Asks for the token that the server requires. */

import { keepFocus } from "./dialog-focus.js";
import { byId } from "./dom.js";
import { storeToken } from "./preferences.js";

/**
 * @param {string} refused why the last token was refused; "" if there was none
 * @param {() => void} onToken called when the user has entered one, which is stored
 */
export function askForToken(refused, onToken) {
  const dialog = byId("token-dialog");
  if (dialog.open) return;
  dialog.addEventListener("close", keepFocus);
  byId("token-refused").textContent = refused;
  dialog.returnValue = "";
  byId("token-cancel").onclick = () => dialog.close("");
  dialog.onclose = () => {
    if (dialog.returnValue !== "use") return;
    storeToken(byId("token").value.trim());
    byId("token").value = "";
    onToken();
  };
  dialog.showModal();
}
