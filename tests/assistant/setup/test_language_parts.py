"""Engines of conversations that follow the user's language."""

import asyncio

import pytest
from support.conversations.simulation import ScriptedRecognizer, ScriptedVoice

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.pipeline.missing_engines import NoRecognizer
from assistant.setup.conversation.language_parts import following, load_language_parts
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.voices import language_voices
from assistant.setup.voices.language_voices import voice_settings
from audio.errors import EngineLoadError
from audio.languages.conversation_language import ConversationLanguage


def settings_of(*overrides: str) -> Settings:
    return load_settings(None, {}, overrides).settings


class FollowingRecognizer(ScriptedRecognizer):
    """A recognizer with a model for several languages, or for English only."""

    def __init__(self, *, multilingual: bool) -> None:
        super().__init__(())
        self.multilingual = multilingual
        self.languages: ConversationLanguage | None = None

    def follow_languages(self, languages: ConversationLanguage) -> bool:
        self.languages = languages
        return self.multilingual


def test_recognizer_follows_the_languages_of_the_settings() -> None:
    recognizer = FollowingRecognizer(multilingual=True)
    assert following(recognizer, settings_of("assistant.language=de en")) is recognizer
    assert recognizer.languages == ConversationLanguage(("de", "en"), "de")


def test_one_language_is_not_followed() -> None:
    recognizer = FollowingRecognizer(multilingual=True)
    following(recognizer, settings_of("assistant.language=de"))
    assert recognizer.languages is None


@pytest.mark.parametrize("recognizer", [FollowingRecognizer(multilingual=False), ScriptedRecognizer(())])
def test_recognizer_of_one_language_is_refused_with_a_remedy(recognizer: ScriptedRecognizer) -> None:
    with pytest.raises(EngineLoadError, match=r"languages en, de apart .*repartee models pull base"):
        following(recognizer, settings_of("assistant.language=en de"))


def test_conversation_without_a_recognizer_goes_on() -> None:
    recognizer = NoRecognizer("no model")
    assert following(recognizer, settings_of("assistant.language=auto")) is recognizer


@pytest.mark.parametrize(
    ("voice", "voices"),
    [
        ("pico-de-DE", {"en": "", "de": "pico-de-DE", "fr": ""}),
        ("hibari", {"en": "hibari", "de": "", "fr": ""}),
        ("espeak-ng", {"en": "espeak-ng", "de": "espeak-ng", "fr": "espeak-ng"}),
        ("/voices/mine.onnx", {"en": "/voices/mine.onnx", "de": "", "fr": ""}),
    ],
)
def test_named_voice_belongs_to_its_own_language(voice: str, voices: dict[str, str]) -> None:
    settings = settings_of("assistant.language=en de fr", f"tts.voice={voice}")
    assert {language: voice_settings(settings, language).tts.voice for language in voices} == voices


def test_voice_of_one_language_is_left_as_it_is() -> None:
    settings = settings_of("assistant.language=en", "tts.voice=pico-de-DE")
    assert voice_settings(settings, "en") == settings


def test_each_language_has_a_voice_and_spoken_forms() -> None:
    loader = EngineLoader(settings_of("assistant.language=en de fr", "tts.voice=hibari"))

    async def load() -> dict[str, tuple[str, str, str]]:
        parts = await load_language_parts(loader, ScriptedVoice())
        found = {
            language: (one.voice.name if one.voice else "", one.normalize_text("3 km"), one.settings.language)
            for language, one in parts.items()
        }
        for one in parts.values():
            if one.voice is not None:
                await one.voice.aclose()
        return found

    assert asyncio.run(load()) == {
        "en": ("", "three kilometers", "en"),
        "de": ("pico", "drei Kilometer", "de"),
        "fr": ("pico", "trois kilomètres", "fr"),
    }


def test_missing_voice_is_said_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_voices, "voice_candidates", lambda _settings: iter(()))
    loader = EngineLoader(settings_of("assistant.language=en de"))
    parts = asyncio.run(load_language_parts(loader, ScriptedVoice()))
    assert parts["de"].voice is None
    assert parts["de"].lacks_voice == "no voice speaks German, so scripted voice speaks it: no engine speaks it"


def test_single_language_has_no_parts() -> None:
    loader = EngineLoader(settings_of("assistant.language=de"))
    assert asyncio.run(load_language_parts(loader, ScriptedVoice())) == {}
