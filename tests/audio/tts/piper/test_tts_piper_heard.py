"""The history has exactly the words that were heard: speech of a real voice, cut and recognized back."""

import asyncio
import re
from contextlib import aclosing

import numpy as np
import onnxruntime
import pytest
import soxr
from support.models.installed_model import JOE_FILE, TINY_EN_FOLDER

from assistant.history.cut_to_heard import SpokenTranscript
from assistant.text.normalization.alignment import align
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.tts import Chunk
from audio.tts.piper.voice import PiperTts
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, ReplySamples

SENTENCES = (
    "The train to the coast leaves at half past four from the second platform.",
    "My grandmother planted those apple trees before the house was built.",
)

CUTS = 4
"""Cuts of each sentence, evenly over its length."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(JOE_FILE is None, reason="en_US-joe-medium is not downloaded"),
    pytest.mark.weights,
    pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en is not downloaded"),
]


async def _spoken() -> list[list[Chunk]]:
    voice = PiperTts(JOE_FILE or "", threads=1)
    await voice.load()
    found = []
    for text in SENTENCES:
        async with aclosing(voice.speak(text)) as chunks:
            found.append([chunk async for chunk in chunks])
    await voice.aclose()
    return found


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def _heard(whisper: LoadedWhisper, pcm: Pcm, text: str) -> int:
    """Returns how many words of the text the recognizer hears in the audio."""
    at_rate = soxr.resample(pcm.astype(np.float32), REPLY_RATE_HZ, MIC_RATE_HZ).astype(np.int16)
    found = whisper.decode(np.concatenate((at_rate, np.zeros(MIC_RATE_HZ // 4, np.int16))), "en", retry=True)
    heard, written = _words(found.text if found is not None else ""), _words(text)
    return min(range(len(written) + 1), key=lambda count: _distance(heard, written[:count]))


def _distance(one: list[str], other: list[str]) -> int:
    row = list(range(len(other) + 1))
    for at, word in enumerate(one, 1):
        before, row[0] = row[0], at
        for index, its in enumerate(other, 1):
            before, row[index] = row[index], min(before + (word != its), row[index] + 1, row[index - 1] + 1)
    return row[-1]


def test_history_is_cut_within_one_word_of_what_was_heard() -> None:
    """A word that is cut in two is not kept, and the recognizer often completes it: most differences are -1."""
    onnxruntime.set_seed(1)  # of the voice's noise
    assert TINY_EN_FOLDER is not None
    whisper = LoadedWhisper(WhisperSettings(TINY_EN_FOLDER, device="cpu", cpu_threads=1))
    off = []
    for text, chunks in zip(SENTENCES, asyncio.run(_spoken()), strict=True):
        history = SpokenTranscript()
        history.begin_chunk(text, align(text, text).written)
        for chunk in chunks:
            history.add_audio(chunk.pcm.size, chunk.marks)
        pcm = np.concatenate([chunk.pcm for chunk in chunks])
        for number in range(1, CUTS + 1):
            cut = pcm.size * number // (CUTS + 1)
            kept = len(_words(history.text_heard(ReplySamples(cut))))
            off.append(kept - _heard(whisper, pcm[:cut], text))
    assert all(abs(words) <= 1 for words in off), off
