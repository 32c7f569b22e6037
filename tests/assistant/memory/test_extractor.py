"""Facts are drawn from finished conversations while nobody speaks, and nothing is lost on the way."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from support.engines.cache_parts import InlineExecutor

from assistant.history.items import AssistantMessage, FunctionOutput, Item, ItemId, ToolUse, UserMessage
from assistant.memory.extractor import FINISHED_AFTER_S, LOOK_EVERY_S, MAX_FAILURES, QUIET_S, Extractor
from assistant.memory.memory_file import MemoryFile
from assistant.setup.answering.user_memory import lines_of
from assistant.storage.conversation_database import ConversationDatabase
from assistant.storage.conversation_file import TERMINAL, ConversationFile
from assistant.storage.store_format import item_lines
from llm.chat import PLAIN, ChatEvent, ChatOptions, FunctionCall, Message, Token
from llm.errors import LlmUnreachable

pytestmark = pytest.mark.virtual_time

NOTHING = json.dumps({"facts": []})
ROME = json.dumps({"facts": [{"quote": "I live in Rome"}]})


class Model:
    """Answers requests after some time."""

    name, detail = "model", ""

    def __init__(self, *answers: str | Exception, takes_s: float = 1.0) -> None:
        self.answers, self.takes_s = list(answers), takes_s
        self.requests: list[str] = []
        self.options: list[ChatOptions] = []
        self.closed = 0

    async def load(self) -> None:
        """Loads nothing."""

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.requests.append(messages[-1].content)
        self.options.append(options)
        try:
            await asyncio.sleep(self.takes_s)
            answer = self.answers.pop(0) if self.answers else NOTHING
            if isinstance(answer, Exception):
                raise answer
            yield Token(answer)
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        """Closes nothing."""


class World:
    """A file, a model and an extractor."""

    def __init__(self, path: Path, model: Model) -> None:
        self.model = model
        path = path / "conversations.sqlite3"
        self.conversations = ConversationFile(path, self.wall_s)
        self.file = MemoryFile(ConversationDatabase(path, 0.1), self.wall_s)
        self.changed: list[str] = []
        self.extractor = self.another()

    def another(self) -> Extractor:
        return Extractor(self.file, lambda: self.model, lines_of, self.changed.append, InlineExecutor())

    @staticmethod
    def wall_s() -> float:
        return 1.8e9 + asyncio.get_running_loop().time()

    def talk(self, name: str, *items: Item | str, owner: str = TERMINAL) -> None:
        self.file.begin_reading(owner, name)
        said = [
            UserMessage(ItemId(f"i{number}"), item, spoken=True) if isinstance(item, str) else item
            for number, item in enumerate(items)
        ]
        self.conversations.create(owner, name, "2026-11-20", said)

    def texts(self, owner: str = TERMINAL) -> list[str]:
        return [fact.text for fact in self.file.facts(owner)]

    @asynccontextmanager
    async def running(self, extractor: Extractor | None = None) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task((extractor or self.extractor).run())
            yield
            task.cancel()
        self.file.close()
        self.conversations.close()


async def test_fact_is_drawn_from_a_finished_conversation(tmp_path: Path) -> None:
    world = World(tmp_path, Model(ROME))
    world.talk("c1", "Hello. I live in Rome.")
    async with world.running():
        await asyncio.sleep(FINISHED_AFTER_S - 1)
        assert world.model.requests == []
        await asyncio.sleep(LOOK_EVERY_S + 3)
    (fact,) = world.file.facts(TERMINAL)
    assert (fact.text, fact.conversation, fact.said_at[:10]) == ("I live in Rome", "c1", "2027-01-15")
    assert world.changed == [TERMINAL]
    assert world.model.options[0].size == "small"


async def test_turn_cancels_the_request_which_is_repeated_later(tmp_path: Path) -> None:
    world = World(tmp_path, Model(ROME, takes_s=5))
    world.talk("c1", "Hello. I live in Rome.")
    async with world.running():
        await asyncio.sleep(FINISHED_AFTER_S + 3)
        assert (len(world.model.requests), world.model.closed) == (1, 0)
        world.extractor.note_turn()
        await asyncio.sleep(0)
        await asyncio.sleep(0.1)
        assert (world.model.closed, world.texts()) == (1, [])
        await asyncio.sleep(QUIET_S - 1)
        assert len(world.model.requests) == 1
        await asyncio.sleep(LOOK_EVERY_S * 2)
    assert world.texts() == ["I live in Rome"]


async def test_crash_while_drawing_loses_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, Model(takes_s=50))
    world.talk("c1", "Hello. I live in Rome.")
    async with world.running():
        await asyncio.sleep(FINISHED_AFTER_S + LOOK_EVERY_S)
    world.model = Model(ROME)
    async with world.running(world.another()):
        await asyncio.sleep(LOOK_EVERY_S)
    assert world.texts() == ["I live in Rome"]


async def test_conversation_is_read_once(tmp_path: Path) -> None:
    world = World(tmp_path, Model(ROME))
    world.talk("c1", "Hello. I live in Rome.")
    async with world.running():
        await asyncio.sleep(1000)
    assert len(world.model.requests) == 1


@pytest.mark.parametrize("answer", ["no JSON", RuntimeError("defect")])
async def test_failure_is_repeated_and_then_skipped(
    answer: str | Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path, Model(*[answer] * 9))
    world.talk("c1", "Hello. I live in Rome.")
    async with world.running():
        await asyncio.sleep(1000)
    assert (len(world.model.requests), world.texts()) == (MAX_FAILURES, [])
    assert "not tried again" in caplog.text
    assert "Rome" not in caplog.text


async def test_unreachable_model_loses_no_facts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    away = LlmUnreachable("model", "it is away", spoken="Away.", retryable=True)
    world = World(tmp_path, Model(*[away] * 9, ROME))
    world.talk("c1", "Hello. I live in Rome.")
    async with world.running():
        await asyncio.sleep(1000)
        assert len(world.model.requests) <= 7
        await asyncio.sleep(4 * 3600)
    assert world.texts() == ["I live in Rome"]
    assert caplog.text.count("does not answer") == 1


async def test_turns_do_not_cancel_requests_to_a_service(tmp_path: Path) -> None:
    world = World(tmp_path, Model(ROME, takes_s=5))
    world.extractor.is_local = lambda: False
    world.talk("c1", "Hello. I live in Rome.")
    async with world.running():
        for _ in range(int(FINISHED_AFTER_S) + 30):
            world.extractor.note_turn()
            await asyncio.sleep(1)
    assert (len(world.model.requests), world.texts()) == (1, ["I live in Rome"])


async def test_busy_machine_draws_facts_at_last(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    world = World(tmp_path, Model(*[ROME] * 9, takes_s=5))
    world.talk("c1", "Hello. I live in Rome.")
    async with world.running():
        for _ in range(2500):
            world.extractor.note_turn()
            await asyncio.sleep(1)
    assert (len(world.model.requests), world.texts()) == (3, ["I live in Rome"])
    assert caplog.text.count("let finish") == 1


async def test_facts_belong_to_the_owner_of_the_conversation(tmp_path: Path) -> None:
    world = World(tmp_path, Model(ROME, ROME))
    world.talk("c1", "Hello. I live in Rome.", owner="browser a")
    async with world.running():
        await asyncio.sleep(FINISHED_AFTER_S + LOOK_EVERY_S * 2)
    assert (world.texts("browser a"), world.texts(), world.texts("browser b")) == (["I live in Rome"], [], [])


def lines(*items: Item, speaker: str = "") -> list[str]:
    own, _ = lines_of([(n, item_lines([item])) for n, item in enumerate(items)], speaker)
    return [f"{line.who}: {line.text}" for line in own]


def said(text: str) -> UserMessage:
    return UserMessage(ItemId("a"), text, spoken=True)


async def test_results_of_tools_are_not_read() -> None:
    used = (ToolUse(FunctionCall("1", "web", "{}"), "I live in Oslo", 0),)
    talk: list[Item] = [
        said("Look it up."),
        AssistantMessage(ItemId("b"), "It says: I live in Oslo.", tool_uses=used),
        FunctionOutput(ItemId("c"), "1", "I live in Oslo"),
        AssistantMessage(ItemId("d"), "You live in Oslo."),
        said("I live in Rome."),
        AssistantMessage(ItemId("e"), "Nice."),
    ]
    assert lines(*talk) == ["user: Look it up.", "user: I live in Rome.", "assistant: Nice."]


@pytest.mark.parametrize(
    "request_",
    [
        "Forget that I live in Rome",
        "Merk dir, dass ich in Rom wohne",
        "Oublie que je vis à Rome",
        "Recuerda que vivo en Roma",
    ],
)
async def test_requests_to_the_memory_are_not_read_again(request_: str) -> None:
    assert lines(said(request_)) == []


def said_by(speaker: str, text: str) -> UserMessage:
    return replace(said(text), speaker=speaker)


async def test_words_of_other_voices_are_not_read() -> None:
    talk = [said_by("S1", "I live in Rome."), said_by("S2", "I live in Oslo."), said_by("", "I like tea.")]
    assert lines(*talk) == ["user: I live in Rome."]
    assert lines(talk[0], talk[2]) == ["user: I live in Rome.", "user: I like tea."]
    assert lines(*talk, replace(said("I type."), spoken=False)) == ["user: I live in Rome.", "user: I type."]


async def test_first_voice_is_a_stranger_beside_an_enrolled_one() -> None:
    talk = [said_by("S1", "I live in Oslo."), said_by("Ada", "I live in Rome."), said_by("Bob", "I live in Bonn.")]
    assert lines(*talk) == ["user: I live in Rome."]


async def test_enrolled_voice_is_known_in_the_next_part(tmp_path: Path) -> None:
    assert lines(said_by("Bob", "I live in Bonn."), said_by("S1", "I live in Oslo."), speaker="Ada") == []
    world = World(tmp_path, Model(ROME))
    world.talk("c1", said_by("Ada", "Hello. I live in Rome."))
    await asyncio.sleep(FINISHED_AFTER_S)
    assert await world.extractor.read_next()
    place = world.conversations.load(TERMINAL, "c1")
    assert place is not None
    world.conversations.append(TERMINAL, "c1", place.place, [said_by("Bob", "I live in Bonn, says Bob.")])
    await asyncio.sleep(FINISHED_AFTER_S)
    assert await world.extractor.read_next()
    assert (len(world.model.requests), world.texts()) == (1, ["I live in Rome"])
    world.file.close()
    world.conversations.close()
