"""Errors of a Piper voice on disk are reported on loading, in one sentence with the remedy."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from support.models.onnx_graph import OnnxGraph
from support.models.synthetic_piper import tone_voice

from audio.errors import EngineLoadError
from audio.execution_provider import ProviderRequest
from audio.tts.piper.voice import PiperTts


def refusal(voice: PiperTts) -> str:
    """The error of loading it."""

    async def load() -> None:
        try:
            await voice.load()
        finally:
            await voice.aclose()

    with pytest.raises(EngineLoadError) as refused:
        asyncio.run(load())
    text = str(refused.value)
    assert "\n" not in text
    assert "Traceback" not in text
    return text


def loaded(voice: PiperTts) -> str:
    async def load() -> str:
        await voice.load()
        await voice.aclose()
        return voice.detail

    return asyncio.run(load())


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> str:
    """Edit a voice's json; its path as a word for the constructor."""
    json_path = Path(f"{path}.json")
    config = json.loads(json_path.read_text())
    edit(config)
    json_path.write_text(json.dumps(config))
    return str(path)


class TestWhere:
    def test_missing_model_file_is_reported(self, tmp_path: Path) -> None:
        path = tmp_path / "gone.onnx"
        assert refusal(PiperTts(str(path))) == (
            f"the Piper voice {path} does not exist: set tts.voice to a .onnx file that exists"
        )

    def test_missing_json_is_reported(self, tmp_path: Path) -> None:
        path = tone_voice(tmp_path)
        Path(f"{path}.json").unlink()
        assert f"lacks its file {path}.json" in refusal(PiperTts(str(path)))


class TestLanguage:
    def test_other_language_is_refused(self, tmp_path: Path) -> None:
        path = tone_voice(tmp_path, name="de_DE-x-low", language="de_DE", espeak_voice="de")
        text = refusal(PiperTts(str(path), language="en"))
        assert text == (
            'the Piper voice de_DE-x-low speaks de_DE, but the language is "en": change tts.voice or the language'
        )

    @pytest.mark.parametrize("language", ["en", "en-GB", "EN_us"])
    def test_other_region_is_accepted(self, tmp_path: Path, language: str) -> None:
        assert loaded(PiperTts(str(tone_voice(tmp_path)), language=language))

    def test_old_json_gives_language_by_espeak_voice(self, tmp_path: Path) -> None:
        path = change(tone_voice(tmp_path), lambda config: config.pop("language"))
        assert "(en-us)" in loaded(PiperTts(path))
        assert "speaks en-us" in refusal(PiperTts(path, language="fr"))


class TestSpeaker:
    @pytest.mark.parametrize(
        "speaker",
        [-1, 3, "speaker3", "3", ""],
        ids=["negative number", "number too large", "unknown name", "unknown number as text", "empty"],
    )
    def test_unknown_speaker_is_refused(self, tmp_path: Path, speaker: int | str) -> None:
        text = refusal(PiperTts(str(tone_voice(tmp_path, speakers=3)), speaker=speaker))
        assert f'no speaker "{speaker}"' in text
        assert "speakers 0 to 2 (by name: speaker0, speaker1, speaker2)" in text

    def test_speaker_of_single_speaker_voice(self, tmp_path: Path) -> None:
        path = str(tone_voice(tmp_path))
        assert "has one speaker, 0" in refusal(PiperTts(path, speaker=1))
        assert loaded(PiperTts(path, speaker=0))

    @pytest.mark.parametrize("speaker", [2, "2", "speaker2"], ids=["number", "number as text", "name"])
    def test_known_speaker_is_accepted(self, tmp_path: Path, speaker: int | str) -> None:
        assert f"speaker {speaker}" in loaded(PiperTts(str(tone_voice(tmp_path, speakers=3)), speaker=speaker))


class TestJson:
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("", "it is not JSON"),
            ("{", "it is not JSON"),
            ("[]", "is not the JSON file of a voice"),
            ("{}", "it has no "),
            ('{"num_symbols": 1, "num_speakers": 1, "audio": 7}', "is not the JSON file of a voice"),
        ],
        ids=["empty", "truncated", "list", "no keys", "number as a table"],
    )
    def test_invalid_json_is_refused(self, tmp_path: Path, content: str, said: str) -> None:
        path = tone_voice(tmp_path)
        Path(f"{path}.json").write_text(content)
        text = refusal(PiperTts(str(path)))
        assert said in text
        assert "fetch both files again" in text

    @pytest.mark.parametrize(
        ("edit", "said"),
        [
            (lambda c: c["phoneme_id_map"].pop("^"), "lacks the symbol ^"),
            (lambda c: c["phoneme_id_map"].update(x=[-1]), "phoneme ids -1 to"),
            (lambda c: c["phoneme_id_map"].update(x=[300]), "num_symbols is 256"),
            (lambda c: c["phoneme_id_map"].update(x=["a"]), "does not have a list of whole numbers"),
            (
                lambda c: (c["phoneme_id_map"].update(x=[300]), c.update(num_symbols=400)),
                "up to 300, but the model has 256",
            ),
            (lambda c: c["audio"].update(sample_rate=0), "its sample_rate is 0"),
            (lambda c: c["audio"].update(sample_rate="22050"), "audio.sample_rate is not a whole number"),
            (lambda c: c["phoneme_id_map"].update(x=[]), 'its phoneme_id_map has no id for "x"'),
            (lambda c: c.update(phoneme_id_map={sign: [] for sign in "^_$"}), 'has no id for "^"'),
            (lambda c: c.update(phoneme_id_map={"^": [1], "_": [0], "$": [2]}), "no audible phoneme"),
            (lambda c: c["inference"].update(length_scale="1"), "inference.length_scale is '1', not a number from 0.1"),
            (lambda c: c["inference"].update(length_scale=0), "inference.length_scale is 0, not a number from 0.1"),
            (lambda c: c["inference"].update(length_scale=1000), "inference.length_scale is 1000, not"),
            (lambda c: c["inference"].update(noise_scale=float("nan")), "inference.noise_scale is nan, not a number"),
            (lambda c: c["inference"].update(noise_scale=None), "inference.noise_scale is None, not a number"),
            (lambda c: c["inference"].update(noise_w=True), "inference.noise_w is True, not a number from 0 to 10"),
            (lambda c: c["espeak"].update(voice=7), "its espeak.voice is 7, not a string"),
            (lambda c: c["espeak"].update(voice="xx"), 'its espeak.voice is "xx", which espeak-ng does not have'),
            (lambda c: c["espeak"].update(voice=""), 'its espeak.voice is "", which espeak-ng does not have'),
            (
                lambda c: c.update(speaker_id_map={"a": "b"}),
                "its speaker_id_map does not have a whole number for each name",
            ),
            (
                lambda c: c.update(num_speakers=3, default_speaker_id=3),
                "its default_speaker_id is 3, but its num_speakers",
            ),
            (lambda c: c.update(hop_length="256"), "its hop_length is not a whole number"),
            (lambda c: c.update(num_speakers=4), "its num_speakers is 4, but the model has only one"),
            (lambda c: c.update(num_speakers=0), "its num_speakers is 0"),
            (lambda c: c.update(phoneme_type="unheard of"), "is not the JSON file of a voice"),
            (lambda c: c.update(phoneme_type="pinyin"), 'has the phoneme type "pinyin", which is not supported'),
        ],
        ids=[
            "missing start sign",
            "negative phoneme id",
            "phoneme id beyond num_symbols",
            "text as phoneme id",
            "phoneme id beyond the model",
            "zero sample rate",
            "sample rate as text",
            "phoneme without ids",
            "no ids at all",
            "no letters",
            "length scale as text",
            "zero length scale",
            "huge length scale",
            "NaN noise scale",
            "missing noise scale",
            "boolean noise_w",
            "voice as number",
            "unknown espeak voice",
            "empty espeak voice",
            "speaker id as text",
            "default speaker out of range",
            "hop length as text",
            "too many speakers",
            "no speakers",
            "unknown phoneme type",
            "pinyin phonemes",
        ],
    )
    def test_json_of_other_voice_is_refused(
        self, tmp_path: Path, edit: Callable[[dict[str, Any]], object], said: str
    ) -> None:
        text = refusal(PiperTts(change(tone_voice(tmp_path), edit)))
        assert said in text
        assert "json does not fit its Piper voice" in text or "pinyin" in text

    @pytest.mark.parametrize(
        ("speakers", "said"), [(1, "the model has several"), (5, "the model has 3")], ids=["too few", "too many"]
    )
    def test_speaker_count_must_match_model(self, tmp_path: Path, speakers: int, said: str) -> None:
        path = tone_voice(tmp_path, speakers=3)
        assert said in refusal(PiperTts(change(path, lambda config: config.update(num_speakers=speakers))))


class TestModel:
    @pytest.mark.parametrize("keep", [0, 1, 100, 2000], ids=["empty", "1 byte", "100 bytes", "2000 bytes"])
    def test_damaged_model_is_refused(self, tmp_path: Path, keep: int) -> None:
        path = tone_voice(tmp_path)
        path.write_bytes(path.read_bytes()[:keep])
        assert refusal(PiperTts(str(path))) == f"{path} is damaged or not an ONNX model: fetch the Piper voice again"

    def test_html_page_instead_of_model_is_refused(self, tmp_path: Path) -> None:
        path = tone_voice(tmp_path)
        path.write_text("<!doctype html><html>Not found</html>" * 10)
        assert "is damaged or not an ONNX model" in refusal(PiperTts(str(path)))

    def test_model_of_other_kind_is_refused(self, tmp_path: Path) -> None:
        path = tone_voice(tmp_path)
        graph = OnnxGraph()
        graph.output("y", graph.op("Sin", graph.input("x", integer=False, shape=(1,))), (1,))
        graph.write(path)
        assert "not a Piper voice (its inputs are x)" in refusal(PiperTts(str(path)))

    def test_model_that_fails_at_first_words_is_refused(self, tmp_path: Path) -> None:
        path = tone_voice(tmp_path)
        graph = OnnxGraph()
        ids = graph.input("input", integer=True, shape=(1, "phonemes"))
        graph.input("input_lengths", integer=True, shape=(1,))
        graph.input("scales", integer=False, shape=(3,))
        small = graph.constant(np.zeros((2, 1)))
        graph.output("output", graph.op("Gather", small, graph.op("Identity", ids)), (1, 1, 1, "samples"))
        graph.write(path)
        text = refusal(PiperTts(str(path)))
        assert "(en_US-tone-low (en_US), speed 1, CPU" in text
        assert ": it failed at its first words (" in text
        assert "indices element out of data bounds" in text
        assert text.endswith("): fetch both of its files again, or set tts.voice to another one")

    @pytest.mark.skipif(
        "CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="this onnxruntime has CUDA"
    )
    def test_missing_cuda_is_reported(self, tmp_path: Path) -> None:
        path = str(tone_voice(tmp_path))
        refused = refusal(PiperTts(path, provider=ProviderRequest("tts.provider", "cuda")))
        assert 'tts.provider = "cuda": the installed onnxruntime has no CUDA (it has: CPU)' in refused
        assert "onnxruntime-gpu" in refused
        assert ", CPU" in loaded(PiperTts(path))
