"""Models that take longer to load than a request waits. On virtual time."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import pytest
from support.clocks.event_loop import in_virtual_time
from support.clocks.virtual_time import run_virtual

from llm.chat import ChatEvent, Finished, RequestSent, SlotAcquired, Token
from llm.errors import LlmBroken, LlmError, LlmTooSlow
from llm.model_wakeup import UNLOADED_AFTER_S, WAKE_TIMEOUT_S, ModelWakeup
from llm.openai.stream import OpenAIStream

PATIENCE_S = 8.0


class SleepingServer:
    """A server that loads its model only while the same request stays open. Requests wait for at most 8 s."""

    def __init__(self, load_s: float, *, error: type[LlmError] = LlmTooSlow, connects: bool = True) -> None:
        self.load_s = load_s
        self.error = error
        self.connects = connects
        self.awake = False
        self.wakeup_results: list[str] = []
        self.warning = b"data"
        self.wakeup = ModelWakeup("near", lambda: (self._short(), OpenAIStream("near")))

    async def ask(self) -> str:
        """ "answered", "failed", or the error that ended it."""
        try:
            async with aclosing(self.wakeup.watch(self._answer())) as events:
                return "answered" if [event async for event in events if isinstance(event, Token)] else "nothing"
        except LlmError as error:
            return type(error).__name__

    async def _answer(self) -> AsyncGenerator[ChatEvent]:
        yield SlotAcquired()
        if self.connects:
            yield RequestSent(None)
        if not self.awake:
            await asyncio.sleep(min(PATIENCE_S, self.load_s))
            if self.load_s > PATIENCE_S:
                raise self.error("near", "near: no answer", spoken="No.", retryable=True)
            self.awake = True
        yield Token("Everest.")
        yield Finished("stop")

    async def _short(self) -> AsyncGenerator[SlotAcquired | RequestSent | bytes]:
        end = "closed"
        try:
            yield SlotAcquired()
            await asyncio.sleep(self.load_s)
            self.awake, end = True, "loaded"
            yield self.warning
        finally:
            self.wakeup_results.append(end)


@in_virtual_time
async def test_slow_loading_model_answers_next_question() -> None:
    server = SleepingServer(9.0)
    assert await server.ask() == "LlmTooSlow"
    assert await server.ask() == "LlmTooSlow", "the load continues"
    await asyncio.sleep(2)
    assert await server.ask() == "answered"
    assert server.wakeup_results == ["loaded"], "one at a time"
    await server.wakeup.aclose()


@pytest.mark.parametrize(
    ("pause_s", "wakes_again"),
    [(UNLOADED_AFTER_S - 20, False), (UNLOADED_AFTER_S + 1, True)],
    ids=["still loaded", "unloaded"],
)
@in_virtual_time
async def test_only_long_idle_model_is_woken(pause_s: float, *, wakes_again: bool) -> None:
    server = SleepingServer(0.0)
    assert await server.ask() == "answered"
    await asyncio.sleep(pause_s)
    server.awake, server.load_s = False, 9.0
    assert await server.ask() == "LlmTooSlow"
    await asyncio.sleep(10)
    assert server.wakeup_results == (["loaded"] if wakes_again else [])
    await server.wakeup.aclose()


@pytest.mark.parametrize(("after_s", "woken"), [(0.5, False), (2.0, True)], ids=["cancelled early", "cancelled late"])
@in_virtual_time
async def test_late_cancelled_question_wakes_model(after_s: float, *, woken: bool) -> None:
    """Another endpoint took over, or the user went on speaking."""
    server = SleepingServer(30.0)
    with suppress(TimeoutError):
        async with asyncio.timeout(after_s):
            await server.ask()
    await asyncio.sleep(31)
    assert server.wakeup_results == (["loaded"] if woken else [])
    await server.wakeup.aclose()


@pytest.mark.parametrize(
    "server",
    [SleepingServer(9.0, error=LlmBroken), SleepingServer(9.0, connects=False)],
    ids=["other error", "not connected"],
)
@in_virtual_time
async def test_other_errors_do_not_wake_model(server: SleepingServer) -> None:
    await server.ask()
    await asyncio.sleep(10)
    assert server.wakeup_results == []
    await server.wakeup.aclose()


@in_virtual_time
async def test_wakeup_is_bounded_and_ends_with_client() -> None:
    server = SleepingServer(WAKE_TIMEOUT_S + 1)
    await server.ask()
    await asyncio.sleep(WAKE_TIMEOUT_S + 0.5)
    assert server.wakeup_results == ["closed"]
    await server.ask()
    await asyncio.sleep(1)
    await server.wakeup.aclose()
    await server.wakeup.aclose()
    assert server.wakeup_results == ["closed"] * 2
    await server.ask()
    assert server.wakeup_results == ["closed"] * 2, "nothing begins behind the end"


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "llm.model_wakeup"]


def test_load_time_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        server = SleepingServer(9.0)
        await server.ask()
        await server.ask()
        await asyncio.sleep(10)
        await server.wakeup.aclose()

    with caplog.at_level(logging.INFO):
        run_virtual(scene())
    assert logged(caplog) == ["llm endpoint 'near' needed 9.0 s more to load its model"]


def test_slow_cancelled_answer_is_not_logged_as_load(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        server = SleepingServer(7.0)
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                await server.ask()
        server.load_s = 0.0  # the answer had started
        await asyncio.sleep(1)
        await server.wakeup.aclose()

    run_virtual(scene())
    assert logged(caplog) == []


@pytest.mark.parametrize(
    ("load_s", "warning", "why"),
    [
        (WAKE_TIMEOUT_S + 1, b"", "did not load its model within 120 s"),
        (9.0, b'data: {"error": {"message": "out of memory"}}\n\n', 'see the log of its model server: "out of memory"'),
    ],
    ids=["timeout", "error"],
)
def test_failed_load_is_logged_once(load_s: float, warning: bytes, why: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        server = SleepingServer(load_s)
        server.warning = warning
        for _ in range(3):
            server.awake = False
            assert await server.ask() == "LlmTooSlow"
            await asyncio.sleep(WAKE_TIMEOUT_S + 2)
        assert len(server.wakeup_results) == 3, "one that said an error is not awake"
        await server.wakeup.aclose()

    run_virtual(scene())
    (line,) = logged(caplog)
    assert "'near'" in line
    assert line.endswith(why)
