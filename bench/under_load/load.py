"""Measures `repartee serve` with many conversations at once: latency, refusals, event loop, processor time, memory.

    python -m bench.under_load.load                          # 8, 16, 24 and 32 conversations, about 8 minutes
    python -m bench.under_load.load --brief                  # 8 conversations, a minute
    python -m bench.under_load.load --admission              # the server decides by its measured load whom it admits
    python -m bench.under_load.load --doc docs/performance.md

For each number it starts the controlled language model (100 ms to the first token), a fresh server with Whisper
`tiny.en` and espeak-ng, and clients in processes of their own that speak recordings in real time. Without --admission
the server admits all of them. Nothing is subtracted from what was measured; the machine should be idle otherwise.
"""

import argparse
import asyncio
import contextlib
import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx

from bench.controlled_llm import LlmBehaviour
from bench.conversations.processes import NotStartedError, Server, busy_of_machine, cpu_of, model, server
from bench.doc_tables import write_page
from bench.serving.scenarios import ANSWERED_WITHIN_S
from bench.under_load.load_figures import (
    BEGIN,
    LoadRun,
    LoadStep,
    LoadTurn,
    ServerUse,
    figures_table,
    refusals_of,
    sample_of,
    section,
    turns_of,
)

MANIFEST = Path("bench/clips/manifest.jsonl")
SETTINGS = ("stt.model=tiny.en", "tts.engine=espeak-ng")
PER_PROCESS = 8
"""Conversations of one client process: its single thread sends and receives 50 events a second for each."""
STAGGER_S = 0.373
"""Time between the beginnings of two conversations: 18.65 blocks of 20 ms, so that few send at the same time."""
ADMISSION_STAGGER_S = 1.513
"""The same with --admission: slower than the server's limit of eight within 10 s."""
LOOK_S = 0.5
"""Interval at which the server's memory is read."""
SCRAPE_TIMEOUT_S = 20.0


class ClientFailedError(Exception):
    """A client process failed."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """Settings of a measurement.

    Attributes:
        counts: Numbers of conversations at once.
        turns: Turns of each conversation.
        admission: Whether the server decides by its load whom it admits.
        settings: Further settings of the server.
        manifest: The recordings.
        out: Folder for the output of the processes.
        answered_within_s: Time limit of an answer. Later it counts as missing.
        turn_limit_s: Time limit of a turn; a run with more ends with an error.
    """

    counts: tuple[int, ...]
    turns: int
    admission: bool
    settings: tuple[str, ...]
    manifest: Path
    out: Path
    answered_within_s: float = ANSWERED_WITHIN_S
    turn_limit_s: float = 30.0

    def server_settings(self, count: int) -> list[str]:
        """Returns the settings of the server for this number of conversations."""
        admission = "measured" if self.admission else "fixed"
        limits = [f"server.max_sessions={count}", f"server.admission={admission}"]
        return [*SETTINGS, *limits, f"trace.dir={self.out / 'traces'}", *self.settings]


async def measure(plan: LoadPlan) -> list[LoadStep]:
    """Measures each number of conversations. Raises NotStartedError, ClientFailedError, httpx.HTTPError."""
    steps = []
    for count in plan.counts:
        async with model(LlmBehaviour(ttft_ms=100.0), plan.out) as llm:
            settings = plan.server_settings(count)
            async with server(llm.url, settings, plan.out / f"server-{count}.log") as running_server:
                steps.append(await _step(plan, count, running_server, llm.log))
        sys.stderr.write(f"{count} at once: measured\n")
    return steps


async def _step(plan: LoadPlan, count: int, running_server: Server, log: Path) -> LoadStep:
    busy, began_s = busy_of_machine(), time.monotonic()
    cpu, before_mb = cpu_of(running_server.pid), resident_mb(running_server.pid)
    most_mb = [] if before_mb is None else [before_mb]
    looking = asyncio.create_task(_look(running_server.pid, most_mb))
    try:
        turns, scraped = await run_clients(plan, count, running_server, log)
    finally:
        looking.cancel()
    cpu_after, busy_after = cpu_of(running_server.pid), busy_of_machine()
    others = None
    if busy is not None and busy_after is not None:
        took_s = (time.monotonic() - began_s) * (os.cpu_count() or 1)
        others = max(0.0, (busy_after[0] - busy[0] - (busy_after[1] - busy[1])) / took_s)
    used = None if cpu is None or cpu_after is None else cpu_after - cpu
    lag_s = sample_of(scraped, "repartee_load_seconds", 'of="loop_lag_p99"')
    use = ServerUse(
        None if used is None else used.loop_s,
        None if used is None else used.engines_s,
        None if used is None else used.threads_s,
        before_mb,
        max(most_mb, default=None),
        None if lag_s is None else lag_s * 1000,
        refusals_of(await scrape(running_server.url)),
    )
    return LoadStep(count, turns, use, others)


async def run_clients(
    plan: LoadPlan, count: int, running_server: Server, log: Path
) -> tuple[tuple[LoadTurn, ...], str]:
    """Runs the client processes. Returns their turns, and the server's metrics when the first of them ended.

    Raises ClientFailedError, httpx.HTTPError.
    """
    stagger_s = ADMISSION_STAGGER_S if plan.admission else STAGGER_S
    scraped: list[str] = []

    async def run(first: int) -> tuple[LoadTurn, ...]:
        arguments = {
            "--url": running_server.url, "--manifest": plan.manifest, "--log": log, "--first": first, "--of": count,
            "--sessions": min(PER_PROCESS, count - first), "--turns": plan.turns, "--stagger-s": stagger_s,
            "--answered-within-s": plan.answered_within_s,
        }  # fmt: skip
        command = [sys.executable, "-m", "bench.under_load.load_client"]
        command += [str(part) for pair in arguments.items() for part in pair]
        output = await _output(command, plan.turns * plan.turn_limit_s + count * stagger_s)
        if not scraped:
            scraped.append("")  # the others do not ask, too
            scraped[0] = await scrape(running_server.url)
        return turns_of(output.splitlines())

    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(run(first)) for first in range(0, count, PER_PROCESS)]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return tuple(turn for task in running for turn in task.result()), scraped[0]


async def _output(command: Sequence[str], limit_s: float) -> str:
    """Runs a command and returns its output. Raises ClientFailedError."""
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(limit_s):
            output, _ = await process.communicate()
    except TimeoutError as error:
        raise ClientFailedError(f"the clients did not end within {limit_s:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ClientFailedError(f"a client process ended with {process.returncode}")
    return output.decode()


async def _look(pid: int, seen_mb: list[float]) -> None:
    """Keeps the most memory of the process in `seen_mb` until cancelled."""
    while True:
        now_mb = resident_mb(pid)
        if now_mb is not None:
            seen_mb[:] = [max(now_mb, *seen_mb)] if seen_mb else [now_mb]
        await asyncio.sleep(LOOK_S)


def resident_mb(pid: int) -> float | None:
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return None


async def scrape(url: str) -> str:
    """Returns the metrics of the server at a ws:// URL."""
    address = url.replace("ws://", "http://", 1).partition("/v1/")[0]
    async with httpx.AsyncClient(trust_env=False, timeout=SCRAPE_TIMEOUT_S) as client:
        answer = await client.get(f"{address}/metrics")
        answer.raise_for_status()
        return answer.text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[8, 16, 24, 32], help="conversations at once")
    parser.add_argument("--brief", action="store_true", help="8 conversations of 4 turns only")
    parser.add_argument("--turns", type=int, default=10, help="turns of each conversation")
    parser.add_argument("--admission", action="store_true", help="admit by the measured load")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--manifest", type=Path, default=MANIFEST)
    parser.add_argument("--out", type=Path, default=Path("out/load"))
    parser.add_argument("--doc", type=Path, help="page that gets the figures")
    return parser


def main() -> None:
    """Measures, prints the table, and writes it into the page."""
    options = _parser().parse_args()
    counts, turns = ((8,), 4) if options.brief else (tuple(options.counts), options.turns)
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    plan = LoadPlan(counts, turns, options.admission, tuple(options.set), options.manifest, out)
    started_at = datetime.now(UTC).isoformat()
    try:
        steps = asyncio.run(measure(plan))
    except (NotStartedError, ClientFailedError, httpx.HTTPError) as error:
        raise SystemExit(f"bench.under_load.load: {error}") from error
    command = shlex.join(["python", "-m", "bench.under_load.load", *sys.argv[1:]])
    admission = f"server.admission={'measured' if plan.admission else 'fixed'}"
    settings = (*SETTINGS, admission, *plan.settings)
    run = LoadRun(command, started_at, os.cpu_count() or 1, settings, tuple(steps))
    print(figures_table(run))
    if options.doc is not None:
        write_page(section(run), options.doc, BEGIN)
        print(options.doc)


if __name__ == "__main__":
    main()
