"""Tests of kept pauses: with consent only, for one owner, faded by age, deleted with the conversations."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from assistant.end_of_turn.priors import HALF_LIFE_DAYS, PauseCounts
from assistant.history.items import ItemId, UserMessage
from assistant.storage.conversation_file import TERMINAL, ConversationFile, Retention, owner_of_browser
from assistant.storage.conversation_store import kept_pauses

MINE, OTHER = owner_of_browser("a" * 40), owner_of_browser("b" * 40)
COUNTS = PauseCounts(6.0, 4.0)
SAID = [UserMessage(ItemId("item_1"), "well", spoken=True)]


class Clock:
    now_s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path, clock: Clock) -> Iterator[ConversationFile]:
    with closing(ConversationFile(tmp_path / "c.sqlite3", clock, Retention(86400, 9), keeps_pauses=True)) as file:
        yield file


def raw(file: ConversationFile, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file.path, isolation_level=None)) as database:
        return database.execute(statement).fetchall()


@pytest.mark.parametrize("owner", [TERMINAL, MINE], ids=["terminal", "browser"])
def test_pauses_are_kept_for_their_owner(file: ConversationFile, owner: str) -> None:
    place = file.create(owner, "one", "", SAID, pauses=PauseCounts(1.0, 1.0))
    file.append(owner, "one", place, SAID, pauses=COUNTS)
    assert kept_pauses(file, owner) == (COUNTS, None)
    assert kept_pauses(file, OTHER) == (PauseCounts(), None)


def test_month_old_pauses_count_half(file: ConversationFile, clock: Clock) -> None:
    file.create(MINE, "one", "", SAID, pauses=COUNTS)
    clock.now_s += HALF_LIFE_DAYS * 86400
    assert kept_pauses(file, MINE) == (PauseCounts(3.0, 2.0), None)


def test_without_consent_nothing_is_written_or_read(file: ConversationFile, clock: Clock) -> None:
    silent = ConversationFile(file.path, clock)
    silent.create(MINE, "one", "", SAID, pauses=COUNTS)
    assert raw(file, "SELECT name FROM sqlite_master WHERE name = 'pauses'") == []
    file.create(MINE, "two", "", SAID, pauses=COUNTS)
    assert kept_pauses(silent, MINE) == (PauseCounts(), None)


def test_typed_conversation_writes_no_pauses(file: ConversationFile) -> None:
    file.create(MINE, "one", "", SAID, pauses=PauseCounts())
    assert file.pauses() == {}


@pytest.mark.parametrize("names", [[None], ["one", "two"]], ids=["all", "one by one"])
def test_pauses_are_deleted_with_the_last_conversation(file: ConversationFile, names: list[str | None]) -> None:
    for owner in (MINE, OTHER):
        for name in ("one", "two"):
            file.create(owner, name, "", SAID, pauses=COUNTS)
    for deleted in names:
        assert MINE in file.pauses()
        file.delete(MINE, deleted)
    assert file.pauses() == {OTHER: COUNTS}
    assert raw(file, "SELECT owner FROM pauses") == [(OTHER,)]


def test_pauses_end_with_the_retention_of_conversations(file: ConversationFile, clock: Clock) -> None:
    file.create(MINE, "one", "", SAID, pauses=COUNTS)
    clock.now_s += 2 * 86400
    file.create(OTHER, "one", "", SAID)
    assert file.pauses() == {}


def test_deleted_conversation_writes_no_pauses(file: ConversationFile) -> None:
    place = file.create(MINE, "one", "", SAID, pauses=COUNTS)
    file.delete(MINE, None)
    assert file.append(MINE, "one", place, SAID, pauses=COUNTS) is None
    assert file.pauses() == {}


@pytest.mark.parametrize(
    "change", ["turns = 'four'", "turns = -1", "turns = 9e99", "pauses = 9e99", "pauses = 9e999", "changed_s = x'00'"]
)
def test_damaged_pauses_are_reported_and_replaced(file: ConversationFile, change: str) -> None:
    file.create(MINE, "one", "", SAID, pauses=COUNTS)
    file.create(OTHER, "one", "", SAID, pauses=COUNTS)
    raw(file, f"UPDATE pauses SET {change} WHERE owner = '{MINE}'")
    counts, problem = kept_pauses(file, MINE)
    assert (counts, problem and problem.code) == (PauseCounts(), "pauses_damaged")
    assert kept_pauses(file, OTHER) == (COUNTS, None)
    file.create(MINE, "two", "", SAID, pauses=COUNTS)
    assert kept_pauses(file, MINE) == (COUNTS, None)


def test_file_that_cannot_be_read_gives_no_pauses(file: ConversationFile) -> None:
    file.path.write_bytes(b"no database" * 100)
    assert kept_pauses(file, MINE) == (PauseCounts(), None)
