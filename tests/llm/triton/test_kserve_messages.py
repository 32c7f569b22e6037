"""Encoding and decoding of the protocol's messages, compared with Triton's generated classes."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tritonclient.grpc import service_pb2 as pb  # type: ignore[import-untyped]

from llm.triton.kserve_messages import (
    KserveFormatError,
    KserveResponse,
    flag_tensor,
    float_tensor,
    int_tensor,
    request_bytes,
    response_of,
    text_tensor,
)

TENSORS = (
    text_tensor("text_input", "née 😀", (1, 1)),
    flag_tensor("stream", True, (1,)),
    int_tensor("max_tokens", -7, (1,)),
    int_tensor("seed", 1 << 40, (1,), datatype="UINT64"),
    float_tensor("temperature", 0.5, (1, 1)),
)


def test_request_matches_triton_encoding() -> None:
    data = request_bytes("m7", "2", "r-1", TENSORS, ["text_output"])
    request = pb.ModelInferRequest.FromString(data)
    assert (request.model_name, request.model_version, request.id) == ("m7", "2", "r-1")
    assert {name: value.bool_param for name, value in request.parameters.items()} == {
        "triton_enable_empty_final_response": True
    }
    assert [(tensor.name, tensor.datatype, list(tensor.shape)) for tensor in request.inputs] == [
        ("text_input", "BYTES", [1, 1]),
        ("stream", "BOOL", [1]),
        ("max_tokens", "INT32", [1]),
        ("seed", "UINT64", [1]),
        ("temperature", "FP32", [1, 1]),
    ]
    text, stream, tokens, seed, temperature = request.raw_input_contents
    assert text == struct.pack("<I", len("née 😀".encode())) + "née 😀".encode()
    assert (stream, tokens, temperature) == (b"\1", struct.pack("<i", -7), struct.pack("<f", 0.5))
    assert seed == struct.pack("<Q", 1 << 40)
    assert [output.name for output in request.outputs] == ["text_output"]
    assert request.SerializeToString(deterministic=True) == data


def test_surrogate_half_in_prompt_is_replaced() -> None:
    assert text_tensor("text_input", "a\ud83d", (1,)).raw == b"\2\0\0\0a?"


def test_number_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="top_k must fit into INT32"):
        int_tensor("top_k", 1 << 40, (1,))


def test_response_without_raw_contents() -> None:
    message = pb.ModelStreamInferResponse()
    inner = message.infer_response
    inner.id = "r-1"
    output = inner.outputs.add(name="text_output", datatype="BYTES", shape=[2])
    output.contents.bytes_contents.extend([b"one", b"two"])
    inner.outputs.add(name="n", datatype="UINT32", shape=[1]).contents.uint_contents.append(9)
    inner.outputs.add(name="log_prob", datatype="FP32", shape=[1]).contents.fp32_contents.append(0.1)
    assert response_of(message.SerializeToString()) == KserveResponse(
        "", "r-1", None, {"text_output": (b"one", b"two")}, {"n": (9,)}
    )


@given(
    texts=some.lists(some.binary(max_size=20), max_size=3),
    count=some.integers(0, (1 << 32) - 1),
    marks=some.lists(some.booleans(), max_size=1),
    error=some.text(max_size=20),
)
def test_any_triton_response_is_decoded(texts: list[bytes], count: int, marks: list[bool], error: str) -> None:
    message = pb.ModelStreamInferResponse(error_message=error)
    inner = message.infer_response
    inner.parameters["other"].string_param = "x"
    for mark in marks:
        inner.parameters["triton_final_response"].bool_param = mark
    inner.outputs.add(name="text_output", datatype="BYTES", shape=[len(texts)])
    inner.raw_output_contents.append(b"".join(struct.pack("<I", len(text)) + text for text in texts))
    inner.outputs.add(name="num_input_tokens", datatype="UINT32", shape=[1])
    inner.raw_output_contents.append(struct.pack("<I", count))
    response = response_of(message.SerializeToString())
    assert response.error == error
    assert response.final == (marks[0] if marks else None)
    assert response.texts == {"text_output": tuple(texts)}
    assert response.counts == {"num_input_tokens": (count,)}


@given(some.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    with suppress(KserveFormatError):
        assert isinstance(response_of(data), KserveResponse)


@pytest.mark.parametrize(
    ("datatype", "raw"),
    [("BYTES", b"\x05\0\0\0abc"), ("BYTES", b"\x05\0"), ("BYTES", b"\xff\xff\xff\xff"), ("UINT32", b"\1\0")],
    ids=["truncated text", "truncated length", "huge length", "truncated number"],
)
def test_truncated_contents_are_refused(datatype: str, raw: bytes) -> None:
    message = pb.ModelStreamInferResponse()
    message.infer_response.outputs.add(name="x", datatype=datatype, shape=[1])
    message.infer_response.raw_output_contents.append(raw)
    with pytest.raises(KserveFormatError, match=r"shorter than its stated length|cut off"):
        response_of(message.SerializeToString())


def test_invalid_utf8_in_error_text_is_replaced() -> None:
    data = pb.ModelStreamInferResponse(error_message="ab").SerializeToString().replace(b"ab", b"a\xff")
    assert response_of(data).error == "a�"
