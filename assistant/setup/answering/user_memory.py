"""Makes the memory of this process: the facts of its users with their file, and what draws them from conversations."""

import asyncio
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from assistant.config.settings import Settings
from assistant.events import InterimWords, ReplyStarted, SessionEvent, SpeechStarted, TurnFinished
from assistant.history.items import AssistantMessage, FunctionCallItem, FunctionOutput, UserMessage
from assistant.memory.extraction import Line
from assistant.memory.extractor import Extractor
from assistant.memory.facts import ConversationFacts
from assistant.memory.keeper import FactKeeper
from assistant.memory.memory_file import MemoryFile
from assistant.memory.recalling_chat import Recall, RecallingChat
from assistant.setup.answering.answer_cache import fact_embedder
from assistant.setup.build import local_now
from assistant.skills.effects import SkillEffects
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.memories.sentences import memory_words
from assistant.storage.conversation_database import BUSY_TIMEOUT_S, ConversationDatabase
from assistant.storage.conversation_store import conversations_path
from assistant.storage.store_format import parse_items
from assistant.support.disk_threads import DiskThreads
from assistant.support.notice import notice
from assistant.support.paths import HomeError
from llm.chat import ChatModel

MEMORY_THREADS = DiskThreads("facts", 2)
"""Apart from those of conversations: what is remembered never waits for them, nor they for it."""

_GUEST_LABEL = re.compile(r"S\d+")
_FIRST_LABEL = "S1"


@dataclass(slots=True)
class UserMemory:
    """The memory of this process. Not thread-safe: use it on the event loop.

    Attributes:
        keeper: Keeps the facts.
        extractor: Draws facts from finished conversations.
    """

    keeper: FactKeeper
    extractor: Extractor
    _left_out: "weakref.WeakSet[ConversationFacts]" = field(default_factory=weakref.WeakSet)

    def begin(self, owner: str, conversation: str, *, kept: bool) -> ConversationFacts:
        """Returns the facts of an owner for a conversation. `kept`: whether it is stored, so that facts are drawn."""
        if kept:
            self.keeper.draw_from(owner, conversation)
        return self.keeper.open(owner, conversation)

    def record(self, event: SessionEvent, facts: ConversationFacts | None) -> None:
        """Processes a session event of any conversation. `facts`: those of the conversation."""
        if isinstance(event, SpeechStarted | ReplyStarted | TurnFinished):
            self.extractor.note_turn()
        if facts is None:
            return
        if isinstance(event, SpeechStarted | TurnFinished):
            self.keeper.refresh(facts.user)
        if isinstance(event, TurnFinished):
            self.keeper.recall.turn_ended()
        if isinstance(event, InterimWords) and facts.user.index.has_vectors:
            self.keeper.recall.prepare(event.text)

    def note_model(self, model: ChatModel | None, facts: ConversationFacts) -> None:
        """Notes which model a conversation uses. With another than that of the settings, no facts are drawn from it."""
        drawing = self.extractor.model()
        if drawing is not None and model is not None and model is not drawing and facts not in self._left_out:
            self._left_out.add(facts)
            self.keeper.leave_out(facts.user.owner, facts.conversation)

    def recalling(self, model: ChatModel, uncached: ChatModel, effects: SkillEffects) -> RecallingChat:
        """Returns the language model of one conversation with its memory before it."""
        return RecallingChat(
            model, uncached, lambda: effects.facts, self.keeper.recall, on_request=self.extractor.note_turn
        )

    async def settle(self) -> None:
        """Waits until every change is in the file. The caller sets the deadline."""
        await self.keeper.settle()

    async def run(self) -> None:
        """Reads, writes and draws facts until it is cancelled, and then writes the rest."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.keeper.run(), name="facts")
            tasks.create_task(self.extractor.run(), name="drawing of facts")


def user_memory(
    settings: Settings,
    environ: Mapping[str, str],
    model: Callable[[], ChatModel | None],
    report_problem: Callable[[str], None],
    owners: Sequence[str] | None = None,
) -> UserMemory | None:
    """Returns the memory; None if it is off. Nothing is read yet.

    Args:
        settings: The settings.
        environ: Environment variables: the user's folders.
        model: Returns the language model; None while there is none.
        report_problem: Receives one sentence for the user if nothing can be remembered.
        owners: From whose conversations facts are drawn; None: from those of all.
    """
    if not settings.memory.enabled:
        return None
    try:
        file = memory_file(environ)
    except HomeError as error:
        report_problem(notice("memory_without_folder", reason=error))
        return None
    keeper = FactKeeper(file, Recall(fact_embedder()), MEMORY_THREADS, report_problem)
    is_local = any(endpoint.is_on_this_machine for endpoint in settings.llm.endpoints)
    extractor = Extractor(file, model, lines_of, keeper.changed, MEMORY_THREADS, owners, lambda: is_local)
    return UserMemory(keeper, extractor)


def memory_file(environ: Mapping[str, str]) -> MemoryFile:
    """Returns the file of facts, which is that of kept conversations. Raises HomeError. Nothing is opened yet."""
    database = ConversationDatabase(conversations_path(environ), BUSY_TIMEOUT_S)
    return MemoryFile(database, lambda: local_now().timestamp())


def lines_of(rows: Sequence[tuple[int, bytes]], speaker: str = "") -> tuple[list[Line], str]:
    """Returns what user and assistant said, of stored items with their numbers; and whose words are the user's.

    Words of other speakers, answers that results of tools are a part of, and requests to the memory itself are left
    out: nothing of them becomes a fact. The user is the first enrolled voice of the conversation, if there is one, else
    the first voice. Where others are labelled, spoken words without a label may be theirs.

    `speaker`: the enrolled voice that the earlier rows of this conversation had; "" for none.
    """
    parsed = [(number, item) for number, stored in rows for item in parse_items([stored])[0]]
    labels = [item.speaker for _, item in parsed if isinstance(item, UserMessage) and item.speaker]
    names = (label for label in labels if not _GUEST_LABEL.fullmatch(label))
    speaker = speaker or next(names, "")
    own = speaker or _FIRST_LABEL
    has_others = any(label != own for label in labels)
    lines: list[Line] = []
    after_tool = False
    for number, item in parsed:
        match item:
            case UserMessage():
                after_tool = False
                is_own = item.speaker == own or (not item.speaker and not (has_others and item.spoken))
                if is_own and not _is_about_memory(item.text):
                    lines.append(Line("user", item.text, number))
            case FunctionCallItem() | FunctionOutput():
                after_tool = True
            case AssistantMessage() if not item.tool_uses and not after_tool and not item.withdrawn:
                lines.append(Line("assistant", item.text, number))
    return lines, speaker


def _is_about_memory(text: str) -> bool:
    return any(memory_words(code).find(text) is not None for code in LANGUAGES)
