"""Prosodic features of the end of speech."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.end_of_turn.prosody import ProsodyTrack
from audio.end_of_turn.prosody_features import Prosody, prosody_at
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, samples_of_ms
from audio.vad import VadResult


def sound(*, hz_from: float, hz_to: float, speech_ms: int = 1500, fades: bool = False) -> Pcm:
    """Syllables of 200 ms with dips between them, pitch on a line; the last one may fade away."""
    count = samples_of_ms(speech_ms)
    phase = 2 * np.pi * np.cumsum(np.linspace(hz_from, hz_to, count)) / MIC_RATE_HZ
    tone = sum(np.sin(number * phase) / number for number in range(1, 11))
    beat = 0.55 + 0.45 * np.cos(2 * np.pi * 5 * np.arange(count) / MIC_RATE_HZ + np.pi)
    if fades:
        beat[-samples_of_ms(200) :] *= np.geomspace(1, 0.01, samples_of_ms(200))
    return np.asarray(4000 * tone * beat, dtype=np.int16)


def after(pcm: Pcm, silence_ms: int = 200, *, noise: float = 3.0) -> Prosody:
    """Returns the features `silence_ms` after the last sample."""
    rest = np.zeros(samples_of_ms(silence_ms), dtype=np.int16)
    room = np.random.default_rng(2).normal(0, noise, len(pcm) + len(rest))
    whole = (np.concatenate([pcm, rest]) + room).astype(np.int16)
    track = ProsodyTrack()
    for start in range(0, len(whole) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        speaking = start < len(pcm)
        voicing = VadResult(speaking, Samples(0), 1.0 if speaking else 0.0)
        track.push_frame(Frame(Samples(start), whole[start : start + FRAME_SAMPLES]), voicing)
    return prosody_at(track, Samples(0), Samples(len(pcm)))


def test_falling_and_rising_ends_differ() -> None:
    falling, rising = after(sound(hz_from=200, hz_to=120)), after(sound(hz_from=120, hz_to=200))
    assert falling.pitch_end_st < -2 < 2 < rising.pitch_end_st
    assert falling.pitch_slope_st < 0 < rising.pitch_slope_st
    assert falling.pitch_rank < 0.2 < 0.8 < rising.pitch_rank


def test_fading_and_cut_ends_differ() -> None:
    fading, cut = after(sound(hz_from=150, hz_to=150, fades=True)), after(sound(hz_from=150, hz_to=150))
    assert fading.level_end_db < cut.level_end_db - 5
    assert fading.level_fall_db > cut.level_fall_db


def test_syllables_per_second_are_counted() -> None:
    assert after(sound(hz_from=150, hz_to=150, speech_ms=2000)).rate_hz == pytest.approx(5, abs=1)


def test_features_describe_the_current_silence() -> None:
    short, long = after(sound(hz_from=150, hz_to=150), 100), after(sound(hz_from=150, hz_to=150), 400)
    assert short.breath_db <= long.breath_db
    assert long.vad_silence == 0.0
    assert long.vad_end == 1.0


def test_gain_and_leading_silence_do_not_change_features() -> None:
    pcm = sound(hz_from=180, hz_to=140)
    loud, soft = after(pcm, noise=0.0), after((pcm / 4).astype(np.int16), noise=0.0)
    for name in ("pitch_end_st", "pitch_rank", "level_end_db", "peak_db", "rate_hz", "change_end_db"):
        assert getattr(loud, name) == pytest.approx(getattr(soft, name), abs=0.6), name


def test_unvoiced_short_turn_has_neutral_pitch_rank() -> None:
    track = ProsodyTrack()
    whole = np.concatenate([sound(hz_from=150, hz_to=150), np.zeros(samples_of_ms(440), dtype=np.int16)])
    whole += np.random.default_rng(5).normal(0, 300, len(whole)).astype(np.int16)
    for start in range(0, len(whole) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        track.push_frame(Frame(Samples(start), whole[start : start + FRAME_SAMPLES]), VadResult(True, Samples(0), 0.9))
    edge = Samples(len(whole) - samples_of_ms(100))
    found = prosody_at(track, Samples(edge - samples_of_ms(250)), edge)
    assert (found.pitch_known, found.pitch_rank) == (1.0, 0.5)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 12)), min_size=1, max_size=8),
    st.integers(0, 3000),
    st.integers(0, 3000),
)
def test_any_history_gives_finite_values(runs: list[tuple[bool, int]], onset_ms: int, edge_ms: int) -> None:
    track = ProsodyTrack()
    tone = np.asarray(2000 * np.sin(2 * np.pi * 150 * np.arange(FRAME_SAMPLES) / MIC_RATE_HZ), dtype=np.int16)
    frames = itertools.chain.from_iterable([speaking] * count for speaking, count in runs)
    for number, speaking in enumerate(frames):
        pcm = tone if speaking else np.zeros(FRAME_SAMPLES, dtype=np.int16)
        voicing = VadResult(speaking, Samples(0), float(speaking))
        track.push_frame(Frame(Samples(number * FRAME_SAMPLES), pcm), voicing)
    found = prosody_at(track, samples_of_ms(onset_ms), samples_of_ms(edge_ms))
    assert np.isfinite(list(found.named().values())).all()
