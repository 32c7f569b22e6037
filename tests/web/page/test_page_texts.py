"""The texts of the page: each language has all of them, each of them is used, and no module has its own."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pages.page_texts import LANGUAGES, TEXTS, table

from assistant.support.notice import TEMPLATES
from web.app import STATIC

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|"(?P<double>(?:\\.|[^"\\\n])*)"'
    r"|'(?P<single>(?:\\.|[^'\\\n])*)'"
    r"|`(?P<template>(?:\\.|[^`\\])*)`",
    re.DOTALL,
)
"""A comment or a string; a quote in a regular expression begins none, because these modules escape or avoid them."""

SHOWN = re.compile(r"[^\W\d_]{2,} [^\W\d_]{2,}|^[A-Z][a-z]+\b[^:/-]*$")
"""Two words, or one with a capital letter."""

NOT_SHOWN = re.compile(
    r"Error$|^repartee |^(ArrowUp|ArrowDown|Bearer|Content-Type|Authorization|Escape|Enter|Space|Backspace|Home|End)\b"
)
"""Names of exceptions, locks, headers and keys."""

WITHOUT_TEXTS = {
    STATIC / name
    for name in (
        "app/service-worker.js",
        "audio/pcm.js",
        "audio/resampling-filter.js",
        "rich-text/markdown-inline.js",
        "rich-text/tags.js",
    )
}
"""Their sentences are for developers, or they are lists of tags and expressions that parse Markdown."""

SHOWN_AS_NAMES = {"Repartee", "WebSocket", "Esc", "Segmenter", "hey computer", "no recognizer", "noopener noreferrer"}
BEFORE_CLASSES = re.compile(r"(class: |className = |matchMedia\(|SVG_NAMESPACE = |querySelector(All)?\(|closest\()$")
CLASS_TERNARY = re.compile(
    r"^(quiet|first-run|small|none|hint|choice|setting|notice|item|row|turn|visually)\b|needs-session$"
)

REPORTS = re.compile(r"\b_?(?:Problem|report_problem|report_once|report_failure)$")
ONLY_IN_TERMINALS = (
    "assistant/commands/",
    "assistant/replay/",
    "assistant/storage/conversation_store.py",  # `ConversationStore.open`, which only `talk --resume` calls
    "assistant/support/background_writer.py",  # its callers name what is written
    "assistant/trace/",  # so does `web/connections/connection.py`
    "web/remote/",
)
"""Code whose problems do not reach the page as they are."""


def modules() -> Iterator[Path]:
    return (file for file in sorted(STATIC.rglob("*.js")) if file.parent != TEXTS or file.name == "texts.js")


def strings(source: str) -> Iterator[tuple[str, str]]:
    """Returns the strings of a module without their placeholders, each with the code before it."""
    for token in TOKEN.finditer(source):
        words = next((group for group in token.groups() if group is not None), None)
        if words is not None:
            yield (
                re.sub(r"\$\{[^{}]*(\{[^{}]*\}[^{}]*)*\}", "", words),
                source[max(0, token.start() - 40) : token.start()],
            )


@pytest.mark.parametrize("language", LANGUAGES)
def test_language_has_every_text_with_its_values(language: str) -> None:
    english, own = table("en"), table(language)
    assert sorted(own) == sorted(english)
    for key, words in own.items():
        names = re.findall(r"\{\w+\}", words)
        assert set(names) == set(re.findall(r"\{\w+\}", english[key])), key
        assert words.strip(), key
        assert words.count("[") == words.count("]"), key


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_sentences_of_another_language_are_translated(language: str) -> None:
    english, own = table("en"), table(language)
    same = [key for key, words in own.items() if words == english[key] and len(words.split()) > 2]
    assert same == []


def test_notices_of_the_server_are_in_every_language() -> None:
    told = {key.removeprefix("told."): words for key, words in table("en").items() if key.startswith("told.")}
    assert told == dict(TEMPLATES)  # the other languages have the same keys and values


def reported_literals(source: str) -> list[int]:
    """Returns the lines of a module that report a problem in words of their own, without a code."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args)
    return [
        call.lineno
        for call in calls
        if REPORTS.search(ast.unparse(call.func)) and isinstance(call.args[0], ast.Constant | ast.JoinedStr | ast.BinOp)
    ]


def test_problems_are_reported_with_a_code() -> None:
    found = [
        f"{file}:{line}: use notice() of assistant/support/notice.py"
        for folder in ("assistant", "web")
        for file in sorted(Path(folder).rglob("*.py"))
        if not any(str(file).startswith(one) for one in ONLY_IN_TERMINALS)
        for line in reported_literals(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_problem_without_a_code_is_found() -> None:
    source = 'self.report_problem(f"{name} failed")\nProblem("late")\nProblem(notice("reply_failed", reason=what))'
    assert reported_literals(source) == [1, 2]


def test_modules_show_no_words_of_their_own() -> None:
    found = [
        f"{file.relative_to(STATIC)}: {words}"
        for file in modules()
        if file not in WITHOUT_TEXTS
        for words, before in strings(file.read_text(encoding="utf-8"))
        if SHOWN.search(words)
        and words not in SHOWN_AS_NAMES
        and not NOT_SHOWN.search(words)
        and not BEFORE_CLASSES.search(before)
        and not CLASS_TERNARY.search(words)
    ]
    assert found == []


def test_words_in_a_module_are_found() -> None:
    source = (
        'a.textContent = "Listen"; /* Not this */ b(`${x({})} too many`, "quiet small", "device-id"); // "Nor this"'
    )
    assert [words for words, _ in strings(source) if SHOWN.search(words)] == ["Listen", " too many", "quiet small"]


def test_document_names_its_texts() -> None:
    source = (STATIC / "index.html").read_text(encoding="utf-8")
    body = source[source.index("<body") : source.index("<noscript")]
    shown = [words.strip() for words in re.findall(r">([^<>]+)<", body) if words.strip()]
    assert set(shown) <= {"Repartee", "ms", "–", "0"}
    assert re.findall(r'(?<!data-)\b(?:aria-label|title|placeholder|alt)="([^"]+)"', body) == []
    used = set(re.findall(r'data-(?:text|label|title|placeholder)="([^"]+)"', body))
    assert used <= set(table("en"))


def test_every_text_is_used_and_every_used_text_exists() -> None:
    sources = "\n".join(file.read_text(encoding="utf-8") for file in modules())
    sources += (STATIC / "index.html").read_text(encoding="utf-8")
    keys = set(table("en"))
    prefixes = tuple(re.findall(r"[\"`]([a-z_]+\.[a-z_-]*)\$\{", sources))
    named = set(re.findall(r'"([a-z]+\.[a-zA-Z_.-]+)"', sources))
    groups = {key.partition(".")[0] for key in keys}
    missing = (
        {one for one in named if one.partition(".")[0] in groups} - keys - {key.rpartition(".")[0] for key in keys}
    )
    assert missing - {"session.created", "session.updated"} == set()
    plural = {key for key in keys if key.endswith((".one", ".other")) and key.rpartition(".")[0] in named}
    by_code = {key for key in keys if key.startswith(("code.", "language."))}
    unused = {key for key in keys - named - plural - by_code if not key.startswith(prefixes)}
    assert unused == set()


def test_no_module_touches_private_member_of_another() -> None:
    """A private member begins with `_`; only its own object uses it, as `this._name`."""
    files = sorted(STATIC.rglob("*.js"))
    foreign = re.compile(r"\w*(?<!this)\._[a-z]\w*")
    touched = [f"{file.name}: {one[0]}" for file in files for one in foreign.finditer(file.read_text(encoding="utf-8"))]
    assert len(files) > 80
    assert touched == []
