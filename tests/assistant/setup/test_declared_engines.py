"""Engines that other packages declare: how they are made, loaded once, closed after a failure, and given back."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceRecognizer

from assistant.commands.engine_bench.bench import Bench, BenchRow, variants
from assistant.config.settings import DEFAULTS, Settings
from assistant.pipeline.missing_engines import NoVoice
from assistant.registry.listening import RECOGNIZERS, TURN_ENDS, turn_end_engine
from assistant.registry.voices import VOICES
from assistant.setup import engine_catalog
from assistant.setup.conversation import chosen_engines
from assistant.setup.conversation.chosen_engines import EngineChoices, EngineWish
from assistant.setup.conversation.engine_options import EngineOptions, OfferedVoice
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.voices import installed as installed_voices
from audio.engines.recognizer import RecognizerEngine, RecognizerRequest
from audio.engines.voice import VoiceEngine
from audio.errors import EngineLoadError
from audio.stt import Recognizer
from audio.stt.whisper.model import WhisperSettings
from audio.stt.whisper.shared_model import SharedWhisper
from audio.tts.espeak.voice import EspeakVoice
from audio.tts.remembered import RememberedVoice


class ToyShared:
    """Implements `SharedRecognizer`."""

    name = "toy"
    multilingual = False

    def __init__(self, *, fails: bool = False) -> None:
        self.works = False
        self.fails = fails
        self.loads = 0
        self.closed = False

    def transcriber(self, *, background: bool = False, language: str = "") -> Recognizer:
        return SequenceRecognizer(name="toy")

    async def load(self) -> None:
        self.loads += 1
        await asyncio.sleep(0)
        if self.fails:
            raise EngineLoadError("its file is damaged.")
        self.works = True

    async def aclose(self) -> None:
        self.closed = True


class ClosingVoice(ScriptedVoice):
    closed = False

    async def load(self) -> None:
        raise EngineLoadError("its file is damaged.")

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture
def toys() -> Settings:
    """Returns settings that name the engines toy, as they are read where their package is installed."""
    stt, tts = replace(DEFAULTS.stt), replace(DEFAULTS.tts)
    for section in (stt, tts):
        object.__setattr__(section, "engine", "toy")  # the known names are read once in a process
    return replace(DEFAULTS, stt=stt, tts=tts)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ToyShared]:
    """Installs the recognizer toy. Returns what it makes."""
    shared: list[ToyShared] = []

    def make(request: RecognizerRequest) -> ToyShared:
        assert request.model is None
        shared.append(ToyShared())
        return shared[-1]

    monkeypatch.setitem(RECOGNIZERS._declared, "toy", RecognizerEngine("toy", make, ""))
    return shared


async def test_declared_recognizer_is_checked_and_measured_alone(made: list[ToyShared]) -> None:
    assert engine_catalog.lacking(DEFAULTS, "toy") == ""
    assert [one.row for one in variants(DEFAULTS, Bench({}, stt=["toy"]))] == [BenchRow("stt", "toy")]
    recognizer = engine_catalog.transcriber(DEFAULTS, "toy")
    await recognizer.load()
    await recognizer.aclose()
    assert (made[0].loads, made[0].closed) == (1, True)


def test_package_that_a_recognizer_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = RecognizerEngine("toy", lambda _request: ToyShared(), "", packages={"toy-ears": "no_such_module"})
    monkeypatch.setitem(RECOGNIZERS._declared, "toy", engine)
    remedy = "the package toy-ears is not installed: run `pip install toy-ears`"
    assert engine_catalog.lacking(DEFAULTS, "toy") == remedy
    with pytest.raises(EngineLoadError, match=remedy):
        engine_catalog.transcriber(DEFAULTS, "toy")


async def test_conversations_share_one_recognizer_that_is_loaded_again(toys: Settings, made: list[ToyShared]) -> None:
    loader = EngineLoader(toys, {})
    await asyncio.gather(loader._make_recognizer(), loader._make_recognizer())
    made[0].works = False
    await asyncio.gather(loader._make_recognizer(), loader._make_recognizer())
    await loader.aclose()
    assert [(shared.loads, shared.closed) for shared in made] == [(2, True)]


def test_recognizer_that_cannot_be_loaded_is_closed(toys: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = ToyShared(fails=True)
    monkeypatch.setitem(RECOGNIZERS._declared, "toy", RecognizerEngine("toy", lambda _request: shared, ""))
    with pytest.raises(EngineLoadError, match="damaged"):
        asyncio.run(EngineLoader(toys, {})._make_recognizer())
    assert shared.closed


def test_voice_that_cannot_be_loaded_is_closed(toys: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    voice = ClosingVoice()
    monkeypatch.setitem(VOICES._declared, "toy", VoiceEngine("toy", lambda _request: voice, ""))
    with pytest.raises(EngineLoadError, match="damaged"):
        asyncio.run(EngineLoader(toys, {})._make_voice())
    assert voice.closed


def test_voice_is_given_back_if_the_recognizer_of_a_telephone_line_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_self: EngineLoader) -> None:
        raise RuntimeError

    monkeypatch.setattr(EngineLoader, "telephone_recognizer", fail)
    monkeypatch.setattr(chosen_engines, "_voice", lambda _name, _settings: ScriptedVoice())

    async def scene() -> list[int]:
        loader = EngineLoader(replace(DEFAULTS, tts=replace(DEFAULTS.tts, engine="espeak-ng")), {}, listens=False)
        first = await loader.engines()
        choices = EngineChoices(loader)
        with pytest.raises(RuntimeError):
            await choices.engines(first, EngineWish(voice="heart", telephone=True))
        users = [shared.users for shared in choices._voices.values()]
        await choices.aclose()
        await loader.aclose()
        return users

    assert asyncio.run(scene()) == [0]


def test_missing_last_resort_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed_voices, "_installed", lambda: iter(()))
    monkeypatch.setattr(chosen_engines, "lacking_package", lambda _engine: "the package espeakng-loader is missing")
    with pytest.raises(EngineLoadError, match="no voice speaks nl: the package espeakng-loader is missing"):
        chosen_engines._default_voice(EngineOptions(), "nl")
    assert chosen_engines._default_voice(EngineOptions(voices=(OfferedVoice("a", "nl"),)), "nl") == "a"
    assert "en" in installed_voices.better_voices()


def test_end_of_turn_estimator_without_its_package_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    own = turn_end_engine()
    better = replace(own, name="better", rank=own.rank + 1)
    monkeypatch.setattr(TURN_ENDS, "all", lambda: (own, better))
    assert turn_end_engine() is better
    lacking = replace(better, packages={"better-turns": "no_such_module"})
    monkeypatch.setattr(TURN_ENDS, "all", lambda: (own, lacking))
    assert turn_end_engine() is own


@pytest.mark.parametrize(
    ("language", "voice", "said"),
    [("de", "", 'does not speak "de"'), ("en", "hart", 'has no voice "hart"'), ("de", "heart", "speaks en, but")],
)
def test_hibari_refuses_another_language_and_voice(language: str, voice: str, said: str) -> None:
    settings = replace(
        DEFAULTS,
        assistant=replace(DEFAULTS.assistant, language=language),
        tts=replace(DEFAULTS.tts, engine="hibari", voice=voice),
    )
    with pytest.raises(EngineLoadError, match=rf"{said}.*change tts\.voice"):
        asyncio.run(EngineLoader(settings, {})._make_voice())


# ---- queue waits ----


def test_waits_of_recognizer_and_voice_are_listed(tmp_path: Path) -> None:
    loader = EngineLoader(Settings(), {})
    assert loader.queue_waits == {}
    loader.shared_recognizer = shared = SharedWhisper(WhisperSettings(tmp_path))
    loader._voice = RememberedVoice(EspeakVoice(), 1000)
    waits = loader.queue_waits
    assert set(waits) == {"stt", "tts"}
    assert waits["stt"] is shared.queue_wait


def test_voice_without_queue_has_no_waits() -> None:
    loader = EngineLoader(Settings(), {})
    loader._voice = NoVoice()
    assert loader.queue_waits == {}
