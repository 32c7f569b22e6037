"""Measures the CPU time of the server's event loop for conversations in which nobody speaks.

    python -m bench.under_load.listening_cost [--conversations 8] [--seconds 15] [--set SECTION.KEY=VALUE]

Each client sends room noise, 20 ms every 20 ms. The figure does not depend on how fast the engines are, so it can be
compared between two versions on a busy machine. A conversation with turns costs more: `bench.serve --only sessions`.
"""

import argparse
import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from bench.controlled_llm import LlmBehaviour
from bench.conversations.caller import calling
from bench.conversations.processes import CpuTime, NotStartedError, cpu_of, model, server
from bench.conversations.recordings import read_recordings, room_of

MANIFEST = Path("bench/clips/manifest.jsonl")

SETTLE_S = 3.0
"""Time until the engines of the next conversation are made, in seconds, which is not measured."""


async def measure(conversations: int, seconds: float, settings: Sequence[str], out: Path) -> CpuTime:
    """Returns the CPU time of the server during `seconds`. Raises NotStartedError, OSError."""
    room = room_of(read_recordings(MANIFEST)[0])
    async with (
        model(LlmBehaviour(), out) as llm,
        server(llm.url, [f"trace.dir={out / 'traces'}", *settings], out / "server.log") as running_server,
        contextlib.AsyncExitStack() as calls,
    ):
        for _ in range(conversations):
            await calls.enter_async_context(calling(running_server.url, room))
        await asyncio.sleep(SETTLE_S)
        before = cpu_of(running_server.pid)
        await asyncio.sleep(seconds)
        after = cpu_of(running_server.pid)
    if before is None or after is None:
        raise NotStartedError("this system has no /proc")
    return after - before


def main() -> None:
    """Measures and prints a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--out", type=Path, default=Path("out/listening"))
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="setting of the server")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    settings = [f"server.max_sessions={options.conversations + 1}", *options.set]
    try:
        cpu = asyncio.run(measure(options.conversations, options.seconds, settings, options.out))
    except NotStartedError as error:
        raise SystemExit(f"bench.under_load.listening_cost: {error}") from error
    minutes = options.conversations * options.seconds / 60
    print(
        f"{options.conversations} conversations: event loop {cpu.loop_s / minutes:.2f} s of CPU time per minute, "
        f"other threads {cpu.threads_s / minutes:.2f} s"
    )


if __name__ == "__main__":
    main()
