"""Encodes the sound of a reply as a file while it is made: MP3, Opus in Ogg, FLAC, AAC (ADTS)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import av
import numpy as np

from audio.units import REPLY_RATE_HZ, Pcm

FileFormat = Literal["mp3", "opus", "flac", "aac"]

BIT_RATE = 64_000
"""Bits per second of the formats that lose something: transparent for mono speech."""


class _Form(NamedTuple):
    container: str
    codec: str
    options: Mapping[str, str]


_FORMS: Mapping[FileFormat, _Form] = MappingProxyType(
    {
        # Without headers that would have to be written again at the end.
        "mp3": _Form("mp3", "libmp3lame", {"write_xing": "0", "id3v2_version": "0"}),
        "opus": _Form("ogg", "libopus", {"page_duration": "100000"}),  # microseconds, so that sound comes early
        "flac": _Form("flac", "flac", {}),
        "aac": _Form("adts", "aac", {}),
    }
)


class StreamEncoder:
    """Encodes mono sound at the rate of replies. Not thread-safe, but each call may come from another thread.

    A call takes about 2 % of the length of its sound.
    """

    def __init__(self, form: FileFormat) -> None:
        """Begins a file."""
        container, codec, options = _FORMS[form]
        self._written = _Written()
        self._file = av.open(self._written, "w", format=container, options={**options, "flush_packets": "1"})
        stream = self._file.add_stream(codec, rate=REPLY_RATE_HZ)
        assert isinstance(stream, av.AudioStream)
        self._stream = stream
        self._stream.layout = "mono"
        if form != "flac":
            self._stream.bit_rate = BIT_RATE

    def encode(self, pcm: Pcm) -> bytes:
        """Returns what can be written of the file so far, perhaps nothing."""
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(pcm)[None], format="s16", layout="mono")
        frame.sample_rate = REPLY_RATE_HZ
        self._file.mux(self._stream.encode(frame))
        return self._written.take()

    def finish(self) -> bytes:
        """Returns the end of the file."""
        self._file.mux(self._stream.encode(None))
        self._file.close()
        return self._written.take()


class _Written:
    """A file that cannot be rewound, of which the program takes what was written."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken
