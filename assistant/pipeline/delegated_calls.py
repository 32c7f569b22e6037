"""Tool calls that run in the background, while the conversation goes on.

    the model calls ─▶ the call starts; the model is told so, and goes on ─▶ result ─┬─▶ next opening: a reply tells it
                                                                                    └─▶ next user turn: its reply has it

An opening is a moment in which nobody speaks and nothing plays. The model sees a result as one more call of the same
tool, in the reply that tells it, so that prompts grow only at their end.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from assistant.history.items import ToolUse
from assistant.pipeline.session_context import SessionContext
from assistant.pipeline.side_tasks import SideTasks
from assistant.tools import ToolError, shortened, with_unique_ids
from assistant.tools.rounds import Delivery, marked
from llm.chat import FunctionCall, Message

OPENING_S = 0.5
"""Silence on both sides before a result is told."""

CHECK_S = 0.1
"""Interval of checks for an opening while a result waits."""

MAX_WAITING = 16
"""Results that may wait to be told. The oldest is dropped."""

STARTED = (
    "started in the background as task {number}; it is not done yet. Say so in a few words and go on. The result comes "
    "by itself, so do not call this again for it."
)
CANCELLED = "task {number} was cancelled by the user"


@dataclass(slots=True)
class _Call:
    """A call, and its result once there is one."""

    number: int
    call: FunctionCall
    began_s: float
    task: asyncio.Task[None] | None = None
    delivery: Delivery | None = None
    urgent: bool = True  # whether an opening is used for it


@dataclass(slots=True)
class DelegatedCalls:
    """The background calls of one conversation. Not thread-safe: call it on the event loop.

    Attributes:
        context: What it shares with the rest of the session.
        side_tasks: Owns the calls.
        is_opening: Returns whether nobody speaks and nothing is prepared or played.
        request_reply: Requests a reply, which tells the results; see `Session.request_reply`.
    """

    context: SessionContext
    side_tasks: SideTasks
    is_opening: Callable[[], bool]
    request_reply: Callable[..., None]
    _calls: list[_Call] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _delivering: bool = False

    @property
    def running(self) -> bool:
        """Whether any call has no result yet."""
        return any(call.delivery is None for call in self._calls)

    # ---- the beginning and the end of a call ----

    def start(self, call: FunctionCall) -> str:
        """Starts a call. Returns what the model is told. Raises ToolError."""
        running = sum(call.delivery is None for call in self._calls)
        if running >= self.context.settings.tools.max_background:
            raise ToolError(f"not started: {running} tasks are running; wait until one has ended")
        begun = _Call(next(self._numbers), call, _now_s())
        self._calls.append(begun)
        begun.task = self.side_tasks.start_task(lambda: self._run(begun), f"background tool {call.name}")
        if begun.task is None:
            self._calls.remove(begun)
            raise ToolError("not started: the conversation ends, or does too much at once")
        return STARTED.format(number=begun.number)

    async def _run(self, begun: _Call) -> None:
        tools, settings = self.context.engines.tools, self.context.settings.tools
        assert tools is not None
        outcome = "failed"
        try:
            async with asyncio.timeout(settings.background_timeout_s):
                output, outcome = await tools.call(begun.call.name, begun.call.arguments), "returned"
        except TimeoutError:
            output, outcome = f"error: no answer within {settings.background_timeout_s:g} s", "timed out"
        except ToolError as error:
            output = f"error: {error}"
        except Exception:
            self._end(begun, outcome, f"result of task {begun.number}: error: internal error")
            self._deliver()
            raise
        output = f"result of task {begun.number}: {output}"
        function = next((function for function in tools.functions if function.name == begun.call.name), None)
        if function is not None and outcome == "returned":
            output = marked(output, function)
        self._end(begun, outcome, output)
        self._deliver()

    def _end(self, begun: _Call, outcome: str, output: str) -> None:
        output = shortened(output, self.context.settings.tools.max_result_chars)
        took_s = _now_s() - begun.began_s
        begun.delivery = Delivery(ToolUse(begun.call, output, 0, -1), outcome, took_s)
        waiting = [call for call in self._calls if call.delivery is not None]
        for oldest in waiting[:-MAX_WAITING]:
            self._calls.remove(oldest)

    def cancel(self) -> bool:
        """Cancels what runs, because a client or the user wants it. Returns False if nothing runs.

        The model learns it with the next user turn.
        """
        running = [call for call in self._calls if call.delivery is None]
        for call in running:
            self._cancel(call)
        return bool(running)

    def _cancel(self, begun: _Call) -> None:
        if begun.task is not None:
            begun.task.cancel()
        begun.urgent = False
        self._end(begun, "cancelled", CANCELLED.format(number=begun.number))

    # ---- results ----

    def for_reply(
        self, text: str, messages: Sequence[Message], is_command: Callable[[str], bool]
    ) -> tuple[Delivery, ...]:
        """Returns the results that a reply to this user turn tells. They are delivered only by `delivered`.

        Args:
            text: The words of the user; "" for a reply without a user turn.
            messages: The messages of the reply.
            is_command: Returns whether a skill answers these words, which knows nothing of results.
        """
        if not self._calls:
            return ()
        now_s = _now_s()
        if text and self.context.settings.tools.cancels(text) and self.running:
            deliveries = [
                call.delivery
                or Delivery(
                    ToolUse(call.call, CANCELLED.format(number=call.number), 0, -1), "cancelled", now_s - call.began_s
                )
                for call in self._calls
            ]
        elif text and is_command(text):
            return ()
        else:
            deliveries = [call.delivery for call in self._calls if call.delivery is not None]
        calls = with_unique_ids([delivery.use.call for delivery in deliveries], messages)
        return tuple(
            replace(delivery, use=replace(delivery.use, call=call, number=number), task=delivery.use.call)
            for number, (delivery, call) in enumerate(zip(deliveries, calls, strict=True))
        )

    def delivered(self, deliveries: Sequence[Delivery]) -> None:
        """Notes that a reply with these results is committed. Calls whose cancellation it tells are cancelled."""
        told = [delivery.task for delivery in deliveries]
        for candidate in [candidate for candidate in self._calls if any(candidate.call is call for call in told)]:
            if candidate.delivery is None and candidate.task is not None:
                candidate.task.cancel()
            self._calls.remove(candidate)

    def _deliver(self) -> None:
        """Tells the results at the next opening, unless the reply to a user turn has them before."""
        if not self._delivering:
            self._delivering = True
            self.side_tasks.start_task(self._wait_for_opening, "background results")

    async def _wait_for_opening(self) -> None:
        quiet_since_s: float | None = None
        try:
            while any(call.delivery is not None and call.urgent for call in self._calls):
                if not self.is_opening():
                    quiet_since_s = None
                elif quiet_since_s is None:
                    quiet_since_s = _now_s()
                elif _now_s() - quiet_since_s >= OPENING_S:
                    quiet_since_s = None
                    self.request_reply(after_reply=True)
                await asyncio.sleep(CHECK_S)
        finally:
            self._delivering = False


def _now_s() -> float:
    return asyncio.get_running_loop().time()
