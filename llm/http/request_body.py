"""The body of a request: our fields, and those that somebody wrote for one endpoint. Pure."""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType

Parameters = Mapping[str, object]
"""Further fields, as the service names them: whatever JSON can carry."""

NO_PARAMETERS: Parameters = MappingProxyType({})


def checked(endpoint: str, parameters: Parameters, *, ours: Collection[str], flat: bool = False) -> dict[str, object]:
    """The parameters, once it is known that they can be sent.

    Args:
        endpoint: Its name in the configuration.
        parameters: As somebody wrote them.
        ours: Fields that the client fills in itself, with the conversation or with what it needs to read the answer.
        flat: The service takes single texts, numbers and truth values only.

    Raises ValueError, naming the endpoint and the parameter.
    """
    for name, value in parameters.items():
        if name in ours:
            raise ValueError(f"llm endpoint {endpoint!r}: parameters: {name} is filled in by the program: leave it out")
        if flat and not isinstance(value, str | int | float):
            what = "takes single texts, numbers and truth values only, no lists and no tables"
            raise ValueError(f"llm endpoint {endpoint!r}: parameters: {name}: this service {what}")
    return dict(parameters)


def merged(fields: Mapping[str, object], parameters: Parameters) -> dict[str, object]:
    """Our fields and the parameters, which go before ours; a table is put into ours and does not replace it."""
    body = dict(fields)
    for name, value in parameters.items():
        ours = body.get(name)
        both = isinstance(ours, Mapping) and isinstance(value, Mapping)
        body[name] = {**ours, **value} if both else value  # type: ignore[dict-item]
    return body


def encoded(fields: Mapping[str, object]) -> bytes:
    """As JSON. Half a character, which UTF-8 cannot carry, becomes a question mark."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
