"""Compares Repartee as a Wyoming server with wyoming-faster-whisper and wyoming-piper: same machine, same models.

    python -m bench.wyoming.compare [--rounds 1] [--out out/wyoming] [--set section.key=value …] [--only stt]
    python -m bench.wyoming.compare --rounds 0 --doc docs/performance.md     # only the table of all rounds so far

The requests are those of wyoming-bench, a program of others, and those of a satellite in real time (`live`). In each
round the programs run one after another, each alone; the next round has them in the opposite order. Results are
appended to `rounds.jsonl`, so that rounds can be taken at different times.
"""

import argparse
import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from audio.units import MIC_RATE_HZ
from bench.conversations.processes import cpu_of
from bench.doc_tables import write_page
from bench.sound.voices import SENTENCES
from bench.wyoming import live, others_bench
from bench.wyoming.measurement import Measurement, Part, append_rows, read_rows
from bench.wyoming.servers import Program, Running, environment_of_others, programs, running
from bench.wyoming.table import MARK, table

MANIFEST = Path("bench", "clips", "manifest.jsonl")
TTS_ROUNDS = 2

TEXTS = (
    "The weather today is sunny and warm with a light breeze.",
    "The lamp in the kitchen is on. I have set a timer for ten minutes.",
    "It is half past four, the bus leaves in ten minutes, and if you walk to the station now you will catch the train.",
    "There are two ways to answer. Both of them are short. The first one is simple, and the second one is cheap.",
)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out", "wyoming"))
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="SECTION.KEY=VALUE")
    parser.add_argument("--only", choices=["stt", "tts"])
    parser.add_argument("--doc", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    others = environment_of_others()
    every = programs(others, given.settings)
    rows_file = given.out / "rounds.jsonl"
    if given.rounds:
        await make_corpus(given.out, others, every[-1])
    for number in range(given.rounds):
        print(f"round {number + 1} of {given.rounds}", flush=True)
        for program in every if number % 2 == 0 else every[::-1]:
            rows = await measure(program, given.out, others, given.only)
            append_rows(rows_file, rows)
    text = table(read_rows(rows_file))
    print(text)
    if given.doc:
        write_page(text, given.doc, MARK)


async def make_corpus(out: Path, others: Path, speaker: Program) -> None:
    """Writes the recordings with their transcripts, and sentences that wyoming-piper speaks."""
    spoken = out / "spoken"
    if spoken.exists():
        return
    write_recordings(out / "recorded")
    async with running(speaker, out / "corpus.log") as server:
        await others_bench.generate_corpus(others, server.port, SENTENCES, spoken)


def write_recordings(folder: Path) -> None:
    """Writes the recordings that have a transcript, each with its transcript."""
    folder.mkdir(exist_ok=True)
    for line in MANIFEST.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("transcript"):
            shutil.copy(MANIFEST.parent / row["file"], folder / f"{row['id']}.wav")
            (folder / f"{row['id']}.txt").write_text(row["transcript"], encoding="utf-8")


async def measure(program: Program, out: Path, others: Path, only: str | None) -> list[Measurement]:
    """Runs a program and measures what it can do."""
    name, recorded = program.name, out / "recorded"
    async with running(program, out / f"{name}.log") as server:
        rows: list[Measurement] = []

        async def add(part: Part, request: Callable[[], Awaitable[list[Measurement]]]) -> None:
            rows.extend(await _with_processor_time(server, part, request))

        if program.hears and only != "tts":
            await live.hear(server.port, name, recorded, limit=1)
            await add("stt live", lambda: live.hear(server.port, name, recorded))
            await add("stt file", lambda: others_bench.hear(others, server.port, name, recorded))
            await add("stt file", lambda: others_bench.hear(others, server.port, name, out / "spoken"))
            await add("stt interim", lambda: others_bench.hear_live(others, server.port, name, recorded, MIC_RATE_HZ))
        if program.speaks and only != "stt":
            await add("tts", lambda: others_bench.speak(others, server.port, name, TEXTS, TTS_ROUNDS))
            await add("tts live", lambda: live.speak(server.port, name, TEXTS))
    return rows


async def _with_processor_time(
    server: Running, part: Part, request: Callable[[], Awaitable[list[Measurement]]]
) -> Sequence[Measurement]:
    before = cpu_of(server.pid)
    rows = await request()
    after = cpu_of(server.pid)
    if not rows or before is None or after is None:
        return rows
    used_s = (after - before).all_s
    sound_s = sum(row.audio_s for row in rows)
    return [*rows, Measurement(server.program.name, part, "", "processor", audio_s=sound_s, processor_s=used_s)]


if __name__ == "__main__":
    asyncio.run(main())
