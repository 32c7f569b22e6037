"""The stereo recording of a conversation."""

import os
import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audio.errors import AudioFileError
from audio.formats.stereo import StereoWriter
from audio.units import Samples


def read(path: Path) -> npt.NDArray[np.int16]:
    sound: npt.NDArray[np.int16]
    sound, rate_hz = soundfile.read(path, dtype="int16", always_2d=True)
    assert rate_hz == 24_000
    with wave.open(str(path)) as strict:  # trusts the header, unlike libsndfile
        assert strict.getnframes() == len(sound)
        assert strict.getnchannels() == 2
    return sound


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(click=st.integers(0, 47_999), block=st.integers(100, 5000), origin=st.integers(0, 100_000))
def test_click_is_at_its_position(tmp_path: Path, click: int, block: int, origin: int) -> None:
    sound = np.zeros(48_000, np.int16)
    sound[click] = 30_000
    with StereoWriter(tmp_path / "a.wav") as writer:
        for at in range(0, len(sound), block):
            writer.person(Samples(origin + at), sound[at : at + block])
    written = read(tmp_path / "a.wav")
    assert len(written) == pytest.approx((origin + 48_000) * 1.5, abs=1)
    assert np.abs(written[:, 0].astype(int)).argmax() == pytest.approx((origin + click) * 1.5, abs=1)
    assert not written[:, 1].any()


def test_both_sides_are_written(tmp_path: Path) -> None:
    reply = np.arange(1, 24_001).astype(np.int16)
    with StereoWriter(tmp_path / "a.wav") as writer:
        for n in range(100):
            writer.person(Samples(n * 320), np.full(320, 5000, np.int16))
            if 50 <= n < 100:
                writer.assistant(1.0 + (n - 50) * 0.02, reply[(n - 50) * 480 : (n - 49) * 480])
    written = read(tmp_path / "a.wav")
    assert len(written) == 48_000
    assert not written[:24_000, 1].any()
    np.testing.assert_array_equal(written[24_000:, 1], reply)
    assert np.abs(written[50:-50, 0] - 5000.0).max() <= 2


def test_gap_is_silence(tmp_path: Path) -> None:
    with StereoWriter(tmp_path / "a.wav") as writer:
        writer.person(Samples(0), np.full(1600, 5000, np.int16))
        writer.person(Samples(8000), np.full(1600, 5000, np.int16))
    left = read(tmp_path / "a.wav")[:, 0]
    assert len(left) == 14_400
    assert (left[50:2350] > 4900).all()
    assert not left[2400:12_000].any()
    assert (left[12_050:14_350] > 4900).all()


def test_audio_before_beginning_is_cut(tmp_path: Path) -> None:
    with StereoWriter(tmp_path / "a.wav") as writer:
        writer.assistant(-1.0, np.ones(100, np.int16))
        writer.assistant(-0.001, np.arange(1, 101).astype(np.int16))
    np.testing.assert_array_equal(read(tmp_path / "a.wav")[:, 1], np.arange(25, 101))


def test_late_block_is_written(tmp_path: Path) -> None:
    with StereoWriter(tmp_path / "a.wav") as writer:
        for n in range(1000):  # 20 s of the user before the assistant's first word
            writer.person(Samples(n * 320), np.full(320, 100, np.int16))
        writer.assistant(2.0, np.full(240, 77, np.int16))
    written = read(tmp_path / "a.wav")
    assert (written[48_000:48_240, 1] == 77).all()
    assert (written[47_000:49_000, 0] == 100).all()
    assert len(written) == 20 * 24_000


def test_crash_loses_at_most_the_last_second(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    if (child := os.fork()) == 0:
        writer = StereoWriter(path)
        for n in range(500):
            writer.person(Samples(n * 320), np.full(320, 100, np.int16))
            writer.assistant(n * 0.02, np.full(480, 50, np.int16))
        os._exit(9)  # no close and no flush
    os.waitpid(child, 0)
    with wave.open(str(path)) as strict:
        assert strict.getnframes() >= 9 * 24_000
    written, _ = soundfile.read(path, dtype="int16")
    assert (written[100 : 9 * 24_000] == [100, 50]).all()


def test_empty_conversation_gives_valid_file(tmp_path: Path) -> None:
    StereoWriter(tmp_path / "a.wav").close()
    assert len(read(tmp_path / "a.wav")) == 0


def test_close_is_idempotent(tmp_path: Path) -> None:
    writer = StereoWriter(tmp_path / "a.wav")
    writer.person(Samples(0), np.ones(160, np.int16))
    writer.close()
    writer.close()
    assert len(read(tmp_path / "a.wav")) == 240


def test_unwritable_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(AudioFileError, match="cannot be written") as caught:
        StereoWriter(tmp_path / "none" / "a.wav")
    assert str(tmp_path / "none" / "a.wav") in str(caught.value)
    with pytest.raises(AudioFileError, match="cannot be written"):
        StereoWriter(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_reported() -> None:
    with pytest.raises(AudioFileError, match=r"No space left|free space"):
        StereoWriter("/dev/full")


def test_written_duration_is_reported_after_failure(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    second = np.ones(24_000, np.int16)
    with StereoWriter(tmp_path / "a.wav") as writer:
        writer.assistant(0.0, second)
        assert (writer.broke, writer.duration_s) == ("", 1.0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, before[1]))  # half of the next second has room
        try:
            with pytest.raises(AudioFileError):
                writer.assistant(1.0, second)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (writer.broke, writer.duration_s) == ("File too large", 1.0)


def test_position_beyond_wav_limit_is_refused(tmp_path: Path) -> None:
    with StereoWriter(tmp_path / "a.wav") as writer, pytest.raises(AudioFileError, match="12 hours"):
        writer.assistant(13 * 3600.0, np.ones(1, np.int16))
