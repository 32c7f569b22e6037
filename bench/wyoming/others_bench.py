"""Runs wyoming-bench, a benchmark of others, and reads its report."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from bench.wyoming.measurement import Measurement, Part

WITHIN_S = 600.0
CHUNK_SAMPLES = 1024
"""Samples of a chunk, the default of wyoming-bench."""

_LINE = re.compile(r"^\[(non_streaming|streaming)\] r\d+ (.*)$", re.MULTILINE)
_EDITS = re.compile(r"edits S=(\d+) I=(\d+) D=(\d+)\s+\(ref words=(\d+)\)")
_UNABLE = "NOT SUPPORTED"


async def hear(python: Path, port: int, server: str, corpus: Path) -> list[Measurement]:
    """Lets a server recognize a corpus, sent as fast as it goes."""
    given = ["--corpus", str(corpus), "--rounds", "1", "--mode", "non_streaming"]
    return measurements(await _report(python, "stt", port, given), server, "stt file")


async def hear_live(python: Path, port: int, server: str, corpus: Path, rate_hz: int) -> list[Measurement]:
    """Lets a server recognize a corpus in real time, with the words so far. Returns nothing if it cannot stream."""
    given = ["--corpus", str(corpus), "--rounds", "1", "--mode", "streaming"]
    given += ["--chunk-samples", str(CHUNK_SAMPLES), "--chunk-delay", f"{CHUNK_SAMPLES / rate_hz:g}"]
    return measurements(await _report(python, "stt", port, given), server, "stt interim")


async def speak(python: Path, port: int, server: str, texts: Sequence[str], rounds: int) -> list[Measurement]:
    """Lets a server speak texts, whole and sentence by sentence."""
    report = await _report(python, "tts", port, ["--rounds", str(rounds), "--texts", *texts])
    return measurements(report, server, "tts")


async def generate_corpus(python: Path, port: int, texts: Sequence[str], folder: Path) -> None:
    """Lets a server speak texts into files of a corpus."""
    await _run(python, ["generate-corpus", f"127.0.0.1:{port}", "--out", str(folder), "--texts", *texts])


def measurements(report: str, server: str, part: Part) -> list[Measurement]:
    """Reads a report of `wyoming-bench stt` or `wyoming-bench tts`. Raises SystemExit if a request failed."""
    rows = []
    for mode, line in _LINE.findall(report):
        if "FAIL" in line:
            raise SystemExit(f"{server}: wyoming-bench: {line}")
        fields = dict(re.findall(r"(\w+)=(\S+)", line))
        name = line.split(" ", 1)[0] if part != "tts" else f"{fields['sent']} sentences"
        first = _ms(fields["ttft"])
        rows.append(Measurement(server, part, mode, name, _ms(fields["total"]), first, _s(fields["audio"])))
    for *edits, words in _EDITS.findall(report):
        rows.append(Measurement(server, part, "", "words", errors=sum(map(int, edits)), words=int(words)))
    return rows


def _ms(text: str) -> float | None:
    return None if text == "n/a" else float(text.removesuffix("ms"))


def _s(text: str) -> float:
    return float(text.removesuffix("s"))


async def _report(python: Path, task: str, port: int, arguments: Sequence[str]) -> str:
    return await _run(python, [task, f"127.0.0.1:{port}", "-v", *arguments])


async def _run(python: Path, arguments: Sequence[str]) -> str:
    process = await asyncio.create_subprocess_exec(
        python.with_name("wyoming-bench"),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(WITHIN_S):
        output, _ = await process.communicate()
    text = output.decode()
    if process.returncode != 0 and _UNABLE not in text:
        raise SystemExit(f"wyoming-bench ended with {process.returncode}:\n{text[-2000:]}")
    return text
