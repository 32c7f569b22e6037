"""The Piper voice: real piper-tts and onnxruntime with voices that speak tones."""

import asyncio
import threading
from contextlib import aclosing, suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clocks.stopwatch import Stopwatch
from support.models.synthetic_piper import medium_voice, tone_voice
from support.sound.speech import check_chunks, marks_of, said, sound_of, spoken
from support.texts.text_cases import text_cases

from audio.errors import EngineLoadError, TtsError
from audio.execution_provider import ProviderRequest
from audio.level import audible_onset, gain_for
from audio.tts import Chunk, Voice
from audio.tts.espeak.voice import EspeakVoice
from audio.tts.piper.model import PiperModel
from audio.tts.piper.voice import PiperTts
from audio.tts.sound import CLAUSE_PAUSE_MS, SENTENCE_PAUSE_MS
from audio.tts.speakable import speakable
from audio.tts.streaming.streamed_voice import plain
from audio.units import REPLY_RATE_HZ, Pcm, reply_samples_of_ms

SENTENCES = (
    "Okay, I've set a timer for ten minutes.",
    "The lamp in the living room is on.",
    "How can I help you?",
    "That would be seven euros and twenty cents.",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("voices")


@pytest.fixture(scope="module")
def tones(folder: Path) -> str:
    return str(tone_voice(folder))


def level_dbfs(sound: Pcm) -> float:
    return float(-20 * np.log10(gain_for(0, sound)))


def check_unit(text: str, chunks: list[Chunk]) -> None:
    check_chunks(plain(speakable(text, "en").text), chunks)


class TestUnit:
    @text_cases("text", SENTENCES)
    def test_text_starts_with_speech_and_ends_with_pause(self, tones: str, text: str) -> None:
        chunks = spoken(PiperTts(tones), text)
        sound = sound_of(chunks)
        check_unit(text, chunks)
        assert audible_onset(sound, REPLY_RATE_HZ) == 0
        after = sound.size - int(np.flatnonzero(np.abs(sound) > 100)[-1])
        assert reply_samples_of_ms(SENTENCE_PAUSE_MS - 12) < after < reply_samples_of_ms(SENTENCE_PAUSE_MS + 12)

    def test_clause_has_shorter_pause(self, tones: str) -> None:
        sound = sound_of(spoken(PiperTts(tones), "Well,"))
        after = sound.size - int(np.flatnonzero(np.abs(sound) > 100)[-1])
        assert reply_samples_of_ms(CLAUSE_PAUSE_MS - 12) < after < reply_samples_of_ms(CLAUSE_PAUSE_MS + 12)

    def test_leading_silence_is_cut(self, folder: Path) -> None:
        late = str(tone_voice(folder, name="en_US-late-low", lead_frames=30))
        assert audible_onset(sound_of(spoken(PiperTts(late), "Hello.")), REPLY_RATE_HZ) == 0

    @pytest.mark.parametrize("amplitude", [0.01, 0.9], ids="amplitude {}".format)
    async def test_loudness_equals_espeak(self, folder: Path, amplitude: float) -> None:
        path = str(tone_voice(folder, name=f"en_US-loud{amplitude}-low", amplitude=amplitude))
        piper, espeak = PiperTts(path), EspeakVoice()
        await piper.load()
        await espeak.load()  # two copies of espeak-ng in one process: piper contains its own
        one, two = await asyncio.gather(said(piper, SENTENCES[0]), said(espeak, SENTENCES[0]))
        await piper.aclose()
        piper_sound, espeak_sound = sound_of(one), sound_of(two)
        assert level_dbfs(piper_sound) == pytest.approx(-20, abs=2.5)
        assert level_dbfs(piper_sound) == pytest.approx(level_dbfs(espeak_sound), abs=3)

    def test_target_loudness_is_met(self, tones: str) -> None:
        quiet = level_dbfs(sound_of(spoken(PiperTts(tones, target_dbfs=-30), SENTENCES[0])))
        loud = level_dbfs(sound_of(spoken(PiperTts(tones, target_dbfs=-20), SENTENCES[0])))
        assert loud - quiet == pytest.approx(10, abs=0.3)

    def test_double_speed_halves_duration(self, tones: str) -> None:
        slow, fast = (sound_of(spoken(PiperTts(tones, speed=speed), "Minimum,")).size for speed in (0.5, 1))
        pause = reply_samples_of_ms(CLAUSE_PAUSE_MS)
        assert (fast - pause) * 2 == pytest.approx(slow - pause, rel=0.03)

    def test_speakers_by_number_and_name_differ(self, folder: Path) -> None:
        several = str(tone_voice(folder, name="en_US-several-low", speakers=3))
        first, second, named = (
            sound_of(spoken(PiperTts(several, speaker=speaker), "Hello.")) for speaker in (None, 1, "speaker1")
        )
        assert np.array_equal(second, named)
        assert first.size == second.size
        assert not np.array_equal(first, second)

    @text_cases("text", ["", " \n\t", "...", "?!", "\x00", "—", "😀", "👍🏽 👨‍👩‍👧 ❤️", "→ ✔"])
    def test_text_without_sound_gives_no_chunk(self, tones: str, text: str) -> None:
        assert spoken(PiperTts(tones), text) == []

    def test_emoji_is_not_spoken(self, tones: str) -> None:
        without = sound_of(spoken(PiperTts(tones), "Well done"))
        assert np.array_equal(sound_of(spoken(PiperTts(tones), "Well done 🎉")), without)

    def test_phoneme_markup_is_read_as_text(self, tones: str) -> None:
        assert "[[" not in plain("a [[h@l'oU]] [[[b]]]")
        assert len(plain("a [[[b]]] 👍🏽")) == len("a [[[b]]] 👍🏽")

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(
                "naïve café, 日本 ok? 😀 It costs £12.50 — that's 1,234,567 e.g. and/or U.S.A.", id="mixed symbols"
            ),
            pytest.param("of the in the it is", id="function words"),
            pytest.param("wait -- what - now", id="double dashes"),
            pytest.param("Dr. Smith said: “Go!” Then (maybe) left. 3 km/h", id="abbreviations and quotes"),
            pytest.param("[[hE'loU]] <b>bold</b> &amp; <speak>x</speak> {{x}} \\o/", id="markup"),
            pytest.param("The lamp is on and the door is shut, I think. " * 20, id="long text"),
            pytest.param("go " * 300, id="repeated word"),
        ],
    )
    def test_difficult_text_is_spoken(self, tones: str, text: str) -> None:
        chunks = spoken(PiperTts(tones), text)
        assert chunks
        check_unit(text, chunks)

    def test_any_text_is_accepted(self, tones: str) -> None:
        voice = PiperTts(tones)
        with asyncio.Runner() as runner:
            runner.run(voice.load())

            @given(st.text(max_size=20))
            def check(text: str) -> None:
                check_unit(text, runner.run(said(voice, text)))

            check()
            runner.run(voice.aclose())

    async def test_implements_voice_protocol(self, tones: str) -> None:
        voice: Voice = PiperTts(tones, speed=1.25, provider=ProviderRequest("tts.provider", "cpu"))
        await voice.load()
        await voice.aclose()
        await voice.aclose()
        assert voice.name == "piper"
        assert voice.detail == "en_US-tone-low (en_US), speed 1.25, CPU, whole sentences: it has no upsampling"


class TestWords:
    def test_word_marks_match_audio(self, tones: str) -> None:
        chunks = spoken(PiperTts(tones), "Wait, stop, go.")
        sound = np.abs(sound_of(chunks).astype(int))
        marks = marks_of(chunks)
        assert not any(mark.estimated for mark in marks)
        for one, two in pairwise(marks):
            # A punctuation mark and a blank are silent; the padding after each is not: 23 ms each.
            assert two.start - one.end > reply_samples_of_ms(60)
            assert sound[one.start : one.end].max() > 1000
        assert marks[0].start < reply_samples_of_ms(30)

    def test_estimated_marks_are_close(self, folder: Path, tones: str) -> None:
        mute = str(tone_voice(folder, name="en_US-mute-low", aligned=False))
        exact = marks_of(spoken(PiperTts(tones), SENTENCES[2]))
        estimated = marks_of(spoken(PiperTts(mute), SENTENCES[2]))
        assert all(mark.estimated for mark in estimated)
        assert not any(mark.estimated for mark in exact)
        off = [abs(one.start - two.start) for one, two in zip(exact, estimated, strict=True)]
        assert max(off) < reply_samples_of_ms(150)

    def test_joined_words_are_found_and_marked_as_estimated(self, tones: str) -> None:
        marks = marks_of(spoken(PiperTts(tones), "Half of the time in the room costs 12.50 now."))
        assert len(marks) == 10
        assert all(mark.estimated for mark in marks)
        assert all(one.start < two.start for one, two in pairwise(marks))
        number = marks[8]
        assert number.end - number.start > reply_samples_of_ms(700)  # "twelve point five zero"


async def until_free(voice: PiperTts) -> None:
    """Waits until the model's thread has run a job submitted now."""
    loop, free = asyncio.get_running_loop(), asyncio.Event()
    thread = voice._thread
    assert thread is not None

    def tell(_model: PiperModel) -> None:
        loop.call_soon_threadsafe(free.set)

    thread.submit(tell)
    async with asyncio.timeout(10):
        await free.wait()


def closed_inside(path: str) -> tuple[float, list[Chunk], list[Chunk]]:
    """Closes a long text during synthesis. Returns how long the model stayed busy, and a text before and after."""

    async def interrupted() -> tuple[float, list[Chunk], list[Chunk]]:
        voice = PiperTts(path)
        await voice.load()
        before = await said(voice, "Hello.")
        unit = voice.speak(SENTENCES[0])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(unit)
        watch = Stopwatch()
        await unit.aclose()
        await until_free(voice)
        took_s = watch.undisturbed_s
        assert not voice._active_jobs
        after = await said(voice, "Hello.")
        await voice.aclose()
        return took_s, before, after

    return asyncio.run(interrupted())


class TestEnds:
    @pytest.mark.real_time
    def test_closing_stops_model_within_a_sentence(self, folder: Path) -> None:
        slow = str(tone_voice(folder, name="en_US-slow-low", burn=200))
        took_s, before, after = closed_inside(slow)
        assert took_s < 0.1  # 2 ms; the sentence takes about 200 ms
        assert np.array_equal(sound_of(before), sound_of(after))

    async def test_closing_one_text_does_not_affect_the_next(self, tones: str) -> None:
        voice = PiperTts(tones)
        await voice.load()
        whole = sound_of(await said(voice, SENTENCES[0]))
        for _ in range(5):
            async with aclosing(voice.speak(SENTENCES[3] * 4)) as chunks:
                await anext(chunks)
        assert np.array_equal(sound_of(await said(voice, SENTENCES[0])), whole)
        await voice.aclose()

    async def test_closing_voice_fails_running_synthesis(self, tones: str) -> None:
        voice = PiperTts(tones)
        with pytest.raises(TtsError, match="not loaded"):
            await said(voice, "Hello.")
        await voice.load()
        async with aclosing(voice.speak(SENTENCES[0] * 20)) as chunks:
            await anext(chunks)
            await voice.aclose()
            with pytest.raises(TtsError, match="closed"):
                _rest = [chunk async for chunk in chunks]
        with pytest.raises(TtsError, match="not loaded"):
            await said(voice, "Hello.")
        await voice.load()
        assert await said(voice, "Hello.")
        await voice.aclose()

    def test_no_thread_is_left_after_close(self, tones: str) -> None:
        spoken(PiperTts(tones), "Hello.")
        for thread in threading.enumerate():
            if thread.name == "Piper":
                thread.join(30)
                assert not thread.is_alive()

    async def test_failure_message_does_not_contain_the_text(self, tones: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise RuntimeError("Hello")

        voice = PiperTts(tones)
        await voice.load()
        with monkeypatch.context() as patch:
            patch.setattr(PiperModel, "sentence", broken)
            with pytest.raises(TtsError, match=r"failed inside a chunk \(RuntimeError\)$"):
                await said(voice, "Hello.")
        assert await said(voice, "Hello.")
        await voice.aclose()

    def test_silent_voice_is_refused(self, folder: Path) -> None:
        silent = str(tone_voice(folder, name="en_US-silent-low", amplitude=0))
        with pytest.raises(EngineLoadError, match="makes no sound"):
            spoken(PiperTts(silent), "Hello.")

    @pytest.mark.parametrize(
        ("key", "value"),
        [("speed", 0.4), ("speed", 3), ("target_dbfs", 1)],
        ids=["slow speed", "fast speed", "loud target"],
    )
    def test_numbers_out_of_range_are_refused(self, key: str, value: float) -> None:
        with pytest.raises(ValueError, match=f"tts.{key} is"):
            PiperTts("voice.onnx", **{key: value})  # type: ignore[arg-type]  # one of several keywords


@pytest.mark.slow
class TestMedium:
    async def test_voice_of_real_size_stops_within_a_sentence(self, tmp_path: Path) -> None:
        path = str(medium_voice(tmp_path))
        voice = PiperTts(path, provider=ProviderRequest("tts.provider", "cpu"))
        await voice.load()
        took_s: list[float] = []
        text = "The lamp in the living room is on and the door is shut and the kettle is on the table now. " * 2
        for index in range(5):
            unit = voice.speak(text)
            with suppress(TimeoutError):  # on a busy machine, the first sound may come before the time is seen
                async with asyncio.timeout(0.02 + 0.005 * index):
                    await anext(unit)
            watch = Stopwatch()
            await unit.aclose()
            await until_free(voice)
            took_s.append(watch.undisturbed_s)
        check_unit(SENTENCES[0], await said(voice, SENTENCES[0]))
        await voice.aclose()
        assert np.median(took_s) < 0.02
