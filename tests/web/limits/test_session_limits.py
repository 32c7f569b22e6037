"""Session slots, audio throttling and close notices."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.limits import session_limits
from web.limits.session_limits import RATE_ALLOWANCE, AudioThrottle, CloseNotice, SessionLimits

CLOSE_ERRORS = [
    session_limits.LOADING,
    session_limits.DRAINING,
    session_limits.INTERNAL,
    session_limits.NO_DESCRIPTORS,
    session_limits.full(8),
    session_limits.full(1),
    session_limits.busy("event loop lag p99 is 61 ms, limit 50 ms", 9.5),
    session_limits.expired(3600.0),
    session_limits.idle(30.0),
]


def code(farewell: CloseNotice | None) -> str:
    return farewell.code if farewell is not None else ""


def test_number_of_sessions_is_limited() -> None:
    seats = SessionLimits(2)
    assert [code(seats.admit(ready=True)) for _ in range(3)] == ["", "", "server_full"]
    assert seats.current == 2
    seats.leave()
    assert [code(seats.admit(ready=True)) for _ in range(2)] == ["", "server_full"]


def test_resumed_session_uses_its_existing_slot() -> None:
    seats = SessionLimits(1)
    assert seats.admit(ready=True) is None
    assert seats.admit(ready=True, resuming=True) is None
    assert seats.current == 1
    assert code(seats.admit(ready=True)) == "server_full"
    seats.leave()
    assert seats.admit(ready=True) is None


def test_sessions_are_refused_while_loading_or_draining() -> None:
    seats = SessionLimits(1)
    assert code(seats.admit(ready=False, resuming=True)) == "server_loading"
    assert seats.current == 0
    seats.close()
    assert code(seats.admit(ready=True, resuming=True)) == "server_draining"
    assert seats.current == 0


def test_session_needs_free_descriptors() -> None:
    seats = SessionLimits(8)
    for free, expected in ((7, "too_few_descriptors"), (8, ""), (11, "too_few_descriptors"), (12, ""), (None, "")):
        assert code(seats.admit(ready=True, free_descriptors=free)) == expected
    assert seats.current == 3
    assert seats.admit(ready=True, resuming=True, free_descriptors=0) is None


@pytest.mark.parametrize("farewell", CLOSE_ERRORS, ids=lambda farewell: f"{farewell.code} {farewell.close_code}")
def test_close_notice_fits_event_and_close_frame(farewell: CloseNotice) -> None:
    event = farewell.event("event_1")
    retry = {"retry_after_s": 10} if farewell.code == "server_busy" else {}
    assert json.loads(json.dumps(event)) == {
        "type": "error",
        "event_id": "event_1",
        "error": {
            "type": "server_error", "code": farewell.code, "message": farewell.message, "param": None, "event_id": None,
            **retry,
        },
    }  # fmt: skip
    assert farewell.close_code in {1001, 1011, 1012, 1013}
    assert farewell.reason.startswith(farewell.code)
    assert len(farewell.reason.encode()) <= 123


def test_documentation_names_every_close_notice() -> None:
    page = (Path(__file__).parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
    for farewell in CLOSE_ERRORS:
        assert f"| `{farewell.code}` | {farewell.close_code} |" in page


def test_long_reason_is_cut_between_characters() -> None:
    reason = CloseNotice("c", "ü" * 100, 1011).reason
    assert len(reason.encode()) <= 123
    assert reason == "c: " + "ü" * 60


# Throttling

RATE_HZ = 24_000


def test_real_time_with_clock_drift_is_not_throttled() -> None:
    for pace in (1.0, 1.04):
        throttle = AudioThrottle(RATE_HZ)
        waits = [throttle.wait_s(480, n * 0.02 / pace) for n in range(100_000)]
        assert max(waits) == 0.0


def test_fast_audio_is_throttled_to_real_time() -> None:
    throttle = AudioThrottle(RATE_HZ, burst_s=4.0)
    now_s, sent = 100.0, 0
    while sent < 60 * RATE_HZ:
        sent += 4800
        now_s += throttle.wait_s(4800, now_s)
    assert now_s - 100.0 == pytest.approx(60 / RATE_ALLOWANCE - 4.0)


def test_silence_saves_at_most_one_burst() -> None:
    throttle = AudioThrottle(RATE_HZ, burst_s=4.0)
    assert throttle.wait_s(4 * RATE_HZ, 0.0) == 0.0
    assert throttle.wait_s(RATE_HZ, 0.0) == pytest.approx(5 / RATE_ALLOWANCE - 4.0)
    assert throttle.wait_s(4 * RATE_HZ, 3600.0) == 0.0
    assert throttle.wait_s(RATE_HZ, 3600.0) > 0.5


@given(st.lists(st.tuples(st.integers(0, 10 * RATE_HZ), st.floats(0, 20)), max_size=50))
def test_waiting_client_is_never_ahead_by_more_than_a_burst(sent: list[tuple[int, float]]) -> None:
    throttle = AudioThrottle(RATE_HZ, burst_s=4.0)
    now_s, total_s, largest_s = 0.0, 0.0, max((samples / RATE_HZ for samples, _ in sent), default=0.0)
    for samples, pause_s in sent:
        now_s += pause_s
        total_s += samples / RATE_HZ
        assert total_s <= RATE_ALLOWANCE * (now_s + 4.0) + largest_s + 1e-6
        now_s += throttle.wait_s(samples, now_s)
