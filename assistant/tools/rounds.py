"""The rounds of one reply: the model is asked, calls tools, and is asked again with what they returned.

    ask ──▶ tokens ──▶ done
     ▲        └─ calls ─▶ wait for the commit ─▶ call them, at once ─▶ remember ─┐
     └────────────────────────────────────────────────────────────────────────────┘

Each request is the one before with something added at its end. Whoever stops listening cancels what is under way; a
call without a result never gets into the history.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace

from assistant.history.items import ToolUse, answer_messages
from assistant.tools import ToolError, Tools, ToolSettings, is_object, offered, shortened, with_ids_of_their_own
from llm.chat import ChatEvent, ChatModel, ChatOptions, Finished, Function, FunctionCall, Message
from llm.errors import LlmBroken

MOST_CALLS = 8
"""In one round: a model that calls more is told that the rest was not done."""

TICK_S = 0.1
"""How often it is told that a call is still being waited for: nobody is stuck meanwhile."""


@dataclass(frozen=True, slots=True)
class ToolsCalled:
    """The model has said what it wanted to say before its calls.

    Attributes:
        reason: The service's own word for the end of this round's answer.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class ToolWait:
    """One call, as the trace has it; times are loop seconds.

    Attributes:
        outcome: "returned", "failed" or "timed out".
        chars: Length of what came back.
    """

    name: str
    start_s: float
    end_s: float
    outcome: str
    chars: int


@dataclass(frozen=True, slots=True)
class ToolsReturned:
    """All of a round's calls are over."""

    waits: tuple[ToolWait, ...]


ReplyEvent = ChatEvent | ToolsCalled | ToolsReturned


@dataclass(slots=True)
class ToolRounds:
    """One reply's.

    Attributes:
        messages: What is asked first.
        options: What a client wants besides; its own functions are not called here.
        gate: Set when the turn is committed.
        written: The text of the reply so far, as the history will have it.
        remember: Told each call with its result, as soon as that is there.
        waiting: Told again and again, while calls are under way, for how long (s) they have been.
    """

    model: ChatModel
    messages: tuple[Message, ...]
    options: ChatOptions
    tools: Tools
    settings: ToolSettings
    gate: asyncio.Event
    written: Callable[[], str]
    remember: Callable[[ToolUse], None]
    waiting: Callable[[float], None]
    _ours: frozenset[str] = frozenset()
    _used: list[ToolUse] = field(default_factory=list)
    _finished: list[Finished] = field(default_factory=list)

    async def stream(self) -> AsyncGenerator[ReplyEvent]:
        """The reply's events, those of all rounds. Raises LlmError; whatever was yielded before stays valid."""
        functions = offered(self.tools.functions, self.options.functions)
        self._ours = frozenset(function.name for function in functions)
        theirs = {function.name for function in self.options.functions}
        for number in range(self.settings.max_rounds + 1):
            calls: list[FunctionCall] = []
            others = False
            # Skills know a question by its very object: the first request is not a copy.
            asked = (*self.messages, *answer_messages(self.written(), tuple(self._used))) if number else self.messages
            async with aclosing(self.model.stream(asked, self._options(functions, number))) as events:
                async for event in events:
                    if isinstance(event, FunctionCall) and event.name not in theirs:
                        calls.append(event)  # also what was made up: the model is told that there is no such tool
                    elif isinstance(event, Finished):
                        self._finished.append(event)
                    else:
                        others = others or isinstance(event, FunctionCall)
                        yield event
            if not calls:
                break
            if number == self.settings.max_rounds:
                raise self._endless()
            yield ToolsCalled(self._finished[-1].reason if self._finished else "")
            await self.gate.wait()
            yield ToolsReturned(await self._results(calls, number))
            if others:
                break  # a client is to answer for its own functions first
        if self._finished:
            yield summed(self._finished)

    def _options(self, functions: tuple[Function, ...], number: int) -> ChatOptions:
        """A client's wish to have something called is fulfilled with the first round; the last one is for answering."""
        if not functions:
            return self.options
        choice = self.options.choice if number == 0 else "none" if number == self.settings.max_rounds else "auto"
        return replace(self.options, functions=(*self.options.functions, *functions), choice=choice)

    def _endless(self) -> LlmBroken:
        rounds = self.settings.max_rounds
        return LlmBroken(
            self.model.name,
            f"llm endpoint {self.model.name!r} went on calling tools after {rounds} rounds: raise tools.max_rounds, or "
            "use a model that heeds tool_choice",
            spoken="I looked several things up and came to no answer.",
            retryable=False,
        )

    async def _results(self, calls: list[FunctionCall], round_: int) -> tuple[ToolWait, ...]:
        """Call them all at once. Each is remembered as soon as it has returned: it may have done something."""
        named = with_ids_of_their_own(calls, (*self.messages, *answer_messages("", tuple(self._used))))
        at = len(self.written())
        with self._telling():
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(
                        self._result(call, ToolUse(named[number], "", at, round_, number)), name=f"tool {call.name}"
                    )
                    for number, call in enumerate(calls)
                ]
        return tuple(task.result() for task in tasks)

    async def _result(self, call: FunctionCall, used: ToolUse) -> ToolWait:
        loop = asyncio.get_running_loop()
        began_s, outcome = loop.time(), "failed"
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                output, outcome = await self._call(call, used.number), "returned"
        except TimeoutError:
            output, outcome = f"error: no answer within {self.settings.timeout_s:g} s", "timed out"
        except ToolError as error:
            output = f"error: {error}"
        output = shortened(output, self.settings.max_result_chars)
        self._used.append(replace(used, output=output))
        self.remember(self._used[-1])
        name = call.name if call.name in self._ours else "unknown"  # what was made up may be words
        return ToolWait(name, began_s, loop.time(), outcome, len(output))

    async def _call(self, call: FunctionCall, number: int) -> str:
        if call.name not in self._ours:
            raise ToolError("there is no tool of that name")
        if number >= MOST_CALLS:
            raise ToolError(f"not done: at most {MOST_CALLS} calls at a time; call it again if it is needed")
        arguments = call.arguments or "{}"
        if not is_object(arguments):
            raise ToolError("not done: the arguments are no JSON object")
        return await self.tools.call(call.name, arguments)

    @contextmanager
    def _telling(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        tick: asyncio.TimerHandle

        def tell() -> None:
            nonlocal tick
            self.waiting(loop.time() - began_s)
            tick = loop.call_later(TICK_S, tell)

        tick = loop.call_later(0, tell)
        try:
            yield
        finally:
            tick.cancel()


async def without_made_up(
    events: AsyncGenerator[ChatEvent], functions: Sequence[Function]
) -> AsyncGenerator[ReplyEvent]:
    """An answer without calls of what was not offered: a client would be asked for what it does not have."""
    offered_names = {function.name for function in functions}
    async with aclosing(events):
        async for event in events:
            if not isinstance(event, FunctionCall) or event.name in offered_names:
                yield event


def summed(rounds: Sequence[Finished]) -> Finished:
    """One end for all rounds, with the tokens of all; what one service did not count is not known of the whole."""

    def total(counts: Iterable[int | None]) -> int | None:
        known = list(counts)
        return None if None in known else sum(one for one in known if one is not None)

    return Finished(
        rounds[-1].reason,
        total(one.prompt_tokens for one in rounds),
        total(one.completion_tokens for one in rounds),
        cached_tokens=total(one.cached_tokens for one in rounds),
    )
