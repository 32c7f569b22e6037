"""Draws facts from finished conversations in the background, while nobody speaks.

A conversation is finished when nothing was said in it for a while. Where the language model computes on this machine, a
turn of any conversation of this process cancels the request, which is repeated later: how far was read is stored
together with the facts. Several processes share the work by reservations that end after a crash.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from assistant.memory.extraction import (
    MAX_ANSWER_TOKENS,
    Line,
    Part,
    UnusableAnswerError,
    drawn_facts,
    has_words,
    parts_of,
    request_for,
)
from assistant.memory.fact_table import Reading
from assistant.memory.facts import Fact
from assistant.memory.memory_file import MemoryFile
from llm.chat import ChatModel, ChatOptions, Token
from llm.errors import LlmContextOverflow, LlmError, LlmFiltered

log = logging.getLogger(__name__)

Result = TypeVar("Result")

FINISHED_AFTER_S = 120.0
"""A conversation in which nothing was said for so long is finished."""

QUIET_S = 10.0
"""Time without a turn in this process before the language model is asked, so that it is free for the next turn."""

LOOK_EVERY_S = 15.0
"""Interval at which finished conversations are looked for."""

TIMEOUT_S = 60.0
"""Longest time for one request: a model on this machine reads 1500 tokens and writes up to 400."""

LEASE_S = 300.0
"""Time for which a conversation is reserved for the process that reads it."""

LONGEST_WAIT_S = 600.0
"""Time without an attempt after which one is made although nobody is quiet: a busy server draws facts, too."""

MAX_CANCELLED = 2
"""Requests in a row that turns cancel, each of which has cost as much as an answer; the next one is let finish."""

LONGEST_PAUSE_S = 3600.0
"""Longest pause while the language model does not answer. The first is `LOOK_EVERY_S`; each is twice as long."""

MAX_FAILURES = 3
"""Answers to one part that cannot be used, after which it is skipped. A model that does not answer is waited for."""

_OPTIONS = ChatOptions(max_tokens=MAX_ANSWER_TOKENS, size="small")


@dataclass(slots=True)
class Extractor:
    """Draws the facts of the conversations of some owners. Run `run` as a task.

    Attributes:
        file: The file.
        model: Returns the language model; None while there is none.
        lines_of: Returns what the user and the assistant said, of stored items with their numbers and the name of the
            voice whose words were read before; and that name afterwards. Blocks.
        changed: Called with the owner whose facts have changed.
        owners: Whose conversations are read; None: those of all.
        threads: Runs the file's calls.
        is_local: Returns whether the model computes on this machine, so that a request would slow turns.
        now_s: Returns the loop's time.
    """

    file: MemoryFile
    model: Callable[[], ChatModel | None]
    lines_of: Callable[[Sequence[tuple[int, bytes]], str], tuple[Sequence[Line], str]]
    changed: Callable[[str], None]
    threads: Executor
    owners: Iterable[str] | None = None
    is_local: Callable[[], bool] = lambda: True
    now_s: Callable[[], float] = field(default=lambda: asyncio.get_running_loop().time())
    _request: "asyncio.Task[dict[str, Fact | None] | None] | None" = None
    _quiet_from_s: float = 0.0
    _waits_from_s: float = 0.0  # last attempt, or its end
    _retry_from_s: float = 0.0
    _pauses: int = 0  # attempts in a row that the model did not answer
    _cancelled: int = 0  # requests in a row that turns have cancelled
    _failures: dict[tuple[str, str, int], int] = field(default_factory=dict)

    def note_turn(self) -> None:
        """A turn begins or goes on: a language model on this machine is left to it."""
        if not self.is_local():
            return
        self._quiet_from_s = self.now_s() + QUIET_S
        if self._request is not None and self._cancelled < MAX_CANCELLED and self._request.cancel():
            self._cancelled += 1
            if self._cancelled == MAX_CANCELLED:
                log.info(
                    "memory: turns have cancelled the drawing of facts %d times; the next is let finish", MAX_CANCELLED
                )

    async def run(self) -> None:
        """Reads until it is cancelled."""
        self._waits_from_s = self.now_s()
        while True:
            if self._may_ask() and self.model() is not None:
                has_read = await self.read_next()
                self._waits_from_s = self.now_s()
                if has_read:
                    continue
            await asyncio.sleep(LOOK_EVERY_S)

    def _may_ask(self) -> bool:
        now_s = self.now_s()
        return now_s >= self._retry_from_s and now_s >= min(self._quiet_from_s, self._waits_from_s + LONGEST_WAIT_S)

    async def read_next(self) -> bool:
        """Reads one finished conversation. Returns whether it was read to its end."""
        try:
            reading = await self._in_thread(self.file.claim_reading, self.owners, FINISHED_AFTER_S, LEASE_S)
            return False if reading is None else await self._read(reading)
        except OSError as error:
            log.warning("memory: nothing was drawn from a conversation: %s", getattr(error, "text", error))
            return False

    async def _read(self, reading: Reading) -> bool:
        """Draws facts from one conversation, part by part. What was read stays read."""
        said_at = datetime.fromtimestamp(reading.changed_s).astimezone().isoformat(timespec="seconds")
        parts, speaker = await self._in_thread(self._parts_of, reading)
        for part in parts:
            try:
                known = await self._in_thread(self.file.facts, reading.owner)
                changes = await self._drawn(part, known, said_at, reading)
            except BaseException:
                await asyncio.shield(self._in_thread(self.file.finish_reading, reading, None, {}))
                raise
            last = None if changes is None else part.last_item
            read, goes_on = replace(reading, speaker=speaker), part is not parts[-1]
            await self._in_thread(partial(self.file.finish_reading, goes_on=goes_on), read, last, changes or {})
            if changes is None:
                return False
            if changes:
                self.changed(reading.owner)
        return True

    def _parts_of(self, reading: Reading) -> tuple[tuple[Part, ...], str]:
        """Returns the parts, and the name of the voice whose words they are. Blocks: it parses the conversation."""
        lines, speaker = self.lines_of(reading.lines, reading.speaker)
        return parts_of(lines, reading.lines[-1][0]), speaker

    async def _drawn(
        self, part: Part, known: Sequence[Fact], said_at: str, reading: Reading
    ) -> dict[str, Fact | None] | None:
        """Returns the changes from one part; None if it must be read again."""
        model = self.model()
        if model is None:
            return None
        if not has_words(part):
            return {}
        async with asyncio.TaskGroup() as asking:
            self._request = asking.create_task(self._ask(model, part, known, said_at, reading), name="draw facts")
        request, self._request = self._request, None
        return None if request.cancelled() else request.result()  # cancelled: a turn has begun

    async def _ask(
        self, model: ChatModel, part: Part, known: Sequence[Fact], said_at: str, reading: Reading
    ) -> dict[str, Fact | None] | None:
        """Asks the model. Errors are logged; none ends the program."""
        text = ""
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                aclosing(model.stream(request_for(part, known), _OPTIONS)) as events,
            ):
                async for event in events:
                    text += event.text if isinstance(event, Token) else ""
            self._pauses = self._cancelled = 0
            return drawn_facts(text, part, known, said_at=said_at, conversation=reading.conversation)
        except TimeoutError:
            return self._unanswered(f"no answer within {TIMEOUT_S:g} s")
        except (UnusableAnswerError, LlmFiltered, LlmContextOverflow) as error:  # a matter of these words
            return self._failed(part, reading, str(error))
        except LlmError as error:
            return self._unanswered(str(error))
        except Exception as error:  # noqa: BLE001 - a defect here must not end the conversation
            return self._failed(part, reading, f"internal error ({type(error).__name__})")

    def _unanswered(self, why: str) -> dict[str, Fact | None] | None:
        """The model does not answer: nothing is lost, the part is read later."""
        pause_s = min(LOOK_EVERY_S * 2**self._pauses, LONGEST_PAUSE_S)
        if self._pauses == 0:
            log.warning("memory: the language model does not answer (%s); facts are drawn later", why)
        self._pauses += 1
        self._retry_from_s = self.now_s() + pause_s
        return None

    def _failed(self, part: Part, reading: Reading, why: str) -> dict[str, Fact | None] | None:
        key = reading.owner, reading.conversation, part.last_item
        self._failures[key] = self._failures.get(key, 0) + 1
        skipped = self._failures[key] >= MAX_FAILURES
        end = "; it is not tried again" if skipped else ""
        log.warning("memory: nothing was drawn from a conversation (%s)%s", why, end)
        if not skipped:
            self._retry_from_s = self.now_s() + LOOK_EVERY_S
            return None
        del self._failures[key]
        return {}

    async def _in_thread(self, call: Callable[..., Result], *arguments: object) -> Result:
        return await asyncio.wrap_future(self.threads.submit(call, *arguments))
