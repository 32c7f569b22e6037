"""Measures whether a server stays the same over time: memory, descriptors, threads, tasks and response latency.

    python -m bench.under_load.soak [--minutes 60] [--conversations 8] [--out out/soak] [--set SECTION.KEY=VALUE]

Starts a controlled LLM and `repartee serve`, and holds conversations that speak recordings in real time without a
pause. Each connects anew after `TURNS_PER_CALL` turns, because what a conversation leaves behind shows only then. The
verdict compares the last third of the time with the first one. In --out: soak.json, with every measurement. Linux only.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
from websockets.exceptions import WebSocketException

from bench.controlled_llm import LlmBehaviour
from bench.conversations.caller import Caller, CallLostError, calling
from bench.conversations.processes import NotStartedError, descendants, model, server
from bench.conversations.recordings import Recording, chosen, read_recordings, room_of
from bench.serve import MANIFEST
from bench.serving.scenarios import ANSWERED_WITHIN_S, GAP_S, HUNG_UP_S, SETTLE_S, STAGGER_S
from bench.under_load.soak_verdict import Soak, Turn, Usage, verdict

TURNS_PER_CALL = 10
SAMPLE_S = 5.0
"""Interval of the measurements in s."""

METRICS_TIMEOUT_S = 10.0
CLIPS = 8
"""Number of different clips that are spoken."""

UNSURE_CLIPS = frozenset({"howl_common-voice-en-19946691"})
"""Left out: tiny.en is so unsure of "although hey ya" that it is taken for noise at some positions in the decoder's
window (1 % of a soak's turns, always at the same place of a call). A soak counts what changes over time."""

_PROC = Path("/proc")


@dataclass(slots=True)
class Soaking:
    """One run in progress.

    Attributes:
        url: URL of the server for WebSocket connections.
        pid: Its process.
        clips: What is spoken.
        until_s: Loop time at which the conversations end.
    """

    url: str
    pid: int
    clips: Sequence[Recording]
    began_s: float
    until_s: float
    usages: list[Usage] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    async def run(self, conversations: int) -> None:
        """Holds the conversations, and measures meanwhile."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._measure())
            for user in range(conversations):
                group.create_task(self._user(user))

    def _elapsed_s(self) -> float:
        return asyncio.get_running_loop().time() - self.began_s

    @property
    def _over(self) -> bool:
        return asyncio.get_running_loop().time() >= self.until_s

    async def _user(self, user: int) -> None:
        """Calls again and again. Every user begins with another clip, so that they do not run in step."""
        await asyncio.sleep(user * STAGGER_S)
        expected_number = user
        while not self._over:
            try:
                async with calling(self.url, room_of(self.clips[expected_number % len(self.clips)])) as caller:
                    await asyncio.sleep(SETTLE_S)
                    for _ in range(TURNS_PER_CALL):
                        if not self._over:
                            await self._turn(caller, self.clips[expected_number % len(self.clips)])
                            expected_number += 1
            except (CallLostError, OSError, WebSocketException) as error:
                self.lost.append(f"after {self._elapsed_s():.0f} s: {error}")
            await asyncio.sleep(HUNG_UP_S)

    async def _turn(self, caller: Caller, clip: Recording) -> None:
        before = len(caller.listener.replies)
        _, end_s = caller.say(clip)

        def audible_s() -> float | None:
            replies = caller.listener.replies[before:]
            times_s = (reply.audible_s for reply in replies if reply.audible_s is not None)
            return next((at_s for at_s in times_s if at_s > end_s), None)

        await caller.until(lambda: audible_s() is not None, end_s + ANSWERED_WITHIN_S)
        at_s = audible_s()
        self.turns.append(Turn(self._elapsed_s(), None if at_s is None else (at_s - end_s) * 1000))
        await caller.until_silent(GAP_S)

    async def _measure(self) -> None:
        """Measures the server until the end, or until the server has ended: then nothing else is waited for."""
        address = self.url.replace("ws://", "http://").partition("/v1/")[0]
        async with httpx.AsyncClient(trust_env=False, timeout=METRICS_TIMEOUT_S) as client:
            while not self._over:
                tasks = await tasks_of(client, address)
                try:
                    self.usages.append(usage_of(self.pid, self._elapsed_s(), tasks))
                except OSError:
                    self.lost.append(f"after {self._elapsed_s():.0f} s: the server has ended; see its log")
                    self.until_s = self._elapsed_s() + self.began_s
                await asyncio.sleep(SAMPLE_S)


def usage_of(pid: int, at_s: float, tasks: int | None) -> Usage:
    """Measures a process. Memory includes its child processes. Raises OSError if it has ended, or without /proc."""
    page_mb = os.sysconf("SC_PAGE_SIZE") / 1e6
    pages = 0
    for process in (pid, *descendants(pid)):
        try:
            pages += int((_PROC / str(process) / "statm").read_text().split()[1])
        except OSError:
            continue  # a child that has just ended
    folder = _PROC / str(pid)
    return Usage(
        at_s,
        pages * page_mb,
        sum(1 for _ in (folder / "fd").iterdir()),
        sum(1 for _ in (folder / "task").iterdir()),
        tasks,
    )


async def tasks_of(client: httpx.AsyncClient, address: str) -> int | None:
    """Returns the server's number of tasks; None if it did not answer, or has no such metric."""
    try:
        text = (await client.get(f"{address}/metrics")).text
    except httpx.HTTPError:
        return None
    values = [line.split()[1] for line in text.splitlines() if line.startswith("repartee_tasks ")]
    return round(float(values[0])) if values else None


async def soak(minutes: float, conversations: int, out: Path, settings: Sequence[str] = ()) -> Soak:
    """Runs the server and the conversations. Raises NotStartedError."""
    clear = [clip for clip in read_recordings(MANIFEST) if clip.id not in UNSURE_CLIPS]
    clips = chosen(clear, "plain", CLIPS)
    fixed = [f"server.max_sessions={conversations + 2}", "server.admission=fixed", f"trace.dir={out / 'traces'}"]
    loop = asyncio.get_running_loop()
    async with (
        model(LlmBehaviour(), out) as llm,
        server(llm.url, [*fixed, *settings], out / "server.log") as running_server,
    ):
        began_s = loop.time()
        running = Soaking(running_server.url, running_server.pid, clips, began_s, began_s + minutes * 60)
        await running.run(conversations)
    return Soak(minutes, conversations, tuple(running.usages), tuple(running.turns), tuple(running.lost))


def main() -> None:
    """Runs the soak, prints its table and stores it. Exit status 1: something was not flat."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--conversations", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="setting of the server")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        soak_result = asyncio.run(soak(options.minutes, options.conversations, options.out, options.set))
    except NotStartedError as error:
        raise SystemExit(f"bench.under_load.soak: {error}") from error
    (options.out / "soak.json").write_text(json.dumps(asdict(soak_result)), encoding="utf-8")
    judged = verdict(soak_result)
    print(judged.table())
    sys.exit(0 if judged.is_flat else 1)


if __name__ == "__main__":
    main()
