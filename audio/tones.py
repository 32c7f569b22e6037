"""Synthesizes the ring of a timer and the tone of a voice that fails. Pure."""

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from audio.units import FULL_SCALE, REPLY_RATE_HZ, Pcm

RISE_S = 40.0
"""Time until the ring is loudest, in seconds: long enough that a first soft ring is heard and answered."""

_SOFTEST_DB, _LOUDEST_DB = -26.0, -9.0
"""Peak level relative to full scale. Speech of the voices peaks at about -6 dB."""

_NOTES = ((0.0, 523.25), (0.22, 659.26), (0.44, 783.99), (0.88, 783.99))
"""Onset in seconds and pitch in Hz: C5, E5, G5, G5. Small loudspeakers and older ears reproduce this range."""

_PARTIALS = ((1.0, 1.0, 0.32), (3.93, 0.28, 0.12), (9.2, 0.08, 0.05))
"""Frequency ratio, share and decay time in s of the partials of a marimba bar."""

PHRASE_S = 2.0
"""Length of one phrase with the silence after it, in seconds."""

_FAILURE_NOTES_HZ = (392.0, 293.66)
"""G4, D4: lower than a ring, and falling, as a question that gets no answer."""

_FAILURE_NOTE_S = 0.2

_FAILURE_PEAK_DB = -18.0
"""Peak level relative to full scale: below speech, which peaks at about -6 dB."""


def ring_phrase(rung_s: float) -> Pcm:
    """Returns one phrase of the ring, int16 (48000,) at 24 kHz: struck notes, soft at first.

    `rung_s`: seconds since the ring began.
    """
    risen = min(max(rung_s / RISE_S, 0.0), 1.0)
    gain = 10 ** ((_SOFTEST_DB + (_LOUDEST_DB - _SOFTEST_DB) * risen) / 20)
    pcm: Pcm = np.rint(_phrase() * (gain * 32767)).astype(np.int16)
    return pcm


@cache
def _phrase() -> npt.NDArray[np.float32]:
    """Returns the phrase with a peak of 1."""
    at_s = np.arange(round(PHRASE_S * REPLY_RATE_HZ)) / REPLY_RATE_HZ
    phrase = np.zeros_like(at_s)
    for onset_s, pitch_hz in _NOTES:
        since_s = np.maximum(at_s - onset_s, 0.0)
        attack = np.minimum(since_s / 0.004, 1.0)  # 4 ms: no click
        for ratio, share, decay_s in _PARTIALS:
            phrase += attack * share * np.exp(-since_s / decay_s) * np.sin(2 * math.pi * pitch_hz * ratio * since_s)
    phrase *= np.clip((PHRASE_S - at_s - 1 / REPLY_RATE_HZ) / 0.1, 0.0, 1.0)  # the last note is silent at the end
    scaled: npt.NDArray[np.float32] = (phrase / np.abs(phrase).max()).astype(np.float32)
    return scaled


@cache
def failure_tone() -> Pcm:
    """Returns two soft falling notes, which tell that no voice can speak: int16 (9600,) at 24 kHz. Do not change it."""
    at_s = np.arange(round(_FAILURE_NOTE_S * REPLY_RATE_HZ)) / REPLY_RATE_HZ
    swell = np.sin(math.pi * at_s / _FAILURE_NOTE_S) ** 2  # no clicks
    notes = [swell * np.sin(2 * math.pi * pitch_hz * at_s) for pitch_hz in _FAILURE_NOTES_HZ]
    pcm: Pcm = np.rint(np.concatenate(notes) * 10 ** (_FAILURE_PEAK_DB / 20) * (FULL_SCALE - 1)).astype(np.int16)
    return pcm
