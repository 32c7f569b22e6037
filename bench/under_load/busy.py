"""Measures conversations while other programs use the processors: answers, latency, memory, restarts of engines.

    python -m bench.under_load.busy  # beside 0, 2, 4, 8, 16 processes and an installation
    python -m bench.under_load.busy --loads 0 16 --turns 2 --no-installation
    python -m bench.under_load.busy --doc docs/performance.md

Each load gets a fresh server and the controlled language model, the clients of bench.under_load.load, and programs that
compute without a pause. The installation unpacks and compiles installed packages again and again, as pip does, without
the network. The machine should be idle otherwise. Linux only.
"""

import argparse
import asyncio
import os
import re
import shlex
import sys
import sysconfig
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx

from bench.controlled_llm import LlmBehaviour
from bench.conversations.processes import NotStartedError, Server, busy_of_machine, model, server
from bench.doc_tables import write_page
from bench.under_load.busy_figures import BEGIN, BusyStep, figures_table, section
from bench.under_load.load import MANIFEST, ClientFailedError, LoadPlan, run_clients, scrape
from bench.under_load.load_figures import sample_of
from bench.under_load.soak import usage_of

SETTINGS = ("stt.model=tiny.en",)
LOADS = (0, 2, 4, 8, 16)
ANSWERED_WITHIN_S = 60.0
"""Time limit of an answer: what is later helps nobody."""

TURN_LIMIT_S = 150.0
CALM_S = 12.0
"""Time after the other programs have ended in which memory is returned, in seconds."""

LOOK_S = 1.0
SPIN = "while True: pass"
INSTALL = """
import compileall, pathlib, shutil, sys
source, target = map(pathlib.Path, sys.argv[1:])
while True:
    for package in ("sympy", "numpy", "networkx", "pip", "setuptools"):
        if (source / package).is_dir():
            shutil.rmtree(target / package, ignore_errors=True)
            shutil.copytree(source / package, target / package)
            compileall.compile_dir(target / package, quiet=2, force=True)
"""
INSTALLERS = 2
"""Processes of the installation, as many as `pip` and the build of a package take."""

_RESTARTED = re.compile(r"hung and was abandoned|is being restarted|could not be restarted")


@dataclass(frozen=True, slots=True)
class Load:
    """Programs that run beside the conversations.

    Attributes:
        name: The name in the table.
        spinning: Number of processes that compute without a pause.
        installs: Whether a package installation runs.
    """

    name: str
    spinning: int = 0
    installs: bool = False


@asynccontextmanager
async def others(load: Load) -> AsyncGenerator[list[int]]:
    """Runs the other programs while the block runs. Yields their process ids."""
    with tempfile.TemporaryDirectory() as folder:
        installation = [INSTALL, sysconfig.get_path("purelib")]
        commands = [[SPIN]] * load.spinning
        for number in range(INSTALLERS * load.installs):
            target = Path(folder) / str(number)
            target.mkdir()
            commands.append([*installation, str(target)])
        running = [await asyncio.create_subprocess_exec(sys.executable, "-c", *command) for command in commands]
        try:
            yield [process.pid for process in running]
        finally:
            for process in running:
                process.kill()
            for process in running:
                await process.wait()


async def measure(plan: LoadPlan, loads: list[Load]) -> list[BusyStep]:
    """Measures each load. Raises NotStartedError, ClientFailedError, httpx.HTTPError."""
    steps = []
    for number, load in enumerate(loads):
        log = plan.out / f"server-{number}.log"
        async with (
            model(LlmBehaviour(ttft_ms=100.0), plan.out) as llm,
            server(llm.url, plan.server_settings(plan.counts[0]), log) as running_server,
        ):
            steps.append(await _step(plan, load, running_server, llm.log, log))
        sys.stderr.write(f"beside {load.name}: measured\n")
        sys.stderr.writelines(f"  lost: {turn.lost}\n" for turn in steps[-1].turns if turn.lost)
    return steps


async def _step(plan: LoadPlan, load: Load, running_server: Server, llm_log: Path, log: Path) -> BusyStep:
    await run_clients(replace(plan, turns=1), 1, running_server, llm_log)  # loads what is loaded on use
    before_mb, levels = usage_of(running_server.pid, 0.0, None).memory_mb, [0.0]
    most_mb = [before_mb]
    async with others(load) as running:
        busy, began_s = busy_of_machine(), asyncio.get_running_loop().time()
        looking = asyncio.create_task(_look(running_server, most_mb, levels))
        try:
            turns, _ = await run_clients(plan, plan.counts[0], running_server, llm_log)
        finally:
            looking.cancel()
        share = _share_of_others(busy, busy_of_machine(), asyncio.get_running_loop().time() - began_s, running)
    await asyncio.sleep(CALM_S)
    after_mb = usage_of(running_server.pid, 0.0, None).memory_mb
    return BusyStep(load.name, share, turns, before_mb, max(most_mb), after_mb, _restarts(log), _level(levels))


def _restarts(log: Path) -> int:
    return len(_RESTARTED.findall(log.read_text(encoding="utf-8", errors="replace")))


def _share_of_others(
    before: tuple[float, float] | None, after: tuple[float, float] | None, took_s: float, running: list[int]
) -> float | None:
    """Returns the share of all processors that the other programs took, which are children of this process."""
    if before is None or after is None:
        return None
    hz, used_s = os.sysconf("SC_CLK_TCK"), 0.0
    for pid in running:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        used_s += (int(fields[11]) + int(fields[12])) / hz
    foreign_s = after[0] - before[0] - (after[1] - before[1])
    return (used_s + max(0.0, foreign_s)) / (took_s * (os.cpu_count() or 1))


async def _look(running_server: Server, most_mb: list[float], levels: list[float]) -> None:
    """Keeps the most memory, and each level of what is left out, until cancelled."""
    while True:
        most_mb.append(usage_of(running_server.pid, 0.0, None).memory_mb)
        try:
            level = sample_of(await scrape(running_server.url), "repartee_degradation_level")
        except httpx.HTTPError:
            level = None  # a server without processor time answers late
        levels += [] if level is None else [level]
        await asyncio.sleep(LOOK_S)


def _level(levels: list[float]) -> int | None:
    return round(max(levels)) if len(levels) > 1 else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", type=int, nargs="*", default=list(LOADS), help="numbers of spinning processes")
    parser.add_argument("--no-installation", action="store_true", help="without the package installation")
    parser.add_argument("--conversations", type=int, default=4)
    parser.add_argument("--turns", type=int, default=8, help="turns of each conversation")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--manifest", type=Path, default=MANIFEST)
    parser.add_argument("--out", type=Path, default=Path("out/busy"))
    parser.add_argument("--doc", type=Path, help="page that gets the figures")
    return parser


def main() -> None:
    """Measures, prints the table, and writes it into the page."""
    options = _parser().parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    settings = (*SETTINGS, *options.set)
    plan = LoadPlan(
        (options.conversations,),
        options.turns,
        admission=True,
        settings=("tts.engine=auto", *settings),
        manifest=options.manifest,
        out=out,
        answered_within_s=ANSWERED_WITHIN_S,
        turn_limit_s=TURN_LIMIT_S,
    )
    loads = [Load(f"{count} spinning" if count else "nothing", count) for count in options.loads]
    loads += [] if options.no_installation else [Load("a package installation", installs=True)]
    started_at = datetime.now(UTC).isoformat()
    try:
        steps = asyncio.run(measure(plan, loads))
    except (NotStartedError, ClientFailedError, httpx.HTTPError) as error:
        raise SystemExit(f"bench.under_load.busy: {error}") from error
    print(figures_table(steps))
    if options.doc is not None:
        command = shlex.join(["python", "-m", "bench.under_load.busy", *sys.argv[1:]])
        write_page(section(command, started_at, os.cpu_count() or 1, settings, steps), options.doc, BEGIN)
        print(options.doc)


if __name__ == "__main__":
    main()
