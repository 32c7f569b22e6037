"""Makes voices of the installed engines, without loading them."""

from typing import TYPE_CHECKING

from assistant.config.settings import Settings
from assistant.setup.providers import voice_provider
from assistant.setup.voices.choice import VoiceCandidate
from assistant.support.cpu import cores, engine_threads
from audio.engines.voice import VoiceRequest
from audio.pronunciation import HUMS, Pronunciations
from audio.tts import Voice

if TYPE_CHECKING:
    from audio.engine_lateness import EngineLateness

VOLUME_DBFS = -20.0
"""Loudness of speech without pauses: leaves 17 dB for the peaks of the loudest voice (docs/lab/tts.md)."""


def make_voice(settings: Settings, candidate: VoiceCandidate, lateness: "EngineLateness | None" = None) -> Voice:
    """Returns a voice that is not loaded yet. Raises EngineLoadError."""
    engine, tts = candidate.engine, settings.tts
    return engine.make(
        VoiceRequest(
            settings=settings.engines.of("tts", engine.name),
            language=settings.assistant.language,
            voice=candidate.voice,
            model=candidate.place,
            speed=tts.speed,
            volume_dbfs=VOLUME_DBFS,
            threads=engine_threads(settings.stt.threads, cores(), engine.most_threads),
            provider=voice_provider(settings, engine.name),
            pronunciations=pronunciations(settings),
            is_configured=candidate.is_configured,
            lateness=lateness,
        )
    )


def pronunciations(settings: Settings) -> Pronunciations:
    """Returns the user's table of words, `tts.lexicon`, with hums."""
    return Pronunciations({**HUMS, **settings.tts.lexicon.entries})
