"""Runs a check in a separate process (`child`) with a time limit. No process remains."""

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
"""Seconds for a killed process to end, and seconds beyond a process's own limit before it is killed."""

ANSWER_MAX_BYTES = 1 << 20
STDERR_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Result of a check, or why there is none.

    Attributes:
        facts: Its data; empty if it failed.
        error: One line; "" on success.
        unfinished: Whether it was aborted because the time for all checks ended, without a result.
        timed_out: Whether its own time limit ended it, without a result.
    """

    facts: Mapping[str, object]
    error: str = ""
    unfinished: bool = False
    timed_out: bool = False

    @property
    def no_result(self) -> bool:
        """Whether a time limit ended the check. Nothing is then known about what it checks."""
        return self.unfinished or self.timed_out


@dataclass(frozen=True, slots=True)
class ProbeRunner:
    """Runs checks.

    Attributes:
        config: The configuration file as given by the flag; "" without one.
        overrides: The --set flags.
        until_s: Loop time at which running checks are ended and no others start.
    """

    config: str
    overrides: tuple[str, ...]
    until_s: float

    async def examine(self, what: str, limit_s: float) -> ProbeResult:
        """See `child.examine`. Never raises."""
        left_s = self.until_s - asyncio.get_running_loop().time()
        if left_s <= 0:
            return ProbeResult({}, "not checked: no time was left", unfinished=True)
        given_s = min(limit_s, left_s)
        order = {"what": what, "config": self.config or None, "overrides": self.overrides, "limit_s": given_s}
        try:
            async with asyncio.timeout(given_s + GRACE_S):
                answer = await _ask((sys.executable, "-m", CHILD), order)
        except TimeoutError:
            answer = ProbeResult({}, unfinished=True)
        except OSError as error:
            return ProbeResult(
                {}, f"no process could be started ({error.strerror}): allow more memory, processes or open files"
            )
        if not answer.unfinished:
            return answer
        if given_s < limit_s:
            return ProbeResult({}, f"not checked: only {given_s:.1f} s were left", unfinished=True)
        return ProbeResult(
            {}, f"not checked: no answer within {limit_s:g} s: it hangs, or this machine is very busy", timed_out=True
        )


async def _ask(command: Sequence[str], order: Mapping[str, object]) -> ProbeResult:
    """Starts the process, sends the order and reads the answer. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # so that processes it starts can be ended with it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        # Its input stays open: the end of the input tells the child that its parent has ended.
        process.stdin.write(json.dumps(order).encode() + b"\n")
        async with asyncio.TaskGroup() as reading:
            answer = reading.create_task(_read(process.stdout), name="answer")
            stderr_task = reading.create_task(_read(process.stderr), name="stderr")
        code = await process.wait()
        return read_answer(answer.result(), stderr_task.result().decode(errors="replace"), code)
    finally:
        process.stdin.close()
        # Runs after the process has ended, too: its children keep the group, and its id is not reused while they live.
        # PermissionError: macOS, for a process not reaped yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await process.wait()


async def _read(stream: asyncio.StreamReader) -> bytes:
    """Reads to the end. Data beyond the limit is read and discarded, so that the process is not blocked."""
    taken = bytearray()
    while block := await stream.read(1 << 16):
        taken += block[: ANSWER_MAX_BYTES - len(taken)]
    return bytes(taken)


def read_answer(answer: bytes, text: str, code: int) -> ProbeResult:
    """Interprets a finished process: its answer, its other output and its exit status."""
    with contextlib.suppress(ValueError):
        decoded = json.loads(answer)
        if isinstance(decoded, dict):
            error = decoded.get("error", "")
            return ProbeResult(cast("Mapping[str, object]", decoded.get("facts", {})), " ".join(str(error).split()))
    if text.startswith("Timeout ("):  # printed by faulthandler before the stacks
        return ProbeResult({}, unfinished=True)
    if code < 0:
        name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
        return ProbeResult({}, f"crashed ({name}): a library does not fit this machine; install its package again")
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "it printed no reason")
    return ProbeResult({}, f"ended with status {code}: {last.strip()[:STDERR_MAX_CHARS]}")
