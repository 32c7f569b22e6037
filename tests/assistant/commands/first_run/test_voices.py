"""Languages and voices that the first steps offer, and languages that the user names."""

import asyncio
import wave
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from support.models.synthetic_piper import tone_voice

from assistant.commands.first_run.language_names import language_code, offered_language, unknown_language
from assistant.commands.first_run.sample import sample_of
from assistant.config.settings import DEFAULTS
from assistant.first_run import voices as first_run_voices
from assistant.first_run.voices import (
    current_voice,
    languages,
    more_voices,
    sample_text,
    voice_options,
)
from assistant.models.language_names import NAMES
from assistant.setup.voices.installed import installed_voices
from audio.errors import TtsError

ESPEAK = "espeak-ng"
GERMAN = "de_DE-thorsten-medium"


@pytest.fixture
def voices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "repartee" / "voices"
    folder.mkdir(parents=True)
    return folder


def test_without_a_download_espeak_is_the_only_voice_of_most_languages(voices: Path) -> None:
    (only,) = voice_options("nl-BE")
    assert (only.name, only.is_own) == (ESPEAK, True)
    assert only.values() == {"tts.engine": "auto", "tts.voice": ""}
    assert languages("nl") == ["nl", "en", "de", "fr", "es", "it"]


def test_without_a_download_pico_is_offered_before_espeak(voices: Path) -> None:
    pico, espeak = voice_options("de-AT")
    assert (pico.name, pico.label, pico.is_own) == ("pico-de-DE", "Pico (DE)", True)
    # A voice that is downloaded later is used without running the first steps again.
    assert pico.values() == {"tts.engine": "auto", "tts.voice": ""}
    assert espeak.values() == {"tts.engine": ESPEAK, "tts.voice": ""}
    assert current_voice(DEFAULTS, "de", [pico, espeak]) == pico
    assert more_voices("de") == [GERMAN]


def test_downloaded_voice_comes_before_pico(voices: Path) -> None:
    tone_voice(voices, name="de_DE-tone-low", language="de_DE")
    piper, pico, espeak = voice_options("de")
    assert (piper.name, pico.name, espeak.name) == ("de_DE-tone-low", "pico-de-DE", ESPEAK)
    assert pico.values() == {"tts.engine": "auto", "tts.voice": "pico-de-DE"}


def test_installed_voices_come_first_and_by_language(voices: Path) -> None:
    for name, language in (("en_US-tone-low", "en_US"), ("en_US-joe-medium", "en_US"), ("nl_NL-tone-low", "nl_NL")):
        tone_voice(voices, name=name, language=language)
    (voices / "notes.onnx").write_bytes(b"no voice")
    (voices / "en_GB-alan-medium.onnx").write_bytes(b"without its .json")
    english = voice_options("en")
    # joe's size is not that of the catalogue
    assert [voice.name for voice in english if voice.engine != "pico"] == ["heart", "en_US-tone-low", ESPEAK]
    assert [voice.label for voice in english[:2]] == ["Heart (US)", "Tone (US, low)"]
    assert english[0].values() == {"tts.engine": "auto", "tts.voice": ""}
    assert english[1].values() == {"tts.engine": "auto", "tts.voice": "en_US-tone-low"}
    assert english[-1].values() == {"tts.engine": ESPEAK, "tts.voice": ""}
    assert [voice.name for voice in voice_options("nl")] == ["nl_NL-tone-low", ESPEAK]
    assert set(languages("en")) == {"en", "de", "fr", "es", "it", "nl"}
    assert current_voice(DEFAULTS, "en", english).name == "heart"


def test_last_resort_is_offered_after_many_voices(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, espeak = installed_voices("en")
    many = [replace(espeak, name=f"voice {number}") for number in range(60)]
    monkeypatch.setattr(first_run_voices, "installed_voices", lambda _language: [*many, espeak])
    assert [one.name for one in voice_options("en")] == [f"voice {number}" for number in range(50)] + [ESPEAK]


@pytest.mark.parametrize("engine", ["piper", ESPEAK])
def test_voice_introduces_itself(voices: Path, engine: str) -> None:
    tone_voice(voices, name="en_US-tone-low")
    voice = next(one for one in voice_options("en") if one.engine == engine)
    with wave.open(BytesIO(asyncio.run(sample_of(voice, "en")))) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (24_000, 1, 2)
        assert 1 < sound.getnframes() / 24_000 < 10


def test_language_without_a_voice_is_reported_in_one_line(voices: Path) -> None:
    (voice,) = voice_options("xx")
    with pytest.raises(TtsError, match=r'^espeak-ng has no voice for the language "xx"'):
        asyncio.run(sample_of(voice, "xx"))
    assert sample_text("xx") == "Repartee. 1, 2, 3, 4, 5."


# ---- languages that the user names ----


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("DE", "de"),
        ("de_AT", "de-AT"),
        ("de-CH", "de-CH"),
        ("Deutsch", "de"),
        (" français ", "fr"),
        ("francais", "fr"),
        ("日本語", "ja"),
    ],
)
def test_language_is_found_by_code_or_name(typed: str, code: str) -> None:
    assert language_code(typed) == code


def test_every_named_language_is_known_by_code_and_name() -> None:
    assert [language_code(code) for code in NAMES] == list(NAMES)
    assert [language_code(name) for name in NAMES.values()] == list(NAMES)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("dee", "de (German)"), ("eng", "en (English)"), ("germna", "de (German)"), ("fracais", "fr (French)")],
)
def test_misspelled_language_gets_a_suggestion(typed: str, meant: str) -> None:
    assert language_code(typed) is None
    assert unknown_language(typed) == f'the language "{typed}" is not known; did you mean {meant}?'


@pytest.mark.parametrize("typed", ["", "xx", "qwertyuiop", "7"])
def test_unknown_language_gets_an_example(typed: str) -> None:
    assert language_code(typed) is None
    assert "known" in unknown_language(typed)


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "de_DE.UTF-8"}, "de"),
        ({"LANG": "fr"}, "fr"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "es_ES@euro"}, "es"),
        ({"LANG": "C.UTF-8"}, ""),
        ({"LANG": "pl_PL.UTF-8"}, ""),
        ({}, ""),
    ],
)
def test_language_of_the_environment(environ: dict[str, str], language: str) -> None:
    assert offered_language(environ) == language
