"""Converts rates and channels to those of the microphone line and the wire."""

import numpy as np
import numpy.typing as npt
import soxr

from audio.polyphase import MAX_PHASES, Polyphase, phases
from audio.units import FULL_SCALE, MIC_RATE_HZ, Pcm

Float32 = npt.NDArray[np.float32]

_NOTHING = np.zeros(0, np.float32)


def mixdown(block: npt.NDArray[np.int16]) -> Pcm:
    """Averages the channels: (n, channels) or (n,) to (n,). A single channel is returned without a copy."""
    if block.ndim == 1:
        return block
    if block.shape[1] == 1:
        return block[:, 0]
    mean: Float32 = block.mean(axis=1, dtype=np.float32)
    return np.rint(mean).astype(np.int16)


def to_pcm(sound: Float32) -> Pcm:
    """Converts floats of full scale ±1 to int16, rounded and clipped. Keeps the shape."""
    return _rounded(sound * np.float32(FULL_SCALE))


def _rounded(sound: Float32) -> Pcm:
    """Converts floats of int16 scale to int16. Overwrites them."""
    # np.clip has more overhead, which matters at fifty calls a second per conversation.
    np.rint(sound, out=sound)
    np.minimum(sound, np.float32(FULL_SCALE - 1), out=sound)
    np.maximum(sound, np.float32(-FULL_SCALE), out=sound)
    return sound.astype(np.int16)


def to_float(pcm: npt.NDArray[np.int16]) -> Float32:
    """Converts int16 to floats of full scale ±1. Keeps the shape."""
    return np.multiply(pcm, np.float32(1 / FULL_SCALE), dtype=np.float32)


class StreamResampler:
    """Resamples mono int16 of any rate to another rate, block by block. Not thread-safe.

    Output sample k is the audio at k / to_hz after the first input sample: the filter's delay is compensated. The
    newest input is held back. Rates in a simple ratio (8, 24, 32, 48, 96 kHz to 16) use our own filter and hold back
    2 to 4 ms. Other rates use soxr (quality LQ, 20 ms blocks of 22.05 and 44.1 kHz: at most 22 ms; HQ would hold back
    37). So date positions by `received`, never by the length of the output.

    Samples are processed as floats: for int16, soxr adds dither seeded by the clock, so silence would not stay silent
    and runs would not be reproducible.
    """

    def __init__(self, from_hz: int, to_hz: int = MIC_RATE_HZ) -> None:
        """Creates a resampler. Both rates must be positive."""
        self._from_hz = from_hz
        self._to_hz = to_hz
        self._short: Polyphase | None = None
        self._stream: soxr.ResampleStream | None = None
        if from_hz != to_hz and phases(from_hz, to_hz) <= MAX_PHASES:
            self._short = Polyphase(from_hz, to_hz)
        elif from_hz != to_hz:
            self._stream = soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32", quality="LQ")
        self._taken = 0
        self._given = 0

    @property
    def received(self) -> int:
        """Length of the audio pushed since the last flush, in output samples, rounded to the nearest."""
        return self.received_with(0)

    def received_with(self, more: int) -> int:
        """Returns `received` plus `more` input samples that are not pushed yet."""
        # Integers are exact after any number of hours; a half is rounded up, as soxr does at its flush.
        return (2 * (self._taken + more) * self._to_hz + self._from_hz) // (2 * self._from_hz)

    @property
    def given(self) -> int:
        """Length of the output since the last flush; `received - given` is held back."""
        return self._given

    @property
    def held_back(self) -> int:
        """Output samples that are always held back; 0 for soxr, where the number varies."""
        return 0 if self._short is None else self._short.held_back

    def push_samples(self, pcm: Pcm) -> Pcm:
        """Processes the next samples (n,), gapless; returns what is ready, possibly nothing."""
        self._taken += len(pcm)
        out = pcm
        if self._short is not None:
            out = _rounded(self._short.push_samples(pcm.astype(np.float32)))
        elif self._stream is not None:
            out = to_pcm(self._stream.resample_chunk(to_float(pcm)))
        self._given += len(out)
        return out

    def flush(self) -> Pcm:
        """Returns what was held back, so that exactly `received` samples were returned. Resets for a new sound."""
        rest = np.zeros(0, np.int16)
        if self._short is not None:
            rest = _rounded(self._short.finish(self.received - self._given))
            self._short.clear()
        elif self._stream is not None:
            rest = to_pcm(self._stream.resample_chunk(_NOTHING, last=True))
            self._stream.clear()
        self._taken = self._given = 0
        return rest
