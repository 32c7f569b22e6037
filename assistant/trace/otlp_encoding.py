"""Encodes spans as OTLP protobuf messages. Needs the extra `otel`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from assistant.trace.spans import Kind, OtelEvent, OtelSpan, Value
from audio.extra import installing

try:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Status
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
except ImportError as error:
    raise ImportError(f"trace.otlp_url needs OpenTelemetry's messages: {installing('otel')}") from error

_KINDS: Mapping[Kind, "ProtoSpan.SpanKind.ValueType"] = {
    "internal": ProtoSpan.SPAN_KIND_INTERNAL,
    "client": ProtoSpan.SPAN_KIND_CLIENT,
}
SAMPLED = 1
"""The "sampled" flag of W3C trace context."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")


@dataclass(frozen=True, slots=True)
class SpanSource:
    """The sender of the spans.

    Attributes:
        version: Version of this program.
        attributes: Resource attributes from the environment, including `service.name`.
    """

    version: str
    attributes: Mapping[str, str]

    @classmethod
    def of(cls, version: str, environ: Mapping[str, str]) -> "SpanSource":
        """Reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES; the default service name is "repartee".

        Raises ValueError, naming the variable.
        """
        given = pairs_of("OTEL_RESOURCE_ATTRIBUTES", environ)
        name = environ.get("OTEL_SERVICE_NAME") or given.get("service.name") or "repartee"
        return cls(version, {"service.version": version, **given, "service.name": name})


def request_bytes(spans: Iterable[OtelSpan], source: SpanSource) -> bytes:
    """Returns an encoded ExportTraceServiceRequest."""
    scope = InstrumentationScope(name="repartee", version=source.version)
    resource = Resource(attributes=_attributes(source.attributes))
    scoped = ScopeSpans(scope=scope, spans=[_span(span) for span in spans])
    return ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(resource=resource, scope_spans=[scoped])]
    ).SerializeToString()


def rejected(answer: bytes) -> int:
    """Returns how many spans the collector has rejected, according to its response; 0 if it does not say."""
    try:
        return ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans
    except DecodeError:
        return 0


def headers_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers in the standard variables. The variable for traces overrides the one for all signals.

    Raises ValueError, naming the variable but not its value, which may be a key.
    """
    headers: dict[str, str] = {}
    for variable in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"):
        for name, value in pairs_of(variable, environ).items():
            if not _HEADER_NAME.fullmatch(name.lower()) or not (value.isascii() and value.isprintable()):
                raise ValueError(f"environment {variable}: a name or value has a character that HTTP does not allow")
            headers[name.lower()] = value
    return headers


def pairs_of(variable: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Parses `name=value,name=value`, percent-encoded. Raises ValueError, naming the variable but not its value."""
    pairs = {}
    for part in environ.get(variable, "").split(","):
        name, equals, value = part.partition("=")
        if part.strip():
            if not equals or not name.strip():
                raise ValueError(f"environment {variable}: must be name=value, several separated by commas")
            pairs[unquote(name.strip())] = unquote(value.strip())
    return pairs


def _span(span: OtelSpan) -> ProtoSpan:
    return ProtoSpan(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_id),
        flags=SAMPLED,
        name=span.name,
        kind=_KINDS[span.kind],
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
        attributes=_attributes(span.attributes),
        events=[_event(event) for event in span.events],
        status=None if span.failure is None else Status(code=Status.STATUS_CODE_ERROR, message=span.failure),
    )


def _event(event: OtelEvent) -> ProtoSpan.Event:
    return ProtoSpan.Event(name=event.name, time_unix_nano=event.at_ns, attributes=_attributes(event.attributes))


def _attributes(attributes: Mapping[str, Value]) -> Sequence[KeyValue]:
    return [KeyValue(key=name, value=_value(value)) for name, value in attributes.items()]


def _value(value: Value) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case _:
            return AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=text) for text in value]))
