"""The microphone line: any input becomes gapless frames."""

import tracemalloc

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.frame import Frame
from audio.frame_batching import MAX_BATCH_S, FrameBatcher
from audio.microphone import MicrophoneLine
from audio.units import FRAME_SAMPLES, Samples

RATES = [8_000, 16_000, 22_050, 24_000, 44_100, 48_000]


def check_gapless(frames: list[Frame], begin: int = 0) -> None:
    assert [frame.start for frame in frames] == [begin + n * FRAME_SAMPLES for n in range(len(frames))]
    assert all(frame.pcm.shape == (FRAME_SAMPLES,) and frame.pcm.dtype == np.int16 for frame in frames)


def sound_of(frames: list[Frame]) -> npt.NDArray[np.int16]:
    return np.concatenate([frame.pcm for frame in frames])


def kept(frames: list[Frame]) -> list[Frame]:
    """Copies frames, which is needed to keep them."""
    return [Frame(frame.start, frame.pcm.copy(), frame.is_inserted) for frame in frames]


@given(
    rate_hz=st.sampled_from(RATES),
    channels=st.sampled_from([0, 1, 2, 6]),
    sizes=st.lists(st.integers(0, 3000), max_size=30),
)
def test_blocks_of_any_size_become_gapless_frames(rate_hz: int, channels: int, sizes: list[int]) -> None:
    line = MicrophoneLine(rate_hz)
    frames: list[Frame] = []
    pushed = 0
    for size in sizes:
        block = np.full((size, channels) if channels else size, 1000, np.int16)
        pushed += size
        frames += kept(line.push_block(block, 50.0 + pushed / rate_hz))
    leading_silence = line.inserted_silence.before(Samples(FRAME_SAMPLES))  # also without a complete frame
    assert leading_silence < FRAME_SAMPLES
    assert len(frames) * FRAME_SAMPLES <= leading_silence + pushed * 16_000 / rate_hz + 1
    frames += kept(line.finish())
    check_gapless(frames)
    assert not any(frame.is_inserted for frame in frames)
    length = leading_silence + round(pushed * 16_000 / rate_hz + 1e-9)
    assert 0 <= len(frames) * FRAME_SAMPLES - length < FRAME_SAMPLES + 1


@given(sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_no_sample_is_changed_or_lost(sizes: list[int]) -> None:
    line = MicrophoneLine(16_000)
    sound = (np.arange(sum(sizes)) % 32_000).astype(np.int16)
    frames: list[Frame] = []
    at = 0
    for size in sizes:
        frames += kept(line.push_block(sound[at : at + size], at / 16_000))
        at += size
    frames += line.finish()
    out = sound_of(frames)
    np.testing.assert_array_equal(out[: len(sound)], sound)
    assert not out[len(sound) :].any()


def test_frames_of_one_push_do_not_overwrite_each_other() -> None:
    line = MicrophoneLine(16_000)
    sound = np.arange(1, 1501).astype(np.int16)
    line.push_block(sound[:100], 0.0)
    frames = line.push_block(sound[100:], 0.1)
    np.testing.assert_array_equal(sound_of(frames), sound[: 4 * FRAME_SAMPLES])


@pytest.mark.parametrize("rate_hz", RATES, ids="{} Hz".format)
def test_samples_held_back_by_resampler_are_dated_correctly(rate_hz: int) -> None:
    line = MicrophoneLine(rate_hz)
    n = rate_hz // 50
    for k in range(1, 100):
        line.push_block(np.zeros(n, np.int16), 200.0 + k * n / rate_hz)
    leading_silence = line.inserted_silence.before(Samples(16_000))
    assert line.clock.to_loop_s(Samples(16_000 + leading_silence)) == pytest.approx(201.0, abs=0.0005)


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 32_000, 48_000, 96_000], ids="{} Hz".format)
@pytest.mark.parametrize("frames", [1, 2, 5], ids="{} frames".format)
def test_block_of_whole_frames_completes_them(rate_hz: int, frames: int) -> None:
    line = MicrophoneLine(rate_hz)
    block = np.full(frames * rate_hz // 50, 1000, np.int16)
    for begin_s in (10.0, 20.0):
        for n in range(1, 6):
            now_s = begin_s + n * frames * 0.02
            came = line.push_block(block, now_s)
            assert len(came) == frames
            assert begin_s > 10 or line.clock.to_loop_s(came[-1].end) == pytest.approx(now_s, abs=0.004)
        tick(line, now_s, 20.0)


def test_silence_before_sound_is_short_and_counted_separately() -> None:
    line = MicrophoneLine(24_000)
    (frame,) = line.push_block(np.full(480, 1000, np.int16), 10.02)
    held_back = line.received - (FRAME_SAMPLES - line.inserted_silence.before(frame.end))
    assert line.inserted_silence.before(frame.end) == held_back < 0.002 * 16_000
    assert not frame.pcm[:held_back].any()
    assert (frame.pcm[held_back + 20 :] > 900).all()
    assert line.received == FRAME_SAMPLES


@pytest.mark.parametrize(
    ("rate_hz", "block_ms"),
    [(24_000, 20), (24_000, 100), (8_000, 20), (16_000, 20), (24_000, 3)],
    ids=["24 kHz, 20 ms", "24 kHz, 100 ms", "8 kHz, 20 ms", "16 kHz, 20 ms", "24 kHz, 3 ms"],
)
def test_repeated_settle_does_not_lengthen_line(rate_hz: int, block_ms: int) -> None:
    line = MicrophoneLine(rate_hz)
    block = np.full(rate_hz * block_ms // 1000, 1000, np.int16)
    per_second = 1000 // block_ms
    cut = 0
    for k in range(10 * per_second):
        now_s = 100 + (k + 1) * block_ms / 1000
        came = len(line.push_block(block, now_s))
        if block_ms % 20 == 0:
            assert came == block_ms // 20
        cut += came
        if (k + 1) % per_second == 0:
            cut += (settled := len(line.settle()))
            assert settled == 0 or block_ms % 20
            assert line.clock.to_loop_s(Samples(cut * FRAME_SAMPLES)) == pytest.approx(now_s, abs=0.02)
    assert line.clock.steps == 0
    if block_ms % 20 == 0:
        assert line.inserted_silence.before(Samples(cut * FRAME_SAMPLES)) == line.leading_silence
    cut += len(line.finish())
    assert line.received == 10 * per_second * block_ms * 16


def test_settled_remainder_comes_with_next_sound_or_silence() -> None:
    ramp = np.arange(1, 961, dtype=np.int16) * 20
    whole = MicrophoneLine(24_000)
    at_once = sound_of(kept(whole.push_block(ramp, 10.04)) + kept(whole.finish()))
    rest = at_once[2 * FRAME_SAMPLES :][: whole.leading_silence]
    assert rest.all()
    for nothing_more in (True, False):
        line = MicrophoneLine(24_000)
        frames = kept(line.push_block(ramp, 10.04))
        assert line.settle() == []
        frames += tick(line, 10.06, 10.3) if nothing_more else line.push_block(ramp[:480], 10.06)
        np.testing.assert_array_equal(sound_of(frames)[: 2 * FRAME_SAMPLES + len(rest)], at_once[: -320 + len(rest)])
        assert [frame.is_inserted for frame in frames[:4]] == [False, False, False, True][: len(frames)]
        assert line.inserted_silence.before(frames[2].end) == (FRAME_SAMPLES if nothing_more else len(rest))


def test_batched_frames_do_not_overwrite_each_other_at_end() -> None:
    sound = noise(9, 450 + 480, 3)
    heard = []
    for batches_silence in (True, False):
        line = MicrophoneLine(24_000)
        frames = kept(line.push_block(sound[:450], 1.0)) + kept(
            line.push_block(sound[450:], 1.02, batches_silence=batches_silence)
        )
        assert len(frames) == (0 if batches_silence else 1)
        heard.append(sound_of(frames + line.finish()))
    np.testing.assert_array_equal(heard[0], heard[1])


def tick(line: MicrophoneLine, from_s: float, to_s: float) -> list[Frame]:
    """Calls `idle` every 20 ms, as a source does."""
    frames: list[Frame] = []
    for n in range(round((to_s - from_s) / 0.02)):
        frames += kept(line.idle(from_s + n * 0.02))
    return frames


def test_silence_is_inserted_after_100_ms_in_real_time() -> None:
    line = MicrophoneLine(16_000)
    frames: list[Frame] = []
    for n in range(1, 51):  # one second
        frames += kept(line.push_block(np.full(320, 7, np.int16), 10.0 + n * 0.02))
        assert not line.idle(10.0 + n * 0.02 + 0.019)
    assert not line.idle(11.09)
    first = kept(line.idle(11.101))
    assert [frame.is_inserted for frame in first] == [True] * 4  # up to 11.08: one frame behind
    frames += first + tick(line, 11.12, 13.0)
    check_gapless(frames)
    assert len(frames) == pytest.approx((12.98 - 10.02) / 0.02, abs=1)
    assert sum(frame.is_inserted for frame in frames) == len(frames) - 50
    assert not any(frame.pcm.any() for frame in frames[50:])


def test_returning_audio_keeps_its_position() -> None:
    line = MicrophoneLine(16_000)
    frames: list[Frame] = []
    now_s = 10.0
    for _ in range(5):  # repeated push to talk
        for _ in range(25):
            now_s += 0.02
            frames += kept(line.push_block(np.full(320, 7, np.int16), now_s))
        frames += tick(line, now_s + 0.02, now_s + 10.0)
        now_s += 10.0
    check_gapless(frames)
    assert line.clock.steps == 0
    assert line.clock.offset_s == pytest.approx(10.0, abs=0.001)
    assert frames[-1].end / 16_000 == pytest.approx(now_s - 10.0, abs=0.05)


def test_microphone_without_any_audio_gives_silence() -> None:
    line = MicrophoneLine(48_000)
    frames = tick(line, 100.0, 130.0)
    check_gapless(frames)
    assert len(frames) == pytest.approx(30 / 0.02, abs=3)
    assert all(frame.is_inserted for frame in frames)
    assert line.clock.to_loop_s(Samples(0)) == pytest.approx(100.0)
    back = kept(line.push_block(np.full(960 * 5, 500, np.int16), 130.1))
    check_gapless(back, frames[-1].end)
    assert line.clock.to_loop_s(frames[-1].end) == pytest.approx(129.96, abs=0.021)  # the last idle was at 129.98


def test_backlog_after_silence_is_dated_by_arrival() -> None:
    line = MicrophoneLine(16_000)
    frames = kept(line.push_block(np.full(320, 7, np.int16), 10.02))
    frames += tick(line, 10.04, 13.02)  # the network fails for three seconds ...
    frames += kept(line.push_block(np.full(48_000, 9, np.int16), 13.02))  # ... and delivers them all at once
    check_gapless(frames)
    assert line.clock.to_loop_s(frames[-1].end) == pytest.approx(13.02, abs=0.021)
    assert line.clock.steps == 1


def test_held_back_audio_precedes_inserted_silence() -> None:
    line = MicrophoneLine(48_000)
    frames = kept(line.push_block(np.full(48_000 // 50 * 3 + 100, 1000, np.int16), 10.06))
    frames += tick(line, 10.08, 10.5)
    check_gapless(frames)
    leading_silence = line.inserted_silence.before(Samples(FRAME_SAMPLES))
    out = sound_of(frames)[leading_silence:]
    assert (out[100 : (2880 + 100) // 3 - 100] > 900).all()
    with_sound = -(-(leading_silence + (2880 + 100) // 3) // FRAME_SAMPLES)
    assert [frame.is_inserted for frame in frames[: with_sound + 1]] == [False] * with_sound + [True]


def test_no_silence_is_inserted_between_long_blocks() -> None:
    line = MicrophoneLine(24_000)
    frames: list[Frame] = []
    for n in range(1, 20):  # a client that sends 170 ms at a time
        frames += kept(line.push_block(np.full(4_096, 7, np.int16), 10.0 + n * 4_096 / 24_000))
        frames += tick(line, 10.0 + n * 4_096 / 24_000 + 0.02, 10.0 + (n + 1) * 4_096 / 24_000)
    assert not any(frame.is_inserted for frame in frames)
    check_gapless(frames)


def test_one_idle_call_gives_at_most_one_second() -> None:
    line = MicrophoneLine(16_000)
    line.push_block(np.zeros(320, np.int16), 10.02)
    frames: list[Frame] = []
    for _ in range(10):
        more = line.idle(20.0)
        assert len(more) <= 50
        frames += kept(more)
    check_gapless(frames, 320)
    assert len(frames) == pytest.approx(10.0 / 0.02, abs=3)


@pytest.mark.parametrize("silent", [False, True], ids=["sound", "silence"])
def test_memory_does_not_grow(silent: bool) -> None:
    line = MicrophoneLine(48_000)
    block = np.zeros(960, np.int16)

    def some(first: int, count: int) -> None:
        for n in range(first, first + count):
            frames = line.idle(n * 0.02) if silent else line.push_block(block, n * 0.02)
            assert len(frames) <= 6

    tracemalloc.start()
    try:
        some(0, 500)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        some(500, 1500)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 700, "under half a byte a frame"
    assert peak - before < 65_536


@given(
    rate_hz=st.sampled_from(RATES),
    events=st.lists(
        st.tuples(st.floats(0, 0.4), st.integers(0, 4000), st.sampled_from(["push", "idle", "settle", "finish"]))
    ),
)
def test_frames_are_gapless_and_samples_add_up(rate_hz: int, events: list[tuple[float, int, str]]) -> None:
    line = MicrophoneLine(rate_hz)
    now_s, cut, came = 100.0, 0, 0
    every: list[Frame] = []
    for wait_s, size, what in events:
        now_s += wait_s
        if what == "push":
            frames = line.push_block(np.zeros(size, np.int16), now_s)
            came += size
        else:
            frames = line.idle(now_s) if what == "idle" else line.settle() if what == "settle" else line.finish()
        every += frames
        cut += sum(len(frame.pcm) for frame in frames)
        assert abs(line.received - came * 16_000 / rate_hz) <= 1 + len(events)  # half a sample for each flush
        assert line.inserted_silence.before(Samples(cut)) <= cut
    every += line.finish()
    check_gapless(every)
    cut = len(every) * FRAME_SAMPLES
    assert line.received + line.inserted_silence.before(Samples(cut)) == cut


def test_every_sample_keeps_its_position() -> None:
    line = MicrophoneLine(16_000)
    frames = []
    sent, now_s = 0, 10.0
    for size, silent_s in ((320, 0.0), (1000, 0.5), (333, 0.3), (320, 0.0), (7, 2.0), (999, 0.2)):
        now_s += size / 16_000
        frames += kept(line.push_block(np.arange(sent + 1, sent + size + 1, dtype=np.int16), now_s))
        sent += size
        frames += tick(line, now_s, now_s + silent_s)
        now_s += silent_s
    frames += kept(line.finish())
    sound = sound_of(frames)
    for position in np.flatnonzero(sound):
        assert sound[position] == position + 1 - line.inserted_silence.before(Samples(int(position)))
    assert line.received == sent == np.count_nonzero(sound)


def test_no_silence_is_inserted_before_silent_from() -> None:
    line = MicrophoneLine(16_000)
    line.idle(5.0)
    assert line.silent_from_s == pytest.approx(5.1)
    line.push_block(np.ones(16_000 // 5, np.int16), 5.2)  # after a long block the wait is twice its length
    assert line.silent_from_s == pytest.approx(5.6)
    assert line.idle(line.silent_from_s - 0.001) == []
    assert line.idle(line.silent_from_s + 0.001) != []


# ---- batching ----


def noise(spread: int, samples: int, seed: int = 0) -> npt.NDArray[np.int16]:
    return np.random.default_rng(seed).integers(-spread // 2, spread // 2 + 1, samples).astype(np.int16)


def in_blocks(
    line: MicrophoneLine, sound: npt.NDArray[np.int16], at_s: float, batches_silence: bool = True
) -> list[int]:
    """Returns how many frames each block of 20 ms at 24 kHz completes."""
    blocks = sound.reshape(-1, 480)
    return [
        len(line.push_block(block, at_s + (n + 1) * 0.02, batches_silence=batches_silence))
        for n, block in enumerate(blocks)
    ]


def test_silence_is_batched_by_eight_frames() -> None:
    line = MicrophoneLine(24_000)
    at_once = in_blocks(line, noise(200, 480 * 100), 0.0, batches_silence=False)
    assert set(at_once) <= {0, 1, 2}
    learning = in_blocks(line, noise(200, 480 * 100, 1), 2.0)
    assert learning[:10] == [1] * 10  # the room level has to be learned first
    together = in_blocks(line, noise(200, 480 * 80, 2), 4.0)
    assert sorted(set(together)) == [0, 8]
    assert together.count(8) == 10


def test_loud_audio_is_delivered_at_once_with_batched_frames() -> None:
    line = MicrophoneLine(24_000)
    in_blocks(line, noise(200, 480 * 100), 0.0)
    in_blocks(line, noise(200, 480), 2.0, batches_silence=False)
    assert in_blocks(line, noise(200, 480 * 3), 2.02) == [0, 0, 0]
    soft = line.push_block(noise(500, 480), 2.1, batches_silence=True)  # 8 dB
    assert len(soft) == 4
    assert line.received + line.inserted_silence.before(soft[0].start) == line.clock.to_position(2.1)
    assert in_blocks(line, noise(200, 480), 2.1) == [0]
    assert in_blocks(line, noise(200, 480), 2.12, batches_silence=False) == [2]


def test_louder_room_is_learned() -> None:
    line = MicrophoneLine(24_000)
    in_blocks(line, noise(200, 480 * 200), 0.0)
    in_blocks(line, noise(1000, 480), 4.0, batches_silence=False)
    louder = in_blocks(line, noise(1000, 480 * 200, 1), 4.02)
    first = louder.index(8)
    assert 15 < first < 50
    assert set(louder[1:10]) == {1}
    assert sorted(set(louder[first:])) == [0, 8]


def test_digital_silence_is_batched_from_the_start() -> None:
    line = MicrophoneLine(24_000)
    assert in_blocks(line, np.zeros(480 * 16, np.int16), 0.0) == ([0] * 7 + [8]) * 2
    assert len(line.push_block(np.zeros(480, np.int16), 0.34, batches_silence=True)) == 0


def test_batched_silence_is_delivered_when_audio_stops() -> None:
    line = MicrophoneLine(16_000)
    sound = noise(20, 320 * 4)
    for n, block in enumerate(sound.reshape(-1, 320)):
        assert line.push_block(block, 10.02 + n * 0.02, batches_silence=True) == []
    frames = kept(line.idle(10.2))
    np.testing.assert_array_equal(sound_of(frames[:4]), sound)
    assert [frame.is_inserted for frame in frames] == [False] * 4 + [True] * (len(frames) - 4)
    assert line.received == len(sound)


@pytest.mark.parametrize("block", [160, 480, 960], ids="{} samples".format)
def test_learning_of_louder_room_does_not_depend_on_block_size(block: int) -> None:
    batcher = FrameBatcher()
    sound = np.concatenate([noise(200, 24_000), noise(1000, 48_000, 1)])
    waits = [
        batcher.max_wait_s(sound[at : at + block], block / 24_000) > 0 for at in range(0, len(sound) - block, block)
    ]
    first_s = waits[24_000 // block :].index(True) * block / 24_000
    assert 0.3 < first_s < 1.2


def test_audio_batched_in_silence_is_delivered_when_speech_starts() -> None:
    line = MicrophoneLine(24_000)
    assert sum(in_blocks(line, np.zeros(480 * 6, np.int16), 0.0)) == 0
    assert in_blocks(line, noise(8000, 480), 0.12, batches_silence=False) == [7]


@given(
    rate_hz=st.sampled_from(RATES),
    blocks=st.lists(
        st.tuples(st.integers(1, 1500), st.sampled_from([0, 10, 200, 240, 2000]), st.booleans()),
        max_size=60,
    ),
    ends=st.sampled_from(["finish", "settle", "retune", "idle"]),
)
def test_batching_changes_only_delivery_times(rate_hz: int, blocks: list[tuple[int, int, bool]], ends: str) -> None:
    batched, plain = MicrophoneLine(rate_hz), MicrophoneLine(rate_hz)
    late: list[Frame] = []
    prompt: list[Frame] = []
    pushed = 0
    for seed, (size, spread, batches_silence) in enumerate(blocks):
        block = noise(spread, size, seed)
        pushed += size
        late += kept(batched.push_block(block, pushed / rate_hz, batches_silence=batches_silence))
        prompt += kept(plain.push_block(block, pushed / rate_hz))
        assert batched.received == plain.received
        assert batched.clock.offset_s == plain.clock.offset_s
        behind = (len(prompt) - len(late)) * FRAME_SAMPLES
        longest_s = MAX_BATCH_S if batches_silence else 0.0
        assert 0 <= behind < longest_s * 16_000 + FRAME_SAMPLES
    for line, frames in ((batched, late), (plain, prompt)):
        match ends:
            case "finish":
                frames.extend(kept(line.finish()))
            case "settle":
                frames.extend(kept(line.settle()))
            case "retune":
                frames.extend(kept(line.retune(12_000)))
            case "idle":
                frames.extend(kept(line.idle(pushed / rate_hz + 0.9)))  # one call returns at most 1 s
    assert [(frame.start, frame.is_inserted) for frame in late] == [
        (frame.start, frame.is_inserted) for frame in prompt
    ]
    for one, other in zip(late, prompt, strict=True):
        np.testing.assert_array_equal(one.pcm, other.pcm)


def test_silence_in_one_piece_replaces_its_frames() -> None:
    pieces, frames = MicrophoneLine(24_000), MicrophoneLine(24_000)
    for line in (pieces, frames):
        line.push_block(np.full(480, 8000, np.int16), 0.02)
        assert line.pass_silence(0.06) is None  # a block may be late
        line.idle(1.0)
    for now_s in np.arange(1.0, 60.0, 0.5):
        while frames.idle(now_s):
            pass
        pieces.pass_silence(now_s)
    assert pieces.pass_silence(59.5) is None  # nothing more is due
    after = [line.push_block(np.full(480, 8000, np.int16), 59.6)[0] for line in (pieces, frames)]
    assert after[0].start == after[1].start == pytest.approx(59.5 * 16_000, abs=2 * FRAME_SAMPLES)
    assert pieces.inserted_silence.before(after[0].end) == frames.inserted_silence.before(after[1].end)


def test_line_that_rests_batches_loud_blocks() -> None:
    line = MicrophoneLine(16_000)
    rng = np.random.default_rng(1)
    frames = [
        len(line.push_block(rng.integers(-9000, 9000, 320).astype(np.int16), n * 0.02, rests=True)) for n in range(16)
    ]
    assert frames == [0] * 7 + [8] + [0] * 7 + [8]
