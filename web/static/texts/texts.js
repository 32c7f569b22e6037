/** The texts of the page in one language: the one chosen in the settings, else the first of the browser's languages that there is. */

import { preferences } from "../view/preferences.js";
import de from "./de.js";
import en from "./en.js";
import es from "./es.js";
import fr from "./fr.js";

const TABLES = { de, en, es, fr };

/** The languages of the page, each with its own name. @type {Record<string, string>} */
export const PAGE_LANGUAGES = Object.fromEntries(Object.entries(TABLES).map(([code, table]) => [code, table["language.name"]]));

/** @param {string} tag as "de-AT" @returns {string} as "de" */
function baseOf(tag) {
  return tag.split("-")[0].toLowerCase();
}

/** Codes of the languages that the user prefers, best first: the one chosen for the page, then the browser's. */
export const preferredLanguages = [preferences().pageLanguage, ...navigator.languages].filter(Boolean).map(baseOf);

/** Code of the page's language. */
export const pageLanguage = preferredLanguages.find((one) => one in TABLES) ?? "en";

/** The page's language with the region that the browser names for it: "en-GB" has dates of its own. */
export const locale = navigator.languages.find((one) => baseOf(one) === pageLanguage) ?? pageLanguage;

const plurals = new Intl.PluralRules(locale);

/**
 * @param {string} key in texts/en.js
 * @param {Record<string, string | number>} values of the names in braces
 * @returns {string}
 */
export function text(key, values = {}) {
  return (TABLES[pageLanguage][key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** @param {string} key @returns {boolean} whether there is such a text */
export function hasText(key) {
  return key in TABLES[pageLanguage];
}

/** Returns a text with a number: `key.one` or `key.other`. @param {string} key @param {number} count */
export function countText(key, count) {
  return text(`${key}.${plurals.select(count) === "one" ? "one" : "other"}`, { count: formatNumber(count) });
}

/** Returns a text in two kinds of parts; `more` are those in brackets, which narrow screens leave out. @returns {{text: string, more: boolean}[]} */
export function textParts(key) {
  return text(key).split(/(\[[^\]]*\])/).filter(Boolean).map((part) => (part.startsWith("[") ? { text: part.slice(1, -1), more: true } : { text: part, more: false }));
}

/**
 * Returns an answer of the server in the page's language, if its code has a text. In English the server's own words stay, which say more.
 * @param {{code?: string, message?: string} | null | undefined} error
 * @param {string} otherwise for an answer without a message
 */
export function serverText(error, otherwise = "") {
  const known = TABLES[pageLanguage][`code.${error?.code}`];
  return (pageLanguage === "en" ? null : known?.replace("{message}", () => error.message ?? "")) ?? error?.message ?? otherwise;
}

/**
 * Returns a notice of the server in the page's language, as `serverText` does.
 * @param {{text: string, code?: string, values?: Record<string, string>}} notice
 */
export function noticeText({ text: words, code, values = {} }) {
  const key = `told.${code}`;
  return pageLanguage === "en" || !hasText(key) ? words : text(key, values);
}

/** @param {number} number @param {number} decimals at most */
export function formatNumber(number, decimals = 0) {
  return number.toLocaleString(locale, { maximumFractionDigits: decimals, useGrouping: false });
}

/** @param {string} iso @returns {string} day and time */
export function formatDate(iso) {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? text("history.unknown_time") : date.toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
}

/** Returns the name of a language. @param {string} code @param {string} otherwise for a code that the browser does not know */
export function languageName(code, otherwise = code) {
  try {
    return new Intl.DisplayNames([locale], { type: "language", fallback: "none" }).of(code) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Returns a text that begins with a capital letter. */
export function capitalized(words) {
  return words.charAt(0).toLocaleUpperCase(locale) + words.slice(1);
}

const ATTRIBUTES = { label: "aria-label", title: "title", placeholder: "placeholder" };

/** Fills the elements of the document that name their texts: `data-text`, `data-label`, `data-title`, `data-placeholder`. */
export function fillTexts() {
  document.documentElement.lang = pageLanguage;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = text(element.dataset.text);
  for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
    for (const element of document.querySelectorAll(`[data-${name}]`)) element.setAttribute(attribute, text(element.dataset[name]));
  }
}
