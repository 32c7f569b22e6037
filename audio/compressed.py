"""Reads recordings that libsndfile cannot decode, or not without printing to the terminal: mp3, m4a, webm and others.

FFmpeg decodes them, by PyAV, which faster-whisper needs anyway. Import this module on use: PyAV takes longer to import
than to decode a short recording.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer

_FORMATS = "mp3,mov,mp4,m4a,matroska,webm,aac,amr,asf,wav"
"""Of FFmpeg's many: what telephones and browsers record. Others may name further files, or addresses."""

_SLACK_S = 0.25
"""A recording that is shorter by less than its header says is whole: encoders count their padding differently."""

_HEAD_BYTES = 16_384
"""The first frame of an mp3 file lies within them, behind a tag of usual length."""


class NotDecodedError(Exception):
    """FFmpeg finds no sound in it that it can decode."""


@dataclass(frozen=True, slots=True)
class DecodedRecording:
    """What a recording holds.

    Attributes:
        samples: Per channel, as many as can be decoded.
        cut_off: Its header says that there should be more.
    """

    rate_hz: int
    channels: int
    samples: int
    cut_off: bool


def look(path: Path) -> DecodedRecording:
    """Decode the whole file and say what it holds: only that tells its length. Raises NotDecodedError, OSError."""
    with _opened(path) as (container, stream):
        rate_hz, channels = stream.rate, stream.layout.nb_channels
        declared_s = _declared_s(path, container, stream)
        samples = sum(len(block) for block in _blocks(container, stream))
    return DecodedRecording(rate_hz, channels, samples, cut_off=samples / rate_hz < declared_s - _SLACK_S)


def sound_of(path: Path, n: int) -> Generator[npt.NDArray[np.float32]]:
    """The sound in blocks of n samples, of shape (n, channels); the last may be shorter.

    Damaged stretches are left out. Raises NotDecodedError, OSError.
    """
    with _opened(path) as (container, stream):
        waiting: list[npt.NDArray[np.float32]] = []
        for block in _blocks(container, stream):
            waiting.append(block)
            if sum(map(len, waiting)) < n:
                continue
            sound = np.concatenate(waiting)
            whole = len(sound) - len(sound) % n
            yield from (sound[at : at + n] for at in range(0, whole, n))
            waiting = [sound[whole:]]
        if rest := sum(map(len, waiting)):
            yield np.concatenate(waiting)[:rest]


@contextmanager
def _opened(path: Path) -> Generator[tuple[InputContainer, AudioStream]]:
    with path.open("rb") as file:
        try:
            # As a file that is open: a name may look like an address.
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
    """The sound as it is decoded, of shape (samples, channels)."""
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
        except (StopIteration, av.FFmpegError):  # the end, or damage behind which no packet is found
            return
        try:
            yield from packet.decode()
        except av.FFmpegError:
            continue  # a damaged packet; the next ones may be whole


def _declared_s(path: Path, container: InputContainer, stream: AudioStream) -> float:
    """How long the header says that it is; 0 where nothing says so."""
    if stream.duration is None or stream.time_base is None:
        return 0.0
    if "mp3" in container.format.name:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if b"Xing" not in head and b"Info" not in head:
            return 0.0  # FFmpeg guesses by the size of the file
    return float(stream.duration * stream.time_base)
