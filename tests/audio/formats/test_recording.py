"""Valid and invalid recordings: each invalid one gives an error message, none a traceback."""

import logging
import shlex
import tracemalloc
from contextlib import suppress
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from audio.errors import AudioFileError
from audio.formats.recording import Recording, open_recording

RECORDINGS = Path(__file__).parents[2] / "recordings"


def tone(rate_hz: int, seconds: float, channels: int = 1) -> npt.NDArray[np.float64]:
    wave = 0.5 * np.sin(2 * np.pi * 300 * np.arange(round(rate_hz * seconds)) / rate_hz)
    return np.repeat(wave[:, None], channels, axis=1)


def whole(recording: Recording, n: int = 320) -> npt.NDArray[np.int16]:
    return np.concatenate(list(recording.blocks(n)))


@pytest.mark.parametrize(
    ("name", "subtype", "rate_hz", "channels", "tolerance"),
    [
        pytest.param("a.wav", "PCM_16", 16_000, 1, 1, id="WAV 16 bit"),
        pytest.param("a.wav", "PCM_U8", 8_000, 1, 257, id="WAV 8 bit"),
        pytest.param("a.wav", "PCM_24", 44_100, 1, 1, id="WAV 24 bit"),
        pytest.param("a.wav", "PCM_32", 48_000, 2, 1, id="WAV 32 bit stereo"),
        pytest.param("a.wav", "FLOAT", 48_000, 2, 1, id="WAV float"),
        pytest.param("a.wav", "DOUBLE", 22_050, 1, 1, id="WAV double"),
        pytest.param("a.wav", "ULAW", 8_000, 1, 1024, id="WAV u-law"),
        pytest.param("a.wav", "PCM_16", 96_000, 6, 1, id="WAV six channels"),
        pytest.param("a.flac", "PCM_16", 44_100, 2, 1, id="FLAC stereo"),
        pytest.param("a.flac", "PCM_24", 16_000, 1, 1, id="FLAC 24 bit"),
        pytest.param("a.ogg", "VORBIS", 48_000, 2, 3000, id="Vorbis"),
        pytest.param("a.ogg", "OPUS", 48_000, 1, 3000, id="Opus"),
    ],
)
def test_formats_are_read(tmp_path: Path, name: str, subtype: str, rate_hz: int, channels: int, tolerance: int) -> None:
    sound = tone(rate_hz, 0.5, channels)
    soundfile.write(tmp_path / name, sound, rate_hz, subtype=subtype)
    recording = open_recording(tmp_path / name)
    assert (recording.rate_hz, recording.channels, recording.warning) == (rate_hz, channels, None)
    assert recording.duration_s == pytest.approx(0.5, abs=0.001)
    out = whole(recording)
    assert out.dtype == np.int16
    assert out.shape == (recording.samples, channels)
    error = np.abs(out - sound[: len(out)] * 32_768)
    assert error[: -rate_hz // 50].max() <= tolerance  # opus rings out in its last 20 ms


def test_real_recording_is_read() -> None:
    path = RECORDINGS / "rhasspy3_what-time-is-it.wav"
    recording = open_recording(str(path))
    reference, _ = soundfile.read(path, dtype="int16", always_2d=True)
    np.testing.assert_array_equal(whole(recording, 777), reference)


def refused(path: Path) -> str:
    with pytest.raises(AudioFileError) as caught:
        whole(open_recording(path))
    text = str(caught.value)
    assert str(path) in text
    assert text.endswith(".")
    assert "\n" not in text
    return text


def test_missing_file_is_reported(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "nothing.wav")


def test_directory_is_refused(tmp_path: Path) -> None:
    assert "directory" in refused(tmp_path)


def test_device_file_is_refused() -> None:
    assert "not a regular file" in refused(Path("/dev/null"))


def test_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"x")
    assert "a.wav" in refused(tmp_path / "a.wav" / "b.wav")


def test_impossible_file_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AudioFileError):
        open_recording(tmp_path / "a\0b.wav")


def test_missing_permission_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, tone(16_000, 0.1), 16_000)

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)  # root may read everything, so permissions alone are no test
    assert "permissions" in refused(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("a.wav", b"", "empty", id="empty"),
        pytest.param("a.wav", b"\0" * 5000, "not a recording", id="zero bytes"),
        pytest.param("a.wav", b"hello, this is no sound at all\n" * 50, "not a recording", id="text"),
        pytest.param("a.wav", b"<!doctype html><html><body>404</body></html>", "not a recording", id="web page"),
        pytest.param("a.wav", b"RIFF\x24\0\0\0WAVEfmt ", "not a recording", id="truncated WAV header"),
        pytest.param("a.raw", b"\1\2" * 5000, "not a recording", id="raw samples"),
        pytest.param("a.mp3", b"ID3\4\0\0", "not a recording", id="truncated MP3"),
        pytest.param("a.flac", b"fLaC", "not a recording", id="truncated FLAC"),
        pytest.param("a.ogg", b"OggS\0\2", "not a recording", id="truncated Ogg"),
    ],
)
def test_file_without_audio_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert message in refused(path)


def test_file_with_only_a_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, np.zeros(0), 16_000, subtype="PCM_16")
    assert "no samples" in refused(path)


@pytest.mark.parametrize("rate_hz", [100, 1_000_000], ids="{} Hz".format)
def test_implausible_rate_is_refused(tmp_path: Path, rate_hz: int) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, np.zeros(100), rate_hz)
    assert str(rate_hz) in refused(path)


@pytest.mark.parametrize(
    ("name", "subtype"),
    [("a.wav", "PCM_16"), ("a.wav", "FLOAT"), ("a.flac", "PCM_16"), ("a.ogg", "VORBIS")],
    ids=["WAV", "WAV float", "FLAC", "Ogg"],
)
def test_truncated_file_is_read_with_warning(tmp_path: Path, name: str, subtype: str) -> None:
    path = tmp_path / name
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, 160_000)
    soundfile.write(path, noise, 16_000, subtype=subtype)
    assert open_recording(path).warning is None
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    recording = open_recording(path)
    assert recording.warning is not None
    assert str(path) in recording.warning
    assert "cut off" in recording.warning
    assert f"{recording.duration_s:.1f} s" in recording.warning
    assert 3.0 < recording.duration_s < 7.0
    out = whole(recording)
    assert len(out) == recording.samples
    if name != "a.ogg":
        assert np.abs(out[:, 0] - noise[: len(out)] * 32_768).max() <= 1


def with_lengths(path: Path, riff: int, data: int) -> None:
    """Writes a second of audio with these lengths in its header."""
    soundfile.write(path, tone(16_000, 1.0), 16_000, subtype="PCM_16")
    content = bytearray(path.read_bytes())
    content[4:8], content[40:44] = riff.to_bytes(4, "little"), data.to_bytes(4, "little")
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("riff", "data"),
    [
        pytest.param(0xFFFF_FFFF, 0xFFFF_FFFF, id="all bits set"),
        pytest.param(0xFFFF_FFFF, 0xFFFF_FFDB, id="all bits set minus header"),
        pytest.param(0x7FFF_F024, 0x7FFF_F000, id="just below 2 GiB"),
        pytest.param(0x8000_0024, 0x8000_0000, id="2 GiB"),
    ],
)
def test_unknown_length_is_accepted(tmp_path: Path, riff: int, data: int) -> None:
    path = tmp_path / "piped.wav"
    with_lengths(path, riff, data)
    recording = open_recording(path)
    assert recording.samples == 16_000
    assert recording.warning is None


@pytest.mark.parametrize("riff", [0, 8, 36], ids=["zero length", "length of 8 bytes", "length of an empty file"])
def test_incomplete_header_hides_no_audio(tmp_path: Path, riff: int) -> None:
    path = tmp_path / "killed.wav"
    with_lengths(path, riff, 0)
    recording = open_recording(path)
    assert recording.warning is not None
    assert str(path) in recording.warning
    assert "not finished" in recording.warning
    assert "1.0 s" in recording.warning
    out = whole(recording, 777)
    assert len(out) == recording.samples == 16_000
    assert np.abs(out - tone(16_000, 1.0) * 32_768).max() <= 1


def test_file_removed_before_reading_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with_lengths(path, 0, 0)
    recording = open_recording(path)
    path.unlink()
    with pytest.raises(AudioFileError):
        whole(recording)


def test_data_after_empty_recording_is_not_audio(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    with_lengths(path, 36 + 8 + 32_000, 0)
    content = path.read_bytes()
    path.write_bytes(content[:44] + b"LIST" + (32_000).to_bytes(4, "little") + content[44:])
    assert "no samples" in refused(path)


def test_nan_samples_become_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.wav"
    values = np.array([0.5, np.nan, np.inf, -np.inf, 2.0, -2.0, -0.5], np.float32)
    soundfile.write(path, np.tile(values, 100), 16_000, subtype="FLOAT")
    with caplog.at_level(logging.WARNING):
        out = whole(open_recording(path), 7)
    np.testing.assert_array_equal(out[:7, 0], [16_384, 0, 0, 0, 32_767, -32_768, -16_384])
    assert len(caplog.records) == 1


def test_digital_silence_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, np.zeros(1600), 16_000)
    recording = open_recording(path)
    assert recording.warning is None
    assert not whole(recording).any()


def test_file_that_shrinks_during_reading_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, tone(16_000, 10.0), 16_000, subtype="PCM_16")
    recording = open_recording(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(AudioFileError, match="changed"):
        whole(recording)


def test_long_recording_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.wav"
    soundfile.write(path, tone(16_000, 0.1), 16_000, subtype="PCM_16")
    size = 600 * 16_000 * 2
    with path.open("r+b") as file:
        file.seek(4)
        file.write((36 + size).to_bytes(4, "little"))
        file.seek(40)
        file.write(size.to_bytes(4, "little"))
        file.truncate(44 + size)  # a sparse file: the rest is silence without disk space
    recording = open_recording(path)
    assert recording.duration_s == 600.0
    tracemalloc.start()
    try:
        read = sum(len(block) for block in recording.blocks(16_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read == 600 * 16_000
    assert peak < 1_000_000


def test_damaged_file_with_wrong_seek_position(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    path.write_bytes(bytes.fromhex("0000000000000000ffff000000ffff000000fffa0000"))
    with suppress(AudioFileError):  # anything else fails
        recording = open_recording(path)
        assert sum(len(block) for block in recording.blocks(1000)) == recording.samples


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(["wav", "flac", "ogg"]),
    changes=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
    length=st.integers(1, 4000),
)
def test_damaged_file_gives_audio_or_error_message(
    tmp_path: Path, kind: str, changes: list[tuple[int, int]], length: int
) -> None:
    path = tmp_path / f"a.{kind}"
    soundfile.write(path, tone(16_000, 0.2), 16_000)
    content = bytearray(path.read_bytes())
    for at, byte in changes:
        content[at % len(content)] = byte
    path.write_bytes(content[:length])
    with suppress(AudioFileError):  # anything else fails
        recording = open_recording(path)
        assert 0 < recording.samples < 10_000_000
        blocks = recording.blocks(1000)
        assert sum(len(block) for block in blocks) == recording.samples


# ---- compressed recordings of phones and browsers ----


def encoded(path: Path, codec: str, seconds: float = 1.0, rate_hz: int = 48_000, channels: int = 1) -> Path:
    """Writes a tone to a file of the kind given by its suffix."""
    layout = "mono" if channels == 1 else "stereo"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate_hz, layout=layout)
        assert isinstance(stream, av.AudioStream)
        sound = (tone(rate_hz, seconds, channels) * 32_767).astype(np.int16).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(sound, format="s16", layout=layout)
        frame.sample_rate = rate_hz
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


COMPRESSED = [
    ("a.mp3", "libmp3lame"),
    ("a.m4a", "aac"),
    ("a.mp4", "aac"),
    ("a.webm", "libopus"),
    ("a.mov", "pcm_s16le"),
]


@text_cases(("name", "codec"), COMPRESSED)
@pytest.mark.parametrize("channels", [1, 2], ids=["mono", "stereo"])
def test_compressed_recording_is_read(tmp_path: Path, name: str, codec: str, channels: int) -> None:
    recording = open_recording(encoded(tmp_path / name, codec, channels=channels))
    assert (recording.rate_hz, recording.channels, recording.warning) == (48_000, channels, None)
    assert recording.duration_s == pytest.approx(1.0, abs=0.06)  # encoders add padding
    out = whole(recording, 960)
    assert out.shape == (recording.samples, channels)
    loudness = np.sqrt(np.mean((out[4800:43_200] / 32_768) ** 2))
    assert loudness == pytest.approx(np.sqrt(np.mean(tone(48_000, 1.0, channels)[4800:43_200] ** 2)), rel=0.1)


def test_decoder_of_mp3_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.mp3"
    for damage in (b"", bytes(range(256)) * 8):
        soundfile.write(path, tone(16_000, 3.0), 16_000)  # libsndfile's own decoder complains of what its encoder makes
        content = bytearray(path.read_bytes())
        content[5000 : 5000 + len(damage)] = damage
        path.write_bytes(content)
        assert len(whole(open_recording(path)))
    assert capfd.readouterr() == ("", "")


def test_truncated_compressed_recording_is_read_with_warning(tmp_path: Path) -> None:
    path = encoded(tmp_path / "a.mp3", "libmp3lame", seconds=4.0)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    recording = open_recording(path)
    assert recording.duration_s == pytest.approx(2.0, abs=0.3)
    assert recording.warning == f"{path} is cut off: {recording.duration_s:.1f} s can be read; " + (
        "fetch or record it again if you need the rest."
    )
    assert len(whole(recording)) == recording.samples


@pytest.mark.parametrize("name", ["q.m4a", "a b.m4a", "it's.webm"], ids=["plain name", "space", "apostrophe"])
def test_refusal_names_path_and_conversion_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / name).write_bytes(b"no sound at all" * 100)
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "dir" / name, Path("dir", name)):
        assert f"`ffmpeg -i {shlex.quote(str(path))} speech.wav`" in refused(path)


@pytest.mark.parametrize(
    "content",
    [
        b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nm=audio 9 RTP/AVP 0\n",
    ],
    ids=["playlist", "concatenation", "session"],
)
def test_file_that_names_other_files_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.m3u8"
    path.write_bytes(content)
    assert "not a recording" in refused(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(COMPRESSED),
    changes=st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 255)), max_size=6),
    length=st.integers(1, 9000),
)
def test_damaged_compressed_file_gives_audio_or_error_message(
    tmp_path: Path, kind: tuple[str, str], changes: list[tuple[int, int]], length: int
) -> None:
    path = tmp_path / f"whole_{kind[0]}"
    if not path.exists():
        encoded(path, kind[1], seconds=0.3)
    content = bytearray(path.read_bytes())
    for at, byte in changes:
        content[at % len(content)] = byte
    broken = tmp_path / f"broken_{kind[0]}"
    broken.write_bytes(content[:length])
    with suppress(AudioFileError):  # anything else fails
        recording = open_recording(broken)
        assert sum(len(block) for block in recording.blocks(1000)) == recording.samples
