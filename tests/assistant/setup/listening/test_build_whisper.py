"""The faster-whisper model is loaded once for all conversations."""

import asyncio
import json
import re
from pathlib import Path
from typing import get_args

import pytest
from ctranslate2.models import Whisper
from support.models.synthetic_whisper import loud, scripted_whisper, seconds_of

from assistant.config.loading import load_settings
from assistant.pipeline.engines import Engines
from assistant.setup.engine_catalog import transcriber
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.loading import close_engine
from audio.errors import EngineLoadError
from audio.stt import SegmentId
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.stt.whisper.section import ComputeType

WORDS = "what time is it".split()


async def heard(engines: Engines, words: int) -> str:
    stream = engines.recognizer.open(SegmentId(0), lambda _words: None)
    stream.feed(loud(seconds_of(words)))
    text = (await stream.transcript()).text
    stream.close()
    return text


@pytest.mark.parametrize("name", [*get_args(ComputeType)[1:], "float3"])
def test_compute_types_are_those_of_ctranslate2(name: str, tmp_path: Path) -> None:
    with pytest.raises((RuntimeError, ValueError)) as refused:
        Whisper(str(tmp_path), compute_type=name)
    assert ("Invalid compute type" in str(refused.value)) == (name == "float3")


@pytest.mark.slow
async def test_conversations_share_the_whisper_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scripted_whisper(tmp_path / "whisper", WORDS)
    overrides = [
        "stt.engine=faster-whisper",
        f"stt.model={model}",
        "stt.faster-whisper.device=cpu",
        "tts.engine=espeak-ng",
    ]
    loadings: list[int] = []
    load = LoadedWhisper.__init__

    def loading(loaded: LoadedWhisper, settings: WhisperSettings) -> None:
        loadings.append(settings.workers)
        load(loaded, settings)

    monkeypatch.setattr(LoadedWhisper, "__init__", loading)
    loader = EngineLoader(load_settings(None, {}, overrides).settings, {})
    await loader.open()
    assert len(loadings) == 1, "before the first conversation"
    many = await asyncio.gather(*(loader.engines() for _ in range(8)))
    texts = await asyncio.gather(*(heard(engines, number % 4 + 1) for number, engines in enumerate(many)))
    assert texts == [" ".join(WORDS[: number % 4 + 1]) for number in range(8)]
    await close_engine(many[0].recognizer, pytest.fail)
    assert await heard(many[1], 2) == "what time"
    assert [chosen.name for chosen in loader.chosen if chosen.stage == "stt"] == ["faster-whisper"]
    await loader.aclose(pytest.fail)
    with pytest.raises(EngineLoadError, match="stopped by its owner"):
        await many[1].recognizer.load()
    assert len(loadings) == 1


@pytest.mark.slow
async def test_whisper_is_used_if_its_model_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloaded by commit, as other programs do; beside a folder of the same name."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    write_nothing(tmp_path / "base.en")
    scripted_whisper(tmp_path / "hub" / "models--Systran--faster-whisper-base.en" / "snapshots" / "c", WORDS)
    # As on the hub, where CTranslate2 converts it to a .json.
    vocabulary = tmp_path / "hub" / "models--Systran--faster-whisper-base.en" / "snapshots" / "c" / "vocabulary.json"
    vocabulary.with_suffix(".txt").write_text("\n".join(json.loads(vocabulary.read_text(encoding="utf-8"))))
    vocabulary.unlink()
    overrides = ["stt.model=base.en", "stt.faster-whisper.device=cpu", "tts.engine=espeak-ng"]
    loader = EngineLoader(load_settings(None, {}, overrides).settings, {})
    engines = await loader.engines()
    assert await heard(engines, 2) == "what time"
    (chosen,) = (chosen for chosen in loader.chosen if chosen.stage == "stt")
    assert (chosen.why, chosen.fallback) == ("auto: its model is downloaded", False)
    assert chosen.detail.startswith("faster-whisper base.en, ")
    await loader.aclose(pytest.fail)


def test_missing_whisper_model_is_refused_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write_nothing(tmp_path / "base.en")

    def refused(model: str) -> str:
        settings = load_settings(None, {}, ["stt.engine=faster-whisper", f"stt.model={model}"]).settings
        with pytest.raises(EngineLoadError) as why:
            asyncio.run(EngineLoader(settings, {})._make_recognizer())
        with pytest.raises(EngineLoadError, match=re.escape(str(why.value))):
            transcriber(settings, "faster-whisper")
        return str(why.value)

    assert refused("base.en") == "the Whisper model base.en is not downloaded; fetch it: repartee models pull base.en."
    assert refused("./base.en").endswith("is missing: base.en lacks model.bin; correct stt.model.")
    assert "stt.model = 'bose' is not known; did you mean base? The known names are tiny.en, " in refused("bose")


def write_nothing(folder: Path) -> None:
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "vocabulary.txt", "model.bin"):
        (folder / name).write_text("" if name == "model.bin" else "{}")


@pytest.mark.parametrize(
    ("model", "lacks"),
    [
        ("base", "the Whisper model base is not downloaded; fetch it: repartee models pull base"),
        (
            "base.en",
            'the Whisper model base.en supports only English: set stt.model = "base", then repartee models pull base',
        ),
        ("/no/such", "the Whisper model is missing: there is no /no/such; correct stt.model"),
    ],
    ids=["model not downloaded", "English-only model", "missing path"],
)
def test_without_the_model_only_typed_text_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, lacks: str
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    loader = EngineLoader(load_settings(None, {}, ["assistant.language=de", f"stt.model={model}"]).settings, {})
    recognizer = asyncio.run(loader._make_recognizer())
    assert (recognizer.name, recognizer.works) == ("no recognizer", True)
    assert loader.fallbacks == [f"stt: no recognizer, only typed text is answered, because {lacks}"]
