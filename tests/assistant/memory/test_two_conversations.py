"""A fact that is told on day one is used on day eight; one that is deleted is not. In virtual time."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from support.conversations.loaded_skills import loaded_skills
from support.conversations.session_harness import SessionHarness
from support.conversations.simulation import NOON
from support.engines.cache_parts import InlineExecutor
from support.engines.scripted_engines import SequenceModel

from assistant.config.settings import Settings
from assistant.memory.extractor import Extractor
from assistant.memory.facts import ConversationFacts
from assistant.memory.keeper import FactKeeper
from assistant.memory.memory_file import MemoryFile
from assistant.memory.recalling_chat import Recall
from assistant.pipeline.engines import Engines
from assistant.setup import build
from assistant.setup.answering.user_memory import UserMemory, lines_of
from assistant.storage.conversation_database import ConversationDatabase
from assistant.storage.conversation_file import TERMINAL, ConversationFile

pytestmark = pytest.mark.virtual_time

DAY_S = 86400.0
NUTS = json.dumps({"facts": [{"quote": "I am allergic to nuts"}]})


@dataclass
class User:
    """A user who talks on several days; each conversation is another start of the program.

    Attributes:
        now_s: The wall clock.
        asked: The last request of the model in each conversation.
    """

    path: Path
    now_s: float = 1_800_000_000.0
    asked: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.conversations = ConversationFile(self.path / "conversations.sqlite3", lambda: self.now_s)

    @asynccontextmanager
    async def talks(self, name: str, *said: str, draws: str = "") -> AsyncGenerator[None]:
        """Holds a conversation. `draws`: what the model answers when facts are drawn before it, if anything is."""
        model = SequenceModel(("Noted.",))
        drawing = SequenceModel((draws or json.dumps({"facts": []}),))
        file = MemoryFile(ConversationDatabase(self.path / "conversations.sqlite3", 1.0), lambda: self.now_s)
        threads = InlineExecutor()
        keeper = FactKeeper(file, Recall(None, threads), threads, self.facts.append)
        memory = UserMemory(keeper, Extractor(file, lambda: drawing, lines_of, keeper.changed, threads))
        while await memory.extractor.read_next():
            pass
        facts: list[ConversationFacts] = [memory.begin(TERMINAL, name, kept=True)]

        def with_memory(engines: Engines) -> Engines:
            effects = engines.skill_effects
            effects.facts = facts[0]
            chat = build.answering(Settings(), loaded_skills(), memory.recalling(model, model, effects), effects)
            return replace(engines, model=chat)

        await keeper.exchange_all()
        talk = SessionHarness(transcripts=said, engines=with_memory)
        async with talk.running():
            for number, _ in enumerate(said, 1):
                await talk.speak(until="response.done", count=number)
            yield
        await keeper.exchange_all()
        file.begin_reading(TERMINAL, name)
        self.conversations.create(TERMINAL, name, NOON.isoformat(), talk.session.history.items)
        self.asked.append("\n".join(message.content for message in model.asked[-1]) if model.asked else "")
        self.facts = [fact.text for fact in file.facts(TERMINAL)]
        file.close()
        self.conversations.close()


async def test_fact_of_day_one_is_used_on_day_eight(tmp_path: Path) -> None:
    user = User(tmp_path)
    async with user.talks("c1", "by the way I am allergic to nuts"):
        pass
    assert (user.facts, "earlier" in user.asked[-1]) == ([], False)
    user.now_s += 7 * DAY_S
    async with user.talks("c2", "what shall I cook tonight", draws=NUTS):
        pass
    assert user.facts == ["I am allergic to nuts"]
    assert '"I am allergic to nuts"' in user.asked[-1]
    assert user.asked[-1].endswith("what shall I cook tonight")


async def test_told_fact_is_used_in_the_next_conversation(tmp_path: Path) -> None:
    user = User(tmp_path)
    async with user.talks("c1", "remember that my daughter is called Ada"):
        pass
    async with user.talks("c2", "what could I give my daughter"):
        pass
    assert '"my daughter is called Ada"' in user.asked[-1]


async def test_forgotten_fact_is_not_used_nor_drawn_again(tmp_path: Path) -> None:
    user = User(tmp_path)
    async with user.talks("c1", "by the way I am allergic to nuts"):
        pass
    user.now_s += DAY_S
    async with user.talks("c2", "forget that I am allergic to nuts", draws=NUTS):
        pass
    assert user.facts == []
    user.now_s += DAY_S
    async with user.talks("c3", "what shall I cook tonight", draws=NUTS):
        pass
    assert (user.facts, "nuts" in user.asked[-1]) == ([], False)


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_deletion_of_the_conversation_is_complete(tmp_path: Path) -> None:
    user = User(tmp_path)
    async with user.talks("c1", "remember that I keep platypusses"):
        pass
    user.conversations.delete(TERMINAL, None)
    user.conversations.close()
    assert b"platypusses" not in bytes_in(tmp_path)
