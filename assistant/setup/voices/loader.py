"""Loads the voice on this machine: the preferred one, or the best that can replace it."""

import logging

from assistant.registry.voices import AUTO, last_resort
from assistant.setup.loading import Loading, close_engine, now_s
from assistant.setup.providers import voice_provider
from assistant.setup.voices.choice import VoiceCandidate, voice_candidates
from assistant.setup.voices.factory import make_voice
from assistant.setup.voices.language_voices import voice_settings
from audio.errors import EngineLoadError
from audio.execution_provider import ProviderUnavailableError, ProviderUser, fallback_of
from audio.tts import Voice
from audio.tts.relief_voice import ReliefVoice

log = logging.getLogger(__name__)


async def load_voice(loading: Loading) -> Voice:
    """Returns the voice of the settings, loaded.

    With "auto", the next best voice of the language replaces one that is missing or cannot be loaded. Raises
    EngineLoadError if none can be loaded.
    """
    is_auto = loading.settings.tts.engine == AUTO
    first, problem = "", ""  # of the preferred engine
    own = loading.settings.assistant.language.partition("-")[0]
    for candidate in voice_candidates(voice_settings(loading.settings, own)):
        first = first or candidate.engine.name
        error = EngineLoadError(f"{candidate.lacking}.")
        if not candidate.lacking:
            try:
                return await _load(loading, candidate, f"instead of {first}, because {problem}" if problem else "")
            except ProviderUnavailableError:
                raise
            except EngineLoadError as failure:
                error = failure
        if not is_auto or candidate.engine.last_resort:
            raise error
        problem = problem or candidate.lacking or str(error)
    raise EngineLoadError(f"no voice speaks {loading.settings.assistant.language}: {problem}.")


async def _load(loading: Loading, candidate: VoiceCandidate, replaces: str) -> Voice:
    """Returns a loaded voice. `replaces`: which other one it replaces and why; "" if none."""
    began_s, engine = now_s(), candidate.engine
    voice = make_voice(loading.settings, candidate, loading.lateness)
    try:
        await loading.with_timeout(voice.name, voice.load(), voice_provider(loading.settings, engine.name))
        if isinstance(voice, ProviderUser):
            loading.provider_of("tts", voice)
        if replaces:
            log.info("tts: %s, %s", engine.name, replaces)
        why = replaces or fallback_of(voice) or candidate.why
        is_fallback = bool(replaces or fallback_of(voice))
        loading.record_choice("tts", voice.name, voice.detail, why, began_s, fallback=is_fallback)
        return voice if engine.last_resort else await _with_relief(loading, voice)
    except BaseException:  # otherwise it goes on loading, and nothing would release it
        await close_engine(voice, log.warning)
        raise


async def _with_relief(loading: Loading, voice: Voice) -> Voice:
    """Returns the voice with a cheap one beside it, for a machine that is too slow for it; alone if that has none."""
    cheap = make_voice(loading.settings, VoiceCandidate(last_resort(), ""))
    try:
        await cheap.load()
    except BaseException as error:
        await close_engine(cheap, log.warning)
        if not isinstance(error, EngineLoadError):
            raise
        log.info("tts: no other voice can speak if %s is too slow: %s", voice.name, error)
        return voice
    return ReliefVoice(voice, cheap, loading.lateness)
