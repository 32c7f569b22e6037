"""Computes how much of the encoder's 30 s window a decode uses, and where a longer segment is cut. Pure."""

import numpy as np

from audio.stt.whisper.section import EncoderWindow
from audio.units import MIC_RATE_HZ, Pcm, Samples, samples_of_s

WINDOW_S = 30.0
"""Length of audio that Whisper was trained on, which is the most the encoder takes."""

MARGIN_S = 2.0
"""Silence kept after the audio."""

FLOOR_S = 10.0
"""Minimum length of the adaptive window.

Windows of 1 to 3.5 s cost words (CTranslate2 #2100). A minimum of 10 s with 2 s of silence costs none on a set of 26
clips (transcribe.cpp #149). A model tuned for short windows (ACFT) needs no minimum. With 1.3 s of silence tiny.en had
a WER of 19 instead of 18 (futo-org/whisper-acft #5). With 2.6 s large-v3-turbo had 15.6 instead of 15.4, and 62.9
before tuning (model card of MahmoudAshraf/acft-whisper-large-v3-turbo).
"""

SETTLE_S = 25.0
"""Length of undecided audio from which its older part is decoded finally; 5 s of the window remain for that."""

FIRST_WORD_WINDOW_S = 2.0
"""Minimum length of the window for the first word only, which is recognized well enough in it (docs/lab/turn-taking.md,
"Overlaps")."""

_CUT_FROM_S = 12.0
_QUIET_SAMPLES = MIC_RATE_HZ // 5
_STEP_SAMPLES = MIC_RATE_HZ // 50

_FRAMES_PER_S = 100


def encoder_frames(samples: int, window: EncoderWindow) -> int:
    """Returns how many log-mel frames to encode for `samples` of audio, at most 3000.

    A frame is 10 ms. The number is even because the encoder halves it.
    """
    if window == "full":
        return round(WINDOW_S * _FRAMES_PER_S)
    min_s = FLOOR_S if window == "adaptive" else 0.0
    seconds = min(WINDOW_S, max(min_s, samples / MIC_RATE_HZ + MARGIN_S))
    return 2 * round(seconds * _FRAMES_PER_S / 2)


def first_word_frames(samples: int) -> int:
    """Returns how many log-mel frames to encode for the first word of `samples` of audio."""
    seconds = min(WINDOW_S, max(FIRST_WORD_WINDOW_S, samples / MIC_RATE_HZ + 1.0))
    return 2 * round(seconds * _FRAMES_PER_S / 2)


def cut_at(pcm: Pcm) -> Samples:
    """Returns where to cut audio of 20 s or more with the least risk of cutting a word.

    This is the middle of the quietest 200 ms between 12 s and 24 s from the beginning.
    """
    first, last = samples_of_s(_CUT_FROM_S), samples_of_s(SETTLE_S - 1)
    steps = pcm[first:last].astype(np.float64)
    steps = steps[: len(steps) // _STEP_SAMPLES * _STEP_SAMPLES].reshape(-1, _STEP_SAMPLES)
    energy = np.convolve(np.mean(steps**2, axis=1), np.ones(_QUIET_SAMPLES // _STEP_SAMPLES), mode="valid")
    return Samples(first + int(np.argmin(energy)) * _STEP_SAMPLES + _QUIET_SAMPLES // 2)
