"""Which decode a Whisper model does next: one at a time, and those that somebody waits for first."""

import asyncio
from dataclasses import dataclass
from typing import Literal, Protocol

from audio.errors import SttError
from audio.stt.whisper_model import Decoded, LoadedWhisper
from audio.stt.whisper_thread import WhisperThread
from audio.units import Pcm


@dataclass(frozen=True, slots=True)
class Decode:
    """A decode to be done.

    Attributes:
        until: The sample after its last, from the segment's beginning.
        kind: "partial": cheap; "final": once more in the full window where a gate fails; "settle": final, and its
            sound is let go.
        pcm: Its sound, shape (n,); not changed by anybody.
    """

    until: int
    kind: Literal["partial", "final", "settle"]
    pcm: Pcm


class Customer(Protocol):
    """A segment, as the desk sees it."""

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for its words."""
        ...

    @property
    def over(self) -> bool:
        """Whether it wants nothing any more."""
        ...

    def next(self) -> Decode | None:
        """What it wants decoded now."""
        ...

    def done(self, decode: Decode, decoded: Decoded, took_s: float) -> None:
        """What it wanted is decoded."""
        ...

    def fail(self, error: SttError) -> None:
        """It will not be served any more."""
        ...


class WhisperDesk:
    """The model, its thread and the segments that want it. Lives on the event loop.

    Attributes:
        language: Of the conversation; None until it was detected.
    """

    def __init__(self, thread: WhisperThread, model: LoadedWhisper, language: str | None) -> None:
        self.thread = thread
        self.model = model
        self.language = language
        self._customers: list[Customer] = []
        self._busy = False

    def enter(self, customer: Customer) -> None:
        """Serve this one too, until it is over."""
        self._customers.append(customer)

    def serve(self) -> None:
        """Begin the next decode, if none is under way and one is wanted."""
        if self._busy:
            return  # its end comes here again
        self._customers = [customer for customer in self._customers if not customer.over]
        for customer in sorted(self._customers, key=lambda customer: not customer.awaited):
            decode = customer.next()
            if decode is not None:
                self._begin(customer, decode)
                return

    def fail(self, error: SttError) -> None:
        """Nobody is served any more."""
        for customer in self._customers:
            customer.fail(error)

    def _begin(self, customer: Customer, decode: Decode) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        language = self.language

        def done(decoded: Decoded) -> None:
            self._busy = False
            if self.language is None and decoded.language_sure:
                self.language = decoded.language
            customer.done(decode, decoded, loop.time() - began_s)
            self.serve()

        def failed(error: Exception) -> None:
            self._busy = False
            customer.fail(SttError(f"faster-whisper failed while decoding ({error}): load the recognizer again"))
            self.serve()

        try:
            self.thread.submit(
                lambda: self.model.decode(decode.pcm, language, retry=decode.kind != "partial"), done, failed
            )
        except SttError as error:
            customer.fail(error)
        else:
            self._busy = True
