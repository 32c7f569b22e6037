"""Facts in the file of kept conversations: owners, deletion, reservations, damage."""

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.history.items import ItemId, UserMessage
from assistant.memory.facts import MAX_FACTS, Fact, PendingFacts
from assistant.memory.memory_file import MemoryFile
from assistant.storage.conversation_database import ConversationDatabase, ConversationFileError
from assistant.storage.conversation_file import TERMINAL, ConversationFile, Place, Retention

DAY_S = 86400.0
SECRET = "platypusses in my attic"


class Clock:
    """A wall clock that the test moves."""

    now_s = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s


class Store:
    """The file of conversations with its facts."""

    def __init__(self, path: Path) -> None:
        self.path = path / "conversations.sqlite3"
        self.clock = Clock()
        self.conversations = ConversationFile(self.path, self.clock, Retention(10 * DAY_S, 2))
        self.facts = self.another()

    def another(self) -> MemoryFile:
        """Returns the file as another process has it."""
        return MemoryFile(ConversationDatabase(self.path, 0.1), self.clock)

    def talk(self, name: str, *said: str, owner: str = TERMINAL, drawn: bool = True) -> Place:
        if drawn:
            self.facts.begin_reading(owner, name)
        items = [UserMessage(ItemId(f"i{number}"), text, spoken=True) for number, text in enumerate(said)]
        return self.conversations.create(owner, name, "2026-11-20", items)

    def add(self, key: str, text: str = SECRET, owner: str = TERMINAL, conversation: str = "") -> None:
        self.facts.change(owner, {key: Fact(key, text, "2026-11-20T10:00:00", conversation)})

    def texts(self, owner: str = TERMINAL) -> list[str]:
        return [fact.text for fact in self.facts.facts(owner)]

    def bytes(self) -> bytes:
        return b"".join(file.read_bytes() for file in self.path.parent.iterdir())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "data")
    yield made
    made.facts.close()
    made.conversations.close()


def test_facts_are_kept_for_their_owner_only(store: Store) -> None:
    store.add("k1", "ours")
    store.add("k2", "theirs", owner="browser b")
    assert (store.texts(), store.texts("browser b")) == (["ours"], ["theirs"])
    store.facts.change("browser b", {"k1": None})
    store.facts.change("browser b", {"k1": Fact("k1", "changed", "2026")})
    assert store.texts() == ["ours"]


def test_file_is_readable_by_the_user_only(store: Store) -> None:
    store.add("k1")
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_nothing_is_created_by_reading(store: Store) -> None:
    assert (store.texts(), store.facts.owners(), store.facts.claim_reading(None, 0, 60)) == ([], [], None)
    assert not store.path.exists()


def test_deleted_fact_leaves_no_bytes(store: Store) -> None:
    store.add("k1")
    store.add("k2", "something else")
    assert SECRET.encode() in store.bytes()
    store.facts.change(TERMINAL, {"k1": None})
    assert SECRET.encode() not in store.bytes()
    assert store.texts() == ["something else"]


def test_deletion_of_all_leaves_no_bytes(store: Store) -> None:
    store.add("k1")
    assert (store.facts.delete_all(TERMINAL), store.texts()) == (1, [])
    assert SECRET.encode() not in store.bytes()


def test_facts_go_with_their_conversation(store: Store) -> None:
    store.talk("c1", "hello")
    store.talk("c2", "hello")
    store.add("k1", conversation="c1")
    store.add("k2", "of another conversation", conversation="c2")
    store.conversations.delete(TERMINAL, "c1")
    assert store.texts() == ["of another conversation"]
    assert SECRET.encode() not in store.bytes()


def test_deletion_of_all_conversations_deletes_all_facts(store: Store) -> None:
    store.talk("c1", "hello", owner="browser b")
    store.add("k1", owner="browser b")
    store.add("k2")
    store.conversations.delete("browser b", None)
    store.conversations.delete(TERMINAL, None)
    assert (store.texts("browser b"), store.texts()) == ([], [])
    assert SECRET.encode() not in store.bytes()


def test_facts_outlive_conversations_that_are_too_old(store: Store) -> None:
    store.talk("c1", "hello", owner="browser b")
    store.add("k1", owner="browser b", conversation="c1")
    store.clock.now_s += 11 * DAY_S
    store.talk("c2", "hello", owner="browser b")
    assert store.texts("browser b") == [SECRET]
    store.conversations.delete("browser b", "c2")
    assert store.texts("browser b") == [SECRET]
    store.conversations.delete("browser b", None)
    assert store.texts("browser b") == []


def test_no_more_facts_than_allowed_are_stored(store: Store) -> None:
    facts = {str(n): Fact(str(n), f"fact {n}", f"2026-11-20T10:{n // 60:02}:{n % 60:02}") for n in range(MAX_FACTS + 5)}
    store.facts.change(TERMINAL, facts)
    with sqlite3.connect(store.path) as database:
        rows = database.execute("SELECT count(*) FROM facts").fetchone()
    database.close()
    assert (rows[0], store.texts()[0]) == (MAX_FACTS, "fact 5")


def test_deletion_of_all_reaches_rows_beyond_the_limit(store: Store) -> None:
    store.add("k1")
    with sqlite3.connect(store.path) as database:
        rows = [(str(n), TERMINAL, "", "older", "2025") for n in range(MAX_FACTS + 5)]
        database.executemany("INSERT INTO facts (key, owner, conversation, text, said_at) VALUES (?, ?, ?, ?, ?)", rows)
    database.close()
    assert store.facts.delete_all(TERMINAL) == MAX_FACTS + 6
    assert store.texts() == []


def test_part_that_another_process_has_read_is_not_stored_again(store: Store) -> None:
    store.talk("c1", "I live in Rome")
    reading = store.facts.claim_reading(None, 0, 300)
    assert reading is not None
    store.facts.finish_reading(reading, 5, {"k1": Fact("k1", "I live in Rome", "2026", "c1")})
    store.another().finish_reading(reading, 5, {"k2": Fact("k2", "I live in Rome", "2026", "c1")})
    assert store.texts() == ["I live in Rome"]


def test_conversation_stays_reserved_between_its_parts(store: Store) -> None:
    place = store.talk("c1", "I live in Rome")
    store.conversations.append(TERMINAL, "c1", place, [UserMessage(ItemId("x"), "I like tea", spoken=True)])
    reading = store.facts.claim_reading(None, 0, 300)
    assert reading is not None
    store.facts.finish_reading(reading, reading.lines[0][0], {}, goes_on=True)
    assert store.facts.claim_reading(None, 0, 300) is None


def test_conversation_is_read_when_it_is_finished(store: Store) -> None:
    store.talk("c1", "I live in Rome")
    assert store.facts.claim_reading(None, 60, 300) is None
    store.clock.now_s += 61
    reading = store.facts.claim_reading(None, 60, 300)
    assert reading is not None
    assert (reading.owner, reading.conversation, len(reading.lines)) == (TERMINAL, "c1", 1)


def test_conversation_without_a_memory_is_not_read(store: Store) -> None:
    store.talk("c1", "I live in Rome", drawn=False)
    store.add("k1")
    store.clock.now_s += 61
    assert store.facts.claim_reading(None, 60, 300) is None


def test_resumed_conversation_is_read_from_there(store: Store) -> None:
    place = store.talk("c1", "before", drawn=False)
    store.facts.begin_reading(TERMINAL, "c1")
    store.conversations.append(TERMINAL, "c1", place, [UserMessage(ItemId("x"), "afterwards", spoken=True)])
    reading = store.facts.claim_reading([TERMINAL], 0, 300)
    assert reading is not None
    assert [b"afterwards" in line for _, line in reading.lines] == [True]


def test_two_processes_do_not_read_the_same(store: Store) -> None:
    store.talk("c1", "I live in Rome")
    other = store.another()
    assert store.facts.claim_reading(None, 0, 300) is not None
    assert other.claim_reading(None, 0, 300) is None
    other.close()


def test_reservation_ends_after_a_crash(store: Store) -> None:
    store.talk("c1", "I live in Rome")
    assert store.facts.claim_reading(None, 0, 300) is not None
    store.clock.now_s += 301
    other = store.another()
    assert other.claim_reading(None, 0, 300) is not None
    other.close()


def test_facts_and_how_far_was_read_are_stored_together(store: Store) -> None:
    store.talk("c1", "I live in Rome")
    reading = store.facts.claim_reading(None, 0, 300)
    assert reading is not None
    fact = Fact("k1", "I live in Rome", "2026", "c1")
    store.facts.finish_reading(reading, reading.lines[-1][0], {"k1": fact})
    assert (store.texts(), store.facts.claim_reading(None, 0, 300)) == (["I live in Rome"], None)


def test_nothing_is_drawn_after_the_user_asked_to_forget(store: Store) -> None:
    store.talk("c1", "I live in Rome")
    reading = store.facts.claim_reading(None, 0, 300)
    assert reading is not None
    store.another().exchange(TERMINAL, PendingFacts({}, forgets=True))
    store.facts.finish_reading(reading, 99, {"k1": Fact("k1", "I live in Rome", "2026", "c1")})
    assert (store.texts(), store.facts.claim_reading(None, 0, 300)) == ([], None)


def test_owner_who_wants_no_memory_is_not_read(store: Store) -> None:
    store.talk("c1", "I live in Rome")
    store.facts.enable(TERMINAL, enabled=False)
    store.talk("c2", "I live in Rome")
    assert store.facts.claim_reading(None, 0, 300) is None
    assert not store.facts.exchange(TERMINAL, PendingFacts({})).enabled
    store.facts.enable(TERMINAL, enabled=True)
    store.talk("c3", "I live in Rome")
    reading = store.facts.claim_reading(None, 0, 300)
    assert reading is not None
    assert reading.conversation == "c3"


def test_unchanged_facts_are_not_read_again(store: Store) -> None:
    store.add("k1")
    kept = store.facts.exchange(TERMINAL, PendingFacts({}))
    assert store.facts.exchange(TERMINAL, PendingFacts({}), kept.revision).facts is None
    store.another().change(TERMINAL, {"k2": Fact("k2", "another", "2026")})
    again = store.facts.exchange(TERMINAL, PendingFacts({}), kept.revision)
    assert again.facts is not None
    assert len(again.facts) == 2


def test_damaged_row_is_left_out(store: Store) -> None:
    store.add("k1", "whole")
    with sqlite3.connect(store.path) as database:
        database.execute("INSERT INTO facts VALUES ('k2', ?, '', x'00ff', 7, 0)", (TERMINAL,))
        database.execute("INSERT INTO facts VALUES ('k3', ?, '', '', '2026', 0)", (TERMINAL,))
    database.close()
    assert store.texts() == ["whole"]


@pytest.mark.parametrize("content", [b"no database at all " * 99])
def test_file_of_another_kind_is_a_lasting_error(store: Store, content: bytes) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    with pytest.raises(ConversationFileError) as error:
        store.add("k1")
    assert error.value.lasting


def test_full_disk_stores_nothing_and_loses_nothing(store: Store) -> None:
    store.add("k1", "before")
    with sqlite3.connect(store.path) as database:
        pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.close()
    full = MemoryFile(_Limited(store.path, pages), store.clock)
    with pytest.raises(ConversationFileError) as error:
        full.change(TERMINAL, {str(n): Fact(str(n), "x" * 200, "2026") for n in range(400)})
    assert not error.value.lasting
    assert store.texts() == ["before"]
    full.close()


class _Limited(ConversationDatabase):
    """A file on a disk with room for so many pages."""

    def __init__(self, path: Path, pages: int) -> None:
        super().__init__(path, 0.1)
        with self.opened() as database:
            assert database is not None
            database.execute(f"PRAGMA max_page_count = {pages}")
