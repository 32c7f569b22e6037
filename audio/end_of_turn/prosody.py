"""Tracks pitch, level, spectral tilt and spectral change of the last eight seconds in hops of 10 ms.

Does no I/O: takes 20 ms frames; `prosody_features` reads the history at a silence. Frames are computed several at once,
because numpy's cost is per call (docs/lab/experiments.md). Pitch is half of the work and computed only when needed.
"""

import numpy as np
import numpy.typing as npt

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, Samples
from audio.vad import VadResult

Floats = npt.NDArray[np.float32]

HOP_SAMPLES = 160
HOPS_PER_S = MIC_RATE_HZ // HOP_SAMPLES
HISTORY_HOPS = 8 * HOPS_PER_S
UNVOICED = 0.0
"""Pitch value of an unvoiced hop."""

_HOPS = FRAME_SAMPLES // HOP_SAMPLES
_MAX_WAITING_FRAMES = 10
"""Number of frames that are computed at once: 200 ms; takes 0.3 ms of CPU time, three times that after a rest."""
_MAX_RESTING_FRAMES = 25
"""The same while nobody speaks: 10 us a frame become 6 us."""

_SILENCE_DB = -100.0

# Pitch is computed at half the rate: 60-400 Hz are lags of 20-133 samples, compared over 32 ms.
_PITCH_RATE_HZ = MIC_RATE_HZ // 2
_WINDOW = 256
_MIN_LAG, _MAX_LAG = _PITCH_RATE_HZ // 400, _PITCH_RATE_HZ // 60 + 3
_PITCH_SAMPLES = _WINDOW + _MAX_LAG
_MAX_SKIPPED_FRAMES = 40
"""Frames before speech whose pitch is computed afterwards, because a one-word turn is read with what preceded it."""

_LEAD_SAMPLES = 2 * _PITCH_SAMPLES - HOP_SAMPLES + _MAX_SKIPPED_FRAMES * FRAME_SAMPLES
"""Audio before a frame that the computation may need."""

_FFT = 512
# The first lag whose normalized difference falls below `_CLEAR` is the period (YIN's absolute threshold), so that a
# deeper dip at twice the period does not win. Above `_UNCLEAR` there is no period.
_CLEAR, _UNCLEAR = 0.15, 0.4
_MIN_DIFFERENCE = 1e-7

# Eight bands a third to half an octave wide from 120 Hz to 7 kHz, in FFT bins of 31.25 Hz.
_BAND_BINS = np.array([4, 10, 18, 30, 46, 70, 104, 152, 224])
_LOW_BANDS, _HIGH_BANDS = slice(0, 3), slice(4, 7)

# The running distribution of a speaker's pitch: sixths of a tone between 55 and 440 Hz. It decays with a half-life of
# 20 s of voiced speech, so that another speaker at the same microphone is learned.
_PITCH_BINS = 108
_PITCH_BASE = np.log2(55.0)
_BINS_PER_OCTAVE = 36
_MEMORY = 0.5 ** (1 / (20 * HOPS_PER_S))


class ProsodyTrack:
    """The prosody of the last eight seconds in hops, newest last, and the speaker's usual pitch.

    Allocated once; not thread-safe. Properties include every pushed frame; the arrays are valid until the next push.
    """

    def __init__(self) -> None:
        self.resting = False
        self._rows = np.zeros((6, HISTORY_HOPS), dtype=np.float32)
        self._pitch, self._clarity, self._level_db, self._tilt_db, self._change_db, self._probability = self._rows
        self._sound = np.zeros(_LEAD_SAMPLES + _MAX_RESTING_FRAMES * FRAME_SAMPLES, dtype=np.float32)
        self._waiting: list[VadResult] = []  # results of the frames after the lead of `_sound`
        self._hann = np.hanning(_FFT + 1)[:-1].astype(np.float32)
        self._lags = np.arange(1, _MAX_LAG + 1, dtype=np.float32)
        self.reset()

    def reset(self) -> None:
        """Resets all state for a new conversation."""
        self.end = Samples(0)
        self.hops = 0
        self._rows.fill(0)
        self._level_db.fill(_SILENCE_DB)
        self._sound.fill(0)
        self._waiting.clear()
        self._skipped_hops = 0
        self._silent = False  # all of `_sound` was zero at the last computation
        self._bands_db = np.full(len(_BAND_BINS) - 1, _SILENCE_DB, dtype=np.float32)
        self._pitch_histogram = np.zeros(_PITCH_BINS)

    # ---- reading ----

    @property
    def pitch(self) -> Floats:
        """Pitch, log2 Hz or UNVOICED. Shape (HISTORY_HOPS,), like all arrays here."""
        self._catch_up()
        return self._pitch

    @property
    def clarity(self) -> Floats:
        """Periodicity, 0..1."""
        self._catch_up()
        return self._clarity

    @property
    def level_db(self) -> Floats:
        """Level in dBFS, without frequencies below 100 Hz."""
        self._catch_up()
        return self._level_db

    @property
    def tilt_db(self) -> Floats:
        """Spectral tilt: level of 120 Hz-1 kHz relative to 1.4-4.8 kHz."""
        self._catch_up()
        return self._tilt_db

    @property
    def change_db(self) -> Floats:
        """Mean change of the bands since the previous hop."""
        self._catch_up()
        return self._change_db

    @property
    def probability(self) -> Floats:
        """Speech probability of the frame, from the VAD."""
        self._catch_up()
        return self._probability

    @property
    def usual_pitch(self) -> float:
        """The speaker's median pitch so far, log2 Hz; UNVOICED before 100 ms of voiced speech."""
        self._catch_up()
        total = self._pitch_histogram.sum()
        if total < HOPS_PER_S / 10:
            return UNVOICED
        middle = int(np.searchsorted(np.cumsum(self._pitch_histogram), total / 2))
        return float(_PITCH_BASE + (middle + 0.5) / _BINS_PER_OCTAVE)

    # ---- writing ----

    def push_frame(self, frame: Frame, vad_result: VadResult) -> None:
        """Appends the next frame and its VAD result."""
        position = _LEAD_SAMPLES + len(self._waiting) * FRAME_SAMPLES
        self._sound[position : position + FRAME_SAMPLES] = frame.pcm
        self._waiting.append(vad_result)
        self.end = frame.end
        self.hops = min(self.hops + _HOPS, HISTORY_HOPS)
        if len(self._waiting) >= (_MAX_RESTING_FRAMES if self.resting else _MAX_WAITING_FRAMES):
            self._catch_up()

    def _catch_up(self) -> None:
        """Computes the waiting frames."""
        if not self._waiting:
            return
        hops, frames = len(self._waiting) * _HOPS, len(self._waiting) * FRAME_SAMPLES
        sound = self._sound[: _LEAD_SAMPLES + frames]
        sound[_LEAD_SAMPLES:] /= FULL_SCALE
        self._rows[:, :-hops] = self._rows[:, hops:]
        self._probability[-hops:] = np.repeat([vad_result.probability for vad_result in self._waiting], _HOPS)
        silent, before = not sound.any(), self._silent
        self._silent = silent
        if silent and before:  # muted: as computed for the hop before
            self._rows[2:5, -hops:] = self._rows[2:5, -hops - 1 : -hops]
        else:
            self._compute_spectrum(sound, hops)
        if self.resting and not any(vad_result.speaking for vad_result in self._waiting):
            self._pitch[-hops:], self._clarity[-hops:] = UNVOICED, 0
            self._skipped_hops = min(self._skipped_hops + hops, _MAX_SKIPPED_FRAMES * _HOPS)
        else:
            self._compute_pitch(sound, hops + self._skipped_hops)
            self._learn_pitch(hops)
            self._skipped_hops = 0
        self._sound[:_LEAD_SAMPLES] = sound[frames:]
        self._waiting.clear()

    def _compute_spectrum(self, sound: Floats, hops: int) -> None:
        pieces = _pieces(sound, _FFT, HOP_SAMPLES, hops)
        spectrum = np.fft.rfft(pieces * self._hann, axis=1)
        power = np.square(spectrum.real) + np.square(spectrum.imag)
        # Scaled for the window and the one-sided spectrum: a full-scale sine is -3 dBFS.
        bands = (
            np.add.reduceat(power[:, : _BAND_BINS[-1]], _BAND_BINS[:-1], axis=1) * (2 / (_FFT * _FFT * 0.375)) + 1e-10
        )
        bands_db = (10 * np.log10(bands)).astype(np.float32)
        self._level_db[-hops:] = 10 * np.log10(bands.sum(axis=1))
        self._tilt_db[-hops:] = bands_db[:, _LOW_BANDS].mean(axis=1) - bands_db[:, _HIGH_BANDS].mean(axis=1)
        before = np.vstack([self._bands_db, bands_db[:-1]])
        self._change_db[-hops:] = np.abs(bands_db - before).mean(axis=1)
        self._bands_db = bands_db[-1]

    def _compute_pitch(self, sound: Floats, hops: int) -> None:
        half: Floats = (sound[0::2] + sound[1::2]) * np.float32(0.5)
        pieces = _pieces(half, _PITCH_SAMPLES, HOP_SAMPLES // 2, hops)
        pieces = pieces - pieces.mean(axis=1, keepdims=True)
        first, whole = np.fft.rfft(pieces[:, :_WINDOW], _FFT), np.fft.rfft(pieces, _FFT)
        match = np.fft.irfft(first.conj() * whole, _FFT)[:, 1 : _MAX_LAG + 1]
        sums = np.cumsum(np.square(pieces), axis=1)
        energy = sums[:, _WINDOW - 1 :].copy()
        energy[:, 1:] -= sums[:, :_MAX_LAG]
        difference = np.maximum(energy[:, :1] + energy[:, 1:] - 2 * match, 0)
        # The difference is 0 in digital silence; the minimum keeps that from counting as periodic.
        difference += _MIN_DIFFERENCE
        normalized = difference * self._lags / np.cumsum(difference, axis=1)
        lags, depths = _periods(normalized[:, _MIN_LAG - 1 :])
        self._clarity[-hops:] = np.maximum(1 - depths, 0)
        self._pitch[-hops:] = np.where(depths < _UNCLEAR, np.log2(_PITCH_RATE_HZ / lags), UNVOICED)

    def _learn_pitch(self, hops: int) -> None:
        speaking = np.repeat([vad_result.speaking for vad_result in self._waiting], _HOPS)
        pitches = self._pitch[-hops:]
        for pitch in pitches[speaking & (pitches != UNVOICED)]:
            self._pitch_histogram *= _MEMORY
            place = int((pitch - _PITCH_BASE) * _BINS_PER_OCTAVE)
            self._pitch_histogram[min(max(place, 0), _PITCH_BINS - 1)] += 1


def _pieces(sound: Floats, length: int, hop: int, hops: int) -> Floats:
    """Returns views of `length` samples, shape (hops, length), a hop apart, the last one at the end."""
    pieces = np.lib.stride_tricks.sliding_window_view(sound, length)
    return pieces[len(pieces) - 1 - (hops - 1) * hop :: hop]


def _periods(valleys: Floats) -> tuple["npt.NDArray[np.float64]", Floats]:
    """Returns for each hop the lag in samples (fractional) and the difference there: 0 is identical, 1 is unrelated.

    `valleys`: the normalized difference from `_MIN_LAG` on, shape (hops, lags).
    """
    clear = valleys < _CLEAR
    places = np.where(clear.any(axis=1), clear.argmax(axis=1), valleys.argmin(axis=1))
    lags = np.empty(len(valleys))
    for row in range(len(valleys)):
        places[row], lags[row] = _bottom(valleys[row].tolist(), int(places[row]))
    return lags + _MIN_LAG, valleys[np.arange(len(valleys)), places]


def _bottom(valley: list[float], position: int) -> tuple[int, float]:
    """Descends from `position` to the local minimum; returns its index and its interpolated position."""
    last = len(valley) - 1
    while position < last and valley[position + 1] < valley[position]:
        position += 1
    if 0 < position < last:
        left, depth, right = valley[position - 1], valley[position], valley[position + 1]
        bend = left - 2 * depth + right
        if bend > 1e-9:
            return position, position + 0.5 * (left - right) / bend
    return position, float(position)
