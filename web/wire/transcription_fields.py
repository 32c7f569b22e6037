"""Parses the fields about transcripts and input audio, and those of a transcription session."""

from collections.abc import Mapping
from typing import Any

from assistant.setup.engine_options import EngineOptions, base_of
from web.wire.choice_fields import language_check
from web.wire.fields import (
    IDENTIFIER,
    Check,
    Field,
    FieldError,
    Refusals,
    checked,
    in_parts,
    listing,
    missing_here,
    not_supported,
    one_of,
    wrong_type,
    wrong_value,
)
from web.wire.session_config import Delay, NoiseReduction, SessionKind, SessionOffer

NOISE_REDUCTION = "session.audio.input.noise_reduction"
LOGPROBS = "item.input_audio_transcription.logprobs"

_DELAYS: tuple[Delay, ...] = ("minimal", "low", "medium", "high", "xhigh")

CONVERSATION_EVENTS = frozenset(("response.create", "conversation.item.create", "conversation.item.truncate"))
"""Client events that a transcription session refuses."""

NO_CONVERSATION = "this is a transcription session, which has no responses; connect without intent for a conversation"


def transcription_field(kind: SessionKind, spoken: str, options: EngineOptions) -> Field:
    """Returns the field `transcription`; `spoken`: the server's language."""
    delayed = one_of(*_DELAYS) if kind == "transcription" else missing_here("only a transcription session has it")
    table: dict[str, Field] = {
        # The session shows the recognizer in use.
        "model": Field(IDENTIFIER),
        "language": Field(language_check(spoken, options)),
        "languages": Field(_languages(spoken)),
        "prompt": Field(_without("only the server's configuration sets it (stt.initial_prompt)")),
        "keywords": Field(_without("only the server's configuration sets them (stt.hot_words)")),
        "delay": Field(delayed),
    }
    return in_parts(table, null=True)


def include_field(offer: SessionOffer) -> Field:
    """Returns the field `include`. Its value is whether transcripts get probabilities."""

    def check(value: object, path: str) -> bool:
        wanted = listing(one_of(LOGPROBS), maximum=1)(value, path)
        if wanted and offer.no_logprobs:
            raise not_supported(path, offer.no_logprobs)
        return bool(wanted)

    return Field(check)


def noise_reduction_field(offer: SessionOffer) -> Field:
    """Returns the field `noise_reduction`; null switches it off."""

    def check(value: object, path: str, refusals: Refusals) -> NoiseReduction:
        if isinstance(value, dict) and value.get("type") is None:
            raise FieldError("missing_required_parameter", f"{path}.type is missing", f"{path}.type")
        found = _noise_reduction(value, path, refusals)
        if offer.no_noise_reduction:
            raise not_supported(path, offer.no_noise_reduction)
        return found

    return Field(lambda value, path: check(value, path, Refusals()), null=True, parts=check)


def refuse_type_change(now: SessionKind, wanted: SessionKind, *, begun: bool) -> FieldError | None:
    """Returns the error if the session may not change its type, else None."""
    if now == wanted or (wanted == "transcription" and not begun):
        return None
    what = "a transcription session" if now == "transcription" else "a conversation that has begun"
    return wrong_value("session.type", f"is {wanted!r}", f"{now!r}, because this is {what}; connect again to change it")


def in_transcription_session(kind: str) -> FieldError | None:
    """Returns the error for a client event of this type in a transcription session, or None if it has the event."""
    return not_supported("type", NO_CONVERSATION) if kind in CONVERSATION_EVENTS else None


def _noise_reduction(value: object, path: str, refusals: Refusals) -> NoiseReduction:
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object or null")
    found: Mapping[str, Any] = checked(
        {name: inner for name, inner in value.items() if name != "strength"}, path, _NOISE_REDUCTION
    )
    if value.get("strength") not in (None, 1):
        refusals.add(not_supported(f"{path}.strength", "noise is reduced fully (1) or not at all (null)"))
    kind: NoiseReduction = found["type"]
    return kind


_NOISE_REDUCTION = {"type": Field(one_of("near_field", "far_field"), required=True)}


def _without(reason: str) -> Check:
    """Returns a check for a text or list that must be empty."""

    def check(value: object, path: str) -> None:
        if value not in ("", []):
            raise not_supported(path, f"{reason}; leave it out")

    return check


def _languages(spoken: str) -> Check:
    def check(value: object, path: str) -> None:
        found = listing(IDENTIFIER, maximum=100)(value, path)
        if found and base_of(spoken) not in map(base_of, found):
            raise not_supported(path, f"this server speaks {spoken!r}; leave it out")

    return check
