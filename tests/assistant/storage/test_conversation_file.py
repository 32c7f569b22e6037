"""The file of conversations: owners, search, limits, deletion, exports."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assistant.history.items import AssistantMessage, Item, ItemId, UserMessage
from assistant.storage import conversation_file, conversation_search
from assistant.storage.conversation_database import ConversationFileError
from assistant.storage.conversation_export import as_markdown
from assistant.storage.conversation_file import (
    TERMINAL,
    ConversationFile,
    KeptConversation,
    Place,
    Retention,
    owner_of_browser,
)
from assistant.storage.conversation_search import Summary, folded

BEGAN = "2026-01-31T09:30:00+00:00"
MINE, OTHER = (owner_of_browser(name * 40) for name in "ab")


class Clock:
    """A wall clock that advances with each call."""

    def __init__(self) -> None:
        self.now_s = 1_800_000_000.0

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s


def exchange(said: str, answered: str = "Yes.") -> list[Item]:
    return [UserMessage(ItemId("item_1"), said, spoken=True), AssistantMessage(ItemId("item_2"), answered)]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ConversationFile]:
    file = ConversationFile(tmp_path / "c.sqlite3", Clock())
    yield file
    file.close()


@pytest.fixture(params=[True, False], ids=["fts5", "without fts5"])
def with_index(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    wanted: bool = request.param
    if wanted and not conversation_search.has_index():
        pytest.skip("this SQLite has no FTS5 with trigrams")
    monkeypatch.setattr(conversation_search, "has_index", lambda: wanted)
    return wanted


def ids(found: list[Summary]) -> list[str]:
    return [one.id for one in found]


def test_owner_sees_own_conversations_only(file: ConversationFile) -> None:
    place = file.create(MINE, "one", BEGAN, exchange("about the pasta"))
    file.create(OTHER, "one", BEGAN, exchange("about the bank"))
    file.create(TERMINAL, "talk", BEGAN, exchange("in the terminal"))
    assert [(one.id, one.title) for one in file.summaries(MINE, 9)] == [("one", "about the pasta")]
    assert file.load(MINE, "talk") is None
    assert file.append(OTHER, "one", place, exchange("x")) is None, "another owner's place"
    assert file.delete(MINE, "talk") == []
    assert file.search(MINE, "bank", 9) == []
    assert file.delete(MINE, None) == ["one"]
    assert ids(file.summaries(OTHER, 9)) == ["one"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("pasta", ["one"]),
        ("PÂSTA Timer", ["one"]),
        ("sta", ["one"]),
        ("st", ["one"]),
        ("明天", ["two"]),
        ("天", ["two"]),
        ('"pasta" OR 1', []),
        ("words:pasta", []),
        ("pasta*", []),
        ("NEAR(pasta timer)", []),
        ("'; DROP TABLE items; --", []),
        ("%", ["three"]),
        ("a_a", []),
        ("100%", ["three"]),
        ('"', ["three"]),
        ("\0pasta", ["one"]),
        ("\ud800", []),
        ("   ", []),
        ("pasta " * 100_000, ["one"]),
        ("x" * 1_000_000, []),
    ],
    ids=range(20),
)
@pytest.mark.usefixtures("with_index")
def test_search_takes_any_text_literally(file: ConversationFile, words: str, found: list[str]) -> None:
    file.create(MINE, "one", BEGAN, exchange("set a pasta timer", "The pâsta timer runs."))
    file.create(MINE, "two", BEGAN, exchange("明天天气怎么样"))
    file.create(MINE, "three", BEGAN, exchange('he is "100%" sure'))
    assert ids(file.search(MINE, words, 9)) == found


@pytest.mark.usefixtures("with_index")
def test_search_finds_the_newest_first_with_the_words_around(file: ConversationFile) -> None:
    for number in range(5):
        file.create(MINE, f"c{number}", BEGAN, exchange(f"{'filler ' * 30}the bicycle number {number} {'more ' * 30}"))
    found = file.search(MINE, "bicycle", 3)
    assert ids(found) == ["c4", "c3", "c2"]
    assert "bicycle number 4" in found[0].snippet
    assert len(found[0].snippet) < 130


@pytest.mark.usefixtures("with_index")
def test_deleted_words_are_in_no_file(file: ConversationFile, tmp_path: Path) -> None:
    file.create(MINE, "one", BEGAN, exchange("my password is xylophone", "I forget xylophone."))
    file.create(MINE, "two", BEGAN, exchange("something else"))
    assert ids(file.search(MINE, "xylophone", 9)) == ["one"]
    assert file.delete(MINE, "one") == ["one"]
    assert file.search(MINE, "xylophone", 9) == []
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"xylophone" not in content
    assert b"something else" in content


def test_index_is_made_anew_after_a_program_without_fts5(
    file: ConversationFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not conversation_search.has_index():
        pytest.skip("this SQLite has no FTS5 with trigrams")
    file.create(MINE, "one", BEGAN, exchange("the first"))
    file.create(MINE, "two", BEGAN, exchange("the second"))
    assert len(file.search(MINE, "the", 9)) == 2
    with monkeypatch.context() as patch:
        patch.setattr(conversation_search, "has_index", lambda: False)
        file.delete(MINE, "one")
        file.create(MINE, "three", BEGAN, exchange("the third"))
    assert ids(file.search(MINE, "the", 9)) == ["three", "two"]
    file.delete(MINE, "two")
    assert ids(file.search(MINE, "the", 9)) == ["three"]


def test_search_fills_the_index_in_steps_and_finds_all(file: ConversationFile, monkeypatch: pytest.MonkeyPatch) -> None:
    if not conversation_search.has_index():
        pytest.skip("this SQLite has no FTS5 with trigrams")
    monkeypatch.setattr(conversation_search, "MAX_FILL_CHARS", 50)
    names = [f"c{number}" for number in range(6)]
    for name in names:
        file.create(MINE, name, BEGAN, exchange(f"the pasta timer of {name}"))
    for indexed in (4, 8, 12, 12):
        assert ids(file.search(MINE, "pasta", 9)) == names[::-1]
        with closing(sqlite3.connect(file.path)) as database:
            assert database.execute("SELECT max(indexed) FROM index_state").fetchone() == (indexed,)
    file.delete(MINE, "c1")
    assert ids(file.search(MINE, "pasta", 9)) == ["c5", "c4", "c3", "c2", "c0"]
    with closing(sqlite3.connect(file.path)) as database:
        database.execute("INSERT INTO word_index (word_index, rank) VALUES ('integrity-check', 1)")


def test_old_and_too_many_conversations_of_browsers_are_deleted(tmp_path: Path) -> None:
    clock = Clock()
    file = ConversationFile(tmp_path / "c.sqlite3", clock, Retention(max_age_s=86400, max_conversations=3))
    file.create(TERMINAL, "talk", BEGAN, exchange("kept"))
    for number in range(5):
        file.create(MINE, f"c{number}", BEGAN, exchange("x"))
    assert ids(file.summaries(MINE, 9)) == ["c4", "c3", "c2"]
    clock.now_s += 2 * 86400
    file.create(OTHER, "new", BEGAN, exchange("x"))
    assert file.summaries(MINE, 9) == []
    assert ids(file.summaries(TERMINAL, 9)) == ["talk"]
    file.close()


def test_full_file_takes_nothing_more_from_browsers(file: ConversationFile, monkeypatch: pytest.MonkeyPatch) -> None:
    place = file.create(MINE, "one", BEGAN, exchange("x"))
    monkeypatch.setattr(conversation_file, "MAX_FILE_BYTES", 4096)
    with pytest.raises(ConversationFileError):
        file.append(MINE, "one", place, exchange("y"))
    file.create(TERMINAL, "talk", BEGAN, exchange("the user's own"))


def test_file_takes_more_after_a_deletion(file: ConversationFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_file, "MAX_FILE_BYTES", 150_000)
    file.create(MINE, "one", BEGAN, exchange("x" * 200_000))
    with pytest.raises(ConversationFileError):
        file.create(OTHER, "two", BEGAN, exchange("y"))
    file.delete(MINE, "one")
    file.create(OTHER, "two", BEGAN, exchange("y"))


def test_title_is_short_and_printable(file: ConversationFile) -> None:
    greeting = AssistantMessage(ItemId("item_1"), "Hello.")
    place = file.create(MINE, "one", BEGAN, [greeting])
    assert file.summaries(MINE, 9)[0].title == ""
    file.append(MINE, "one", place, exchange("\x1b[31mred\n\ud83d " + "word " * 50))
    (summary,) = file.summaries(MINE, 9)
    assert summary.title.startswith("[31mred word")
    assert len(summary.title) <= 80
    assert summary.turns == 1


def test_secret_of_a_browser_is_not_stored(file: ConversationFile, tmp_path: Path) -> None:
    secret = "s3cret-of-this-browser-0123456789abcdef"
    file.create(owner_of_browser(secret), "one", BEGAN, exchange("x"))
    assert secret.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_half_written_transaction_is_not_seen(file: ConversationFile, tmp_path: Path) -> None:
    place = file.create(MINE, "one", BEGAN, exchange("x"))
    with closing(sqlite3.connect(tmp_path / "c.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO items (conversation, line, words) VALUES (?, ?, '')", (place.number, b"{}"))
        kept = file.load(MINE, "one")
        assert kept is not None
        assert len(kept.items) == 2


def test_folding_ignores_case_accents_and_spaces() -> None:
    assert folded("Straße  ÉTÉ\n\tﬁn") == "strasse ete fin"


# ---- exports ----


STOPPED = AssistantMessage(ItemId("a"), "One. Two", complete=False, unheard=" three. Four.")


def exported(*items: Item) -> str:
    return as_markdown(KeptConversation("id", "", "", 0.0, "", items, 0, Place(1, 0)))


@pytest.mark.parametrize(
    ("following", "count"),
    [
        (AssistantMessage(ItemId("b"), "Two three. Four."), 0),
        (AssistantMessage(ItemId("b"), "Two", complete=False, unheard=" three. Four."), 1),
        (AssistantMessage(ItemId("b"), "Your timer is done."), 1),
        (UserMessage(ItemId("b"), "Two three. Four.", spoken=True), 1),
    ],
)
def test_rest_that_was_resumed_is_not_exported_as_unheard(following: Item, count: int) -> None:
    assert exported(STOPPED, following).count("(not heard)* three. Four.") == count


def test_export_names_several_speakers() -> None:
    said = [UserMessage(ItemId(name), "hello", spoken=True, speaker=name) for name in ("S1", "ann")]
    assert "**S1:** hello\n\n**ann:** hello" in exported(*said)
    assert "**You:** hello" in exported(said[0])
