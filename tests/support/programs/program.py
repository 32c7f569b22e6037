"""Runs `repartee` with given arguments, in a child of a process that has already imported it.

A start takes 0.1 s of processor time instead of 0.6 to 2 s. The child has its own arguments, folder, environment and
output files. What concerns the start of the interpreter itself needs `subprocess`: PYTHON* variables, Ctrl-C during
imports, resource limits, the console script.
"""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from audio.telemetry import switch_off_telemetry

REPARTEE = Path(sys.executable).with_name("repartee")

_IMPORTED = (
    "assistant.commands.demo",
    "assistant.commands.doctor.command",
    "assistant.commands.engine_bench.bench",
    "assistant.commands.llm_endpoints.editing",
    "assistant.commands.llm_endpoints.survey",
    "assistant.commands.init",
    "assistant.commands.options",
    "assistant.commands.talk.command",
    "assistant.commands.talk.plain",
    "assistant.commands.talk.screen",
    "assistant.config.loading",
    "assistant.models.needs",
    "repartee.program",
    "assistant.replay.commands",
    "assistant.trace_report.commands",
    "rich.table",
    # What typer imports when it parses arguments (pydantic, if installed), and when it shows help or an error.
    "typer._adapters",
    "typer.rich_utils",
    "web.serve",
)
"""One that does not exist is skipped."""
_start = multiprocessing.get_context("forkserver")
_start.set_forkserver_preload(list(_IMPORTED))


def repartee(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout_s: float = 50.0
) -> "subprocess.CompletedProcess[str]":
    """Runs the program to its end and returns its exit status and its output, as written. Its input is empty.

    Raises:
        subprocess.TimeoutExpired: It ran longer than `timeout_s` and was killed.
    """
    words = list(map(str, arguments))
    with tempfile.TemporaryDirectory(prefix="repartee-run-") as folder:
        files = [Path(folder, name) for name in ("out", "err")]
        child = _start.Process(
            target=_run, args=(words, cwd or Path.cwd(), dict(os.environ if env is None else env), files)
        )
        child.start()
        child.join(timeout_s)
        code = child.exitcode
        if code is None:
            child.kill()
            child.join()
        child.close()
        out, err = (file.read_bytes().decode() for file in files)
    if code is None:
        raise subprocess.TimeoutExpired(["repartee", *words], timeout_s, out, err)
    return subprocess.CompletedProcess(["repartee", *words], code, out, err)


def _run(arguments: list[str], folder: Path, environ: dict[str, str], files: list[Path]) -> None:
    for number, file in enumerate(files, 1):
        written = os.open(file, os.O_WRONLY | os.O_CREAT)
        os.dup2(written, number)
        os.close(written)
    _run_main(arguments, folder, environ)


def start_in_terminal(
    arguments: Sequence[str],
    terminal: str,
    folder: Path,
    environ: Mapping[str, str],
    prepare: Callable[[], None] | None = None,
) -> ForkServerProcess:
    """Starts the program in the terminal of this name, which becomes its controlling terminal.

    `prepare`: called in the process before the program.
    """
    child = _start.Process(
        target=_run_in_terminal, args=(list(arguments), terminal, folder, dict(environ), prepare), daemon=True
    )
    child.start()
    return child


def _run_in_terminal(
    arguments: list[str], terminal: str, folder: Path, environ: dict[str, str], prepare: Callable[[], None] | None
) -> None:
    os.setsid()
    opened = os.open(terminal, os.O_RDWR)  # the first one of a session controls it
    for number in range(3):
        os.dup2(opened, number)
    os.close(opened)
    # Those of this process were opened on files, with their buffers.
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(number, "w" if number else "r", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if prepare is not None:
        prepare()
    _run_main(arguments, folder, environ)


def _run_main(arguments: list[str], folder: Path, environ: Mapping[str, str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    switch_off_telemetry()  # as at the start of a process
    sys.argv = [str(REPARTEE), *arguments]
    from repartee.program import main  # noqa: PLC0415

    try:
        main()
    finally:
        atexit._run_exitfuncs()
