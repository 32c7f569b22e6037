"""Schedules the decodes of all conversations on one Whisper model; requested transcripts come first."""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from audio.degradation import Degradation
from audio.engine_lateness import EngineLateness
from audio.errors import BusyError, LateError, SttError
from audio.hang_detection import STEP_S, HangDetector
from audio.languages.conversation_language import ConversationLanguage
from audio.queue_wait import QueueWait
from audio.stt.whisper.model import Decoded
from audio.stt.whisper.recent_tokens import RecentTokens
from audio.stt.whisper.segment_decoder import SegmentDecoder
from audio.stt.whisper.worker_threads import WhisperThread
from audio.units import MIC_RATE_HZ, Pcm

log = logging.getLogger(__name__)

Kind = Literal["final", "soon", "first_word", "pause", "settle", "probability_dip", "interim"]
"""The reason for a decode.

final: a transcript is requested. soon: a transcript is requested and will be requested again. first_word: only the
first word is requested. pause: a transcript will be requested if this pause is the end. settle: the audio has become
too long to keep. probability_dip: the speech probability has dropped, which may be the end. interim: the user is
speaking.
"""

EARLY: frozenset[Kind] = frozenset({"probability_dip", "interim"})
"""Decodes while the user is speaking, as far as known."""

PREEMPTIBLE: frozenset[Kind] = EARLY | {"pause"}
"""Decodes that are aborted in favour of requested transcripts, unless their result is sufficient for the request."""

REQUESTED: frozenset[Kind] = frozenset({"final", "soon", "first_word"})
"""Decodes that a caller is waiting for."""

WITHOUT_RETRY: frozenset[Kind] = EARLY | {"soon"}
"""Decodes that are not repeated in the full window when a check fails, because another decode will follow."""

_REMEMBERED_TICKETS = 256
"""Number of latest requests whose time is kept. The waits of older ones are not recorded; they have hung for long."""

MAX_WAIT_S = 5.0
"""Wait for a transcript, in seconds, from which a person is told at once that the server is busy. After a longer wait
people ask again or give up."""

ALWAYS_SERVED = 4
"""Conversations that may wait for a transcript on any machine: so few are served late, and not turned away."""

_NEWEST_SHARE = 0.3
"""Weight of the newest duration in the mean duration of the last decodes."""

LANGUAGE_CHECKS = 6
"""Transcripts of a conversation whose language is detected, unless one is in the expected language: each 40 ms."""

SURE_OF_LANGUAGE = 0.9
"""Probability from which fluent words count as spoken in another language. The model `base` gives English at least 0.89
for nine English recordings, and German 0.996 for a German sentence that it translates into fluent English."""


@dataclass(frozen=True, slots=True)
class Decode:
    """A span of audio to decode.

    Attributes:
        start: Its first sample, counted from the beginning of the segment.
        until: The sample after its last one.
        kind: The reason.
        pcm: Its audio, shape (n,). Never modified.
        languages: The languages that it may be in; None: only the conversation's.
    """

    start: int
    until: int
    kind: Kind
    pcm: Pcm
    languages: ConversationLanguage | None = None


@dataclass(slots=True)
class ConversationShare:
    """The scheduler's record of one conversation.

    Attributes:
        language: Language of the conversation; None until it was detected.
        served: Sequence number of its latest decode among all decodes.
        took_s: Duration of that decode, in seconds.
        background: Whether it is no conversation: its segments are decoded when no conversation needs the model, only
            on request, and a running decode is aborted for a conversation.
        tokens: The tokens of its last transcripts.
        prompt: Text before the words, see `PromptedRecognizer`.
        thorough: Whether its sound is a recording, see `RecordingRecognizer`.
        language_checks: How many more transcripts are checked for another language. None once one was in `language`.
        other_language: Code of the language in which the user seems to speak instead; "" for none.
        languages: The languages of a conversation that changes between several; None: it has one.
    """

    language: str | None
    served: int = 0
    took_s: float = 0.0
    background: bool = False
    tokens: RecentTokens = field(default_factory=RecentTokens)
    prompt: str = ""
    thorough: bool = False
    language_checks: int = LANGUAGE_CHECKS
    other_language: str = ""
    languages: ConversationLanguage | None = None

    def turn_ended(self, language: str) -> None:
        """Notes the language of a turn of the user, which is the likeliest one of the next turn."""
        if self.languages is not None and language:
            self.languages = self.languages.after_turn(language)
            self.language = self.languages.current


class DecodeClient(Protocol):
    """A speech segment, as the scheduler sees it."""

    @property
    def share(self) -> ConversationShare:
        """The conversation of this segment."""
        ...

    @property
    def oldest_ticket(self) -> int | None:
        """The ticket of the oldest pending request for its transcript; None if there is none."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether it needs no more decodes."""
        ...

    def needed_decode(self, segments_per_worker: float) -> Kind | None:
        """Returns which decode it needs now, without side effects.

        `segments_per_worker`: number of segments per worker, at least 1.
        """
        ...

    def satisfied_by(self, decode: Decode) -> bool:
        """Returns whether this decode satisfies all requests, or will if the current silence continues."""
        ...

    def start_decode(self, kind: Kind) -> Decode:
        """Returns the decode for the reason `kind`, which the scheduler starts now."""
        ...

    def on_decoded(self, decode: Decode, decoded: Decoded, took_s: float) -> None:
        """Receives the result of a decode."""
        ...

    def fail(self, error: SttError) -> None:
        """Reports that the segment gets no more decodes."""
        ...


@dataclass(frozen=True, slots=True)
class ModelWorkers:
    """A loaded model and the threads that call it: one per worker.

    Attributes:
        need_s: Processor time that its longest step usually needs at most, in seconds.
        spare: Workers beyond those of the model that begin a requested decode while aborted ones run to their midpoint.
    """

    model: SegmentDecoder
    thread: WhisperThread
    need_s: float = 0.0
    spare: int = 0


@dataclass(slots=True, eq=False)
class _Running:
    client: DecodeClient
    decode: Decode
    hang: HangDetector
    thorough: bool = False
    steps: int = 0  # counted in the model's thread
    unwanted: threading.Event = field(default_factory=threading.Event)
    watch: asyncio.TimerHandle | None = None

    def is_wanted(self) -> bool:
        """Returns whether the result is still wanted. Called by the model between two steps."""
        self.steps += 1
        return not self.unwanted.is_set()


class DecodeScheduler:
    """Assigns the model's workers to the segments of all conversations. Not thread-safe: use it on the event loop.

    There is no queue. Whenever a worker is free, the segments are asked what they need now. So a decode for a cancelled
    segment never starts, and a delayed interim decode covers the newest audio.

    Attributes:
        queue_wait: How long the last requested transcripts waited for a worker, background requests left out.
        abandoned: The threads of the model that failed or hung last; None: there was none.
    """

    def __init__(self, lateness: EngineLateness | None = None) -> None:
        """Creates a scheduler without a model. `lateness`: see `SharedWhisper`."""
        self._lateness = lateness
        self._pool: ModelWorkers | None = None
        # A message and not an exception: an exception raised repeatedly accumulates the frames of its tracebacks.
        self._closed: str | None = "faster-whisper is not loaded; load the recognizer first."
        self._clients: list[DecodeClient] = []
        self._running: list[_Running] = []
        self._tickets = 0
        # Loop time of the latest requests, by their tickets; None after the first decode for a request has begun.
        self._requested_s: list[float | None] = [None] * _REMEMBERED_TICKETS
        self.queue_wait = QueueWait()
        self.abandoned: WhisperThread | None = None
        self._served = 0
        self._mean_took_s = 0.0  # of the last decodes

    @property
    def model(self) -> SegmentDecoder | None:
        """The loaded model; None before it was loaded and after it failed."""
        return self._pool.model if self._pool else None

    # Called by segments

    @property
    def has_several_clients(self) -> bool:
        """Whether more than one segment of a conversation is active."""
        return sum(not (client.is_finished or client.share.background) for client in self._clients) > 1

    def add_client(self, client: DecodeClient) -> None:
        """Adds a segment, which is served until it is over. Raises SttError if no model is loaded or loading."""
        if self._closed is not None:
            raise SttError(self._closed)
        self._clients.append(client)

    def ticket(self, earlier: int | None = None) -> int:
        """Returns a ticket for a request; lower tickets are served first.

        `earlier`: the ticket of the request that this one repeats, whose place it keeps; None: it is a new request.
        """
        if earlier is None:
            self._tickets += 1
        ticket = self._tickets if earlier is None else earlier
        if self._is_remembered(ticket):
            self._requested_s[ticket % _REMEMBERED_TICKETS] = asyncio.get_running_loop().time()
        return ticket

    def check_wait(self, client: DecodeClient) -> None:
        """Raises BusyError if other conversations come first for too long before a transcript of `client`."""
        others = [other for other in self._clients if other is not client and not other.share.background]
        ahead = sum(other.oldest_ticket is not None for other in others)
        workers = 1 if self._pool is None else self._pool.model.workers
        wait_s = ahead * self._mean_took_s / workers
        if ahead >= ALWAYS_SERVED and wait_s > MAX_WAIT_S and not client.share.background:
            raise BusyError(ahead, wait_s)

    def serve(self) -> None:
        """Starts the decodes that segments need, as far as workers are free."""
        self._clients = [client for client in self._clients if not client.is_finished]
        if self._closed is not None:
            for client in [client for client in self._clients if client.oldest_ticket is not None]:
                client.fail(SttError(self._closed))
        self._fill_workers()
        if self._pool is not None:
            self._preempt(self._pool)
            self._fill_workers()

    # Called by the owner

    def expect_model(self) -> None:
        """Notes that a model is being loaded: segments may wait for it."""
        self._closed = None

    def install(self, pool: ModelWorkers) -> None:
        """Installs a loaded model and starts to serve."""
        self._pool, self._closed = pool, None
        self.serve()

    def close(self, error: SttError) -> WhisperThread | None:
        """Stops serving and reports `error` to all segments. Returns the threads of the model, if any."""
        pool = self._release_model(error)
        for client in self._clients:
            client.fail(error)
        self._clients = []
        return pool.thread if pool else None

    def _fill_workers(self) -> None:
        """Starts decodes as far as workers are free; on a spare worker only one that is requested by a conversation."""
        while self._pool is not None:
            pool, aborted = self._pool, sum(running.unwanted.is_set() for running in self._running)
            if len(self._running) - min(aborted, pool.spare) >= pool.model.workers:
                break
            following = self._next_decode(pool)
            if following is None or (len(self._running) >= pool.model.workers and not _is_urgent(*following)):
                break
            self._begin(pool, *following)

    def _next_decode(self, pool: ModelWorkers) -> tuple[DecodeClient, Kind] | None:
        """Returns the next segment to serve and why.

        Requested transcripts come first, in the order of their requests, those of recordings last. Then come pauses,
        dips and interim decodes, the conversation that has waited longest first; last, what is in the background.
        """
        candidates = []
        for client in self._clients:
            kind = client.needed_decode(self._segments_per_worker(pool))
            if kind == "interim" and self._degradation >= Degradation.NO_INTERIMS:
                continue
            if kind is not None and self._may_begin(pool, client, kind):
                candidates.append((_urgency(client, kind), client, kind))
        if not candidates:
            return None
        _, client, kind = min(candidates, key=lambda candidate: candidate[0])
        return client, kind

    @property
    def _degradation(self) -> Degradation:
        return Degradation.NONE if self._lateness is None else self._lateness.level

    def _preempt(self, pool: ModelWorkers) -> None:
        """Aborts decodes whose result is no longer useful, in favour of transcripts that are or soon will be requested.

        A newer dip also aborts a decode of its own segment, because the newer one is more likely the end.
        """
        useless = [
            running
            for running in self._running
            if running.client.share.background or (running.decode.kind in PREEMPTIBLE and not _is_useful(running))
        ]
        # A thorough decode that begins again beside another client is an ordinary one.
        thorough = [running for running in self._running if running.thorough]
        for client in self._clients:
            if client.share.background:
                continue
            own = [running for running in self._running if running.client is client]
            if not all(running in useless for running in own):
                continue
            kind = client.needed_decode(self._segments_per_worker(pool))
            if kind not in {*REQUESTED, "pause", "probability_dip"}:
                continue
            others = [*useless, *thorough] if kind in REQUESTED else useless
            for running in own or (() if kind == "probability_dip" else others):
                # A pause does not abort another pause: its result may be the only one that comes before the end.
                if kind in REQUESTED or running.decode.kind in EARLY or running.client.share.background:
                    running.unwanted.set()

    def _segments_per_worker(self, pool: ModelWorkers) -> float:
        conversations = sum(not client.share.background for client in self._clients)
        return max(1.0, conversations / pool.model.workers)

    def _may_begin(self, pool: ModelWorkers, client: DecodeClient, kind: Kind) -> bool:
        own = [running for running in self._running if running.client is client]
        if any(
            kind not in REQUESTED or running.decode.kind not in PREEMPTIBLE or _is_useful(running) for running in own
        ):
            return False
        # With several workers, one stays free for requested transcripts.
        urgent = not client.share.background and (kind == "pause" or client.oldest_ticket is not None)
        return urgent or pool.model.workers == 1 or len(self._running) < pool.model.workers - 1

    def _begin(self, pool: ModelWorkers, client: DecodeClient, kind: Kind) -> None:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        if kind in REQUESTED and not client.share.background:
            self._record_wait(client, began_s)
        decode = client.start_decode(kind)
        share = client.share
        language = share.language
        # A requested transcript that is dropped for a failed check is a turn without an answer.
        thorough = share.thorough and not self.has_several_clients  # others may wait for a transcript
        retry = kind == "final" or (kind not in WITHOUT_RETRY and self._degradation < Degradation.FEWER_RETRIES)
        self._served += 1
        share.served = self._served
        # The workers share their threads' times.
        running = _Running(client, decode, HangDetector(pool.need_s * (pool.model.workers + pool.spare)), thorough)

        def done(decoded: Decoded | None) -> None:
            if not self._end(running):
                return
            if decoded is None:
                self.serve()
            else:
                took_s = loop.time() - began_s
                self._mean_took_s += (took_s - self._mean_took_s) * (_NEWEST_SHARE if self._mean_took_s else 1.0)
                if self._lateness is not None and not (share.background or thorough):
                    self._lateness.record_decode(loop.time() - began_s, len(decode.pcm) / MIC_RATE_HZ)
                if share.language is None and decoded.language_sure:
                    share.language = decoded.language
                try:
                    client.on_decoded(decode, _without_encoding(decoded), loop.time() - began_s)
                finally:  # serve the others even if a listener raises
                    self.serve()
                self._check_language(pool, share, decoded)

        def failed(error: Exception) -> None:
            if not self._end(running):
                return
            if isinstance(error, LateError):  # the model works
                client.fail(error)
                self.serve()
            else:
                reason = f"faster-whisper failed while decoding ({error}): load the recognizer again"
                self._fail(SttError(reason), client)

        self._running.append(running)
        self._watch(pool, running)
        try:
            pool.thread.submit(
                lambda: _result(pool.model, decode, share, language, running.is_wanted, retry=retry, thorough=thorough),
                done,
                failed,
            )
        except SttError as error:
            failed(error)

    def _record_wait(self, client: DecodeClient, now_s: float) -> None:
        """Records how long the client's oldest request has waited for this decode, which is the first one for it."""
        ticket = client.oldest_ticket
        if ticket is None or not self._is_remembered(ticket):
            return
        place = ticket % _REMEMBERED_TICKETS
        requested_s, self._requested_s[place] = self._requested_s[place], None
        if requested_s is not None:
            self.queue_wait.record(now_s - requested_s)
            if self._lateness is not None:
                self._lateness.record_wait(now_s - requested_s)

    def _is_remembered(self, ticket: int) -> bool:
        return ticket > self._tickets - _REMEMBERED_TICKETS

    def _check_language(self, pool: ModelWorkers, share: ConversationShare, decoded: Decoded) -> None:
        """Detects the language of a transcript behind the waiting decodes, for the first transcripts of a conversation.

        Fluent words can be a translation: "Wir testen das" decoded as English is "We test that".
        """
        encoded = decoded.encoded
        if encoded is None or share.background or share.language_checks <= 0 or share.languages is not None:
            return
        share.language_checks -= 1

        def detected(language_and_probability: tuple[str, float]) -> None:
            language, probability = language_and_probability
            if language == share.language:
                share.language_checks = 0
            elif probability >= SURE_OF_LANGUAGE:
                share.other_language = language

        with suppress(SttError):  # the model is closed, or it hangs, which the next decode reports
            pool.thread.submit(lambda: pool.model.detect_language(encoded), detected, lambda _error: None)

    def _end(self, running: _Running) -> bool:
        """Removes a running decode. Returns False if it was removed before: an abandoned model may still return."""
        if running not in self._running:
            return False
        self._running.remove(running)
        if running.watch is not None:
            running.watch.cancel()
        return True

    def _watch(self, pool: ModelWorkers, running: _Running) -> None:
        """Observes a decode until it has ended or hangs."""
        reason = running.hang.observe(pool.thread.times.sample(running.steps))
        if not reason:
            running.watch = asyncio.get_running_loop().call_later(STEP_S, self._watch, pool, running)
        elif self._end(running):
            log.warning("faster-whisper hung and was abandoned: %s", reason)
            self._fail(SttError(f"faster-whisper hung ({reason}): load the recognizer again"), running.client)

    def _fail(self, error: SttError, failed_client: DecodeClient) -> None:
        """Handles a model failure: its segment and all pending requests fail, other segments keep their audio."""
        self._release_model(error)
        alive = [client for client in self._clients if not client.is_finished]
        notified = [client for client in alive if client is failed_client or client.oldest_ticket is not None]
        for client in notified or alive:  # at least one must be notified, so that the model is reloaded
            client.fail(error)

    def _release_model(self, error: SttError) -> ModelWorkers | None:
        pool, self._pool, self._closed = self._pool, None, str(error)
        for running in tuple(self._running):
            self._end(running)
        if pool is not None:
            pool.thread.give_up()
            self.abandoned = pool.thread
        return pool


def _without_encoding(decoded: Decoded) -> Decoded:
    """Returns the result without the encoder's output, which takes 3 MB."""
    return decoded if decoded.encoded is None else replace(decoded, encoded=None)


def _result(
    model: SegmentDecoder,
    decode: Decode,
    share: ConversationShare,
    language: str | None,
    is_wanted: Callable[[], bool],
    *,
    retry: bool,
    thorough: bool,
) -> Decoded | None:
    """Decodes in a thread of the model."""
    if decode.kind == "first_word" and language is not None:
        return model.first_word(decode.pcm, language)
    with_tokens, prompt = share.tokens.enabled, share.prompt
    return model.decode(
        decode.pcm,
        language,
        retry=retry,
        is_wanted=is_wanted,
        with_tokens=with_tokens,
        with_times=share.tokens.timed,
        prompt=prompt,
        languages=decode.languages,
        thorough=thorough,
    )


def _is_urgent(client: DecodeClient, kind: Kind) -> bool:
    return kind in REQUESTED and not client.share.background


def _urgency(client: DecodeClient, kind: Kind) -> tuple[int, int]:
    if client.share.background:
        return 5, client.share.served
    if client.oldest_ticket is not None:
        return int(client.share.thorough), client.oldest_ticket
    return (2 if kind == "pause" else 3 if kind == "probability_dip" else 4), client.share.served


def _is_useful(running: _Running) -> bool:
    return not running.client.is_finished and running.client.satisfied_by(running.decode)
