"""Tests the second output of Smart Turn's network: the frames of its encoder."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_smart_turn import counting_network, frames_of

from audio.end_of_turn.smart_turn.graph import NotSmartTurnError
from audio.end_of_turn.smart_turn.network import log_mel
from audio.onnx_messages import NotReadableError
from bench.smart_turn_frames import SmartTurnFrames, with_frames


@pytest.mark.parametrize(("short", "positions"), [(False, 400), (True, 200)], ids=["8 s", "4 s"])
def test_frames_are_second_output(tmp_path: Path, *, short: bool, positions: int) -> None:
    file = tmp_path / "network.onnx"
    file.write_bytes(counting_network(pooling=True))
    pcm = np.random.default_rng(1).normal(0, 2000, 32_000).astype(np.int16)
    _, frames = SmartTurnFrames(file, short=short).heard(pcm)
    assert frames == pytest.approx(frames_of(log_mel(pcm, positions)[np.newaxis]), abs=1e-5)


def test_network_without_attention_pooling_has_no_frames() -> None:
    with pytest.raises(NotSmartTurnError):
        with_frames(counting_network())


@given(st.binary(max_size=2000))
def test_arbitrary_bytes_are_refused(model: bytes) -> None:
    with pytest.raises((NotReadableError, NotSmartTurnError)):
        with_frames(model)
