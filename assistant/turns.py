"""Who has the floor: the one place where it is decided that somebody spoke, finished, went on or interrupted.

Sans-I/O: `Turns.tell(event) -> effects`. No clock, no await, no device; time comes in with every event, as a
position on the microphone's line. The session performs the effects in the order given.

    IDLE ──voice──▶ USER ──silence──▶ (attempt) ──hangover──▶ ENDED ──words──▶ REPLY ──played──▶ IDLE
                     ▲                    │                     │                │
                     └──────── goes on ───┴─────────────────────┴── interrupts ──┘

An *attempt* at answering a turn starts at a silence: its words are asked for, its reply is prepared and held
behind a gate. Only `Commit` opens the gate, and only when the endpoint is confirmed and the words are known.
Until then the attempt can be dropped without anybody having heard or remembered anything of it.

People who go on:

    before the commit                     Drop       the attempt never was; the turn goes on
    after it, less than a word was heard  Retract    the reply is cancelled; the turn goes on, words joined
    after a word or more was heard        Interrupt  the reply is cut at that word; a new turn
"""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal, assert_never

from assistant.turn_events import (
    AbandonReason,
    Asked,
    CloseSegment,
    Commit,
    DiscardSegment,
    Drop,
    DropReason,
    Duck,
    Effect,
    Effects,
    Endpoint,
    Event,
    Heard,
    Interrupt,
    NothingSaid,
    NotTranscribed,
    OpenSegment,
    Partial,
    Playing,
    Prepare,
    ReplyEnded,
    ReplyId,
    Retract,
    Started,
    Transcribe,
    Transcribed,
    Unduck,
)
from audio.stt import SegmentId, Words
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.vad import Voicing

BACKCHANNELS = frozenset(
    ["mhm", "mm", "mmm", "hm", "hmm", "uh", "huh", "uhhuh", "um", "ah", "oh", "yeah", "okay", "right"]
)
"""What people say to show that they listen: alone it does not take the floor so soon."""

MOST_ANNOUNCEMENTS = 20
"""Waiting for somebody to stop speaking; then the oldest are forgotten."""

MOST_SPECULATIVE_ATTEMPTS = 8
"""Of one turn: who pauses more often than this costs no more requests until the turn is over."""


class Floor(Enum):
    """Who is being waited for."""

    IDLE = auto()
    USER = auto()
    ENDED = auto()
    REPLY = auto()


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How long to wait.

    Attributes:
        hangover_ms: Silence after the last word that ends a turn.
        speculate_after_ms: Silence that starts an attempt; None: the attempt starts at the endpoint.
        interrupt_after_ms: Voice during a reply that takes the floor; less lets the reply swell up again.
        max_turn_s: A turn is ended here even if the voice goes on (a fan, a radio).
        stuck_after_s: Without progress for so long the floor is given back.
        pre_roll_ms: A segment begins this much before the detected onset, so that no first word is clipped.
    """

    hangover_ms: float = 400.0
    speculate_after_ms: float | None = None
    interrupt_after_ms: float = 300.0
    max_turn_s: float = 60.0
    stuck_after_s: float = 10.0
    pre_roll_ms: float = 300.0


@dataclass(slots=True)
class _Attempt:
    reply: ReplyId
    speech_end: Samples
    text: str | None = None
    rough: bool = False
    unheard: bool = False

    @property
    def ready(self) -> bool:
        return self.text is not None


@dataclass(slots=True)
class _Turn:
    number: int
    segment: SegmentId
    onset: Samples
    speech_end: Samples
    earlier: tuple[str, ...] = ()  # words of segments that were committed and then retracted
    earlier_rough: bool = False
    attempts: int = 0
    attempt: _Attempt | None = None
    endpoint: Samples | None = None
    forced: bool = False  # ended by its length: the voice that still goes on does not reopen it


@dataclass(slots=True)
class _Reply:
    reply: ReplyId
    earlier: tuple[str, ...]
    rough: bool
    progress_at: Samples
    announcement: str = ""  # what is to be said again if nothing of it was heard
    words_heard: int = 0
    audible: bool = False
    challenge: "_Challenge | None" = None


@dataclass(slots=True)
class _Challenge:
    """Voice during a reply, not yet decided."""

    segment: SegmentId
    onset: Samples
    backchannel: bool = False


@dataclass(slots=True)
class Turns:
    """The turn-taking state machine of one conversation; takes events in any order without raising."""

    settings: TurnSettings
    _turn: _Turn | None = None
    _reply: _Reply | None = None
    _turns_so_far: int = 0
    _used_until: Samples = field(default=Samples(0))  # voice that began before this was answered already
    _announcements: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_ANNOUNCEMENTS))

    @property
    def floor(self) -> Floor:
        """Who is being waited for."""
        if self._reply is not None:
            return Floor.REPLY
        if self._turn is None:
            return Floor.IDLE
        return Floor.USER if self._turn.endpoint is None else Floor.ENDED

    def tell(self, event: Event) -> Effects:  # noqa: PLR0911 - one return for each kind of event
        """Take one event, in order of time; the effects are to be performed at once and in order."""
        match event:
            case Heard():
                return self._heard(event.at, event.voicing)
            case Partial():
                return self._partial(event.at, event.words)
            case Transcribed():
                return self._transcribed(event.at, event.reply, event.words.text.strip(), rough=event.words.rough)
            case NotTranscribed():
                return self._transcribed(event.at, event.reply, "", unheard=True)
            case Playing():
                return self._playing(event)
            case ReplyEnded():
                return self._reply_ended(event)
            case Asked():
                return self._asked(event)
            case _:
                assert_never(event)

    # ---- the microphone ----

    def _heard(self, at: Samples, voicing: Voicing) -> Effects:
        if self._reply is not None:
            return self._heard_during_reply(self._reply, at, voicing)
        if self._turn is None:
            if voicing.speaking and voicing.edge >= self._used_until:
                return self._begin_turn(voicing)
            return self._recite(at, "announcement", self._announcements.popleft()) if self._announcements else ()
        if self._turn.endpoint is not None and (self._turn.forced or not voicing.speaking):
            return self._waiting_for_words(self._turn, at, self._turn.endpoint)
        if voicing.speaking:
            return self._speaking(self._turn, at, voicing)
        # A detector that took over in mid-turn knows of no speech yet: then the last voiced frame was the end.
        speech_end = voicing.edge if voicing.edge > self._turn.onset else self._turn.speech_end
        return self._pausing(self._turn, at, speech_end)

    def _begin_turn(self, voicing: Voicing) -> Effects:
        self._turns_so_far += 1
        segment = self._segment_at(voicing.edge)
        self._turn = _Turn(self._turns_so_far, segment, voicing.edge, voicing.edge)
        return (OpenSegment(segment, voicing.edge), Started(self._turns_so_far, voicing.edge))

    def _segment_at(self, onset: Samples) -> SegmentId:
        pre_roll = samples_of_ms(self.settings.pre_roll_ms)
        return SegmentId(max(self._used_until, onset - pre_roll, 0))

    def _speaking(self, turn: _Turn, at: Samples, voicing: Voicing) -> Effects:
        turn.speech_end = at
        dropped = self._drop_attempt(turn, "went on")
        turn.endpoint = None
        if at - turn.onset < samples_of_s(self.settings.max_turn_s):
            return dropped
        turn.forced = True
        turn.endpoint = at
        self._used_until = Samples(voicing.edge + 1)  # the same stretch of voice does not open another turn
        return (*dropped, self._attempt(turn, at), Endpoint(turn.number))

    def _pausing(self, turn: _Turn, at: Samples, speech_end: Samples) -> Effects:
        turn.speech_end = speech_end
        silence = at - speech_end
        hangover = samples_of_ms(self.settings.hangover_ms)
        speculate_ms = self.settings.speculate_after_ms
        waits = speculate_ms is None or turn.attempts >= MOST_SPECULATIVE_ATTEMPTS
        patience = hangover if speculate_ms is None or waits else min(hangover, samples_of_ms(speculate_ms))
        effects: Effects = ()
        if silence >= patience and turn.attempt is None:
            effects = (self._attempt(turn, speech_end),)
        if silence >= hangover:
            turn.endpoint = at
            effects += (Endpoint(turn.number), *self._commit_if_ready(turn, at))
        return effects

    def _attempt(self, turn: _Turn, speech_end: Samples) -> Effect:
        turn.attempts += 1
        turn.attempt = _Attempt(ReplyId(turn.number, turn.attempts), speech_end)
        return Transcribe(turn.attempt.reply, turn.segment, speech_end)

    def _drop_attempt(self, turn: _Turn, why: DropReason) -> Effects:
        attempt, turn.attempt = turn.attempt, None
        return () if attempt is None else (Drop(attempt.reply, why),)

    def _waiting_for_words(self, turn: _Turn, at: Samples, endpoint: Samples) -> Effects:
        if at - endpoint < samples_of_s(self.settings.stuck_after_s):
            return ()
        return self._abandon_turn(turn, at, "stuck")

    # ---- the words ----

    def _partial(self, at: Samples, words: Words) -> Effects:
        reply = self._reply
        challenge = reply.challenge if reply is not None else None
        if reply is None or challenge is None or words.segment != challenge.segment or not words.text:
            return ()
        said = words.text.lower().replace("-", "").split()
        challenge.backchannel = all(word.strip(".,!?") in BACKCHANNELS for word in said)
        if challenge.backchannel or words.rough:
            return ()  # a cough may be taken for a word, but only roughly
        return self._take_floor(reply, challenge, at)

    def _transcribed(
        self, at: Samples, reply: ReplyId, text: str, *, rough: bool = False, unheard: bool = False
    ) -> Effects:
        turn = self._turn
        if turn is None or turn.attempt is None or turn.attempt.reply != reply or turn.attempt.ready:
            return ()  # of an attempt that was dropped: too late to matter
        attempt = turn.attempt
        attempt.text = " ".join((*turn.earlier, text)).strip()
        attempt.rough, attempt.unheard = rough or turn.earlier_rough, unheard
        prepared: Effects = (Prepare(reply, attempt.text, unheard),) if attempt.text or unheard else ()
        return prepared + (self._commit_if_ready(turn, at) if turn.endpoint is not None else ())

    def _commit_if_ready(self, turn: _Turn, at: Samples) -> Effects:
        attempt = turn.attempt
        if attempt is None or attempt.text is None:
            return ()
        if not attempt.text and not attempt.unheard:
            return self._abandon_turn(turn, at, "no words")
        self._turn = None
        # Joined to what follows only if it is retracted; an apology has no words worth joining.
        earlier = (attempt.text,) if attempt.text else turn.earlier
        self._reply = _Reply(attempt.reply, earlier, attempt.rough, progress_at=at)
        self._used_until = max(self._used_until, turn.speech_end)
        commit = Commit(attempt.reply, attempt.text, attempt.speech_end, attempt.rough)
        return (commit, CloseSegment(turn.segment, turn.number))

    def _abandon_turn(self, turn: _Turn, at: Samples, why: AbandonReason) -> Effects:
        dropped = self._drop_attempt(turn, why)
        self._turn = None
        self._used_until = max(self._used_until, turn.speech_end)
        return (*dropped, DiscardSegment(turn.segment, turn.number), NothingSaid(turn.number, at, turn.speech_end, why))

    # ---- the reply, and voices during it ----

    def _heard_during_reply(self, reply: _Reply, at: Samples, voicing: Voicing) -> Effects:
        challenge = reply.challenge
        if challenge is None:
            if voicing.speaking and voicing.edge >= self._used_until:
                return self._challenge(reply, at, voicing)
            return self._watch_reply(reply, at)
        if not voicing.speaking:
            reply.challenge = None
            self._used_until = max(self._used_until, voicing.edge)
            return (Unduck(reply.reply), DiscardSegment(challenge.segment, reply.reply.turn))
        patience_ms = self.settings.interrupt_after_ms * (2 if challenge.backchannel else 1)
        if at - challenge.onset < samples_of_ms(patience_ms):
            return ()
        return self._take_floor(reply, challenge, at)

    def _challenge(self, reply: _Reply, at: Samples, voicing: Voicing) -> Effects:
        segment = self._segment_at(voicing.edge)
        reply.challenge = _Challenge(segment, voicing.edge)
        opened = OpenSegment(segment, voicing.edge)
        if reply.audible:
            return (Duck(reply.reply), opened)
        # Nothing was heard yet: whoever speaks now is not interrupting but going on.
        return (opened, *self._take_floor(reply, reply.challenge, at))

    def _take_floor(self, reply: _Reply, challenge: _Challenge, at: Samples) -> Effects:
        self._reply = None
        if reply.words_heard == 0:
            effect: Effect = Retract(reply.reply)
            if reply.announcement:
                self._announcements.appendleft(reply.announcement)
            self._turn = _Turn(reply.reply.turn, challenge.segment, challenge.onset, at)
            self._turn.earlier, self._turn.earlier_rough = reply.earlier, reply.rough
            self._turn.attempts = reply.reply.attempt
        else:
            effect = Interrupt(reply.reply)
            self._turns_so_far += 1
            self._turn = _Turn(self._turns_so_far, challenge.segment, challenge.onset, at)
        return (effect, Started(self._turn.number, challenge.onset))

    def _watch_reply(self, reply: _Reply, at: Samples) -> Effects:
        if at - reply.progress_at < samples_of_s(self.settings.stuck_after_s):
            return ()
        self._reply = None
        return (Interrupt(reply.reply, "stuck"),)

    def _playing(self, event: Playing) -> Effects:
        reply = self._reply
        if reply is not None and reply.reply == event.reply:
            reply.progress_at = max(reply.progress_at, event.at)
            reply.words_heard = max(reply.words_heard, event.words_heard)
            reply.audible = reply.audible or event.audible
        return ()

    def _reply_ended(self, event: ReplyEnded) -> Effects:
        reply = self._reply
        if reply is None or reply.reply != event.reply:
            return ()
        self._reply = None
        if reply.challenge is None:
            return ()
        self._turns_so_far += 1
        challenge = reply.challenge
        self._turn = _Turn(self._turns_so_far, challenge.segment, challenge.onset, event.at)
        return (Unduck(reply.reply), Started(self._turns_so_far, challenge.onset))

    # ---- replies that nobody spoke for ----

    def _asked(self, event: Asked) -> Effects:
        if event.origin == "announcement":
            self._announcements.append(event.text)
            return ()  # with the next frame that finds nobody speaking
        if event.origin == "greeting":
            return self._recite(event.at, event.origin, event.text) if self.floor is Floor.IDLE else ()
        effects: Effects = ()
        if self._reply is not None:
            reply, self._reply = self._reply, None
            if reply.challenge is not None:
                effects = (DiscardSegment(reply.challenge.segment, reply.reply.turn),)
            effects += (Interrupt(reply.reply, "typed"),)
        if self._turn is not None:
            effects += self._abandon_turn(self._turn, event.at, "typed")
        self._used_until = max(self._used_until, event.at)
        answer = self._unspoken_turn(event.at, (event.text,))
        return (*effects, Prepare(answer, event.text), Commit(answer, event.text, None, origin="typed"))

    def _recite(self, at: Samples, origin: Literal["greeting", "announcement"], text: str) -> Effects:
        """Words of the assistant's own: nobody said anything that they answer."""
        answer = self._unspoken_turn(at, (), announcement=text if origin == "announcement" else "")
        return (Prepare(answer, text, recited=True), Commit(answer, "", None, origin=origin))

    def _unspoken_turn(self, at: Samples, earlier: tuple[str, ...], announcement: str = "") -> ReplyId:
        self._turns_so_far += 1
        answer = ReplyId(self._turns_so_far, 1)
        self._reply = _Reply(answer, earlier, rough=False, progress_at=at, announcement=announcement)
        return answer
