"""Measures the screen of `repartee talk`: its import, the time to its first picture, processor time per minute.

    python -m bench.program.talk_cost [--seconds 20]

Draws on a pseudo-terminal of 120 x 40, fed with a scripted conversation: listening in a room that is not quite silent,
then speaking without end. POSIX only.
"""

import argparse
import asyncio
import fcntl
import os
import pty
import random
import resource
import struct
import subprocess
import sys
import termios
import threading
import time
from dataclasses import replace

from assistant.commands.talk.screen import TalkScreen
from bench.program.talk_picture import ENGINES, STATUS, ScriptedControls, exchange

COLUMNS, ROWS = 120, 40


async def _drawn(seconds: float, *, speaking: bool) -> None:
    began_s = time.perf_counter()

    controls = ScriptedControls(STATUS)
    mounted = asyncio.Event()

    class Watched(TalkScreen):
        """Screen that reports when it is drawn for the first time."""

        def on_ready(self) -> None:
            mounted.set()

    screen = Watched(controls, clock=lambda: "14:10:07")
    chance = random.Random(1)
    first_s = 0.0
    lines: list[str] = []  # while it draws, Textual keeps what is printed

    async def converse() -> None:
        nonlocal first_s
        await mounted.wait()
        first_s = time.perf_counter() - began_s
        screen.engines(ENGINES)
        screen.ready()
        for fact in exchange(1, "why is the sky blue", ["Because of the air."], {"endpoint_wait": 240.0}):
            screen.show(fact)
        await asyncio.sleep(1.0)
        used_s, since_s, turn = _used_s(), time.perf_counter(), 2
        while (passed_s := time.perf_counter() - since_s) < seconds:
            level = -52.0 + chance.gauss(0.0, 4.0)
            if not speaking:
                controls.now = replace(STATUS, input_dbfs=level)
            else:
                if passed_s > (turn - 2) * 6.0:
                    for fact in exchange(
                        turn, "go on", [f"{word} " * 8 for word in ("words", "sound")], {"tts": 300.0}
                    ):
                        screen.show(fact)
                    turn += 1
                played_ms = (passed_s - (turn - 3) * 6.0) * 1000
                controls.now = replace(STATUS, floor="speaking", output_dbfs=level + 30, played_ms=played_ms)
            await asyncio.sleep(0.05)
        used_s, took_s = _used_s() - used_s, time.perf_counter() - since_s
        name = "speaking" if speaking else "listening"
        lines.append(f"{name}: {60 * used_s / took_s:.2f} s of processor time per minute")
        lines.append(f"first picture {1000 * first_s:.0f} ms after the imports")
        screen.exit()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(converse(), name="conversation")
        await screen.run_async()
    print(*lines, sep="\n")


def _used_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def on_a_terminal(arguments: list[str]) -> str:
    """Runs this module again on a pseudo-terminal whose output is read. Returns what it printed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    drawn = [0]

    def read() -> None:
        try:
            while data := os.read(ours, 65536):
                drawn[0] += len(data)
        except OSError:
            pass

    threading.Thread(target=read, daemon=True).start()
    command = [sys.executable, "-m", "bench.program.talk_cost", *arguments]
    environ = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    run = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environ, text=True)
    os.close(theirs)
    text, _ = run.communicate(timeout=120)  # Textual draws on standard error
    return f"{text}{drawn[0] / 1000:.0f} kB were drawn\n"


def imports() -> str:
    """Returns the cost of importing the screen, beyond what a conversation imports anyway."""
    code = (
        "import time; from assistant import events; from assistant.commands import demo_screen; "
        "t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    )
    rows = []
    for module in ("assistant.commands.talk.screen", "assistant.commands.talk.plain"):
        costs = [
            float(subprocess.check_output([sys.executable, "-c", code.format(f"import {module}")], text=True))
            for _ in range(5)
        ]
        rows.append(
            f"import {module}: {1000 * sorted(costs)[2]:.0f} ms beyond assistant.commands.demo_screen (median of 5)\n"
        )
    return "".join(rows)


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description="Measures the processor time of the screen of repartee talk.")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--drawn", choices=("listening", "speaking"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drawn:
        asyncio.run(_drawn(options.seconds, speaking=options.drawn == "speaking"))
        return
    print(imports(), end="")
    for floor in ("listening", "speaking"):
        print(on_a_terminal(["--seconds", str(options.seconds), "--drawn", floor]), end="")


if __name__ == "__main__":
    main()
