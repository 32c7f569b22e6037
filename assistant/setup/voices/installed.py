"""Lists the voices that are installed, of all engines. Reads the disk."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assistant.models.needs import Need, at_hand, downloaded_voices, engine_of_voice, lacking_model
from assistant.registry.packages import lacking_package
from assistant.registry.voices import VOICES, downloadable_voices
from assistant.setup.voices.choice import VoiceCandidate
from audio.engines.voice import VoiceEngine
from audio.errors import EngineLoadError


@dataclass(frozen=True, slots=True)
class InstalledVoice:
    """A voice that can be used without a download.

    Attributes:
        name: As in `tts.voice`; the name of its engine stands for the engine's own voice of each language.
        language: Code of its language; "" for every language of its engine.
        label: For the user.
        engine: Its engine.
        place: Path of its model; None if it has none.
    """

    name: str
    language: str
    label: str
    engine: VoiceEngine
    place: Path | None = None

    def preference(self, language: str) -> tuple[bool, int, bool]:
        """Returns a key by which voices for a language are sorted, the preferred one with the greatest."""
        is_default = self.engine.default_voice(language) == self.name
        return not self.engine.last_resort, self.engine.rank(language) or 0, is_default

    @property
    def candidate(self) -> VoiceCandidate:
        """The voice as one that can be made."""
        voice = "" if self.name == self.engine.name else self.name
        return VoiceCandidate(self.engine, voice, self.place, is_configured=False)


def installed_voices(language: str = "") -> list[InstalledVoice]:
    """Returns the installed voices, of one language or of all, the preferred one of each language first."""
    voices = [voice for voice in _installed() if not language or voice.language in {"", language}]
    return sorted(voices, key=lambda voice: voice.preference(language or voice.language), reverse=True)


def better_voices() -> dict[str, str]:
    """Returns the voices to download that "auto" would prefer to every installed engine, by language."""
    installed = list(_installed())
    better = {}
    for code, name in downloadable_voices().items():
        engine = engine_of_voice(name)
        best = max(
            (voice.preference(code)[:2] for voice in installed if voice.language in {"", code}), default=(False, -1)
        )
        if engine is not None and InstalledVoice(name, code, "", engine).preference(code)[:2] > best:
            better[code] = name
    return better


def voice_named(name: str) -> InstalledVoice:
    """Returns the installed voice of a name. Raises EngineLoadError if there is none."""
    voice = next((installed for installed in _installed() if installed.name == name), None)
    if voice is not None:
        return voice
    for engine in VOICES.all():
        if engine.models is not None and engine.models.named(name) is not None:
            raise EngineLoadError(f"{lacking_model(Need(name, engine.models.name, engine.models.purpose))}.")
    raise EngineLoadError(f"there is no voice {name}: choose another one.")


def _installed() -> Iterator[InstalledVoice]:
    for engine in sorted(VOICES.all(), key=lambda engine: engine.last_resort):
        if lacking_package(engine):
            continue
        for voice in engine.voices:
            yield InstalledVoice(voice.name, voice.language, voice.label, engine)
        for name in downloaded_voices(engine):
            assert engine.models is not None, "it has downloaded ones"
            model = engine.models.named(name)
            languages = model.languages if model is not None else ()
            place = at_hand(Need(name, engine.models.name, engine.models.purpose))
            yield InstalledVoice(name, next(iter(languages), ""), engine.label_of(name), engine, place)
