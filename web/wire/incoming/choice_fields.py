"""Parses the settings with which a client chooses among the server's engines: language, voice, LLM endpoint, words.

Only what `SessionOffer.options` lists can be chosen (setting server.client_choices).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assistant.setup.conversation.engine_options import EngineOptions, base_of
from web.wire.values.fields import (
    IDENTIFIER,
    TEXT,
    Check,
    Field,
    FieldError,
    Refusals,
    flag,
    listed,
    not_supported,
    wrong_value,
)
from web.wire.values.session_config import SessionConfig, SessionOffer

VOICE = "session.audio.output.voice"
LANGUAGE = "session.audio.input.transcription.language"
ENDPOINT = "session.repartee.endpoint"
WORDS = "session.repartee.words"

NO_CHOICE = "this server does not let clients choose it (server.client_choices)"


def language_check(spoken: str, options: EngineOptions) -> Check:
    """Returns a check for a language, in any variant: the server's, or one of the options."""

    def check(value: object, path: str) -> str:
        language: str = TEXT(value, path)
        if not language or (base_of(language) == base_of(spoken) and not options.follows):
            return ""
        if base_of(language) == base_of(spoken):
            return base_of(language)
        if base_of(language) in options.languages:
            return base_of(language)
        if options.languages:
            raise wrong_value(path, "is not a language of this server", listed(options.languages))
        raise not_supported(path, f"this server speaks {spoken!r}; leave it out")

    return check


def choice_fields(offer: SessionOffer) -> dict[str, Field]:
    """Returns the fields of `repartee` about choices; null is the server's own."""
    options = offer.options

    def endpoint(value: object, path: str) -> str:
        if not options.endpoints:
            raise not_supported(path, NO_CHOICE)
        name: str = IDENTIFIER(value, path)
        names = tuple(endpoint.name for endpoint in options.endpoints)
        if name not in names:
            raise wrong_value(path, "is not an endpoint of this server", listed(names))
        return name

    def words(value: object, path: str) -> bool:
        if flag(value, path) and not options.words:
            raise not_supported(path, NO_CHOICE)
        return bool(value)

    return {"endpoint": Field(endpoint, null=True), "words": Field(words, null=True)}


def choice_changes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the changes by the valid fields of an update, apart from the voice."""
    changes: dict[str, Any] = {}
    declared = fields.get("repartee", {})
    if "endpoint" in declared:
        changes["endpoint"] = declared["endpoint"] or ""
    if "words" in declared:
        changes["words"] = declared["words"]
    transcription = fields.get("audio", {}).get("input", {}).get("transcription") or {}
    if "language" in transcription:
        changes["language"] = transcription["language"]
    return changes


def with_voice(
    config: SessionConfig,
    before: SessionConfig,
    voice_name: str | None,
    *,
    spoken: str,
    offer: SessionOffer,
    refusals: Refusals,
) -> SessionConfig:
    """Returns the settings with the voice that the client wants; None: it wants no other.

    A name that is not one of the server's voices stands for the server's own, because clients of OpenAI's service name
    those of that service. A voice that does not speak a new language is replaced by the default one of that language.
    """
    language = config.language or spoken
    allowed = offer.options.voices_of(language)
    if voice_name is not None:
        if voice_name in allowed:
            return replace(config, chosen_voice="" if voice_name == offer.voice and not config.language else voice_name)
        if any(voice.name == voice_name for voice in offer.options.voices):
            refusals.add_error(_other_language(voice_name, language, allowed))
            return config
        return replace(config, chosen_voice="")
    if config.language != before.language and config.chosen_voice not in allowed:
        return replace(config, chosen_voice="")
    return config


def _other_language(other_language: str, language: str, allowed: tuple[str, ...]) -> FieldError:
    return wrong_value(VOICE, f"is {other_language!r}, a voice of another language than {language!r}", listed(allowed))
