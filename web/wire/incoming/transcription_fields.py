"""Parses the fields about transcripts and input audio, and those of a transcription session."""

from assistant.setup.conversation.engine_options import EngineOptions
from web.wire.incoming.choice_fields import language_check
from web.wire.values.fields import (
    IDENTIFIER,
    Field,
    FieldError,
    checked,
    hint,
    in_parts,
    listing,
    not_supported,
    number,
    one_of,
    text,
    wrong_value,
)
from web.wire.values.session_config import Delay, NoiseReduction, SessionKind, SessionOffer

NOISE_REDUCTION = "session.audio.input.noise_reduction"
LOGPROBS = "item.input_audio_transcription.logprobs"

MAX_PROMPT_CHARS = 16_000
"""Longest text that clients may send; the recognizer takes its beginning."""
MAX_KEYWORDS = 100
MAX_KEYWORD_CHARS = 128

_DELAYS: tuple[Delay, ...] = ("minimal", "low", "medium", "high", "xhigh")

CONVERSATION_EVENTS = frozenset(("response.create", "conversation.item.create", "conversation.item.truncate"))
"""Client events that a transcription session refuses."""

NO_CONVERSATION = "this is a transcription session, which has no responses; connect without intent for a conversation"


def transcription_field(kind: SessionKind, spoken: str, options: EngineOptions) -> Field:
    """Returns the field `transcription`; `spoken`: the server's language."""
    delayed = one_of(*_DELAYS) if kind == "transcription" else hint(one_of(*_DELAYS))
    table: dict[str, Field] = {
        # The session shows the recognizer in use.
        "model": Field(IDENTIFIER),
        "language": Field(language_check(spoken, options)),
        "languages": Field(hint(listing(IDENTIFIER, maximum=100))),
        "prompt": Field(text(max_chars=MAX_PROMPT_CHARS)),
        "keywords": Field(_keywords),
        "delay": Field(delayed),
    }
    return in_parts(table, null=True)


def include_field(offer: SessionOffer) -> Field:
    """Returns the field `include`. Its value is whether transcripts get probabilities, if the recognizer knows any."""

    def check(value: object, path: str) -> bool:
        names = listing(one_of(LOGPROBS), maximum=1)(value, path)
        return bool(names) and offer.logprobs

    return Field(check)


def noise_reduction_field(offer: SessionOffer) -> Field:
    """Returns the field `noise_reduction`; null switches it off, and it stays off where the server has none."""

    def check(value: object, path: str) -> NoiseReduction | None:
        kind: NoiseReduction = checked(value, path, _NOISE_REDUCTION)["type"]
        return kind if offer.noise_reduction else None

    return Field(check, null=True)


def refuse_type_change(now: SessionKind, kind: SessionKind, *, begun: bool) -> FieldError | None:
    """Returns the error if the session may not change its type, else None."""
    if now == kind or (kind == "transcription" and not begun):
        return None
    what = "a transcription session" if now == "transcription" else "a conversation that has begun"
    return wrong_value("session.type", f"is {kind!r}", f"{now!r}, because this is {what}; connect again to change it")


def in_transcription_session(kind: str) -> FieldError | None:
    """Returns the error for a client event of this type in a transcription session, or None if it has the event."""
    return not_supported("type", NO_CONVERSATION) if kind in CONVERSATION_EVENTS else None


_NOISE_REDUCTION = {
    "type": Field(one_of("near_field", "far_field"), required=True),
    "strength": Field(hint(number(0, 1))),  # noise is reduced fully
}


def _keywords(value: object, path: str) -> tuple[str, ...]:
    keywords = tuple(listing(text(max_chars=MAX_KEYWORD_CHARS), maximum=MAX_KEYWORDS)(value, path))
    return tuple(word for word in keywords if word.strip())
