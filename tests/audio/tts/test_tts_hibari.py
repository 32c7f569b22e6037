"""The voice Hibari with its real model: pieces, word marks, loudness, fairness and stops."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from itertools import pairwise

import numpy as np
import pytest
import soxr
from hibari import dsp
from support.clocks.stopwatch import Stopwatch
from support.models.installed_model import TINY_EN_FOLDER
from support.sound.speech import marks_of, said, sound_of, spoken
from support.texts.text_cases import text_cases

from assistant.commands.engine_bench.words import word_errors
from audio.errors import EngineLoadError
from audio.level import audible_onset, gain_for
from audio.pronunciation import HUMS, Pronunciations
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.tts import Chunk, WordMark
from audio.tts.hibari import model as hibari_model
from audio.tts.hibari.model import HibariModel
from audio.tts.hibari.vocoder import Spectra, sound_pieces
from audio.tts.hibari.voice import HibariTts
from audio.tts.sound import SENTENCE_PAUSE_MS
from audio.tts.text_pieces import words
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, reply_samples_of_ms

SENTENCES = (
    "Okay, I've set a timer for ten minutes.",
    "The lamp in the living room is on.",
    "How can I help you?",
    "That would be seven euros and twenty cents. Is that all?",
)


@pytest.fixture(scope="module")
def model() -> HibariModel:
    return HibariModel()


@pytest.fixture(autouse=True)
def loaded_once(model: HibariModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HibariTts, "load_model", lambda *_: model)  # 0.7 s


def speak(text: str, speed: float = 1.0) -> list[Chunk]:
    return spoken(HibariTts(pronunciations=Pronunciations(HUMS)), text, speed)


class _NoNoise:
    def standard_normal(self, shape: tuple[int, int], dtype: type) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.zeros(shape, dtype)


def _spectra(frames: int) -> Spectra:
    random = np.random.default_rng(frames)
    pulses, pulse_phases, noise, rest, rest_phases = random.standard_normal((5, 601, frames), np.float32)
    pitch_hz = np.abs(random.standard_normal(frames, np.float32)) * 120  # some frames are unvoiced
    return Spectra(pulses, pulse_phases, noise, rest, rest_phases, pitch_hz)


@pytest.mark.parametrize("frames", [6, 14, 60, 330], ids="{} frames".format)
def test_pieces_are_the_samples_of_the_whole(frames: int) -> None:
    spectra = _spectra(frames)
    whole = dsp.synth(
        *(spectra.pulses, spectra.pulse_phases, spectra.noise, spectra.rest, spectra.rest_phases, spectra.pitch_hz),
        _NoNoise(),
    )
    pieces = list(sound_pieces(spectra, 0, with_noise=False))
    assert len(pieces) == {6: 1, 14: 1, 60: 2, 330: 4}[frames]
    assert np.abs(np.concatenate(pieces) - whole).max() < 1e-5 * np.abs(whole).max()


def test_noise_of_pieces_is_as_loud_as_that_of_the_whole() -> None:
    spectra = _spectra(330)
    noise = [
        np.concatenate([*sound_pieces(spectra, 0)]) - np.concatenate([*sound_pieces(spectra, 0, with_noise=False)]),
        dsp.synth(*[np.full_like(spectra.noise, -30)] * 2, spectra.noise, *[np.full_like(spectra.noise, -30)] * 2,
                  np.zeros_like(spectra.pitch_hz), np.random.default_rng(0)),
    ]  # fmt: skip
    levels = [np.sqrt(np.mean(np.square(sound))) for sound in noise]
    assert levels[0] == pytest.approx(levels[1], rel=0.02)


@text_cases("text", SENTENCES)
def test_text_starts_with_speech_and_ends_with_pause(text: str) -> None:
    chunks = speak(text)
    sound = sound_of(chunks)
    onset = audible_onset(sound, REPLY_RATE_HZ)
    assert onset is not None
    assert onset <= reply_samples_of_ms(60)  # a soft consonant
    after = sound.size - int(np.flatnonzero(np.abs(sound) > 100)[-1])
    assert after < reply_samples_of_ms(SENTENCE_PAUSE_MS + 80)
    marks = marks_of(chunks)
    assert [(mark.text_start, mark.text_end) for mark in marks] == list(words(text))
    assert all(one.start < one.end <= two.start for one, two in pairwise(marks))
    assert not any(mark.estimated for mark in marks)
    assert all(0 < chunk.pcm.size <= reply_samples_of_ms(200) for chunk in chunks)


def test_word_mark_is_where_the_word_sounds() -> None:
    chunks = speak("Ten, ten, ten, ten.")
    sound = np.abs(sound_of(chunks).astype(np.int32))

    def around_ms(mark: WordMark, begin: int, end: int) -> float:
        return float(
            sound[mark.start + begin * REPLY_RATE_HZ // 1000 : mark.start + end * REPLY_RATE_HZ // 1000].mean()
        )

    for mark in marks_of(chunks)[1:]:
        assert around_ms(mark, -35, -20) < 0.3 * around_ms(mark, -10, 10), "it is silent before the t"


def test_loudness_is_that_of_the_target() -> None:
    for text in SENTENCES[:3]:
        assert -22.5 < -20 * np.log10(gain_for(0, sound_of(speak(text)))) < -17.5


def test_same_text_has_the_same_samples() -> None:
    one, two = (sound_of(speak(SENTENCES[0])) for _ in range(2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(("speed", "share"), [(0.5, 1.9), (2.0, 0.63), (4.0, 0.63)], ids=["half", "double", "limited"])
def test_speed_changes_duration(speed: float, share: float) -> None:
    usual = sound_of(speak(SENTENCES[1])).size
    assert sound_of(speak(SENTENCES[1], speed)).size == pytest.approx(share * usual, rel=0.15)


def test_long_text_is_bounded_and_complete() -> None:
    text = " ".join(SENTENCES) + " and so on" * 20
    marks = marks_of(speak(text))
    assert [(mark.text_start, mark.text_end) for mark in marks] == list(words(text))


def test_text_without_sound_gives_no_chunk() -> None:
    assert speak("… 🙂 日本") == []


async def test_first_sounds_of_all_replies_come_before_rest_of_any() -> None:
    voice = HibariTts()
    await voice.load()
    order: list[int] = []

    async def one(number: int) -> None:
        async with aclosing(voice.speak(SENTENCES[0])) as chunks:
            async for _chunk in chunks:
                order.append(number)  # noqa: PERF401 - as they come

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(one(number))
    await voice.aclose()
    ends = [len(order) - 1 - order[::-1].index(number) for number in range(8)]
    assert max(order.index(number) for number in range(8)) < min(ends)


@pytest.mark.real_time
async def test_closing_stops_voice_within_a_sentence() -> None:
    voice = HibariTts()
    await voice.load()
    unit = voice.speak(" ".join("a very long sentence without any end".split() * 5))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.005):
            await anext(unit)
    watch = Stopwatch()
    await unit.aclose()
    await said(voice, "No.")
    await voice.aclose()
    assert watch.undisturbed_s < 0.06  # 15 ms, and 10 for the next text; the first one takes 80


class TestFiles:
    def test_changed_model_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hibari_model, "_SHA256", {**hibari_model._SHA256, "hibari.onnx": "0" * 64})
        with pytest.raises(EngineLoadError, match=r"hibari\.onnx is not the file .*install the package hibari-tts"):
            hibari_model.read_files()

    def test_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hibari_model, "find_spec", lambda _name: None)
        with pytest.raises(EngineLoadError, match="hibari-tts is not installed"):
            hibari_model.read_files()


HEARD = (
    "The train to the coast leaves at half past four from the second platform.",
    "My grandmother planted those apple trees before the house was built.",
    "He said no. Then we sat in the sun, and she ate a fig.",
    "Your meeting with the doctor is on Tuesday at a quarter to nine.",
)


@pytest.mark.slow
@pytest.mark.weights
@pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en is not downloaded")
def test_recognizer_hears_the_words() -> None:
    assert TINY_EN_FOLDER is not None
    whisper = LoadedWhisper(WhisperSettings(TINY_EN_FOLDER, device="cpu", cpu_threads=1))

    def heard() -> Iterator[str]:
        for text in HEARD:
            sound = sound_of(speak(text)).astype(np.float32)
            at_rate = soxr.resample(sound, REPLY_RATE_HZ, MIC_RATE_HZ).astype(np.int16)
            found = whisper.decode(np.concatenate((at_rate, np.zeros(MIC_RATE_HZ // 4, np.int16))), "en", retry=True)
            yield found.text if found is not None else ""

    rate = word_errors(zip(HEARD, heard(), strict=True), "en").rate
    assert rate is not None
    assert rate < 0.05
