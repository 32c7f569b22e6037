import { RichText } from "/static/rich-text/rich-text.js";
import { webAddress } from "/static/rich-text/addresses.js";
import { heardWith, letters } from "/static/rich-text/heard-units.js";
import { parseMarkdown } from "/static/rich-text/markdown.js";
import { splitWords, wordStarts } from "/static/session/word-timing.js";
import { WakeMode, needsConsent, wakePhrase } from "/static/session/wake-mode.js";
import { run, same } from "./check.js";

/** Short form of a tree: tags and text. */
function short(nodes) {
  return nodes.map((node) => {
    switch (node.type) {
      case "text": return node.text;
      case "break": return "/";
      case "code": return node.language === undefined ? `\`${node.text}\`` : `[code ${node.language}:${node.text}]`;
      case "formula": return `[formula:${node.text}]`;
      case "rule": return "[rule]";
      case "link": return `<${node.host}:${short(node.children)}>`;
      case "heading": return `[h${node.level} ${short(node.children)}]`;
      case "list": return `[${node.ordered ? `ol${node.start}` : "ul"} ${node.items.map((one) => `${one.checked === null ? "" : one.checked ? "x:" : "o:"}${short(one.children)}`).join(";")}]`;
      case "table": return `[table ${[node.head, ...node.rows].map((row) => row.map(short).join(",")).join(";")}]`;
      default: return `${{ strong: "B", emphasis: "I", deleted: "S", quote: "Q", paragraph: "P" }[node.type]}(${short(node.children)})`;
    }
  }).join("");
}

const CASES = [
  ["plain words", "P(plain words)"],
  ["**bold** *it* _it_ __bold__ ~~old~~ ***both***", "P(B(bold) I(it) I(it) B(bold) S(old) I(B(both)))"],
  ["a_b_c 2*3*4 5 * 6 x ** y", "P(a_b_c 2*3*4 5 * 6 x ** y)"],
  ["**a *b* c**", "P(B(a I(b) c))"],
  ["**not closed", "P(**not closed)"],
  ["`a*b*` ``x`y`` ` alone", "P(`a*b*` `x`y` ` alone)"],
  ["\\*no\\* \\[x\\] &amp; &lt;b&gt; &nope;", "P(*no* [x] & <b> &nope;)"],
  ["one\ntwo  \nthree", "P(one/two/three)"],
  ["# A\n### B ###\n#hash", "[h1 A][h3 B]P(#hash)"],
  ["- a\n- b\n  - c\n- d", "[ul P(a);P(b)[ul P(c)];P(d)]"],
  ["1. a\n\n2. b\n   more\n\n   para", "[ol1 P(a);P(b/more)P(para)]"],
  ["3) c\n4) d", "[ol3 P(c);P(d)]"],
  ["Words:\n- a\n* b\n• c", "P(Words:)[ul P(a);P(b);P(c)]"],
  ["It was in\n1984. A year", "P(It was in/1984. A year)"],
  ["- [ ] open\n- [x] done", "[ul o:P(open);x:P(done)]"],
  ["> a\n> b\n\nc", "Q(P(a/b))P(c)"],
  ["a\n\n---\n\nb", "P(a)[rule]P(b)"],
  ["```py\nx = 1\n\ny\n```\nafter", "[code py:x = 1\n\ny]P(after)"],
  ["~~~\n```\n~~~", "[code :```]"],
  ["1. x\n   ```\n   code\n   ```", "[ol1 P(x)[code :code]]"],
  ["```\nnever closed", "[code :never closed]"],
  ["| a | b |\n|---|--:|\n| 1 | `x|y` |\n| 2 |", "[table a,b;1,`x|y`;2,]"],
  ["a | b\n--|--\n1 | 2\n\nend", "[table a,b;1,2]P(end)"],
  ["a | b\nno table", "P(a | b/no table)"],
  ["$$\nx^2\n$$", "[formula:x^2]"],
  ["\\[ a+b \\]", "[formula:a+b]"],
  ["[text](https://www.example.org/a_(b) \"title\")!", "P(<example.org:text>!)"],
  ["see https://example.org/a_b(c). Or www.x.org, ok", "P(see <example.org:https://example.org/a_b(c)>. Or <x.org:www.x.org>, ok)"],
  ["<https://a.org/x>", "P(<a.org:https://a.org/x>)"],
  ["![a picture](https://evil.example/i.png)", "P(<evil.example:a picture>)"],
  ["[a](javascript:alert(1)) [b](data:text/html,x) [c](/local) [d](//host/x)", "P(a b c d)"],
  ["[a [b](https://x.org) c", "P([a <x.org:b> c)"],
  ["<b>bold</b> <your name> a < b <br> c<script>alert(1)</script>", "P(bold <your name> a < b/c)"],
  ["<think>hm\n\nhm</think>Yes. `<think>` stays", "P(Yes. `<think>` stays)"],
  ["fact【1†source】.", "P(fact.)"],
];

const OPEN_CASES = [
  ["some **bold wo", "P(some B(bold wo))"],
  ["some **", "P(some )"],
  ["x `co", "P(x `co`)"],
  ["a [lin", "P(a lin)"],
  ["a [link](https://exa", "P(a link)"],
  ["| a | b |", "[table a,b]"],
  ["| a | b |\n|--", "[table a,b]"],
  ["```js\nx", "[code js:x]"],
  ["**one** and *tw", "P(B(one) and I(tw))"],
];

/** A generator of random numbers that is the same in every run (mulberry32). */
function randomNumbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const PIECES = ["*", "**", "_", "~~", "`", "```", "\n", "\n\n", "- ", "1. ", "# ", "> ", "|", "|-|", "[", "](", ")", "(", "!", "\\", "$$", "    ", " ", "---", "&amp;", "<", ">", "https://", "ab", "Cde", "日本語", "שלום", "😀", "\u200d", "\t", "\r\n", "【", "】", "\u0000", "\\[", "\\]"];

function randomText(random, length) {
  return Array.from({ length }, () => PIECES[Math.floor(random() * PIECES.length)]).join("");
}

/** All text of a tree, with what is not shown: addresses and the language of code. */
function allText(node) {
  if (Array.isArray(node)) return node.map(allText).join("");
  if (node === null || typeof node !== "object") return "";
  const own = (node.language ?? "") + (node.text ?? "");
  return own + [node.children, node.items, node.head, node.rows].filter(Boolean).map(allText).join("");
}

function shown(options) {
  const element = document.createElement("div");
  const rich = new RichText(element);
  const draw = (changed) => {
    rich.draw({ source: "", open: false, words: [], played: 0, spoken: true, interrupted: false, ...options, ...changed });
    return element;
  };
  return { element: draw({}), draw };
}

function lit(element) {
  return [...element.querySelectorAll(".word.played, .heard-block.played")].map((one) => (one.matches(".heard-block") ? "#" : one.textContent.trim()));
}

export default () => run({
  ...Object.fromEntries(CASES.map(([text, tree]) => [`parses ${JSON.stringify(text)}`, () => same(short(parseMarkdown(text)), tree)])),
  ...Object.fromEntries(OPEN_CASES.map(([text, tree]) => [`parses while it grows ${JSON.stringify(text)}`, () => same(short(parseMarkdown(text, true)), tree)])),
  "any text is parsed, and its words stay in order"() {
    const random = randomNumbers(38);
    for (let n = 0; n < 1500; n++) {
      const text = randomText(random, 1 + Math.floor(random() * 60));
      for (const open of [false, true]) {
        const found = allText(parseMarkdown(text, open)).replace(/[^a-zA-Z日本語שלום😀]/gu, "");
        const wanted = text.replace(/&amp;/g, "").replace(/https:\/\//g, "").replace(/[^a-zA-Z日本語שלום😀]/gu, "");
        // Addresses, tags and citation marks may be left out; where there are none, every letter is shown.
        if (!/[<【(]|https/.test(text)) same(found.replace(/amp/g, ""), wanted.replace(/amp/g, ""), JSON.stringify(text));
      }
    }
  },
  "long and nested text is parsed in time"() {
    const began = performance.now();
    for (const piece of ["*a ", "[", "`", "**", "> ", "- ", "|", "(", "<a ", "![", "\\", "~~", "_a", "https://a.b/", "[a](", "<think>", "$$\n", "  - "]) {
      parseMarkdown(piece.repeat(Math.floor(20_000 / piece.length)));
      parseMarkdown(Array.from({ length: 400 }, (_, n) => " ".repeat(n % 40) + piece + n).join("\n"), true);
    }
    if (performance.now() - began > 8000) throw new Error(`took ${performance.now() - began} ms`);
  },
  "addresses that begin at every place are parsed in time"() {
    const began = performance.now();
    for (const piece of ["www.", "http://a", "http://(", "www.a)))) "]) parseMarkdown(piece.repeat(40_000 / piece.length));
    parseMarkdown(`http://a${")".repeat(40_000)}`);
    if (performance.now() - began > 5000) throw new Error(`took ${performance.now() - began} ms`);
  },
  "nothing that a model writes becomes markup"() {
    const attacks = [
      "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](data:text/html,<script>1</script>)",
      "[x](https://a.org\" onclick=\"alert(1))", "![x](https://a.org/i.png)", "<svg/onload=alert(1)>", "```\"><img src=x onerror=alert(1)>\n</code></pre><script>1</script>\n```",
      "| <img src=x> |\n|---|\n| <iframe src=//x> |", "# <style>*{display:none}</style>", "[<img src=x>](https://a.org)", "<a href=\"javascript:1\">x</a>", "[x](vbscript:1)",
      "[bank](https://bank.example@evil.example/)", "[x](\u0001javascript:alert(1))", "[x](java\nscript:alert(1))", "<math><mi xlink:href=javascript:1>", "$$<img src=x>$$",
    ];
    const random = randomNumbers(7);
    for (let n = 0; n < 300; n++) attacks.push(randomText(random, 20) + attacks[Math.floor(random() * 19)] + randomText(random, 20));
    const allowed = new Set("P DIV SPAN BR STRONG EM S CODE A UL OL LI HR BLOCKQUOTE TABLE THEAD TBODY TR TH TD PRE BUTTON".split(" "));
    const attributes = new Set("class dir lang href target rel role aria-level aria-label tabindex translate type start scope".split(" "));
    for (const text of attacks) for (const open of [false, true]) {
      const { element } = shown({ source: text, open });
      for (const one of element.querySelectorAll("*")) {
        if (!allowed.has(one.tagName)) throw new Error(`${one.tagName} from ${JSON.stringify(text)}`);
        for (const { name } of one.attributes) if (!attributes.has(name)) throw new Error(`attribute ${name} from ${JSON.stringify(text)}`);
        if (one.tagName === "A" && (!/^https?:\/\/[^@]*$/.test(one.href) || one.rel !== "noopener noreferrer")) throw new Error(`link ${one.href} from ${JSON.stringify(text)}`);
      }
    }
  },
  "only addresses of the web are opened"() {
    same(["http://a.org", "https://a.org:8/x?y", "www.a.org", "ftp://a.org", "javascript:1", "https://u:p@a.org", "https://", "//a.org"].map((one) => webAddress(one)?.host ?? null), ["a.org", "a.org:8", "a.org", null, null, null, null, null]);
  },
  "words light up as they are spoken, and blocks as a whole"() {
    const source = "Run **this** now:\n\n```sh\nls -l\n```\n\nThen see [the docs](https://docs.example.org/x).\n\n| a | b |\n|---|---|\n| 1 | 2 |";
    const words = splitWords("Run this now: A code block of one line follows. Then see the docs. A table follows.");
    const view = shown({ source, words });
    const after = (played) => lit(view.draw({ played }));
    same(after(0), []);
    same(after(2), ["Run", "this"]);
    same(after(3), ["Run", "this", "now:"]);
    same(after(4), ["Run", "this", "now:", "#"]);
    same(after(10), ["Run", "this", "now:", "#"]);
    same(after(12), ["Run", "this", "now:", "#", "Then", "see"]);
    same(after(words.length), ["Run", "this", "now:", "#", "Then", "see", "the", "docs", ".", "#"]);
  },
  "what was not spoken yet is not lit while the reply goes on, and all of it is in the end"() {
    const view = shown({ source: "One two three. Four", words: splitWords("One two"), played: 2, open: true });
    same(lit(view.element), ["One", "two"]);
    same(lit(view.draw({ interrupted: true })), ["One", "two"]);
    same(lit(view.draw({ words: splitWords("One two three. Four"), played: 4, open: false })), ["One", "two", "three.", "Four"]);
  },
  "words with marks inside, numbers and left-out words keep the order"() {
    const units = ["un", "believ", "able", "", "12", "km", "away", "gone"].map((text) => ({ letters: letters(text), block: false }));
    same(heardWith(units, ["unbelievable", "twelve", "kilometres", "away"], true), [0, 0, 0, 0, 1, 2, 3, 3]);
    same(heardWith([{ letters: "a", block: false }], [], true), [0]);
    same(heardWith([], ["x"], true), []);
  },
  "a word of the sentence for a block is not found in the text behind the block"() {
    const source = "Look:\n\n```python\nx\n```\n\n| city |\n|---|\n| Rome |\n\nThat is all, my friend.";
    const words = splitWords("Look: Here is the Python code. Here is a table: city. That is all, my friend.");
    const before = words.findIndex((word) => word.trim() === "That");
    for (const spoken of [words, words.slice(0, before), words.slice(0, before - 3)]) {
      const view = shown({ source, words: spoken, played: before - 3, open: spoken !== words });
      same(lit(view.element).includes("That") || lit(view.element).includes("is"), false, spoken.join(""));
    }
    same(lit(shown({ source, words, played: before + 2 }).element).slice(-2), ["That", "is"]);
    same([2, 5, 7].map((played) => lit(shown({ source, words, played }).element).filter((one) => one === "#").length), [1, 1, 2]);
  },
  "an address is spoken by its host"() {
    const view = shown({ source: "See https://www.example.org/a/long/path now", words: splitWords("See example.org now"), played: 2 });
    same(lit(view.element), ["See", "https://www.example.org/a/long/path"]);
  },
  "blocks above a change keep their elements"() {
    const view = shown({ source: "First.\n\n```\ncode", open: true });
    const first = view.element.firstChild;
    view.draw({ source: "First.\n\n```\ncode\n```\n\nMore", open: true });
    same([view.element.firstChild === first, view.element.childElementCount], [true, 3]);
  },
  "paragraphs have their own direction, and code has none"() {
    const { element } = shown({ source: "שלום עולם\n\nHello\n\n- שלום\n\n```\nx\n```\n\nこんにちは世界" });
    const direction = (one) => { document.body.append(element); const found = getComputedStyle(one).direction; element.remove(); return found; };
    same([...element.children].map(direction), ["rtl", "ltr", "rtl", "ltr", "ltr"]);
    same(element.lastChild.lang, "ja");
  },
  "text without spaces lights up word by word"() {
    const words = splitWords("こんにちは世界。元気ですか");
    if (words.length < 3 || words.join("") !== "こんにちは世界。元気ですか") throw new Error(JSON.stringify(words));
    const starts = wordStarts(words, [{ text: "こんにちは世界。元気ですか", start_ms: 0, end_ms: 1200 }]);
    same(starts.every((one, n) => one >= 0 && one < 1200 && (n === 0 || one > starts[n - 1])), true, JSON.stringify(starts));
  },
  "no wake phrase is needed right after a reply and after the phrase alone"() {
    let now = 0;
    const wake = new WakeMode(() => now);
    same([wake.awaited, wake.fields()], ["", {}]);
    Object.assign(wake, { phrase: "hey computer", windowS: 8 });
    same([wake.awaited, wake.fields()], ["hey computer", { wake_phrase: "hey computer" }]);
    wake.replied();
    same([(now = 8) && wake.awaited, (now = 8.1) && wake.awaited], ["", "hey computer"]);
    wake.windowS = 0;
    wake.called();
    same([(now = 13) && wake.awaited, (now = 14) && wake.awaited], ["", "hey computer"]);
    wake.called();
    wake.yielded(); // a device in another room answers
    same(wake.awaited, "hey computer");
    wake.phrase = "";
    same(wake.fields(), { wake_phrase: null });
  },
  "an announcement opens no time without the wake phrase"() {
    const wake = new WakeMode(() => 10);
    Object.assign(wake, { phrase: "hey computer", windowS: 8 });
    wake.announced("resp_1");
    wake.replied("resp_1");
    wake.replied(null); // it has ended
    same(wake.awaited, "hey computer");
    wake.replied("resp_2");
    same(wake.awaited, "");
    wake.announced("resp_3");
    wake.replied("resp_3");
    same(wake.awaited, "");
  },
  "a wake word by sound replaces the recognized phrase where the server has it"() {
    const wake = new WakeMode(() => 0);
    Object.assign(wake, { phrase: "okay nabu", word: "okay_nabu", windowS: 8 });
    same(wake.fields(), { wake_phrase: "okay nabu" });
    wake.offered = ["okay_nabu"];
    same(wake.fields(), { wake_phrase: null, wake_word: "okay_nabu" });
    wake.called();
    same(wake.awaited, "");
    Object.assign(wake, { phrase: "hey computer", word: "" });
    same(wake.fields(), { wake_phrase: "hey computer", wake_word: null });
  },
  "a wake phrase has one to five words, and other machines need consent"() {
    same([" Hey  Computer ", "a b c d e", "a b c d e f", "hey, you", "", "привет дом"].map(wakePhrase), ["Hey Computer", "a b c d e", null, null, null, "привет дом"]);
    same([["localhost", ""], ["127.0.0.1", ""], ["home.example", ""], ["home.example", "home.example"]].map((one) => needsConsent(...one)), [false, false, true, false]);
  },
  "the copy button copies the code"() {
    const { element } = shown({ source: "```py\nprint(1)\n```" });
    same([element.querySelector("button").textContent, element.querySelector("pre").textContent], ["Copy", "print(1)"]);
  },
});
