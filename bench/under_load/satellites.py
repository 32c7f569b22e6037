"""Measures what twenty satellites cost `repartee serve`: idle, beside one conversation, all at once, after a restart.

    python -m bench.under_load.satellites                       # everything, about 12 minutes
    python -m bench.under_load.satellites --only idle --kinds own --seconds 20
    python -m bench.under_load.satellites --doc docs/performance.md

A satellite sleeps by its own wake word detector and sends nothing (own), sends room noise and sleeps by the server's
detector (server), or is always listened to (open). Whisper `tiny.en`, espeak-ng, and the controlled language model.
Satellites run in a process of their own, on the same cores; the server's processor time is its own.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from assistant.pipeline.reply_source import RECOGNIZER_BUSY
from assistant.trace.waterfall import nearest_rank
from bench.controlled_llm import LlmBehaviour
from bench.conversations.processes import Model, NotStartedError, Server, cpu_of, model, server
from bench.conversations.recordings import Recording, chosen, read_recordings
from bench.doc_tables import write_page
from bench.serving.cells import NONE, table
from bench.serving.scenarios import Stage, conversation
from bench.under_load.load import SETTINGS, resident_mb, scrape
from bench.under_load.load_figures import sample_of
from bench.under_load.satellite_crowd import WAKE_WORD, Kind

MANIFEST = Path("bench/clips/manifest.jsonl")
BEGIN = "<!-- Written by python -m bench.under_load.satellites --doc: -->"
KINDS: tuple[Kind, ...] = ("own", "server", "open")
PARTS = ("idle", "beside", "rush", "storm")
COUNT = 20
CONNECTED_WITHIN_S = 120.0
SETTLE_S = 12.0
"""Time after the last connection that is not measured, in seconds: engines are made, and the heap settles."""
PAUSE_S = 15.0
"""Time before all wake, in seconds: the server counts none of them as beginning."""


@dataclass(slots=True)
class Crowd:
    """The process of the satellites."""

    process: asyncio.subprocess.Process
    connected: dict[str, Any] = field(default_factory=dict)

    async def until_connected(self) -> None:
        """Waits until all are connected. Raises NotStartedError."""
        self.connected = json.loads(await self._line())

    async def tell(self, command: str) -> None:
        """Sends a command."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n".encode())
        await self.process.stdin.drain()

    async def wake(self) -> list[dict[str, Any]]:
        """Wakes all and returns what each was told."""
        await self.tell("wake")
        woken: list[dict[str, Any]] = json.loads(await self._line())
        await self.until_connected()
        return woken

    async def _line(self) -> bytes:
        assert self.process.stdout is not None
        async with asyncio.timeout(CONNECTED_WITHIN_S):
            line = await self.process.stdout.readline()
        if not line:
            raise NotStartedError("the satellites' process ended")
        return line


@asynccontextmanager
async def satellites(url: str, kind: Kind, count: int) -> AsyncGenerator[Crowd]:
    """Runs satellites while the block runs, from when all are connected."""
    command = [sys.executable, "-m", "bench.under_load.satellite_crowd", "--url", url, "--kind", kind]
    command += ["--count", str(count), "--manifest", str(MANIFEST)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    crowd = Crowd(process)
    try:
        await crowd.until_connected()
        yield crowd
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a run."""

    out: Path
    seconds: float
    rounds: int
    counts: tuple[int, ...]
    woken: tuple[int, ...]
    settings: tuple[str, ...]

    @asynccontextmanager
    async def serving(
        self, name: str, port: int = 0, *, admission: str = "fixed"
    ) -> AsyncGenerator[tuple[Server, Model]]:
        """Runs the language model and the server."""
        settings = [*SETTINGS, f"server.max_sessions={max(self.woken) + 2}", f"server.wake_words={WAKE_WORD}"]
        settings += [f"server.admission={admission}", f"trace.dir={self.out / 'traces'}", f"server.port={port}"]
        async with (
            model(LlmBehaviour(ttft_ms=100.0), self.out) as llm,
            server(llm.url, [*settings, *self.settings], self.out / f"{name}.log") as running_server,
        ):
            yield running_server, llm


async def idle(plan: Plan, kinds: Sequence[Kind]) -> str:
    """Returns what idle satellites cost, as a table."""
    rows = []
    for kind in kinds:
        for count in plan.counts:
            async with plan.serving(f"idle-{kind}-{count}") as (running_server, _):
                before_mb = resident_mb(running_server.pid) or 0.0
                async with contextlib.AsyncExitStack() as stack:
                    if count:
                        await stack.enter_async_context(satellites(running_server.url, kind, count))
                    await asyncio.sleep(SETTLE_S)
                    before = cpu_of(running_server.pid)
                    await asyncio.sleep(plan.seconds)
                    after = cpu_of(running_server.pid)
                    after_mb = resident_mb(running_server.pid) or 0.0
                    lag_s = sample_of(await scrape(running_server.url), "repartee_load_seconds", 'of="loop_lag_p99"')
            if before is None or after is None:
                raise NotStartedError("this system has no /proc")
            used = after - before
            each_mb = f"{(after_mb - before_mb) / count:.1f}" if count else NONE
            rows.append(
                (
                    kind if count else "none",
                    str(count),
                    f"{100 * used.all_s / plan.seconds:.2f} %",
                    f"{100 * used.loop_s / plan.seconds:.2f} %",
                    each_mb,
                    NONE if lag_s is None else f"{lag_s * 1000:.1f}",
                )
            )
            sys.stderr.write(f"{rows[-1]}\n")
    return table(("satellites", "connected", "of a core", "event loop", "MB each", "loop lag p99 ms"), rows)


async def _latencies(running_server: Server, llm: Model, recordings: Sequence[Recording]) -> dict[str, float]:
    """Returns the response latency of each clip by the server's trace, in ms."""
    rows = await conversation(Stage(running_server.url, llm, LlmBehaviour(), "turns"), recordings)
    latencies = {}
    for row in rows:
        for trace in row.traces:
            if trace.get("response_latency_ms") is not None:
                latencies[row.clip] = float(trace["response_latency_ms"])
    return latencies


async def beside(plan: Plan, kinds: Sequence[Kind]) -> str:
    """Returns the latency of one conversation alone and beside idle satellites, as a table.

    Pairs of earlier runs with the same `--out` count, too.
    """
    recordings = chosen(read_recordings(MANIFEST), "plain", 6)
    rows = []
    for kind in kinds:
        pairs_file = plan.out / f"pairs-{kind}.jsonl"
        async with plan.serving(f"beside-{kind}") as (running_server, llm):
            await _latencies(running_server, llm, recordings[:1])
            for number in range(plan.rounds):
                by_count: dict[int, dict[str, float]] = {}
                for count in (0, COUNT - 1) if number % 2 == 0 else (COUNT - 1, 0):
                    async with contextlib.AsyncExitStack() as stack:
                        if count:
                            await stack.enter_async_context(satellites(running_server.url, kind, count))
                            await asyncio.sleep(1.0)
                        by_count[count] = await _latencies(running_server, llm, recordings)
                    await asyncio.sleep(0.5)
                with pairs_file.open("a", encoding="utf-8") as output:
                    for clip in sorted(by_count[0].keys() & by_count[COUNT - 1].keys()):
                        output.write(f"{json.dumps([by_count[0][clip], by_count[COUNT - 1][clip]])}\n")
        pairs = [json.loads(line) for line in pairs_file.read_text(encoding="utf-8").splitlines()]
        alone, together = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        differences = [pair[1] - pair[0] for pair in pairs]
        low, high = _interval(differences)
        rows.append(
            (
                kind,
                str(len(differences)),
                _pair(alone),
                _pair(together),
                f"{float(np.median(differences)):+.0f} ({low:+.0f} to {high:+.0f})",
            )
        )
        sys.stderr.write(f"{rows[-1]}\n")
    heads = (
        "idle beside",
        "pairs",
        "alone: p50 / p95 ms",
        f"beside {COUNT - 1}: p50 / p95 ms",
        "difference, median ms",
    )
    return table(heads, rows)


def _pair(values: Sequence[float]) -> str:
    return f"{nearest_rank([*values], 50):.0f} / {nearest_rank([*values], 95):.0f}" if values else NONE


def _interval(differences: Sequence[float]) -> tuple[float, float]:
    """Returns the 95 % interval of the median, by bootstrap."""
    chance = np.random.default_rng(1)
    medians = np.median(chance.choice(np.asarray(differences), (4000, len(differences))), axis=1)
    return float(np.quantile(medians, 0.025)), float(np.quantile(medians, 0.975))


async def rush(plan: Plan, kinds: Sequence[Kind]) -> str:
    """Returns what satellites were told that all woke at once, and again after the rush, as a table."""
    rows = []
    for kind, count in product(kinds, plan.woken):
        async with (
            plan.serving(f"rush-{kind}-{count}", admission="measured") as (running_server, _),
            satellites(running_server.url, kind, count) as crowd,
        ):
            await asyncio.sleep(PAUSE_S)
            for name in ("at once", "again"):
                woken = await crowd.wake()
                lag_s = sample_of(await scrape(running_server.url), "repartee_load_seconds", 'of="loop_lag_p99"')
                rows.append(rush_row(kind, name, woken, lag_s))
                sys.stderr.write(f"{rows[-1]}\n")
                (plan.out / f"rush-{kind}-{count}-{name}.json").write_text(json.dumps(woken, indent=1))
                await asyncio.sleep(PAUSE_S)
    heads = ("satellites", "woken", "answered", "told that it is busy", "silent", "answer p50 / p95 ms",
             "told p50 / p95 ms", "loop lag p99 ms")  # fmt: skip
    return table(heads, rows)


def rush_row(kind: str, name: str, woken: Sequence[dict[str, Any]], lag_s: float | None) -> tuple[str, ...]:
    """Returns the row of one rush."""
    spoken = [one for one in woken if one["latency_ms"] is not None]
    answered = [one["latency_ms"] for one in spoken if RECOGNIZER_BUSY not in one["text"]]
    told = [one["latency_ms"] for one in spoken if RECOGNIZER_BUSY in one["text"]]
    silent = len(woken) - len(spoken)
    lag = NONE if lag_s is None else f"{lag_s * 1000:.0f}"
    return (
        kind,
        f"{len(woken)} {name}",
        str(len(answered)),
        str(len(told)),
        str(silent),
        _pair(answered),
        _pair(told),
        lag,
    )


async def storm(plan: Plan) -> str:
    """Returns how long satellites need until all are connected after a restart, as a table."""
    rows = []
    recordings = chosen(read_recordings(MANIFEST), "plain", 3)
    async with contextlib.AsyncExitStack() as stack:
        async with plan.serving("storm-first", admission="measured") as (first, _):
            port = int(first.url.split(":")[2].split("/")[0])
            crowd = await stack.enter_async_context(satellites(first.url, "own", COUNT))
            await crowd.tell("lose")
        async with plan.serving("storm-second", port, admission="measured") as (second, llm):
            began_s = asyncio.get_running_loop().time()
            talk = asyncio.create_task(_latencies(second, llm, recordings))
            await crowd.until_connected()
            took_s = asyncio.get_running_loop().time() - began_s
            latencies = await talk
            lag_s = sample_of(await scrape(second.url), "repartee_load_seconds", 'of="loop_lag_p99"')
            refusals = crowd.connected["refusals"]
            rows.append(
                (
                    f"{took_s:.1f}",
                    str(len(refusals)),
                    f"{len(latencies)} of {len(recordings)}",
                    _pair(list(latencies.values())),
                    NONE if lag_s is None else f"{lag_s * 1000:.1f}",
                )
            )
    heads = ("all connected after s", "refused tries", "turns of a conversation meanwhile", "p50 / p95 ms",
             "loop lag p99 ms")  # fmt: skip
    return table(heads, rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--counts", type=int, nargs="+", default=[0, 1, 5, COUNT], help="idle satellites")
    parser.add_argument("--woken", type=int, nargs="+", default=[COUNT], help="satellites that wake at once")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a measurement of idle satellites")
    parser.add_argument("--rounds", type=int, default=2, help="alternations of alone and beside")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="setting of the server")
    parser.add_argument("--out", type=Path, default=Path("out/satellites"))
    parser.add_argument("--doc", type=Path, help="page that gets the tables")
    return parser


async def _measure(plan: Plan, parts: Sequence[str], kinds: Sequence[Kind]) -> list[str]:
    tables = []
    if "idle" in parts:
        tables.append(await idle(plan, kinds))
    if "beside" in parts:
        tables.append(await beside(plan, kinds))
    if "rush" in parts:
        # One wake word that the server hears in several rooms at once is answered in one of them.
        tables.append(await rush(plan, [kind for kind in kinds if kind != "server"]))
    if "storm" in parts:
        tables.append(await storm(plan))
    return tables


def main() -> None:
    """Measures and prints the tables, and writes them into a page if asked."""
    options = _parser().parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    settings = tuple(options.set)
    plan = Plan(out, options.seconds, options.rounds, tuple(options.counts), tuple(options.woken), settings)
    started_at = datetime.now(UTC).isoformat()
    try:
        tables = asyncio.run(_measure(plan, options.only, options.kinds))
    except NotStartedError as error:
        raise SystemExit(f"bench.under_load.satellites: {error}") from error
    print("\n\n".join(tables))
    if options.doc is not None:
        text = f"{started_at[:16].replace('T', ' ')} UTC, {os.cpu_count()} cores.\n\n" + "\n\n".join(tables)
        write_page(text, options.doc, BEGIN)


if __name__ == "__main__":
    main()
