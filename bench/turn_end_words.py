"""What our own recognizer had understood at every silence of a set of turns; kept in a file, for it takes minutes."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO, TypedDict

from assistant.skills.skills import understood_sentences
from audio.frame import Frame
from audio.stt import SegmentId
from audio.stt.pocketsphinx import PocketsphinxTranscriber
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.vad import Voicing
from audio.vad.silero import SileroNetwork, SileroVad
from bench.turn_end_clips import Silence, Turn, silences, voicings

ASKED_AT_MS = (100, 200, 400)
_PRE_ROLL = samples_of_ms(300)


class Asked(TypedDict):
    """Words at one silence of a turn: silence in ms → (text, rough)."""

    edge: int
    words: dict[str, tuple[str, bool]]


async def _one(transcriber: PocketsphinxTranscriber, turn: Turn, heard: Sequence[tuple[Frame, Voicing]]) -> list[Asked]:
    onset, found = silences(turn, heard)
    if not found:
        return []
    start = Samples(max(0, onset - _PRE_ROLL))
    hearing = transcriber.open(SegmentId(start), lambda _words: None)
    asked: list[Asked] = []
    fed = int(start)
    for silence in found:
        row = Asked(edge=int(silence.edge), words={})
        for wait_ms in ASKED_AT_MS:
            at = _asked_at(silence, wait_ms)
            if at is None:
                continue
            while fed < at:
                # Its lane holds 5 s: a question in between waits until all of it was decoded.
                until = min(at, fed + samples_of_s(2))
                hearing.feed(turn.pcm[fed:until])
                fed = until
                words = await asyncio.wait_for(hearing.words(), 60)
            row["words"][str(wait_ms)] = (words.text, words.rough)
        asked.append(row)
    # Cancelled, so that little is learned of the microphone: nearly every turn is a first one. Not quite: a few
    # words change with the order of the turns.
    hearing.cancel()
    return asked


def _asked_at(silence: Silence, wait_ms: float) -> Samples | None:
    """The end of the first frame at which the silence is known and this long; None where speech came back before."""
    at = max(silence.known_at, -(-(silence.edge + samples_of_ms(wait_ms)) // 320) * 320)
    return Samples(at) if at < silence.until else None


async def _all(turns: Sequence[Turn], known: dict[str, list[Asked]], file: TextIO) -> None:
    vad = SileroVad(SileroNetwork())
    transcriber = PocketsphinxTranscriber(understood_sentences())
    await transcriber.load()
    try:
        for turn in turns:
            known[turn.key] = await _one(transcriber, turn, voicings(vad, turn.pcm))
            file.write(json.dumps({"key": turn.key, "id": turn.id, "asked": known[turn.key]}) + "\n")
            file.flush()
    finally:
        await transcriber.aclose()


def listen(turns: Sequence[Turn], cache: Path) -> dict[str, list[Asked]]:
    """The words of every turn, out of the cache where they are in it; new ones are added to it."""
    known: dict[str, list[Asked]] = {}
    if cache.exists():
        known = {row["key"]: row["asked"] for row in map(json.loads, cache.read_text().splitlines())}
    lacking = [turn for turn in turns if turn.key not in known]
    if lacking:
        with cache.open("a") as file:
            asyncio.run(_all(lacking, known, file))
    return {turn.id: known[turn.key] for turn in turns}
