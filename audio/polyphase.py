"""Resamples by a short filter between rates in a simple ratio. Holds back 2 to 4 ms, soxr at least 15 to 60 ms.

The newest audio of a microphone decides whether a turn is over, so the delay of a filter adds to the latency.
"""

import math
from functools import cache

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]

MAX_PHASES = 3
"""Maximum number of filters: 48, 32, 24, 96 and 8 kHz to 16 kHz need 1, 1, 2, 1 and 2; 44.1 kHz would need 160."""

_TRANSITION = 0.15
"""Transition width as a share of the lower rate's band (1.2 kHz of 8). Speech has little there; narrower is slower."""

_STOP_DB = 70.0
_KAISER_BETA = 0.1102 * (_STOP_DB - 8.7)  # Kaiser's formula for this stop-band attenuation

_PIECE = 4800
"""Maximum number of input samples processed at once, which limits the matrix size."""


def phases(from_hz: int, to_hz: int) -> int:
    """Returns the number of filters that the ratio needs."""
    return to_hz // math.gcd(from_hz, to_hz)


class Polyphase:
    """Resamples one stream, float32 of any scale, block by block. Output sample k is the audio at k / to_hz."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        """Creates the filters; `phases(from_hz, to_hz)` should be small."""
        self._up = phases(from_hz, to_hz)
        self._down = from_hz // math.gcd(from_hz, to_hz)
        self._filters, self._centre = _designed(self._up, self._down)
        self._taps = self._filters.shape[1]
        self.clear()

    @property
    def held_back(self) -> int:
        """Output samples held back after whole periods of the ratio."""
        return self._centre // self._down

    def clear(self) -> None:
        """Resets for another stream."""
        self._before = np.zeros(self._taps - 1, np.float32)
        self._taken = 0
        self._given = 0

    def push_samples(self, sound: Float32) -> Float32:
        """Processes the next samples (n,); returns what is ready."""
        if len(sound) <= _PIECE:
            return self._push_piece(sound)
        return np.concatenate(
            [self._push_piece(sound[start : start + _PIECE]) for start in range(0, len(sound), _PIECE)]
        )

    def finish(self, samples: int) -> Float32:
        """Returns `samples` more, as if silence followed."""
        rest = self.push_samples(np.zeros(self._centre // self._up + self._down + 2, np.float32))
        return rest[:samples]

    def _push_piece(self, sound: Float32) -> Float32:
        known = np.concatenate((self._before, sound))
        since, self._taken = self._taken, self._taken + len(sound)
        self._before = known[len(sound) :].copy()
        # Output k depends on the inputs up to (k · down + centre) / up.
        first, self._given = self._given, max(self._given, -(-(self._taken * self._up - self._centre) // self._down))
        if not known.any():  # muted
            return np.zeros(self._given - first, np.float32)
        out = np.empty(self._given - first, np.float32)
        # Applies every filter at every input and then selects: more sums than needed, but few numpy calls.
        for turn in range(min(self._up, len(out))):
            newest, phase = divmod((first + turn) * self._down + self._centre, self._up)
            mine = out[turn :: self._up]
            sums = np.correlate(known, self._filters[phase], "valid")
            mine[:] = sums[newest - since :: self._down][: len(mine)]
        return out


@cache
def _designed(up: int, down: int) -> tuple[Float32, int]:
    """Returns the filter of each phase, (up, taps), newest input last, and the centre of the whole filter."""
    # In cycles per sample of the common multiple of both rates, where the lower rate's band ends at `edge`.
    edge = 0.5 / max(up, down)
    width = _TRANSITION * edge
    half = math.ceil((_STOP_DB - 8) / (2.285 * 2 * math.pi * width) / 2)
    n = np.arange(-half, half + 1)
    cutoff = edge - width / 2
    whole = 2 * cutoff * np.sinc(2 * cutoff * n) * np.kaiser(n.size, _KAISER_BETA)
    whole *= up / whole.sum()
    taps = -(-n.size // up)
    filters = np.zeros((up, taps), np.float32)
    for phase in range(up):
        phase_taps = whole[phase::up]
        filters[phase, taps - phase_taps.size :] = phase_taps[::-1]
        filters[phase] /= filters[phase].sum()
    return filters, half
