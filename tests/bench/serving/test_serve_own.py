"""Tests the server's own share of a latency."""

from typing import Any

import pytest

from bench.serving.figures import own_ms


def span(name: str, start_ms: float, end_ms: float, *after: str, attempt: int = 1, dropped: bool = False) -> Any:
    return {
        "name": name, "start_ms": start_ms, "end_ms": end_ms, "after": list(after), "attempt": attempt,
        "dropped": dropped,
    }  # fmt: skip


def trace(*spans: Any) -> Any:
    ends_ms = [one["end_ms"] for one in spans if one["name"] == "playout" and not one["dropped"]]
    audible_ms = ends_ms[0] if ends_ms else None
    latency_ms = None if audible_ms is None else audible_ms - 1000.0
    return {
        "speech_end_ms": 1000.0, "playout_start_ms": audible_ms, "response_latency_ms": latency_ms,
        "spans": list(spans),
    }  # fmt: skip


ENDPOINT = span("endpoint", 1000, 1200)
HIDDEN = trace(
    ENDPOINT,
    span("stt", 1050, 1060, "silence"),
    span("commit", 1200, 1201, "endpoint", "stt"),
    span("tts", 1150, 1160),
    span("playout", 1201, 1216, "tts", "commit"),
)
PAID = trace(
    ENDPOINT,
    span("stt", 1100, 1150),
    span("commit", 1200, 1200, "endpoint", "stt"),
    span("queue", 1152, 1155, "stt"),
    span("llm_network", 1155, 1160, "queue"),
    span("llm_first_token", 1160, 1266, "llm_network"),
    span("first_sentence", 1266, 1300, "llm_first_token"),
    span("tts", 1304, 1310, "first_sentence"),
    span("playout", 1310, 1330, "tts", "commit"),
)


def test_intended_wait_is_not_own_time() -> None:
    assert own_ms(HIDDEN, ttft_ms=100, leading_ms=15) == pytest.approx(1)  # the commit


def test_slow_forwarding_is_own_time() -> None:
    # 2 ms before the queue, 3 in it, 5 to the LLM, 6 beyond its 100, 4 before the voice, 20 - 15 to the client.
    assert own_ms(PAID, ttft_ms=100, leading_ms=15) == pytest.approx(2 + 3 + 5 + 6 + 4 + 5)


def test_early_first_token_does_not_reduce_own_time() -> None:
    assert own_ms(PAID, ttft_ms=500, leading_ms=500) == pytest.approx(2 + 3 + 5 + 4)


def test_only_heard_attempt_counts() -> None:
    dropped = [span(one["name"], 0, 9000, attempt=2, dropped=True) for one in PAID["spans"]]
    assert own_ms(trace(*dropped, *PAID["spans"]), ttft_ms=100, leading_ms=15) == pytest.approx(25)


def test_no_own_share_without_latency() -> None:
    assert own_ms(trace(ENDPOINT), ttft_ms=100, leading_ms=0) is None
    assert own_ms({**PAID, "speech_end_ms": None}, ttft_ms=100, leading_ms=0) is None
