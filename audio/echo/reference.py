"""What leaves the loudspeaker, kept so that it can be read at the time of the microphone's samples. Pure."""

import numpy as np

from audio.resample import Float32, StreamResampler
from audio.units import MIC_RATE_HZ, Pcm, samples_of_s

_KEPT_S = 2.0
"""A card tells of a block at most a few hundred ms before it leaves; the microphone asks some 50 ms after."""

_JUMP_S = 0.03
"""A block this far from where the last one ended is a gap or another latency; less: cards tell time unsteadily."""

_SETTLE_S = 1.0
"""Time constant of the loudspeaker's clock. At a drift of 100 ppm it lags by 0.1 ms, always by the same."""

_REACH_SAMPLES = 80.0
"""5 ms: further off, the reading jumps; nearer, it is drawn there."""

_DRAW = 0.1
_MOST_DRAWN_SAMPLES = 0.5
"""Per frame of 20 ms: 1600 ppm, far more than two clocks differ by."""

_TAPS = 16
_PHASES = 256
_BEFORE = _TAPS // 2 - 1


def _interpolation() -> Float32:
    """Windowed sinc, (_PHASES + 1, _TAPS): row p gives the sound p / _PHASES after the tap at _BEFORE."""
    at = np.arange(_TAPS)[None, :] - _BEFORE - np.arange(_PHASES + 1)[:, None] / _PHASES
    taps = np.sinc(at) * np.kaiser(_TAPS * 64 + 1, 6.0)[np.rint((at / _TAPS + 0.5) * _TAPS * 64).astype(int)]
    return np.asarray(taps / taps.sum(axis=1, keepdims=True), np.float32)


_TABLE = _interpolation()


class ReferenceLine:
    """Blocks of any length and rate with the time at which they leave; frames at any time out. Not thread-safe.

    The loudspeaker's samples are counted at 16 kHz, and the count is mapped to loop time by a clock that follows the
    times told with the blocks. A frame is read at the microphone's pace, between samples where need be: so two
    clocks may drift apart for hours, and what is read stays sound without a seam.

    Attributes:
        gaps: How often nothing left for more than 30 ms between two blocks: silence was put in.
        steps: How often a block left more than 30 ms before the one before it had ended: another device, another
            latency. What had been told goes on from there.
        late_samples: How much was asked for that had not been told yet, while the loudspeaker was at work.
    """

    def __init__(self) -> None:
        self.gaps = 0
        self.steps = 0
        self.late_samples = 0
        self._kept = np.zeros(samples_of_s(_KEPT_S), np.float32)
        self._end = 0  # count of samples written
        self._rate_hz = MIC_RATE_HZ
        self._resampler = StreamResampler(MIC_RATE_HZ)
        self._origin = 0  # where the resampler's first sample stands
        self._origin_s: float | None = None  # loop time of sample 0
        self._cursor: float | None = None

    def push(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        """Take a block: int16 (n,), its rate, and the loop time at which its first sample leaves."""
        if len(pcm) == 0:
            return
        if rate_hz != self._rate_hz:
            self._flush()
            self._rate_hz, self._resampler = rate_hz, StreamResampler(rate_hz)
        self._place(leaves_s, len(pcm) / rate_hz)
        self._write(self._resampler.push(pcm).astype(np.float32))

    def read(self, at_s: float, samples: int) -> Pcm:
        """What leaves from loop time `at_s` on, `samples` long at 16 kHz; silence where nothing was told."""
        if self._origin_s is None:
            return np.zeros(samples, np.int16)
        wanted = (at_s - self._origin_s) * MIC_RATE_HZ
        if self._cursor is None or abs(wanted - self._cursor) > _REACH_SAMPLES:
            self._cursor = wanted
        drawn = (wanted - self._cursor) * _DRAW
        length = samples + min(max(drawn, -_MOST_DRAWN_SAMPLES), _MOST_DRAWN_SAMPLES)
        first, self._cursor = self._cursor, self._cursor + length
        missing = self._cursor - self._end
        if 0 < missing < samples_of_s(_JUMP_S) + samples:
            self.late_samples += min(round(missing), samples)
        return self._between(first, length / samples, samples)

    @property
    def ends_s(self) -> float | None:
        """Loop time up to which it can be read, or None before the first block."""
        return None if self._origin_s is None else self._origin_s + self._end / MIC_RATE_HZ

    def _place(self, leaves_s: float, block_s: float) -> None:
        """Hold the clock against the time that was told."""
        due = self._origin + self._resampler.received
        if self._origin_s is None:
            self._origin_s = leaves_s - due / MIC_RATE_HZ
            return
        error_s = leaves_s - self._origin_s - due / MIC_RATE_HZ
        if abs(error_s) <= _JUMP_S:
            self._origin_s += error_s * min(1.0, block_s / _SETTLE_S)
            return
        self._flush()
        if error_s > 0:
            self.gaps += 1
            silence = min(round(error_s * MIC_RATE_HZ), len(self._kept))
            self._write(np.zeros(silence, np.float32))
            self._origin = self._end
        else:
            self.steps += 1
        self._origin_s = leaves_s - self._origin / MIC_RATE_HZ

    def _flush(self) -> None:
        self._write(self._resampler.flush().astype(np.float32))
        self._origin = self._end

    def _write(self, sound: Float32) -> None:
        places = np.arange(self._end, self._end + len(sound)) % len(self._kept)
        self._kept[places] = sound
        self._end += len(sound)

    def _between(self, first: float, step: float, samples: int) -> Pcm:
        """`samples` of the sound at first, first + step, …"""
        at = first + step * np.arange(samples, dtype=np.float64)
        whole = np.floor(at).astype(np.int64)
        phase = np.rint((at - whole) * _PHASES).astype(np.int64)
        begin = int(whole[0]) - _BEFORE
        near = self._span(begin, int(whole[-1]) + _TAPS - _BEFORE)
        if not near.any():
            return np.zeros(samples, np.int16)
        windows = np.lib.stride_tricks.sliding_window_view(near, _TAPS)[whole - _BEFORE - begin]
        sound = np.einsum("ij,ij->i", windows, _TABLE[phase])
        pcm: Pcm = np.rint(np.clip(sound, -32_768, 32_767)).astype(np.int16)
        return pcm

    def _span(self, begin: int, end: int) -> Float32:
        """The samples from `begin` to `end`; zero where they were forgotten or have not come."""
        span = np.zeros(end - begin, np.float32)
        since, until = max(begin, self._end - len(self._kept), 0), min(end, self._end)
        if since < until:
            span[since - begin : until - begin] = self._kept[np.arange(since, until) % len(self._kept)]
        return span
