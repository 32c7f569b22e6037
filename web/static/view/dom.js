/** Finds and creates elements, and formats numbers. */

import { formatNumber, locale } from "../texts/texts.js";

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes `text` is its text
 * @param {...Node} children
 */
export function makeElement(tag, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes `text` is its text
 * @param {...Node} children
 */
export function makeSvgElement(tag, { text, ...attributes } = {}, ...children) {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

/** @param {number} ms @returns {string} without decimals from 10 on, with one decimal below; "0" for 0 */
export function formatMs(ms) {
  if (ms > 0 && ms < 0.05) return `<${formatNumber(0.1, 1)}`;
  if (ms > 0 && ms < 9.95) return ms.toLocaleString(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  return String(Math.round(ms));
}

/** Returns whether the user prefers reduced motion. */
export function prefersReducedMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
