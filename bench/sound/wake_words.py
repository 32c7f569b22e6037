"""Measures wake words by sound: false alarms an hour, missed calls, delay of the detection, processor time.

    python -m bench.sound.wake_words --recordings FOLDER [--part train|judge] [--words okay_nabu …] [--noise FOLDER]

False alarms: every recording of a folder of clips, joined, with silence between them; noise; music that is synthesized.
Calls: synthesized by each installed voice, at several speeds, clean and with noise at 20 to 5 dB, and in a room.
Nothing is fitted here: the thresholds are those of the models.
"""

import argparse
import asyncio
import json
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from assistant.config.loading import load_settings
from assistant.registry.voices import VOICES
from assistant.setup.engine_catalog import lacking, voice
from assistant.setup.listening.wake_words import wake_word_engine, wake_words
from audio.frame import Frame
from audio.tts import Voice
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, REPLY_RATE_HZ, Samples, ms_of_samples
from audio.wake import WakeWordDetection

Sound = npt.NDArray[np.float32]

SPEEDS = (0.8, 0.9, 1.0, 1.1, 1.25)
SNRS_DB = (None, 20.0, 10.0, 5.0)
QUESTIONS = ("", "what time is it?", "set a timer for ten minutes", "turn on the light in the kitchen")
CALL_DBFS = -26.0
MUSIC_S = 1800.0
ROOM_RT60_S = 0.4


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=Path, help="a folder with manifest.jsonl and clips")
    parser.add_argument("--part", choices=("train", "judge"), default="train")
    parser.add_argument("--noise", type=Path, help="a folder of noises")
    parser.add_argument("--words", nargs="+", default=list(wake_words()))
    parser.add_argument("--no-calls", action="store_true")
    given = parser.parse_args()
    chance = np.random.default_rng(1)
    noises = [_read(file) for file in sorted(given.noise.glob("*.wav"))] if given.noise else []
    if given.recordings:
        _print_alarms("speech", _joined(_clips(given.recordings, given.part)), given.words)
    if noises:
        _print_alarms("noise", _joined(noises), given.words)
    _print_alarms("music", _music(MUSIC_S, chance), given.words)
    if not given.no_calls:
        await _print_calls(given.words, noises or [chance.normal(0, 0.05, MIC_RATE_HZ * 10).astype(np.float32)], chance)


def _detections(sound: Sound, words: Sequence[str]) -> list[tuple[WakeWordDetection, Samples]]:
    """Returns the detections in a sound, each with the end of the frame that shows it."""
    detector, found = wake_word_engine(words).make(words), []
    pcm = np.rint(sound.clip(-1, 1) * 32767).astype(np.int16)
    for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
        if (detection := detector.process(frame)) is not None:
            found.append((detection, frame.end))
    return found


def _print_alarms(name: str, sound: Sound, words: Sequence[str]) -> None:
    hours = len(sound) / MIC_RATE_HZ / 3600
    began_s = time.process_time()
    found = [detection.word for detection, _ in _detections(sound, words)]
    share = (time.process_time() - began_s) / hours / 3600
    print(f"{name}: {hours:.2f} h, {share:.2%} of a core for {len(words)} words")
    for word in words:
        count = found.count(word)
        low, high = _poisson_interval(count)
        print(f"  {word}: {count} false alarms, {count / hours:.2f} an hour [{low / hours:.2f}, {high / hours:.2f}]")


async def _print_calls(words: Sequence[str], noises: Sequence[Sound], chance: np.random.Generator) -> None:
    """Prints the missed calls and the delays."""
    phrases = wake_word_engine(words).words
    misses: dict[tuple[str, str], list[bool]] = {}
    delays_ms: dict[str, list[float]] = {word: [] for word in words}
    async with asyncio.timeout(3600):
        for name in VOICES.names:
            settings = load_settings(None, {}, [f"tts.engine={name}"]).settings
            if lacking(settings, name):
                continue
            engine_voice = voice(settings, name)
            await engine_voice.load()
            for word in words:
                for speed in SPEEDS:
                    for question in QUESTIONS:
                        call, end = await _call(engine_voice, phrases[word].title(), question, speed)
                        for condition, sound in _conditions(call, noises, chance):
                            found = [pair for pair in _detections(sound, [word]) if pair[0].word == word]
                            for key in ((word, condition), (word, f"voice {name}")):
                                misses.setdefault(key, []).append(not found)
                            if found and condition == "clean":
                                delays_ms[word].append(ms_of_samples(found[0][1]) - end)
            await engine_voice.aclose()
    for (word, condition), missed in sorted(misses.items()):
        low, high = _wilson_interval(sum(missed), len(missed))
        print(
            f"{word}, {condition}: missed {sum(missed)} of {len(missed)}, {np.mean(missed):.1%} [{low:.1%}, {high:.1%}]"
        )
    for word, times in delays_ms.items():
        if times:
            print(
                f"{word}: detected {np.median(times):.0f} ms after its end [{np.quantile(times, 0.05):.0f}, "
                f"{np.quantile(times, 0.95):.0f}]"
            )


async def _call(engine_voice: Voice, word: str, question: str, speed: float) -> tuple[Sound, float]:
    """Returns a call with silence around it, and the end of the wake word in ms."""
    alone = await _synthesized(engine_voice, f"{word}.", speed)
    loud = np.flatnonzero(np.abs(alone) > 0.01)
    sound = await _synthesized(engine_voice, f"{word}, {question}", speed) if question else alone
    sound *= 10 ** (CALL_DBFS / 20) / np.sqrt(np.mean(np.square(sound)))
    silence = np.zeros(MIC_RATE_HZ, np.float32)
    return np.concatenate((silence, sound, silence)), 1000 + 1000 * loud[-1] / MIC_RATE_HZ


async def _synthesized(engine_voice: Voice, text: str, speed: float) -> Sound:
    async with aclosing(engine_voice.speak(text, speed)) as chunks:
        pcm = np.concatenate([chunk.pcm async for chunk in chunks])
    sound: Sound = soxr.resample(pcm.astype(np.float32) / 32768, REPLY_RATE_HZ, MIC_RATE_HZ)
    return sound


def _conditions(call: Sound, noises: Sequence[Sound], chance: np.random.Generator) -> Iterator[tuple[str, Sound]]:
    """Yields the call clean, with noise, and as a room reflects it."""
    power = 10 ** (CALL_DBFS / 10)
    for snr_db in SNRS_DB:
        if snr_db is None:
            yield "clean", call + chance.normal(0, 1e-4, len(call)).astype(np.float32)
            continue
        noise = np.resize(noises[int(chance.integers(len(noises)))], len(call))
        noise = noise * math.sqrt(power / max(float(np.mean(np.square(noise))), 1e-9) / 10 ** (snr_db / 10))
        yield f"noise {snr_db:.0f} dB", (call + noise).astype(np.float32)
    decay_s = np.arange(round(ROOM_RT60_S * MIC_RATE_HZ)) / MIC_RATE_HZ
    room = chance.normal(0, 0.06, len(decay_s)) * np.exp(-6.9 * decay_s / ROOM_RT60_S)
    room[0] = 1.0
    yield "room", np.convolve(call, room)[: len(call)].astype(np.float32)


def _music(seconds: float, chance: np.random.Generator) -> Sound:
    """Returns synthesized music: chords, a melody with overtones and a drum, in changing keys and speeds."""
    pieces: list[Sound] = []
    length = 0
    while length < seconds * MIC_RATE_HZ:
        beat_s = 60 / chance.uniform(70, 150)
        at_s = np.arange(round(4 * beat_s * MIC_RATE_HZ)) / MIC_RATE_HZ
        root_hz = 110 * 2 ** (chance.integers(0, 12) / 12)
        bar = sum(np.sin(2 * np.pi * root_hz * 2 ** (step / 12) * at_s) * 0.08 for step in (0, 4, 7))
        for note in range(8):
            since_s = at_s - note * beat_s / 2
            hertz = root_hz * 2 ** (chance.choice([12, 14, 16, 19, 21, 24]) / 12)
            shape = np.where(since_s >= 0, np.exp(-since_s.clip(0) * 6), 0)
            bar = bar + sum(np.sin(2 * np.pi * hertz * tone * since_s) * shape * 0.12 / tone for tone in range(1, 6))
            bar = bar + chance.normal(0, 0.15, len(at_s)) * np.where(since_s >= 0, np.exp(-since_s.clip(0) * 60), 0)
        pieces.append((np.asarray(bar) * chance.uniform(0.1, 0.6)).astype(np.float32))
        length += len(at_s)
    return np.concatenate(pieces)


def _clips(folder: Path, part: str) -> Iterator[Sound]:
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("use", part) == part:
            yield _read(folder / row["file"])


def _read(file: Path) -> Sound:
    sound, rate_hz = soundfile.read(file, dtype="float32", always_2d=True)
    mono: Sound = sound.mean(axis=1)
    return mono if rate_hz == MIC_RATE_HZ else soxr.resample(mono, rate_hz, MIC_RATE_HZ)


def _joined(sounds: Iterator[Sound] | Sequence[Sound]) -> Sound:
    gap = np.zeros(MIC_RATE_HZ // 2, np.float32)
    return np.concatenate([piece for sound in sounds for piece in (sound, gap)])


def _poisson_interval(count: int) -> tuple[float, float]:
    """Returns the 95 % interval of a Poisson mean (Garwood's, by the normal approximation of Wilson and Hilferty)."""
    low = count * (1 - 1 / (9 * count) - 1.96 / (3 * math.sqrt(count))) ** 3 if count else 0.0
    above = count + 1
    return low, above * (1 - 1 / (9 * above) + 1.96 / (3 * math.sqrt(above))) ** 3


def _wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Returns the 95 % interval of a share."""
    z, share = 1.96, count / total
    middle, spread = (
        share + z * z / (2 * total),
        z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)),
    )
    return (middle - spread) / (1 + z * z / total), (middle + spread) / (1 + z * z / total)


if __name__ == "__main__":
    asyncio.run(main())
