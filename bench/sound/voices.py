"""Compares the voices of a language: processor time, first sound alone and of eight replies, words understood.

    python -m bench.sound.voices [--language en] [--engines hibari piper …] [--rounds 7] [--no-words]

Each voice is the one that the engine would use. Words are understood by Whisper base, or tiny.en where base is missing.
"""

import argparse
import asyncio
import sys
import time
from contextlib import aclosing

import numpy as np
import soxr

from assistant.commands.engine_bench.words import word_errors
from assistant.config.loading import load_settings
from assistant.models.needs import installed
from assistant.registry.voices import VOICES
from assistant.setup.engine_catalog import lacking, voice
from assistant.text.normalization.reading import spoken
from audio.stt.whisper.catalogue import BASE, TINY_EN
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.tts import Voice
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm

SHORT = "Sure, I can do that now."
LONG = "It is sunny in Boston today, about twenty degrees and dry."
EIGHT = 8

SENTENCES = (
    "The train to the coast leaves at half past four from the second platform.",
    "My grandmother planted those apple trees before the house was built.",
    "Nobody knew why the old clock in the hall had suddenly stopped working.",
    "If the weather stays dry, we can walk along the river after dinner.",
    "Your meeting with the doctor is on Tuesday at a quarter to nine.",
    "I have set a timer for ten minutes, and I will let you know.",
    "That would be seven euros and twenty cents, which is less than you paid a week ago.",
    "The lamp in the living room is on, and the door to the garden is open.",
    "He said no. Then we sat in the sun, and she ate a fig.",
    "Tomorrow will be mostly cloudy, with a high of sixty degrees and some rain in the evening.",
    "You have three new messages, and the first one is from your brother.",
    "Please take the second street on the left, and park at the back of the station.",
    "There are two ways to answer your question, and both of them are short.",
    "The museum opens at ten in the morning and closes at six, except on Mondays.",
    "I could not find a restaurant with that name, but there is a bakery around the corner.",
    "Chocolate cake takes about sixty minutes to bake.",
    "The capital of Australia is Canberra, although many people think that it is Sydney.",
    "Do you want me to read the whole list, or only the most important items?",
    "Water boils at a lower temperature in the mountains, because the air is thinner there.",
    "Okay, I have added milk, butter and a loaf of bread to your shopping list.",
)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", default="en")
    parser.add_argument("--engines", nargs="+", default=VOICES.names)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-words", action="store_true")
    given = parser.parse_args()
    sys.setswitchinterval(0.0005)  # same value as in the program
    settings = load_settings(None, {}, [f"assistant.language={given.language}"]).settings
    print("voice  processor s per s of speech  first sound ms, 25 letters p50 / p95  60 letters p50 / p95", end="  ")
    print("eight at once p50 / p95, processor s  word errors")
    for name in given.engines:
        if reason := lacking(settings, name):
            print(f"{name}: {reason}")
            continue
        engine_voice = voice(settings, name)
        await engine_voice.load()
        row = [name, *await _alone(engine_voice, given.rounds), await _eight(engine_voice, given.rounds)]
        row.append("" if given.no_words else f"{await _word_error_rate(engine_voice):.3f}")
        print("  ".join(row))
        await engine_voice.aclose()


async def _alone(engine_voice: Voice, rounds: int) -> tuple[str, str, str]:
    firsts: dict[str, list[float]] = {SHORT: [], LONG: []}
    used_s = sound_s = 0.0
    for _ in range(rounds):
        for text, times in firsts.items():
            began_s, processor_s = time.perf_counter(), time.process_time()
            sound, first_s = await _synthesize(engine_voice, text)
            used_s += time.process_time() - processor_s
            sound_s += sound.size / REPLY_RATE_HZ
            times.append((first_s - began_s) * 1000)
    return f"{used_s / sound_s:.4f}", _quantiles(firsts[SHORT]), _quantiles(firsts[LONG])


async def _eight(engine_voice: Voice, rounds: int) -> str:
    times, used = [], []
    for _ in range(rounds):
        began_s, processor_s = time.perf_counter(), time.process_time()
        replies = await asyncio.gather(*(_synthesize(engine_voice, SHORT) for _ in range(EIGHT)))
        used.append(time.process_time() - processor_s)
        times += [(first_s - began_s) * 1000 for _sound, first_s in replies]
    return f"{_quantiles(times)}, {np.median(used):.2f}"


async def _word_error_rate(engine_voice: Voice) -> float:
    folder = installed(BASE) or installed(TINY_EN)
    if folder is None:
        return float("nan")
    whisper = LoadedWhisper(WhisperSettings(folder, device="cpu", cpu_threads=2))
    pairs = []
    for text in SENTENCES:
        sound, _ = await _synthesize(engine_voice, spoken(text))
        at_rate = soxr.resample(sound.astype(np.float32), REPLY_RATE_HZ, MIC_RATE_HZ).astype(np.int16)
        heard = whisper.decode(np.concatenate((at_rate, np.zeros(MIC_RATE_HZ // 4, np.int16))), "en", retry=True)
        pairs.append((text, heard.text if heard is not None else ""))
    return word_errors(pairs, "en").rate or 0.0


async def _synthesize(engine_voice: Voice, text: str) -> tuple[Pcm, float]:
    """Returns the sound and the time of the first chunk."""
    first_s, pieces = 0.0, []
    async with aclosing(engine_voice.speak(text)) as chunks:
        async for chunk in chunks:
            first_s = first_s or time.perf_counter()
            pieces.append(chunk.pcm)
    return np.concatenate(pieces), first_s


def _quantiles(times: list[float]) -> str:
    return f"{np.quantile(times, 0.5):.0f} / {np.quantile(times, 0.95):.0f}"


if __name__ == "__main__":
    asyncio.run(main())
