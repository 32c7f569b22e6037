"""Conversations: `transcript` or `recognize` with a text is answered by this assistant, its skills and its model."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp
from wyoming.event import Eventable
from wyoming.handle import Handled, HandledChunk, HandledStart, HandledStop, NotHandled
from wyoming.intent import NotRecognized

from web.wire.values.session_config import SessionConfig
from web.wyoming.events import EventWriter, WyomingError
from web.wyoming.text_session import TextSession

MAX_TEXT_CHARS = 20_000
MAX_ID_CHARS = 128

MAX_CONVERSATIONS = 256
"""Conversations whose tokens are kept; the one that was used longest ago is forgotten first."""

CONVERSATION_ID = "conversation_id"
"""Key of the conversation in the context of an event, as Home Assistant sends it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """A text to answer.

    Attributes:
        text: The words of the user.
        language: Code of their language; "" for the server's.
        context: Comes back with the answer.
        is_recognize: Whether the client has sent `recognize`.
    """

    text: str
    language: str = ""
    context: dict[str, Any] | None = None
    is_recognize: bool = False

    @classmethod
    def of(cls, text: object, language: object, context: object, *, is_recognize: bool = False) -> "Question":
        """Checks the fields of an event. Raises WyomingError."""
        if not isinstance(text, str) or not isinstance(language, str | None) or not isinstance(context, dict | None):
            raise WyomingError("invalid_value", "text and language must be texts, context an object")
        if len(text) > MAX_TEXT_CHARS:
            raise WyomingError("text_too_long", f"a text may have at most {MAX_TEXT_CHARS} characters")
        question = cls(text.strip(), language or "", context, is_recognize)
        if len(question.conversation) > MAX_ID_CHARS:
            raise WyomingError("invalid_value", f"{CONVERSATION_ID} may have at most {MAX_ID_CHARS} characters")
        return question

    @property
    def conversation(self) -> str:
        """Id of the conversation; "": the question stands alone."""
        given = (self.context or {}).get(CONVERSATION_ID)
        return given if isinstance(given, str) else ""


@dataclass(slots=True)
class _Kept:
    token: str = ""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class TextConversations:
    """Asks the assistant. A conversation can be continued for `server.resume_s` after its last answer.

    Attributes:
        session: Runs the sessions.
        config: Returns the settings with which a session begins.
        has_model: Returns whether a language model answers what the skills do not understand.
        tasks: Owns the sessions, which outlive the connections of their clients.
    """

    session: ASGIApp
    config: Callable[[], SessionConfig]
    has_model: Callable[[], bool]
    tasks: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    _conversations: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)

    async def handle(self, question: Question, writer: EventWriter) -> None:
        """Sends the answer as it comes, or why there is none. Raises ClientGoneError."""
        try:
            await self._ask(question, writer)
        except WyomingError as error:  # Home Assistant ignores `error`, and reads the text of `not-handled`
            await writer.fail(error, not_handled(question, str(error)))

    async def _ask(self, question: Question, writer: EventWriter) -> None:
        kept = self._kept(question.conversation)
        async with kept.asking:
            session = TextSession(self.config(), kept.token)
            self.tasks.create_task(self._run(session), name="wyoming conversation")
            try:
                await session.begin(question.language)
                kept.token = session.token
                await self._answer(session, question, writer)
            finally:
                session.leave(lost=bool(question.conversation))

    async def _answer(self, session: TextSession, question: Question, writer: EventWriter) -> None:
        parts: list[str] = []
        begun = False
        async with aclosing(session.answer(question.text)) as answer:
            async for part in answer:
                parts.append(part)
                if self.has_model():  # skills alone may refuse, which is known at the end
                    start: list[Eventable] = [] if begun else [HandledStart(question.context)]
                    await writer.send(*start, HandledChunk(part))
                    begun = True
        text = "".join(parts).strip()
        if not begun and session.refused:
            await writer.send(not_handled(question, text))
            return
        rest: list[Eventable] = [] if begun else [HandledStart(question.context), HandledChunk(text)]
        await writer.send(*rest, Handled(text, question.context), HandledStop())

    async def _run(self, session: TextSession) -> None:
        try:
            await session.run(self.session)
        except Exception as error:  # noqa: BLE001 - one conversation must not end the others
            _log.error("a Wyoming conversation ended because of an error", exc_info=error)

    def _kept(self, conversation: str) -> _Kept:
        if not conversation:
            return _Kept()
        kept = self._conversations.setdefault(conversation, _Kept())
        self._conversations.move_to_end(conversation)
        while len(self._conversations) > MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)
        return kept


def not_handled(question: Question, text: str) -> Eventable:
    """Returns the event for a question that the assistant does not answer; `text`: why, for the user."""
    return (NotRecognized if question.is_recognize else NotHandled)(text, question.context)
