"""Tests of the fake LLM with configurable timing, over real sockets in virtual time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import httpx
import pytest
from support.clocks.virtual_time import run_virtual
from support.services.llm_server import ask

from bench.controlled_llm import Answer, ControlledLlm, LlmBehaviour, last_asked, tokens_of
from llm.chat import Finished, Message, RequestSent, Token
from llm.errors import LlmBroken, LlmError, LlmRefused, LlmTooSlow
from llm.openai.chat import OpenAIChat

QUICKLY = LlmBehaviour(ttft_ms=0, tokens_per_s=10_000)


@asynccontextmanager
async def answering(behaviour: LlmBehaviour) -> AsyncGenerator[tuple[str, list[Answer]]]:
    """Yields its address and its log."""
    log, before = list[Answer](), asyncio.all_tasks()
    server = await asyncio.start_server(ControlledLlm(behaviour, log.append).serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", log
    async with asyncio.timeout(5):
        while asyncio.all_tasks() - before:  # noqa: ASYNC110 - its connections end when they notice the client's end
            await asyncio.sleep(0.01)


def test_reply_contains_last_word_and_word_count() -> None:
    assert "".join(tokens_of(LlmBehaviour(), "what time is it")) == "Last word it, of 4. Anything else?"
    assert "".join(tokens_of(LlmBehaviour(), "")) == "Last word nothing, of 0. Anything else?"


def test_last_user_message_is_the_question() -> None:
    messages = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}, {"role": "assistant"}]
    assert last_asked(messages) == "two"
    assert last_asked([]) == last_asked(None) == ""


WRONG: dict[str, dict[str, object]] = {
    "negative delay": {"ttft_ms": -1},
    "zero rate": {"tokens_per_s": 0},
    "blank reply": {"reply": " "},
    "unknown fault": {"fault": "nonsense"},
    "share above one": {"slow_rate": 2},
    "negative round trip": {"rtt_ms": -1},
    "zero keep-alive": {"keepalive_s": 0},
    "negative connect time": {"connect_ms": -1},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_invalid_settings_are_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        LlmBehaviour(**wrong)  # type: ignore[arg-type]


def test_own_client_can_ask_repeatedly() -> None:
    async def talk() -> list[Answer]:
        async with answering(QUICKLY) as (url, log):
            chat = OpenAIChat("controlled", url, "m")
            for _ in range(2):
                events = await ask(chat, [Message("user", "turn on the lamp")])
                text = "".join(event.text for event in events if isinstance(event, Token))
                assert text == "Last word lamp, of 4. Anything else?"
                assert isinstance(events[-1], Finished)
            await chat.aclose()
        return log

    log = run_virtual(talk(), sockets=True)
    assert [(answer.asked, answer.sent, answer.cancelled) for answer in log] == [("turn on the lamp", 7, False)] * 2


def test_disconnect_is_logged_as_cancelled() -> None:
    async def talk() -> list[Answer]:
        async with answering(LlmBehaviour(ttft_ms=60_000)) as (url, log):
            body = {"messages": [{"role": "user", "content": "hello"}]}
            async with httpx.AsyncClient(trust_env=False) as client:
                with pytest.raises(httpx.ReadTimeout):
                    await client.post(f"{url}/chat/completions", json=body, timeout=httpx.Timeout(1, read=0.05))
            async with asyncio.timeout(2):
                while not log:  # noqa: ASYNC110 - it is told by the server's own task
                    await asyncio.sleep(0.005)
        return log

    (answer,) = run_virtual(talk(), sockets=True)
    assert (answer.sent, answer.first_token_ms, answer.cancelled) == (0, None, True)


def test_settings_can_be_changed_at_run_time() -> None:
    async def talk() -> tuple[int, int, str]:
        async with answering(QUICKLY) as (url, _), httpx.AsyncClient(trust_env=False) as client:
            wrong = await client.post(f"{url}/control", json={"tokens_per_s": 0})
            right = await client.post(f"{url}/control", json={"reply": "Yes."})
            said = await client.post(f"{url}/chat/completions", json={"messages": []})
            return wrong.status_code, right.status_code, said.text

    wrong, right, said = run_virtual(talk(), sockets=True)
    assert (wrong, right) == (400, 200)
    assert '"content": "Yes."' in said


@pytest.mark.parametrize(
    ("fault", "kind", "tokens"),
    [
        ("status:503", LlmRefused, 0),
        ("drop-after:2", LlmBroken, 2),
        ("stall-after:1", LlmTooSlow, 1),
        ("stall-after:0", LlmTooSlow, 0),
        ("garbage", LlmBroken, 0),
    ],
)
def test_configured_fault_occurs(fault: str, kind: type[LlmError], tokens: int) -> None:
    async def talk() -> int:
        heard = 0
        async with answering(LlmBehaviour(ttft_ms=0, tokens_per_s=200, fault=fault)) as (url, _):
            chat = OpenAIChat("controlled", url, "m", first_token_timeout_s=0.3, token_gap_timeout_s=0.3)
            try:
                async with aclosing(chat.stream([Message("user", "turn on the lamp")])) as events:
                    async for event in events:
                        heard += isinstance(event, Token)
            except kind:
                return heard
            finally:
                await chat.aclose()
        raise AssertionError("it should have failed")

    assert run_virtual(talk(), sockets=True) == tokens


def test_network_delay_is_distinguished_from_slow_model() -> None:
    async def talk() -> tuple[float | None, float]:
        loop = asyncio.get_running_loop()
        async with answering(LlmBehaviour(ttft_ms=50, tokens_per_s=1000, rtt_ms=60, connect_ms=80)) as (url, _):
            chat = OpenAIChat("controlled", url, "m")
            await chat.load()
            await chat.load()
            began_s = loop.time()
            events = await ask(chat, [Message("user", "turn on the lamp")])
            took_s = loop.time() - began_s
            await chat.aclose()
        return next(event.round_trip_s for event in events if isinstance(event, RequestSent)), took_s

    round_trip_s, took_s = run_virtual(talk(), sockets=True)
    assert round_trip_s is not None
    assert round_trip_s == pytest.approx(0.06)
    assert took_s >= 0.11


def test_configured_share_of_answers_is_slow() -> None:
    async def talk() -> list[float]:
        loop, took = asyncio.get_running_loop(), []
        async with answering(LlmBehaviour(ttft_ms=0, tokens_per_s=10_000, slow_rate=0.5, slow_ms=60)) as (url, _):
            chat = OpenAIChat("controlled", url, "m")
            for _ in range(12):
                began_s = loop.time()
                await ask(chat, [Message("user", "turn on the lamp")])
                took.append(loop.time() - began_s)
            await chat.aclose()
        return took

    slow = sum(took_s >= 0.06 for took_s in run_virtual(talk(), sockets=True))
    assert 2 <= slow <= 10
