"""Languages and installed voices that the first steps offer. Reads the disk."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from assistant.config.keys import Value
from assistant.config.settings import Settings
from assistant.models.catalogue import MODELS
from assistant.models.language_names import NAMES
from assistant.registry.voices import AUTO, last_resort, ranked_voice_engines, voice_kinds
from assistant.setup.voices.installed import installed_voices

SKILL_LANGUAGES = ("en", "de", "fr", "es")
"""Languages in which the built-in skills answer; in every other one only a language model does."""

LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")

_MAX_VOICES = 50
"""Limit on the voices that are offered."""

SAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "en": "Hello, I am Repartee. This is how I sound.",
        "de": "Hallo, ich bin Repartee. So klinge ich.",
        "fr": "Bonjour, je suis Repartee. Voici ma voix.",
        "es": "Hola, soy Repartee. Así es como sueno.",
        "it": "Ciao, sono Repartee. Questa è la mia voce.",
    }
)
_OTHER_SAMPLE = "Repartee. 1, 2, 3, 4, 5."


@dataclass(frozen=True, slots=True)
class VoiceOption:
    """A voice that can be used without a download.

    Attributes:
        name: The name by which it is chosen.
        engine: Name of its engine.
        label: For the user.
        is_own: Whether "auto" takes it without being told: the preferred voice of its language, or the only one.
    """

    name: str
    engine: str
    label: str
    is_own: bool = False

    def values(self) -> dict[str, Value]:
        """Returns the settings that select this voice."""
        if self.is_own:  # "auto" takes the language's own voice, also one that is downloaded later
            return {"tts.engine": AUTO, "tts.voice": ""}
        if self.name == self.engine:
            return {"tts.engine": self.engine, "tts.voice": ""}
        return {"tts.engine": AUTO, "tts.voice": self.name}


def base_of(language: str) -> str:
    """Returns the language of a code such as de-AT."""
    return language.partition("-")[0]


def language_name(language: str) -> str:
    """Returns the English name of a language, or its code."""
    return NAMES.get(base_of(language), language)


def languages(current: str) -> list[str]:
    """Returns the languages that are offered: the current one, those of the skills, and those of installed voices."""
    voiced = (voice.language for voice in installed_voices() if voice.language)
    return list(dict.fromkeys([current, *SKILL_LANGUAGES, *voiced]))


def voice_options(language: str) -> list[VoiceOption]:
    """Returns the voices for a language, the best first. The last one, of the last resort, is part of the program."""
    base = base_of(language)
    *voices, spare = installed_voices(base)
    options = [
        VoiceOption(
            voice.name, voice.engine.name, voice.label, is_first and voice.name == voice.engine.default_voice(language)
        )
        for voice, is_first in zip(voices[:_MAX_VOICES], (True, *[False] * _MAX_VOICES), strict=False)
    ]
    return [*options, VoiceOption(spare.name, spare.engine.name, spare.label, not voices)]


def default_voice(language: str) -> str:
    """Returns the name of the voice that "auto" prefers for a language, whether it is installed or not."""
    first = next(iter(ranked_voice_engines(language)), last_resort())
    return first.default_voice(language)


def more_voices(language: str) -> list[str]:
    """Returns the names of voices that could be downloaded for a language."""
    there = {voice.name for voice in installed_voices()}
    kinds = voice_kinds()
    return [
        name for name, model in MODELS.items() if model.kind in kinds and model.covers(language) and name not in there
    ]


def current_voice(settings: Settings, language: str, voices: Sequence[VoiceOption]) -> VoiceOption:
    """Returns the voice that the settings would use for a language."""
    tts = settings.tts
    of_engine = [voice for voice in voices if tts.engine in {AUTO, voice.engine}] or voices
    voice_name = tts.voice or default_voice(language)
    return next((voice for voice in of_engine if voice.name == voice_name), of_engine[0])


def sample_text(language: str) -> str:
    """Returns the sentence with which a voice introduces itself."""
    return SAMPLES.get(base_of(language), _OTHER_SAMPLE)
