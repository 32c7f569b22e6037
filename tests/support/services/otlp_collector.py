"""An OpenTelemetry collector for tests: receives OTLP/HTTP and parses it with the official messages."""

from collections.abc import Iterable

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from support.services.llm_server import Script, Seen, Server


def answer(code: int = 200, rejected: int = 0) -> Script:
    """Returns a collector's response."""
    body = b""
    if rejected:
        partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message="too old")
        body = ExportTraceServiceResponse(partial_success=partial).SerializeToString()
    head = f"HTTP/1.1 {code} X\r\ncontent-type: application/x-protobuf\r\ncontent-length: {len(body)}\r\n\r\n"
    return (head.encode() + body,)


def requests(server: Server) -> list[ExportTraceServiceRequest]:
    """Returns the requests so far."""
    return [_read(seen) for seen in server.posts]


def resource(request: ExportTraceServiceRequest) -> dict[str, object]:
    """Returns the attributes of the sender."""
    (sent,) = request.resource_spans
    return attributes(sent.resource.attributes)


def spans(server: Server) -> list[Span]:
    """Returns all spans so far."""
    return [
        span
        for request in requests(server)
        for sent in request.resource_spans
        for scoped in sent.scope_spans
        for span in scoped.spans
    ]


def attributes(pairs: Iterable[KeyValue]) -> dict[str, object]:
    """Returns the attributes of a span, an event or a resource."""
    found: dict[str, object] = {}
    for pair in pairs:
        assert pair.key not in found, f"{pair.key} is there twice"
        found[pair.key] = _value(pair.value)
    return found


def written(server: Server) -> str:
    """Returns everything as text, to search for what must not be in it."""
    return "\n".join(str(MessageToDict(request)) for request in requests(server))


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    assert kind is not None
    if kind == "array_value":
        return [_value(inner) for inner in value.array_value.values]
    return getattr(value, kind)


def _read(seen: Seen) -> ExportTraceServiceRequest:
    assert seen.path == "/v1/traces"
    assert seen.headers["content-type"] == "application/x-protobuf"
    return ExportTraceServiceRequest.FromString(seen.body)
