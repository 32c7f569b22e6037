"""Smart Turn's input, and the network if it is installed."""

import asyncio
import math
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.models.synthetic_smart_turn import counting_network, logit_of

from assistant.models.needs import installed
from audio.end_of_turn.smart_turn.catalogue import SMART_TURN
from audio.end_of_turn.smart_turn.network import SHORT_POSITIONS, WINDOW_SAMPLES, SmartTurn, log_mel
from audio.end_of_turn.smart_turn.service import SmartTurnService
from audio.errors import EngineLoadError

RECORDINGS = Path(__file__).parent.parent.parent / "recordings"


def test_spectrogram_has_whisper_shape_and_range() -> None:
    mel = log_mel(np.random.default_rng(1).normal(0, 2000, 3 * 16_000).astype(np.int16))
    assert mel.shape == (80, 800)
    assert mel.dtype == np.float32
    # Eight decades below the maximum, divided by four.
    assert mel.max() - mel.min() == pytest.approx(2.0, abs=1e-5)
    # The leading zeros are the floor; the audio is at the end.
    assert mel[:, :400].max() < mel[:, 600:].mean()


def test_tone_is_in_its_mel_band() -> None:
    tone = (8000 * np.sin(2 * np.pi * 1000 * np.arange(WINDOW_SAMPLES) / 16_000)).astype(np.int16)
    # 1 kHz is 15 mel of 45.2, in steps of 45.2 / 81.
    assert int(log_mel(tone)[:, 400].argmax()) == pytest.approx(15 / (45.245 / 81) - 1, abs=0.6)


def test_only_last_eight_seconds_count() -> None:
    pcm = np.random.default_rng(1).normal(0, 2000, 2 * WINDOW_SAMPLES).astype(np.int16)
    assert np.array_equal(log_mel(pcm), log_mel(pcm[-WINDOW_SAMPLES:]))


def test_empty_audio_equals_silence() -> None:
    assert np.ptp(log_mel(np.zeros(0, dtype=np.int16))) == 0


def test_short_network_gets_end_of_spectrogram(tmp_path: Path) -> None:
    file = tmp_path / "counting.onnx"
    file.write_bytes(counting_network())
    pcm = np.random.default_rng(1).normal(0, 2000, 6 * 16_000).astype(np.int16)
    whole, end = log_mel(pcm), log_mel(pcm, SHORT_POSITIONS)
    assert np.array_equal(end, whole[:, -2 * SHORT_POSITIONS :])
    assert SmartTurn(file).probability(pcm) == pytest.approx(sigmoid(logit_of(whole[np.newaxis])), abs=1e-6)
    said = SmartTurn(file, short=True).probability(pcm)
    assert said == pytest.approx(sigmoid(logit_of(end[np.newaxis]) + 0.77), abs=1e-6)


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def test_other_network_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.onnx"
    file.write_bytes(counting_network(positions=1500))
    with pytest.raises(EngineLoadError, match=r"other\.onnx \(NotSmartTurnError\): remove it and pull it again"):
        SmartTurn(file, short=True)


@pytest.mark.parametrize(
    ("too_slow_s", "short"), [(0.0, True), (60.0, False)], ids=["slow processor", "fast processor"]
)
def test_slow_processor_uses_short_network_and_reports_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, too_slow_s: float, *, short: bool
) -> None:
    file = tmp_path / "counting.onnx"
    file.write_bytes(counting_network())
    pcm = np.random.default_rng(1).normal(0, 2000, 6 * 16_000).astype(np.int16)
    desk = SmartTurnService(file, too_slow_s=too_slow_s)

    async def asked() -> float:
        await desk.load()
        return await desk.probability(pcm)

    assert asyncio.run(asked()) == SmartTurn(file, short=short).probability(pcm)
    told = r"Smart Turn uses 4 s of speech: for 8 s it takes \d+ ms on this machine" if short else ""
    assert re.fullmatch(told, desk.slow)
    assert caplog.messages == ([desk.slow] if short else [])


def test_missing_network_names_remedy(tmp_path: Path) -> None:
    with pytest.raises(EngineLoadError, match=r"repartee models pull smart-turn-v3\.2"):
        SmartTurn(tmp_path / "none.onnx")


def test_broken_network_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "broken.onnx"
    file.write_bytes(b"not a network")
    with pytest.raises(EngineLoadError, match=r"broken\.onnx"):
        SmartTurn(file)


@pytest.mark.slow
@pytest.mark.parametrize("short", [False, True], ids=["full network", "short network"])
def test_complete_command_scores_higher_than_first_half(*, short: bool) -> None:
    path = installed(SMART_TURN)
    if path is None:
        pytest.skip("Smart Turn was not pulled")
    network = SmartTurn(path, short=short)
    pcm, _ = soundfile.read(RECORDINGS / "rhasspy3_turn-on-the-lamp.wav", dtype="int16")
    whole = network.probability(pcm[: int(2.1 * 16_000)])
    half = network.probability(pcm[: int(1.4 * 16_000)])
    assert half < 0.5 < whole
