"""Conversion of LLM text to speakable text."""

import time
import timeit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.texts.text_cases import text_cases

from assistant.text.speakable import Speakable, speakable

ATOMS = [
    *"* ** _ ` ``` ```py\n # ## - + > | |---| --- === [ ] ( ) ]( [1] ! ![ ? . ... , ; & &amp; &lt; amp; lt;".split(" "),
    *"< <b> </b> > <think> </think> <!-- --> $ $$ $x^2$ \\ \\( \\) \\frac{1}{2} ^ ^2 { } ~ ~~ http".split(),
    *"https:// :// www.".split(),
    *"w h f a b Word 5 3.5 é 你好 。 😀 【 】 【4†s】 → • — – = <|x|> <br> ' \" “ \\* &#42; &#10; [^1]: [ ] /".split(),
    *"[THINK] [/THINK] ◁ ‼ % \u200b \u200c \u200d \u0645 \ufe0f \x00".split(" "),
    *'<break/> <speak> </speak> <s> </s> <sub alias="x"> </sub> <voice> <a:b> </a:b> <?xml ?> </say-as>'.split(" "),
    *('<say-as interpret-as="digits">', '<break time="0s"', ' name="x"', "=", '"'),
    *(r"\\sqrt \\pi \\frac C:\\right _ _{1} _{ {x} {24} (laughs) (ab [sighs] [ab *bows* _waves_ . ! Cap".split(" ")),
    *("\n", "\n\n", " ", "  ", "\u00a0", "\n- ", "\n1. ", "[text](http://a.b/c)", '<a href="x">', "~~~", "\ud800"),
]
markdown = st.lists(st.sampled_from(ATOMS), max_size=25).map("".join) | st.text(max_size=60)


def stream(text: str, sizes: list[int]) -> str:
    out, at, turn = Speakable(), 0, 0
    said = ""
    while at < len(text):
        size = sizes[turn % len(sizes)]
        said += out.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    return (said + out.finish()).strip()


@text_cases(
    ("text", "said"),
    [
        ("# Title\nText", "Title\n\nText"),
        ("***both*** and in**cred**ible", "both and incredible"),
        ("[a](b) [c][d] [e]", "a c e"),
        ("[a](not a link)", "a(not a link)"),
        ('[a](<b c> "title") d', "a d"),
        ("[x](data:" + "A" * 500 + ") y", "x y"),
        ("![alt](a.png)", "alt"),
        ("![](a.png)ok", "ok"),
        ("a [1], b [2, 3] c[^note].", "a, b c."),
        ("[1]: https://a.b/c\nText", "Text"),
        ("| a | b |\n|---|---|\n| c | d |", "a, b\n\nc, d"),
        ("a\n***\nb", "a\n\nb"),
        ("```python\nx = 1\n```", "I'll leave out the code."),
        ("Text ```python\nx = 1\n```\nmore", "Text\n\nI'll leave out the code.\n\nmore"),
        ("a ```b``` c", "a b c"),
        ("~~~\nx\n~~~\nDone", "I'll leave out the code.\n\nDone"),
        ("Use `<div>` here", "Use div here"),
        ("see https://www.example.com/a_(b)?c=d.", "see example.com."),
        ("see <https://example.com/x>!", "see example.com!"),
        ("to <mailto:me@x.com> or <me.too@x.com>!", "to me@x.com or me.too@x.com!"),
        ("C++, i++ and C++", "C++, i++ and C++"),
        ("`v[0]`, `a[b][c]` and `x != y` [1]", "v 0, a b c and x ≠ y"),
        ("A ` alone, then [a page](http://x.com/y)", "A alone, then a page"),
        ("<details><summary>a</summary>b</details>", "a\n\nb"),
        ("(www.example.org/x), ok", "(example.org), ok"),
        ("http://localhost:8000/v1 is up", "localhost is up"),
        ("see http:// and more", "see http and more"),
        ("和 https://example.com/路径。好", "和 example.com路径。好"),
        ("The tag <think> marks it. It is read.", "The tag think marks it. It is read."),
        ("a<think>b</think>c", "ac"),
        ("a<THINK>b</Think>c", "ac"),
        ("</think>a", "a"),
        ("a <!-- b --> c", "a c"),
        ("a<|im_end|>", "a"),
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ("if x < y and y > z", "if x < y and y > z"),
        ("1 < 2, i <3 you", "1 < 2, i <3 you"),
        ("$E = mc^2$ and $5 and $6", "E = mc² and $5 and $6"),
        ("$2x + 3 = 7$, $5$ of $x$", "2x + 3 = 7, 5 of x"),
        ("$3 \\times 4$ is $0.25$, $-3$ or $50\\%$", "3 × 4 is 0.25, -3 or 50 %"),
        ("$5 - 3$, $5 \\text{ red apples}$, $1{,}000$", "5 - 3, 5 red apples, 1,000"),
        ("$5 or 6$ here", "$5 or 6$ here"),
        ("10^-9 or x^-1", "10 to the power of -9 or x to the power of -1"),
        ("\\(10^-12 + x^10\\)", "10 to the power of -12 + x to the power of 10"),
        ("US$5, 5 $, $HOME", "US$5, 5 $, HOME"),
        ("\\[ \\sqrt{x} \\times \\alpha \\]", "square root of x × alpha"),
        ("$$\\frac{a}{b}$$", "a over b"),
        ("$\\sum_{i=1}^{n} i$, $\\int_0^\\infty f$", "sum from i=1 to n of i, integral from 0 to infinity of f"),
        ("$\\lim_{x \\to 0} x$, $\\sqrt[3]{8}$", "limit as x goes to 0 of x, cube root of 8"),
        ("\\[\\begin{aligned} a &= b \\\\\nc &= d \\end{aligned}\\]", "a = b, c = d"),
        ("x^2 + 10^12", "x² + 10 to the power of 12"),
        ("2*3, 2 * 3, 2**3", "2×3, 2 × 3, 2 to the power of 3"),
        ("\\*not bold\\*", "not bold"),
        ("&amp;lt; b", "< b"),
        ("&amp;amp;lt;", "&lt"),
        ("&lt;b&gt; &amp; &quot;c&quot; &nbsp; d", '< b> & "c" d'),
        ("a\u200bb\u00a0c\x07d\u00ade", "ab cde"),
        ("👍🏽 ok 👨‍👩‍👧 1️⃣ ✅ ☀️", "ok 1"),
        ("می\u200cخواهم a\u200cb", "می\u200cخواهم ab"),
        ("“smart” ‘quotes’ stay", "“smart” ‘quotes’ stay"),
        ("a -- b → c", "a — b, c"),
        ("no!!! what?!?! well.... so,, yes", "no! what?! well... so, yes"),
        ("~5 km, ~~old~~", "~5 km, old"),
        ("~$5, ~€5, ~~$5~~", "~$5, ~€5, $5"),
        ("a • b", "a, b"),
        ("-5 or +3", "-5 or +3"),
        ("one two\r\nthree", "one two three"),
        ("Dial **21*5551234#.", "Dial **21*5551234#."),
        ("Dial **\\*\\*21\\*5551234\\#** now", "Dial **21*5551234# now"),
        ("Dial `**21*5551234#` (##002#).", "Dial **21*5551234# (##002#)."),
        ("**61*+4917112345678**20#, *100#", "**61*+4917112345678**20#, *100#"),
        ("**12** eggs, **3*4** and *5*", "12 eggs, 3×4 and 5"),
        ("Press **\\***, then **\\*** or **`*`**.", "Press *, then * or *."),
        ("Dial **\\*67** first, ***both*** times", "Dial *67 first, both times"),
        ("The * marks a field with *.", "The * marks a field with *."),
        ("area = length * width", "area = length × width"),
        ("Note: * required", "Note: required"),
    ],
)
def test_markup_is_removed_or_spoken(text: str, said: str) -> None:
    assert speakable(text) == said


@text_cases(
    "text",
    [
        "$5 and $10",
        "It costs $5-$10",
        "between $5 and $7.",
        "I paid $5. It was $6.",
        "That is $5 (or 6$).",
        "$5 a day, $30 a week, $100 a month",
        "$1,200/month, $5m–$6m",
        "$5? $6!",
    ],
)
def test_money_is_not_a_formula(text: str) -> None:
    assert {speakable(text), *(stream(text, [cut, len(text)]) for cut in range(1, len(text)))} == {text}


def test_reasoning_is_removed_for_any_token_boundary() -> None:
    text = "<think>a < b, </thin or so</think>Now"
    for cut in range(len(text)):
        out = Speakable()
        first = out.feed(text[:cut])
        assert first + out.feed(text[cut:]) + out.finish() == "Now\n\n"


def test_unclosed_reasoning_is_removed() -> None:
    out = Speakable()
    assert out.feed("<think>secret " * 200) + out.finish() == ""


def test_code_note_is_spoken_once() -> None:
    text = "```\na\n```\nb\n```\nc\n```\n"
    assert speakable(text, "Den Code lasse ich aus.") == "Den Code lasse ich aus.\n\nb"
    assert speakable(text, "") == "b"


@text_cases(
    "mark",
    [
        "*",
        "[",
        "<",
        "<a",
        "<a href=",
        "$",
        "$x",
        "$5",
        "$-5",
        "10^-",
        "`",
        "![",
        "[a](",
        "&",
        "\\",
        "\\(",
        "^",
        "【",
        "~",
        "#",
        "http",
        "www.",
    ],
)
def test_single_mark_does_not_block_the_stream(mark: str) -> None:
    out = Speakable()
    said = out.feed("Well " + mark) + "".join(out.feed(" word") for _ in range(100))
    assert said.count("word") > 90


def test_plain_words_are_passed_on_immediately() -> None:
    out = Speakable()
    assert [out.feed(token) for token in ["The", " museum", " opens", "!"]] == ["The", " museum", " opens", "!"]


@settings(max_examples=examples(100))
@given(markdown, st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_result_does_not_depend_on_token_boundaries(text: str, sizes: list[int]) -> None:
    assert stream(text, sizes) == speakable(text)


@settings(max_examples=examples(100))
@example("$5</think>$")
@example("$5[text](http://a.b/c)$")
@given(markdown)
def test_speakable_is_idempotent(text: str) -> None:
    once = speakable(text)
    assert speakable(once) == once


@settings(max_examples=examples(60))
@given(st.text(max_size=100))
def test_result_has_no_markup_or_invisible_characters(text: str) -> None:
    assert not set(speakable(text)) & set("`[]*_\\^|\u200b\ufeff\x00")


@text_cases(
    "piece",
    [
        "*",
        "[",
        "<a ",
        "`",
        "$a ",
        "-",
        "&amp",
        "\\(a",
        "<think>",
        "http",
        "^{",
        "| ",
        "[a](",
        "【",
        "\\frac{",
        "<a b=",
        ". *ab ",
    ],
)
@pytest.mark.parametrize("token_chars", [4, 100_000], ids=["short tokens", "one token"])
def test_cost_is_linear_in_text_length(piece: str, token_chars: int) -> None:
    def seconds(chars: int) -> float:
        text = (piece * chars)[:chars]
        return timeit.timeit(lambda: stream(text, [token_chars]), timer=time.thread_time, number=1)

    # Ten times the text may take ten times as long; scanning it repeatedly would take a hundred times as long. The
    # fastest of five runs counts, so the first one that is fast enough decides.
    limit_s = 50 * min(seconds(3_000) for _ in range(5)) + 0.01
    assert any(seconds(30_000) < limit_s for _ in range(5))
