"""Engines that are set to ray are loaded from the cluster, and never replaced silently."""

import os
from contextlib import aclosing
from dataclasses import replace

import pytest
from support.engines.scripted_cluster import INFO, ScriptedCluster

from assistant.config.loading import load_settings
from assistant.setup import build
from assistant.setup.conversation.chosen_engines import EngineChoices, EngineWish
from assistant.setup.conversation.engine_options import engine_options
from assistant.setup.derived_settings import needs
from assistant.setup.engine_loader import EngineLoader
from audio.cluster.wire import sent_info
from audio.errors import EngineLoadError

RAY = ("stt.engine=ray", "tts.engine=ray", "turn.smart_turn=ray")
UNREACHABLE = EngineLoadError("the Ray cluster cannot be reached.")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ScriptedCluster:
    made = ScriptedCluster()
    monkeypatch.setattr(build, "cluster", lambda _settings: made)
    return made


def loading(*assignments: str) -> aclosing[EngineLoader]:
    """Returns a context with a loader, which closes it."""
    return aclosing(EngineLoader(load_settings(None, {}, assignments).settings, os.environ))


async def test_engines_set_to_ray_are_those_of_the_cluster(cluster: ScriptedCluster) -> None:
    async with loading(*RAY) as loader:
        engines = await loader.engines()
        names = {choice.stage: (choice.name, choice.fallback) for choice in loader.chosen}
        assert names["stt"] == names["tts"] == ("ray", False)
        assert names["turn"] == ("estimate", False)
        assert engines.recognizer.works
        assert "on the cluster" in engines.voice.detail
        assert {request[0] for request in cluster.requests} == {"recognizer", "voice", "turn-end"}


@pytest.mark.parametrize("engine", ["stt.engine=ray", "tts.engine=ray"])
async def test_unreachable_cluster_is_an_error_without_fallback(cluster: ScriptedCluster, engine: str) -> None:
    cluster.answers["describe"] = [UNREACHABLE]
    async with loading("tts.engine=espeak-ng", engine) as loader:
        with pytest.raises(EngineLoadError, match="cannot be reached"):
            await loader.engines()


async def test_turn_end_without_the_cluster_is_estimated_and_reported(cluster: ScriptedCluster) -> None:
    cluster.answers["describe"] = [UNREACHABLE]
    async with loading("tts.engine=espeak-ng", "turn.smart_turn=ray") as loader:
        await loader.open()
        (fallback,) = [one for one in loader.fallbacks if one.startswith("turn")]
        assert "cannot be reached" in fallback


def test_models_of_engines_on_the_cluster_are_not_needed_here() -> None:
    kinds = {need.kind for need in needs(load_settings(None, {}, RAY).settings)}
    assert not kinds & {"whisper", "piper", "smart-turn"}
    kinds = {need.kind for need in needs(load_settings(None, {}, ["stt.engine=ray", "tts.engine=piper"]).settings)}
    assert kinds >= {"piper", "smart-turn"}
    assert "whisper" not in kinds


@pytest.mark.parametrize(
    ("engine", "multilingual", "voices", "why"),
    [
        ("tts.engine=ray", True, False, "replicas have one voice"),
        ("stt.engine=ray", False, True, "repartee cluster deploy"),
        ("stt.engine=ray", True, True, ""),
    ],
)
def test_clients_may_choose_only_what_the_cluster_has(engine: str, multilingual: bool, voices: bool, why: str) -> None:
    options = engine_options(load_settings(None, {}, [engine]).settings, multilingual=multilingual)
    assert bool(options.voices) == voices
    assert why in options.no_languages
    assert bool(options.languages) == (not why)


@pytest.mark.parametrize("language", ["", "de"])
async def test_voice_beside_that_of_the_cluster_is_refused_and_not_loaded_here(
    cluster: ScriptedCluster, language: str
) -> None:
    async with loading("tts.engine=ray") as loader:
        await loader.open()
        choices = EngineChoices(loader)
        async with choices.voice("", "") as (voice, _normalize):
            assert voice is loader.voice
        with pytest.raises(EngineLoadError, match="replicas have one voice"):
            async with choices.voice("espeak-ng", language):
                pass


async def test_language_that_the_recognizer_on_the_cluster_lacks_is_refused(cluster: ScriptedCluster) -> None:
    cluster.answers["describe"] = [sent_info(replace(INFO, multilingual=False))]
    async with loading("stt.engine=ray", "tts.engine=espeak-ng") as loader:
        engines = await loader.engines()
        with pytest.raises(EngineLoadError, match="the recognizer on the cluster knows one language"):
            await EngineChoices(loader).engines(engines, EngineWish(language="de"))
