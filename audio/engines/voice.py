"""Declaration of a voice engine: the object that its package offers as an entry point of the group `repartee.tts`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from audio.errors import EngineLoadError
from declarations.models import ModelKind
from declarations.settings import NoSettings

if TYPE_CHECKING:
    from audio.engine_lateness import EngineLateness
    from audio.execution_provider import ProviderRequest
    from audio.pronunciation import Pronunciations
    from audio.tts import Voice

ANY_LANGUAGE = ""
"""Stands for every language that is not named."""


@dataclass(frozen=True, slots=True)
class VoiceInfo:
    """A voice that is part of an engine, without a model to download.

    Attributes:
        name: As in `tts.voice`. A voice with the name of its engine is the engine's own one of each language.
        language: Code of its language; "" for every language of the engine.
        label: For the list of voices: "Heart (US)".
    """

    name: str
    language: str
    label: str


@dataclass(frozen=True, slots=True)
class VoiceFigures:
    """Measured quality and cost, for the list of voices (docs/tts.md says how they are measured).

    Attributes:
        dnsmos: Quality of the sound from 1 to 5, as DNSMOS estimates it; None: not measured.
        word_errors: Share of English words that a recognizer does not understand (docs/tts.md).
        processor_s: Processor seconds for a second of speech.
        first_sound_ms: Time to the first sound of 25 letters, in ms.
    """

    dnsmos: float | None
    word_errors: float
    processor_s: float
    first_sound_ms: float


@dataclass(frozen=True, slots=True)
class VoiceRequest:
    """The settings and the model for which a voice is made.

    Attributes:
        settings: The engine's section of the configuration.
        language: Language of the conversation, as in "en" or "de-AT".
        voice: Name of the voice; "": the engine's own one of the language.
        model: Path of the voice's model; None for an engine without models.
        speed: Factor on its normal speed, 0.5 to 2.
        volume_dbfs: Loudness of speech without pauses.
        threads: Number of threads that it may use.
        provider: Where an engine on ONNX Runtime computes; None for any other.
        pronunciations: The user's table of words.
        is_configured: Whether the configuration names this voice, or means it by naming none. Settings of a single
            voice, such as a speaker's number, are for that one.
        lateness: Is told how late the voice is; None: nothing is.
    """

    settings: object
    language: str
    voice: str
    model: Path | None
    speed: float
    volume_dbfs: float
    threads: int
    provider: "ProviderRequest | None"
    pronunciations: "Pronunciations"
    is_configured: bool = True
    lateness: "EngineLateness | None" = None


def own_label(voice: str) -> str:
    """Describes a voice by its name; for `VoiceEngine.label_of`."""
    return voice


@dataclass(frozen=True, slots=True)
class VoiceEngine:
    """A voice engine.

    Attributes:
        name: As in `tts.engine`; also the name of the entry point.
        make: Returns a voice that is not loaded yet. Raises EngineLoadError. It imports the engine's libraries.
        about: One clause for the list of engines: "neural, one model per voice".
        settings: Dataclass of its section [tts.NAME], with a `KeyInfo` for each field.
        ranks: How much it is preferred by `tts.engine = "auto"`, by language; `ANY_LANGUAGE` for all others. The
            highest that can speak is used. A language that is not listed is never spoken by "auto".
        models: Its models; None: it needs none.
        default_voices: Name of the voice of each language or region ("en-GB") that is used if none is configured, for
            an engine with models or several voices.
        voices: Its voices, for an engine without models.
        label_of: Describes a voice with a model by its name.
        name_pattern: Beginning of the names of its models, so that a misspelt one is noticed before it is loaded.
        last_resort: Whether it speaks every language without a model, in place of a voice that cannot. One engine is.
        packages: Distributions that it needs, with the module of each.
        most_threads: Greatest useful number of threads.
        thread: Name of its thread, as the system shows it (15 characters); "" if its threads have no name.
        on_cluster: Whether it may run in replicas of a cluster.
        figures: Measured quality and cost; None: not measured.
    """

    name: str
    make: "Callable[[VoiceRequest], Voice]"
    about: str
    settings: type = NoSettings
    ranks: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    models: ModelKind | None = None
    default_voices: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    voices: tuple[VoiceInfo, ...] = ()
    label_of: Callable[[str], str] = own_label
    name_pattern: re.Pattern[str] | None = None
    last_resort: bool = False
    packages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    most_threads: int = 1
    thread: str = ""
    on_cluster: bool = True
    figures: VoiceFigures | None = None

    def rank(self, language: str) -> int | None:
        """Returns its rank for a language such as de-AT; None: "auto" does not use it."""
        return self.ranks.get(language.partition("-")[0], self.ranks.get(ANY_LANGUAGE))

    def default_voice(self, language: str) -> str:
        """Returns the voice of a language that is used if none is configured; "" if there is none."""
        base = language.partition("-")[0]
        return self.default_voices.get(language, self.default_voices.get(base, ""))

    def voice_of_name(self, name: str) -> VoiceInfo | None:
        """Returns its voice of a name; None if it has none, or if its voices are models."""
        return next((voice for voice in self.voices if voice.name == name), None)

    def voice_for(self, language: str, name: str) -> VoiceInfo:
        """Returns its voice of a name ("": the language's own), for an engine whose voices are no models.

        Raises EngineLoadError if there is none, or if it speaks another language.
        """
        voice = self.voice_of_name(name or self.default_voice(language))
        if voice is None:
            problem = f'has no voice "{name}"' if name else f'does not speak "{language}"'
            known = ", ".join(voice.name for voice in self.voices)
            raise EngineLoadError(
                f"{self.name} {problem}, only {known}: change tts.voice, or choose another tts.engine"
            )
        if voice.language not in {"", language.partition("-")[0]}:
            raise EngineLoadError(
                f'the {self.name} voice {voice.name} speaks {voice.language}, but the language is "{language}": change '
                "tts.voice or the language"
            )
        return voice
