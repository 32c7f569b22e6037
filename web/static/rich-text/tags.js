/** The tags that models write. They are left out, reasoning with its content: the page shows no HTML from models. Pure. */

const VALUE = "(?:\"[^\"<]*\"|'[^'<]*'|[^\\s\"'<>]+)";

/** A tag; its second group is the name. Sticky. */
export const TAG = new RegExp(`<(/?)([A-Za-z][\\w-]*)((?:\\s+[\\w:@.-]+(?:\\s*=\\s*${VALUE})?){0,20})\\s*/?>`, "y");

const REASONING = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|tool_call|script|style";
const REASONING_BLOCK = new RegExp(`<(${REASONING})>[\\s\\S]*?(?:</\\1>|$)`, "gi");
const OTHER_REASONING = /\[think\][\s\S]*?(?:\[\/think\]|$)|◁think▷[\s\S]*?(?:◁\/think▷|$)|<!--[\s\S]*?(?:-->|$)|<\|\w{1,40}\|>/gi;

// As in assistant/text/markup/tags.py, which leaves them out of the speech.
const KNOWN = new Set(
  ("a abbr answer b big body button caption cite code del dfn em font footer head header html i iframe img input ins kbd label main mark meta"
  + " nav option output q response s samp section select small source span strike strong sub sup svg tbody thead tfoot time title tt u var video wbr"
  + " br p div li ul ol tr table hr h1 h2 h3 h4 h5 h6 blockquote pre details summary td th"
  + " speak break prosody emphasis say-as phoneme audio sentence paragraph object embed form base link"
  + ` ${REASONING.replaceAll("|", " ")}`).split(" "),
);

/** @param {string} name @returns {boolean} whether a tag of this name is markup and not text, such as "<your name>" */
export function isKnownTag(name) {
  return KNOWN.has(name.toLowerCase());
}

/** Returns the text without reasoning, comments and special tokens. Code is left as it is. */
export function withoutReasoning(text) {
  if (!/[<[◁]/.test(text)) return text;
  return text.split(/(^(?:`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^(?:`{3,}|~{3,})[ \t]*$|$(?![\s\S]))|`[^`\n]+`)/m)
    .map((part, n) => (n % 2 ? part : part.replace(REASONING_BLOCK, "").replace(OTHER_REASONING, ""))).join("");
}
