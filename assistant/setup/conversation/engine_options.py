"""Lists the languages, voices and LLM endpoints that a client may choose for its conversation. Reads the disk."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.settings import Settings
from assistant.models.language_names import NAMES
from assistant.models.model_choice import candidates
from assistant.models.needs import is_path
from assistant.registry.voices import CLUSTER
from assistant.setup.voices.choice import voice_candidates
from assistant.setup.voices.installed import better_voices, installed_voices
from assistant.support.notice import notice

_MULTILINGUAL_WITH = "de"
"""A language that only multilingual models know."""

ONE_VOICE = notice("one_voice_on_cluster")

ONE_CLUSTER_LANGUAGE = notice("one_language_on_cluster")

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class OfferedVoice:
    """A voice that is installed.

    Attributes:
        name: Its name; that of an engine stands for the engine's own voice of each language.
        language: Code of its language, as "de"; "" for every language.
        label: For the user: "Pico (DE)".
    """

    name: str
    language: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class OfferedEndpoint:
    """An LLM endpoint of the configuration, without its address.

    Attributes:
        name: Its name.
        model: Its model.
        here: Whether it runs on this machine.
    """

    name: str
    model: str
    here: bool


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Choices that a client has.

    Attributes:
        languages: Codes; empty: only the server's language.
        voices: Installed voices; empty: only the server's voice.
        better_voices: See `better_voices`.
        endpoints: Empty: the server chooses.
        words: Whether a client may have words recorded that the server does not record.
        no_languages: Why there is only one language, with the remedy; "" if there are several.
        follows: Whether conversations follow the user's language, unless a client chooses one.
    """

    languages: tuple[str, ...] = ()
    voices: tuple[OfferedVoice, ...] = ()
    better_voices: Mapping[str, str] = field(default_factory=dict)
    endpoints: tuple[OfferedEndpoint, ...] = ()
    words: bool = False
    no_languages: str = ""
    follows: bool = False

    def voices_of(self, language: str) -> tuple[str, ...]:
        """Returns the names of the voices that speak a language."""
        return tuple(voice.name for voice in self.voices if voice.language in {"", base_of(language)})


def base_of(language: str) -> str:
    """Returns a language without its region: "en" for "en-US"."""
    return language.replace("_", "-").partition("-")[0].lower()


def engine_options(settings: Settings, *, multilingual: bool) -> EngineOptions:
    """Returns what a client may choose.

    Args:
        settings: The server's settings; `server.client_choices` names what is allowed.
        multilingual: Whether the loaded recognizer knows many languages.
    """
    allowed = set(settings.server.client_choices.split())
    has_voices = (
        settings.tts.engine != CLUSTER
    )  # replicas have one voice, and others would be synthesized in this process
    why = "" if "language" in allowed else notice("one_language_offered")
    if not why and not has_voices:
        why = ONE_VOICE
    if not why and not multilingual:
        if settings.stt.engine == CLUSTER:
            why = ONE_CLUSTER_LANGUAGE
        elif not candidates(_MULTILINGUAL_WITH):
            why = notice("one_language_known")
    own = base_of(settings.assistant.language)
    voices = _voices() if "voice" in allowed and has_voices else ()
    return EngineOptions(
        languages=() if why else tuple(sorted({own, *NAMES})),
        voices=voices,
        better_voices=better_voices() if voices else {},
        endpoints=tuple(map(offered_endpoint, settings.llm.endpoints)) if "endpoint" in allowed else (),
        words="words" in allowed or settings.trace.words,
        no_languages=why,
        follows=bool(settings.assistant.languages),
    )


def _voices() -> tuple[OfferedVoice, ...]:
    return tuple(OfferedVoice(voice.name, voice.language, voice.label) for voice in installed_voices())


def offered_endpoint(endpoint: EndpointSection) -> OfferedEndpoint:
    """Returns an endpoint as clients see it."""
    here = endpoint.is_on_this_machine or urlsplit(endpoint.url).hostname in _LOOPBACK
    model = Path(endpoint.model).stem if is_path(endpoint.model) else endpoint.model
    return OfferedEndpoint(endpoint.name, model, here)


def voice_in_use(settings: Settings, engine: str) -> str:
    """Returns the name of the voice of these settings; `engine`: the one that is loaded."""
    if settings.tts.engine == CLUSTER:
        return engine
    candidate = next((candidate for candidate in voice_candidates(settings) if candidate.engine.name == engine), None)
    name = "" if candidate is None else candidate.voice
    if is_path(name):
        return Path(name).stem
    return name or engine


def settings_in(settings: Settings, language: str) -> Settings:
    """Returns the settings of a conversation in another language."""
    return replace(
        settings, assistant=replace(settings.assistant, language=language, languages=(), region="", greeting="")
    )
