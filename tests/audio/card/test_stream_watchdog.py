"""Tests when a stream counts as lost, and when opening is retried."""

import pytest

from audio.card.stream_watchdog import GRACE_S, LATE_TICK_S, RETRY_PAUSES_S, STALLED_AFTER_S, STEADY_S, StreamWatchdog


def stalls(blocks_until_s: float, ticks_s: list[float]) -> list[float]:
    """Returns the ticks at which a stream counts as stalled that was opened at 0 s."""
    watch = StreamWatchdog()
    watch.opened(0.0)
    return [tick_s for tick_s in ticks_s if watch.is_stalled(tick_s, blocks_until_s)]


def test_stream_stalls_after_seconds_without_blocks() -> None:
    ticks_s = [0.1 * tick for tick in range(200)]
    assert min(stalls(10.0, ticks_s)) == pytest.approx(10.0 + STALLED_AFTER_S, abs=0.11)
    assert min(stalls(0.0, ticks_s)) == pytest.approx(GRACE_S, abs=0.11)


def test_time_in_which_the_process_did_not_run_is_no_stall() -> None:
    before, after = [0.1 * tick for tick in range(100)], [15.0 + 0.1 * tick for tick in range(100)]
    assert min(stalls(9.9, [*before, *after])) == pytest.approx(15.0 + STALLED_AFTER_S, abs=0.11)
    late = [10.0 + (LATE_TICK_S + 0.1) * tick for tick in range(100)]
    assert stalls(9.9, [*before, *late]) == []


def test_retry_pauses_grow_and_reset_when_steady() -> None:
    watch = StreamWatchdog()
    watch.opened(0.0)
    now_s = 100.0
    watch.lost(now_s)
    assert watch.due(now_s)
    assert not watch.lists_devices_again
    for pause_s in (*RETRY_PAUSES_S[1:], RETRY_PAUSES_S[-1]):
        watch.failed(now_s)
        assert watch.lists_devices_again
        assert not watch.due(now_s + pause_s - 0.01)
        assert watch.due(now_s + pause_s)
    watch.opened(now_s)
    watch.lost(now_s + STEADY_S - 1)  # not steady
    assert not watch.due(now_s + STEADY_S - 1)
    watch.opened(now_s)
    watch.lost(now_s + STEADY_S)
    assert watch.due(now_s + STEADY_S)
    assert not watch.lists_devices_again


def test_first_failures_are_not_reported() -> None:
    watch = StreamWatchdog()
    watch.lost(10.0)
    assert not watch.should_report(11.0)
    assert watch.should_report(12.0)


def test_check_for_default_device_is_due_periodically() -> None:
    watch = StreamWatchdog()
    watch.opened(0.0)
    assert [watch.device_check_due(at_s) for at_s in (1.0, 3.0, 3.1, 5.9, 6.0)] == [False, True, False, False, True]
