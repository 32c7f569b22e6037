"""The shortened network: the same weights at fewer positions."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models.synthetic_smart_turn import MELS, counting_network, logit_of

from audio.end_of_turn.smart_turn.graph import NotSmartTurnError, shortened
from audio.onnx_messages import NotReadableError, fields, message, number, numbers, text


@pytest.mark.parametrize("positions", [100, 200, 400], ids="{} positions".format)
def test_short_network_computes_last_positions_identically(positions: int) -> None:
    session = onnxruntime.InferenceSession(shortened(counting_network(), positions), providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape == [1, MELS, 2 * positions]
    features = np.random.default_rng(2).normal(size=(1, MELS, 2 * positions)).astype(np.float32)
    (answer,) = session.run(None, {"input_features": features})
    assert np.asarray(answer)[0] == pytest.approx(1 / (1 + np.exp(-logit_of(features))), abs=1e-6)


def test_network_of_other_size_is_refused() -> None:
    with pytest.raises(NotSmartTurnError):
        shortened(counting_network(positions=1500), 200)


def test_truncated_file_is_refused() -> None:
    model = counting_network()
    with pytest.raises(NotReadableError):
        shortened(model[: len(model) // 2], 200)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(model: bytes) -> None:
    with pytest.raises((NotReadableError, NotSmartTurnError)):
        shortened(model, 200)


@given(st.lists(st.tuples(st.integers(1, 2000), st.binary(max_size=300) | st.integers(0, 2**64 - 1))))
def test_written_messages_can_be_read(written: list[tuple[int, bytes | int]]) -> None:
    parts = [message(key, what) if isinstance(what, bytes) else number(key, what) for key, what in written]
    read = list(fields(memoryview(b"".join(parts))))
    assert [key for key, _, _ in read] == [key for key, _ in written]
    assert [bytes(whole) for _, _, whole in read] == parts
    for (_, payload, _), (_, what) in zip(read, written, strict=True):
        if isinstance(what, bytes):
            assert bytes(payload) == what
        else:
            assert numbers(payload) == [what]


def test_invalid_text_is_refused() -> None:
    with pytest.raises(NotReadableError):
        text(memoryview(b"\xff\xfe"))
