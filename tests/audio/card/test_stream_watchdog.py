"""Tests when a stream counts as lost, and when opening is retried."""

from audio.card.stream_watchdog import GRACE_S, LOST_AFTER_S, RETRY_PAUSES_S, STEADY_S, StreamWatchdog


def test_stream_is_lost_after_a_second_without_blocks() -> None:
    watch = StreamWatchdog()
    watch.opened(100.0)
    assert not watch.is_silent(100 + GRACE_S, 0.0)
    assert watch.is_silent(100 + GRACE_S + 0.1, 0.0)
    assert not watch.is_silent(200.0, 200 - LOST_AFTER_S)
    assert watch.is_silent(200.0, 200 - LOST_AFTER_S - 0.1)
    assert not watch.is_silent(102.0, 100.1)  # a pause during the grace period


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
