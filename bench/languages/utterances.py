"""Utterances of known language: synthesized sentences and short answers, and recorded English speech.

The thresholds were chosen on the set "fit". They are judged on the sets "judge" (commands and questions to
the skills) and "everyday" (sentences to anybody): other sentences by other voices.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
import soundfile
import soxr

from assistant.models.catalogue import MODELS
from assistant.models.needs import installed
from assistant.text.normalization.reading import spoken
from audio.tts import Voice
from audio.tts.espeak.voice import EspeakVoice
from audio.tts.hibari.voice import HibariTts
from audio.tts.pico.voice import PicoTts
from audio.tts.piper.voice import PiperTts
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm

Use = Literal["fit", "judge", "everyday"]
Kind = Literal["sentence", "short", "name", "recorded"]

LANGUAGES = ("en", "de", "fr", "es")

SENTENCES = Path(__file__).parents[2] / "tests" / "support" / "texts" / "sentences.txt"

EVERYDAY = Path(__file__).with_name("everyday.txt")
"""Sentences of the set "everyday", which no test and no fit has seen."""

MIN_WORDS = 4
"""Words of a sentence. Shorter ones of the file are asked as short utterances."""

SHORT: dict[str, str] = {
    "en": "yes|no|okay|right|seven|twenty three|nineteen eighty four|stop|thanks|half past four|no thanks|at nine",
    "de": "ja|nein|okay|genau|sieben|dreiundzwanzig|neunzehnhundertvierundachtzig|stopp|danke|halb fünf|nein danke",
    "fr": "oui|non|d'accord|voilà|sept|vingt-trois|mille neuf cent quatre-vingt-quatre|merci|non merci|à neuf heures",
    "es": "sí|no|vale|claro|siete|veintitrés|mil novecientos ochenta y cuatro|para|gracias|no gracias|a las nueve",
}
"""Answers that must never switch the language."""

NAMES = "Anna|Hans Müller|Pierre Dubois|María García|Sean O'Brien|Carlos|Berlin|Marseille|Buenos Aires|Wolfgang"
"""Names, said in each language."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance.

    Attributes:
        id: Unique in its set.
        language: Code of its language.
        kind: Its kind.
        voice: The voice or the speaker.
        text: Its words.
    """

    id: str
    language: str
    kind: Kind
    voice: str
    text: str


def utterances(use: Use, count: int) -> list[Utterance]:
    """Returns the synthesized utterances of a set: `count` sentences of each language, and all short ones."""
    found: list[Utterance] = []
    for language in LANGUAGES:
        voices = _VOICES[use][language]
        sentences = _sentences(language, EVERYDAY if use == "everyday" else SENTENCES)
        sentences = [text for text in sentences if use == "everyday" or _is_for(text, use)]
        Random(1).shuffle(sentences)
        shorts = [(text, "short") for text in SHORT[language].split("|")] + [
            (text, "name") for text in NAMES.split("|")
        ]
        texts: list[tuple[str, Kind]] = [(text, "sentence") for text in sentences[:count]]
        texts += [(text, kind) for text, kind in shorts]  # type: ignore[misc]
        for number, (text, kind) in enumerate(texts):
            voice = voices[number % len(voices)]
            found.append(Utterance(f"{language}-{number}", language, kind, voice, text))
    return found


def _sentences(language: str, path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in lines if line.startswith(f"{language} |")]
    texts = dict.fromkeys(row[1].strip() for row in rows if len(row) > 1)
    return [text for text in texts if len(text.split()) >= MIN_WORDS and text.isprintable()]


def _is_for(text: str, use: Use) -> bool:
    return (hashlib.sha256(text.lower().encode()).digest()[0] % 2 == 0) == (use == "fit")


_VOICES: dict[Use, dict[str, tuple[str, ...]]] = {
    "fit": {
        "en": ("pico:en-US:1", "espeak:en-us:170"),
        "de": ("pico:de-DE:1", "espeak:de:170"),
        "fr": ("pico:fr-FR:1", "espeak:fr-fr:170"),
        "es": ("pico:es-ES:1", "espeak:es:170"),
    },
    "judge": {
        "en": ("pico:en-GB:1.1", "hibari:1", "piper:en_US-joe-medium", "espeak:en-gb+f3:150"),
        "de": ("pico:de-DE:0.85", "pico:de-DE:1.2", "espeak:de+f3:150"),
        "fr": ("pico:fr-FR:0.85", "pico:fr-FR:1.2", "espeak:fr-fr+f3:150"),
        "es": ("pico:es-ES:0.85", "pico:es-ES:1.2", "espeak:es-419+f3:150"),
    },
    "everyday": {
        "en": ("pico:en-GB:0.9", "hibari:1.15", "piper:en_US-joe-medium", "espeak:en-us+m3:160"),
        "de": ("pico:de-DE:0.9", "pico:de-DE:1.05", "pico:de-DE:1.15", "espeak:de+m3:160"),
        "fr": ("pico:fr-FR:0.9", "pico:fr-FR:1.05", "pico:fr-FR:1.15", "espeak:fr-fr+m3:160"),
        "es": ("pico:es-ES:0.9", "pico:es-ES:1.05", "pico:es-ES:1.15", "espeak:es+m3:160"),
    },
}


def _voice(name: str, language: str) -> Voice:
    engine, _, rest = name.partition(":")
    voice, _, rate = rest.partition(":")
    match engine:
        case "pico":
            return PicoTts(language=language, voice=voice, speed=float(rate))
        case "espeak":
            return EspeakVoice(language=language, voice=voice, words_per_minute=int(rate))
        case "hibari":
            return HibariTts(speed=float(voice))
    path = installed(MODELS[voice])
    assert path is not None, f"{voice} is not installed"
    return PiperTts(path, language=language)


async def sounds(wanted: list[Utterance]) -> AsyncGenerator[tuple[Utterance, Pcm]]:
    """Yields each utterance with its sound, 16 kHz, with 0.3 s of silence before and 0.4 s after it."""
    for name, language in dict.fromkeys((one.voice, one.language) for one in wanted):
        voice = _voice(name, language)
        await voice.load()
        for one in wanted:
            if (one.voice, one.language) == (name, language):
                pieces: list[Pcm] = []
                async with aclosing(voice.speak(spoken(one.text, language))) as chunks:
                    pieces += [chunk.pcm async for chunk in chunks]
                if pieces:
                    yield one, _at_mic_rate(np.concatenate(pieces))
        await voice.aclose()


def _at_mic_rate(pcm: Pcm) -> Pcm:
    sound = soxr.resample(pcm.astype(np.float32), REPLY_RATE_HZ, MIC_RATE_HZ)
    return np.pad(sound, (round(0.3 * MIC_RATE_HZ), round(0.4 * MIC_RATE_HZ))).clip(-32768, 32767).astype(np.int16)


def recorded(folder: Path, use: str, count: int, skipped: int = 0) -> Iterator[tuple[Utterance, Pcm]]:
    """Yields recorded English turns of a folder with a manifest; `use`: of rows that have one, as "train".

    `skipped`: turns at the beginning that another set has.
    """
    rows = [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    fits = [row for row in rows if _is_english_turn(row) and row.get("use", use) == use]
    Random(2).shuffle(fits)
    for row in fits[skipped : skipped + count]:
        pcm, rate = soundfile.read(folder / row["file"], dtype="int16")
        assert rate == MIC_RATE_HZ
        start, end = row["speech_start_s"] - 0.3, row["speech_end_s"] + 0.4
        piece = pcm[max(0, round(start * rate)) : round(min(end, start + 28.0) * rate)]
        yield Utterance(row["id"], "en", "recorded", str(row.get("speaker", "")), row.get("transcript") or ""), piece


def _is_english_turn(row: dict[str, object]) -> bool:
    kind = str(row.get("kind") or "")
    several = {"meeting", "conversation", "meeting, mixed", "dialog, both speakers mixed", "echo and double talk"}
    return row.get("language", "en") in {"en", None} and kind not in several and row.get("speech_end_s") is not None


def run_all(wanted: list[Utterance]) -> list[tuple[Utterance, Pcm]]:
    """Returns all utterances with their sounds."""

    async def collect() -> list[tuple[Utterance, Pcm]]:
        return [pair async for pair in sounds(wanted)]

    return asyncio.run(collect())
