"""Runs `repartee talk --plain` as a user does: its output, typed input, its records."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.models.phrase_whisper import phrase_settings
from support.programs.complete_lines import complete_lines

REPARTEE = Path(sys.executable).with_name("repartee")
SETTINGS = ("tts.engine=espeak-ng", "talk.ready_sound=false", "trace.words=true")
"""Settings of the program, besides those of its recognizer."""


@dataclass
class App:
    """A running `repartee talk --plain`."""

    process: "subprocess.Popen[str]"
    folder: Path
    lines: list[str] = field(default_factory=list)

    def until(self, text: str, within_s: float = 20.0, count: int = 1) -> None:
        """Waits until a line contains this text."""
        self.eventually(lambda: sum(text in line for line in self.lines) >= count, within_s)

    def eventually(self, true: Callable[[], bool], within_s: float = 20.0) -> None:
        deadline_s = time.monotonic() + within_s
        while not true():
            assert time.monotonic() < deadline_s, self.lines
            time.sleep(0.02)

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ends_within_s(self, limit_s: float) -> int:
        began_s = time.monotonic()
        code = self.process.wait(timeout=30)
        assert time.monotonic() - began_s <= limit_s
        return code

    def records(self) -> list[dict[str, Any]]:
        files = sorted((self.folder / "traces").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in complete_lines(file)]


@contextmanager
def talking(
    folder: Path,
    environ: Mapping[str, str],
    *arguments: str,
    recognizer: Sequence[str] | None = None,
    command: Sequence[str] = ("talk",),
) -> Generator[App]:
    """Starts the program.

    `recognizer`: its settings; None: "what time is it" is recognized in all speech. `command`: another one that talks.
    """
    settings = (*SETTINGS, *(phrase_settings() if recognizer is None else recognizer))
    flags = [word for setting in settings for word in ("--set", setting)]
    process = subprocess.Popen(
        [REPARTEE, *command, "--plain", *flags, *arguments],
        cwd=folder,
        env={**environ, "XDG_DATA_HOME": str(folder / "data"), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    app = App(process, folder)
    assert process.stdout is not None
    out = process.stdout

    def keep() -> None:
        for line in out:
            app.lines.append(line.rstrip("\n"))

    reader = threading.Thread(target=keep)
    reader.start()
    try:
        yield app
    finally:
        process.kill()
        process.wait()
        reader.join()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def conversing(
    folder: Path, environ: Mapping[str, str], *arguments: str, recognizer: Sequence[str] | None = None
) -> Generator[App]:
    """Starts `talk`, waits until it is ready, and quits it at the end of the block, which takes at most 2 s."""
    with talking(folder, environ, *arguments, recognizer=recognizer) as app:
        app.until("ready:")
        yield app
        app.say("/quit")
        assert app.ends_within_s(2.0) == 0
