"""The client's audio has no inserted silence within it, however the network delays its blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.arrivals import TURN_STALL_S
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples
from web.client_audio.client_line import ClientLine

BEGIN_S = 100.0


@dataclass(frozen=True)
class Block:
    """A part of the captured audio and its arrival time; `at_s` counts from the first sample."""

    pcm: Pcm
    at_s: float


@dataclass(frozen=True)
class Heard:
    """The line that was made of a client's blocks.

    Attributes:
        frames: The line's frames from position 0 on, with their times.
        line: The line.
    """

    frames: list[tuple[float, Frame]]
    line: ClientLine

    @property
    def sound(self) -> Pcm:
        """The line from the client's first sample on."""
        return np.concatenate([frame.pcm for _, frame in self.frames])[self.first_sample :]

    @property
    def first_sample(self) -> int:
        first = next(frame for _, frame in self.frames if not frame.is_inserted)
        return first.start + self.line.inserted_before(first.end) - self.line.inserted_before(first.start)


def voice(seconds: float, rate_hz: int) -> Pcm:
    """Returns noise: neighbouring samples differ, so that misplaced samples are detected."""
    rng = np.random.default_rng(7)
    return rng.integers(-9000, 9000, round(seconds * rate_hz)).astype(np.int16)


def voice_and_silence(seconds: float) -> Pcm:
    """Returns noise and then a second of silence, at 24 kHz."""
    return np.concatenate((voice(seconds - 1, 24_000), np.zeros(24_000, np.int16)))


def cut(pcm: Pcm, rate_hz: int, sizes_ms: Sequence[float], delays_s: Sequence[float] = (0.0,)) -> list[Block]:
    """Cuts audio into blocks of these lengths in turn, each with a delay after its last sample; in order."""
    blocks: list[Block] = []
    at, arrived_s = 0, 0.0
    while at < len(pcm):
        size = max(1, round(sizes_ms[len(blocks) % len(sizes_ms)] * rate_hz / 1000))
        part = pcm[at : at + size]
        at += len(part)
        arrived_s = max(arrived_s, at / rate_hz + delays_s[len(blocks) % len(delays_s)])
        blocks.append(Block(part, arrived_s))
    return blocks


def stalled(blocks: list[Block], from_s: float, for_s: float) -> list[Block]:
    """Delays all blocks that would arrive in this time to its end."""
    until_s = from_s + for_s
    return [Block(block.pcm, until_s if from_s < block.at_s < until_s else block.at_s) for block in blocks]


def lost(blocks: list[Block], from_s: float, until_s: float) -> tuple[list[Block], float]:
    """Removes the blocks that would arrive in this time; also returns their length in seconds at 24 kHz."""
    kept = [block for block in blocks if not from_s < block.at_s < until_s]
    return kept, sum(len(block.pcm) for block in blocks if from_s < block.at_s < until_s) / 24_000


def hear(
    blocks: Sequence[Block],
    rate_hz: int,
    *,
    connected_s: float = 0.3,
    after_s: float = 0.0,
    batches_silence: bool = False,
    in_turn: bool = False,
) -> Heard:
    """Feeds a line with the blocks of a client, with a time before the first and after the last block."""
    line = ClientLine(rate_hz)
    line.arrivals.in_turn = in_turn
    frames: list[tuple[float, Frame]] = []
    now_s = BEGIN_S - connected_s
    coming = list(blocks)
    end_s = BEGIN_S + (blocks[-1].at_s if blocks else 0.0) + 0.01 + after_s

    def keep(came: list[Frame]) -> None:
        frames.extend((now_s - BEGIN_S, frame) for frame in came)

    while now_s <= end_s + 1e-9:
        while coming and BEGIN_S + coming[0].at_s <= now_s + 1e-9:
            block = coming.pop(0)
            at_s = max(now_s - 0.01, BEGIN_S + block.at_s)
            keep(line.push_block(block.pcm, rate_hz, at_s, batches_silence=batches_silence))
        if now_s >= line.idle_from_s:
            keep(line.idle(now_s))
        now_s += 0.01
    keep(line.finish())
    starts = [frame.start for _, frame in frames]
    assert starts == [n * FRAME_SAMPLES for n in range(len(frames))]
    return Heard(frames, line)


def check_whole(heard: Heard, pcm: Pcm, rate_hz: int) -> None:
    """Asserts that the line equals that of one whole block: nothing inserted, nothing lost."""
    expected = hear([Block(pcm, len(pcm) / rate_hz)], rate_hz, connected_s=0.0).sound
    sound = heard.sound
    length = round(len(pcm) * MIC_RATE_HZ / rate_hz)
    assert abs(len(sound) - length) <= FRAME_SAMPLES + 1
    assert np.abs(sound[:length].astype(int) - expected[:length]).max() <= 1


RATES = st.sampled_from([8_000, 24_000])
SIZES = st.one_of(
    st.floats(10, 1000).map(lambda ms: [ms]),
    st.lists(st.floats(10, 1000), min_size=1, max_size=12),
)
DELAYS = st.lists(st.floats(0, 0.2), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(rate_hz=RATES, sizes_ms=SIZES, delays_s=DELAYS, from_s=st.floats(0, 3), for_s=st.floats(0, 1))
def test_blocks_with_jitter_and_stall_equal_one_block(
    rate_hz: int, sizes_ms: list[float], delays_s: list[float], from_s: float, for_s: float
) -> None:
    pcm = voice(3.0, rate_hz)
    # A longer or later block than ever before adds to the stall.
    for_s = max(0.0, min(for_s, 1.05 - max(delays_s) - (max(sizes_ms) - min(sizes_ms)) / 1000))
    heard = hear(stalled(cut(pcm, rate_hz, sizes_ms, delays_s), from_s, for_s), rate_hz)
    check_whole(heard, pcm, rate_hz)


@pytest.mark.parametrize("rate_hz", [8_000, 24_000], ids="{} Hz".format)
@pytest.mark.parametrize("block_ms", [10, 128, 1024], ids="{} ms blocks".format)
@pytest.mark.parametrize("jitter_s", [0.0, 0.2], ids="{} s jitter".format)
def test_steady_blocks_have_no_inserted_silence(rate_hz: int, block_ms: int, jitter_s: float) -> None:
    pcm = voice(4.0, rate_hz)
    delays_s = np.random.default_rng(1).uniform(0, jitter_s, 50).tolist()
    check_whole(hear(cut(pcm, rate_hz, [block_ms], delays_s), rate_hz), pcm, rate_hz)


@pytest.mark.parametrize("block_ms", [20, 100], ids="{} ms blocks".format)
def test_slow_burst_is_recognized_as_burst(block_ms: int) -> None:
    pcm = voice(4.0, 24_000)
    blocks = cut(pcm, 24_000, [block_ms])
    # Nothing for 0.8 s from 1 s on; then twice as fast as real time until it has caught up.
    slow = [
        Block(block.pcm, max(block.at_s, 1.8 + (block.at_s - 1.0) / 2) if block.at_s > 1.0 else block.at_s)
        for block in blocks
    ]
    check_whole(hear(slow, 24_000), pcm, 24_000)


@settings(max_examples=60, deadline=None)
@given(block_ms=st.sampled_from([20.0, 40.0, 100.0, 128.0, 200.0]), from_s=st.floats(0.5, 2), for_s=st.floats(0.4, 4))
def test_lost_audio_is_replaced_by_as_much_silence(block_ms: float, from_s: float, for_s: float) -> None:
    pcm = voice(7.0, 24_000)
    blocks, lost_s = lost(cut(pcm, 24_000, [block_ms]), from_s, from_s + for_s)
    heard = hear(blocks, 24_000)
    sound = heard.sound
    tolerance = 0.02 if lost_s > 0.25 else 0.25  # so much may be jitter
    assert len(sound) / MIC_RATE_HZ == pytest.approx(7.0, abs=tolerance + 0.02)
    in_front = len(np.concatenate([frame.pcm for _, frame in heard.frames])) - len(sound)
    put_in = heard.line.inserted_before(Samples(in_front + len(sound))) - heard.line.inserted_before(Samples(in_front))
    assert put_in / MIC_RATE_HZ == pytest.approx(lost_s, abs=tolerance + 0.02)


def test_long_pause_becomes_silence_in_real_time() -> None:
    heard = hear(cut(voice(1.0, 24_000), 24_000, [20]), 24_000, after_s=5.0)
    late = [at_s - frame.end / MIC_RATE_HZ for at_s, frame in heard.frames if at_s > 2.5]
    assert max(late) - min(late) < 0.05


@pytest.mark.parametrize("block_ms", [20, 100, 200, 1000], ids="{} ms blocks".format)
def test_pause_after_speech_becomes_silence_within_stall_limit(block_ms: int) -> None:
    heard = hear(cut(voice_and_silence(3.0), 24_000, [block_ms]), 24_000, after_s=4.0)
    silent_s = next(at_s for at_s, frame in heard.frames if frame.is_inserted and at_s > 1)
    assert 3.0 + 1.0 < silent_s <= 3.0 + 1.12 + block_ms / 1000 + 0.02


def test_regular_pauses_after_speech_shorten_the_wait() -> None:
    blocks: list[Block] = []
    for n in range(4):
        blocks += [Block(block.pcm, block.at_s + 5 * n) for block in cut(voice_and_silence(2.0), 24_000, [20])]
    heard = hear(blocks, 24_000, after_s=3.0)
    waited_s = [
        next(at_s for at_s, frame in heard.frames if frame.is_inserted and at_s > 2 + 5 * n) - 2 - 5 * n
        for n in range(4)
    ]
    assert waited_s[0] == pytest.approx(1.12, abs=0.03)
    assert waited_s[3] == pytest.approx(0.27, abs=0.03)


def test_client_that_sends_silence_is_not_treated_as_paused() -> None:
    blocks: list[Block] = []
    for n in range(3):  # like turns: after each, the silence is not sent
        blocks += [Block(block.pcm, block.at_s + 5 * n) for block in cut(voice(2.0, 24_000), 24_000, [20])]
    heard = hear(blocks, 24_000, after_s=3.0, batches_silence=True)
    waited_s = next(at_s for at_s, frame in heard.frames if frame.is_inserted and at_s > 12) - 12
    assert waited_s == pytest.approx(1.12, abs=0.03)


@pytest.mark.parametrize("message_ms", [20, 100, 500, 3000], ids="{} ms messages".format)
def test_silence_begins_soon_after_recording_sent_at_once(message_ms: int) -> None:
    pcm = voice(3.0, 24_000)
    at_once = [Block(block.pcm, 0.0) for block in cut(pcm, 24_000, [message_ms])]
    heard = hear(at_once, 24_000, after_s=2.0)
    silent_s = next(at_s for at_s, frame in heard.frames if frame.is_inserted and at_s > 0.02)
    assert silent_s == pytest.approx(0.1, abs=0.03)


def test_burst_before_live_audio_is_not_a_recording() -> None:
    pcm = voice(8.0, 24_000)
    blocks = [Block(block.pcm, max(0.0, block.at_s - 3.0)) for block in cut(pcm, 24_000, [20])]
    check_whole(hear(stalled(blocks, 2.0, 0.9), 24_000), pcm, 24_000)


def test_positions_are_dated_by_the_least_delayed_blocks() -> None:
    pcm = voice(4.0, 24_000)
    heard = hear(cut(pcm, 24_000, [500], [0.0, 0.2, 0.1]), 24_000)
    end = Samples(heard.frames[-1][1].end)
    behind = (len(heard.sound) - len(pcm) * MIC_RATE_HZ // 24_000) / MIC_RATE_HZ
    assert heard.line.clock.to_loop_s(end) - behind == pytest.approx(BEGIN_S + 4.0, abs=0.005)


@pytest.mark.parametrize("stall_s", [1.5, 3.0, 4.5], ids="{} s stall".format)
def test_long_stall_in_a_turn_adds_no_silence(stall_s: float) -> None:
    pcm = voice(8.0, 24_000)
    blocks = cut(pcm, 24_000, [20], [0.0, 0.04, 0.01])
    check_whole(hear(stalled(blocks, 2.0, stall_s), 24_000, in_turn=True), pcm, 24_000)


@pytest.mark.parametrize("stall_s", [1.5, 3.0, 4.5], ids="{} s stall".format)
def test_long_stall_in_a_sound_that_begins_adds_no_silence(stall_s: float) -> None:
    pcm = np.concatenate((voice(1.0, 24_000) // 90, voice(7.0, 24_000)))
    check_whole(hear(stalled(cut(pcm, 24_000, [20]), 1.07, stall_s), 24_000), pcm, 24_000)


def test_turn_of_a_client_that_stops_sending_becomes_silence() -> None:
    heard = hear(cut(voice(2.0, 24_000), 24_000, [20]), 24_000, after_s=8.0, in_turn=True)
    silent_s = next(at_s for at_s, frame in heard.frames if frame.is_inserted and at_s > 0.02)
    assert silent_s == pytest.approx(2.0 + TURN_STALL_S, abs=0.3)


def test_commit_during_stall_includes_all_received_audio() -> None:
    line = ClientLine(24_000)
    pcm = voice(2.0, 24_000)
    frames = line.push_block(pcm[:24_000], 24_000, 101.0)
    frames += line.push_block(pcm[24_000:36_000], 24_000, 102.2)  # 0.7 s later than it was captured
    assert len(frames) == 50
    frames += line.settle()
    assert len(frames) == 75
    assert line.received_ms == pytest.approx(1500, abs=1)
    assert not any(frame.is_inserted for frame in frames)


def test_lost_connection_becomes_silence_at_once() -> None:
    line = ClientLine(24_000)
    line.push_block(voice(1.0, 24_000), 24_000, 101.0)
    line.arrivals.gone = True
    assert line.idle(101.15)
    assert line.arrivals.max_gap_s < 0.2
    line.push_block(voice(0.02, 24_000), 24_000, 103.0)
    assert line.arrivals.max_gap_s > 1.0
