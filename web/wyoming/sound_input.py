"""Converts the sound of a client to the microphone line: 16 kHz, mono."""

from collections.abc import Iterator

import numpy as np
from wyoming.audio import AudioChunk, AudioStart
from wyoming.event import Event

from audio.resample import StreamResampler, mixdown
from audio.units import MIC_RATE_HZ, Pcm
from web.wyoming.events import WyomingError

RATES_HZ = 4_000, 192_000
MAX_CHANNELS = 8
WIDTH_BYTES = 2

_STEP_S = 1
"""Sound that is converted at once, in seconds."""


class SoundInput:
    """The sound of one stream. Each chunk tells its own format."""

    def __init__(self) -> None:
        """Begins without sound."""
        self.began_ms: int | None = None  # time of the first chunk on the client's clock, if it tells it
        self._format: tuple[int, int] | None = None  # rate and channels
        self._resampler = StreamResampler(MIC_RATE_HZ)
        self._rest = b""  # bytes of a sample that is not complete

    def begin(self, event: Event) -> None:
        """Checks the format of `audio-start`. Raises WyomingError."""
        try:
            start = AudioStart.from_event(event)
        except (KeyError, TypeError, ValueError):
            raise _no_format() from None
        self._set_format(start.rate, start.width, start.channels)

    def chunk(self, event: Event) -> Iterator[Pcm]:
        """Yields the sound of `audio-chunk`, a second at a time. Raises WyomingError."""
        try:
            chunk = AudioChunk.from_event(event)
        except (KeyError, TypeError, ValueError, AssertionError):
            raise _no_format() from None
        channels = self._set_format(chunk.rate, chunk.width, chunk.channels)
        if self.began_ms is None:
            self.began_ms = chunk.timestamp if isinstance(chunk.timestamp, int) else 0
        sound = self._rest + chunk.audio
        step = WIDTH_BYTES * channels
        whole = len(sound) // step * step
        self._rest = sound[whole:]
        samples = np.frombuffer(sound[:whole], "<i2").astype(np.int16, copy=False).reshape(-1, channels)
        for start in range(0, len(samples), _STEP_S * chunk.rate):
            yield self._resampler.push_samples(mixdown(samples[start : start + _STEP_S * chunk.rate]))

    def end(self) -> Pcm:
        """Returns the last sound that the conversion holds back."""
        self._rest = b""
        return self._resampler.flush()

    def _set_format(self, rate_hz: object, width: object, channels: object) -> int:
        """Checks a format and returns the channels. Raises WyomingError."""
        if not (isinstance(rate_hz, int) and isinstance(width, int) and isinstance(channels, int)):
            raise _no_format()
        low, high = RATES_HZ
        if not low <= rate_hz <= high:
            raise WyomingError("invalid_audio", f"rate must be {low} to {high} Hz")
        if width != WIDTH_BYTES:
            raise WyomingError("invalid_audio", f"width must be {WIDTH_BYTES} bytes: send 16-bit samples")
        if not 1 <= channels <= MAX_CHANNELS:
            raise WyomingError("invalid_audio", f"channels must be 1 to {MAX_CHANNELS}")
        if (rate_hz, channels) != self._format:
            self._format, self._rest = (rate_hz, channels), b""
            self._resampler = StreamResampler(rate_hz)
        return channels


def _no_format() -> WyomingError:
    return WyomingError("invalid_audio", "rate, width and channels of the sound must be numbers")
