"""The texts of the page: each language has all of them, and each of them is used."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pages.page_texts import LANGUAGES, TEXTS, table

from assistant.support.notice import TEMPLATES
from web.app import STATIC

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
