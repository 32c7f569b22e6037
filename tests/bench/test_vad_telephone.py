"""The reference of loud voice, the simulated lines, and what the detector hears over them."""

from pathlib import Path

import numpy as np
import pytest

from audio.units import MIC_RATE_HZ, Pcm
from audio.vad.silero.detector import SileroStream, SileroVad
from audio.vad.silero.network import SileroNetwork
from audio.vad.silero.telephone_line import TelephoneLine
from bench.conversations.recordings import read_pcm
from bench.sound.loud_voice import kept, loud_voiced
from bench.sound.telephone_line import LINES
from bench.sound.vad_telephone import LONG_GAP_MS, labelled, measured

RECORDINGS = Path(__file__).parents[1] / "recordings"
MANIFEST = RECORDINGS / "manifest.jsonl"


def wave(seconds: float, hz: float, amplitude: float) -> Pcm:
    """A harmonic tone."""
    at_s = np.arange(round(seconds * MIC_RATE_HZ)) / MIC_RATE_HZ
    parts = [np.sin(2 * np.pi * k * hz * at_s) / k for k in range(1, 6)]
    pcm: Pcm = (amplitude * np.sum(parts, axis=0)).astype(np.int16)
    return pcm


def quiet(seconds: float) -> Pcm:
    return np.random.default_rng(1).normal(0, 8, round(seconds * MIC_RATE_HZ)).astype(np.int16)


def test_loud_voiced_finds_pitched_sound_and_not_noise() -> None:
    noise = np.random.default_rng(2).normal(0, 2_000, MIC_RATE_HZ // 2).astype(np.int16)
    loud = loud_voiced(np.concatenate([quiet(0.5), wave(0.4, 120, 6_000), quiet(0.5), noise, quiet(0.5)]))
    assert len(loud) == 240
    assert loud[52:88].all()
    assert not loud[:48].any()
    assert not loud[94:].any()


def test_silence_has_no_loud_voice() -> None:
    assert not loud_voiced(quiet(1)).any()


def test_kept_removes_short_stretches() -> None:
    hops = np.array([True, False, True, True, True, False, True, True])
    assert kept(hops, 3).tolist() == [False, False, True, True, True, False, False, False]


@pytest.mark.parametrize("line", LINES)
def test_line_keeps_length_and_time_axis(line: str) -> None:
    pcm = read_pcm(RECORDINGS / "rhasspy3_set-timer.wav")
    heard = LINES[line](pcm)
    assert heard.shape == pcm.shape
    levels = [
        np.abs(sound[: len(pcm) // 160 * 160].astype(float)).reshape(-1, 160).mean(axis=1) for sound in (pcm, heard)
    ]
    shifts = range(-3, 4)
    match = [float(np.corrcoef(levels[0][5:-5], np.roll(levels[1], shift)[5:-5])[0, 1]) for shift in shifts]
    assert shifts[int(np.argmax(match))] == 0


@pytest.mark.parametrize("line", LINES)
def test_telephone_lines_are_recognized_and_full_band_is_not(line: str) -> None:
    for name in ("rhasspy3_set-timer.wav", "pocketsphinx_goforward.wav", "python-docs-sample_audio.wav"):
        detector = TelephoneLine()
        heard = LINES[line](read_pcm(RECORDINGS / name))
        found = []
        for start in range(0, len(heard) - 319, 320):
            detector.push_frame(heard[start : start + 320])
            found.append(detector.is_narrow)
        assert found[-1] == (not line.startswith("wide"))


def test_detector_hears_voice_over_telephone_lines_and_no_noise() -> None:
    found = labelled(MANIFEST)
    spoken = [read() for group, read in found if group == "labelled by eye"]
    noise = [read() for group, read in found if group == "noise"]
    vad = SileroVad()
    for line, most in (("landline", 0.08), ("mobile", 0.08), ("landline, -20 dB", 0.3)):
        tally = measured(vad, spoken, [LINES[line](recording.pcm) for recording in spoken])
        assert tally.loud_ms > 10 * LONG_GAP_MS
        assert tally.never == 0
        assert tally.missed_ms <= most * tally.loud_ms, line
        assert measured(vad, noise, [LINES[line](recording.pcm) for recording in noise]).starts == 0


def test_correction_raises_scores_of_a_telephone_and_leaves_full_band() -> None:
    network = SileroNetwork()
    pcm = read_pcm(RECORDINGS / "pocketsphinx_goforward.wav")

    def scores(sound: Pcm, *, correcting: bool) -> list[float]:
        stream = SileroStream(network)
        if not correcting:
            stream._line.push_frame = lambda pcm: None  # type: ignore[method-assign]
        windows = [stream.push_frame(sound[at : at + 320]) for at in range(0, len(sound) - 319, 320)]
        return [window[0] for window in windows if window is not None]

    assert scores(pcm, correcting=True) == scores(pcm, correcting=False)
    heard = LINES["landline"](pcm)
    assert np.mean(scores(heard, correcting=True)) > np.mean(scores(heard, correcting=False))
