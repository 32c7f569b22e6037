"""Lists all voices with their quality and cost, including voices that can be downloaded. Reads the disk."""

from collections.abc import Iterator
from dataclasses import dataclass

from assistant.registry.packages import lacking_package
from assistant.registry.voices import VOICES
from assistant.setup.voices.installed import installed_voices
from audio.engines.voice import VoiceEngine

NO_FIGURES = ("–", "–", "–", "–")


@dataclass(frozen=True, slots=True)
class ListedVoice:
    """A voice of `repartee engines`.

    Attributes:
        name: As in `tts.voice`.
        engine: Name of its engine.
        language: Code of its language; "" for every language.
        figures: Quality, share of misheard words, processor time, and time to the first sound, as text.
        order: Key by quality, then by cost; the best one has the least.
        lacking: How to get it; "" if it is installed.
    """

    name: str
    engine: str
    language: str
    figures: tuple[str, str, str, str]
    order: tuple[float, float]
    lacking: str = ""


def listed_voices(language: str = "") -> list[ListedVoice]:
    """Returns the voices of one language, or of all, by quality and cost; installed ones first among equal ones."""
    base = language.partition("-")[0]
    voices = [voice for voice in _all() if not base or voice.language in {"", base}]
    return sorted(voices, key=lambda voice: (voice.order, bool(voice.lacking), voice.name))


def _all() -> Iterator[ListedVoice]:
    installed = installed_voices()
    for installed_voice in installed:
        yield ListedVoice(
            installed_voice.name,
            installed_voice.engine.name,
            installed_voice.language,
            _figures(installed_voice.engine),
            _order(installed_voice.engine),
        )
    names = {voice.name for voice in installed}
    for engine in VOICES.all():
        for voice in engine.voices if lacking_package(engine) else ():
            yield ListedVoice(
                voice.name, engine.name, voice.language, _figures(engine), _order(engine), lacking_package(engine)
            )
        for model in engine.models.catalogue if engine.models is not None else ():
            if model.name not in names:
                pull = f"repartee models pull {model.name}"
                language = next(iter(model.languages), "")
                yield ListedVoice(model.name, engine.name, language, _figures(engine), _order(engine), pull)


def _figures(engine: VoiceEngine) -> tuple[str, str, str, str]:
    figures = engine.figures
    if figures is None:
        return NO_FIGURES
    return (
        "–" if figures.dnsmos is None else f"{figures.dnsmos:.2f}",
        f"{100 * figures.word_errors:.0f} %",
        f"{figures.processor_s:.3f}",
        f"{figures.first_sound_ms:.0f}",
    )


def _order(engine: VoiceEngine) -> tuple[float, float]:
    figures = engine.figures
    return (1.0, 0.0) if figures is None else (figures.word_errors, figures.processor_s)
