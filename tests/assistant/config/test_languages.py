"""The setting assistant.language: one language, a list, or auto."""

from dataclasses import replace
from pathlib import Path

import pytest

from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings, render_effective
from assistant.config.settings import AUTO_LANGUAGES, Settings
from assistant.setup.conversation.engine_options import settings_in


def given(tmp_path: Path, value: str) -> Settings:
    (tmp_path / "given.toml").write_text(f"[assistant]\nlanguage = {value}\n", encoding="utf-8")
    return load_settings(tmp_path / "given.toml", {}, ()).settings


@pytest.mark.parametrize(
    ("value", "language", "languages", "written"),
    [
        ('"de"', "de", (), "de"),
        ('["de", "en"]', "de", ("de", "en"), "de en"),
        ('["en-GB", "fr"]', "en-GB", ("en", "fr"), "en-GB fr"),
        ('["de"]', "de", (), "de"),
        ('["de", "de-AT"]', "de", (), "de"),
        ('"auto"', "en", AUTO_LANGUAGES, "auto"),
    ],
)
def test_language_is_one_or_several(
    tmp_path: Path, value: str, language: str, languages: tuple[str, ...], written: str
) -> None:
    settings = given(tmp_path, value)
    assert (settings.assistant.language, settings.assistant.languages) == (language, languages)
    assert settings.value("assistant.language") == written


def test_flag_and_environment_take_languages_with_blanks() -> None:
    flag = load_settings(None, {}, ["assistant.language=fr es"])
    assert flag.settings.assistant.languages == ("fr", "es")
    assert next(row.value for row in render_effective(flag) if row.key == "assistant.language") == '"fr es"'
    environment = load_settings(None, {"REPARTEE_ASSISTANT_LANGUAGE": "auto"}, [])
    assert environment.settings.assistant.languages == AUTO_LANGUAGES


@pytest.mark.parametrize("value", ['["en", "English"]', "[1, 2]", '["auto", "en"]', "[]", '["en", ["de"]]'])
def test_wrong_list_says_what_is_allowed(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        given(tmp_path, value)
    assert 'a list such as ["en", "de"], or auto' in str(refused.value)


def test_models_of_several_languages_know_more_than_english(tmp_path: Path) -> None:
    several = [
        given(tmp_path, value).assistant.language_of_models for value in ('"en"', '["en", "de"]', '["fr", "en"]')
    ]
    assert several == ["en", "de", "fr"]


def test_chosen_language_replaces_several(tmp_path: Path) -> None:
    settings = given(tmp_path, '["en", "de"]')
    assert settings_in(settings, "de").assistant.languages == ()
    assert settings_in(settings, "en").assistant.languages == ()
    assert replace(settings.assistant, greeting="Hello.").languages == ("en", "de")
