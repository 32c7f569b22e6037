"""The espeak-ng voice: text, words, audio, and the real library (a few ms a sentence)."""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing
from itertools import pairwise

import espeakng_loader
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from audio import hang_detection
from audio.errors import EngineLoadError, TtsError
from audio.level import audible_onset, gain_for, rms_dbfs
from audio.tts import Chunk, Voice, WordMark
from audio.tts.espeak.library import ESPEAK_RATE_HZ, EspeakLibrary, SpeakingStyle, WordEvent
from audio.tts.espeak.sound import EspeakChunkAudio, reply_at
from audio.tts.espeak.voice import EspeakVoice
from audio.tts.espeak.worker import SHARED
from audio.tts.sound import CHUNK_SAMPLES, CLAUSE_PAUSE_MS, SENTENCE_PAUSE_MS
from audio.tts.speakable import speakable
from audio.tts.text_pieces import PIECE_CHARS, clean, ends_sentence, pieces, pronounceable, words
from audio.units import REPLY_RATE_HZ, Pcm, reply_samples_of_ms

SENTENCES = (
    "Okay, I've set a timer for ten minutes.",
    "The lamp in the living room is on.",
    "It is half past four.",
    "Today is Wednesday, the ninth of July.",
    "How can I help you?",
    "Sorry, I did not understand that.",
    "Friday works for me.",
    "Half of them have gone.",
    "He thinks so too.",
    "Put the kettle on.",
    "Two plus two is four.",
    "Pardon?",
    "Shall I go on?",
    "Who is there?",
    "Please wait a moment.",
    "Thank you!",
    "Fifty-five percent.",
    "Type your name, then press enter.",
    "That would be seven euros and twenty cents.",
    "Yes.",
)


ITS_OWN = reply_samples_of_ms(35)
"""By how much the library's own lengths differ, as its noise goes on from unit to unit: 22 ms in 60 times each
sentence, which are two beats of a deep voice at its end; three are 35. The first sentence in English keeps to 1 ms."""


async def said(voice: Voice, text: str) -> list[Chunk]:
    async with aclosing(voice.speak(text)) as chunks:
        return [chunk async for chunk in chunks]


async def loaded(language: str = "en", voice: str | None = None) -> EspeakVoice:
    engine = EspeakVoice(language=language, voice=voice)
    await engine.load()
    return engine


def speak(text: str, language: str = "en", voice: str | None = None) -> list[Chunk]:
    async def once() -> list[Chunk]:
        return await said(await loaded(language, voice), text)

    return asyncio.run(once())


def sound_of(chunks: list[Chunk]) -> Pcm:
    return np.concatenate([np.zeros(0, np.int16), *(chunk.pcm for chunk in chunks)])


def marks_of(chunks: list[Chunk]) -> list[WordMark]:
    return [mark for chunk in chunks for mark in chunk.marks]


def check_unit(text: str, chunks: list[Chunk]) -> None:
    """Checks every text: short chunks, every word once and in order, marks with the chunk they begin in."""
    marks = marks_of(chunks)
    if chunks:
        assert [(mark.text_start, mark.text_end) for mark in marks] == list(words(clean(speakable(text, "en").text)))
    given = 0
    for chunk in chunks:
        assert 0 < chunk.pcm.size <= reply_samples_of_ms(200)
        assert chunk.pcm.dtype == np.int16
        begin, given = given, given + chunk.pcm.size
        assert all(begin <= mark.start < given or mark.start == mark.end == given for mark in chunk.marks)
    assert all(mark.start <= mark.end <= given for mark in marks)
    assert all(one.end <= two.start for one, two in pairwise(marks))


class TestText:
    def test_unspeakable_characters_become_blanks(self) -> None:
        assert clean("a\x00b\x01c\ud800d\ue000e\x9ff\ng") == "a b c d e f g"

    @text_cases("text", ["", "  \n", "...", "?!", "— …", '"(-)"', "\u200d", "\u0301", "\ufffd"])
    def test_text_without_sound_is_not_pronounceable(self, text: str) -> None:
        assert not pronounceable(text)
        assert words(text) == ()
        assert pieces(text) == []

    @text_cases("text", ["a", "7", "é", "世", "ع", "😀", "€", "&", "%", "+", "½"])
    def test_text_with_sound_is_pronounceable(self, text: str) -> None:
        assert words(f"- {text}, -") == ((2, 4),)

    @given(st.text(alphabet=st.sampled_from("ab ,.!?…\n世😀—"), max_size=3 * PIECE_CHARS))
    def test_pieces_cover_all_pronounceable_text(self, text: str) -> None:
        end = 0
        for piece in pieces(text):
            assert 0 < len(piece.text) <= PIECE_CHARS
            assert text[piece.offset : piece.offset + len(piece.text)] == piece.text
            assert not pronounceable(text[end : piece.offset])
            assert piece.offset >= end
            end = piece.offset + len(piece.text)
        assert not pronounceable(text[end:])

    def test_long_text_is_cut_at_best_boundary(self) -> None:
        sentence, clause, word = "go " * 40 + "go. ", "go " * 40 + "go, ", "go " * 45
        cut = pieces(sentence + clause + word + "x" * 500)
        assert [piece.text for piece in cut[:2]] == [sentence, clause]
        assert cut[2].text == word
        assert [len(piece.text) for piece in cut[3:]] == [PIECE_CHARS, PIECE_CHARS, 100]

    @pytest.mark.parametrize("before", range(92, 104), ids="after {} characters".format)
    @text_cases(
        "whole", ["15:30", "1.234,56", "1,234,567", "12 500", "12\u202f500", "10–20", "1990—1995", "١،٥", "３：０"]
    )
    def test_numbers_and_times_are_not_cut(self, whole: str, before: int) -> None:
        text = "x" * before + " " + "x" * 91 + " " + whole + " " + "x" * 50
        assert any(whole in piece.text for piece in pieces(text))

    def test_clause_boundaries_are_recognized(self) -> None:
        for mark in (", ", "; ", ": ", " – ", "—", " — ", "، ", "、", "，", "；", "："):
            first = "x" * 60 + " " + "x" * 60 + mark
            assert pieces(first + "x y " * 30)[0].text == first

    def test_digits_are_cut_as_last_resort(self) -> None:
        assert [len(piece.text) for piece in pieces("1 2 " * 75)] == [200, 100]

    @text_cases(
        ("text", "sentence"),
        [("So.", True), ('"So?" ', True), ("So…)", True), ("好。", True), ("So,", False), ("So", False), ("", False)],
    )
    def test_sentence_end_is_recognized(self, text: str, sentence: bool) -> None:
        assert ends_sentence(text) is sentence


def shaped(text: str, buffers: list[tuple[Pcm, tuple[WordEvent, ...]]], pause_ms: float = 60) -> list[Chunk]:
    reply = EspeakChunkAudio(text, 1.0)
    chunks = [chunk for pcm, events in buffers for chunk in reply.feed(pcm, events)]
    return chunks + list(reply.finish(pause_ms))


TONE = np.rint(8000 * np.cos(np.arange(ESPEAK_RATE_HZ) * 2 * np.pi * 441 / ESPEAK_RATE_HZ)).astype(np.int16)


def silence(ms: int) -> Pcm:
    return np.zeros(ESPEAK_RATE_HZ * ms // 1000, np.int16)


class TestSound:
    def test_silence_gives_no_chunk(self) -> None:
        assert shaped("a", [(silence(500), (WordEvent(0, 1, 0),))]) == []

    def test_trailing_silence_is_cut_to_pause(self) -> None:
        chunks = shaped("a", [(silence(50), ()), (TONE, (WordEvent(0, 1, 0),)), (silence(300), ())])
        sound = sound_of(chunks)
        assert sound.size == REPLY_RATE_HZ + reply_samples_of_ms(60)
        assert np.flatnonzero(np.abs(sound) > 16)[-1] >= REPLY_RATE_HZ - 10
        assert rms_dbfs(sound[4800:19200]) == pytest.approx(rms_dbfs(TONE), abs=0.02)

    def test_short_trailing_silence_is_not_stretched(self) -> None:
        sound = sound_of(shaped("a", [(TONE, (WordEvent(0, 1, 0),)), (silence(20), ())]))
        assert sound.size == REPLY_RATE_HZ + reply_samples_of_ms(20)

    def test_both_ends_are_faded(self) -> None:
        plateau = np.full(ESPEAK_RATE_HZ // 5, 10_000, np.int16)
        sound = sound_of(shaped("a", [(plateau, ()), (silence(100), ())])).astype(int)
        end = round(0.2 * REPLY_RATE_HZ)
        # A step would be 10 000 at once; a fade of 2 ms is 210 a sample, one of 3 ms 140.
        assert np.abs(np.diff(sound[: end // 2])).max() < 500
        assert np.abs(np.diff(sound[end // 2 :])).max() < 500
        assert abs(sound[0]) < 500

    def test_inner_pause_is_unchanged(self) -> None:
        sound = sound_of(shaped("a", [(TONE, ()), (silence(400), ()), (TONE, ()), (silence(400), ())]))
        assert sound.size == reply_samples_of_ms(2400 + 60)
        assert not sound[reply_samples_of_ms(1100) : reply_samples_of_ms(1300)].any()

    def test_words_without_event_share_time_of_preceding_word(self) -> None:
        text = "of the in"
        chunks = shaped(text, [(TONE, (WordEvent(0, 2, 0), WordEvent(7, 2, 11_025)))])
        assert marks_of(chunks) == [
            WordMark(0, 2, reply_at(0), reply_at(4410), estimated=True),
            WordMark(3, 6, reply_at(4410), reply_at(11_025), estimated=True),
            WordMark(7, 9, reply_at(11_025), reply_at(22_050)),
        ]

    def test_word_with_several_events_has_one_mark(self) -> None:
        buffers = [
            (silence(10), (WordEvent(0, 1, 0),)),
            (TONE, (WordEvent(1, 3, 5000), WordEvent(1, 3, 10_000))),
            (silence(200), ()),
            (TONE, (WordEvent(5, 1, 0),)),
        ]
        assert marks_of(shaped("12.5 x", buffers)) == [
            WordMark(0, 4, reply_at(0), reply_at(22_050)),
            WordMark(5, 6, reply_at(22_050 + 4410), reply_at(2 * 22_050 + 4410)),
        ]

    def test_very_long_word_does_not_delay_audio(self) -> None:
        reply = EspeakChunkAudio("endless x", 1.0)
        first = list(reply.feed(TONE, (WordEvent(0, 7, 0),)))
        later = [chunk for _ in range(5) for chunk in reply.feed(TONE, ())]
        assert first == []
        assert later[0].marks == (WordMark(0, 7, reply_at(0), reply_at(4 * 22_050), estimated=True),)
        last = list(reply.feed(TONE, (WordEvent(8, 1, 0),))) + list(reply.finish(60))
        assert marks_of(last) == [WordMark(8, 9, reply_at(6 * 22_050), reply_at(7 * 22_050))]

    @settings(max_examples=150)
    @given(
        st.text(alphabet="ab, -\n😀", max_size=40).filter(pronounceable),
        st.lists(
            st.tuples(
                st.integers(0, 5000),
                st.booleans(),
                st.lists(st.tuples(st.integers(-1, 45), st.integers(0, 9), st.integers(0, 5000)), max_size=3),
            ),
            max_size=30,
        ),
    )
    @example("a a a", [(1, True, []), (1324, False, [(1, 0, 0), (3, 0, 1324)])])
    @example("a a a", [(1, True, []), (1, False, [(1, 0, 0), (3, 0, 1)])])
    def test_marks_are_in_order_for_any_events(
        self, text: str, buffers: list[tuple[int, bool, list[tuple[int, int, int]]]]
    ) -> None:
        heard: list[tuple[Pcm, tuple[WordEvent, ...]]] = []
        for size, sounds, events in buffers:
            pcm = TONE[:size] if sounds else np.zeros(size, np.int16)
            inside = sorted((min(at, size), max(0, offset), length) for offset, length, at in events)
            heard.append((pcm, tuple(WordEvent(offset, length, at) for at, offset, length in inside)))
        chunks = shaped(text, heard)
        check_unit(text, chunks)
        assert all(chunk.pcm.size == CHUNK_SAMPLES for chunk in chunks[:-1])


class TestVoice:
    @text_cases("text", SENTENCES)
    def test_text_starts_with_speech_and_ends_with_pause(self, text: str) -> None:
        chunks = speak(text)
        sound = sound_of(chunks)
        check_unit(text, chunks)
        assert audible_onset(sound, REPLY_RATE_HZ) == 0
        after = sound.size - int(np.flatnonzero(np.abs(sound) > 32)[-1])
        assert reply_samples_of_ms(SENTENCE_PAUSE_MS - 10) < after < reply_samples_of_ms(SENTENCE_PAUSE_MS + 10)

    def test_most_words_have_positions_from_library(self) -> None:
        marks = [mark for text in SENTENCES for mark in marks_of(speak(text))]
        assert sum(mark.estimated for mark in marks) < len(marks) / 4

    def test_clause_has_shorter_pause(self) -> None:
        sound = sound_of(speak("Well,"))
        after = sound.size - int(np.flatnonzero(np.abs(sound) > 32)[-1])
        assert reply_samples_of_ms(CLAUSE_PAUSE_MS - 10) < after < reply_samples_of_ms(CLAUSE_PAUSE_MS + 10)

    @pytest.mark.parametrize(
        ("language", "voice"),
        [("en", None), ("en", "en-us+f3"), ("de", None), ("fr", None)],
        ids=["English", "English variant", "German", "French"],
    )
    def test_all_voices_are_equally_loud(self, language: str, voice: str | None) -> None:
        for text in SENTENCES[:8]:
            sound = sound_of(speak(text, language, voice))
            level = -20 - 20 * np.log10(gain_for(-20, sound))
            assert level == pytest.approx(-20, abs=2.5)
            assert np.abs(sound.astype(int)).max() <= 32767 * 10 ** (-1 / 20) + 1

    def test_word_marks_match_audio(self) -> None:
        text = "Wait, stop, go."
        chunks = speak(text)
        sound = sound_of(chunks).astype(int)
        for one, two in pairwise(marks_of(chunks)):
            assert two.start - one.end > reply_samples_of_ms(50)  # the pause after a comma
            assert np.abs(sound[one.end + 200 : two.start - 200]).max() <= 32
            assert np.abs(sound[two.start : two.start + 2400]).max() > 1000

    @pytest.mark.parametrize(
        "text",
        [
            "naïve café, 日本 ok? 😀 It costs £12.50 — that's 1,234,567 e.g. and/or U.S.A.",
            "of the in the it is",
            "wait -- what - now",
            "שלום עולם, hello",
            "a\u202eb\u200dc \ufeff d",
            "[[hE'loU]] <b>bold</b> &amp; <speak>x</speak> {{x}} \\o/",
            "end\x00less \x01 9p \ud83d x",
        ],
        ids=[
            "mixed symbols",
            "function words",
            "double dashes",
            "Hebrew",
            "invisible characters",
            "markup",
            "control characters and surrogate",
        ],
    )
    def test_difficult_text_is_spoken(self, text: str) -> None:
        chunks = speak(text)
        assert chunks
        check_unit(text, chunks)

    @text_cases("text", ["", " \n\t", "...", "?!", "\x00", "—"])
    def test_text_without_sound_gives_no_chunk(self, text: str) -> None:
        assert speak(text) == []

    def test_markup_and_phonemes_are_read_as_text(self) -> None:
        # As markup, both would hide what is inside them.
        assert sound_of(speak("<break time='5s'/>")).size > REPLY_RATE_HZ
        assert sound_of(speak("<audio src='x'/>")).size > REPLY_RATE_HZ / 2
        assert sound_of(speak("[[h@l'oU]]")).size > REPLY_RATE_HZ

    @settings(max_examples=60)
    @given(st.text(max_size=40))
    def test_any_text_is_accepted(self, text: str) -> None:
        check_unit(text, speak(text))

    @pytest.mark.slow
    def test_long_text_is_synthesized_in_pieces(self) -> None:
        text = "The lamp is on and the door is shut, I think. " * 217

        async def watched() -> tuple[list[Chunk], int]:
            voice = await loaded()
            chunks, most = [], 0
            async with aclosing(voice.speak(text)) as sound:
                async for chunk in sound:
                    chunks.append(chunk)
                    most = max(most, *(call.stream.waiting() for call in voice._calls), 0)
            return chunks, most

        chunks, most = asyncio.run(watched())
        check_unit(text, chunks)
        assert sound_of(chunks).size > 500 * REPLY_RATE_HZ
        assert most < 150  # 160 ms each: one piece of 200 characters, not ten minutes

    def test_closing_one_text_does_not_affect_the_next(self) -> None:
        async def interrupted() -> tuple[list[Chunk], list[Chunk]]:
            voice = await loaded()
            whole = await said(voice, SENTENCES[0])
            for _ in range(20):
                async with aclosing(voice.speak(SENTENCES[3] * 4)) as chunks:
                    await anext(chunks)
            assert not voice._calls
            return whole, await said(voice, SENTENCES[0])

        before, after = asyncio.run(interrupted())
        check_unit(SENTENCES[0], after)
        assert sound_of(after).size == pytest.approx(sound_of(before).size, abs=480)

    def test_concurrent_voices_do_not_mix(self) -> None:
        async def both() -> tuple[list[Chunk], ...]:
            english, german = await loaded("en"), await loaded("de")
            alone = await said(english, SENTENCES[0]), await said(german, SENTENCES[0])
            together = await asyncio.gather(said(english, SENTENCES[0]), said(german, SENTENCES[0]))
            return *alone, *together

        units = asyncio.run(both())
        sizes = [sound_of(unit).size for unit in units]
        assert sizes[0] == pytest.approx(sizes[2], abs=ITS_OWN)
        assert sizes[1] == pytest.approx(sizes[3], abs=ITS_OWN)
        assert abs(sizes[0] - sizes[1]) > 10 * ITS_OWN

    def test_loop_ending_during_synthesis_does_not_affect_later_texts(self) -> None:
        async def abandoned() -> None:
            voice = await loaded()
            async with aclosing(voice.speak("one two three. " * 12)) as chunks:
                await anext(chunks)
                raise LookupError

        with pytest.raises(LookupError):
            asyncio.run(abandoned())
        check_unit(SENTENCES[0], speak(SENTENCES[0]))

    def test_closing_voice_fails_running_synthesis(self) -> None:
        async def closed() -> None:
            voice = await loaded()
            async with aclosing(voice.speak(SENTENCES[0] * 20)) as chunks:
                await anext(chunks)
                await voice.aclose()
                await voice.aclose()
                with pytest.raises(TtsError, match="closed"):
                    _rest = [chunk async for chunk in chunks]
            with pytest.raises(TtsError, match="not loaded"):
                await said(voice, "Hello.")
            await voice.load()
            assert await said(voice, "Hello.")

        asyncio.run(closed())

    def test_implements_voice_protocol(self) -> None:
        voice: Voice = asyncio.run(loaded("en-us"))
        assert voice.name == "espeak-ng"
        assert voice.detail == "English (America), 170 words a minute"


def hang_worker() -> threading.Event:
    """Makes the worker hang in a call until the event is set."""
    released = threading.Event()

    def hang(_library: EspeakLibrary) -> None:
        released.wait(15)

    SHARED.worker().submit(hang)
    return released


class QueueFiller:
    """Fills the worker's queue."""

    def __init__(self) -> None:
        self._done = threading.Semaphore(0)
        self._taken = 0

    def enter(self) -> None:
        for _ in range(100):
            SHARED.worker().submit(lambda _: self._done.release())
            self._taken += 1

    def wait_until_gone(self) -> None:
        assert all(self._done.acquire(timeout=30) for _ in range(self._taken))


class StoringListener:
    """A listener that stores all audio."""

    def __init__(self) -> None:
        self.pcm: Pcm = np.zeros(0, np.int16)

    def __call__(self, pcm: Pcm, _events: tuple[WordEvent, ...]) -> bool:
        self.pcm = np.concatenate((self.pcm, pcm))
        return True


class LimitedListener:
    """A listener that stores buffer lengths and can stop after the first."""

    def __init__(self, *, more: bool) -> None:
        self.sizes: list[int] = []
        self._more = more

    def __call__(self, pcm: Pcm, _events: tuple[WordEvent, ...]) -> bool:
        self.sizes.append(pcm.size)
        return self._more


class TestHang:
    def test_hanging_library_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hang_detection, "BLOCKED_S", 0.8)

        async def hung() -> None:
            voice, other = EspeakVoice(), await loaded()
            await voice.load()
            worker = SHARED.worker()
            released = hang_worker()
            with pytest.raises(TtsError, match=r"espeak-ng hung .*: load the voice again"):
                await said(voice, "Hello there.")
            for either in (voice, other):
                with pytest.raises(TtsError, match="load it again"):
                    await said(either, "Hello there.")
                await either.load()
                check_unit("Hello there.", await said(either, "Hello there."))
            assert SHARED.worker() is not worker
            released.set()

        asyncio.run(hung())

    def test_blocked_loop_is_not_a_hang(self) -> None:
        async def stalled() -> None:
            voice = EspeakVoice()
            await voice.load()
            asyncio.get_running_loop().call_soon(time.sleep, 1.3)
            check_unit("Hello there.", await said(voice, "Hello there."))
            assert not SHARED.worker().gave_up

        asyncio.run(stalled())

    def test_full_worker_queue_is_reported(self) -> None:
        async def crowded() -> None:
            voice = await loaded()
            released = hang_worker()
            crowd = QueueFiller()
            with pytest.raises(TtsError, match="chunks waiting"):
                crowd.enter()
            with pytest.raises(TtsError, match="chunks waiting"):
                await said(voice, "Hello.")
            released.set()
            crowd.wait_until_gone()
            assert await said(voice, "Hello.")

        asyncio.run(crowded())


class TestLibrary:
    def test_synthesis_stops_when_callback_returns_false(self) -> None:
        library = EspeakLibrary(private_copy=True)
        manner = SpeakingStyle("gmw/en", 170, 50)
        impatient, patient = LimitedListener(more=False), LimitedListener(more=True)
        library.synthesize(" ".join(SENTENCES), manner, impatient)
        assert len(impatient.sizes) == 1
        library.synthesize("Yes.", manner, patient)
        assert 3 < len(patient.sizes) < 8

    def test_callback_exception_is_raised(self) -> None:
        library = EspeakLibrary(private_copy=True)

        def broken(_pcm: Pcm, _events: tuple[WordEvent, ...]) -> bool:
            raise LookupError

        with pytest.raises(LookupError):
            library.synthesize("Yes.", SpeakingStyle("gmw/en", 170, 50), broken)

    def test_unknown_voice_is_reported(self) -> None:
        library = EspeakLibrary(private_copy=True)
        with pytest.raises(TtsError, match=r"tts\.voice"):
            library.synthesize("Yes.", SpeakingStyle("nowhere/xx", 170, 50), LimitedListener(more=True))

    def test_higher_speed_gives_shorter_audio(self) -> None:
        library = EspeakLibrary(private_copy=True)
        sizes = []
        for words_per_minute in (120, 170, 300):
            ear = LimitedListener(more=True)
            library.synthesize(SENTENCES[0], SpeakingStyle("gmw/en", words_per_minute, 50), ear)
            sizes.append(sum(ear.sizes))
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] > 1.8 * sizes[2]

    def test_missing_package_names_remedy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "espeakng_loader", None)
        with pytest.raises(EngineLoadError, match="espeakng-loader"):
            EspeakLibrary()

    @pytest.mark.parametrize("function", ["get_data_path", "get_library_path"])
    def test_missing_files_name_remedy(self, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
        monkeypatch.setattr(espeakng_loader, function, lambda: "/nowhere")
        with pytest.raises(EngineLoadError, match=r"nowhere.*espeakng-loader"):
            EspeakLibrary()

    def test_unloadable_library_names_remedy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(espeakng_loader, "get_library_path", lambda: __file__)
        with pytest.raises(EngineLoadError, match=r"cannot be loaded.*espeakng-loader"):
            EspeakLibrary()


class TestChoice:
    @pytest.mark.parametrize(
        ("language", "voice", "detail"),
        [
            ("en", None, "English (Great Britain)"),
            ("EN_us", None, "English (America)"),
            ("pt-BR", None, "Portuguese (Brazil)"),
            ("de-AT", None, "German (no voice of its own for de-AT)"),
            ("en", "en-us", "English (America)"),
            ("en", "English (Scotland)+f3", "English (Scotland)+f3"),
            ("en-gb", "gmw/en-US", "English (America)"),
        ],
        ids=[
            "language",
            "language with region",
            "Portuguese of Brazil",
            "unknown region",
            "voice",
            "voice with variant",
            "path of a voice",
        ],
    )
    def test_voice_is_found(self, language: str, voice: str | None, detail: str) -> None:
        assert asyncio.run(loaded(language, voice)).detail == f"{detail}, 170 words a minute"

    @pytest.mark.parametrize(
        ("language", "voice", "text"),
        [
            ("en", "en-sctland", r'no voice "en-sctland": set tts\.voice .* en-GB-scotland'),
            ("en", "", r'no voice "": set tts\.voice'),
            ("en", "f3", r'no voice "f3"'),
            ("en", "en+anounce", r'variant "anounce".*tts\.voice.*announcer'),
            ("en", "de", r'"de" speaks de, but the language is "en": change tts\.voice'),
            ("xx", None, r'language "xx": set tts\.voice'),
            ("", None, r'language "": set tts\.voice'),
        ],
        ids=[
            "misspelled voice",
            "empty voice",
            "variant only",
            "misspelled variant",
            "voice of another language",
            "unknown language",
            "empty language",
        ],
    )
    def test_missing_voice_is_reported(self, language: str, voice: str | None, text: str) -> None:
        with pytest.raises(EngineLoadError, match=text):
            asyncio.run(loaded(language, voice))

    def test_numbers_out_of_range_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"tts\.words_per_minute is 20: .* 80 to 450"):
            EspeakVoice(words_per_minute=20)
        with pytest.raises(ValueError, match=r"tts\.pitch"):
            EspeakVoice(pitch=100)
        with pytest.raises(ValueError, match=r"tts\.target_dbfs"):
            EspeakVoice(target_dbfs=1)


@pytest.mark.slow
def test_works_beside_espeak_ng_of_piper() -> None:
    phonemize_espeak = pytest.importorskip("piper.phonemize_espeak")
    before = sound_of(speak(SENTENCES[0])).size
    phonemizer = phonemize_espeak.EspeakPhonemizer()
    alone = phonemizer.phonemize("de", "Guten Tag")

    async def both() -> tuple[int, object]:
        voice = await loaded()
        chunks, phonemes = await asyncio.gather(
            said(voice, SENTENCES[0]), asyncio.to_thread(phonemizer.phonemize, "de", "Guten Tag")
        )
        return sound_of(chunks).size, phonemes

    for _ in range(10):
        size, phonemes = asyncio.run(both())
        assert size == pytest.approx(before, abs=480)
        assert phonemes == alone


async def first_and_whole_ms(voice: EspeakVoice, text: str) -> tuple[float, float]:
    """Returns the time from the call to the first chunk and to the last one."""
    begin, first = time.perf_counter(), None
    async with aclosing(voice.speak(text)) as chunks:
        async for _ in chunks:
            first = first or time.perf_counter()
    assert first is not None
    return (first - begin) * 1000, (time.perf_counter() - begin) * 1000


async def stop_ms(voice: EspeakVoice, text: str) -> float:
    """Returns the time from closing after the first chunk until the worker is free."""
    loop, free = asyncio.get_running_loop(), asyncio.Event()
    async with aclosing(voice.speak(text)) as chunks:
        await anext(chunks)
        begin = time.perf_counter()

    def tell(_library: EspeakLibrary) -> None:
        loop.call_soon_threadsafe(free.set)

    SHARED.worker().submit(tell)
    await asyncio.wait_for(free.wait(), 5)
    return (time.perf_counter() - begin) * 1000


async def lateness_ms(seconds: float) -> list[float]:
    """Returns the delays of a task that runs every 2 ms."""
    late = []
    end = time.perf_counter() + seconds
    while (now := time.perf_counter()) < end:
        await asyncio.sleep(0.002)
        late.append((time.perf_counter() - now) * 1000 - 2)
    return late


@pytest.fixture
def _short_switches() -> Iterator[None]:
    """Sets the switch interval as the program does at its start."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    yield
    sys.setswitchinterval(before)


def show(name: str, values: list[float], unit: str) -> None:
    low, middle, high, highest = np.percentile(values, [5, 50, 95, 99])
    sys.stdout.write(f"\n{name}: p5 {low:.2f}  p50 {middle:.2f}  p95 {high:.2f}  p99 {highest:.2f} {unit}")


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.real_time
@pytest.mark.usefixtures("_short_switches")
class TestFigures:
    """The figures of docs/lab/tts.md, shown by `pytest -s -k Figures`. Limits: design values plus a margin."""

    def test_latency_figures(self) -> None:
        async def measured() -> tuple[list[tuple[float, float]], list[float], float]:
            voice = await loaded("en-us")
            speech_ms = sound_of(await said(voice, " ".join(SENTENCES))).size * 1000 / REPLY_RATE_HZ
            units = []
            for text in SENTENCES * 10:
                units.append(await first_and_whole_ms(voice, text))
                await asyncio.sleep(0.002)
            stops = [await stop_ms(voice, "The lamp is on and the door is shut, I think, " * 4) for _ in range(100)]
            return units, stops, speech_ms * 10

        units, stops, speech_ms = asyncio.run(measured())
        firsts, wholes = [first for first, _ in units], [whole for _, whole in units]
        show("first chunk", firsts, "ms")
        show("whole unit", wholes, "ms")
        show("close to worker free", stops, "ms")
        sys.stdout.write(f"\nreal-time factor: 1/{speech_ms / sum(wholes):.0f}\n")
        assert np.median(firsts) < 5
        assert np.median(stops) < 20

    def test_loop_delay_during_synthesis(self) -> None:
        async def measured() -> tuple[list[float], list[float]]:
            voice = await loaded("en-us")
            idle = await lateness_ms(1.5)
            async with asyncio.TaskGroup() as tasks:
                speaking = tasks.create_task(endless(voice))
                busy = await lateness_ms(3)
                speaking.cancel()
            return idle, busy

        async def endless(voice: EspeakVoice) -> None:
            while True:
                for text in SENTENCES:
                    await said(voice, text)
                    await asyncio.sleep(0.005)

        idle, busy = asyncio.run(measured())
        show("lag of the loop, idle", idle, "ms")
        show("lag of the loop, speaking without a pause", busy, "ms")
        assert np.median(busy) < 5

    def test_silence_and_loudness_figures(self) -> None:
        library, manner = EspeakLibrary(private_copy=True), SpeakingStyle("gmw/en-US", 170, 50)
        before = []
        for text in SENTENCES:
            ear = StoringListener()
            library.synthesize(text, manner, ear)
            before.append(int(np.flatnonzero(np.abs(ear.pcm) > 16)[0]) * 1000 / ESPEAK_RATE_HZ)
        sounds = [sound_of(speak(text, "en-us")) for text in SENTENCES]
        after = [int(np.flatnonzero(np.abs(sound) > 16)[0]) * 1000 / REPLY_RATE_HZ for sound in sounds]
        levels = [-20 - 20 * np.log10(gain_for(-20, sound)) for sound in sounds]
        show("leading silence, library", before, "ms")
        show("leading silence, voice", after, "ms")
        show("level of speech", levels, "dBFS")
        sys.stdout.write(f"\nhighest peak: {max(20 * np.log10(np.abs(s).max() / 32768) for s in sounds):.1f} dBFS\n")
        assert max(after) < 1
        assert np.ptp(levels) < 4
