"""The keeper stores what it promises: before the first reading, after a lasting error, at the end of the program."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from support.engines.cache_parts import InlineExecutor
from support.engines.scripted_engines import SequenceModel

from assistant.history.items import ItemId, UserMessage
from assistant.memory.extractor import Extractor
from assistant.memory.facts import AddFact, Fact, PendingFacts
from assistant.memory.keeper import FactKeeper
from assistant.memory.memory_file import MemoryFile, OwnerFacts
from assistant.memory.recalling_chat import Recall
from assistant.setup.answering.user_memory import UserMemory, lines_of
from assistant.skills.effects import SkillEffects
from assistant.storage.conversation_database import ConversationDatabase
from assistant.storage.conversation_file import TERMINAL, ConversationFile

ROME = AddFact("I live in Rome", "2026-11-20T10:00:00")


def keeper_of(file: MemoryFile, problems: list[str] | None = None) -> FactKeeper:
    threads = InlineExecutor()
    return FactKeeper(file, Recall(None, threads), threads, ([] if problems is None else problems).append)


@pytest.fixture
def file(tmp_path: Path) -> MemoryFile:
    return MemoryFile(ConversationDatabase(tmp_path / "conversations.sqlite3", 0.1), lambda: 1.8e9)


def known(keeper: FactKeeper) -> tuple[Fact, ...] | None:
    effects = SkillEffects(lambda _messages: None, lambda: None)  # type: ignore[arg-type,return-value]
    effects.facts = keeper.open(TERMINAL, "c1")
    return effects.known_facts


async def test_memory_is_on_before_it_is_read(file: MemoryFile) -> None:
    keeper = keeper_of(file)
    facts = keeper.open(TERMINAL, "c1")
    assert known(keeper) == ()
    facts.change(ROME)
    await keeper.exchange_all()
    assert [fact.text for fact in file.facts(TERMINAL)] == ["I live in Rome"]
    file.close()


async def test_fact_is_not_kept_for_owner_without_memory(file: MemoryFile) -> None:
    file.enable(TERMINAL, enabled=False)
    keeper = keeper_of(file)
    facts = keeper.open(TERMINAL, "c1")
    facts.change(ROME)
    await keeper.exchange_all()
    assert (known(keeper), file.facts(TERMINAL)) == (None, ())
    file.close()


async def test_nothing_is_promised_after_a_lasting_error(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    path.write_bytes(b"no database at all " * 99)
    problems: list[str] = []
    keeper = keeper_of(MemoryFile(ConversationDatabase(path, 0.1), lambda: 1.8e9), problems)
    facts = keeper.open(TERMINAL, "c1")
    await keeper.exchange_all()
    assert (len(problems), facts.user.enabled, known(keeper)) == (1, False, None)


class _Busy(MemoryFile):
    """A file whose first writing lasts until it is released, and fails then."""

    def __init__(self, path: Path) -> None:
        super().__init__(ConversationDatabase(path, 0.1), lambda: 1.8e9)
        self.begun, self.released = threading.Event(), threading.Event()

    def exchange(self, owner: str, pending: PendingFacts, revision: int = -1) -> OwnerFacts:
        if not pending.is_empty and not self.begun.is_set():
            self.begun.set()
            self.released.wait(20)
            raise OSError("it is in use")
        return super().exchange(owner, pending, revision)


async def test_last_write_is_repeated_at_the_end(tmp_path: Path) -> None:
    file = _Busy(tmp_path / "conversations.sqlite3")
    with ThreadPoolExecutor(1) as threads:
        keeper = FactKeeper(file, Recall(None, threads), threads, lambda _what: None)
        facts = keeper.open(TERMINAL, "c1")
        task = asyncio.create_task(keeper.run())
        await keeper.settle()
        facts.change(ROME)
        await asyncio.to_thread(file.begun.wait, 20)
        task.cancel()
        file.released.set()
        with suppress(asyncio.CancelledError):
            await task
    assert [fact.text for fact in file.facts(TERMINAL)] == ["I live in Rome"]
    file.close()


@pytest.mark.parametrize("same", [True, False])
async def test_facts_are_drawn_with_the_model_of_the_settings(same: bool, tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    file, conversations = (
        MemoryFile(ConversationDatabase(path, 0.1), lambda: 1.8e9),
        ConversationFile(path, lambda: 1e9),
    )
    keeper, model = keeper_of(file), SequenceModel(("Fine.",))
    extractor = Extractor(file, lambda: model, lines_of, keeper.changed, InlineExecutor())
    memory = UserMemory(keeper, extractor)
    facts = memory.begin(TERMINAL, "c1", kept=True)
    memory.note_model(model if same else SequenceModel(("Fine.",)), facts)
    await keeper.exchange_all()
    conversations.create(TERMINAL, "c1", "2026-11-20", [UserMessage(ItemId("i"), "I live in Rome", spoken=True)])
    assert (file.claim_reading(None, 0, 300) is not None) == same
    file.close()
    conversations.close()
