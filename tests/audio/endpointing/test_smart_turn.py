"""Smart Turn's view of the sound, and the network where it was pulled."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from synthetic_smart_turn import counting_network, logit_of

from assistant.models.catalogue import SMART_TURN
from assistant.models.needs import installed
from audio.endpointing.smart_turn import HEARD_POSITIONS, WINDOW_SAMPLES, SmartTurn, log_mel
from audio.errors import EngineLoadError

RECORDINGS = Path(__file__).parent.parent.parent / "recordings"


def test_the_spectrogram_has_whispers_shape_and_range() -> None:
    mel = log_mel(np.random.default_rng(1).normal(0, 2000, 3 * 16_000).astype(np.int16))
    assert mel.shape == (80, 800)
    assert mel.dtype == np.float32
    # Eight decades under the loudest, divided by four.
    assert mel.max() - mel.min() == pytest.approx(2.0, abs=1e-5)
    # The zeros in front are the floor; the sound is at the end.
    assert mel[:, :400].max() < mel[:, 600:].mean()


def test_a_tone_lies_in_its_band() -> None:
    tone = (8000 * np.sin(2 * np.pi * 1000 * np.arange(WINDOW_SAMPLES) / 16_000)).astype(np.int16)
    # 1 kHz is 15 mel of 45.2, in steps of 45.2 / 81.
    assert int(log_mel(tone)[:, 400].argmax()) == pytest.approx(15 / (45.245 / 81) - 1, abs=0.6)


def test_only_the_last_eight_seconds_count() -> None:
    pcm = np.random.default_rng(1).normal(0, 2000, 2 * WINDOW_SAMPLES).astype(np.int16)
    assert np.array_equal(log_mel(pcm), log_mel(pcm[-WINDOW_SAMPLES:]))


def test_no_sound_is_silence() -> None:
    assert np.ptp(log_mel(np.zeros(0, dtype=np.int16))) == 0


def test_the_network_gets_the_end_of_the_spectrogram(tmp_path: Path) -> None:
    file = tmp_path / "counting.onnx"
    file.write_bytes(counting_network())
    pcm = np.random.default_rng(1).normal(0, 2000, 6 * 16_000).astype(np.int16)
    end = log_mel(pcm, HEARD_POSITIONS)
    assert np.array_equal(end[:, -300:], log_mel(pcm)[:, -300:])
    assert SmartTurn(file).probability(pcm) == pytest.approx(1 / (1 + np.exp(-logit_of(end[np.newaxis]))), abs=1e-6)


def test_a_network_of_another_kind_is_named(tmp_path: Path) -> None:
    file = tmp_path / "other.onnx"
    file.write_bytes(counting_network(positions=1500))
    with pytest.raises(EngineLoadError, match=r"other\.onnx \(NotSmartTurnError\): remove it and pull it again"):
        SmartTurn(file)


def test_a_missing_network_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(EngineLoadError, match=r"repartee models pull smart-turn-v3\.2"):
        SmartTurn(tmp_path / "none.onnx")


def test_a_broken_network_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.onnx"
    file.write_bytes(b"not a network")
    with pytest.raises(EngineLoadError, match=r"broken\.onnx"):
        SmartTurn(file)


@pytest.mark.slow
def test_a_whole_command_is_over_and_its_first_half_is_not() -> None:
    path = installed(SMART_TURN)
    if path is None:
        pytest.skip("Smart Turn was not pulled")
    network = SmartTurn(path)
    pcm, _ = soundfile.read(RECORDINGS / "rhasspy3_turn-on-the-lamp.wav", dtype="int16")
    whole = network.probability(pcm[: int(2.1 * 16_000)])
    half = network.probability(pcm[: int(1.4 * 16_000)])
    assert half < 0.5 < whole
