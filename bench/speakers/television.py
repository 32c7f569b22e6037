"""Makes the dialogue with a television behind, docs/television.ogg, and the events of its conversation.

    python -m bench.speakers.television --out docs

A person asks (Pico, British), a television begins to talk (heart of hibari, and Pico, American), and the person asks
again while it talks. All voices are synthesized. With `voice.focus = "first"` only the two questions are answered.
The events, `data/television-events.txt`, are what a trace holds of it: neither words nor embeddings.
"""

import argparse
import asyncio
from pathlib import Path

import numpy as np
import soundfile
import soxr

from assistant.config.settings import Settings
from assistant.models.needs import installed
from assistant.setup.voices.factory import make_voice
from assistant.setup.voices.installed import voice_named
from audio.speaker_embedding.catalogue import SPEAKER_EMBEDDER
from audio.speaker_embedding.embedder import SpeakerEmbedder
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, s_of_samples
from bench.speakers.conversation import Conversation, vad_results
from bench.speakers.recordings import LEVEL, at_db, joined, mixed, rms, room_noise, scaled

USER = "pico-en-GB"
QUESTIONS = ("What time is it in London right now?", "And how warm will it be tomorrow afternoon?")
BROADCAST = (
    ("heart", "Good evening, and welcome to the programme. Tonight we travel to the mountains in the north."),
    ("pico-en-US", "The government has announced new rules for railways, and the union has called for a strike."),
    ("heart", "Here is a look at the markets, which closed a little higher than yesterday."),
)

FIRST_S, TELEVISION_S, SECOND_S = 0.5, 4.5, 10.5
"""Beginnings of the questions and of the television, in seconds."""

TELEVISION_DB = -6.0
"""Level of the television relative to the person."""


async def spoken(voice_name: str, text: str) -> Pcm:
    """Returns a synthesized sentence at 16 kHz and `LEVEL`."""
    voice = make_voice(Settings(), voice_named(voice_name).candidate)
    await voice.load()
    try:
        sound = np.concatenate([chunk.pcm async for chunk in voice.speak(text)])
    finally:
        await voice.aclose()
    sound = soxr.resample(sound, REPLY_RATE_HZ, MIC_RATE_HZ).astype(np.int16)
    return scaled(sound, LEVEL / rms(sound))


async def dialogue() -> Pcm:
    """Returns the sound of the dialogue."""
    first, second = [await spoken(USER, question) for question in QUESTIONS]
    broadcast = at_db(joined([await spoken(*sentence) for sentence in BROADCAST], 0.2), TELEVISION_DB)
    total = mixed(first, broadcast, int((TELEVISION_S - FIRST_S) * MIC_RATE_HZ))
    total = mixed(total, second, int((SECOND_S - FIRST_S) * MIC_RATE_HZ))
    total = mixed(room_noise(int(FIRST_S * MIC_RATE_HZ), 1), total, int(FIRST_S * MIC_RATE_HZ))
    return mixed(total, room_noise(len(total) + 2 * MIC_RATE_HZ, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="the speaker embedder; default: the installed one")
    given = parser.parse_args()
    pcm = asyncio.run(dialogue())
    soundfile.write(given.out / "television.ogg", pcm, MIC_RATE_HZ, format="OGG", subtype="VORBIS")
    embedder = SpeakerEmbedder.load(given.model or installed(SPEAKER_EMBEDDER))
    pcm, _ = soundfile.read(given.out / "television.ogg", dtype="int16")
    detected = vad_results(pcm)
    for focused in (False, True):
        conversation = Conversation(embedder if focused else None, reply_s=2.0)
        outcome = conversation.play(pcm, detected)
        spans = [(s_of_samples(turn.segment), s_of_samples(turn.speech_end)) for turn in outcome.committed]
        answered = ", ".join(f"{begin:.1f}-{end:.1f} s" for begin, end in spans)
        print(f"focus {'first' if focused else 'off'}: answered {answered}; ignored {outcome.ignored}")
    entries = "\n".join(conversation.event_log.drain().entries)
    (given.out / "data" / "television-events.txt").write_text(f"{entries}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
