"""The model of faster-whisper is loaded once, for all conversations."""

import asyncio
from pathlib import Path
from typing import get_args

import pytest
from ctranslate2.models import Whisper
from synthetic_whisper import loud, scripted_whisper, seconds_of

from assistant.config.loading import load_settings
from assistant.config.settings import ComputeType
from assistant.engines import Engines
from assistant.workshop import Workshop, close_engine
from audio.errors import EngineLoadError
from audio.stt import SegmentId
from audio.stt.whisper_model import LoadedWhisper, WhisperSettings

WORDS = "what time is it".split()


async def heard(engines: Engines, words: int) -> str:
    hearing = engines.transcriber.open(SegmentId(0), lambda _words: None)
    hearing.feed(loud(seconds_of(words)))
    text = (await hearing.words()).text
    hearing.close()
    return text


@pytest.mark.parametrize("name", [*get_args(ComputeType)[1:], "float3"])
def test_the_compute_types_are_those_of_ctranslate2(name: str, tmp_path: Path) -> None:
    with pytest.raises((RuntimeError, ValueError)) as refused:
        Whisper(str(tmp_path), compute_type=name)
    assert ("Invalid compute type" in str(refused.value)) == (name == "float3")


@pytest.mark.slow
def test_conversations_share_the_model_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scripted_whisper(tmp_path / "whisper", WORDS)
    overrides = ["stt.engine=faster-whisper", f"stt.model={model}", "stt.device=cpu", "tts.engine=espeak-ng"]
    loadings: list[int] = []
    load = LoadedWhisper.__init__

    def loading(loaded: LoadedWhisper, settings: WhisperSettings) -> None:
        loadings.append(settings.workers)
        load(loaded, settings)

    monkeypatch.setattr(LoadedWhisper, "__init__", loading)

    async def scene() -> None:
        workshop = Workshop(load_settings(None, {}, overrides).settings, {})
        await workshop.open()
        assert len(loadings) == 1, "before the first conversation"
        many = await asyncio.gather(*(workshop.engines() for _ in range(8)))
        texts = await asyncio.gather(*(heard(engines, number % 4 + 1) for number, engines in enumerate(many)))
        assert texts == [" ".join(WORDS[: number % 4 + 1]) for number in range(8)]
        await close_engine(many[0].transcriber, pytest.fail)
        assert await heard(many[1], 2) == "what time"
        assert [chosen.name for chosen in workshop.chosen if chosen.stage == "stt"] == ["faster-whisper"]
        await workshop.aclose(pytest.fail)
        with pytest.raises(EngineLoadError, match="stopped by its owner"):
            await many[1].transcriber.load()
        assert len(loadings) == 1

    asyncio.run(scene())
