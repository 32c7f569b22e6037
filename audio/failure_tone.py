"""Synthesizes the sound that tells that no voice can speak: two soft falling notes. Pure."""

import math
from functools import cache

import numpy as np

from audio.units import FULL_SCALE, REPLY_RATE_HZ, Pcm

_NOTES_HZ = (392.0, 293.66)
"""G4, D4: lower than a ring, and falling, as a question that gets no answer."""

_NOTE_S = 0.2
_PEAK_DB = -18.0
"""Peak level relative to full scale: below speech, which peaks at about -6 dB."""


@cache
def failure_tone() -> Pcm:
    """Returns the tone, int16 (9600,) at 24 kHz. Do not change it."""
    at_s = np.arange(round(_NOTE_S * REPLY_RATE_HZ)) / REPLY_RATE_HZ
    swell = np.sin(math.pi * at_s / _NOTE_S) ** 2  # no clicks
    notes = [swell * np.sin(2 * math.pi * pitch_hz * at_s) for pitch_hz in _NOTES_HZ]
    pcm: Pcm = np.rint(np.concatenate(notes) * 10 ** (_PEAK_DB / 20) * (FULL_SCALE - 1)).astype(np.int16)
    return pcm
