"""Measures levels, finds the audible onset, and applies gain. Pure, except `OnsetFinder`."""

import math
from collections import deque
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from audio.units import FULL_SCALE, REPLY_RATE_HZ, Pcm

SILENCE_DBFS = -120.0
"""Result of `rms_dbfs` for digital silence and for empty audio."""

AUDIBLE_RMS = 0.005
"""RMS threshold of a loud window, as a fraction of full scale (-46 dBFS)."""

ONSET_WINDOWS = 15
"""Number of 10 ms windows examined from the onset (150 ms)."""

SUSTAINED_WINDOWS = 8
"""Number of loud windows among them that make an onset (80 ms): clicks, breaths and earcons are not speech."""

SOFT_START_DB = -12.0
SOFT_START_MS = 300
"""Level and length of a soft start: soft enough to speak on, and over before the first word ends."""

_JUST_AUDIBLE_RMS = 1.5 * AUDIBLE_RMS
"""RMS level to which a soft start lowers quiet sounds at most, as a fraction of full scale: their onset stays one."""

_WINDOWS_PER_S = 100

_ACTIVE_RANGE_DB = 30.0
"""Windows this far below the loudest are pauses and do not count for the speech level."""

_PEAK = 10 ** (-1 / 20)
"""Largest output of `soften` (-1 dBFS)."""

_KNEE = 0.6
"""Level from which `soften` limits, as a fraction of full scale (-4.4 dBFS).

Less than 1 % of the samples of speech at -20 dBFS are above it.
"""


def rms_dbfs(pcm: Pcm) -> float:
    """Returns the RMS level of int16 audio, shape (n,), in dBFS; SILENCE_DBFS for silence and empty audio."""
    if not pcm.size:
        return SILENCE_DBFS
    rms = math.sqrt(float(np.mean(np.square(pcm, dtype=np.float64)))) / FULL_SCALE
    return max(SILENCE_DBFS, 20 * math.log10(rms)) if rms > 0 else SILENCE_DBFS


def mean_dbfs(levels: Collection[float]) -> float:
    """Returns the mean level of pieces of equal length from their levels in dBFS; -inf if there are none."""
    if not levels:
        return -math.inf
    return 10 * math.log10(sum(10 ** (level / 10) for level in levels) / len(levels))


def audible_onset(pcm: Pcm, rate_hz: int) -> int | None:
    """Returns the first sample of sustained sound, or None.

    The audio is cut into windows of 10 ms from its first sample; a remainder is ignored. The onset is the start of the
    first loud window from which 8 of 15 windows are loud. Windows after the end are not loud.
    """
    return OnsetFinder(rate_hz).feed(pcm)


class OnsetFinder:
    """Computes `audible_onset` of a stream, independent of its block sizes. Stores no samples. Not thread-safe."""

    def __init__(self, rate_hz: int) -> None:
        """Creates a finder for int16 audio at `rate_hz`. Raises ValueError below 100 Hz (a window needs a sample)."""
        if rate_hz < _WINDOWS_PER_S:
            raise ValueError(f"the sample rate is {rate_hz} Hz; it must be at least {_WINDOWS_PER_S} Hz")
        self._window = rate_hz // _WINDOWS_PER_S
        # Integers, so that the sum of a window does not depend on the block sizes.
        self._loud_energy = self._window * (AUDIBLE_RMS * FULL_SCALE) ** 2
        self._recent: deque[bool] = deque(maxlen=ONSET_WINDOWS)
        self._windows = 0
        self._part_energy = 0
        self._part_samples = 0
        self._onset: int | None = None
        self._finished = False

    def feed(self, pcm: Pcm) -> int | None:
        """Processes the next samples; returns the onset, counted from the stream's first sample, once it is known.

        It is known 80 ms after the onset at the earliest and does not change. Raises ValueError after `finish`.
        """
        if self._finished:
            raise ValueError("this stream is finished: create a new OnsetFinder for another one")
        if self._onset is not None:
            return self._onset
        energy = np.square(pcm, dtype=np.int64)
        head = min(pcm.size, self._window - self._part_samples)
        self._part_energy += int(energy[:head].sum())
        self._part_samples += head
        if self._part_samples < self._window:
            return None
        whole = (pcm.size - head) // self._window * self._window
        sums = energy[head : head + whole].reshape(-1, self._window).sum(axis=1)
        for total in (self._part_energy, *sums.tolist()):
            self._tell(total > self._loud_energy)
            if self._onset is not None:
                return self._onset
        self._part_energy = int(energy[head + whole :].sum())
        self._part_samples = pcm.size - head - whole
        return None

    def finish(self) -> int | None:
        """Ends the stream; returns the onset, or None if there was no sustained sound."""
        self._finished = True
        return self._onset

    def _tell(self, loud: bool) -> None:
        """Processes a window. When eight windows are loud for the first time, the earliest loud one of the last 15 is
        the onset. An earlier window is either too old, or these eight would have counted for it before."""
        self._recent.append(loud)
        self._windows += 1
        if not loud or sum(self._recent) < SUSTAINED_WINDOWS:
            return
        first = next(i for i, was_loud in enumerate(self._recent) if was_loud)
        self._onset = (self._windows - len(self._recent) + first) * self._window


class SoftStart:
    """Raises the level of a stream of sound from `SOFT_START_DB` to 0 dB, from its first audible sample on.

    Not thread-safe.
    """

    def __init__(self, rate_hz: int) -> None:
        """Creates the ramp for int16 audio at `rate_hz`."""
        self._length, self._window = rate_hz * SOFT_START_MS // 1000, rate_hz // _WINDOWS_PER_S
        self._done: int | None = None  # samples of the ramp so far; None before the first audible sample

    def apply(self, pcm: Pcm) -> Pcm:
        """Returns the next samples, softened as far as they belong to the ramp."""
        if self._done == self._length or not pcm.size:
            return pcm
        begin = 0
        if self._done is None:
            audible = np.flatnonzero(np.abs(pcm.astype(np.int32)) >= AUDIBLE_RMS * FULL_SCALE)
            if not audible.size:
                return pcm
            begin, self._done = int(audible[0]), 0
        end = min(pcm.size, begin + self._length - self._done)
        steps = (self._done + np.arange(end - begin)) / self._length
        gains = np.maximum(10 ** (SOFT_START_DB * (1 - steps) / 20), self._audible_gains(pcm[begin:end]))
        softened = pcm.copy()
        softened[begin:end] = np.rint(pcm[begin:end] * gains)
        self._done += end - begin
        return softened

    def _audible_gains(self, pcm: Pcm) -> npt.NDArray[np.float64]:
        """Returns the gain of each sample with which it is just audible, at most 1. Otherwise an "s" would be lost."""
        starts = np.arange(0, pcm.size, self._window)
        energies = np.add.reduceat(np.square(pcm, dtype=np.float64), starts)
        levels = np.sqrt(energies / np.diff([*starts, pcm.size]))
        gains = np.minimum(1.0, _JUST_AUDIBLE_RMS * FULL_SCALE / np.maximum(levels, 1.0))
        return np.interp(np.arange(pcm.size), starts + self._window / 2, gains)


def gain_for(target_dbfs: float, pcm: Pcm, rate_hz: int = REPLY_RATE_HZ) -> float:
    """Returns the gain that brings the speech in `pcm` to `target_dbfs`; 1.0 for silence.

    The speech level is the RMS of the 10 ms windows within 30 dB of the loudest, without pauses.
    """
    window = max(1, rate_hz // _WINDOWS_PER_S)
    if pcm.size < window:
        return 1.0
    power = np.square(pcm[: pcm.size // window * window], dtype=np.float64).reshape(-1, window).mean(axis=1)
    loudest = float(power.max())
    if loudest == 0:
        return 1.0
    active = float(power[power >= loudest * 10 ** (-_ACTIVE_RANGE_DB / 10)].mean())
    return float(10 ** (target_dbfs / 20) * FULL_SCALE / math.sqrt(active))


def soften(sound: npt.NDArray[np.float32]) -> Pcm:
    """Converts float audio (1.0 = full scale) to int16, with peaks limited to -1 dBFS.

    It works sample by sample, so a loud moment does not affect later samples (no pumping). It is linear up to the knee,
    then a tanh whose slope begins at 1.
    """
    size = np.abs(sound)
    over = size > _KNEE
    if over.any():
        room = _PEAK - _KNEE
        bent = _KNEE + room * np.tanh((size[over] - _KNEE) / room)
        sound = sound.copy()
        sound[over] = np.copysign(bent, sound[over])
    pcm: Pcm = np.rint(sound * (FULL_SCALE - 1)).astype(np.int16)
    return pcm


def amplified(pcm: Pcm, gain_db: float) -> Pcm:
    """Applies a gain with soft limiting. Returns `pcm` itself if the gain is 0."""
    if gain_db == 0:
        return pcm
    return soften(pcm.astype(np.float32) / FULL_SCALE * np.float32(10 ** (gain_db / 20)))
