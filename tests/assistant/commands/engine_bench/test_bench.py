"""Measured engines: their variants, the content of their rows, and rows of missing models."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.engines.scripted_engines import SequenceRecognizer
from support.models.phrase_whisper import phrase_whisper
from support.models.synthetic_piper import tone_voice
from support.models.synthetic_whisper import scripted_whisper
from support.programs.program import repartee

from assistant.commands.engine_bench import bench as engine_bench
from assistant.commands.engine_bench.bench import (
    RANDOM_WEIGHTS,
    SECTION,
    Bench,
    BenchReport,
    BenchRow,
    Variant,
    measure,
    variants,
)
from assistant.commands.engine_bench.cli import engines
from assistant.commands.engine_bench.clips import Label, Noise
from assistant.commands.engine_bench.places import recognizer_absent, recognizer_places, voice_absent, voice_places
from assistant.commands.engine_bench.words import WordErrors
from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from assistant.config.settings import Settings
from audio.errors import EngineLoadError, SttError
from audio.stt import RecognitionStream, SegmentId, Transcript
from audio.tts import Chunk
from audio.tts.piper.engine import PiperSettings
from audio.units import FRAME_SAMPLES, Pcm, Samples, samples_of_ms

REPARTEE = Path(sys.executable).with_name("repartee")
RECORDINGS = Path(__file__).parent.parent.parent.parent / "recordings"
NO_MODELS = {"HF_HUB_CACHE": "none", "XDG_DATA_HOME": "none"}


class FakeRecognizer(SequenceRecognizer):
    """Returns `words` after 30 ms, and as an interim transcript after the tenth frame. Keeps the lengths of frames."""

    def __init__(self, words: str = "what time is it", failure: Exception | None = None) -> None:
        super().__init__((words,), delay_ms=30.0, name="fake")
        self.lengths: dict[SegmentId, list[int]] = {}
        self._failure = failure

    async def load(self) -> None:
        if isinstance(self._failure, EngineLoadError):
            raise self._failure

    def open(self, segment: SegmentId, on_partial: Callable[[Transcript], None]) -> RecognitionStream:
        if self._failure is not None:
            raise self._failure
        self.lengths[segment] = []
        self._on_partial = on_partial
        return super().open(segment, on_partial)

    def on_sound(self, segment: SegmentId, pcm: Pcm) -> None:
        self.lengths[segment].append(len(pcm))
        if len(self.lengths[segment]) == 10:
            for words in ("", self.transcripts[0]):
                self._on_partial(Transcript(segment, Samples(0), words))


class FakeVoice:
    name = detail = "fake"

    def __init__(self, chunks: int = 2) -> None:
        self._chunks = chunks

    async def load(self) -> None:
        return

    async def speak(self, text: str) -> AsyncGenerator[Chunk]:
        for _ in range(self._chunks):
            await asyncio.sleep(0.02)
            yield Chunk(np.zeros(2400, np.int16))

    async def aclose(self) -> None:
        return


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hides the models of this machine."""
    for name in NO_MODELS:
        monkeypatch.setenv(name, str(tmp_path / "none"))


@pytest.fixture
def one_clip(monkeypatch: pytest.MonkeyPatch) -> Label:
    """Replaces the shipped conversation."""
    label = Label("clip", RECORDINGS / "rhasspy3_what-time-is-it.wav", 1.0, 1.2, "what time is it")
    monkeypatch.setattr(engine_bench, "labels_of", lambda _manifest: [label])
    return label


def settings(*overrides: str) -> Settings:
    return load_settings(None, {}, overrides).settings


def rows(stt: Sequence[str] = (), tts: Sequence[str] = (), *overrides: str) -> list[BenchRow]:
    return [variant.row for variant in variants(settings(*overrides), Bench({}, stt=stt, tts=tts))]


def measured(bench: Bench) -> BenchReport:
    return asyncio.run(measure(bench, lambda _what: None))


def heard(monkeypatch: pytest.MonkeyPatch, engine: FakeRecognizer, rounds: int = 1) -> BenchRow:
    """Measures one setting of a model, with `engine` in its place."""
    monkeypatch.setattr(engine_bench, "transcriber", lambda _settings, _name: engine)
    model = str(phrase_whisper())
    bench = Bench({}, overrides=["turn.hangover_ms=100"], stt=[model], rounds=rounds, windows=["adaptive"], threads=[1])
    (row,) = measured(bench).rows
    return row


# Variants.


def test_every_engine_has_a_row_without_models() -> None:
    assert [(row.engine, row.setting) for row in rows()] == [
        ("faster-whisper", "tiny.en"),
        ("espeak-ng", ""),
        ("hibari", ""),
        ("pico", ""),
        ("piper", "en_US-joe-medium"),
    ]


def test_only_named_engines_are_measured() -> None:
    assert [row.engine for row in rows(["faster-whisper"])] == ["faster-whisper"]
    assert [row.engine for row in rows((), ["espeak-ng"])] == ["espeak-ng"]
    assert [(row.engine, row.setting) for row in rows(["tiny"], ["de_DE-thorsten-medium"])] == [
        ("faster-whisper", "tiny"),
        ("piper", "de_DE-thorsten-medium"),
    ]


def test_voice_without_a_model_is_measured_by_its_name() -> None:
    bench = Bench({}, tts=["heart", "pico-de-DE"])
    heart, pico = variants(bench.settings(), bench)
    assert (heart.row.engine, heart.row.setting) == ("hibari", "heart")
    assert pico.overrides == ("tts.engine=pico", "tts.voice=pico-de-DE")


def test_model_is_measured_with_every_window_and_thread_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_bench, "recognizer_places", lambda section: recognizer_places(section, 0))
    monkeypatch.setattr(engine_bench, "recognizer_absent", lambda: recognizer_absent(0))
    model = scripted_whisper(tmp_path / "mine", ["what"])
    found = list(variants(settings(f"stt.model={model}"), Bench({}, stt=["faster-whisper"])))
    assert [variant.row.setting for variant in found] == [
        "mine, adaptive, 1 thread",
        "mine, adaptive, 2 threads",
        "mine, full, 1 thread",
        "mine, full, 2 threads",
        "mine, dynamic, 1 thread",
        "mine, dynamic, 2 threads",
        "CUDA",
    ]
    chosen = settings(*found[2].overrides)
    assert (chosen.stt.model, chosen.value(f"{SECTION}.encoder_window"), chosen.stt.threads) == (str(model), "full", 1)


def test_model_is_measured_with_only_the_chosen_window_and_thread_count(tmp_path: Path) -> None:
    model = scripted_whisper(tmp_path / "mine", ["what"])
    bench = Bench({}, stt=[str(model)], windows=["adaptive"], threads=[4])
    assert [variant.row.setting for variant in variants(settings(), bench)] == ["mine, adaptive, 4 threads"]


def test_voice_has_a_row_for_each_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        engine_bench, "voice_places", lambda name, own: voice_places(name, own, ("tensorrt", "cuda", "cpu"))
    )
    voice = tone_voice(tmp_path)
    found = list(variants(settings(), Bench({}, tts=[str(voice)])))
    names = ["CPU", "CUDA", "TensorRT", "TensorRT float16"]
    assert [variant.row.setting for variant in found] == [f"{voice.stem}, {name}" for name in names]
    assert settings(*found[-1].overrides).engines.of("tts", "piper") == PiperSettings("tensorrt", fp16=True)


def test_missing_providers_are_named_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_bench, "voice_absent", lambda: voice_absent(("cpu",)))
    voice = tone_voice(tmp_path)
    found = [variant.row for variant in variants(settings(f"tts.voice={voice}"), Bench({}, tts=["piper"]))]
    (absent,) = [row for row in found if row.note]
    assert absent.setting == "CUDA, TensorRT"
    assert "onnxruntime-gpu" in absent.note
    assert voice_absent(("tensorrt", "cuda", "cpu")) == ("", "")


def test_whisper_on_cuda_has_a_row_for_each_number_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_bench, "recognizer_places", lambda section: recognizer_places(section, 1))
    model = scripted_whisper(tmp_path / "mine", ["what"])
    bench = Bench({}, stt=[str(model)], windows=["full"], threads=[2])
    found = list(variants(settings(), bench))
    assert [variant.row.setting for variant in found] == [
        "mine, full, CPU, 2 threads",
        "mine, full, CUDA float16",
        "mine, full, CUDA int8_float16",
    ]
    chosen = settings(*found[-1].overrides)
    assert [chosen.value(f"{SECTION}.{key}") for key in ("device", "compute_type")] == ["cuda", "int8_float16"]
    assert recognizer_absent(1) == ("", "")


def test_row_of_a_missing_device_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    row = BenchRow("stt", "faster-whisper", "CUDA", note="not measured: there is no CUDA device")
    monkeypatch.setattr(engine_bench, "variants", lambda *_: [Variant(row)])
    monkeypatch.setattr(engine_bench, "labels_of", lambda _manifest: [])
    assert measured(Bench({})).rows == (row,)


def test_voice_of_another_language_is_not_measured() -> None:
    assert [row.setting for row in rows((), ["piper"], "assistant.language=de")] == ["de_DE-thorsten-medium"]


def test_missing_model_is_a_row_with_the_remedy() -> None:
    notes = [row.note for row in measured(Bench({}, stt=["base.en", "./nowhere"], tts=["piper"])).rows]
    assert notes[0] == "missing: repartee models pull base.en"
    assert "there is no nowhere" in notes[1]
    assert notes[2] == "missing: repartee models pull en_US-joe-medium"


@pytest.mark.parametrize(
    ("stt", "tts", "said"),
    [
        ("faster-wisper", "", "no such recognizer or model; did you mean faster-whisper? (known: faster-whisper, "),
        ("espeak-ng", "", "no such recognizer or model (known: faster-whisper, tiny.en, "),
        ("", "zzz", "no such voice (known: espeak-ng, hibari, pico, piper, en_US-joe-medium, "),
        ("", "base.en", "no such voice (known: espeak-ng, hibari, pico, piper, "),
    ],
    ids=["misspelled recognizer", "voice as recognizer", "unknown voice", "recognizer as voice"],
)
def test_unknown_name_is_refused_with_the_known_ones(stt: str, tts: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        rows([stt] if stt else [], [tts] if tts else [])
    flag = f'--stt "{stt}"' if stt else f'--tts "{tts}"'
    assert str(error.value).startswith(f"{flag}: {said}")
    assert str(error.value).endswith(", or a path)")


# Content of the rows.


@pytest.mark.usefixtures("one_clip")
def test_recognizer_is_measured_in_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeRecognizer()
    row = heard(monkeypatch, engine)
    assert row.wait is not None
    assert 30 <= row.wait.p50_ms < 600
    # The tenth frame ends 200 ms after the start; the speech begins at 300 ms, after the pre-roll.
    assert row.first_partial is not None
    assert -110 <= row.first_partial.p50_ms < 400
    assert row.real_time_factor is not None
    assert row.real_time_factor >= 0.03 / 0.66
    assert row.words == WordErrors(0, 4)
    assert (row.note, engine.closed) == ("", True)
    at_once, at_pace = engine.lengths.values()
    assert at_once == [samples_of_ms(660)], "pre-roll, speech and the silence until its words are settled"
    assert set(at_pace) == {FRAME_SAMPLES}
    assert sum(at_pace) == samples_of_ms(660)


def test_recording_that_is_not_timed_counts_word_errors_only(monkeypatch: pytest.MonkeyPatch, one_clip: Label) -> None:
    noise = Noise(RECORDINGS / "koala_noise.wav", 10.0)
    labels = [one_clip, replace(one_clip, timed=False), replace(one_clip, timed=False, noise=noise, transcript="no")]
    monkeypatch.setattr(engine_bench, "labels_of", lambda _manifest: labels)
    engine = FakeRecognizer()
    row = heard(monkeypatch, engine)
    assert row.words == WordErrors(0, 8)
    assert row.words_in_noise == WordErrors(4, 1)
    assert len(engine.lengths) == 4, "two of the timed recording, and one of each other"
    last = list(engine.lengths.values())[-1]
    assert sum(last) == samples_of_ms(660)
    assert len(last) < 10


def test_clip_without_transcript_has_times_only(monkeypatch: pytest.MonkeyPatch, one_clip: Label) -> None:
    monkeypatch.setattr(engine_bench, "labels_of", lambda _manifest: [replace(one_clip, transcript=None)])
    row = heard(monkeypatch, FakeRecognizer())
    assert row.wait is not None
    assert (row.words, row.note) == (None, "no transcripts")


@pytest.mark.usefixtures("one_clip")
def test_recording_is_counted_as_lost_if_the_engine_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = FakeRecognizer()
    opened = engine.open

    def dies_once(segment: SegmentId, on_interim: Callable[[Transcript], None]) -> RecognitionStream:
        if segment == 0:
            raise SttError("it died")
        return opened(segment, on_interim)

    monkeypatch.setattr(engine, "open", dies_once)
    row = heard(monkeypatch, engine, rounds=2)
    assert row.note == "1 of 2 recordings lost: it died"
    assert row.words == WordErrors(0, 4)


@pytest.mark.usefixtures("one_clip")
@pytest.mark.parametrize(
    ("failure", "note"),
    [
        (EngineLoadError("it knows English only"), "it knows English only"),
        (SttError("it died"), "it died"),
        (TimeoutError(), "too slow: no answer in time"),
    ],
    ids=["load error", "engine error", "timeout"],
)
def test_failing_engine_has_a_row(monkeypatch: pytest.MonkeyPatch, failure: Exception, note: str) -> None:
    engine = FakeRecognizer(failure=failure)
    row = heard(monkeypatch, engine)
    assert (row.note, row.wait, row.words) == (note, None, None)
    assert engine.closed


def test_voice_is_timed_to_its_first_audio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_bench, "voice", lambda _settings, _name: FakeVoice())
    (row,) = measured(Bench({}, tts=["espeak-ng"], rounds=2)).rows
    assert row.wait is not None
    assert 20 <= row.wait.p50_ms < 600
    assert row.real_time_factor is not None
    assert 0.2 <= row.real_time_factor < 4, "40 ms of work, 200 ms of sound"
    assert row.words is None


def test_silent_voice_is_a_row_without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_bench, "voice", lambda _settings, _name: FakeVoice(chunks=0))
    (row,) = measured(Bench({}, tts=["espeak-ng"])).rows
    assert (row.note, row.wait, row.real_time_factor) == ("it produced no audio", None, None)


@pytest.mark.usefixtures("one_clip")
def test_random_weights_have_no_word_error_rate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = scripted_whisper(tmp_path / "random", ["what"])
    (model / RANDOM_WEIGHTS).touch()
    first: Variant = next(variants(settings(), Bench({}, stt=[str(model)])))
    monkeypatch.setattr(engine_bench, "variants", lambda *_: [first])
    monkeypatch.setattr(engine_bench, "transcriber", lambda _settings, _name: FakeRecognizer())
    (row,) = measured(Bench({}, stt=[str(model)])).rows
    assert row.wait is not None
    assert (row.words, row.note) == (None, "random weights")


# The command.


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["tables", "json"])
def test_results_are_shown_even_if_they_cannot_be_written(form: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    arguments = ("bench", "engines", "--tts", "en_GB-alan-medium", *form)
    done = repartee(*arguments, cwd=tmp_path, env={**os.environ, **NO_MODELS})
    assert done.returncode == 2
    assert "missing: repartee models pull" in done.stdout
    assert done.stderr == "repartee: out cannot be written (File exists); name another folder with --out.\n"


def test_measured_name_is_not_interpreted_as_markup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def measure(_bench: Bench, tell: Callable[[str], None]) -> BenchReport:
        tell("1 of 1: piper box [red] [/b] :wave:")
        return BenchReport((), 0, 0.0, 0.0, "")

    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setattr(engine_bench, "measure", measure)
    engines(out=tmp_path)
    assert "1 of 1: piper box [red] [/b] :wave:" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.timeout(300)
def test_command_measures_real_engines_and_writes_results(tmp_path: Path) -> None:
    words = ["what", "time", "is", "it"]
    model, voice = scripted_whisper(tmp_path / "whisper", words), tone_voice(tmp_path)
    line = next(line for line in (RECORDINGS / "manifest.jsonl").read_text().splitlines() if "what-time-is-it" in line)
    label = json.loads(line) | {"file": str(RECORDINGS / "rhasspy3_what-time-is-it.wav")}
    (tmp_path / "manifest.jsonl").write_text(json.dumps(label))
    names = ("--stt", str(model), "--stt", "tiny", "--tts", "espeak-ng", "--tts", str(voice))
    done = subprocess.run(
        [str(REPARTEE), "bench", "engines", "--manifest", "manifest.jsonl", "--window", "all", *names, "--json"],
        cwd=tmp_path,
        env={**os.environ, **NO_MODELS},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    by_name = {(row["engine"], row["setting"]): row for row in report["rows"]}
    assert by_name["faster-whisper", "tiny"]["note"] == "missing: repartee models pull tiny"
    assert len([row for row in report["rows"] if row["setting"].startswith("whisper, ")]) == 6
    assert by_name["piper", voice.stem]["wait"]["p95_ms"] > 0
    assert by_name["espeak-ng", ""]["real_time_factor"] < 1
    assert report == json.loads((tmp_path / "out" / "engines.json").read_text(encoding="utf-8"))
    assert (tmp_path / "out" / "engines.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "out" / "engines.svg").read_text(encoding="utf-8")
