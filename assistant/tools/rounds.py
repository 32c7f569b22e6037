"""The rounds of one reply: the model is asked, calls tools, and is asked again with their results.

    ask ──▶ tokens ──▶ done
     ▲        └─ calls ─▶ wait for the commit ─▶ run them concurrently ─▶ add to history ─┐
     └────────────────────────────────────────────────────────────────────────────────────┘

Each request extends the previous one at its end. Closing the generator cancels running calls. A call without a result
is never added to the history.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from assistant.history.items import ToolUse, answer_messages
from assistant.history.untrusted_results import as_data, sources_of
from assistant.tools import ToolError, Tools, ToolSettings, is_object, offered, shortened, with_unique_ids
from assistant.tools.consent import ASK, user_wants
from llm.chat import ChatEvent, ChatModel, ChatOptions, Escalated, Finished, Function, FunctionCall, Message
from llm.errors import LlmBroken

log = logging.getLogger(__name__)

MAX_CALLS = 8
"""Calls per round. Of further calls, the model receives the result that they were not run."""

SPOKEN_ENDLESS = "I looked several things up and came to no answer."

TICK_S = 0.1
"""Interval of the progress reports during calls, so that the turn is not considered stuck."""


@dataclass(frozen=True, slots=True)
class ToolsCalled:
    """The model has ended its text and made calls.

    Attributes:
        reason: The service's finish reason of this round.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class ToolWait:
    """One call, for the trace. Times are event loop seconds.

    Attributes:
        outcome: "returned", "failed", "timed out" or "delegated".
        chars: Length of the result.
    """

    name: str
    start_s: float
    end_s: float
    outcome: str
    chars: int


@dataclass(frozen=True, slots=True)
class ToolsReturned:
    """All calls of a round have ended."""

    waits: tuple[ToolWait, ...]


@dataclass(frozen=True, slots=True)
class ApprovalNeeded:
    """The model has called a tool of a client's MCP server that needs the client's approval. The reply ends."""

    call: FunctionCall


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result of a call that ran in the background, for the reply that tells it.

    Attributes:
        use: The call and its result, as the model sees them.
        outcome: "returned", "failed", "timed out" or "cancelled".
        took_s: How long the call ran.
        task: The call as it was started; None: `use.call`.
    """

    use: ToolUse
    outcome: str
    took_s: float
    task: FunctionCall | None = None


@dataclass(frozen=True, slots=True)
class ResultsDelivered:
    """The reply tells these results."""

    deliveries: tuple[Delivery, ...]


ReplyEvent = ChatEvent | ToolsCalled | ToolsReturned | ApprovalNeeded | ResultsDelivered


class ClientCalls(Protocol):
    """Calls tools of a client's MCP servers, and reports these calls to the client."""

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions, in order."""
        ...

    def needs_approval(self, name: str) -> bool:
        """Returns whether a call of this function needs approval; False if it is not one of these tools."""
        ...

    async def call(self, call: FunctionCall) -> str:
        """Calls a function; its arguments are a JSON object. Limits the time. Raises ToolError or TimeoutError."""
        ...


class NoTools:
    """Implements `Tools` without tools."""

    functions: tuple[Function, ...] = ()

    async def call(self, name: str, arguments: str) -> str:
        """See `Tools`."""
        raise ToolError("there is no tool of that name")

    def subscribe(self, report_problem: Callable[[str], None]) -> Callable[[], None]:
        """See `Tools`."""
        return lambda: None


@dataclass(slots=True)
class ToolRounds:
    """Runs the rounds of one reply.

    Attributes:
        messages: The first request.
        options: A client's options. Its own functions are not called here.
        gate: Set when the turn is committed.
        written: Returns the reply's text so far, as the history will contain it.
        remember: Called with each call and its result, as soon as it is there.
        waiting: Called repeatedly during calls with the time in s since they began.
        client: Tools of the client's MCP servers; None: there are none.
        delegate: Starts a call in the background. Returns what the model is told, or raises ToolError.
        deliveries: Results of earlier background calls, which this reply tells.
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
    client: ClientCalls | None = None
    delegate: Callable[[FunctionCall], str] | None = None
    deliveries: tuple[Delivery, ...] = ()
    _offered_names: frozenset[str] = frozenset()
    _background_names: frozenset[str] = frozenset()
    _functions: dict[str, Function] = field(default_factory=dict)
    _used: list[ToolUse] = field(default_factory=list)
    _finished: list[Finished] = field(default_factory=list)

    async def stream(self) -> AsyncGenerator[ReplyEvent]:  # noqa: C901, PLR0912 - the whole course of a reply
        """Yields the reply's events of all rounds. Raises LlmError; events already yielded stay valid."""
        functions = offered(self._all_functions(), self.options.functions)
        self._offered_names = frozenset(function.name for function in functions)
        self._functions = {function.name: function for function in (*functions, *self.options.functions)}
        self._background_names = frozenset(function.name for function in functions if self._in_background(function))
        theirs = {function.name for function in self.options.functions}
        if self.deliveries:
            self._used = [delivery.use for delivery in self.deliveries]
            yield ResultsDelivered(self.deliveries)
        for number in range(self.settings.max_rounds + 1):
            calls: list[FunctionCall] = []
            others = False
            # Skills recognize a question by object identity, so the first request is not a copy.
            used = answer_messages(self.written(), tuple(self._used)) if self._used else ()
            asked = (*self.messages, *used) if used or number else self.messages
            async with aclosing(self.model.stream(asked, self._options(functions, number))) as events:
                async for event in events:
                    if isinstance(event, FunctionCall) and (event.name not in theirs or self._suspect(event, number)):
                        calls.append(event)  # also invented functions: the result says that they do not exist
                    elif isinstance(event, Finished):
                        self._finished.append(event)
                    else:
                        others = others or isinstance(event, FunctionCall)
                        if isinstance(event, Escalated) and not event.failed:
                            self.options = replace(self.options, size="large")  # also after its tool calls
                        yield event
            if not calls:
                break
            if number == self.settings.max_rounds:
                raise self._endless()
            yield ToolsCalled(self._finished[-1].reason if self._finished else "")
            await self.gate.wait()
            suspects = [self._suspect(call, number) for call in calls]
            unapproved = self._unapproved(calls)
            for call in unapproved:
                yield ApprovalNeeded(call)
            if left := [pair for pair in zip(calls, suspects, strict=True) if pair[0] not in unapproved]:
                yield ToolsReturned(await self._results(left, number))
            if others or unapproved:
                break  # a client must answer for its own functions first
        if self._finished:
            yield sum_of_rounds(self._finished)

    def _all_functions(self) -> tuple[Function, ...]:
        if self.client is None:
            return self.tools.functions
        return (*offered(self.tools.functions, self.client.functions), *self.client.functions)

    def _unapproved(self, calls: Sequence[FunctionCall]) -> list[FunctionCall]:
        """Returns the calls that need the client's approval. Calls that cannot be made need none."""
        if self.client is None:
            return []
        names, client = self._offered_names, self.client
        possible = (call for call in calls[:MAX_CALLS] if call.name in names and is_object(call.arguments or "{}"))
        return [call for call in possible if client.needs_approval(call.name)]

    def _in_background(self, function: Function) -> bool:
        return self.delegate is not None and (function.mode or self.settings.mode) == "background"

    def _delegates(self, call: FunctionCall) -> bool:
        return call.name in self._background_names and not self._is_clients(call.name)

    def _is_clients(self, name: str) -> bool:
        return self.client is not None and any(function.name == name for function in self.client.functions)

    def _options(self, functions: tuple[Function, ...], number: int) -> ChatOptions:
        """Applies a client's required call only to the first round. The last round must answer.

        So must the round after a result that is not trusted, unless its server has further tools.
        """
        if not functions:
            return self.options
        sources = self._sources
        only = {function.name for function in functions if sources == {function.source}}
        last = number == self.settings.max_rounds or (bool(sources) and not only)
        choice = self.options.choice if number == 0 else "none" if last else "auto"
        return replace(self.options, functions=(*self.options.functions, *functions), choice=choice)

    @property
    def _sources(self) -> frozenset[str]:
        """The servers and tools whose results in this reply are not trusted."""
        return sources_of(answer_messages("", tuple(self._used)))

    def _suspect(self, call: FunctionCall, number: int) -> str:
        """Returns the source of a result that may have led to this call, so that it is held; "" if it may be made.

        In the reply that has the result, only the same server may be called. In later ones the user may want the call.
        A client approves calls, or demands one, itself.
        """
        function = self._functions.get(call.name)
        if function is None or (self.client is not None and self.client.needs_approval(call.name)):
            return ""
        own = {function.source} if function.source else set()
        if others := self._sources - own:
            return min(others)
        others = sources_of(self.messages) - (own or {function.name})
        demanded = number == 0 and self.options.choice not in {"auto", "none"}
        return "" if not others or demanded or user_wants(call, function, self.messages) else min(others)

    def _endless(self) -> LlmBroken:
        rounds = self.settings.max_rounds
        return LlmBroken(
            self.model.name,
            f"llm endpoint {self.model.name!r} still called tools after {rounds} rounds: use "
            "a model that heeds tool_choice",
            spoken=SPOKEN_ENDLESS,
            retryable=False,
        )

    async def _results(self, calls: Sequence[tuple[FunctionCall, str]], round_: int) -> tuple[ToolWait, ...]:
        """Runs all calls concurrently. Each is recorded as soon as it returns, because it may have had effects.

        `calls`: each with the source because of which it is held; "" if it is made.
        """
        named = with_unique_ids([call for call, _ in calls], (*self.messages, *answer_messages("", tuple(self._used))))
        position = len(self.written())
        with self._reporting_progress():
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(
                        self._result(call, ToolUse(named[number], "", position, round_, number), suspect),
                        name=f"tool {call.name}",
                    )
                    for number, (call, suspect) in enumerate(calls)
                ]
        return tuple(task.result() for task in tasks)

    async def _result(self, call: FunctionCall, used: ToolUse, suspect: str) -> ToolWait:
        loop = asyncio.get_running_loop()
        began_s, outcome = loop.time(), "failed"
        try:
            async with asyncio.timeout(None if self._is_clients(call.name) else self.settings.timeout_s):
                output = ASK.format(source=suspect) if suspect else await self._call(call, used)
                outcome = "failed" if suspect else "delegated" if self._delegates(call) else "returned"
        except TimeoutError:
            output, outcome = f"error: no answer within {self.settings.timeout_s:g} s", "timed out"
        except ToolError as error:
            output = f"error: {error}"
        except Exception as error:  # noqa: BLE001 - a defect of one tool must not silence the reply
            log.error("a tool call failed with an internal error (%s)", type(error).__name__)  # noqa: TRY400
            output = "error: internal error"
        output = shortened(output, self.settings.max_result_chars)
        function = self._functions.get(call.name)
        # An error of a client's server may be in the server's own words.
        if function is not None and not suspect and (outcome == "returned" or self._is_clients(call.name)):
            output = marked(output, function)
        self._used.append(replace(used, output=output))
        self.remember(self._used[-1])
        # an invented name may contain words of the conversation
        name = call.name if call.name in self._offered_names else "unknown"
        return ToolWait(name, began_s, loop.time(), outcome, len(output))

    async def _call(self, call: FunctionCall, used: ToolUse) -> str:
        if call.name not in self._offered_names:
            raise ToolError("there is no tool of that name")
        if used.number >= MAX_CALLS:
            raise ToolError(f"not done: at most {MAX_CALLS} calls at a time; call it again if it is needed")
        arguments = call.arguments or "{}"
        if not is_object(arguments):
            raise ToolError("not done: the arguments are no JSON object")
        if self.client is not None and self._is_clients(call.name):
            return await self.client.call(replace(used.call, name=call.name))
        if self.delegate is not None and self._delegates(call):
            return self.delegate(replace(used.call, name=call.name))
        return await self.tools.call(call.name, arguments)

    @contextmanager
    def _reporting_progress(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        tick: asyncio.TimerHandle

        def report() -> None:
            nonlocal tick
            self.waiting(loop.time() - began_s)
            tick = loop.call_later(TICK_S, report)

        tick = loop.call_later(0, report)
        try:
            yield
        finally:
            tick.cancel()


def marked(output: str, function: Function) -> str:
    """Returns a result, marked as data unless the function is trusted."""
    return output if function.is_trusted else as_data(function.source or function.name, output)


async def without_made_up(
    events: AsyncGenerator[ChatEvent], functions: Sequence[Function]
) -> AsyncGenerator[ReplyEvent]:
    """Removes calls of functions that were not offered, because a client cannot answer them."""
    offered_names = {function.name for function in functions}
    async with aclosing(events):
        async for event in events:
            if not isinstance(event, FunctionCall) or event.name in offered_names:
                yield event


def sum_of_rounds(rounds: Sequence[Finished]) -> Finished:
    """Combines the ends of all rounds, with the sums of the tokens; a sum is None if a round has no count."""

    def total(counts: Iterable[int | None]) -> int | None:
        known = list(counts)
        return None if None in known else sum(count for count in known if count is not None)

    return Finished(
        rounds[-1].reason,
        total(finished.prompt_tokens for finished in rounds),
        total(finished.completion_tokens for finished in rounds),
        cached_tokens=total(finished.cached_tokens for finished in rounds),
    )
