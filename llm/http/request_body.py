"""Builds the body of a request from the client's fields and the configured parameters of an endpoint. Pure."""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType

Parameters = Mapping[str, object]
"""Additional request fields under the service's names; any JSON value."""

NO_PARAMETERS: Parameters = MappingProxyType({})


def checked(
    endpoint: str, parameters: Parameters, *, reserved: Collection[str], flat: bool = False
) -> dict[str, object]:
    """Returns the parameters after checking that they can be sent.

    Args:
        endpoint: The endpoint's name in the configuration.
        parameters: As configured.
        reserved: Fields that the client sets: the conversation, and fields that affect the parsing of the answer.
        flat: Whether the service accepts only strings, numbers and booleans.

    Raises:
        ValueError: A parameter is invalid; the text names the endpoint and the parameter.
    """
    for name, value in parameters.items():
        if name in reserved:
            raise ValueError(f"llm endpoint {endpoint!r}: parameters: {name} is set by the program: leave it out")
        if flat and not isinstance(value, str | int | float):
            what = "accepts strings, numbers and booleans only, no lists and no tables"
            raise ValueError(f"llm endpoint {endpoint!r}: parameters: {name}: this service {what}")
    return dict(parameters)


def merged(fields: Mapping[str, object], parameters: Parameters) -> dict[str, object]:
    """Returns the fields with the parameters, which take precedence. A table is merged into the field of its name."""
    body = dict(fields)
    for name, value in parameters.items():
        own = body.get(name)
        both = isinstance(own, Mapping) and isinstance(value, Mapping)
        body[name] = {**own, **value} if both else value  # type: ignore[dict-item]
    return body


def encoded(fields: Mapping[str, object]) -> bytes:
    """Returns the fields as JSON. A surrogate half, which UTF-8 cannot encode, becomes a question mark."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
