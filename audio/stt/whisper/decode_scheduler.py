"""Which decode a Whisper model does next, for all conversations: those that somebody waits for first."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Literal, Protocol

from audio.errors import SttError
from audio.stt.whisper.model import Decoded, LoadedWhisper
from audio.stt.whisper.worker_threads import WhisperThread
from audio.units import Pcm

Kind = Literal["final", "soon", "pause", "settle", "dip", "partial"]
"""Why to decode: somebody waits; somebody waits who will ask again; somebody will wait when this pause turns out to be
the end; the sound has become too long to keep; it is less surely speech than before, which may be the end; the person
speaks."""

EARLY: frozenset[Kind] = frozenset({"dip", "partial"})
"""Those of a voice that goes on, as far as anybody knows."""

GIVING_WAY: frozenset[Kind] = EARLY | {"pause"}
"""Those that are broken off for words that are waited for, unless they will do for them."""

AWAITED: frozenset[Kind] = frozenset({"final", "soon"})
"""Those that somebody waits for now."""

ONCE: frozenset[Kind] = EARLY | {"soon"}
"""Those that are not done once more in the full window where a gate fails: another decode will be asked for."""


@dataclass(frozen=True, slots=True)
class Decode:
    """A decode to be done.

    Attributes:
        start: Its first sample, from the segment's beginning.
        until: The sample after its last.
        kind: Why.
        pcm: Its sound, shape (n,); not changed by anybody.
    """

    start: int
    until: int
    kind: Kind
    pcm: Pcm


@dataclass(slots=True)
class ConversationShare:
    """One conversation, as the desk sees it.

    Attributes:
        language: Of the conversation; None until it was detected.
        served: The number of its latest decode, among all of the desk.
        took_s: How long that took.
    """

    language: str | None
    served: int = 0
    took_s: float = 0.0


class DecodeClient(Protocol):
    """A segment, as the desk sees it."""

    @property
    def account(self) -> ConversationShare:
        """The conversation it is of."""
        ...

    @property
    def asked(self) -> int | None:
        """The ticket of whoever waits longest for its words; None where nobody does."""
        ...

    @property
    def over(self) -> bool:
        """Whether it wants nothing any more."""
        ...

    def wants(self, crowd: float) -> Kind | None:
        """What it wants decoded now; `crowd`: segments for each worker, 1 at least. Changes nothing."""
        ...

    def served_by(self, decode: Decode) -> bool:
        """Whether this decode is enough for whoever waits, or will be if what is quiet now stays so."""
        ...

    def take(self, kind: Kind) -> Decode:
        """The decode of what it wants, which is being begun."""
        ...

    def done(self, decode: Decode, decoded: Decoded, took_s: float) -> None:
        """What it wanted is decoded."""
        ...

    def fail(self, error: SttError) -> None:
        """It will not be served any more."""
        ...


@dataclass(frozen=True, slots=True)
class ModelWorkers:
    """A loaded model and the threads that may call it: one for each of its workers."""

    model: LoadedWhisper
    thread: WhisperThread


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    customer: DecodeClient
    decode: Decode
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    unwanted: threading.Event = field(default_factory=threading.Event)


class DecodeScheduler:
    """The model and the segments of all conversations that want it. Lives on the event loop.

    Nothing waits in a queue: whenever a worker is free, the segments are asked what they want now. So whatever a
    cancelled segment wanted is never begun, and a partial that had to wait is of the newest sound.
    """

    def __init__(self, hang_s: float) -> None:
        """No model yet; a decode that takes longer than `hang_s` counts as hanging."""
        self._hang_s = hang_s
        self._crew: ModelWorkers | None = None
        # The sentence, not an error: one that is raised again and again keeps whoever it was raised to.
        self._closed: str | None = "faster-whisper is not loaded; load the recognizer first."
        self._customers: list[DecodeClient] = []
        self._running: list[_Running] = []
        self._tickets = 0
        self._served = 0

    @property
    def model(self) -> LoadedWhisper | None:
        """What decodes; None before it was loaded and after it failed."""
        return self._crew.model if self._crew else None

    # What segments call

    @property
    def crowded(self) -> bool:
        """Whether somebody else speaks, too."""
        return sum(not customer.over for customer in self._customers) > 1

    def enter(self, customer: DecodeClient) -> None:
        """Serve this one too, until it is over. Raises SttError where there is no model, nor one coming."""
        if self._closed is not None:
            raise SttError(self._closed)
        self._customers.append(customer)

    def ticket(self) -> int:
        """For somebody who begins to wait: who has a lower one is served first."""
        self._tickets += 1
        return self._tickets

    def serve(self) -> None:
        """Begin what is wanted, as far as workers are free."""
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

    # What the owner calls

    def expect(self) -> None:
        """A model is being loaded: segments may wait for it."""
        self._closed = None

    def staff(self, crew: ModelWorkers) -> None:
        """Here is a model."""
        self._crew, self._closed = crew, None
        self.serve()

    def close(self, error: SttError) -> WhisperThread | None:
        """Nobody is served any more, and everybody is told. The threads that had the model, if any."""
        crew = self._dismiss(error)
        for customer in self._customers:
            customer.fail(error)
        self._customers = []
        return crew.thread if crew else None

    async def proven(self) -> None:
        """Wait until each decode that is under way has ended, or was found to hang. Bounded by `hang_s`."""
        for running in tuple(self._running):
            await running.ended.wait()

    def _following(self, crew: ModelWorkers) -> tuple[DecodeClient, Kind] | None:
        """Finals as they were asked for; then pauses, dips and partials, of those who had to wait longest."""
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
        """What runs in vain is broken off, where it can be, for words that are or soon will be waited for.

        For a later dip its own segment's is, too: that is likelier to be the end.
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
                # For a pause no other pause: its words may be the only ones that come before the end.
                if kind in AWAITED or running.decode.kind in EARLY:
                    running.unwanted.set()

    def _crowd(self, crew: ModelWorkers) -> float:
        return max(1.0, len(self._customers) / crew.model.workers)

    def _may_begin(self, crew: ModelWorkers, customer: DecodeClient, kind: Kind) -> bool:
        own = [running for running in self._running if running.customer is customer]
        if any(kind not in AWAITED or running.decode.kind not in GIVING_WAY or _serves(running) for running in own):
            return False
        # One worker of several stays free for those who wait.
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
                finally:  # a listener that raises stops nobody else
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
        """Whether it was still under way: a model that was given up may come back at any time."""
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
        """The model failed: its segment and all that somebody waits for are lost, the others keep their sound."""
        self._dismiss(error)
        alive = [customer for customer in self._customers if not customer.over]
        told = [customer for customer in alive if customer is culprit or customer.asked is not None]
        for customer in told or alive:  # somebody must be told, or nobody would load it again
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
