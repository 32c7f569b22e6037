"""The commands `repartee bench ...`: measurements on this machine."""

import asyncio
import os
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from assistant.commands.options import Config, Overrides, settings_of, with_home
from assistant.support.console import terminal, write_json

Window = Literal["adaptive", "full", "dynamic", "all"]

bench = typer.Typer(help="Measure engines on this machine.", no_args_is_help=True)


@bench.callback()
def bench_group() -> None:
    """Measure engines on this machine."""


@bench.command()
def engines(  # noqa: PLR0917 - each is an option of the command
    manifest: Annotated[
        Path | None,
        typer.Option(
            parser=with_home,
            metavar="FILE",
            help="Labels of recordings as JSON lines; default: five requests, free and read speech, and noise.",
        ),
    ] = None,
    stt: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this recognizer, its model or a folder; may be repeated."),
    ] = None,
    tts: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this voice engine, voice or its file; may be repeated."),
    ] = None,
    window: Annotated[
        Window | None,
        typer.Option(
            metavar="NAME",
            help="Encoder window: adaptive, full, dynamic or all; default: the configured one.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Threads of the recognizer; default: 1, and then 2."),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, metavar="N", help="How often each recording and each sentence is used.")
    ] = 1,
    out: Annotated[
        Path, typer.Option(parser=with_home, metavar="DIR", help="Folder for engines.json, .svg and .png.")
    ] = Path("out"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the tables.")] = False,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Measure recognizers and voices: word errors, latencies, real-time factors. Runs all recordings per setting."""
    from assistant.commands.engine_bench.bench import SECTION, THREADS, WINDOWS, Bench, measure
    from assistant.commands.engine_bench.report import as_json as spelled
    from assistant.commands.engine_bench.report import tables, write
    from assistant.commands.engine_bench.verdict import verdict
    from assistant.support.plots import why_no_plots

    settings = settings_of(config, overrides).settings  # reports errors and ignored files before the measurement
    configured = str(settings.value(f"{SECTION}.encoder_window"))
    progress = terminal(stderr=True)
    bench = Bench(
        os.environ,
        config,
        overrides or [],
        manifest,
        stt or [],
        tts or [],
        rounds,
        windows=WINDOWS if window == "all" else (window or configured,),
        threads=(threads,) if threads else THREADS,
    )
    with progress.status("reading the recordings") as status:
        # As Text: a spinner interprets markup even if its console does not.
        report = asyncio.run(measure(bench, lambda what: status.update(Text(what))))
    # Shown before it is written: the measurement took minutes, and writing may fail.
    console = terminal()
    if as_json:
        write_json(spelled(report))
    else:
        for table in tables(report):
            console.print(table, "")
        for line in verdict(report):
            console.print(Text(line, style="bold"), soft_wrap=True)
    written = write(report, out)
    if not as_json:
        console.print(*written, sep="\n", soft_wrap=True)
        if reason := why_no_plots():
            console.print(f"no plot: {reason}", soft_wrap=True)
