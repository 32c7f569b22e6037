"""The Pico voice: its text, its process, and the real library (10 ms a sentence)."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import aclosing
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engines.hangs import hangs_found_soon
from support.sound.speech import said, sound_of
from support.texts.text_cases import text_cases

from audio.errors import EngineLoadError, TtsError
from audio.level import audible_onset, rms_dbfs
from audio.tts import Chunk
from audio.tts.pico.engine import ENGINE
from audio.tts.pico.process import COMMAND, PicoEndedError, PicoProcess
from audio.tts.pico.voice import MAX_WORD_CHARS, PicoTts, spoken_text
from audio.tts.text_pieces import PIECE_CHARS, words
from audio.units import REPLY_RATE_HZ, reply_samples_of_ms

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="py-nanotts has no wheel for macOS")

SENTENCES = {
    "de": "Der Zug nach München fährt heute um halb neun.",
    "en": "The train to Boston leaves at half past eight today.",
    "en-GB": "The train to London leaves at half past eight today.",
    "es": "El tren a Sevilla sale hoy a las ocho y media.",
    "fr": "Le train pour Orléans part aujourd'hui à huit heures et demie.",
    "it": "Il treno per Perugia parte oggi alle otto e mezza.",
}


async def loaded(language: str = "de", speed: float = 1.0) -> PicoTts:
    name = ENGINE.voice_for(language, "").name.removeprefix("pico-")
    voice = PicoTts(language=language, voice=name, speed=speed)
    await voice.load()
    return voice


def speak(*texts: str, language: str = "de") -> list[list[Chunk]]:
    async def all_texts() -> list[list[Chunk]]:
        voice = await loaded(language)
        try:
            return [await said(voice, text) for text in texts]
        finally:
            await voice.aclose()

    return asyncio.run(all_texts())


def process_of(voice: PicoTts) -> PicoProcess:
    thread = voice._thread
    assert thread is not None
    return thread._engine


def is_running(pid: int) -> bool:
    """Returns whether a process runs; a zombie does."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone_within(pid: int, limit_s: float) -> bool:
    until_s = time.monotonic() + limit_s
    while is_running(pid) and time.monotonic() < until_s:
        time.sleep(0.02)
    return not is_running(pid)


class TestText:
    @pytest.mark.parametrize(
        ("text", "spoken"),
        [
            pytest.param('<speed level="20">langsam</speed>', 'speed level="20" langsam /speed', id="markup"),
            pytest.param("Ja... nein?! Gut …", "Ja. nein? Gut,", id="several punctuation marks"),
            pytest.param("so – oder so — nicht", "so, oder so, nicht", id="dashes"),
            pytest.param("1.234,56 und 3:20, ja", "1.234,56 und 3:20, ja", id="numbers"),
            pytest.param("l'eau d’or ' ’", "l'eau d’or", id="apostrophes"),
            pytest.param("snake_case | * ~ ^ \\ [x] {y}", "snake case x y", id="signs"),
            pytest.param("x" * 90, f"{'x' * 40} {'x' * 40} {'x' * 10}", id="long word"),
        ],
    )
    def test_text_is_prepared(self, text: str, spoken: str) -> None:
        assert spoken_text(text).split() == spoken.split()

    @given(st.text(max_size=PIECE_CHARS))
    def test_nothing_that_pico_fails_at_remains(self, text: str) -> None:
        prepared = spoken_text(text)
        assert "<" not in prepared
        assert max(map(len, prepared.split()), default=0) <= MAX_WORD_CHARS
        assert not re.search(r"[.,;:!?]{2}(?!\d)", prepared)


class TestSpeech:
    @pytest.mark.parametrize("language", SENTENCES)
    def test_every_language_is_spoken(self, language: str) -> None:
        text = SENTENCES[language]
        (chunks,) = speak(text, language=language)
        pcm, marks = sound_of(chunks), [mark for chunk in chunks for mark in chunk.marks]
        assert 2 < pcm.size / REPLY_RATE_HZ < 5
        assert all(chunk.pcm.size <= reply_samples_of_ms(200) for chunk in chunks)
        onset = audible_onset(pcm, REPLY_RATE_HZ)
        assert onset is not None
        assert onset <= reply_samples_of_ms(30)
        assert rms_dbfs(pcm) == pytest.approx(-20, abs=3)
        assert [(mark.text_start, mark.text_end) for mark in marks] == list(words(text))
        assert all(mark.estimated and mark.start < mark.end <= pcm.size for mark in marks)
        assert all(one.end <= two.start for one, two in pairwise(marks))

    async def test_speed_shortens_the_sound(self) -> None:
        usual, fast = await loaded(), await loaded(speed=2.0)
        whole, *others = [sound_of(await said(usual, SENTENCES["de"], factor)).size for factor in (1.0, 2.0, 0.5)]
        assert others == pytest.approx([whole / 2, whole * 2], rel=0.15)
        assert sound_of(await said(fast, SENTENCES["de"])).size == others[0]
        await usual.aclose()
        await fast.aclose()

    def test_text_without_sound_gives_no_chunk(self) -> None:
        texts = ("", " \n\t", "...", "😀🎉", "日本語", "\x00\x01\x1b", "\u200b", "<>", "\ud800", "\ue000", "\ufffd")
        assert speak(*texts) == [[]] * len(texts)

    def test_difficult_texts_are_spoken(self) -> None:
        texts = ("ß" * 300, "é" * 300, "7" * 90, "</speed>a\x00b😀c", "a" * 1000, "' l'l'l " * 30, "..a.. " * 40)
        assert all(speak(*texts))

    @settings(max_examples=8, deadline=None)
    @given(st.lists(st.text(max_size=PIECE_CHARS), min_size=5, max_size=5))
    def test_any_text_is_accepted(self, texts: list[str]) -> None:
        for text, chunks in zip(texts, speak(*texts, language="fr"), strict=True):
            assert sum(chunk.pcm.size for chunk in chunks) < REPLY_RATE_HZ * max(1, len(text)), "a second a character"

    async def test_long_text_begins_before_its_end_is_made(self) -> None:
        voice = await loaded()
        asked: list[str] = []
        make = process_of(voice).sound
        process_of(voice).sound = lambda text, speed=1.0: asked.append(text) or make(text, speed)  # type: ignore[method-assign, func-returns-value]
        async with aclosing(voice.speak(f"{SENTENCES['de']} " * 20)) as chunks:
            await anext(chunks)
        assert len(asked) == 1
        assert len(asked[0]) <= PIECE_CHARS
        await voice.aclose()


class TestProcess:
    async def test_dead_process_is_replaced(self) -> None:
        voice = await loaded()
        before = process_of(voice).pid
        os.kill(before, signal.SIGKILL)
        with pytest.raises(TtsError, match="Pico failed"):
            await said(voice, "Hallo.")
        await voice.load()
        assert process_of(voice).pid != before
        assert await said(voice, "Hallo.")
        os.kill(process_of(voice).pid, signal.SIGKILL)
        with pytest.raises(TtsError):
            await said(voice, "Hallo.")
        with pytest.raises(EngineLoadError, match="again and again"):
            await voice.load()
        await voice.aclose()
        assert not is_running(before)

    async def test_hanging_process_is_replaced(self) -> None:
        voice = await loaded()
        before = process_of(voice).pid
        os.kill(before, signal.SIGSTOP)
        with hangs_found_soon(), pytest.raises(TtsError, match="hung"):
            await said(voice, "Hallo.")
        await voice.load()
        assert not is_running(before)
        assert await said(voice, "Hallo.")
        await voice.aclose()

    @pytest.mark.skipif(sys.platform == "win32", reason="no processor timer")
    def test_text_that_computes_without_end_ends_the_process(self) -> None:
        process = PicoProcess("de-DE", 1.0, (*COMMAND[:-1], "0.2"))
        with pytest.raises(PicoEndedError):
            process.sound("ß" * 200)
        process.close()
        assert not is_running(process.pid)

    async def test_closed_voice_leaves_no_process(self) -> None:
        voice = await loaded()
        await said(voice, "Hallo.")
        pid = process_of(voice).pid
        await voice.aclose()
        with pytest.raises(TtsError, match="not loaded"):
            await said(voice, "Hallo.")
        assert gone_within(pid, 5)

    def test_process_ends_with_its_parent(self) -> None:
        program = (
            "import os; from audio.tts.pico.process import PicoProcess; "
            "print(PicoProcess('de-DE', 1.0).pid, flush=True); os.kill(os.getpid(), 9)"
        )
        answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert gone_within(int(answer.stdout), 5)

    def test_missing_package_names_remedy(self) -> None:
        with pytest.raises(EngineLoadError, match=r"py-nanotts.*tts\.engine"):
            PicoProcess("de-DE", 1.0, (sys.executable, "-c", "import no_such_package"))


def test_voice_of_language_is_found() -> None:
    languages = ("de", "de-AT", "en", "en-GB", "en-US", "fr")
    names = ["pico-de-DE", "pico-de-DE", "pico-en-US", "pico-en-GB", "pico-en-US", "pico-fr-FR"]
    assert [ENGINE.voice_for(language, "").name for language in languages] == names
    assert ENGINE.voice_for("en-US", "pico-en-GB").name == "pico-en-GB"
    assert len(ENGINE.voices) == len(SENTENCES)


@text_cases(
    ("language", "voice", "said"),
    [
        ("nl", "", r'does not speak "nl".*tts\.engine'),
        ("de", "heart", r'has no voice "heart", only pico-de-DE.*tts\.voice'),
        ("en-US", "pico-de-DE", r'speaks de, but the language is "en-US": change tts\.voice'),
    ],
)
def test_voice_of_another_language_is_refused(language: str, voice: str, said: str) -> None:
    with pytest.raises(EngineLoadError, match=said):
        ENGINE.voice_for(language, voice)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"tts\.speed"):
        PicoTts(language="de", voice="de-DE", speed=3)
    with pytest.raises(ValueError, match=r"tts\.target_dbfs"):
        PicoTts(language="de", voice="de-DE", target_dbfs=1)
