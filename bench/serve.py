"""Measures `repartee serve` from outside: speaks recordings to it in real time and times its answers.

    python -m bench.serve [--quick] [--manifest FILE] [--out DIR] [--only turns,paused,…] [--set SECTION.KEY=VALUE]
    python -m bench.serve --profiles balanced,eager,patient --engine whisper-tiny,whisper-base
    python -m bench.serve --doc docs/lab/performance.md

Starts a controlled LLM and the server with its defaults on free ports, speaks as a microphone would, and prints the
results. Parts: turns (plain ones), paused (with a pause of 300 ms inside), bargein (the clip again into its answer),
hold (noise into an answer), noise (alone), sessions (eight users at once), warmup (the first turns after a start),
sweep (time to the first token, and token rate), profiles and engines (turns again with other settings), curve (latency
against cut-ins, for each EOT source alone and all together; computed). In --out: turns.jsonl (a line for each turn,
with its trace), traces/ (as the server wrote them), run.json, report.md and plots. `--against DIR` also prints a table
beside an earlier run's --out; `--doc PAGE` writes the figures into a page (bench/serving/doc.py).
"""

import argparse
import asyncio
import os
import shlex
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from bench.controlled_llm import LlmBehaviour
from bench.conversations.processes import NotStartedError, Server, busy_of_machine, cpu_of, model, server
from bench.conversations.recordings import Recording, read_recordings
from bench.serving.compare import comparison
from bench.serving.curve import trade_curve
from bench.serving.doc import write_page
from bench.serving.plan import QUICK, Plan, first_turns, play_scenario, varied
from bench.serving.plots import plot
from bench.serving.rows import PARTS, SCENARIOS, Cost, CurvePoint, Part, Row, Run, Scenario, read, total, write
from bench.serving.scenarios import Stage
from bench.serving.table import report
from bench.serving.variants import ENGINES, PROFILES, Variant, engines_of, of_engine, of_profile, profiles_of

MANIFEST = Path("bench/clips/manifest.jsonl")
TRACES = "traces"


@dataclass(slots=True)
class Bench:
    """One run.

    Attributes:
        recordings: Recordings to speak.
        plan: How much of each scenario to play.
        behaviour: Settings of the LLM.
        settings: Settings of the server, `section.key=value`.
        out: Folder for the output of the processes.
        rows: Rows measured so far.
        costs: Costs measured so far.
        ready_s: Startup time of the first start.
        engines: Engines of the first start.
    """

    recordings: Sequence[Recording]
    plan: Plan
    behaviour: LlmBehaviour
    settings: Sequence[str]
    out: Path
    rows: list[Row] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)
    ready_s: float = 0.0
    engines: tuple[str, ...] = ()

    async def run(self, scenarios: Sequence[Scenario], variants: Sequence[Variant]) -> None:
        """Measures. Raises NotStartedError, httpx.HTTPError."""
        async with model(self.behaviour, self.out) as llm:
            on_one = [scenario for scenario in scenarios if scenario != "warmup"]
            if on_one:
                async with self._server(llm.url) as running_server:
                    for scenario in on_one:
                        await self._measure(
                            Stage(running_server.url, llm, self.behaviour, scenario), running_server.pid, self.plan
                        )
            if "warmup" in scenarios:
                for start in range(1, self.plan.starts + 1):
                    async with self._server(llm.url) as running_server:
                        stage = Stage(running_server.url, llm, self.behaviour, "warmup", start=start)
                        await self._measure(stage, running_server.pid, self.plan)
            for variant in variants:
                async with self._server(llm.url, variant) as running_server:
                    for again in variant.scenarios:
                        stage = Stage(running_server.url, llm, self.behaviour, again, variant=variant.name)
                        await self._measure(stage, running_server.pid, varied(self.plan))

    @asynccontextmanager
    async def _server(self, llm_url: str, variant: Variant | None = None) -> AsyncGenerator[Server]:
        given = variant or Variant("run", (), ())
        # The row of a turn holds its trace as well. These files are for tools that read traces.
        settings = [f"trace.dir={self.out / TRACES / given.name}", *self.settings, *given.settings]
        async with server(llm_url, settings, self.out / f"server-{given.name}.log", given.program) as running_server:
            if not self.engines:
                self.ready_s, self.engines = running_server.ready_s, running_server.engines
            yield running_server

    async def _measure(self, stage: Stage, pid: int, plan: Plan) -> None:
        loop = asyncio.get_running_loop()
        before, began_s = cpu_of(pid), loop.time()
        await stage.model.configure(self.behaviour)
        playing = first_turns if stage.scenario == "warmup" else play_scenario
        rows = await playing(stage, self.recordings, plan)
        self.rows += rows
        took_s, after = loop.time() - began_s, cpu_of(pid)
        sys.stderr.write(f"{stage.scenario} {stage.variant}".rstrip() + f": {len(rows)} in {took_s:.0f} s\n")
        if rows and before is not None and after is not None:
            cpu = after - before
            people = plan.sessions if stage.scenario == "sessions" else 1
            minutes = people * took_s / 60
            self.costs.append(Cost(stage.scenario, minutes, cpu.loop_s, cpu.threads_s, cpu.engines_s, stage.variant))


def measure(options: argparse.Namespace) -> Run:
    """Plays the requested parts. Raises SystemExit if a process does not start."""
    plan = QUICK if options.quick else Plan()
    chosen = {
        name: value for name in ("max_clips", "rounds", "sessions") if (value := getattr(options, name)) is not None
    }
    bench = Bench(
        read_recordings(options.manifest),
        replace(plan, **chosen),
        LlmBehaviour(options.ttft_ms, options.tokens_per_s),
        options.set,
        options.out,
    )
    variants = [of_profile(name) for name in options.profiles] if "profiles" in options.only else []
    if "engines" in options.only:
        variants += [of_engine(name, options.manifest) for name in options.engine]
    started_at, before, began_s = datetime.now(UTC).isoformat(), busy_of_machine(), time.monotonic()
    try:
        asyncio.run(bench.run([scenario for scenario in SCENARIOS if scenario in options.only], variants))
    except NotStartedError as error:
        raise SystemExit(f"bench.serve: {error}") from error
    took_s, cores = time.monotonic() - began_s, os.cpu_count() or 1
    after = busy_of_machine()
    others = None
    if before is not None and after is not None:
        others = max(0.0, (after[0] - before[0] - (after[1] - before[1])) / (took_s * cores))
    return Run(
        shlex.join(["python", "-m", "bench.serve", *sys.argv[1:]]),
        started_at,
        cores,
        others,
        bench.ready_s,
        bench.engines,
        total(bench.costs),
        tuple(bench.rows),
        _curve(options),
        tuple(options.set),
    )


def _curve(options: argparse.Namespace) -> tuple[CurvePoint, ...]:
    if "curve" not in options.only:
        return ()
    began_s = time.monotonic()
    points = trade_curve(options.manifest)
    sys.stderr.write(f"curve: {len(points)} in {time.monotonic() - began_s:.0f} s\n")
    return points


def parts_of(text: str) -> list[Part]:
    """Parses a list of parts and returns them in playing order. Raises argparse.ArgumentTypeError."""
    names = text.split(",")
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; choose from {','.join(PARTS)}")
    return [part for part in PARTS if part in names]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two clips of each kind, once: a smoke test")
    parser.add_argument(
        "--manifest",
        type=Path,
        default=MANIFEST,
        help="manifest; bench/conversations/recordings.py describes the format",
    )
    parser.add_argument("--out", type=Path, default=Path("out/serve"))
    parser.add_argument("--only", type=parts_of, default=list(PARTS), metavar="PART,…", help=",".join(PARTS))
    parser.add_argument(
        "--profiles",
        type=profiles_of,
        default=["balanced", "eager", "patient"],
        metavar="NAME,…",
        help=",".join(PROFILES),
    )
    parser.add_argument(
        "--engine",
        type=engines_of,
        default=["whisper-tiny", "whisper-base"],
        metavar="NAME,…",
        help=",".join(ENGINES),
    )
    parser.add_argument("--against", type=Path, metavar="DIR", help="--out folder of an earlier run to compare with")
    parser.add_argument("--doc", type=Path, metavar="PAGE", help="write the figures and plots into this page")
    parser.add_argument("--max-clips", type=int, metavar="N", help="maximum number of clips of each kind; default: all")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often turns with and without a pause are played")
    parser.add_argument("--sessions", type=int, metavar="N", help="number of simultaneous users")
    parser.add_argument("--ttft-ms", type=float, default=100.0, help="time to the first token of the model, in ms")
    parser.add_argument("--tokens-per-s", type=float, default=50.0)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="setting of the server")
    return parser


def main() -> None:
    """Measures, prints and stores the run."""
    options = _parser().parse_args()
    before = read(options.against) if options.against is not None else None  # it may be the same folder
    options.out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(options.out / TRACES, ignore_errors=True)  # of an earlier run
    run = measure(options)
    write(run, options.out)
    text = report(run) + ("" if before is None else f"\n\n{comparison(before, run)}")
    (options.out / "report.md").write_text(f"{text}\n", encoding="utf-8")
    print(text)
    for path in plot(run, options.out):
        print(path)
    if options.doc is not None:
        print(*write_page(run, options.doc), sep="\n")


if __name__ == "__main__":
    main()
