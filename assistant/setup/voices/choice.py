"""Chooses the voice of the settings: its engine and model, and what a better one lacks. Reads the disk."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assistant.config.settings import Settings
from assistant.models.needs import at_hand, engine_of_voice, lacking_model, other_voice, voice_need
from assistant.registry.packages import lacking_package
from assistant.registry.voices import AUTO, VOICES, last_resort, ranked_voice_engines
from audio.engines.voice import VoiceEngine
from audio.errors import EngineLoadError


@dataclass(frozen=True, slots=True)
class VoiceCandidate:
    """A voice that the settings could mean.

    Attributes:
        engine: Its engine.
        voice: Its name, as in `tts.voice`; "": the engine's own one of the language.
        place: Path of its model; None: it has none, or lacks it.
        lacking: What it lacks, as part of a sentence; "" if it can be loaded.
        why: Why it is the one, for display.
        is_configured: Whether the configuration means this voice; see `VoiceRequest`.
        instead: Why the configured or default model of the engine is not used, as part of a sentence; "" if it is.
    """

    engine: VoiceEngine
    voice: str
    place: Path | None = None
    lacking: str = ""
    why: str = "as configured"
    instead: str = ""
    is_configured: bool = True


def voice_candidates(settings: Settings) -> Iterator[VoiceCandidate]:
    """Yields the voices that the settings allow, the preferred one first; with a named engine only one.

    Raises EngineLoadError if the named engine cannot be used.
    """
    engine_name, voice = settings.tts.engine, settings.tts.voice
    language = settings.assistant.language
    if engine_name != AUTO:
        yield _candidate(voice_engine(engine_name), language, voice, named_engine=True)
        return
    spare = last_resort()
    if voice:
        of_voice = engine_of_voice(voice)
        if of_voice is None or of_voice is spare:
            yield VoiceCandidate(spare, voice)
            return
        yield _candidate(of_voice, language, voice)
        yield VoiceCandidate(spare, "")
        return
    for engine in ranked_voice_engines(language):
        yield _candidate(engine, language)


def voice_engine(name: str) -> VoiceEngine:
    """Returns the engine of a name. Raises EngineLoadError if it cannot be used."""
    engine = VOICES.get(name)
    if engine is None:
        raise EngineLoadError(f"{VOICES.problem_of(name)}; repair this package, or name another tts.engine.")
    return engine


def _candidate(engine: VoiceEngine, language: str, voice: str = "", *, named_engine: bool = False) -> VoiceCandidate:
    why = "as configured" if named_engine else "auto: its voice is installed"
    if lacking := lacking_package(engine):
        return VoiceCandidate(engine, voice, lacking=lacking)
    if engine.models is None:
        own = engine.default_voice(language)
        return VoiceCandidate(engine, voice or own, why="as configured" if named_engine or engine.last_resort else why)
    need = voice_need(engine, language, voice, named_engine=named_engine)
    if need is None:
        return VoiceCandidate(engine, "", lacking=f"no {engine.name} model is known for {language}")
    place = at_hand(need)
    if place is not None:
        return VoiceCandidate(engine, need.name, place, why=why if named_engine else "auto: its voice is downloaded")
    lacking = lacking_model(need)
    if not voice and (other := other_voice(engine, language)) is not None:
        instead = lacking.partition(";")[0]
        why = "as configured" if named_engine else f"auto: {instead}"
        return VoiceCandidate(engine, other.name, at_hand(other), why=why, instead=instead, is_configured=False)
    return VoiceCandidate(engine, need.name, lacking=lacking)
