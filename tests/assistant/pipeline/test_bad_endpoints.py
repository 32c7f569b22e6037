"""Conversations over real sockets with a faulty endpoint: what the user hears, what the trace says,
and that the next turn is answered. All conversations of a test run at once, on one event loop."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import pytest
from support.clocks.virtual_time import run_virtual
from support.conversations import simulation
from support.conversations.real_time_conversation import scripted
from support.conversations.simulation import SimulationResult, Utterance, check_stages
from support.services.llm_server import (
    DONE,
    HEAD,
    LAST_CHUNK,
    Abort,
    Drip,
    Script,
    Server,
    Wait,
    answer,
    chunk,
    event,
    serving,
    status,
)

from assistant.pipeline.reply_production import ANSWER_BROKE_OFF, EMPTY_ANSWER
from assistant.turns.settings import TurnSettings
from llm.openai.chat import OpenAIChat

pytestmark = pytest.mark.slow

SECRET = "zanzibar"
ECHO = {"error": {"message": f"cannot answer: is {SECRET} an island", "type": "server_error"}}
"""Many services repeat the request in their error messages."""

ASKS = Utterance(200, 600, f"is {SECRET} an island")
ASKS_AGAIN = Utterance(3400, 3800, "what time is it")
LENGTH_MS = 4500
TURNS = TurnSettings(hangover_ms=200)
NORMAL_MS = 700.0
"""More than a turn takes without a fault (about 260 ms), less than a turn with a wait for the faulty endpoint."""

WORD_MS = 60
"""A fast voice keeps the tests short."""

BEGUN = (HEAD, chunk(event("It is. And then the")))
HEARD_BEGUN = "It is."
TORN = f"{ANSWER_BROKE_OFF} My language model broke off in the middle of its answer."
TOO_SLOW = "My language model did not answer in time."
NO_ANSWER = "My language model gave no answer."
STOPPED = event(finish="stop") + DONE
PAGE = b"<!doctype html><title>Sign in</title>\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A fault and its consequences.

    Attributes:
        script: What the endpoint does at the first turn; it answers the second one well. None: it is down until then.
        chunks: What the user hears, chunk by chunk.
        error: A part of the error in the trace.
    """

    name: str
    script: Script | None
    chunks: tuple[str, ...]
    error: str


CASES = (
    Case("down", None, ("I can't reach my language model right now.",), "refuses connections"),
    Case("slow", (HEAD, Drip(chunk(b": keep-alive\n\n"), 0.1)), (TOO_SLOW,), "first_token_timeout_s"),
    Case("401", status(401, ECHO), ("My language model refused the request: the key is not accepted.",), "api_key_env"),
    Case("404", status(404, ECHO), ("My language model was not found at its address.",), "HTTP 404"),
    Case("429", status(429, ECHO), ("My language model is too busy right now.",), "HTTP 429"),
    Case("500", status(500, ECHO), ("My language model has a problem right now.",), "HTTP 500"),
    Case(
        "error under 200",
        (HEAD, chunk(b"data: " + json.dumps(ECHO).encode() + b"\n\n"), LAST_CHUNK),
        ("My language model has a problem right now.",),
        "inside its answer",
    ),
    Case(
        "error mid-stream",
        (*BEGUN, chunk(b"data: " + json.dumps(ECHO).encode() + b"\n\n"), LAST_CHUNK),
        (HEARD_BEGUN, f"{ANSWER_BROKE_OFF} My language model has a problem right now."),
        "inside its answer",
    ),
    Case("no end mark", (*BEGUN, LAST_CHUNK), (HEARD_BEGUN, TORN), "without an end mark"),
    Case("empty", (HEAD, chunk(event(finish="stop") + DONE), LAST_CHUNK), (NO_ANSWER,), "stopped at once"),
    Case("only an emoji", (HEAD, chunk(event("🙂") + STOPPED), LAST_CHUNK), (EMPTY_ANSWER,), "emoji"),
    Case("reset mid-stream", (*BEGUN, Abort()), (HEARD_BEGUN, TORN), "closed the connection in the middle"),
    Case(
        "stall mid-stream",
        (*BEGUN, Wait(5)),
        (HEARD_BEGUN, f"{ANSWER_BROKE_OFF} My language model stopped in the middle of its answer."),
        "token_gap_timeout_s",
    ),
    Case(
        "html",
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(PAGE) + PAGE,),
        ("Something other than my language model answered.",),
        "proxy",
    ),
    Case(
        "half a character",
        (*BEGUN, chunk(event(" caf@").partition(b"@")[0] + "é".encode()[:1]), LAST_CHUNK),
        (HEARD_BEGUN, TORN),
        "",
    ),
)


@asynccontextmanager
async def endpoint(script: Script | None) -> AsyncGenerator[Server]:
    """Runs a server with a fault, then a good answer. A server that is down starts between the turns."""
    good = answer("It is ten ", "o'clock.")
    if script is not None:
        async with serving(script, good) as server:
            yield server
        return
    server = Server([good])
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # bound and not listening: the port is ours and refuses connections
        server.url = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
        async with asyncio.TaskGroup() as tasks:
            rising = tasks.create_task(_rise(server, reserved))
            yield server
            rising.cancel()


async def _rise(server: Server, reserved: socket.socket) -> None:
    await asyncio.sleep((ASKS.end_ms + ASKS_AGAIN.start_ms) / 2000)
    async with await asyncio.start_server(server.handle, sock=reserved):
        await asyncio.Event().wait()


def chat(name: str, url: str, *, first_token_timeout_s: float = 0.5) -> OpenAIChat:
    return OpenAIChat(name, url, "some-model", first_token_timeout_s=first_token_timeout_s, token_gap_timeout_s=0.5)


async def run_conversation(case: Case) -> SimulationResult:
    """Runs one conversation: a turn with the fault, and one without."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(endpoint(case.script))
        model = chat(case.name, server.url)
        stack.push_async_callback(model.aclose)
        await model.load()
        return await scripted([ASKS, ASKS_AGAIN], LENGTH_MS, model, TURNS).run_on_loop()


async def run_all_conversations() -> dict[str, SimulationResult]:
    async with asyncio.TaskGroup() as tasks:
        tasks_by_case = {case.name: tasks.create_task(run_conversation(case)) for case in CASES}
    return {name: task.result() for name, task in tasks_by_case.items()}


@pytest.fixture(scope="module", autouse=True)
def _fast_voice() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "WORD_MS", WORD_MS)
        yield


class LogRecorder(logging.Handler):
    """Stores all log records."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@dataclass(frozen=True, slots=True)
class FaultRun:
    """The results of all conversations, and the log records."""

    results: dict[str, SimulationResult]
    logged: list[str]


@pytest.fixture(scope="module")
def fault_run(_fast_voice: None) -> FaultRun:
    log, root = LogRecorder(), logging.getLogger()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(root, "level", logging.INFO)
        root.addHandler(log)
        try:
            return FaultRun(run_virtual(run_all_conversations(), sockets=True), log.lines)
        finally:
            root.removeHandler(log)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
class TestFault:
    def test_is_reported_in_one_sentence(self, fault_run: FaultRun, case: Case) -> None:
        result = fault_run.results[case.name]
        assert tuple(result.chunks[: len(case.chunks)]) == case.chunks

    def test_is_in_the_trace_once_and_names_the_endpoint(self, fault_run: FaultRun, case: Case) -> None:
        result = fault_run.results[case.name]
        assert [record.turn for record in result.records] == [1, 2]
        record = result.records[0]
        assert record.outcome == ("answered" if case.chunks[0] == HEARD_BEGUN else "failed")
        assert record.error is not None
        assert repr(case.name) in record.error
        assert case.error in record.error
        assert record.engines["answered_by"] == case.name
        assert result.problems == [record.error]

    def test_has_a_complete_latency_breakdown(self, fault_run: FaultRun, case: Case) -> None:
        for record in fault_run.results[case.name].records:
            assert record.response_latency_ms is not None
            check_stages(record)

    def test_apology_is_not_in_the_next_request(self, fault_run: FaultRun, case: Case) -> None:
        sent = " ".join(message.content for message in fault_run.results[case.name].history.messages())
        assert not any(apology in sent for apology in case.chunks if apology != HEARD_BEGUN)
        assert (HEARD_BEGUN in sent) == (HEARD_BEGUN in case.chunks)

    def test_does_not_end_the_conversation(self, fault_run: FaultRun, case: Case) -> None:
        result = fault_run.results[case.name]
        assert result.chunks[len(case.chunks) :] == ["It is ten o'clock."]
        record = result.records[1]
        assert (record.outcome, record.error) == ("answered", None)
        assert record.response_latency_ms is not None
        assert record.response_latency_ms < NORMAL_MS

    def test_does_not_repeat_the_users_words(self, fault_run: FaultRun, case: Case) -> None:
        result = fault_run.results[case.name]
        told = [*result.problems, *result.chunks, *(record.to_json() for record in result.records)]
        assert not [text for text in told if SECRET in text.casefold()]


def test_log_entries_do_not_refer_to_the_log(fault_run: FaultRun) -> None:
    told = [record.error or "" for each in fault_run.results.values() for record in each.records]
    assert not [text for text in [*told, *fault_run.logged] if "the server's log" in text]


def test_users_words_are_not_logged(fault_run: FaultRun) -> None:
    assert not [line for line in fault_run.logged if SECRET in line.casefold()]


WHOLE_ANSWER = event(finish="stop") + DONE
SPLIT_CHARACTERS = {
    "of an escape": event("It is fine \ud83d") + WHOLE_ANSWER,
    "of bytes": event("It is fine @").replace(b"@", "é".encode()[:1]) + WHOLE_ANSWER,
    "of bytes, then the other": event("It is fine @").replace(b"@", "é".encode()[:1])
    + event("@").replace(b"@", "é".encode()[1:])
    + WHOLE_ANSWER,
}


async def answered(body: bytes) -> SimulationResult:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving((HEAD, chunk(body), LAST_CHUNK)))
        model = chat("home", server.url)
        stack.push_async_callback(model.aclose)
        return await scripted([ASKS], 1000, model, TURNS).run_on_loop()


async def split_answers() -> dict[str, SimulationResult]:
    async with asyncio.TaskGroup() as tasks:
        tasks_by_case = {name: tasks.create_task(answered(body)) for name, body in SPLIT_CHARACTERS.items()}
    return {name: task.result() for name, task in tasks_by_case.items()}


def test_half_a_character_does_not_break_an_answer() -> None:
    for name, result in run_virtual(split_answers(), sockets=True).items():
        assert " ".join(result.chunks).replace("\ufffd", "").strip() == "It is fine", name
        (record,) = result.records
        assert record.error is None, name
        check_stages(record)


async def run_beside_a_stall(stalled: int) -> tuple[list[SimulationResult], list[SimulationResult]]:
    """Half of the conversations have an endpoint that stalls in the first turn. All share one HTTP client."""
    good = answer("It is ten ", "o'clock.")
    asks_first, asks = Utterance(200, 600, "hello"), Utterance(1000, 1400, "what time is it")
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(*[(HEAD, Wait(5))] * stalled, good))
        model = chat("shared", server.url, first_token_timeout_s=1.5)
        stack.push_async_callback(model.aclose)
        async with asyncio.TaskGroup() as tasks:
            waiting, normal = (
                [tasks.create_task(scripted([utterance], 2500, model, TURNS).run_on_loop()) for _ in range(stalled)]
                for utterance in (asks_first, asks)
            )
    return [task.result() for task in waiting], [task.result() for task in normal]


def test_stalled_endpoint_does_not_delay_other_conversations() -> None:
    waiting, normal = run_virtual(run_beside_a_stall(3), sockets=True)
    for result in waiting:
        (record,) = result.records
        assert record.error is not None
        assert "first_token_timeout_s" in record.error
        assert record.response_latency_ms is not None
        assert record.response_latency_ms > 1500
    for result in normal:
        (record,) = result.records
        assert result.chunks == ["It is ten o'clock."]
        assert record.error is None
        assert record.response_latency_ms is not None
        assert record.response_latency_ms < NORMAL_MS
