"""The recognizer with a real CTranslate2 model whose weights produce a script (see synthetic_whisper.py)."""

import asyncio
import os
import shutil
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
from support.models.synthetic_whisper import cached_whisper, loaded_once, loud, quiet, seconds_of
from support.programs.forbidden_folder import forbid

from audio.errors import EngineLoadError, SttError
from audio.stt import NO_WORD, Punctuation, SegmentId, Transcript
from audio.stt.whisper import model as whisper_model
from audio.stt.whisper import shared_model
from audio.stt.whisper.hallucination_filter import DecodeResult
from audio.stt.whisper.model import Decoded, LoadedWhisper, WhisperSettings
from audio.stt.whisper.shared_model import SharedWhisper, SharedWhisperRecognizer
from audio.stt.whisper.stream import WhisperStream
from audio.units import FRAME_SAMPLES, Pcm, Samples, samples_of_s

SCRIPT = "what time is it in the town".split()
SEGMENT = SegmentId(5000)


@pytest.fixture(scope="module", autouse=True)
def _models_are_loaded_once() -> Iterator[None]:
    with loaded_once():
        yield


@pytest.fixture
def model() -> Path:
    return cached_whisper(*SCRIPT)


class Listener:
    """Opens a segment, feeds it, and stores its interim transcripts."""

    def __init__(self, transcriber: SharedWhisperRecognizer, segment: SegmentId = SEGMENT) -> None:
        self.interims: list[Transcript] = []
        self.drafts: list[Transcript] = []
        self.hearing: WhisperStream = transcriber.open(segment, self.on_interim)
        self._transcriber = transcriber

    def on_interim(self, words: Transcript) -> None:
        (self.drafts if words.is_draft else self.interims).append(words)

    async def feed(self, pcm: Pcm, *, keeping_up: bool = False) -> None:
        """Feeds frames. `keeping_up`: waits for the decodes after each frame."""
        for at in range(0, len(pcm), FRAME_SAMPLES):
            self.hearing.feed(pcm[at : at + FRAME_SAMPLES])
            await asyncio.sleep(0)
            if keeping_up:
                await self.decoded()

    async def decoded(self) -> None:
        """Waits until no decode is running."""
        async with asyncio.timeout(30):
            while self._transcriber._shared._scheduler._running:  # noqa: ASYNC110 - it tells only those who asked
                await asyncio.sleep(0.002)


class Decodes:
    """Records the decodes of the model: (samples, language, retry); can hold them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[int, str | None, bool]] = []
        self.frames: list[int] = []
        self.go = threading.Event()
        self.go.set()
        decode, encode = LoadedWhisper.decode, LoadedWhisper.encode

        def decoding(
            model: LoadedWhisper,
            pcm: Pcm,
            language: str | None,
            *,
            retry: bool,
            is_wanted: Callable[[], bool] = lambda: True,
            **options: Any,
        ) -> Decoded | None:
            self.calls.append((len(pcm), language, retry))
            assert self.go.wait(60)
            return decode(model, pcm, language, retry=retry, is_wanted=is_wanted, **options)

        def encoding(model: LoadedWhisper, features: np.ndarray, frames: int) -> object:
            self.frames.append(frames)
            return encode(model, features, frames)

        monkeypatch.setattr(LoadedWhisper, "decode", decoding)
        monkeypatch.setattr(LoadedWhisper, "encode", encoding)


@pytest.fixture
def decodes(monkeypatch: pytest.MonkeyPatch) -> Decodes:
    return Decodes(monkeypatch)


@asynccontextmanager
async def loaded(shared: SharedWhisper) -> AsyncGenerator[SharedWhisperRecognizer]:
    await shared.load()
    try:
        yield shared.transcriber()
    finally:
        await shared.aclose()


def engine(path: Path, **settings: object) -> SharedWhisper:
    return SharedWhisper(WhisperSettings(path, device="cpu", **settings))  # type: ignore[arg-type]  # any of its fields


@pytest.mark.parametrize("words", [1, 4, 7], ids="{} words".format)
@pytest.mark.parametrize("encoder_window", ["full", "adaptive", "dynamic"], ids=["full", "adaptive", "dynamic"])
async def test_transcript_has_words_of_fed_audio(model: Path, words: int, encoder_window: str) -> None:
    async with loaded(engine(model, encoder_window=encoder_window)) as transcriber:
        listener = Listener(transcriber)
        sound = loud(seconds_of(words))
        await listener.feed(sound)
        heard = await listener.hearing.transcript()
        said = Transcript(SEGMENT, Samples(SEGMENT + len(sound)), " ".join(SCRIPT[:words]))
        assert replace(heard, punctuation=None) == said
        assert heard.punctuation is not None
        assert heard.punctuation.sentence_end > 0.9, "the script is over where the sound is"
        assert all(interim.punctuation is None for interim in listener.interims)


async def test_first_word_is_known_from_a_short_window(model: Path, decodes: Decodes) -> None:
    async with loaded(engine(model)) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(loud(seconds_of(1)), keeping_up=True)
        decodes.calls.clear()
        decodes.frames.clear()
        found = await listener.hearing.first_word()
        assert found is not None
        assert max(found.beginnings, key=lambda each: each[1])[0] == SCRIPT[0]
        assert decodes.frames == [200]
        assert not decodes.calls, "no whole decode"
        assert (await listener.hearing.transcript()).text == SCRIPT[0]


async def test_first_word_of_no_speech_is_no_word() -> None:
    path = cached_whisper(*SCRIPT, no_speech=True)
    async with loaded(engine(path)) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(loud(seconds_of(1)), keeping_up=True)
        assert await listener.hearing.first_word() == NO_WORD


async def test_first_word_is_unknown_before_the_language_is(model: Path) -> None:
    async with loaded(engine(model, language=None)) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(loud(seconds_of(1)))
        assert await listener.hearing.first_word() is None


async def test_first_word_fails_with_the_model(model: Path, decodes: Decodes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(LoadedWhisper, "first_word", fail)
    async with loaded(engine(model)) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(loud(seconds_of(1)), keeping_up=True)
        with pytest.raises(SttError, match="out of memory"):
            await listener.hearing.first_word()


async def test_transcript_grows_with_audio(model: Path) -> None:
    async with loaded(engine(model)) as transcriber:
        listener = Listener(transcriber)
        sound = loud(seconds_of(7))
        half = samples_of_s(seconds_of(3))
        await listener.feed(sound[:half])
        assert (await listener.hearing.transcript()).text == "what time is"
        await listener.feed(sound[half:])
        assert (await listener.hearing.transcript()).text == "what time is it in the town"


async def test_partials_are_agreed_prefixes(model: Path) -> None:
    async with loaded(engine(model)) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(loud(seconds_of(7)), keeping_up=True)
        texts = [words.text.split() for words in listener.interims]
        assert len(texts) >= 2
        assert all(text == SCRIPT[: len(text)] for text in texts)
        assert [len(text) for text in texts] == sorted({len(text) for text in texts})
        assert all(words.until < SEGMENT + samples_of_s(seconds_of(7)) for words in listener.interims)


async def test_partial_rate_is_bounded(model: Path, decodes: Decodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_model, "INTERIM_INTERVAL_SAMPLES", samples_of_s(0.6))
    async with loaded(engine(model)) as transcriber:
        decodes.calls.clear()
        await Listener(transcriber).feed(loud(3), keeping_up=True)
        fed = [samples for samples, _, _ in decodes.calls]
        assert len(fed) >= 2
        assert min(np.diff(fed)) >= samples_of_s(0.6)


async def test_final_precedes_partials_and_waits_for_running_decode(model: Path, decodes: Decodes) -> None:
    async with loaded(engine(model)) as transcriber:
        decodes.calls.clear()
        decodes.go.clear()
        listener = Listener(transcriber)
        sound = loud(seconds_of(5))
        await listener.feed(sound)  # its first interim is held up
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(listener.hearing.transcript()) for _ in range(3)]
            await asyncio.sleep(0)
            decodes.go.set()
        assert {task.result().text for task in asking} == {" ".join(SCRIPT[:5])}
        assert [retry for _, _, retry in decodes.calls] == [False, True]  # one interim; one final for all three
        assert decodes.calls[1][0] == len(sound)


async def test_decode_of_pause_serves_as_final(model: Path, decodes: Decodes) -> None:
    async with loaded(engine(model)) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(np.concatenate([quiet(0.1), loud(seconds_of(4)), quiet(0.2)]), keeping_up=True)
        before = len(decodes.calls)
        heard = await listener.hearing.transcript()
        assert heard.text == "what time is it"
        assert heard.until == SEGMENT + samples_of_s(0.1 + seconds_of(4) + 0.2)
        assert len(decodes.calls) == before
        assert decodes.calls[-1][2], "what serves as final may use the full window"
        await listener.feed(quiet(0.2))  # as after the hangover
        assert (await listener.hearing.transcript()).text == "what time is it"
        assert len(decodes.calls) == before
        await listener.feed(quiet(0.5))  # now more than 700 ms of it were not decoded
        await listener.hearing.transcript()
        assert len(decodes.calls) == before + 1


async def test_silence_has_no_words(model: Path) -> None:
    async with loaded(engine(model)) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(quiet(1.5))
        assert (await listener.hearing.transcript()).text == ""
        assert listener.interims == []


async def test_empty_segment_has_no_words(model: Path) -> None:
    async with loaded(engine(model)) as transcriber:
        async with asyncio.timeout(10):
            assert await Listener(transcriber).hearing.transcript() == Transcript(SEGMENT, Samples(SEGMENT), "")


@pytest.mark.parametrize(
    ("script", "probability", "no_speech", "text", "rough"),
    [
        pytest.param(
            "thank you for watching", 0.99, False, "thank you for watching", False, id="confident stock phrase"
        ),
        pytest.param("thank you for watching", 0.45, False, "", False, id="doubtful stock phrase"),
        pytest.param("turn off every lamp", 0.45, False, "turn off every lamp", False, id="doubtful command"),
        pytest.param("turn off every lamp", 0.2, False, "turn off every lamp", True, id="improbable command"),
        pytest.param("turn off every lamp", 0.2, True, "", False, id="improbable command in silence"),
        pytest.param(
            "turn off every lamp", 0.99, True, "turn off every lamp", True, id="confident command in silence"
        ),  # somebody who goes on
        pytest.param("every lamp", 0.35, True, "", False, id="short text in silence"),
        pytest.param("la " * 12, 0.99, False, "la", True, id="loop"),
    ],
)
async def test_unreliable_decode_is_filtered(
    script: str, probability: float, no_speech: bool, text: str, rough: bool
) -> None:
    words = script.split()
    path = cached_whisper(*words, probability=probability, no_speech=no_speech)

    # The script's weights are few and large: on processors without VNNI their products overflow in eight bits.

    async with loaded(engine(path, compute_type="float32")) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(loud(seconds_of(len(words))))
        heard = await listener.hearing.transcript()
        assert (heard.text, heard.low_confidence) == (text, rough)


@pytest.mark.parametrize(
    ("script", "probability", "no_speech", "again"),
    [
        pytest.param(SCRIPT, 0.99, False, False, id="reliable"),
        pytest.param(["la"] * 8, 0.99, False, True, id="loop"),
        pytest.param(SCRIPT, 0.99, True, False, id="no speech"),
        pytest.param(SCRIPT, 0.05, False, False, id="improbable"),
    ],
)
async def test_failed_check_in_short_window_is_repeated_in_full_one(
    decodes: Decodes, script: list[str], probability: float, no_speech: bool, again: bool
) -> None:
    path = cached_whisper(*script, probability=probability, no_speech=no_speech)
    async with loaded(engine(path)) as transcriber:
        listener = Listener(transcriber)
        decodes.frames.clear()
        await listener.feed(loud(seconds_of(len(script))))
        await listener.hearing.transcript()
        assert (decodes.frames[-1] == 3000) is again


@pytest.mark.parametrize(
    ("full", "text"), [("commuter", ""), ("computer", "computer")], ids=["other word", "same word"]
)
def test_loop_is_reduced_to_words_of_full_window(
    model: Path, monkeypatch: pytest.MonkeyPatch, full: str, text: str
) -> None:
    said = [DecodeResult("computer " * 8, -0.2, 0.5), DecodeResult(full, -1.8, 0.4)]
    loaded = LoadedWhisper(WhisperSettings(model, "en", "cpu"))
    monkeypatch.setattr(LoadedWhisper, "_decode_once", lambda *_given, **_more: (said.pop(0), "en", 1.0))
    decoded = loaded.decode(loud(1), "en", retry=True)
    assert decoded is not None
    assert decoded.text == text
    assert decoded.failed_check
    assert not said


@pytest.mark.parametrize(
    ("no_speech", "second", "text", "windows"),
    [
        pytest.param(0.1, DecodeResult("computer.", -0.3, 0.1), "computer.", [1000], id="no loop"),
        pytest.param(0.1, DecodeResult("computer " * 8, -0.2, 0.1), "full", [1000, 3000], id="another loop"),
        pytest.param(0.1, DecodeResult("commuter", -1.2, 0.1), "full", [1000, 3000], id="improbable"),
        pytest.param(0.5, DecodeResult("computer.", -0.3, 0.5), "full", [1000, 3000], id="may be no speech"),
    ],
)
def test_loop_is_decoded_with_timestamps_before_the_full_window(
    decodes: Decodes,
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_speech: float,
    second: DecodeResult,
    text: str,
    windows: list[int],
) -> None:
    loop = DecodeResult("computer " * 8, -0.2, no_speech, Punctuation(0.5, 0.1))
    loaded = LoadedWhisper(WhisperSettings(model, "en", "cpu"))
    said = [loop, DecodeResult("full", -0.4, 0.1, Punctuation(0.9, 0.05))]

    def generate(_loaded: LoadedWhisper, *_given: object, timestamps: bool = False, **_more: object) -> DecodeResult:
        return second if timestamps else said.pop(0)

    monkeypatch.setattr(LoadedWhisper, "generate", generate)
    decodes.frames.clear()
    decoded = loaded.decode(loud(1), "en", retry=True)
    assert decoded is not None
    assert (decoded.text, decoded.failed_check, decoded.was_aborted) == (text, "", False)
    assert (decoded.punctuation is None) is (text != "full")
    assert decodes.frames == windows


def test_early_decode_of_a_loop_needs_no_full_window(
    model: Path, monkeypatch: pytest.MonkeyPatch, decodes: Decodes
) -> None:
    loaded = LoadedWhisper(WhisperSettings(model, "en", "cpu"))

    def generate(_loaded: LoadedWhisper, *_given: object, timestamps: bool = False, **_more: object) -> DecodeResult:
        return DecodeResult("computer" if timestamps else "computer " * 8, -0.2, 0.1)

    monkeypatch.setattr(LoadedWhisper, "generate", generate)
    decoded = loaded.decode(loud(1), "en", retry=False)
    assert decoded is not None
    assert (decoded.text, decoded.was_aborted) == ("computer", False)


@pytest.mark.parametrize(
    ("with_timestamps", "text"),
    [
        pytest.param("Set a timer.", "Set a timer.", id="not doubled"),
        pytest.param("Set a timer. Set a timer.", "Set a timer. Set a timer.", id="doubled again"),
        pytest.param("computer " * 8, "Set a timer. Set a timer.", id="loop"),
    ],
)
def test_doubled_phrase_is_decoded_with_timestamps(
    decodes: Decodes, model: Path, monkeypatch: pytest.MonkeyPatch, with_timestamps: str, text: str
) -> None:
    loaded = LoadedWhisper(WhisperSettings(model, "en", "cpu"))

    def generate(_loaded: LoadedWhisper, *_given: object, timestamps: bool = False, **_more: object) -> DecodeResult:
        return DecodeResult(with_timestamps if timestamps else "Set a timer. Set a timer.", -0.2, 0.1)

    monkeypatch.setattr(LoadedWhisper, "generate", generate)
    decodes.frames.clear()
    decoded = loaded.decode(loud(1), "en", retry=True)
    assert decoded is not None
    assert (decoded.text, decoded.failed_check) == (text, "")
    assert decodes.frames == [1000]


def test_words_with_timestamps_are_the_same() -> None:
    loaded = LoadedWhisper(WhisperSettings(cached_whisper(*SCRIPT), "en", "cpu"))
    pcm = loud(seconds_of(len(SCRIPT)))
    encoded = loaded.encode(loaded.features(pcm), 1000)
    plain, timed = (loaded.generate(encoded, "en", len(pcm), timestamps=timestamps) for timestamps in (False, True))
    assert plain.text == timed.text == " ".join(SCRIPT)
    assert plain.punctuation is not None
    assert timed.punctuation is None


async def test_language_is_detected_once_and_kept(decodes: Decodes) -> None:
    path = cached_whisper(*"wie spät ist es jetzt gerade hier".split(), language="de")
    async with loaded(engine(path, language=None)) as transcriber:
        short = Listener(transcriber)
        await short.feed(loud(1))
        assert (await short.hearing.transcript()).text == "wie spät ist"
        short.hearing.close()
        assert "not yet detected" in transcriber.detail
        long = Listener(transcriber)
        await long.feed(loud(2))
        await long.hearing.transcript()
        long.hearing.close()
        assert transcriber.detail.endswith(", de")
        await transcriber.load()
        again = Listener(transcriber)
        await again.feed(loud(1))
        await again.hearing.transcript()
        assert decodes.calls[-1][1] == "de"


@pytest.mark.parametrize(
    ("seconds", "probability", "detects", "other"),
    [(2.5, 0.3, "de", "de"), (2.5, 0.3, "en", ""), (1.5, 0.3, "de", ""), (2.5, 0.99, "de", "")],
    ids=["improbable", "of the same language", "too short", "probable"],
)
async def test_improbable_words_report_other_language(
    seconds: float, probability: float, detects: str, other: str
) -> None:
    words = "wie spät ist es jetzt gerade hier".split()
    path = cached_whisper(*words, probability=probability, language=detects)
    async with loaded(engine(path, language="en")) as transcriber:
        listener = Listener(transcriber)
        await listener.feed(loud(seconds))
        assert (await listener.hearing.transcript()).other_language == other
        listener.hearing.close()


async def test_prompt_and_hot_words_are_passed_on() -> None:
    # Letters are tokens: <prev>, 4, 4, the usual 4.
    path = cached_whisper(*SCRIPT, prompt_tokens=13)
    async with loaded(engine(path, hot_words="Ada")) as transcriber:
        transcriber.set_prompt("Ho!")
        listener = Listener(transcriber)
        await listener.feed(loud(seconds_of(3)))
        assert (await listener.hearing.transcript()).text == "what time is"


async def test_recording_is_decoded_in_the_full_window_while_nobody_speaks(model: Path, decodes: Decodes) -> None:
    shared = engine(model)
    async with loaded(shared) as transcriber:
        transcriber.expect_recording(is_recording=True)
        for is_alone, frames in ((True, 3000), (False, 1000)):
            decodes.frames.clear()
            if not is_alone:
                shared.transcriber().open(SegmentId(0), lambda _transcript: None)
            listener = Listener(transcriber)
            listener.hearing.feed(loud(seconds_of(3)))
            heard = await listener.hearing.transcript()
            assert heard.text == "what time is"
            assert decodes.frames == [frames]
            assert (heard.punctuation is None) == is_alone


async def test_speech_longer_than_window(model: Path, decodes: Decodes) -> None:
    async with loaded(engine(model)) as transcriber:
        listener = Listener(transcriber)
        first = np.concatenate([loud(seconds_of(3)), quiet(18 - seconds_of(3))])
        second = np.concatenate([loud(0.5), quiet(14)])
        await listener.feed(np.concatenate([first, quiet(2), second]))
        heard = await listener.hearing.transcript()
        assert heard.text.startswith("what time is")
        assert heard.until == SEGMENT + samples_of_s(34.5)
        assert max(samples for samples, _, _ in decodes.calls) <= samples_of_s(30)


async def test_full_backlog_is_reported(model: Path, decodes: Decodes) -> None:
    async with loaded(engine(model)) as transcriber:
        decodes.go.clear()
        hearing = Listener(transcriber).hearing
        for _ in range(120):
            hearing.feed(quiet(1))
        with pytest.raises(SttError, match="120 s behind"):
            hearing.feed(quiet(0.1))
        decodes.go.set()


async def test_cancelled_request_can_be_repeated(model: Path, decodes: Decodes) -> None:
    async with loaded(engine(model)) as transcriber:
        decodes.go.clear()
        listener = Listener(transcriber)
        await listener.feed(loud(seconds_of(2)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await listener.hearing.transcript()
        decodes.go.set()
        assert (await listener.hearing.transcript()).text == "what time"


async def error_of(words: Coroutine[None, None, Transcript]) -> str:
    with pytest.raises(SttError) as error:
        await words
    return str(error.value)


@pytest.mark.slow  # it waits for the second
async def test_stop_fails_pending_requests(model: Path, decodes: Decodes) -> None:
    shared = engine(model)
    async with loaded(shared) as transcriber:
        decodes.go.clear()
        listener = Listener(transcriber)
        await listener.feed(loud(0.5))
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(error_of(listener.hearing.transcript()))
            await asyncio.sleep(0.01)
            await shared.aclose()  # the model hangs: it is waited for a second, not for ever
        assert "stopped" in asking.result()
        decodes.go.set()


def load_error(shared: SharedWhisper) -> str:
    with pytest.raises(EngineLoadError) as error:
        asyncio.run(shared.load())
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("", "convert or copy it again, or correct stt.model"), ("tiny", "remove it and pull it again")],
    ids=["own folder", "catalogue model"],
)
def test_missing_model_file_is_named_with_remedy(model: Path, tmp_path: Path, name: str, remedy: str) -> None:
    """Without tokenizer.json faster-whisper would fetch one."""
    lacking = tmp_path / "lacking"
    shutil.copytree(model, lacking, copy_function=os.link)
    for file in ("tokenizer.json", "vocabulary.json"):
        (lacking / file).unlink()
    (lacking / "vocabulary.txt").touch()
    text = f"The Whisper model in {lacking} lacks tokenizer.json, vocabulary.json: {remedy}."
    assert load_error(engine(lacking, name=name)) == text


def test_unreadable_model_folder_lacks_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(tmp_path, monkeypatch)
    assert "lacks model.bin, config.json" in load_error(engine(tmp_path / "model"))


def test_impossible_settings_are_refused(model: Path, tmp_path: Path) -> None:
    assert "'xx'" in load_error(engine(model, language="xx"))
    assert "int3" in load_error(engine(model, compute_type="int3"))
    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    (broken / "tokenizer.json").write_text('{"model": ')
    assert "convert or copy it again, or correct stt.model, or set another stt.faster-whisper.device" in load_error(
        engine(broken)
    )
    assert "remove it and pull it again, or set another stt.faster-whisper.device" in load_error(
        engine(broken, name="tiny")
    )
    shutil.copy(model / "tokenizer.json", broken)
    (broken / "model.bin").write_bytes(b"nothing")
    assert "could not be loaded on cpu" in load_error(engine(broken))
    (broken / "model.bin").unlink()
    (broken / "model.bin").hardlink_to(model / "model.bin")
    (broken / "preprocessor_config.json").write_text('{"feature_size": 128}')
    assert "80 mel bands" in load_error(engine(broken))


def test_automatic_number_format_is_one_of_the_device(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: 1)
    known = {"float32", "int8", "int8_float32"}
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda _device: known)
    assert whisper_model._device_and_type(WhisperSettings(model)) == ("cuda", "int8_float32")
    known.add("float16")
    assert whisper_model._device_and_type(WhisperSettings(model)) == ("cuda", "float16")


def test_missing_device_and_number_format_name_their_keys(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: 0)
    assert load_error(SharedWhisper(WhisperSettings(model, device="cuda"))).startswith(
        'stt.faster-whisper.device = "cuda"'
    )
    assert 'stt.faster-whisper.compute_type = "int3"' in load_error(engine(model, compute_type="int3"))


async def test_detail_names_model_and_device(model: Path) -> None:
    shared = engine(model, language="en-US", cpu_threads=1)
    assert shared.detail.endswith("not loaded")
    async with loaded(shared) as transcriber:
        assert transcriber.detail.endswith("int8_float32 on CPU, 1 thread, adaptive window, en")


async def test_looping_decoder_stops_early() -> None:
    """The tokens of a decode are bounded by the length of the sound: 24 + 10 a second."""
    path = cached_whisper(*(f"w{index}" for index in range(50)))
    async with loaded(engine(path)) as transcriber:
        model = transcriber._shared._scheduler.model  # the model itself is asked
        assert isinstance(model, LoadedWhisper)
        features = model.features(loud(20))
        encoded = model.encode(features, 3000)
        assert len(model.generate(encoded, "en", samples_of_s(1)).text.split()) == 34
        cut = model.generate(encoded, "en", samples_of_s(2))
        assert len(cut.text.split()) == 44
        assert cut.punctuation is None, "it was stopped in its midst"
