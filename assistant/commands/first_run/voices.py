"""Languages and installed voices that the first steps offer. Reads the disk."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from assistant.config.keys import Value
from assistant.config.settings import Settings
from assistant.models.catalogue import MODELS, VOICE_OF_LANGUAGE, piper_voice
from assistant.models.language_hint import NAMES
from assistant.models.needs import Need, at_hand, folder_of
from assistant.support.paths import HomeError

SKILL_LANGUAGES = ("en", "de", "fr", "es")
"""Languages in which the built-in skills answer; in every other one only a language model does."""

ESPEAK = "espeak-ng"
"""Name of the engine, and of its voice: the language's own."""

LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")

_MAX_VOICES = 50
"""Limit on the voices that are offered."""

SAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "en": "Hello, I am Repartee. This is how I sound.",
        "de": "Hallo, ich bin Repartee. So klinge ich.",
        "fr": "Bonjour, je suis Repartee. Voici ma voix.",
        "es": "Hola, soy Repartee. Así es como sueno.",
    }
)
_OTHER_SAMPLE = "Repartee. 1, 2, 3, 4, 5."


@dataclass(frozen=True, slots=True)
class VoiceOption:
    """A voice that can be used without a download.

    Attributes:
        name: The name by which it is chosen.
        engine: "piper" or "espeak-ng".
        label: For the user.
        is_only: Whether there is no other for its language.
    """

    name: str
    engine: str
    label: str
    is_only: bool = False

    def values(self, language: str) -> dict[str, Value]:
        """Returns the settings that select this voice for a language."""
        if self.engine == ESPEAK and not self.is_only:
            return {"tts.engine": ESPEAK, "tts.voice": ""}
        # "auto" takes the language's own voice, also one that is downloaded later.
        is_default = self.engine == ESPEAK or VOICE_OF_LANGUAGE.get(base_of(language)) == self.name
        return {"tts.engine": "auto", "tts.voice": "" if is_default else self.name}


def base_of(language: str) -> str:
    """Returns the language of a code such as de-AT."""
    return language.partition("-")[0]


def language_name(language: str) -> str:
    """Returns the English name of a language, or its code."""
    return NAMES.get(base_of(language), language)


def languages(current: str) -> list[str]:
    """Returns the languages that are offered: the current one, those of the skills, and those of installed voices."""
    voiced = (parts for name in _installed_names() if (parts := name.partition("_")[0]))
    return list(dict.fromkeys([current, *SKILL_LANGUAGES, *voiced]))


def installed_voices(language: str) -> list[VoiceOption]:
    """Returns the voices for a language, the best first. The last one, of espeak-ng, is part of the program."""
    base = base_of(language)
    preferred = VOICE_OF_LANGUAGE.get(base, "")
    names = sorted(
        (name for name in _installed_names() if (model := piper_voice(name)) and model.covers(base)),
        key=lambda name: (name != preferred, name),
    )
    piper = [VoiceOption(name, "piper", _label(name)) for name in names[:_MAX_VOICES]]
    label = "espeak-ng (part of the program, sounds like a robot)"
    return [*piper, VoiceOption(ESPEAK, ESPEAK, label, is_only=not piper)]


def more_voices(language: str) -> list[str]:
    """Returns the names of voices that could be downloaded for a language."""
    there = set(_installed_names())
    return [
        name for name, model in MODELS.items() if model.kind == "piper" and model.covers(language) and name not in there
    ]


def current_voice(settings: Settings, language: str, voices: Sequence[VoiceOption]) -> VoiceOption:
    """Returns the voice that the settings would use for a language."""
    tts = settings.tts
    wanted = ESPEAK if tts.engine == ESPEAK else tts.voice or VOICE_OF_LANGUAGE.get(base_of(language), "")
    return next((voice for voice in voices if voice.name == wanted), voices[0])


def sample_text(language: str) -> str:
    """Returns the sentence with which a voice introduces itself."""
    return SAMPLES.get(base_of(language), _OTHER_SAMPLE)


def _installed_names() -> list[str]:
    """Returns the complete Piper voices in Repartee's folder, whether the catalogue has them or not."""
    try:
        files = sorted(folder_of("piper").glob("*.onnx"))
    except (OSError, HomeError):
        return []
    names = (file.stem for file in files)
    return [name for name in names if piper_voice(name) and at_hand(Need(name, "piper", "")) is not None]


def _label(name: str) -> str:
    """Describes a voice by its name, region and quality: "Joe (US, medium)"."""
    place, voice, quality = name.split("-", 2)
    return f"{voice.replace('_', ' ').title()} ({place.partition('_')[2]}, {quality.replace('_', ' ')})"
