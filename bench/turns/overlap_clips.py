"""Reads and synthesizes the sounds that `bench.turns.overlaps` plays into a reply.

Recordings come from two folders with a manifest.jsonl: `--field` (calls, dictation, vocal bursts, each row with a `use`
of "train" or "judge") and `--speech` (speech and noise, only judged). The manifests' fields:
bench/conversations/recordings.py; a row of `--field` may also have `speech`, [[begin_s, end_s], …].

Backchannels and speech to others are synthesized, because labelled recordings are too few: espeak-ng voices for "train"
and a Piper voice for "judge", with other words. A hum ("mhm") is built from harmonics, because both voices spell it.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import soundfile
import soxr

from assistant.models.needs import installed
from audio.tts import Voice
from audio.tts.espeak.voice import EspeakVoice
from audio.tts.piper.catalogue import JOE
from audio.tts.piper.voice import PiperTts
from audio.units import FULL_SCALE, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, Samples, samples_of_s

Use = Literal["train", "judge"]
Wanted = Literal["stops", "continues"]

ROOM_S = 3.0
"""Room noise before each sound, in seconds: the reply is well under way."""

AFTER_S = 3.0
"""Room noise after each sound, in seconds: a stopped reply has resumed by then."""

LONGEST_S = 6.0
"""Length after which a sound is cut, in seconds."""

SPEEDS = (0.9, 1.0, 1.2)
LEVELS_DB = (-6.0, 0.0)
ESPEAK_VOICES = ("en-us+m3", "en-us+f2", "en-gb+m7", "en-us+f4")
HUM_PITCHES_HZ = {"train": (105.0, 190.0), "judge": (125.0, 215.0)}
SHORT_ANSWERS = "short answers in calls"
HUMS = ("mm", "mhm", "uh-huh", "mmmmhm", "mhm mhm", "mhm, mhm, mhm")

BACKCHANNELS: dict[Use, tuple[str, ...]] = {
    "train": (
        "Yeah.", "Right.", "Okay.", "Wow.", "Uh huh.", "I see.", "Got it.", "Sure.", "Oh.", "Oh, okay.", "Yeah, yeah.",
        "Right, right.", "Okay, okay.", "Cool.", "Yeah, I see.", "Oh, wow.", "Yeah, yeah, yeah, right.", "Yep, got it.",
    ),
    "judge": (
        "Yeah.", "Right.", "Okay.", "Wow.", "Uh huh.", "I see.", "Got it.", "Ah.", "Alright.", "Oh, I see.",
        "Okay, got it.", "Yeah, right.", "Great.", "Exactly.", "Wow, okay.", "Yeah, yeah, right.",
        "Right, right, right, okay.", "Okay, yeah, I see.", "Really?", "Nice.",
    ),
}  # fmt: skip
"""Backchannels that say nothing else. Half of each list are those of the issue that asked for this panel."""

TO_OTHERS: dict[Use, tuple[str, ...]] = {
    "train": (
        "Mom, I'm on the phone.", "No, not you, I'm talking to the computer.", "Be there in a second, honey.",
        "Dad, wait a minute, I'm talking to the assistant.", "I'll be right there, sweetie.", "Hang on, I'm on a call.",
        "Hey guys, keep it down please.", "Honey, can you close the door?", "Sorry, I'm talking to my computer.",
        "Just a minute, mom.",
    ),
    "judge": (
        "Mommy, I'm on the phone right now.", "I wasn't talking to you, I was talking to the machine.",
        "I'm coming, honey, one second.", "Kids, be quiet, I'm on the phone.",
        "No, I'm talking to the computer, not you.",
        "Be right there, dad.", "In a minute, sweetheart.", "Darling, I'm talking to the assistant.",
        "One second, guys, I'm on a call.", "Mom, I'll be down in five minutes.",
    ),
}  # fmt: skip
"""Sentences to somebody else in the room. The words alone show it."""


@dataclass(frozen=True, slots=True)
class Sound:
    """A sound to be played into a reply.

    Attributes:
        group: The row of the table.
        name: Identifies it in lists.
        expected: What the reply should do.
        pcm: The sound with room noise before and after it, int16, shape (n,), at MIC_RATE_HZ.
        onset: Where the sound begins.
        end: Where it ends.
        speaker: The speaker, or the text if it is synthesized.
    """

    group: str
    name: str
    expected: Wanted
    pcm: Pcm
    onset: Samples
    end: Samples
    speaker: str


def read_sounds(field: Path | None, speech: Path | None, use: Use) -> list[Sound]:
    """Returns all sounds of a use. `speech` is only used to judge."""
    sounds = list(_spoken(field, use)) if field is not None else []
    if speech is not None and use == "judge":
        sounds += [*read_speech(speech), *read_noise(speech)]
    return [*sounds, *asyncio.run(_synthesized(use)), *_knocks(use)]


# ---- recordings ----


def _rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]


def _read(folder: Path, row: dict[str, Any]) -> Pcm:
    pcm, _ = soundfile.read(folder / row["file"], dtype="int16")
    return np.asarray(pcm, np.int16)


def _spoken(folder: Path, use: Use) -> Iterator[Sound]:
    """Yields commands, single words, dictation, monologues and vocal bursts; short answers of calls."""
    for row in _rows(folder):
        kind = str(row["kind"])
        if row["use"] != use:
            continue
        if kind == "dialog channel":
            yield from _short_answers(folder, row)
        if row.get("speech_start_s") is None:
            continue
        pcm, start_s, end_s = _read(folder, row), float(row["speech_start_s"]), float(row["speech_end_s"])
        if kind == "vocal burst":
            yield _sound("vocal bursts", row["id"], "continues", pcm, (start_s, end_s), speaker=row["speaker"])
        elif kind == "command (single word)":
            yield _sound("single words by telephone", row["id"], "stops", pcm, (start_s, end_s), speaker=row["speaker"])
        elif kind in {"command", "monologue"}:
            telephone = "wuw" in str(row.get("speaker"))
            group = "sentences by telephone" if telephone else f"{'dictation' if kind == 'command' else kind}"
            yield _sound(group, row["id"], "stops", pcm, (start_s, end_s), speaker=row["speaker"])


def _short_answers(folder: Path, row: dict[str, Any]) -> Iterator[Sound]:
    """Yields speech of at most 1.2 s between silences: mostly "yeah" and "okay". Others are left out by their words."""
    pcm, spans = _read(folder, row), [(float(begin), float(end)) for begin, end in row["speech"]]
    for place, (begin, end) in enumerate(spans):
        before = spans[place - 1][1] if place else 0.0
        after = spans[place + 1][0] if place + 1 < len(spans) else len(pcm) / MIC_RATE_HZ
        if end - begin <= 1.2 and begin - before >= 0.5 and after - end >= 0.8:
            cut = pcm[int((begin - 0.3) * MIC_RATE_HZ) : int((end + 0.3) * MIC_RATE_HZ)]
            yield _sound(SHORT_ANSWERS, f"{row['id']} {begin:.2f}", "continues", cut, (0.3, 0.3 + end - begin))


def read_speech(folder: Path) -> Iterator[Sound]:
    """Yields the speech of one person in a folder of clean recordings."""
    for row in _rows(folder):
        several = row.get("kind") in {"meeting", "conversation"}
        elsewhere = row["file"].startswith(("noise/", "conversation/", "hesitation/"))
        if row.get("speech_end_s") is not None and not several and not elsewhere:
            start_s, end_s = float(row["speech_start_s"]), float(row["speech_end_s"])
            yield _sound(
                "clean speech", row["id"], "stops", _read(folder, row), (start_s, end_s), speaker=str(row["speaker"])
            )


def read_noise(folder: Path) -> Iterator[Sound]:
    """Yields each noise of a folder at three levels."""
    for row in _rows(folder):
        if row["file"].startswith("noise/"):
            group, pcm = "noise with voices" if row.get("contains_voices") else "noise", _read(folder, row)
            for level_db in (-10.0, 0.0, 10.0):
                name = f"{row['id']} {level_db:+.0f} dB"
                yield _sound(group, name, "continues", _louder(pcm, level_db))


def _sound(
    group: str, name: str, expected: Wanted, pcm: Pcm, span_s: tuple[float, float] | None = None, *, speaker: str = ""
) -> Sound:
    """Surrounds the sound at `span_s`, by default all of the recording, with noise of its room."""
    start_s, end_s = (0.0, len(pcm) / MIC_RATE_HZ) if span_s is None else span_s
    end_s = min(end_s, start_s + LONGEST_S, len(pcm) / MIC_RATE_HZ)
    start, end = samples_of_s(start_s), samples_of_s(end_s)
    quiet = pcm[: max(0, start - MIC_RATE_HZ * 60 // 1000)]
    if len(quiet) < MIC_RATE_HZ // 5:
        quiet = _hiss(pcm if group != "noise" else np.zeros(0, np.int16))
    room = np.concatenate([quiet, quiet[::-1]])
    before, after = (np.resize(room, samples_of_s(seconds)) for seconds in (ROOM_S, AFTER_S))
    tail = pcm[end : end + MIC_RATE_HZ // 10]
    whole = np.concatenate([before, pcm[start:end], tail, after])
    return Sound(
        group, name, expected, whole, Samples(len(before)), Samples(len(before) + end - start), speaker or name
    )


def _hiss(pcm: Pcm) -> Pcm:
    """Returns a second of white noise at the 5th percentile of the 20 ms levels, between -80 and -40 dBFS."""
    blocks = pcm[: len(pcm) // 320 * 320].reshape(-1, 320).astype(np.float64)
    floor = float(np.percentile(np.sqrt(np.square(blocks).mean(axis=1)), 5)) if len(blocks) else 0.0
    level = min(max(floor, FULL_SCALE * 1e-4), FULL_SCALE * 0.01)
    return np.asarray(np.random.default_rng(11).normal(0, level, MIC_RATE_HZ).round(), np.int16)


def _louder(pcm: Pcm, level_db: float) -> Pcm:
    return (pcm * 10 ** (level_db / 20)).round().clip(-FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


# ---- synthesized ----


async def _synthesized(use: Use) -> list[Sound]:
    """Returns backchannels and speech to others by the voices of this use, at several speeds and levels."""
    voices = await _voices(use)
    sounds = []
    for group, texts in (("backchannels", BACKCHANNELS[use]), ("speech to others", TO_OTHERS[use])):
        for number, text in enumerate(texts):
            for place, (label, voice) in enumerate(voices):
                speed, level_db = SPEEDS[(number + place) % len(SPEEDS)], LEVELS_DB[(number + place) % len(LEVELS_DB)]
                pcm = _louder(await _synthesize(voice, text, speed), level_db)
                name = f"{text} {label}, speed {speed}, {level_db:+.0f} dB"
                sounds.append(_sound(group, name, "continues", pcm, speaker=text))
    for pitch_hz in HUM_PITCHES_HZ[use]:
        for hum in HUMS:
            for level_db in LEVELS_DB:
                pcm = _louder(_hummed(hum, pitch_hz), level_db)
                name = f"{hum} {pitch_hz:.0f} Hz, {level_db:+.0f} dB"
                sounds.append(_sound("hums", name, "continues", pcm, speaker=hum))
    return sounds


async def _voices(use: Use) -> Sequence[tuple[str, Voice]]:
    voices: list[tuple[str, Voice]] = []
    if use == "train":
        voices = [(name, EspeakVoice(language="en", voice=name)) for name in ESPEAK_VOICES]
    elif (path := installed(JOE)) is not None:
        piper = PiperTts(path, language="en", threads=1)
        voices = [("Piper joe", piper)] * len(SPEEDS)
    for voice in {id(voice): voice for _, voice in voices}.values():
        await voice.load()
    return voices


async def _synthesize(voice: Voice, text: str, speed: float) -> Pcm:
    chunks = [chunk.pcm async for chunk in voice.speak(text, speed)]
    pcm = soxr.resample(np.concatenate(chunks), REPLY_RATE_HZ, MIC_RATE_HZ)
    loud = np.flatnonzero(np.abs(pcm) > FULL_SCALE * 0.003)
    return np.asarray(pcm[loud[0] : loud[-1] + 1], np.int16)


def _hummed(hum: str, pitch_hz: float) -> Pcm:
    """Returns a hum: harmonics of a falling and rising pitch with the spectrum of a nasal, in syllables."""
    return np.concatenate([_hummed_once(syllable, pitch_hz) for syllable in hum.split()])


def _hummed_once(hum: str, pitch_hz: float) -> Pcm:
    long_s = 0.45 if "mmm" in hum else 0.16
    syllables = [(long_s, 1.0, 0.92), (0.06, 0.0, 0.0), (0.2, 0.95, 1.15)] if "h" in hum else [(0.3, 1.0, 0.9)]
    pieces = []
    for seconds, first, last in syllables:
        n = int(seconds * MIC_RATE_HZ)
        if first == 0.0:  # the breath between two syllables
            pieces.append(np.random.default_rng(n).normal(0, 0.01, n))
            continue
        phase = np.cumsum(np.linspace(first, last, n) * pitch_hz / MIC_RATE_HZ) * 2 * np.pi
        wave = np.zeros(n)
        for harmonic in range(1, 20):
            at_hz = harmonic * pitch_hz
            peaks = ((250.0, 1.0, 90.0), (1100.0, 0.1, 200.0), (2300.0, 0.05, 300.0))
            weight = sum(gain / (1 + ((at_hz - peak) / width) ** 2) for peak, gain, width in peaks)
            wave += weight * np.sin(harmonic * phase)
        fade = np.minimum(1, np.minimum(np.arange(n), np.arange(n)[::-1]) / (0.03 * MIC_RATE_HZ))
        pieces.append(0.2 * fade * wave / max(1e-9, float(np.abs(wave).max())))
    pieces.append(np.zeros(MIC_RATE_HZ // 12))
    return np.asarray((np.concatenate(pieces) * FULL_SCALE).round(), np.int16)


def _knocks(use: Use) -> Iterator[Sound]:
    """Yields doors, knocks and claps: decaying noise with one or several beats, low or wide in frequency."""
    for seed in range(8):
        rng = np.random.default_rng(seed + (100 if use == "judge" else 0))
        beats, decay_s, low = 1 + seed % 4, (0.02, 0.08, 0.2)[seed % 3], seed % 2 == 0
        n = int(0.4 * MIC_RATE_HZ)
        knock = rng.normal(0, 1, n) * np.exp(-np.arange(n) / (decay_s * MIC_RATE_HZ))
        if low:
            knock = np.convolve(knock, np.ones(40) / 6, mode="same")
        wave = np.zeros(n + (beats - 1) * int(0.22 * MIC_RATE_HZ))
        for beat in range(beats):
            position = beat * int(0.22 * MIC_RATE_HZ)
            wave[position : position + n] += knock
        pcm = np.asarray((wave / np.abs(wave).max() * 0.5 * FULL_SCALE).round(), np.int16)
        yield _sound("knocks", f"knock {seed}", "continues", pcm)
