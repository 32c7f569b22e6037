"""Decoding of uploaded recordings in a process of its own."""

import asyncio
import io
import struct
from collections.abc import Callable
from contextlib import aclosing

import numpy as np
import pytest
import soundfile

from audio.errors import AudioFileError
from audio.formats.upload_decoder import TooLongError, decoded
from audio.units import MIC_RATE_HZ, Pcm

TONE_HZ = 440


def recorded(form: str, seconds: float = 1.0, rate_hz: int = 44_100, channels: int = 2) -> bytes:
    file = io.BytesIO()
    tone = 0.5 * np.sin(np.arange(round(seconds * rate_hz)) * (2 * np.pi * TONE_HZ / rate_hz))
    soundfile.write(file, np.stack([tone] * channels, axis=1), rate_hz, format=form)
    return file.getvalue()


def decode(content: bytes, max_s: int = 60) -> Pcm:
    async def main() -> Pcm:
        async with aclosing(decoded(content, max_s)) as parts:
            return np.concatenate([np.zeros(0, np.int16), *[part async for part in parts]])

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("form", "rate_hz", "channels"),
    [("WAV", 8_000, 1), ("FLAC", 44_100, 2), ("OGG", 44_100, 1), ("MP3", 48_000, 2)],
)
def test_recordings_become_microphone_samples(form: str, rate_hz: int, channels: int) -> None:
    pcm = decode(recorded(form, 1.5, rate_hz, channels))
    assert len(pcm) == pytest.approx(1.5 * MIC_RATE_HZ, rel=0.06)
    middle = pcm[4_000:20_000].astype(float)
    assert np.argmax(np.abs(np.fft.rfft(middle))) == pytest.approx(TONE_HZ, abs=1)  # 1 s: a bin is 1 Hz
    assert np.abs(middle).max() == pytest.approx(0.5 * 32_768, rel=0.1)


def test_wav_file_of_unknown_length_is_read() -> None:
    whole = bytearray(recorded("WAV", 1.0, 16_000, 1))
    at = whole.index(b"data") + 4
    whole[at : at + 4] = struct.pack("<I", 0xFFFF_FFFF)
    assert len(decode(bytes(whole))) == pytest.approx(MIC_RATE_HZ, abs=10)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(10_000), id="zeros"),
        pytest.param(b"<html>" * 100, id="page"),
        pytest.param(b"#EXTM3U\nhttp://127.0.0.1/a.mp3\n", id="playlist"),
    ],
)
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(AudioFileError, match="not a recording"):
        decode(content)


def damaged(content: bytes, damage: Callable[[bytearray], None]) -> bytes:
    changed = bytearray(content)
    damage(changed)
    return bytes(changed)


@pytest.mark.parametrize("form", ["WAV", "FLAC", "OGG", "MP3"])
def test_damaged_recordings_end_in_sound_or_an_error(form: str) -> None:
    content = recorded(form)
    random = np.random.default_rng(7)
    for _ in range(2):
        changed = damaged(content, lambda file: file.__setitem__(int(random.integers(len(file))), 0xA5))
        try:
            pcm = decode(changed[: int(random.integers(len(changed)))])
        except AudioFileError:
            continue
        assert len(pcm) <= 2 * MIC_RATE_HZ


def test_long_recording_is_refused() -> None:
    with pytest.raises(TooLongError):
        decode(recorded("FLAC", 3.0), max_s=2)


async def test_process_ends_when_the_rest_is_not_wanted() -> None:
    parts = decoded(recorded("FLAC", 120.0, 16_000, 1), 200)
    first = await anext(parts)
    assert len(first) == MIC_RATE_HZ
    await asyncio.sleep(0.5)  # the pipe is full
    async with asyncio.timeout(10):
        await parts.aclose()
