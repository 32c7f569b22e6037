"""The playout queue: nothing stale is played, nothing clicks, and the counts add up."""

import tracemalloc
from collections import deque

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from audio.playout import CAPACITY_SAMPLES, Counts, Playout, Pulled
from audio.sound_id import NamedSound
from audio.units import Pcm, ReplySamples

A, B = NamedSound("a"), NamedSound("b")


def nth(number: int) -> NamedSound:
    return NamedSound(str(number))


FADE = 120
RAMP = 480


def level(n: int, value: int = 1000) -> Pcm:
    return np.full(n, value, np.int16)


class AgainstAModel(RuleBasedStateMachine):
    """Random opens, offers, pulls and closes, compared with a deque of the open reply's samples."""

    def __init__(self) -> None:
        super().__init__()
        self.playout = Playout(ReplySamples(1000))
        self.opened = 0
        self.queue: deque[int] = deque()
        self.tail: deque[int] = deque()  # bounds of the samples that may still fade out
        self.taken: deque[int] = deque(maxlen=FADE)  # of this reply
        self.fading_in = 0  # number of samples that may still fade in
        self.is_open = self.ended = self.finished = False
        self.pulled = 0
        self.next_value = 1
        self.underruns = self.gap = 0

    @rule()
    def open(self) -> None:
        self.close_model()
        self.taken.clear()
        self.fading_in = 0
        self.opened += 1
        self.playout.open(nth(self.opened))
        self.playout.open(nth(self.opened))
        self.is_open = True
        self.ended = self.finished = False
        self.pulled = self.underruns = self.gap = 0

    @rule(n=st.integers(0, 700), stale=st.booleans())
    def offer(self, n: int, stale: bool) -> None:
        n = min(n, self.playout.room_samples)
        values = [(self.next_value + i) % 30_000 + 1 for i in range(n)]
        sound_id = nth(self.opened - 1 if stale else self.opened)
        taken = self.playout.offer(sound_id, np.array(values, np.int16))
        assert taken == (not stale and self.is_open and not self.ended)
        if taken:
            self.queue.extend(values)
            self.next_value += n

    @rule(stale=st.booleans())
    def end(self, stale: bool) -> None:
        self.playout.end(nth(self.opened - 1 if stale else self.opened))
        if not stale:
            self.ended = self.ended or self.is_open

    @rule()
    def close(self) -> None:
        assert self.playout.close(nth(self.opened)) == self.pulled
        self.close_model()
        assert self.playout.close(nth(self.opened)) == self.pulled
        assert self.playout.close(NamedSound("nobody")) == 0

    def close_model(self) -> None:
        if self.is_open and self.pulled and not self.gap:
            self.tail = deque([*self.queue][:FADE])
        self.is_open = False
        self.queue.clear()

    @rule(n=st.integers(1, 500))
    def missed(self, n: int) -> None:
        self.playout.missed(n)
        if self.is_open and self.pulled and not self.finished:
            self.gap += n

    @rule(n=st.integers(1, 600))
    def pull(self, n: int) -> None:
        block = self.playout.pull(n).tolist()
        assert len(block) == n
        fading = min(n, len(self.tail))
        for heard in block[:fading]:
            assert 0 <= heard <= self.tail.popleft()
        self.gap += fading if self.gap else 0  # the fade-out
        expected = [self.queue.popleft() for _ in range(min(n - fading, len(self.queue)))]
        self.fading_in = FADE if expected and self.gap else self.fading_in
        fading_in = min(self.fading_in, len(expected))
        self.fading_in -= fading_in
        for heard, loudest in zip(block[fading : fading + fading_in], expected, strict=False):
            assert 0 <= heard <= loudest
        assert block[fading + fading_in : fading + len(expected)] == expected[fading_in:]
        self.taken.extend(expected)
        rest = block[fading + len(expected) :]
        if rest and self.is_open and not self.ended and (expected or (self.pulled and not self.gap)):
            self.tail = deque(reversed(self.taken))
        ringing = min(len(rest), len(self.tail))
        for heard in rest[:ringing]:
            assert 0 <= heard <= self.tail.popleft()
        assert not any(rest[ringing:])
        if expected and self.gap:
            self.underruns += 1
            self.gap = 0
        self.pulled += len(expected)
        finishes = self.is_open and self.ended and not self.queue and not self.finished
        self.finished = self.finished or finishes
        if self.is_open and self.pulled and not self.ended:
            self.gap += n - fading - len(expected)
        if expected or finishes:
            assert self.playout.last == Pulled(
                nth(self.opened), fading, len(expected), ReplySamples(self.pulled), finishes
            )
        else:
            assert self.playout.last is None

    @invariant()
    def counts_add_up(self) -> None:
        assert self.playout.room_samples == 1000 - len(self.queue)
        assert self.playout.is_open(nth(self.opened)) == self.is_open
        if self.opened:
            assert self.playout.counts == Counts(nth(self.opened), ReplySamples(self.pulled), self.underruns)


AgainstAModel.TestCase.settings = settings(stateful_step_count=40)
TestAgainstAModel = AgainstAModel.TestCase


def test_close_fades_out_without_click() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, level(24_000, 20_000))
    assert (playout.pull(240) == 20_000).all()
    assert playout.close(A) == 240
    tail = playout.pull(240).astype(int)
    assert tail[0] == 20_000
    assert np.abs(np.diff(tail)).max() <= 20_000 / FADE + 1
    assert tail[FADE - 1] > 0
    assert not tail[FADE:].any()
    assert not playout.pull(240).any()


@pytest.mark.parametrize("block", [48, 240], ids="blocks of {}".format)
@pytest.mark.parametrize("length", [960, 1019], ids="{} samples".format)
@pytest.mark.parametrize("gap_blocks", [1, 3], ids=["1 block missing", "3 blocks missing"])
@pytest.mark.parametrize("gain_db", [0.0, -18.0], ids="{} dB".format)
def test_underrun_does_not_click(block: int, length: int, gap_blocks: int, gain_db: float) -> None:
    playout = Playout()
    playout.open(A)
    playout.duck(gain_db)
    blocks = [playout.pull(RAMP).copy()]  # until the volume is lowered
    for _ in range(2):
        playout.offer(A, level(length, 20_000))
        while playout.room_samples < CAPACITY_SAMPLES:
            blocks.append(playout.pull(block).copy())
        blocks += [playout.pull(block).copy() for _ in range(gap_blocks)]
    heard = np.concatenate(blocks)[RAMP:].astype(int)
    assert playout.counts.pulled == 2 * length
    loud = heard.max()
    assert loud == pytest.approx(20_000 * 10 ** (gain_db / 20), abs=1)
    assert (heard == loud).sum() >= 2 * length - FADE - 2
    assert np.abs(np.diff(heard)).max() <= loud / FADE + 2


def test_ended_reply_has_no_fade_out() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, level(100))
    playout.end(A)
    assert not playout.pull(240)[100:].any()


def test_reply_never_pulled_leaves_no_audio() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, level(480))
    assert playout.close(A) == 0
    assert not playout.pull(480).any()


def test_next_reply_starts_after_fade_out() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, level(1000, 20_000))
    playout.pull(240)
    playout.open(B)
    playout.offer(B, level(1000, 500))
    block = playout.pull(240)
    assert (block[FADE:] == 500).all()
    assert playout.last == Pulled(B, FADE, 240 - FADE, ReplySamples(240 - FADE), finished=False)


def test_late_end_is_reported_once() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, level(100))
    playout.pull(240)
    playout.pull(240)
    playout.end(A)
    playout.pull(240)
    assert playout.last == Pulled(A, 0, 0, ReplySamples(100), finished=True)
    playout.pull(240)
    assert playout.last is None
    assert playout.counts == Counts(A, ReplySamples(100), 0)


def test_underrun_needs_audio_on_both_sides() -> None:
    playout = Playout()
    playout.open(A)
    playout.pull(240)  # waiting for the first audio is no underrun
    playout.offer(A, level(100))
    playout.pull(240)
    playout.pull(240)
    assert playout.counts.underruns == 0
    playout.offer(A, level(100))
    playout.pull(240)
    assert playout.counts.underruns == 1


def test_held_reply_continues_from_same_sample_without_click() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, np.arange(10_000, 20_000, dtype=np.int16))
    playout.pull(240)
    playout.hold()
    held = playout.pull(480).copy().astype(int)
    assert held[0] == 10_240
    assert np.abs(np.diff(held)).max() <= 10_400 / FADE + 2
    assert not held[FADE:].any()
    assert playout.last is None
    playout.release()
    after = playout.pull(480).copy().astype(int)
    assert np.abs(np.diff(after)).max() <= 10_400 / FADE + 2
    assert (after[FADE:] == np.arange(10_240 + FADE, 10_720)).all()
    assert playout.counts == Counts(A, ReplySamples(720), 0), "a hold is no underrun"


def test_closed_reply_stays_silent_after_a_hold() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, level(1000))
    playout.hold()
    assert not playout.pull(240).any(), "nothing of it was played yet"
    assert playout.close(A) == 0
    playout.open(B)
    playout.offer(B, level(1000))
    assert (playout.pull(240) == 1000).all(), "the next reply is not held"


def test_duck_and_unduck_are_ramps_of_20_ms() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, level(24_000, 20_000))
    playout.pull(240)
    playout.duck(-20.0)
    down = np.concatenate([playout.pull(100).copy() for _ in range(10)]).astype(int)
    assert (np.diff(down) <= 0).all()
    assert np.abs(np.diff(down)).max() <= 18_000 / RAMP + 2
    assert down[RAMP // 2] == pytest.approx(11_000, rel=0.01)
    assert (np.abs(down[RAMP:] - 2000) <= 1).all()
    playout.unduck()
    up = np.concatenate([playout.pull(100).copy() for _ in range(10)]).astype(int)
    assert (np.diff(up) >= 0).all()
    assert (up[RAMP:] == 20_000).all()


def test_duck_can_reverse_midway() -> None:
    playout = Playout()
    playout.open(A)
    playout.offer(A, level(24_000, 20_000))
    playout.pull(240)
    playout.duck(-60.0)
    first = playout.pull(240).copy()
    playout.unduck()
    second = playout.pull(480).copy()
    assert np.abs(np.diff(np.concatenate([first, second]).astype(int))).max() <= 20_000 / RAMP + 2
    assert (playout.pull(240) == 20_000).all()


def test_new_reply_starts_at_full_volume() -> None:
    playout = Playout()
    playout.open(A)
    playout.duck(-40.0)
    playout.pull(1000)
    playout.open(B)
    playout.offer(B, level(240))
    assert (playout.pull(240) == 1000).all()


@pytest.mark.parametrize("gain_db", [0.1, float("nan")], ids=["positive", "NaN"])
def test_positive_duck_gain_is_refused(gain_db: float) -> None:
    with pytest.raises(ValueError, match="at most 0 dB"):
        Playout().duck(gain_db)


def test_offer_beyond_room_is_refused() -> None:
    playout = Playout(ReplySamples(100))
    playout.open(A)
    assert playout.offer(A, level(60))
    with pytest.raises(ValueError, match="room for 40"):
        playout.offer(A, level(41))
    with pytest.raises(ValueError, match="at least 1 sample"):
        Playout(ReplySamples(0))


def test_memory_does_not_grow() -> None:
    playout = Playout()
    sound = level(240)

    def some(first: int, count: int) -> None:
        for n in range(first, first + count):
            if n % 50 == 0:
                playout.open(nth(n))
                playout.duck(-15.0)
            if n % 50 == 25:
                playout.unduck()
            playout.offer(nth(n - n % 50), sound)
            playout.pull(240)

    tracemalloc.start()
    try:
        some(0, 500)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        some(500, 1500)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 700, "under half a byte a block"
    assert peak - before < 32_768
