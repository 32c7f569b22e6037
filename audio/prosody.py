"""What a voice does, hop by hop: pitch, level, balance and change of the spectrum, kept for the last eight seconds.

Sans-I/O: 20 ms frames in; `prosody_features` reads the history at a silence. Two hops of 10 ms a frame, 0.1 ms of
processor time (docs/turn-taking.md).
"""

import numpy as np
import numpy.typing as npt

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, Samples
from audio.vad import Voicing

Floats = npt.NDArray[np.float32]

HOP_SAMPLES = 160
HOPS_PER_S = MIC_RATE_HZ // HOP_SAMPLES
HISTORY_HOPS = 8 * HOPS_PER_S
UNVOICED = 0.0
"""The pitch of a hop without one."""

_HOPS = FRAME_SAMPLES // HOP_SAMPLES
_SILENCE_DB = -100.0

# Pitch is sought at half the rate: 60-400 Hz are lags of 20-133 samples, compared over 32 ms.
_PITCH_RATE_HZ = MIC_RATE_HZ // 2
_WINDOW = 256
_SHORTEST_LAG, _LONGEST_LAG = _PITCH_RATE_HZ // 400, _PITCH_RATE_HZ // 60 + 3
_PITCH_SAMPLES = _WINDOW + _LONGEST_LAG
_FFT = 512
# The first lag whose normalized difference falls below this is the period (YIN's absolute threshold): a deeper dip at
# twice the period does not win. Above `_UNCLEAR` there is no period.
_CLEAR, _UNCLEAR = 0.15, 0.4
_LEAST_DIFFERENCE = 1e-7

# Eight bands a third to half an octave wide from 120 Hz to 7 kHz, in FFT bins of 31.25 Hz.
_BAND_BINS = np.array([4, 10, 18, 30, 46, 70, 104, 152, 224])
_LOW_BANDS, _HIGH_BANDS = slice(0, 3), slice(4, 7)

# The running spread of a speaker's pitch: sixths of a tone between 55 and 440 Hz, forgotten with a half-life of 20 s
# of voiced sound, so that another person at the same microphone is learned.
_PITCH_BINS = 108
_PITCH_BASE = np.log2(55.0)
_BINS_PER_OCTAVE = 36
_MEMORY = 0.5 ** (1 / (20 * HOPS_PER_S))


class ProsodyTrack:
    """The last eight seconds in hops, the newest last; and the speaker's usual pitch. Allocated once; not thread-safe.

    Attributes:
        end: Stream position after the newest hop.
        pitch: log2 Hz, or UNVOICED, shape (HISTORY_HOPS,).
        clarity: 0..1, how periodic.
        level_db: dBFS without what lies below 100 Hz.
        tilt_db: How far 120 Hz-1 kHz stand above 1.4-4.8 kHz.
        change_db: Mean change of the bands since the hop before.
        probability: The detector's, of the frame.
    """

    def __init__(self) -> None:
        self._rows = np.zeros((6, HISTORY_HOPS), dtype=np.float32)
        self.pitch, self.clarity, self.level_db, self.tilt_db, self.change_db, self.probability = self._rows
        self._sound = np.zeros(2 * _PITCH_SAMPLES + HOP_SAMPLES, dtype=np.float32)
        self._hann = np.hanning(_FFT + 1)[:-1].astype(np.float32)
        self._lags = np.arange(1, _LONGEST_LAG + 1, dtype=np.float32)
        self.reset()

    def reset(self) -> None:
        """Forget everything heard: a new conversation."""
        self.end = Samples(0)
        self.hops = 0
        self._rows.fill(0)
        self.level_db.fill(_SILENCE_DB)
        self._sound.fill(0)
        self._bands_db = np.full(len(_BAND_BINS) - 1, _SILENCE_DB, dtype=np.float32)
        self._spread = np.zeros(_PITCH_BINS)

    @property
    def usual_pitch(self) -> float:
        """The speaker's median so far, log2 Hz; UNVOICED before 100 ms of voiced sound."""
        total = self._spread.sum()
        if total < HOPS_PER_S / 10:
            return UNVOICED
        middle = int(np.searchsorted(np.cumsum(self._spread), total / 2))
        return float(_PITCH_BASE + (middle + 0.5) / _BINS_PER_OCTAVE)

    def push(self, frame: Frame, voicing: Voicing) -> None:
        """Take the next frame and what the detector said after it."""
        sound = self._sound
        sound[:-FRAME_SAMPLES] = sound[FRAME_SAMPLES:]
        np.divide(frame.pcm, FULL_SCALE, out=sound[-FRAME_SAMPLES:], dtype=np.float32)
        rows = self._rows
        rows[:, :-_HOPS] = rows[:, _HOPS:]
        self.probability[-_HOPS:] = voicing.probability
        self._hear_spectrum()
        self._hear_pitch()
        if voicing.speaking:
            self._learn_pitch()
        self.end = frame.end
        self.hops = min(self.hops + _HOPS, HISTORY_HOPS)

    def _hear_spectrum(self) -> None:
        pieces = np.stack([self._sound[-_FFT - HOP_SAMPLES : -HOP_SAMPLES], self._sound[-_FFT:]])
        spectrum = np.fft.rfft(pieces * self._hann, axis=1)
        power = np.square(spectrum.real) + np.square(spectrum.imag)
        # The window and the one-sided spectrum: a full-scale sine is -3 dBFS.
        bands = (
            np.add.reduceat(power[:, : _BAND_BINS[-1]], _BAND_BINS[:-1], axis=1) * (2 / (_FFT * _FFT * 0.375)) + 1e-10
        )
        bands_db = (10 * np.log10(bands)).astype(np.float32)
        self.level_db[-_HOPS:] = 10 * np.log10(bands.sum(axis=1))
        self.tilt_db[-_HOPS:] = bands_db[:, _LOW_BANDS].mean(axis=1) - bands_db[:, _HIGH_BANDS].mean(axis=1)
        before = np.vstack([self._bands_db, bands_db[:-1]])
        self.change_db[-_HOPS:] = np.abs(bands_db - before).mean(axis=1)
        self._bands_db = bands_db[-1]

    def _hear_pitch(self) -> None:
        half = (self._sound[0::2] + self._sound[1::2]) / 2
        hop = HOP_SAMPLES // 2
        pieces = np.stack([half[-_PITCH_SAMPLES - hop : -hop], half[-_PITCH_SAMPLES:]])
        pieces -= pieces.mean(axis=1, keepdims=True)
        first, whole = np.fft.rfft(pieces[:, :_WINDOW], _FFT), np.fft.rfft(pieces, _FFT)
        match = np.fft.irfft(first.conj() * whole, _FFT)[:, 1 : _LONGEST_LAG + 1]
        sums = np.cumsum(np.square(pieces), axis=1)
        energy = sums[:, _WINDOW - 1 :].copy()
        energy[:, 1:] -= sums[:, :_LONGEST_LAG]
        difference = np.maximum(energy[:, :1] + energy[:, 1:] - 2 * match, 0)
        # Nothing differs from itself in digital silence: it is not periodic, though.
        difference += _LEAST_DIFFERENCE
        normalized = difference * self._lags / np.cumsum(difference, axis=1)
        for row in range(_HOPS):
            lag, depth = _period(normalized[row])
            at = row - _HOPS
            self.clarity[at] = max(0.0, 1 - depth)
            self.pitch[at] = np.log2(_PITCH_RATE_HZ / lag) if depth < _UNCLEAR else UNVOICED

    def _learn_pitch(self) -> None:
        for pitch in self.pitch[-_HOPS:]:
            if pitch != UNVOICED:
                self._spread *= _MEMORY
                place = int((pitch - _PITCH_BASE) * _BINS_PER_OCTAVE)
                self._spread[min(max(place, 0), _PITCH_BINS - 1)] += 1


def _period(normalized: npt.NDArray[np.floating]) -> tuple[float, float]:
    """The lag in samples, between samples, and how much differs there: 0 is the same again, 1 is nothing alike."""
    valley = normalized[_SHORTEST_LAG - 1 :]
    below = np.flatnonzero(valley < _CLEAR)
    if len(below):
        at = int(below[0])
        while at + 1 < len(valley) and valley[at + 1] < valley[at]:
            at += 1
    else:
        at = int(valley.argmin())
    depth = float(valley[at])
    lag = float(_SHORTEST_LAG + at)
    if 0 < at < len(valley) - 1:
        left, right = float(valley[at - 1]), float(valley[at + 1])
        bend = left - 2 * depth + right
        if bend > 1e-9:
            lag += 0.5 * (left - right) / bend
    return lag, depth
