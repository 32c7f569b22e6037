/** Names of voices for the screen. */

import { text } from "../texts/texts.js";

/**
 * @param {string} name as "en_US-joe-medium"
 * @param {{name: string, label: string}[]} voices of the server, with their labels
 * @returns {string} as "Joe (US, medium)"
 */
export function voiceName(name, voices = []) {
  const found = /^[a-z]{2,3}_([A-Z]{2})-(\w+)-(x_low|low|medium|high)$/.exec(name);
  if (found) return `${capitals(found[2])} (${found[1]}, ${text(`voice.${found[3]}`)})`;
  return name === "espeak-ng" ? text("voice.robotic") : voices.find((one) => one.name === name)?.label || name;
}

function capitals(name) {
  return name.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" ");
}
