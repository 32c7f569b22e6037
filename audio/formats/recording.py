"""Reads recordings of any rate and channel count: wav, flac, ogg, mp3, m4a and others (libsndfile or FFmpeg)."""

import io
import logging
import shlex
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from audio.errors import AudioFileError
from audio.resample import to_pcm

log = logging.getLogger(__name__)

_MIN_HZ, _MAX_HZ = 4_000, 384_000
_COUNT_BLOCK = 1024
_OGG_PAGE_BYTES = 65_307  # longest possible page
_NO_LENGTH = 0xFFFF_FFFF  # length written by a program that writes into a pipe
_NO_LENGTHS = frozenset({_NO_LENGTH, 0x8000_0000, 0x7FFF_F000})  # the same, by ffmpeg, arecord, sox
_MAX_CHUNKS = 64


@dataclass(frozen=True, slots=True)
class Recording:
    """A readable recording.

    Attributes:
        path: The file.
        rate_hz: Samples per second.
        channels: Number of channels.
        samples: Samples per channel that can be read; never 0.
        duration_s: Duration in seconds.
        warning: A sentence for the user if the file is truncated or was never finished, else None.
        compressed: Whether FFmpeg decodes it instead of libsndfile.
    """

    path: Path
    rate_hz: int
    channels: int
    samples: int
    duration_s: float
    warning: str | None
    compressed: bool = False

    def blocks(self, n: int) -> Generator[npt.NDArray[np.int16]]:
        """Yields the audio in blocks of n samples, int16 of shape (n, channels); the last may be shorter.

        Reads on demand: at most one block is in memory. Floats are clipped; NaN and infinity become silence and are
        logged. Raises AudioFileError if the file is damaged or has changed.
        """
        cleaned = False
        with closing(self._decoded(n)) as decoded:
            for sound in decoded:
                finite = np.isfinite(sound)
                if not finite.all():
                    sound[~finite] = 0.0
                    if not cleaned:
                        log.warning("%s has samples that are not numbers; they are played as silence", self.path)
                        cleaned = True
                yield to_pcm(sound)

    def _decoded(self, n: int) -> Generator[npt.NDArray[np.float32]]:
        if not self.compressed:
            with _opened(self.path) as file:
                for start in range(0, self.samples, n):
                    yield self._read(file, min(n, self.samples - start))
            return
        from audio.formats.compressed import NotDecodedError, sound_of  # noqa: PLC0415 - on use: some 100 ms

        read = 0
        try:
            for sound in sound_of(self.path, n):
                read += len(sound)
                if read > self.samples:
                    raise _damaged(self.path)
                yield sound
        except (NotDecodedError, OSError) as error:
            raise _damaged(self.path) from error
        if read < self.samples:
            raise _damaged(self.path)

    def _read(self, file: soundfile.SoundFile, n: int) -> npt.NDArray[np.float32]:
        try:
            sound: npt.NDArray[np.float32] = file.read(n, dtype="float32", always_2d=True)
        except soundfile.LibsndfileError as error:
            raise _damaged(self.path) from error
        if len(sound) < n:
            raise _damaged(self.path)
        return sound


def open_recording(path: str | PathLike[str]) -> Recording:
    """Examines a recording; its audio is read later.

    A truncated file, or one with an incomplete header, is accepted as far as it can be read, with a warning.

    Raises:
        AudioFileError: It is missing, not a file, not permitted, empty, not audio, without samples, or of an
            implausible rate (below 4 kHz or above 384 kHz).
    """
    path = Path(path)
    _check_bytes(path)
    if _is_for_ffmpeg(path):
        return _open_compressed(path)
    with _opened(path) as file:
        rate_hz, channels, declared = file.samplerate, file.channels, file.frames
        _check_rate(path, rate_hz)
        samples = declared if _ends_where_it_says(file) else _count(path)
    _check_samples(path, samples)
    warning = None
    if samples < declared:
        warning = _cut_off(path, samples, rate_hz)
    elif _unfinished_at(path) is not None:
        warning = (
            f"{path} was not finished, so its header has no length: all {samples / rate_hz:.1f} s are read; "
            "record it again if some of it is missing."
        )
    elif _is_cut_off(path):
        warning = f"{path} is cut off after {samples / rate_hz:.1f} s; fetch or record it again if you need the rest."
    return Recording(path, rate_hz, channels, samples, samples / rate_hz, warning)


def _is_for_ffmpeg(path: Path) -> bool:
    """Returns whether libsndfile cannot open it, or prints to the terminal while decoding, as its mp3 decoder does."""
    with path.open("rb") as file:
        head = file.read(3)
    if head == b"ID3" or (len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0):  # an ID3 tag, or an MPEG frame
        return True
    try:
        with _opened(path) as opened:
            return str(opened.subtype).startswith("MPEG")
    except AudioFileError:
        return True


def _open_compressed(path: Path) -> Recording:
    from audio.formats.compressed import NotDecodedError, look  # noqa: PLC0415 - on use, as above

    try:
        recording = look(path)
    except (NotDecodedError, OSError) as error:
        raise AudioFileError(
            f"{path} is not a recording that can be read (wav, flac, ogg, mp3, m4a, webm); convert it, for example "
            f"with `ffmpeg -i {shlex.quote(str(path))} speech.wav`."
        ) from error
    _check_rate(path, recording.rate_hz)
    _check_samples(path, recording.samples)
    warning = _cut_off(path, recording.samples, recording.rate_hz) if recording.cut_off else None
    duration_s = recording.samples / recording.rate_hz
    return Recording(
        path, recording.rate_hz, recording.channels, recording.samples, duration_s, warning, compressed=True
    )


def _check_rate(path: Path, rate_hz: int) -> None:
    if not _MIN_HZ <= rate_hz <= _MAX_HZ:
        raise AudioFileError(
            f"{path} has a sample rate of {rate_hz} Hz, which is outside the range of speech "
            f"({_MIN_HZ} to {_MAX_HZ} Hz); record or convert it again."
        )


def _check_samples(path: Path, samples: int) -> None:
    if samples == 0:
        raise AudioFileError(f"{path} has only a header and no samples; record it again.")


def _cut_off(path: Path, samples: int, rate_hz: int) -> str:
    return f"{path} is cut off: {samples / rate_hz:.1f} s can be read; fetch or record it again if you need the rest."


def _check_bytes(path: Path) -> None:
    """Refuses files for which libsndfile would give no helpful reason."""
    try:
        if path.is_dir():
            raise AudioFileError(f"{path} is a directory; name a recording in it.")
        if not path.exists():
            raise AudioFileError(f"{path} does not exist; check the name.")
        if not path.is_file():
            raise AudioFileError(f"{path} is not a regular file; name a recording.")
        with path.open("rb") as file:
            if not file.read(1):
                raise AudioFileError(f"{path} is empty (0 bytes); record it again.")
    except PermissionError as error:
        raise AudioFileError(f"this user may not read {path}; change its permissions.") from error
    except (OSError, ValueError) as error:
        raise AudioFileError(f"{path} cannot be read ({error}); check the name and the disk.") from error


class _Unfinished:
    """Reads a WAV file as if its length was unknown, which is what a WAV file written into a pipe says.

    The length field is at `length_at`.
    """

    def __init__(self, file: io.BufferedReader, length_at: int) -> None:
        self.seek, self.tell = file.seek, file.tell
        self._file = file
        self._length_at = length_at

    def read(self, count: int) -> bytes:
        begin = self.tell()
        read = bytearray(self._file.read(count))
        for index in range(max(begin, self._length_at), min(begin + len(read), self._length_at + 4)):
            read[index - begin] = 0xFF
        return bytes(read)


@contextmanager
def _opened(path: Path) -> Generator[soundfile.SoundFile]:
    with ExitStack() as stack:
        source: Path | _Unfinished = path
        with suppress(OSError):  # libsndfile reports the error
            if (length_at := _unfinished_at(path)) is not None:
                source = _Unfinished(stack.enter_context(path.open("rb")), length_at)
        yield stack.enter_context(_sound_file(path, source))


def _sound_file(path: Path, source: Path | _Unfinished) -> soundfile.SoundFile:
    try:
        return soundfile.SoundFile(source)
    except (soundfile.LibsndfileError, TypeError) as error:
        # TypeError: soundfile treats *.raw as headerless audio and requires its rate.
        raise _damaged(path) from error


def _damaged(path: Path) -> AudioFileError:
    return AudioFileError(f"{path} is damaged or was changed while it was read; fetch or record it again.")


def _ends_where_it_says(file: soundfile.SoundFile) -> bool:
    """Returns whether the last sample can be read. libsndfile trusts the headers of compressed formats."""
    if file.frames == 0:
        return True
    try:
        # In a damaged MP3 file, seek goes to another position, also past the end.
        return file.seek(file.frames - 1) == file.frames - 1 and len(file.read(1, dtype="float32")) == 1
    except soundfile.LibsndfileError:
        return False


def _count(path: Path) -> int:
    """Counts the samples that can be decoded before the first error; reads the whole file in blocks."""
    counted = 0
    with _opened(path) as file:
        block = np.empty((_COUNT_BLOCK, file.channels), np.float32)
        try:
            while read := len(file.read(out=block)):
                counted += read
        except soundfile.LibsndfileError:
            pass  # the damage begins here
    return counted


def _is_cut_off(path: Path) -> bool:
    """Returns whether the container declares more data than there is. libsndfile silently accepts that."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(8)
        if head[:4] == b"RIFF":
            declared, chunk = _number(head[4:]), _sound_chunk(file)
            unknown = declared == _NO_LENGTH or (chunk is not None and chunk[1] in _NO_LENGTHS)
            return not unknown and declared + 8 > size
        if head[:4] == b"OggS":
            file.seek(max(0, size - _OGG_PAGE_BYTES))
            tail = file.read()
            last_page = tail.rfind(b"OggS")
            flags = tail[last_page + 5 : last_page + 6]
            return last_page < 0 or not flags or not flags[0] & 4  # 4: end of stream (RFC 3533, section 6)
    return False


def _unfinished_at(path: Path) -> int | None:
    """Returns the offset of a missing length in a WAV file with audio after it, whose program did not finish it.

    A file that really has no audio declares its own length correctly.
    """
    with path.open("rb") as file:
        head = file.read(8)
        chunk = _sound_chunk(file) if head[:4] == b"RIFF" else None
    if chunk is None:
        return None
    length_at, length = chunk
    sound_at = length_at + 4
    return length_at if length == 0 and _number(head[4:]) + 8 <= sound_at < path.stat().st_size else None


def _sound_chunk(file: io.BufferedReader) -> tuple[int, int] | None:
    """Returns the offset and value of the data length of a WAV file; None without a data chunk."""
    position = 12
    for _ in range(_MAX_CHUNKS):
        file.seek(position)
        head = file.read(8)
        if len(head) < 8:
            return None
        length = _number(head[4:])
        if head[:4] == b"data":
            return position + 4, length
        position += 8 + length + length % 2
    return None


def _number(little: bytes) -> int:
    return int.from_bytes(little, "little")
