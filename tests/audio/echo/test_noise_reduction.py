"""Noise reduction for a client's microphone."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from audio.errors import AudioError
from audio.noise_reduction import MicrophoneKind, NoiseReduction
from audio.units import FRAME_SAMPLES, Pcm
from bench.conversations.recordings import read_pcm

RECORDINGS = Path(__file__).parents[2] / "recordings"

needs_livekit = pytest.mark.skipif(importlib.util.find_spec("livekit") is None, reason="the extra desktop")
DELAY_SAMPLES = 96


def cleaned(kind: MicrophoneKind, pcm: Pcm) -> Pcm:
    reduction = NoiseReduction(kind)
    frames = [reduction.clean(pcm[at : at + FRAME_SAMPLES]) for at in range(0, len(pcm), FRAME_SAMPLES)]
    return np.concatenate(frames)


def speech() -> Pcm:
    pcm = read_pcm(RECORDINGS / "pocketsphinx_goforward.wav")
    return pcm[: len(pcm) // FRAME_SAMPLES * FRAME_SAMPLES]


def level_db(pcm: Pcm) -> float:
    return float(10 * np.log10(np.mean(pcm.astype(np.float64) ** 2) + 1e-9))


@needs_livekit
@pytest.mark.parametrize("kind", ["near_field", "far_field"])
def test_speech_stays_and_comes_six_milliseconds_later(kind: MicrophoneKind) -> None:
    pcm = speech()
    found = cleaned(kind, pcm)
    assert len(found) == len(pcm)
    before, after = pcm[: -2 * DELAY_SAMPLES].astype(float), found.astype(float)
    products = [np.dot(before, after[delay : delay + len(before)]) for delay in range(2 * DELAY_SAMPLES)]
    assert int(np.argmax(products)) == pytest.approx(DELAY_SAMPLES, abs=4)


@needs_livekit
def test_steady_noise_is_lowered() -> None:
    noise = np.random.default_rng(1).normal(0, 500, 16_000 * 4).astype(np.int16)
    assert level_db(cleaned("near_field", noise)[32_000:]) < level_db(noise) - 8


@needs_livekit
def test_far_voice_becomes_louder() -> None:
    quiet = (speech() // 16).astype(np.int16)
    assert level_db(cleaned("far_field", quiet)) > level_db(cleaned("near_field", quiet)) + 6


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "livekit.rtc", None)
    with pytest.raises(AudioError, match=r"needs the package livekit .*\[desktop\]"):
        NoiseReduction("near_field")
