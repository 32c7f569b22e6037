"""Reading a voice's ONNX file, and adding its durations as an output."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models.synthetic_piper import FRAMES_PER_ID, HOP, SYMBOLS, tone_voice

from audio.onnx_messages import NotReadableError, with_output
from audio.tts.piper.graph import read_graph


def test_durations_symbols_and_speakers_are_found(tmp_path: Path) -> None:
    graph = read_graph(tone_voice(tmp_path, speakers=3).read_bytes())
    assert graph.durations is not None
    assert (graph.symbols, graph.speakers) == (SYMBOLS, 3)


def test_voice_without_durations_is_recognized(tmp_path: Path) -> None:
    graph = read_graph(tone_voice(tmp_path, aligned=False).read_bytes())
    assert (graph.durations, graph.speakers) == (None, None)


def test_added_output_has_frames_of_every_id(tmp_path: Path) -> None:
    model = tone_voice(tmp_path).read_bytes()
    tensor = read_graph(model).durations
    assert tensor is not None
    session = onnxruntime.InferenceSession(with_output(model, tensor), providers=["CPUExecutionProvider"])
    ids = np.array([[1, 0, 14, 0, 15, 0, 2]])  # "a" is a vowel and twice as long
    feeds = {"input": ids, "input_lengths": np.array([7]), "scales": np.array([0, 1, 0], np.float32)}
    sound, frames = session.run(None, feeds)
    assert frames.squeeze().tolist() == [FRAMES_PER_ID * (2 if index == 14 else 1) for index in ids[0]]
    assert sound.size == frames.sum() * HOP


def test_voice_with_duration_output_is_unchanged(tmp_path: Path) -> None:
    model = tone_voice(tmp_path).read_bytes()
    tensor = read_graph(model).durations
    assert tensor is not None
    assert read_graph(with_output(model, tensor)).durations is None


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused(model: bytes) -> None:
    try:
        read_graph(model)
    except NotReadableError:
        return


def test_truncated_file_is_refused(tmp_path: Path) -> None:
    model = tone_voice(tmp_path).read_bytes()
    with pytest.raises(NotReadableError):
        read_graph(model[: len(model) // 2])
