"""The Whisper models of a server: one for each line, and another one after turns that took too long."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from support.models.two_whispers import install_two_whispers

from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from assistant.models import model_choice
from assistant.models.model_times import keep_time
from assistant.models.turn_cost import MIN_TURNS, DecodeTime
from assistant.registry.listening import RECOGNIZERS, measured_recognizer
from assistant.setup.engine_loader import EngineLoader
from audio.stt import ModelRecognizer, Recognizer
from web.connections.engine_pool import EnginePool
from web.observation.metrics import Metrics

pytestmark = pytest.mark.slow


def settings() -> Settings:
    return load_settings(None, {}, ["stt.faster-whisper.device=cpu", "tts.engine=espeak-ng"]).settings


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps times with which base.en is within the limit."""
    install_two_whispers(tmp_path, monkeypatch)
    keep_time(settings(), "tiny", DecodeTime(60.0))
    keep_time(settings(), "base.en", DecodeTime(120.0))


def model_of(recognizer: Recognizer) -> str:
    assert isinstance(recognizer, ModelRecognizer)
    return recognizer.model


@pytest.mark.usefixtures("measured")
async def test_slow_turns_give_later_conversations_a_smaller_model(caplog: pytest.LogCaptureFixture) -> None:
    pool = EnginePool(EngineLoader(settings(), {}), Metrics())
    loader = pool.engine_loader
    await pool.load()
    async with pool.engines() as first:
        assert model_of(first.recognizer) == "base.en"
        for _ in range(MIN_TURNS):
            loader.recognizer_models.note_turn(first.recognizer, 400.0)
        with caplog.at_level(logging.WARNING):
            await pool.refill()
        assert "tiny instead of base.en for the next conversations" in caplog.text
        assert model_of(first.recognizer) == "base.en"  # never within a conversation
        async with pool.engines() as second:
            assert model_of(second.recognizer) == "tiny"
    async with pool.engines() as third:
        assert model_of(third.recognizer) == "tiny"
    assert "base.en 645 ms in 20 turns" in loader.traced["stt_model"]
    (stt,) = (chosen for chosen in loader.chosen if chosen.stage == "stt")
    assert (stt.detail.split(",")[0], stt.why) == ("faster-whisper tiny", loader.traced["stt_model"])
    await pool.aclose()
    assert model_choice.model_choice(settings()).name == "tiny"  # the next start agrees


@pytest.mark.usefixtures("measured")
async def test_telephone_line_gets_its_own_model_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = measured_recognizer()
    assert engine.measured is not None
    measured = replace(engine.measured, equals={"wide": {"base.en": "tiny"}})
    monkeypatch.setitem(RECOGNIZERS._declared, engine.name, replace(engine, measured=measured))
    loader = EngineLoader(settings(), {})
    await loader.open()
    assert model_of((await loader.engines()).recognizer) == "tiny"
    assert loader.traced["stt_model"].endswith("; base.en on telephone lines")
    first, second = await loader.telephone_recognizer(), await loader.telephone_recognizer()
    assert first is not None
    assert second is not None
    assert model_of(first[0]) == model_of(second[0]) == "base.en"
    assert first[0].detail == second[0].detail
    assert first[1].startswith("auto: base.en is the largest")
    for _ in range(MIN_TURNS):
        loader.recognizer_models.note_turn(first[0], 400.0)
    await loader.follow_turns()
    assert await loader.telephone_recognizer() is None  # it is the server's own now
    await loader.aclose(pytest.fail)


@pytest.mark.usefixtures("measured")
async def test_one_model_serves_both_lines_if_it_is_the_best_for_both() -> None:
    loader = EngineLoader(settings(), {})
    await loader.open()
    assert await loader.telephone_recognizer() is None
    await loader.aclose(pytest.fail)
