"""Messages of KServe's inference protocol (v2, as Triton implements it) for a streamed answer. No I/O.

The message classes are created at import from the protocol's field numbers, without generated code. They are in a
separate descriptor pool, so that they do not conflict with another package's copy. String fields are declared as bytes,
which is the same on the wire: invalid UTF-8 from a service does not prevent reading the rest.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

PACKAGE = "inference"
STREAM_INFER = "/inference.GRPCInferenceService/ModelStreamInfer"
SERVER_READY = "/inference.GRPCInferenceService/ServerReady"
SERVER_READY_REQUEST = b""

ASK_FOR_END_MARK = "triton_enable_empty_final_response"
END_MARK = "triton_final_response"
"""Response parameter: true in the last response, which may be otherwise empty if ASK_FOR_END_MARK was sent."""

_FIELDS: Mapping[str, Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        "InferParameter": {"bool_param": (1, "bool"), "int64_param": (2, "int64"), "string_param": (3, "bytes")},
        "Parameter": {"key": (1, "bytes"), "value": (2, "InferParameter")},
        "InferTensorContents": {
            "int_contents": (2, "int32*"),
            "int64_contents": (3, "int64*"),
            "uint_contents": (4, "uint32*"),
            "uint64_contents": (5, "uint64*"),
            "bytes_contents": (8, "bytes*"),
        },
        "InferInputTensor": {"name": (1, "bytes"), "datatype": (2, "bytes"), "shape": (3, "int64*")},
        "InferRequestedOutputTensor": {"name": (1, "bytes")},
        "ModelInferRequest": {
            "model_name": (1, "bytes"),
            "model_version": (2, "bytes"),
            "id": (3, "bytes"),
            "parameters": (4, "Parameter*"),
            "inputs": (5, "InferInputTensor*"),
            "outputs": (6, "InferRequestedOutputTensor*"),
            "raw_input_contents": (7, "bytes*"),
        },
        "InferOutputTensor": {
            "name": (1, "bytes"),
            "datatype": (2, "bytes"),
            "contents": (5, "InferTensorContents"),
        },
        "ModelInferResponse": {
            "id": (3, "bytes"),
            "parameters": (4, "Parameter*"),
            "outputs": (5, "InferOutputTensor*"),
            "raw_output_contents": (6, "bytes*"),
        },
        "ModelStreamInferResponse": {"error_message": (1, "bytes"), "infer_response": (2, "ModelInferResponse")},
    }
)
"""Field name to number and type; `*`: repeated. On the wire, a map is a repeated message of key and value."""

_RAW_COUNTS = MappingProxyType({"INT32": "<i", "UINT32": "<I", "INT64": "<q", "UINT64": "<Q"})


class KserveFormatError(ValueError):
    """The data is not a response of this protocol."""


@dataclass(frozen=True, slots=True)
class InputTensor:
    """One input of a model.

    Attributes:
        datatype: "BYTES", "BOOL", "INT32", "UINT64" or "FP32".
        shape: With a batch dimension if the model's configuration has one.
        raw: The elements in the protocol's encoding.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    raw: bytes


@dataclass(frozen=True, slots=True)
class KserveResponse:
    """One message of a streamed answer.

    Attributes:
        error: The service's error text, or "".
        request_id: The id of its request; "" if the service does not send it.
        final: Whether the service marks it as the last one; None: it has no mark.
        texts: Elements of the BYTES outputs by name; they may end inside a character.
        counts: Elements of the integer outputs by name.
    """

    error: str
    request_id: str
    final: bool | None
    texts: Mapping[str, tuple[bytes, ...]]
    counts: Mapping[str, tuple[int, ...]]


def text_tensor(name: str, text: str, shape: tuple[int, ...]) -> InputTensor:
    """Returns a BYTES tensor of one element: its length, then UTF-8."""
    data = text.encode("utf-8", "replace")
    return InputTensor(name, "BYTES", shape, struct.pack("<I", len(data)) + data)


def flag_tensor(name: str, flag: bool, shape: tuple[int, ...]) -> InputTensor:
    """Returns a BOOL tensor of one element."""
    return InputTensor(name, "BOOL", shape, struct.pack("<?", flag))


def int_tensor(name: str, value: int, shape: tuple[int, ...], *, datatype: str = "INT32") -> InputTensor:
    """Returns an integer tensor, INT32 or UINT64. Raises ValueError for a number out of range."""
    try:
        return InputTensor(name, datatype, shape, struct.pack(_RAW_COUNTS[datatype], value))
    except struct.error as error:
        raise ValueError(f"{name} must fit into {datatype}, not be {value}") from error


def float_tensor(name: str, value: float, shape: tuple[int, ...]) -> InputTensor:
    """Returns an FP32 tensor of one element."""
    return InputTensor(name, "FP32", shape, struct.pack("<f", value))


def request_bytes(
    model: str, version: str, request_id: str, inputs: Sequence[InputTensor], outputs: Sequence[str]
) -> bytes:
    """Returns an encoded ModelInferRequest for `outputs`, which also requests the end mark."""
    request = _MESSAGES["ModelInferRequest"](
        model_name=model.encode(), model_version=version.encode(), id=request_id.encode()
    )
    mark = request.parameters.add(key=ASK_FOR_END_MARK.encode())
    mark.value.bool_param = True
    for tensor in inputs:
        request.inputs.add(name=tensor.name.encode(), datatype=tensor.datatype.encode(), shape=tensor.shape)
        request.raw_input_contents.append(tensor.raw)
    for name in outputs:
        request.outputs.add(name=name.encode())
    encoded: bytes = request.SerializeToString()
    return encoded


def response_of(data: bytes) -> KserveResponse:
    """Parses a ModelStreamInferResponse. Raises KserveFormatError."""
    try:
        message = _MESSAGES["ModelStreamInferResponse"].FromString(data)
    except DecodeError:
        # Raised without the cause: its text may quote the answer.
        raise KserveFormatError("a message that is not part of the inference protocol") from None
    inner = message.infer_response
    texts: dict[str, tuple[bytes, ...]] = {}
    counts: dict[str, tuple[int, ...]] = {}
    for position, output in enumerate(inner.outputs):
        name, datatype = _text(output.name), _text(output.datatype)
        raw = inner.raw_output_contents[position] if position < len(inner.raw_output_contents) else None
        if datatype == "BYTES":
            texts[name] = tuple(output.contents.bytes_contents) if raw is None else _elements(raw)
        elif datatype in _RAW_COUNTS:
            counts[name] = _plain_counts(output.contents) if raw is None else _raw_counts(raw, _RAW_COUNTS[datatype])
    marks = [entry.value.bool_param for entry in inner.parameters if _text(entry.key) == END_MARK]
    return KserveResponse(
        error=_text(message.error_message),
        request_id=_text(inner.id),
        final=any(marks) if marks else None,
        texts=texts,
        counts=counts,
    )


def _elements(raw: bytes) -> tuple[bytes, ...]:
    """Splits BYTES elements, each preceded by its length."""
    elements: list[bytes] = []
    position = 0
    while position < len(raw):
        end = position + 4 + int.from_bytes(raw[position : position + 4], "little")
        if end > len(raw):
            raise KserveFormatError("a string that is shorter than its stated length")
        elements.append(raw[position + 4 : end])
        position = end
    return tuple(elements)


def _raw_counts(raw: bytes, layout: str) -> tuple[int, ...]:
    if len(raw) % struct.calcsize(layout):
        raise KserveFormatError("integers that are cut off")
    return tuple(number for (number,) in struct.iter_unpack(layout, raw))


def _plain_counts(contents: Any) -> tuple[int, ...]:
    kinds = (contents.int_contents, contents.uint_contents, contents.int64_contents, contents.uint64_contents)
    return tuple(next(filter(None, kinds), ()))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _messages() -> dict[str, Any]:
    """Returns the message classes by name."""
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="kserve.proto", package=PACKAGE, syntax="proto2")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field, (number, spelled) in fields.items():
            base = spelled.removesuffix("*")
            added = message.field.add(name=field, number=number)
            added.label = kind.LABEL_REPEATED if base != spelled else kind.LABEL_OPTIONAL
            if base in _FIELDS:
                added.type, added.type_name = kind.TYPE_MESSAGE, f".{PACKAGE}.{base}"
                continue
            added.type = kind.Type.Value(f"TYPE_{base.upper()}")
            # Numbers are packed, as in proto3; parsers accept both forms.
            added.options.packed = base not in {spelled, "bytes"}
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    messages = ((name, pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in _FIELDS)
    return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in messages}


_MESSAGES = _messages()
