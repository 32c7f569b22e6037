"""Schedules the decodes of all conversations on one Whisper model; requested transcripts come first."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Literal, Protocol

from audio.errors import SttError
from audio.stt.whisper.model import Decoded, LoadedWhisper
from audio.stt.whisper.worker_threads import WhisperThread
from audio.units import Pcm

Kind = Literal["final", "soon", "pause", "settle", "dip", "partial"]
"""The reason for a decode.

final: a transcript is requested. soon: a transcript is requested and will be requested again. pause: a transcript will
be requested if this pause is the end. settle: the audio has become too long to keep. dip: the speech probability has
dropped, which may be the end. partial: the user is speaking.
"""

EARLY: frozenset[Kind] = frozenset({"dip", "partial"})
"""Decodes while the user is speaking, as far as known."""

GIVING_WAY: frozenset[Kind] = EARLY | {"pause"}
"""Decodes that are aborted in favour of requested transcripts, unless their result is sufficient for the request."""

AWAITED: frozenset[Kind] = frozenset({"final", "soon"})
"""Decodes that a caller is waiting for."""

ONCE: frozenset[Kind] = EARLY | {"soon"}
"""Decodes that are not repeated in the full window when a check fails, because another decode will follow."""


@dataclass(frozen=True, slots=True)
class Decode:
    """A span of audio to decode.

    Attributes:
        start: Its first sample, counted from the beginning of the segment.
        until: The sample after its last one.
        kind: The reason.
        pcm: Its audio, shape (n,). Never modified.
    """

    start: int
    until: int
    kind: Kind
    pcm: Pcm


@dataclass(slots=True)
class ConversationShare:
    """The scheduler's record of one conversation.

    Attributes:
        language: Language of the conversation; None until it was detected.
        served: Sequence number of its latest decode among all decodes.
        took_s: Duration of that decode, in seconds.
    """

    language: str | None
    served: int = 0
    took_s: float = 0.0


class DecodeClient(Protocol):
    """A speech segment, as the scheduler sees it."""

    @property
    def account(self) -> ConversationShare:
        """The conversation of this segment."""
        ...

    @property
    def asked(self) -> int | None:
        """The ticket of the oldest pending request for its transcript; None if there is none."""
        ...

    @property
    def over(self) -> bool:
        """Whether it needs no more decodes."""
        ...

    def wants(self, crowd: float) -> Kind | None:
        """Returns which decode it needs now, without side effects.

        `crowd`: number of segments per worker, at least 1.
        """
        ...

    def served_by(self, decode: Decode) -> bool:
        """Whether this decode satisfies all requests, or will if the current silence continues."""
        ...

    def take(self, kind: Kind) -> Decode:
        """Returns the decode for the reason `kind`, which the scheduler starts now."""
        ...

    def done(self, decode: Decode, decoded: Decoded, took_s: float) -> None:
        """Receives the result of a decode."""
        ...

    def fail(self, error: SttError) -> None:
        """Reports that the segment gets no more decodes."""
        ...


@dataclass(frozen=True, slots=True)
class ModelWorkers:
    """A loaded model and the threads that call it: one per worker."""

    model: LoadedWhisper
    thread: WhisperThread


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    customer: DecodeClient
    decode: Decode
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    unwanted: threading.Event = field(default_factory=threading.Event)


class DecodeScheduler:
    """Assigns the model's workers to the segments of all conversations. Not thread-safe: use it on the event loop.

    There is no queue. Whenever a worker is free, the segments are asked what they need now. So a decode for a cancelled
    segment never starts, and a delayed interim decode covers the newest audio.
    """

    def __init__(self, hang_s: float) -> None:
        """Creates a scheduler without a model. A decode that takes longer than `hang_s` seconds counts as hanging."""
        self._hang_s = hang_s
        self._crew: ModelWorkers | None = None
        # A message and not an exception: an exception raised repeatedly accumulates the frames of its tracebacks.
        self._closed: str | None = "faster-whisper is not loaded; load the recognizer first."
        self._customers: list[DecodeClient] = []
        self._running: list[_Running] = []
        self._tickets = 0
        self._served = 0

    @property
    def model(self) -> LoadedWhisper | None:
        """The loaded model; None before it was loaded and after it failed."""
        return self._crew.model if self._crew else None

    # Called by segments

    @property
    def crowded(self) -> bool:
        """Whether more than one segment is active."""
        return sum(not customer.over for customer in self._customers) > 1

    def enter(self, customer: DecodeClient) -> None:
        """Adds a segment, which is served until it is over. Raises SttError if no model is loaded or loading."""
        if self._closed is not None:
            raise SttError(self._closed)
        self._customers.append(customer)

    def ticket(self) -> int:
        """Returns a ticket for a new request; lower tickets are served first."""
        self._tickets += 1
        return self._tickets

    def serve(self) -> None:
        """Starts the decodes that segments need, as far as workers are free."""
        self._customers = [customer for customer in self._customers if not customer.over]
        if self._closed is not None:
            for customer in [customer for customer in self._customers if customer.asked is not None]:
                customer.fail(SttError(self._closed))
        while self._crew is not None and len(self._running) < self._crew.model.workers:
            following = self._following(self._crew)
            if following is None:
                break
            self._begin(self._crew, *following)
        if self._crew is not None:
            self._make_way(self._crew)

    # Called by the owner

    def expect(self) -> None:
        """Notes that a model is being loaded: segments may wait for it."""
        self._closed = None

    def staff(self, crew: ModelWorkers) -> None:
        """Installs a loaded model and starts to serve."""
        self._crew, self._closed = crew, None
        self.serve()

    def close(self, error: SttError) -> WhisperThread | None:
        """Stops serving and reports `error` to all segments. Returns the threads of the model, if any."""
        crew = self._dismiss(error)
        for customer in self._customers:
            customer.fail(error)
        self._customers = []
        return crew.thread if crew else None

    async def proven(self) -> None:
        """Waits until each running decode has ended or was found to hang. Bounded by `hang_s`."""
        for running in tuple(self._running):
            await running.ended.wait()

    def _following(self, crew: ModelWorkers) -> tuple[DecodeClient, Kind] | None:
        """Returns the next segment to serve and why.

        Requested transcripts come first, in the order of their requests. Then come pauses, dips and interim decodes,
        the conversation that has waited longest first.
        """
        wanted = []
        for customer in self._customers:
            kind = customer.wants(self._crowd(crew))
            if kind is not None and self._may_begin(crew, customer, kind):
                wanted.append((_urgency(customer, kind), customer, kind))
        if not wanted:
            return None
        _, customer, kind = min(wanted, key=lambda one: one[0])
        return customer, kind

    def _make_way(self, crew: ModelWorkers) -> None:
        """Aborts decodes whose result is no longer useful, in favour of transcripts that are or soon will be requested.

        A newer dip also aborts a decode of its own segment, because the newer one is more likely the end.
        """
        vain = [running for running in self._running if running.decode.kind in GIVING_WAY and not _serves(running)]
        for customer in self._customers:
            own = [running for running in self._running if running.customer is customer]
            if not all(running in vain for running in own):
                continue
            kind = customer.wants(self._crowd(crew))
            if kind not in {*AWAITED, "pause", "dip"}:
                continue
            for running in own or (() if kind == "dip" else vain):
                # A pause does not abort another pause: its result may be the only one that comes before the end.
                if kind in AWAITED or running.decode.kind in EARLY:
                    running.unwanted.set()

    def _crowd(self, crew: ModelWorkers) -> float:
        return max(1.0, len(self._customers) / crew.model.workers)

    def _may_begin(self, crew: ModelWorkers, customer: DecodeClient, kind: Kind) -> bool:
        own = [running for running in self._running if running.customer is customer]
        if any(kind not in AWAITED or running.decode.kind not in GIVING_WAY or _serves(running) for running in own):
            return False
        # With several workers, one stays free for requested transcripts.
        urgent = kind == "pause" or customer.asked is not None
        return urgent or crew.model.workers == 1 or len(self._running) < crew.model.workers - 1

    def _begin(self, crew: ModelWorkers, customer: DecodeClient, kind: Kind) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        decode = customer.take(kind)
        account = customer.account
        language = account.language
        self._served += 1
        account.served = self._served
        running = _Running(customer, decode)
        alarm = loop.call_later(self._hang_s, self._hangs, running)

        def done(decoded: Decoded | None) -> None:
            alarm.cancel()
            if not self._end(running):
                return
            if decoded is None:
                self.serve()
            else:
                if account.language is None and decoded.language_sure:
                    account.language = decoded.language
                try:
                    customer.done(decode, decoded, loop.time() - began_s)
                finally:  # serve the others even if a listener raises
                    self.serve()

        def failed(error: Exception) -> None:
            alarm.cancel()
            if self._end(running):
                reason = f"faster-whisper failed while decoding ({error}): load the recognizer again"
                self._fail(SttError(reason), customer)

        self._running.append(running)
        try:
            crew.thread.submit(
                lambda: crew.model.decode(
                    decode.pcm, language, retry=decode.kind not in ONCE, wanted=lambda: not running.unwanted.is_set()
                ),
                done,
                failed,
            )
        except SttError as error:
            failed(error)

    def _end(self, running: _Running) -> bool:
        """Removes a running decode. Returns False if it was removed before: an abandoned model may still return."""
        if running not in self._running:
            return False
        self._running.remove(running)
        running.ended.set()
        return True

    def _hangs(self, running: _Running) -> None:
        if self._end(running):
            reason = f"faster-whisper has decoded for {self._hang_s:g} s and counts as hanging"
            self._fail(SttError(f"{reason}: load the recognizer again"), running.customer)

    def _fail(self, error: SttError, culprit: DecodeClient) -> None:
        """Handles a model failure: its segment and all pending requests fail, other segments keep their audio."""
        self._dismiss(error)
        alive = [customer for customer in self._customers if not customer.over]
        told = [customer for customer in alive if customer is culprit or customer.asked is not None]
        for customer in told or alive:  # at least one must be told, so that the model is reloaded
            customer.fail(error)

    def _dismiss(self, error: SttError) -> ModelWorkers | None:
        crew, self._crew, self._closed = self._crew, None, str(error)
        for running in tuple(self._running):
            self._end(running)
        if crew is not None:
            crew.thread.give_up()
        return crew


def _urgency(customer: DecodeClient, kind: Kind) -> tuple[int, int]:
    if customer.asked is not None:
        return 0, customer.asked
    return (1 if kind == "pause" else 2 if kind == "dip" else 3), customer.account.served


def _serves(running: _Running) -> bool:
    return not running.customer.over and running.customer.served_by(running.decode)
