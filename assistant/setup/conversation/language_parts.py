"""Prepares engines for a conversation that follows the user's language."""

import logging
from collections.abc import Mapping
from functools import partial

from assistant.config.settings import Settings
from assistant.pipeline.engines import LanguageParts
from assistant.pipeline.missing_engines import NoRecognizer, NoVoice
from assistant.setup.derived_settings import session_settings
from assistant.setup.loading import Loading
from assistant.setup.voices.factory import pronunciations
from assistant.setup.voices.language_voices import load_language_voice, no_voice, voice_settings
from assistant.text.normalization.reading import spoken
from audio.errors import EngineLoadError
from audio.languages.conversation_language import ConversationLanguage
from audio.stt import LanguageFollower, Recognizer
from audio.tts import Voice

log = logging.getLogger(__name__)


async def load_language_parts(loading: Loading, own: Voice) -> Mapping[str, LanguageParts]:
    """Returns what replies need in each language of the conversation; empty if it has one. `own`: its voice.

    A language without a voice of its own is spoken by `own`, which the user is told.
    """
    parts: dict[str, LanguageParts] = {}
    for number, language in enumerate(loading.settings.assistant.languages):
        settings = voice_settings(loading.settings, language)
        voice, lacks = None, ""
        if number and not isinstance(own, NoVoice):
            try:
                voice = await load_language_voice(loading, language)
            except EngineLoadError as error:
                lacks = no_voice(language, error, own.name)
                log.warning("%s", lacks)
        parts[language] = LanguageParts(voice, partial(_spoken_form, settings), session_settings(settings), lacks)
    return parts


def following(recognizer: Recognizer, settings: Settings) -> Recognizer:
    """Lets a recognizer follow the user's language, if there are several. Raises EngineLoadError if it cannot."""
    languages = settings.assistant.languages
    if not languages or isinstance(recognizer, NoRecognizer):
        return recognizer
    state = ConversationLanguage(languages, languages[0])
    if not (isinstance(recognizer, LanguageFollower) and recognizer.follow_languages(state)):
        raise EngineLoadError(
            f"{recognizer.name} cannot tell the languages {', '.join(languages)} apart ({recognizer.detail}): set "
            'assistant.language to one language; or set stt.engine = "auto" and stt.model = "base", and run '
            "`repartee models pull base`."
        )
    return recognizer


def _spoken_form(settings: Settings, text: str) -> str:
    return spoken(pronunciations(settings).respelled(text), settings.assistant.language)
