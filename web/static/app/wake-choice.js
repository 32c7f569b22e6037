/** The choice of the wake phrase, and the question whether all speech may be sent to a server on another machine. */

import { DEFAULT_PHRASE, needsConsent, spokenWord, wakePhrase } from "../session/wake-mode.js";
import { text } from "../texts/texts.js";
import { keepFocus } from "../view/dialog-focus.js";
import { makeElement } from "../view/dom.js";
import { preferences, setPreferences } from "../view/preferences.js";

/** @returns {string} the phrase in use; empty if all speech is answered */
export function chosenPhrase() {
  const { wake, wakeWord } = preferences();
  return wake && isAllowed(wakeWord) ? wantedPhrase() : "";
}

/** @returns {string} name of the wake word that is noticed by its sound; empty if words are recognized */
export function chosenWord() {
  return chosenPhrase() ? preferences().wakeWord : "";
}

function wantedPhrase(word = preferences().wakeWord) {
  return word ? spokenWord(word) : wakePhrase(preferences().wakePhrase) ?? DEFAULT_PHRASE;
}

/**
 * Returns whether all speech may be sent. Who allows that words are recognized also allows that sounds are compared, but not the other way round.
 * @param {string} word wake word that is noticed by its sound; empty: words are recognized
 */
function isAllowed(word) {
  const { wakeConsent, wakeSoundConsent } = preferences();
  return !needsConsent(location.hostname, wakeConsent) || (word !== "" && !needsConsent(location.hostname, wakeSoundConsent));
}

/** Asks for consent, if it is needed for this kind of waking. @returns {Promise<boolean>} whether all speech may be sent */
async function allow(word) {
  if (isAllowed(word)) return true;
  const agreed = await askForConsent(word);
  if (agreed) setPreferences({ [word ? "wakeSoundConsent" : "wakeConsent"]: location.hostname });
  return agreed;
}

/**
 * Returns the switch and the field of the wake phrase.
 * @param {object} page
 * @param {(phrase: string) => void} page.onChange called with the phrase, or with "" when the mode ends
 * @param {(phrase: string) => void} page.onLost called when the mode ends because the server does not have the wake word, and words may not be recognized
 * @returns {{element: HTMLElement, turnOff: () => void, offer: (words: string[]) => void}} `offer` takes the wake words of the server
 */
export function wakeChoice({ onChange, onLost }) {
  const enabled = makeElement("input", { type: "checkbox", role: "switch", id: "wake" });
  const field = makeElement("input", { type: "text", id: "wake-phrase", maxlength: "60", autocomplete: "off", spellcheck: "false", "aria-describedby": "wake-hint" });
  const kinds = makeElement("select", { id: "wake-kind" });
  const kind = makeElement("label", { class: "field" }, makeElement("span", { text: text("wake.kind") }), kinds);
  const hint = makeElement("p", { class: "hint", id: "wake-hint" });
  const label = makeElement("label", { class: "field" }, makeElement("span", { text: text("wake.phrase") }), field);
  const name = makeElement("span", { text: text("wake.switch") });
  name.append(makeElement("small", { text: text("wake.switch_hint") }));
  const element = makeElement("div", { class: "wake-choice" }, makeElement("label", { class: "switch" }, enabled, name), kind, label, hint);

  const draw = () => {
    const bySound = preferences().wakeWord !== "";
    hint.hidden = !enabled.checked;
    label.hidden = !enabled.checked || bySound;
    kind.hidden = !enabled.checked || kinds.options.length < 2;
    const valid = wakePhrase(field.value) !== null;
    field.setAttribute("aria-invalid", String(!valid));
    hint.textContent = text(bySound ? "wake.sound_hint" : valid ? "wake.valid" : "wake.invalid");
  };
  const set = (on) => {
    enabled.checked = on;
    setPreferences({ wake: on });
    draw();
    onChange(chosenPhrase());
  };
  enabled.checked = chosenPhrase() !== "";
  field.value = preferences().wakePhrase;
  enabled.onchange = async () => {
    if (!enabled.checked) return set(false);
    set(await allow(preferences().wakeWord));
  };
  const offer = (words) => {
    setPreferences({ wakeWords: words });
    const { wakeWord } = preferences();
    const lost = wakeWord !== "" && !words.includes(wakeWord);
    kinds.replaceChildren(
      makeElement("option", { value: "", text: text("wake.own") }),
      ...words.map((word) => makeElement("option", { value: word, text: text("wake.by_sound", { word: spokenWord(word) }) })),
    );
    kinds.value = lost ? "" : wakeWord;
    if (!lost) return draw();
    field.value = spokenWord(wakeWord); // from here on, its words are recognized, where the user allows that
    setPreferences({ wakeWord: "", wakePhrase: field.value });
    draw();
    if (!enabled.checked || isAllowed("")) return onChange(chosenPhrase());
    onLost(field.value);
    set(false);
  };
  kinds.onchange = async () => {
    const word = kinds.value;
    if (!(await allow(word))) return (kinds.value = preferences().wakeWord);
    setPreferences({ wakeWord: word });
    draw();
    onChange(chosenPhrase());
  };
  field.oninput = draw;
  field.onchange = () => {
    if (wakePhrase(field.value) === null) return;
    setPreferences({ wakePhrase: wakePhrase(field.value) });
    onChange(chosenPhrase());
  };
  offer(preferences().wakeWords);
  return { element, turnOff: () => enabled.checked && set(false), offer };
}

/** @returns {Promise<boolean>} whether the user agrees */
function askForConsent(word) {
  const agree = makeElement("button", { class: "primary", value: "agree", text: text("wake.agree") });
  const cancel = makeElement("button", { class: "quiet", value: "", text: text("wake.cancel") });
  const title = makeElement("h2", { id: "wake-consent-title", text: text("wake.consent_title", { host: location.host }) });
  const explained = makeElement("p", { text: text(word ? "wake.consent_sound" : "wake.consent", { phrase: wantedPhrase(word) }) });
  const dialog = makeElement("dialog", { id: "wake-consent", "aria-labelledby": "wake-consent-title" }, makeElement("form", { method: "dialog" }, title, explained, makeElement("div", { class: "row" }, cancel, agree)));
  dialog.onkeydown = (event) => event.stopPropagation(); // Escape must not close the settings below it
  document.body.append(dialog);
  dialog.addEventListener("close", keepFocus);
  return new Promise((resolve) => {
    dialog.onclose = () => {
      dialog.remove();
      resolve(dialog.returnValue === "agree");
    };
    dialog.showModal();
  });
}
