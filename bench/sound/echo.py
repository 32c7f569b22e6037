"""Measures echo cancellation: the residual echo of replies, and how well users are detected over it.

    python -m bench.sound.echo [--seconds S] [--manifest FILE] [--words]

Prints the tables of docs/lab/echo.md. Replies are from espeak-ng at -20 dBFS. Users are the recordings of bench/clips
at -26 dBFS at the microphone. Rooms are simulated (bench/sound/echo_room.py). The VAD is Silero; the decisions are
those of `assistant.turns` (bench/sound/echo_scene.py). Time is virtual; `--words` also transcribes the clips with
tiny.en.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TypedDict

import numpy as np

from assistant.commands.engine_bench.words import word_errors
from assistant.models.needs import installed
from audio.echo.canceller import EchoCanceller
from audio.echo.half_duplex import HalfDuplex
from audio.stt.whisper.catalogue import TINY_EN
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.tts.espeak.voice import EspeakVoice
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, samples_of_ms, samples_of_s
from audio.vad.silero.network import SileroNetwork
from bench.conversations.recordings import read_pcm
from bench.sound.echo_room import Room, band_limited
from bench.sound.echo_scene import BargeIn, Canceller, Course, NoCanceller, delays_ms, erle_db, play_scene

SETTLED_S = 2.0
APART_S = 5.0
MAX_LENGTH_S = 4.0
BEFORE_MS, AFTER_MS = 300, 130
MAX_SPEECH_S = 12.0

SENTENCES = (
    "The weather in Lisbon will stay sunny until Thursday, with a light wind from the west.",
    "After that a cold front brings rain, first along the coast and later everywhere.",
    "Temperatures fall to about fourteen degrees, and the nights become cool.",
    "You may want to take an umbrella and a warm jacket with you.",
    "Shall I look for a hotel near the old town, or do you prefer one by the river?",
    "There are several museums that open late on Fridays and cost nothing after six.",
    "The train from the airport takes twenty five minutes and leaves every quarter of an hour.",
)

KINDS: dict[str, Callable[[], Canceller]] = {
    "nothing": NoCanceller,
    "canceller": EchoCanceller,
    "with noise suppression": lambda: EchoCanceller(noise_suppression=True),
    "with gain control": lambda: EchoCanceller(gain_control=True),
    "with both": lambda: EchoCanceller(noise_suppression=True, gain_control=True),
    "half-duplex": HalfDuplex,
}
"""The cancellers to compare, as factories."""

GAINS_DB = (0.0, -10.0, -20.0, -30.0)
OTHER_ROOMS = (
    Room(delay_ms=-15),
    Room(delay_ms=10),
    Room(delay_ms=120),
    Room(delay_ms=250),
    Room(drift_ppm=100),
    Room(drift_ppm=-100),
    Room(drive=3),
    Room(rt60_s=0.7),
    Room(noise_dbfs=-50),
    Room(gain_db=0, delay_ms=250, drift_ppm=100, drive=2, rt60_s=0.5),
)


async def reply() -> Pcm:
    """Returns half a minute of the assistant's voice, limited to what a microphone can pick up."""
    voice = EspeakVoice()
    await voice.load()
    sound: list[Pcm] = []
    for sentence in SENTENCES:
        async with aclosing(voice.speak(sentence)) as chunks:
            sound += [chunk.pcm async for chunk in chunks]
        sound.append(np.zeros(REPLY_RATE_HZ // 5, np.int16))
    await voice.aclose()
    return band_limited(np.concatenate(sound))


def barge_ins(manifest: Path, first_s: float = 4.0) -> list[BargeIn]:
    """Returns every clip of speech in sequence, each after the reply has played for a while."""
    result: list[BargeIn] = []
    position = samples_of_s(first_s) // FRAME_SAMPLES * FRAME_SAMPLES
    for line in manifest.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["tag"] != "speech":
            continue
        pcm = read_pcm(manifest.parent / row["file"])
        begins = samples_of_s(row["speech_start_s"])
        ends = min(samples_of_s(row["speech_end_s"]), begins + samples_of_s(MAX_LENGTH_S))
        cut = max(begins - samples_of_ms(300), 0)
        spoken = pcm[cut : ends + samples_of_ms(200)]
        result.append(BargeIn(spoken, position, position + begins - cut, position + ends - cut))
        position += (len(spoken) + samples_of_s(APART_S)) // FRAME_SAMPLES * FRAME_SAMPLES
    return result


def per_minute(places: Sequence[int], seconds: float) -> str:
    """Returns the rate per minute, after the canceller has settled."""
    after = sum(place >= SETTLED_S * MIC_RATE_HZ for place in places)
    return f"{after * 60 / (seconds - SETTLED_S):.1f}"


def residue(kind: str, room: Room, course: Course, seconds: float) -> str:
    """Returns a row of the table without user speech."""
    first = [sum(place < SETTLED_S * MIC_RATE_HZ for place in places) for places in (course.ducks, course.interrupts)]
    return (
        f"| {kind} | {room} | {erle_db(course, 0, SETTLED_S):.0f} | {erle_db(course, SETTLED_S, seconds):.0f} "
        f"| {first[0]} / {first[1]} | {per_minute(course.ducks, seconds)} "
        f"| {per_minute(course.interrupts, seconds)} |"
    )


def caught(kind: str, room: Room, course: Course, spoken: Sequence[BargeIn]) -> str:
    """Returns a row of the table with users speaking into the reply."""
    delays = [delays_ms(course, barge_in) for barge_in in spoken]
    cells = []
    for which in (0, 1):
        known = [delay for pair in delays if (delay := pair[which]) is not None]
        middle = " / ".join(f"{value:.0f}" for value in np.percentile(known, [50, 95])) if known else "–"
        cells.append(f"{len(known)} of {len(spoken)} | {middle}")
    places = [*course.ducks, *course.interrupts]
    early = sum(not any(b.begins - 1600 <= p <= b.ends + samples_of_ms(400) for b in spoken) for p in places)
    return f"| {kind} | {room.gain_db:g} dB, rt60 {room.rt60_s:g} s | {' | '.join(cells)} | {early} |"


def through(pcm: Pcm, canceller: Canceller) -> Pcm:
    """Passes a clip through the canceller after two seconds of a quiet room, without a reply."""
    room = np.random.default_rng(1).normal(0, 15, 2 * MIC_RATE_HZ).astype(np.int16)
    sound = np.concatenate([room, pcm])
    sound = sound[: len(sound) // FRAME_SAMPLES * FRAME_SAMPLES]
    pieces = [
        canceller.clean(sound[start : start + FRAME_SAMPLES], start / MIC_RATE_HZ)
        for start in range(0, len(sound), FRAME_SAMPLES)
    ]
    return np.concatenate(pieces)[len(room) :]


class Clip(TypedDict, total=False):
    """The used fields of a manifest line."""

    file: str
    tag: str
    transcript: str
    speech_start_s: float
    speech_end_s: float


def with_noise(pcm: Pcm, noise: Pcm, snr_db: float) -> Pcm:
    """Adds noise to the clip at this ratio of mean powers."""
    sound, added = pcm.astype(np.float64), np.resize(noise, len(pcm)).astype(np.float64)
    gain = np.sqrt(np.mean(sound**2) / np.mean(added**2) / 10 ** (snr_db / 10))
    mixed: Pcm = np.clip(sound + gain * added, -32768, 32767).astype(np.int16)
    return mixed


def segment_of(clip: Clip, pcm: Pcm) -> Pcm:
    """Returns the clip's speech with a margin."""
    start = max(0, samples_of_s(clip["speech_start_s"]) - samples_of_ms(BEFORE_MS))
    end = samples_of_s(clip["speech_end_s"]) + samples_of_ms(AFTER_MS)
    return pcm[start : min(end, start + samples_of_s(MAX_SPEECH_S))]


def words(folder: Path, clips: Sequence[Clip]) -> None:
    """Prints the word errors of the clips after each canceller. Raises SystemExit without tiny.en."""
    model = installed(TINY_EN)
    if model is None:
        raise SystemExit("--words needs tiny.en: run repartee models pull tiny.en")
    whisper = LoadedWhisper(WhisperSettings(model))
    noise = next(read_pcm(folder / clip["file"]) for clip in clips if clip["tag"] == "noise")
    chosen = [clip for clip in clips if clip["tag"] == "speech" and clip.get("transcript")]
    for snr_db in (None, 10.0):
        for kind in ("nothing", "canceller", "with noise suppression", "with gain control", "with both"):
            texts = []
            for clip in chosen:
                pcm = read_pcm(folder / clip["file"])
                pcm = pcm if snr_db is None else with_noise(pcm, noise, snr_db)
                decoded = whisper.decode(segment_of(clip, through(pcm, KINDS[kind]())), "en", retry=True)
                texts.append((clip["transcript"], decoded.text if decoded else ""))
            errors = word_errors(texts, "en")
            heard = "clean" if snr_db is None else f"noise at {snr_db:g} dB"
            wer = errors.errors / errors.reference_words
            print(f"| {kind} | {heard} | {wer:.2f} ({errors.errors} of {errors.reference_words}) |", flush=True)


def processor_ms() -> float:
    """Returns the processor time of the canceller per second of sound, in ms."""
    random = np.random.default_rng(2)
    sound = random.normal(0, 1000, 20 * MIC_RATE_HZ).astype(np.int16)
    canceller = EchoCanceller()
    began_s = time.process_time()
    for start in range(0, len(sound), FRAME_SAMPLES):
        canceller.add_reference(sound[start : start + FRAME_SAMPLES], MIC_RATE_HZ, start / MIC_RATE_HZ)
        canceller.clean(sound[start : start + FRAME_SAMPLES], start / MIC_RATE_HZ - 0.1)
    return (time.process_time() - began_s) * 1000 / 20


def main() -> None:
    """Measures and prints the tables."""
    parser = argparse.ArgumentParser(description="Measures echo cancellation in simulated rooms.")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of each scene without user speech, in s")
    parser.add_argument("--manifest", type=Path, default=Path("bench/clips/manifest.jsonl"))
    parser.add_argument("--words", action="store_true", help="also measure word errors")
    options = parser.parse_args()
    reply_pcm = asyncio.run(reply())
    network = SileroNetwork()
    print(f"{processor_ms():.1f} ms of processor time per second of sound\n\nWithout user speech\n")
    print(
        "| | room | return loss dB, first 2 s | later | duckings / interruptions in 2 s | duckings per min "
        "| interruptions |"
    )
    print("|---" * 7 + "|")
    rooms = [(kind, Room(gain_db=gain_db)) for gain_db in GAINS_DB for kind in KINDS]
    rooms += [("canceller", room) for room in OTHER_ROOMS]
    rooms += [("with noise suppression", Room(rt60_s=0.7)), ("nothing", Room(rt60_s=0.7))]
    for kind, room in rooms:
        course = play_scene(room, reply_pcm, options.seconds, KINDS[kind](), network=network, stops=False)
        print(residue(kind, room, course, options.seconds), flush=True)
    spoken = barge_ins(options.manifest)
    seconds = spoken[-1].ends / MIC_RATE_HZ + 2
    print("\nUsers speak during the reply\n")
    print("| | echo | ducked | after ms p50 / p95 | interrupted | after ms | at other times |")
    print("|---" * 7 + "|")
    talks = [("nothing", Room(gain_db=-200))]
    talks += [(kind, Room(gain_db=gain_db)) for gain_db in GAINS_DB for kind in KINDS if kind != "nothing"]
    talks += [("canceller", Room(rt60_s=0.7))]
    for kind, room in talks:
        course = play_scene(room, reply_pcm, seconds, KINDS[kind](), network=network, barge_ins=spoken)
        print(caught(kind, room, course, spoken), flush=True)
    if options.words:
        print("\nWords\n\n| | sound | word errors |\n|---|---|---|")
        lines = options.manifest.read_text(encoding="utf-8").splitlines()
        words(options.manifest.parent, [json.loads(line) for line in lines if line])


if __name__ == "__main__":
    main()
