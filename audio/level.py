"""How loud sound is, and where it becomes audible. Pure: no clock, no state but the finder's own."""

import math
from collections import deque
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from audio.units import FULL_SCALE, REPLY_RATE_HZ, Pcm

SILENCE_DBFS = -120.0
"""What `rms_dbfs` says of digital silence and of no sound at all."""

AUDIBLE_RMS = 0.005
"""Of full scale (-46 dBFS): a window above it is loud."""

ONSET_WINDOWS = 15
"""150 ms from the onset are looked at ..."""

SUSTAINED_WINDOWS = 8
"""... and 80 ms of them must be loud: clicks, breaths and earcons are not speech."""

_WINDOWS_PER_S = 100

_ACTIVE_RANGE_DB = 30.0
"""Windows this far below the loudest are pauses: they do not count for the level of speech."""

_PEAK = 10 ** (-1 / 20)
"""-1 dBFS: no sample leaves `soften` above it."""

_KNEE = 0.6
"""Of full scale (-4.4 dBFS): below it `soften` changes nothing. Speech at -20 dBFS is above it in under 1 % of
its samples."""


def rms_dbfs(pcm: Pcm) -> float:
    """Level of int16 sound, shape (n,), in dB of full scale; SILENCE_DBFS for silence and for no samples."""
    if not pcm.size:
        return SILENCE_DBFS
    rms = math.sqrt(float(np.mean(np.square(pcm, dtype=np.float64)))) / FULL_SCALE
    return max(SILENCE_DBFS, 20 * math.log10(rms)) if rms > 0 else SILENCE_DBFS


def mean_dbfs(levels: Collection[float]) -> float:
    """The level of several pieces of one length, of their levels in dB of full scale; -inf where there are none."""
    if not levels:
        return -math.inf
    return 10 * math.log10(sum(10 ** (level / 10) for level in levels) / len(levels))


def audible_onset(pcm: Pcm, rate_hz: int) -> int | None:
    """The first sample of sustained sound, or None where there is none.

    The sound is cut into windows of 10 ms from its first sample; a rest shorter than a window does not count.
    The onset is the start of the first loud window from which 8 of 15 windows are loud. Windows after the end
    of the sound are not loud.
    """
    return OnsetFinder(rate_hz).feed(pcm)


class OnsetFinder:
    """`audible_onset` of a stream, the same for every way to cut it. Holds no samples. Not thread-safe."""

    def __init__(self, rate_hz: int) -> None:
        """Of int16 sound at `rate_hz`. Raises ValueError below 100 Hz (a window needs a sample)."""
        if rate_hz < _WINDOWS_PER_S:
            raise ValueError(f"the rate is {rate_hz} Hz, at least {_WINDOWS_PER_S} Hz is needed")
        self._window = rate_hz // _WINDOWS_PER_S
        # Integers: the sum of a window must not depend on where the stream was cut.
        self._loud_energy = self._window * (AUDIBLE_RMS * FULL_SCALE) ** 2
        self._recent: deque[bool] = deque(maxlen=ONSET_WINDOWS)
        self._windows = 0
        self._part_energy = 0
        self._part_samples = 0
        self._onset: int | None = None
        self._finished = False

    def feed(self, pcm: Pcm) -> int | None:
        """Take the next samples; the onset counted from the stream's first sample, once it is known.

        It is known 80 ms after the onset at the earliest and never changes again. Raises ValueError after
        `finish`.
        """
        if self._finished:
            raise ValueError("the stream was finished: a new one needs a new finder")
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
        """The stream has ended: the onset, or None for good (no sound, or too short to be sustained)."""
        self._finished = True
        return self._onset

    def _tell(self, loud: bool) -> None:
        """One window more. When eight are loud for the first time, the earliest loud one of the last 15 is the
        onset: one before it is either out of time or would have counted these eight as well."""
        self._recent.append(loud)
        self._windows += 1
        if not loud or sum(self._recent) < SUSTAINED_WINDOWS:
            return
        first = next(i for i, was_loud in enumerate(self._recent) if was_loud)
        self._onset = (self._windows - len(self._recent) + first) * self._window


def gain_for(target_dbfs: float, pcm: Pcm, rate_hz: int = REPLY_RATE_HZ) -> float:
    """The factor that brings the speech in `pcm` to `target_dbfs`; 1.0 where there is no sound.

    The level of speech is the RMS of the 10 ms windows within 30 dB of the loudest: pauses do not count.
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
    """Float sound (1.0 = full scale) to int16, with peaks bent to stay below -1 dBFS.

    Sample by sample, so that a stream has no memory of a loud moment (no pumping): straight up to the knee, then
    a tanh whose slope begins at 1.
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
    """The same sound, louder or softer, its peaks bent rather than cut; itself where the gain is 0."""
    if gain_db == 0:
        return pcm
    return soften(pcm.astype(np.float32) / FULL_SCALE * np.float32(10 ** (gain_db / 20)))
