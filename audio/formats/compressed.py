"""Reads recordings by FFmpeg that libsndfile cannot decode, or not without output to the terminal: mp3, m4a, webm.

It uses PyAV, which faster-whisper requires anyway. Import this module only when needed: importing PyAV takes longer
than decoding a short recording.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import av
import numpy as np
import numpy.typing as npt
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer

_FORMATS = "mp3,mov,mp4,m4a,matroska,webm,aac,amr,asf,wav,flac"
"""Allowed formats: what phones and browsers record, and FLAC of unknown length. Others may refer to further files or
addresses."""

_SLACK_S = 0.25
"""Tolerance in seconds for a recording shorter than its header says: encoders count padding differently."""

_HEAD_BYTES = 16_384
"""Size that contains the first frame of an mp3 file after a tag of usual length."""


class NotDecodedError(Exception):
    """FFmpeg finds no audio that it can decode."""


@dataclass(frozen=True, slots=True)
class DecodedRecording:
    """Facts about a recording.

    Attributes:
        samples: Decodable samples per channel.
        cut_off: Whether the header declares more.
    """

    rate_hz: int
    channels: int
    samples: int
    cut_off: bool


def look(path: Path) -> DecodedRecording:
    """Decodes the whole file, because only that determines its length. Raises NotDecodedError, OSError."""
    with _opened(path) as (container, stream):
        rate_hz, channels = stream.rate, stream.layout.nb_channels
        declared_s = _declared_s(path, container, stream)
        samples = sum(len(block) for block in _blocks(container, stream))
    return DecodedRecording(rate_hz, channels, samples, cut_off=samples / rate_hz < declared_s - _SLACK_S)


def sound_of(path: Path, n: int) -> Generator[npt.NDArray[np.float32]]:
    """Yields the audio in blocks of n samples, of shape (n, channels); the last may be shorter.

    Damaged parts are omitted. Raises NotDecodedError, OSError.
    """
    with _opened(path) as (container, stream):
        waiting: list[npt.NDArray[np.float32]] = []
        for block in _blocks(container, stream):
            waiting.append(block)
            if sum(map(len, waiting)) < n:
                continue
            sound = np.concatenate(waiting)
            whole = len(sound) - len(sound) % n
            yield from (sound[start : start + n] for start in range(0, whole, n))
            waiting = [sound[whole:]]
        if rest := sum(map(len, waiting)):
            yield np.concatenate(waiting)[:rest]


def blocks_in(file: BinaryIO) -> Generator[tuple[int, npt.NDArray[np.float32]]]:
    """Yields the rate in Hz and the audio of an open file in blocks of any length, of shape (samples, channels).

    Damaged parts are omitted. Raises NotDecodedError, OSError.
    """
    with _stream_in(file) as (container, stream):
        for block in _blocks(container, stream):
            yield stream.rate, block


@contextmanager
def _opened(path: Path) -> Generator[tuple[InputContainer, AudioStream]]:
    with path.open("rb") as file, _stream_in(file) as container_and_stream:
        yield container_and_stream


@contextmanager
def _stream_in(file: BinaryIO) -> Generator[tuple[InputContainer, AudioStream]]:
    try:
        # An open file, because a name may look like an address.
        container = av.open(file, "r", options={"format_whitelist": _FORMATS})
    except (av.FFmpegError, ValueError) as error:
        raise NotDecodedError from error
    with container:
        stream = next(iter(container.streams.audio), None)
        known = stream is not None and stream.codec_context is not None
        if stream is None or not known or not stream.rate or not stream.layout.nb_channels:
            raise NotDecodedError
        yield container, stream


def _blocks(container: InputContainer, stream: AudioStream) -> Generator[npt.NDArray[np.float32]]:
    """Yields the decoded audio, of shape (samples, channels)."""
    channels = stream.layout.nb_channels
    to_floats = av.AudioResampler(format="flt", layout=stream.layout, rate=stream.rate)
    try:
        for frame in _frames(container, stream):
            for made in to_floats.resample(frame):
                yield made.to_ndarray().astype(np.float32, copy=False).reshape(-1, channels)
        for made in to_floats.resample(None):
            yield made.to_ndarray().astype(np.float32, copy=False).reshape(-1, channels)
    except (av.FFmpegError, ValueError) as error:
        raise NotDecodedError from error


def _frames(container: InputContainer, stream: AudioStream) -> Generator[AudioFrame]:
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except (StopIteration, av.FFmpegError):  # the end, or damage after which no packet is found
            return
        try:
            yield from packet.decode()
        except av.FFmpegError:
            continue  # a damaged packet; the next ones may be intact


def _declared_s(path: Path, container: InputContainer, stream: AudioStream) -> float:
    """Returns the duration declared by the header; 0 if there is none."""
    if stream.duration is None or stream.time_base is None:
        return 0.0
    if "mp3" in container.format.name:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if b"Xing" not in head and b"Info" not in head:
            return 0.0  # FFmpeg only estimates it from the file size
    return float(stream.duration * stream.time_base)
