"""Parses `turn_detection`. A number out of range is refused by name, and the nearest allowed one is used."""

import math
from dataclasses import replace

from web.wire.values.fields import (
    Check,
    Field,
    FieldError,
    Refusals,
    accepted,
    dropped_value,
    flag,
    hint,
    number,
    one_of,
    whole,
    wrong_type,
)
from web.wire.values.session_config import SemanticVad, ServerVad, SessionKind, SessionOffer, TurnDetection

DEFAULT_THRESHOLD = ServerVad().threshold
SILENCE_MS = (100, 10_000)
PREFIX_PADDING_MS = (0, 2000)
"""The recognizer's audio buffer holds 5 s, which speech that is being confirmed also needs."""
IDLE_TIMEOUT_MS = (5000, 30_000)
THRESHOLD = (0, 1)


def turn_detection(  # noqa: PLR0917
    value: object, path: str, now: TurnDetection | None, kind: SessionKind, offer: SessionOffer, refusals: Refusals
) -> TurnDetection:
    """Parses turn detection.

    Missing fields keep the values of `now` if the type is the same, else take their defaults.
    """
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object or null")
    if value.get("type") is None and now is None:
        raise FieldError("missing_required_parameter", f"{path}.type is missing", f"{path}.type")
    if value.get("type") is not None:
        base: TurnDetection = ServerVad() if _VAD_TYPE(value["type"], f"{path}.type") == "server_vad" else SemanticVad()
        now = now if type(now) is type(base) else base
    assert now is not None
    table = _SERVER_VAD if isinstance(now, ServerVad) else _SEMANTIC_VAD
    if kind == "transcription":
        table = {name: WITHOUT_RESPONSES.get(name, field) for name, field in table.items()}
    fields = accepted(value, path, table, refusals)
    fields.pop("type", None)
    if not offer.threshold:
        fields.pop("threshold", None)
    return replace(now, **fields)


def _clamped(check: Check, minimum: float, maximum: float, *, null: bool = False) -> Field:
    """Returns a field for a number. One out of bounds is refused, and the bound takes effect."""

    def nearest(value: object, path: str, refusals: Refusals) -> object:
        try:
            return check(value, path)
        except FieldError as error:
            if not isinstance(value, int | float) or isinstance(value, bool) or minimum <= value <= maximum:
                raise
            bound = minimum if value < minimum else maximum
            refusals.add_error(FieldError(error.code, f"{error}; {bound:g} is used", error.param))
            return bound

    return Field(check, null=null, parts=nearest)


_SERVER_VAD = {
    "type": Field(dropped_value),
    "threshold": _clamped(number(*THRESHOLD), *THRESHOLD),
    "silence_duration_ms": _clamped(whole(*SILENCE_MS), *SILENCE_MS),
    "prefix_padding_ms": _clamped(whole(*PREFIX_PADDING_MS), *PREFIX_PADDING_MS),
    "create_response": Field(flag),
    "interrupt_response": Field(flag),
    "idle_timeout_ms": _clamped(whole(*IDLE_TIMEOUT_MS), *IDLE_TIMEOUT_MS, null=True),
}
_SEMANTIC_VAD = {
    "type": Field(dropped_value),
    "eagerness": Field(one_of("low", "medium", "high", "auto")),
    "create_response": Field(flag),
    "interrupt_response": Field(flag),
}
WITHOUT_RESPONSES = {
    "create_response": Field(lambda value, path: flag(value, path) and False),
    "interrupt_response": Field(lambda value, path: flag(value, path) and False),
    "idle_timeout_ms": Field(hint(number(0, math.inf))),
}
"""Fields of a transcription session, which has no responses: accepted, and shown as false or left out."""

_VAD_TYPE = one_of("server_vad", "semantic_vad")
