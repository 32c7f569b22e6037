"""One pocketsphinx process as seen from the event loop: no task, no queue, only callbacks and the futures asked for.

Its bounded lane is the pipe: samples sent and not yet decoded are counted, and refused beyond the bound.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import cast

from audio.errors import SttError
from audio.stt.sphinx_wire import (
    HeardPayload,
    Kind,
    LoadOrder,
    LoadReport,
    SphinxMessage,
    Unframer,
    WireError,
    frame,
    pack_order,
    unpack_heard,
    unpack_report,
)
from audio.units import s_of_samples

_MODULE = "audio.stt.sphinx_worker"
_REAP_TIMEOUT_S = 1.0
_STDIN, _STDOUT = 0, 1


class SphinxProcess(asyncio.SubprocessProtocol):
    """A running process; begin with `start`, end with `stop`.

    Attributes:
        cmn: The cepstral means it learned, "" before the first segment was closed.
    """

    def __init__(self, on_heard: Callable[[int, HeardPayload], None], lane_samples: int) -> None:
        self.cmn = ""
        self._on_heard = on_heard
        self._lane_samples = lane_samples
        self._sent_samples = 0
        self._waiting_samples = 0
        self._unframer = Unframer()
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._exited = asyncio.Event()
        self._loaded: asyncio.Future[LoadReport] = asyncio.get_running_loop().create_future()
        self._answers: dict[int, asyncio.Future[HeardPayload]] = {}
        self._requests = itertools.count(1)
        self._death: str | None = None

    @classmethod
    async def start(cls, on_heard: Callable[[int, HeardPayload], None], lane_samples: int) -> "SphinxProcess":
        """Start a process.

        Args:
            on_heard: Called on the event loop with the number of an opening and its words so far.
            lane_samples: How many samples may wait to be decoded.

        Raises OSError.
        """
        _, process = await asyncio.get_running_loop().subprocess_exec(
            lambda: cls(on_heard, lane_samples),
            sys.executable,
            "-m",
            _MODULE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return process

    @property
    def pid(self) -> int:
        """The id of the process."""
        return 0 if self._transport is None else self._transport.get_pid()

    @property
    def alive(self) -> bool:
        """Whether messages can be sent."""
        return self._death is None

    async def load(self, order: LoadOrder) -> LoadReport:
        """Load the decoders. Raises SttError."""
        self.send(SphinxMessage(Kind.LOAD, payload=pack_order(order)))
        return await self._loaded

    def send(self, message: SphinxMessage, samples: int = 0) -> None:
        """Put a message on its way; `samples` of sound in it count against the lane. Raises SttError."""
        if self._death is not None:
            raise self._error()
        if samples and self._waiting_samples + samples > self._lane_samples:
            raise SttError(
                f"The pocketsphinx process hangs or is too slow: {s_of_samples(self._waiting_samples):.1f} s of sound "
                f"wait to be decoded; the limit is {s_of_samples(self._lane_samples):g} s"
            )
        assert self._stdin is not None
        self._stdin.write(frame(message))
        self._sent_samples += samples
        self._waiting_samples += samples

    async def ask(self, opening: int) -> HeardPayload:
        """The words of everything sent so far of an opening. Safe to cancel. Raises SttError."""
        request = next(self._requests)
        answer: asyncio.Future[HeardPayload] = asyncio.get_running_loop().create_future()
        self.send(SphinxMessage(Kind.WORDS, opening, request))
        self._answers[request] = answer
        try:
            return await answer
        finally:
            del self._answers[request]
            if answer.done() and not answer.cancelled():
                answer.exception()  # seen, even where a cancellation came together with a death

    async def stop(self) -> None:
        """Kill the process and wait, at most a second, until it has gone. Idempotent."""
        self._die("was stopped")
        if self._transport is None:
            return
        try:
            # Past the limit the kill is the kernel's to finish: nothing more can be done from here.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_REAP_TIMEOUT_S):
                    await self._exited.wait()
        finally:
            self._transport.close()

    # ---- asyncio's side ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(_STDIN))

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Bytes came from the process."""
        if fd != _STDOUT or self._death is not None:
            return
        try:
            for message in self._unframer.receive(cast("bytes", data)):
                self._take(message)
        except WireError:
            self._die("sent an unreadable message")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """The process closed a pipe: it is ending."""
        self._die("has ended unexpectedly")

    def process_exited(self) -> None:
        """The process has gone and was reaped."""
        self._exited.set()
        self._die("has ended unexpectedly")

    def _take(self, message: SphinxMessage) -> None:
        if message.kind is Kind.FAILED:
            self._die(f"failed with {message.payload.decode(errors='replace')}")
        elif message.kind is Kind.LOADED:
            if not self._loaded.done():
                self._loaded.set_result(unpack_report(message.payload))
        else:
            heard = unpack_heard(message.payload)
            self._waiting_samples = self._sent_samples - heard.consumed
            if message.kind is Kind.CLOSED:
                self.cmn = heard.text
                return
            answer = self._answers.get(message.request)
            if answer is not None and not answer.done():
                answer.set_result(heard)
            self._on_heard(message.opening, heard)

    def _die(self, what: str) -> None:
        if self._death is not None:
            return
        self._death = what
        if self._transport is not None:
            with contextlib.suppress(ProcessLookupError):  # it was faster
                self._kill(self._transport)
        if not self._loaded.done():
            self._loaded.set_exception(self._error())
            self._loaded.exception()  # seen, even where nobody waits for the loading any more
        for future in self._answers.values():
            if not future.done():
                future.set_exception(self._error())

    def _kill(self, transport: asyncio.SubprocessTransport) -> None:
        """Raises ProcessLookupError."""
        if sys.platform == "win32":
            transport.kill()
        elif not self._exited.is_set():
            # The transport would look first whether it has ended, and so take its end away from asyncio's own watch,
            # which then warns of an unknown process.
            os.kill(transport.get_pid(), signal.SIGKILL)

    def _error(self) -> SttError:
        return SttError(f"The pocketsphinx process {self._death}; load the recognizer again.")
