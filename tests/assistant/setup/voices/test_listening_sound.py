"""The listening sound of a voice: synthesized when the voice is loaded, trimmed, and refused if it is too long."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from support.models.phrase_whisper import phrase_settings
from support.models.synthetic_piper import tone_voice

from assistant.config.loading import load_settings
from assistant.pipeline.engines import Engines
from assistant.pipeline.listening_sounds import ListeningSound
from assistant.setup.derived_settings import turn_settings
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.voices.listening_sound import LISTENING_SOUNDS, make_listening_sound
from assistant.turns.settings import ListeningSoundThresholds
from assistant.turns.words.backchannel import is_backchannel
from audio.errors import TtsError
from audio.level import rms_dbfs
from audio.pronunciation import HUMS, Pronunciations, problem
from audio.tts import Chunk
from audio.units import Pcm


@dataclass
class Voice:
    """Says 100 ms of silence, a tone, and 200 ms of silence, in chunks."""

    tone_ms: int = 300
    level: int = 8000
    fails: bool = False
    name: str = "test voice"
    detail: str = ""
    said: list[str] = field(default_factory=list)

    async def load(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        self.said.append(text)
        if self.fails:
            raise TtsError("the voice has died")
        tone: Pcm = np.full(24 * self.tone_ms, self.level, np.int16)
        for pcm in (np.zeros(2400, np.int16), tone[: len(tone) // 2], tone[len(tone) // 2 :], np.zeros(4800, np.int16)):
            yield Chunk(pcm)


def made(voice: Voice, language: str = "en") -> ListeningSound:
    return asyncio.run(make_listening_sound(voice, language, -20.0))


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "Mm-hmm."), ("en-GB", "Mm-hmm."), ("de", "Mhm."), ("es", "Ajá."), ("pl", "Mm-hmm.")],
)
def test_sound_is_in_the_language_of_the_conversation(language: str, text: str) -> None:
    voice = Voice()
    assert made(voice, language).text == text
    assert voice.said == [text]


def test_recognizer_takes_every_sound_for_a_backchannel() -> None:
    assert all(is_backchannel(text) for text in LISTENING_SOUNDS.values())


def test_silence_at_both_ends_is_removed() -> None:
    pcm = made(Voice()).pcm
    assert len(pcm) == 24 * (10 + 300 + 10)
    assert np.flatnonzero(pcm)[0] == 240
    assert rms_dbfs(pcm[480:-480]) == pytest.approx(-20.0, abs=0.3)


def test_soft_hum_is_not_raised_above_the_largest_gain() -> None:
    pcm = made(Voice(level=10)).pcm
    assert pcm.max() == pytest.approx(100, abs=1)


def test_every_sound_has_words_or_phonemes() -> None:
    """Engines spell a word without a vowel."""
    spelled = [text for text in LISTENING_SOUNDS.values() if not set(text.lower()) & set("aeiouá")]
    assert all(Pronunciations(HUMS).pronounced(text) for text in spelled)
    assert not any(problem(word, said) for word, said in HUMS.items())


@pytest.mark.parametrize("voice", [Voice(tone_ms=0), Voice(tone_ms=1200), Voice(fails=True)])
def test_sound_that_cannot_be_used_is_refused(voice: Voice) -> None:
    with pytest.raises(TtsError):
        made(voice)


async def loaded(loader: EngineLoader) -> Engines:
    engines = await loader.engines()
    await engines.recognizer.aclose()
    await loader.aclose()
    return engines


@pytest.mark.slow
def test_loader_makes_the_sound_only_if_it_is_wanted(tmp_path: Path) -> None:
    overrides = [f"tts.voice={tone_voice(tmp_path)}", *phrase_settings()]
    off = load_settings(None, {}, overrides).settings
    assert turn_settings(off, "").listening_sounds is None
    assert asyncio.run(loaded(EngineLoader(off, {}))).listening_sound is None
    on = load_settings(None, {}, [*overrides, "turn.listening_sounds=true"]).settings
    assert turn_settings(on, "").listening_sounds == ListeningSoundThresholds()
    sound = asyncio.run(loaded(EngineLoader(on, {}))).listening_sound
    assert sound is not None
    assert len(sound.pcm) > 0


@pytest.mark.slow
def test_voice_without_a_sound_is_a_fallback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(_voice: object, _language: str, _level_dbfs: float) -> ListeningSound:
        raise TtsError("it spells the letters")

    monkeypatch.setattr("assistant.setup.voices.listening_sound.make_listening_sound", refuse)
    overrides = [f"tts.voice={tone_voice(tmp_path)}", *phrase_settings(), "turn.listening_sounds=true"]
    loader = EngineLoader(load_settings(None, {}, overrides).settings, {})
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(loaded(loader)).listening_sound is None
    why = "instead of turn.listening_sounds, because it spells the letters"
    assert f"listening: none, {why}" in loader.fallbacks
    assert why in caplog.text
