"""Runs an examination in a process of its own (`child`), within a limit, and leaves no process behind."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

CHILD = "assistant.commands.doctor.child"

GRACE_S = 1.0
"""For a process that was killed to be gone, and beyond its own limit before it is killed."""

ANSWER_MAX_BYTES = 1 << 20
SAID_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What an examination found, or why it found nothing.

    Attributes:
        found: Its facts; empty where it failed.
        error: One line; "" where it did not fail.
        unfinished: Whether it was cut short for want of time, so that nothing is known.
    """

    found: Mapping[str, object]
    error: str = ""
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class ProbeRunner:
    """Where examinations are made.

    Attributes:
        config: The configuration's file, as the flag names it; "" without one.
        overrides: The flags --set.
        until_s: Loop time after which nothing more is begun, and what runs is ended.
    """

    config: str
    overrides: tuple[str, ...]
    until_s: float

    async def examine(self, what: str, limit_s: float) -> ProbeResult:
        """See `child.examine`. Never fails."""
        left_s = self.until_s - asyncio.get_running_loop().time()
        if left_s <= 0:
            return ProbeResult({}, "not tried: no time was left", unfinished=True)
        given_s = min(limit_s, left_s)
        order = {"what": what, "config": self.config or None, "overrides": self.overrides, "limit_s": given_s}
        try:
            async with asyncio.timeout(given_s + GRACE_S):
                answer = await _ask((sys.executable, "-m", CHILD), order)
        except TimeoutError:
            answer = ProbeResult({}, unfinished=True)
        except OSError as error:
            return ProbeResult({}, f"no process could be started ({error.strerror}): free some memory")
        if not answer.unfinished:
            return answer
        if given_s < limit_s:
            return ProbeResult({}, f"not finished: only {given_s:.1f} s were left", unfinished=True)
        return ProbeResult({}, f"no answer within {limit_s:g} s: it hangs, or this machine is very busy")


async def _ask(command: Sequence[str], order: Mapping[str, object]) -> ProbeResult:
    """Start it, hand it the order, take its answer. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # so that what it has started itself can be ended with it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        # Its input stays open: that it ends is how the child learns that nobody waits any more.
        process.stdin.write(json.dumps(order).encode() + b"\n")
        async with asyncio.TaskGroup() as reading:
            answer = reading.create_task(_read(process.stdout), name="answer")
            said = reading.create_task(_read(process.stderr), name="said")
        code = await process.wait()
        return read_answer(answer.result(), said.result().decode(errors="replace"), code)
    finally:
        process.stdin.close()
        # Also behind one that has ended: what it started is in its group, whose number is taken as long as it lives.
        with contextlib.suppress(ProcessLookupError, PermissionError):  # the latter: macOS, of one not reaped yet
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await process.wait()


async def _read(stream: asyncio.StreamReader) -> bytes:
    """To its end; what is beyond the bound is read, so that the process can go on, and dropped."""
    taken = bytearray()
    while block := await stream.read(1 << 16):
        taken += block[: ANSWER_MAX_BYTES - len(taken)]
    return bytes(taken)


def read_answer(answer: bytes, said: str, code: int) -> ProbeResult:
    """Of a process that has ended: what it wrote, what it said besides, and its exit status."""
    with contextlib.suppress(ValueError):
        decoded = json.loads(answer)
        if isinstance(decoded, dict):
            error = decoded.get("error", "")
            return ProbeResult(cast("Mapping[str, object]", decoded.get("found", {})), " ".join(str(error).split()))
    if said.startswith("Timeout ("):  # faulthandler's word, before the stacks
        return ProbeResult({}, unfinished=True)
    if code < 0:
        name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
        return ProbeResult({}, f"crashed ({name}): a library that does not fit this machine; install its package again")
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "no word of why")
    return ProbeResult({}, f"ended with status {code}: {last.strip()[:SAID_MAX_CHARS]}")
