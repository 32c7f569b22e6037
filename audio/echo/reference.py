"""Stores the audio of the loudspeaker so that it can be read at the time of the microphone's samples.

No I/O, no clock.
"""

import numpy as np

from audio.resample import Float32, StreamResampler
from audio.units import MIC_RATE_HZ, Pcm, samples_of_s

_STORED_S = 2.0
"""Stored audio, in seconds: a card reports a block up to some 100 ms ahead; the microphone reads 50 ms later."""

_JUMP_S = 0.03
"""Distance from the end of the last block, in seconds, that is a gap or another latency; less is jitter."""

_SETTLE_S = 1.0
"""Time constant of the loudspeaker's clock, in seconds. At a drift of 100 ppm it has a constant lag of 0.1 ms."""

_REACH_SAMPLES = 80.0
"""Distance (5 ms) above which reading jumps to the wanted position; below it is corrected gradually."""

_CORRECTION = 0.1
_MAX_CORRECTION_SAMPLES = 0.5
"""Largest correction per frame of 20 ms: 1600 ppm, far more than two clocks differ."""

_TAPS = 16
_PHASES = 256
_BEFORE = _TAPS // 2 - 1


def _interpolation() -> Float32:
    """Returns a windowed sinc, shape (_PHASES + 1, _TAPS): row p reads p / _PHASES after the tap at _BEFORE."""
    positions = np.arange(_TAPS)[None, :] - _BEFORE - np.arange(_PHASES + 1)[:, None] / _PHASES
    taps = (
        np.sinc(positions) * np.kaiser(_TAPS * 64 + 1, 6.0)[np.rint((positions / _TAPS + 0.5) * _TAPS * 64).astype(int)]
    )
    return np.asarray(taps / taps.sum(axis=1, keepdims=True), np.float32)


_TABLE = _interpolation()


class ReferenceLine:
    """Accepts blocks of any length and rate with their playback time; returns frames at any time. Not thread-safe.

    The loudspeaker's samples are counted at 16 kHz. The count is mapped to loop time by a clock that follows the
    blocks' times. A frame is read at the microphone's rate, interpolated between samples. So the two clocks may drift
    apart for hours without a discontinuity.

    Attributes:
        gaps: How often nothing was played for more than 30 ms between two blocks; silence was inserted.
        steps: How often a block was played more than 30 ms before the end of the previous one, after a change of device
            or latency. The earlier audio continues from there.
        late_samples: Number of requested samples that were not known yet while the loudspeaker played.
    """

    def __init__(self) -> None:
        self.gaps = 0
        self.steps = 0
        self.late_samples = 0
        self._samples = np.zeros(samples_of_s(_STORED_S), np.float32)
        self._end = 0  # count of samples written
        self._rate_hz = MIC_RATE_HZ
        self._resampler = StreamResampler(MIC_RATE_HZ)
        self._origin = 0  # position of the resampler's first sample
        self._origin_s: float | None = None  # loop time of sample 0
        self._cursor: float | None = None

    def push_block(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        """Appends a block: int16 (n,), its rate, and the loop time at which its first sample is played."""
        if len(pcm) == 0:
            return
        if rate_hz != self._rate_hz:
            self._flush()
            self._rate_hz, self._resampler = rate_hz, StreamResampler(rate_hz)
        self._place(leaves_s, len(pcm) / rate_hz)
        self._write(self._resampler.push_samples(pcm).astype(np.float32))

    def read(self, at_s: float, samples: int) -> Pcm:
        """Returns the audio played from loop time `at_s` on, `samples` long at 16 kHz; silence where unknown."""
        if self._origin_s is None:
            return np.zeros(samples, np.int16)
        position = (at_s - self._origin_s) * MIC_RATE_HZ
        if self._cursor is None or abs(position - self._cursor) > _REACH_SAMPLES:
            self._cursor = position
        correction = (position - self._cursor) * _CORRECTION
        length = samples + min(max(correction, -_MAX_CORRECTION_SAMPLES), _MAX_CORRECTION_SAMPLES)
        first, self._cursor = self._cursor, self._cursor + length
        missing = self._cursor - self._end
        if 0 < missing < samples_of_s(_JUMP_S) + samples:
            self.late_samples += min(round(missing), samples)
        return self._interpolated(first, length / samples, samples)

    @property
    def ends_s(self) -> float | None:
        """Loop time up to which audio is known; None before the first block."""
        return None if self._origin_s is None else self._origin_s + self._end / MIC_RATE_HZ

    def _place(self, leaves_s: float, block_s: float) -> None:
        """Corrects the clock by the reported time, or handles a gap or step."""
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
            silence = min(round(error_s * MIC_RATE_HZ), len(self._samples))
            self._write(np.zeros(silence, np.float32))
            self._origin = self._end
        else:
            self.steps += 1
        self._origin_s = leaves_s - self._origin / MIC_RATE_HZ

    def _flush(self) -> None:
        self._write(self._resampler.flush().astype(np.float32))
        self._origin = self._end

    def _write(self, sound: Float32) -> None:
        places = np.arange(self._end, self._end + len(sound)) % len(self._samples)
        self._samples[places] = sound
        self._end += len(sound)

    def _interpolated(self, first: float, step: float, samples: int) -> Pcm:
        """Interpolates `samples` values at first, first + step, …"""
        positions = first + step * np.arange(samples, dtype=np.float64)
        whole = np.floor(positions).astype(np.int64)
        phase = np.rint((positions - whole) * _PHASES).astype(np.int64)
        begin = int(whole[0]) - _BEFORE
        near = self._span(begin, int(whole[-1]) + _TAPS - _BEFORE)
        if not near.any():
            return np.zeros(samples, np.int16)
        windows = np.lib.stride_tricks.sliding_window_view(near, _TAPS)[whole - _BEFORE - begin]
        sound = np.einsum("ij,ij->i", windows, _TABLE[phase])
        pcm: Pcm = np.rint(np.clip(sound, -32_768, 32_767)).astype(np.int16)
        return pcm

    def _span(self, begin: int, end: int) -> Float32:
        """Returns the samples from `begin` to `end`; zeros where they were dropped or are not known yet."""
        span = np.zeros(end - begin, np.float32)
        since, until = max(begin, self._end - len(self._samples), 0), min(end, self._end)
        if since < until:
            span[since - begin : until - begin] = self._samples[np.arange(since, until) % len(self._samples)]
        return span
