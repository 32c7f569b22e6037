"""Pitch, level and spectrum per hop."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.end_of_turn.prosody import HISTORY_HOPS, UNVOICED, ProsodyTrack
from audio.end_of_turn.prosody_features import prosody_at
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples
from audio.vad import VadResult


def track_of(pcm: Pcm, *, speaking: bool = True) -> ProsodyTrack:
    track = ProsodyTrack()
    for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        voicing = VadResult(speaking, Samples(0), 1.0 if speaking else 0.0)
        track.push_frame(Frame(Samples(start), pcm[start : start + FRAME_SAMPLES]), voicing)
    return track


def voice(pitch_hz: npt.NDArray[np.float64], level: float = 3000) -> Pcm:
    """A voice-like sound: ten harmonics, falling."""
    phase = 2 * np.pi * np.cumsum(pitch_hz) / MIC_RATE_HZ
    sound = sum(np.sin(number * phase) / number for number in range(1, 11))
    return np.asarray(level * sound, dtype=np.int16)


@pytest.mark.parametrize("pitch_hz", [75.0, 110.0, 180.0, 240.0, 350.0], ids="{} Hz".format)
def test_pitch_of_steady_voice(pitch_hz: float) -> None:
    track = track_of(voice(np.full(MIC_RATE_HZ, pitch_hz)))
    steady = track.pitch[-80:]
    assert np.abs(12 * (steady - np.log2(pitch_hz))).max() < 0.3  # semitones
    assert track.clarity[-80:].min() > 0.9
    assert abs(12 * (track.usual_pitch - np.log2(pitch_hz))) < 0.5


def test_rising_pitch_is_followed() -> None:
    track = track_of(voice(np.linspace(100, 200, MIC_RATE_HZ)))
    found = 2 ** track.pitch[-80:]
    assert np.all(np.diff(found) > 0)
    assert found[-1] == pytest.approx(200, abs=6)


def test_noise_and_silence_are_unvoiced() -> None:
    hiss = np.random.default_rng(1).normal(0, 1000, MIC_RATE_HZ).astype(np.int16)
    assert (track_of(hiss).pitch[-80:] != UNVOICED).mean() < 0.1
    silent = track_of(np.zeros(MIC_RATE_HZ, dtype=np.int16))
    assert (silent.pitch == UNVOICED).all()
    assert silent.usual_pitch == UNVOICED


def test_usual_pitch_ignores_voice_outside_speech() -> None:
    assert track_of(voice(np.full(MIC_RATE_HZ, 150.0)), speaking=False).usual_pitch == UNVOICED


def test_level_is_in_dbfs() -> None:
    tone = (0.5 * 32767 * np.sin(2 * np.pi * 1000 * np.arange(MIC_RATE_HZ) / MIC_RATE_HZ)).astype(np.int16)
    assert track_of(tone).level_db[-1] == pytest.approx(-9.03, abs=0.5)


def test_tilt_separates_hiss_from_hum() -> None:
    hiss = np.diff(np.random.default_rng(1).normal(0, 1000, MIC_RATE_HZ + 1)).astype(np.int16)
    assert track_of(hiss).tilt_db[-1] < 0 < track_of(voice(np.full(MIC_RATE_HZ, 150.0))).tilt_db[-1]


def test_memory_is_bounded_and_cleared_by_reset() -> None:
    track = track_of(voice(np.full(10 * MIC_RATE_HZ, 150.0)))
    assert track.hops == HISTORY_HOPS == len(track.pitch)
    assert track.end == 10 * MIC_RATE_HZ
    track.reset()
    assert track.usual_pitch == UNVOICED
    assert (track.end, track.hops) == (0, 0)
    assert not track.pitch.any()


@given(st.lists(st.sampled_from([0, 1, -1, 32767, -32768]), min_size=1, max_size=8), st.floats(0, 1))
def test_any_audio_gives_finite_values(pattern: list[int], probability: float) -> None:
    track = ProsodyTrack()
    pcm = np.resize(np.array(pattern, dtype=np.int16), FRAME_SAMPLES)
    for number in range(4):
        track.push_frame(Frame(Samples(number * FRAME_SAMPLES), pcm), VadResult(True, Samples(0), probability))
    rows = (track.pitch, track.clarity, track.level_db, track.tilt_db, track.change_db)
    assert all(np.isfinite(row).all() for row in rows)
    assert np.all((track.clarity >= 0) & (track.clarity <= 1))


@given(st.lists(st.integers(0, 60), max_size=40))
def test_result_does_not_depend_on_read_times(reads: list[int]) -> None:
    """Frames are computed several at once; the grouping does not change the result."""
    pcm = voice(np.linspace(100, 200, 60 * FRAME_SAMPLES))
    often, once = ProsodyTrack(), ProsodyTrack()
    for number, start in enumerate(range(0, len(pcm), FRAME_SAMPLES)):
        voicing = VadResult(number % 3 > 0, Samples(0), number / 60)
        for track in (often, once):
            track.push_frame(Frame(Samples(start), pcm[start : start + FRAME_SAMPLES]), voicing)
        if number in reads:
            assert often.probability[-1] == np.float32(number / 60)
    for name in ("pitch", "clarity", "level_db", "tilt_db", "change_db", "probability"):
        np.testing.assert_array_equal(getattr(often, name), getattr(once, name))
    assert often.usual_pitch == once.usual_pitch


@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(5, 40)), min_size=1, max_size=3),
    st.integers(0, 5),
    st.integers(0, 2**32 - 1),
)
def test_resting_does_not_change_features_of_a_turn(parts: list[tuple[int, int]], dated_back: int, seed: int) -> None:
    """Frames alternate between silence and speech; features are read at the end of each speech."""
    resting, plain = ProsodyTrack(), ProsodyTrack()
    resting.resting = True
    frames = sum(silence + speech for silence, speech in parts) + 5 * len(parts)
    noise = np.random.default_rng(seed).normal(0, 300, frames * FRAME_SAMPLES).astype(np.int16)
    pcm = voice(np.linspace(100, 200, frames * FRAME_SAMPLES)) // 4 + noise
    at, onset = 0, Samples(0)

    def hear(count: int, *, speaking: bool) -> None:
        nonlocal at
        for _ in range(count):
            frame = Frame(Samples(at), pcm[at : at + FRAME_SAMPLES])
            for track in (resting, plain):
                track.push_frame(frame, VadResult(speaking, onset, float(speaking)))
            at += FRAME_SAMPLES

    for silence, speech in parts:
        hear(silence, speaking=False)
        onset = Samples(max(at - dated_back * FRAME_SAMPLES, 0))
        hear(1, speaking=True)
        resting.resting = False
        hear(speech - 1, speaking=True)
        edge = Samples(at)
        hear(5, speaking=False)
        assert prosody_at(resting, onset, edge) == prosody_at(plain, onset, edge)
        resting.resting = True


def test_no_pitch_is_computed_in_silence() -> None:
    track = ProsodyTrack()
    track.resting = True
    pcm = voice(np.full(2 * MIC_RATE_HZ, 150.0))
    for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        track.push_frame(Frame(Samples(start), pcm[start : start + FRAME_SAMPLES]), VadResult(False, Samples(0), 0.0))
    assert not track.pitch.any()
    assert not track.clarity.any()
    assert track.level_db[-1] > -40
    track.resting = False
    track.push_frame(Frame(Samples(len(pcm)), pcm[:FRAME_SAMPLES]), VadResult(False, Samples(0), 0.0))
    assert (track.pitch[-80:] != UNVOICED).mean() > 0.9
    assert (track.pitch[:-90] == UNVOICED).all()


def test_long_digital_silence_equals_a_short_one() -> None:
    speech = voice(np.full(MIC_RATE_HZ, 110.0))
    short, long = (track_of(np.concatenate([speech, np.zeros(seconds * MIC_RATE_HZ, np.int16)])) for seconds in (2, 6))
    for track in (short, long):
        assert np.ptp(track.level_db[-50:]) == np.ptp(track.tilt_db[-50:]) == np.ptp(track.change_db[-50:]) == 0
    assert short.level_db[-1] == long.level_db[-1]
    assert short.tilt_db[-1] == long.tilt_db[-1]
