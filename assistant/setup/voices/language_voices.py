"""Loads a voice for each language of a conversation that follows the user's language."""

import logging
from dataclasses import replace

from assistant.config.settings import Settings
from assistant.models.language_names import NAMES
from assistant.models.needs import is_path
from assistant.registry.voices import AUTO
from assistant.setup.loading import Loading, close_engine
from assistant.setup.providers import voice_provider
from assistant.setup.voices.choice import voice_candidates
from assistant.setup.voices.factory import make_voice
from assistant.setup.voices.installed import voice_named
from assistant.support.notice import notice
from audio.errors import EngineLoadError
from audio.tts import Voice

log = logging.getLogger(__name__)


def voice_settings(settings: Settings, language: str) -> Settings:
    """Returns the settings of one language of the conversation. `tts.voice` counts for its own language only."""
    own = settings.assistant.language.partition("-")[0]
    assistant = settings.assistant
    if language != own:
        assistant = replace(assistant, language=language, languages=(), region="", greeting="")
    voice = settings.tts.voice
    if settings.assistant.languages and voice and _language_of(voice, own) not in {"", language}:
        return replace(settings, assistant=assistant, tts=replace(settings.tts, voice=""))
    return replace(settings, assistant=assistant)


def _language_of(voice: str, own: str) -> str:
    """Returns the language of `tts.voice`; "": it has several, or it is refused when it is loaded."""
    if is_path(voice):
        return own
    try:
        return voice_named(voice).language
    except EngineLoadError:
        return own


async def load_language_voice(loading: Loading, language: str) -> Voice:
    """Returns a loaded voice of a language. Raises EngineLoadError if none speaks it.

    A `tts.engine` that does not speak the language gives way to the others.
    """
    settings, problem = voice_settings(loading.settings, language), ""
    engines = dict.fromkeys((settings.tts.engine, AUTO))
    for engine in engines:
        wanted = replace(settings, tts=replace(settings.tts, engine=engine))
        for candidate in voice_candidates(wanted):
            if candidate.lacking:
                problem = problem or candidate.lacking
                continue
            voice: Voice | None = None
            try:
                voice = make_voice(wanted, candidate, loading.lateness)
                await loading.with_timeout(voice.name, voice.load(), voice_provider(wanted, candidate.engine.name))
            except EngineLoadError as error:
                problem = problem or str(error)
                log.info("tts: %s does not speak %s: %s", candidate.engine.name, language, error)
                if voice is not None:
                    await close_engine(voice, log.warning)
            except BaseException:  # otherwise it goes on loading, and nothing would release it
                if voice is not None:
                    await close_engine(voice, log.warning)
                raise
            else:
                return voice
    raise EngineLoadError(problem or "no engine speaks it")


def no_voice(language: str, error: EngineLoadError, speaking: str) -> str:
    """Returns the sentence that says which voice speaks instead, and why."""
    name = NAMES.get(language, language)
    return notice("no_voice_of_language", name=name, reason=str(error).rstrip("."), voice=speaking)
