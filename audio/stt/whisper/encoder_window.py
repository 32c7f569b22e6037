"""How much of the encoder's 30 s window a decode uses, and where a longer segment is cut. Pure."""

from typing import Literal

import numpy as np

from audio.units import MIC_RATE_HZ, Pcm, Samples, samples_of_s

EncoderWindow = Literal["full", "adaptive", "dynamic"]
"""Always all of it; as much as there is sound, but no less than a released model bears; as much as there is sound."""

WINDOW_S = 30.0
"""What Whisper was trained on; the encoder takes no more."""

MARGIN_S = 2.0
"""Silence that is kept after the sound ..."""

FLOOR_S = 10.0
"""... and the adaptive window's least length: shorter ones cost words (CTranslate2 #2100: 1 to 3.5 s do), while 10 s
and 2 s cost none on a set of 26 clips (transcribe.cpp #149). A model tuned for it (ACFT) does without: with 1.3 s of
silence tiny.en had a WER of 19 in place of 18 (futo-org/whisper-acft #5), with 2.6 s large-v3-turbo 15.6 in place of
15.4, and 62.9 before it was tuned (the card of MahmoudAshraf/acft-whisper-large-v3-turbo)."""

SETTLE_S = 25.0
"""Unsettled sound from which the older part is decoded once and for all: 5 s are left for that to happen in."""

_CUT_FROM_S = 12.0
_QUIET_SAMPLES = MIC_RATE_HZ // 5
_STEP_SAMPLES = MIC_RATE_HZ // 50

_FRAMES_PER_S = 100


def encoder_frames(samples: int, window: EncoderWindow) -> int:
    """Log-mel frames (10 ms each; even, for the encoder halves them) to encode for so much sound, 3000 at most."""
    if window == "full":
        return round(WINDOW_S * _FRAMES_PER_S)
    least_s = FLOOR_S if window == "adaptive" else 0.0
    seconds = min(WINDOW_S, max(least_s, samples / MIC_RATE_HZ + MARGIN_S))
    return 2 * round(seconds * _FRAMES_PER_S / 2)


def cut_at(pcm: Pcm) -> Samples:
    """Where to cut sound of 20 s or more so that a word is least likely to be hit.

    The middle of the quietest 200 ms between 12 s and 24 s from the beginning.
    """
    first, last = samples_of_s(_CUT_FROM_S), samples_of_s(SETTLE_S - 1)
    steps = pcm[first:last].astype(np.float64)
    steps = steps[: len(steps) // _STEP_SAMPLES * _STEP_SAMPLES].reshape(-1, _STEP_SAMPLES)
    energy = np.convolve(np.mean(steps**2, axis=1), np.ones(_QUIET_SAMPLES // _STEP_SAMPLES), mode="valid")
    return Samples(first + int(np.argmin(energy)) * _STEP_SAMPLES + _QUIET_SAMPLES // 2)
