"""Loads the voice on this machine: Piper, or espeak-ng in its place."""

import logging
from dataclasses import replace

from assistant.models.needs import Need, is_piper_voice, other_voice
from assistant.setup import build
from assistant.setup.loading import Loading, now_s
from assistant.setup.providers import voice_provider
from audio.errors import EngineLoadError
from audio.execution_provider import ProviderUnavailableError
from audio.tts import Voice
from audio.tts.relief_voice import ReliefVoice

log = logging.getLogger(__name__)


async def load_voice(loading: Loading, need: Need | None, lacking: str) -> Voice:
    """Returns Piper with the configured voice, or the language's default, or any other of the language.

    With "auto", espeak-ng replaces a voice that is missing or cannot be loaded.

    Args:
        loading: The loading of all engines.
        need: Piper's voice; None: none is known for the language.
        lacking: What Piper lacks; "" if its voice is available.
    """
    wanted = loading.settings.tts.engine
    if wanted == "espeak-ng" or (loading.settings.tts.voice and not is_piper_voice(loading.settings.tts.voice)):
        return await _espeak(loading, "")
    why = "auto: its voice is downloaded"
    if lacking and not loading.settings.tts.voice and (other := other_voice(loading.settings.assistant.language)):
        need, lacking, why = other, "", f"auto: {lacking.partition(';')[0]}"
    if wanted == "piper":
        assert need is not None, "a configuration with Piper needs a voice, even if none is named"
        return await _piper(loading, need, "as configured")
    if lacking or need is None:
        return await _espeak(loading, lacking)
    try:
        return await _piper(loading, need, why)
    except ProviderUnavailableError:
        raise
    except EngineLoadError as error:
        return await _espeak(loading, str(error))


async def _piper(loading: Loading, need: Need, why: str) -> Voice:
    began_s = now_s()
    voice = build.piper(loading.settings, build.place_of(need), loading.lateness)
    await loading.with_timeout(voice.name, voice.load(), voice_provider(loading.settings))
    loading.provider_of("tts", voice)
    why = voice.fallback or why
    loading.record_choice("tts", voice.name, voice.detail, why, began_s, fallback=bool(voice.fallback))
    return await _with_relief(loading, voice)


async def _with_relief(loading: Loading, voice: Voice) -> Voice:
    """Returns the voice with espeak-ng beside it, for a machine that is too slow for it; alone if that has none."""
    cheap = build.espeak(replace(loading.settings, tts=replace(loading.settings.tts, voice="")))
    try:
        await cheap.load()
    except EngineLoadError as error:
        log.info("tts: no other voice can speak if %s is too slow: %s", voice.name, error)
        return voice
    return ReliefVoice(voice, cheap, loading.lateness)


async def _espeak(loading: Loading, lacking: str) -> Voice:
    began_s = now_s()
    voice = build.espeak(loading.settings)
    await loading.with_timeout(voice.name, voice.load())
    why = f"instead of piper, because {lacking}" if lacking else "as configured"
    if lacking:
        log.info("tts: espeak-ng, %s", why)
    loading.record_choice("tts", voice.name, voice.detail, why, began_s, fallback=bool(lacking))
    return voice
