"""Runs the satellites of `bench.under_load.satellites` in a process of its own.

    python -m bench.under_load.satellite_crowd --url ws://127.0.0.1:8765/v1/realtime --kind own --count 19

It prints a line "connected SECONDS" when all are connected, and for each line that it reads one line of JSON: all
satellites wake, ask the question and wait for the answer. It ends with its input. A lost connection is opened again.
"""

import argparse
import asyncio
import contextlib
import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from bench.conversations.caller import Caller, CallLostError, calling
from bench.conversations.recordings import Recording, read_recordings, room_of

Kind = Literal["own", "server", "open"]
"""Sleep of a satellite: by its own wake word detector, sending nothing; by the server's; or not at all."""

WAKE_WORD = "hey_mycroft"
GREETED_WITHIN_S = 30.0
ANSWERED_WITHIN_S = 30.0
LEAD_S = 0.5
"""Room noise that a satellite with its own detector sends from before the question, in seconds."""
FIRST_WAIT_S, MOST_WAIT_S = 0.5, 20.0
"""Waits before another attempt to connect, which double each time, in seconds. Half of each is random."""


@dataclass(frozen=True, slots=True)
class Woken:
    """Answer to a satellite that woke. Times in milliseconds from the labelled end of the question.

    Attributes:
        latency_ms: To the first audible sample of a reply; None: it stayed silent.
        text: The words of that reply.
        notice: The last notice that it got; "" for none.
    """

    latency_ms: float | None
    text: str = ""
    notice: str = ""


@dataclass(slots=True)
class Satellite:
    """One satellite, which outlives its connections.

    Attributes:
        url: URL of the server.
        kind: How it sleeps.
        question: What is asked after it has woken.
        caller: The connection; None while there is none.
        attempts: How often it connected or tried to.
        refusals: Codes with which the server closed.
    """

    url: str
    kind: Kind
    question: Recording
    caller: Caller | None = None
    attempts: int = 0
    refusals: list[str] = field(default_factory=list)
    connected: asyncio.Event = field(default_factory=asyncio.Event)
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Stays connected until cancelled."""
        wait_s = FIRST_WAIT_S
        extensions: Mapping[str, object] = {"wake_word": WAKE_WORD} if self.kind == "server" else {}
        while True:
            self.attempts += 1
            caller = None
            with contextlib.suppress(CallLostError, OSError):
                room = room_of(self.question)
                async with calling(self.url, room, extensions, is_muted=self.kind == "own") as caller:
                    await self._greeting(caller)
                    self.caller, wait_s = caller, FIRST_WAIT_S
                    self.connected.set()
                    self.lost.clear()
                    await asyncio.Event().wait()
            if self.caller is None and caller is not None:
                self.refusals.append(caller.listener.last_error)
            self.caller = None
            self.connected.clear()
            self.lost.set()
            told_s = 0.0 if caller is None else caller.listener.retry_after_s
            await asyncio.sleep(told_s + wait_s * random.uniform(0.5, 1.0))
            wait_s = min(2 * wait_s, MOST_WAIT_S)

    async def _greeting(self, caller: Caller) -> None:
        def greeted() -> bool:
            return any(kind == "session.updated" for _, kind in caller.listener.events)

        if not await caller.until(greeted, asyncio.get_running_loop().time() + GREETED_WITHIN_S):
            raise CallLostError("the server did not answer")

    async def wake(self) -> Woken:
        """Wakes, asks the question and waits for the answer."""
        await self.connected.wait()
        caller = self.caller
        assert caller is not None
        before = len(caller.listener.replies)
        caller.is_muted = False
        if self.kind == "own":
            await asyncio.sleep(LEAD_S)
        _, end_s = caller.say(self.question)

        def audible_s() -> float | None:
            replies = caller.listener.replies[before:]
            times_s = (reply.audible_s for reply in replies if reply.audible_s is not None)
            return next((time_s for time_s in times_s if time_s > end_s), None)

        try:
            await caller.until(lambda: audible_s() is not None, end_s + ANSWERED_WITHIN_S)
            heard_s = audible_s()
            await caller.until_silent(1.0)
        except CallLostError:
            return Woken(None, notice="the connection was lost")
        caller.is_muted = self.kind == "own"
        text = " ".join(reply.text for reply in caller.listener.replies[before:])
        latency_ms = None if heard_s is None else round((heard_s - end_s) * 1000, 1)
        return Woken(latency_ms, text, next(reversed(caller.listener.notices), ""))


async def _run(options: argparse.Namespace, recordings: Sequence[Recording]) -> None:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    satellites = [
        Satellite(options.url, options.kind, recordings[number % len(recordings)]) for number in range(options.count)
    ]
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(satellite.run()) for satellite in satellites]
        while True:
            for satellite in satellites:
                await satellite.connected.wait()
            tries = sum(satellite.attempts for satellite in satellites)
            refusals = [code for satellite in satellites for code in satellite.refusals]
            print(json.dumps({"connected_s": loop.time() - began_s, "tries": tries, "refusals": refusals}), flush=True)
            command = (await reader.readline()).decode().strip()
            if not command:
                break
            began_s = loop.time()
            if command == "wake":
                woken = await asyncio.gather(*(satellite.wake() for satellite in satellites))
                print(json.dumps([asdict(one) for one in woken]), flush=True)
            elif command == "lose":  # the server is being restarted
                for satellite in satellites:
                    await satellite.lost.wait()
        for task in running:
            task.cancel()


def main() -> None:
    """Runs the satellites."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--kind", choices=get_args(Kind), required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    options = parser.parse_args()
    # Each says its own question: of one question that is heard in two rooms, the server answers one.
    asyncio.run(_run(options, [clip for clip in read_recordings(options.manifest) if clip.kind != "noise"]))


if __name__ == "__main__":
    main()
