/** Where the focus is after a dialog. */

import { byId } from "./dom.js";

/** Listener of a dialog's `close`: moves the focus to the start button where it would be lost, because nothing on the page has opened the dialog. */
export function keepFocus({ target: dialog }) {
  const { activeElement } = document;
  if (!activeElement || activeElement === document.body || dialog.contains(activeElement)) byId("start").focus({ preventScroll: true });
}
