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

from assistant.turn_end import Estimate, Patience, hangover_ms
from assistant.turn_events import (
    AbandonReason,
    Asked,
    Cancelled,
    Cleared,
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
    Judged,
    NothingSaid,
    NotTranscribed,
    OpenSegment,
    Partial,
    Playing,
    Prepare,
    Pressed,
    ReplyEnded,
    ReplyId,
    Retract,
    Started,
    Submitted,
    TakeDown,
    Transcribe,
    Transcribed,
    Unduck,
)
from audio.stt import SegmentId, Words
from audio.units import FRAME_MS, Samples, ms_of_samples, s_of_samples, samples_of_ms, samples_of_s
from audio.vad import Voicing

BACKCHANNELS = frozenset(
    ["mhm", "mm", "mmm", "hm", "hmm", "uh", "huh", "uhhuh", "um", "ah", "oh", "yeah", "okay", "right"]
)
"""What people say to show that they listen: alone it does not take the floor so soon."""

MOST_ANNOUNCEMENTS = 20
"""Waiting for somebody to stop speaking; then the oldest are forgotten."""

EARLY_ATTEMPTS = 8
EARLY_ATTEMPTS_PER_S = 1.0
"""A turn may cost this many requests before a silence is sure, and as many more for each second that it lasts."""

RECHECK_MS = 40.0
RECHECK_APART_MS = 30.0
"""Words that were asked for early are asked for again after so long, if the time when they have settled is not near."""

LATE_ATTEMPT_MS = 160.0
"""A silence that has lasted this long is worth an attempt, and an estimate, whatever the turn has cost."""


UNSURE = 0.6
"""The detector's probability up to which a frame during a reply says nothing."""


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
        hangover_ms: Silence after the last word that ends a turn, where nobody judges.
        patience: From how finished a turn sounds to the silence that ends it; None: always `hangover_ms`.
        speculate_after_ms: Silence that starts an attempt; None: the attempt starts at the endpoint.
        settle_ms: Silence after which a recognizer's words are as good as they get: those asked for sooner are asked
            for again then, and the attempt begins anew if they have changed.
        interrupt_after_ms: Voice during a reply that takes the floor, a frame counting as much as it is surely voice;
            less lets the reply swell up again.
        max_turn_s: A turn is ended here even if the voice goes on (a fan, a radio).
        stuck_after_s: Without progress for so long the floor is given back.
        pre_roll_ms: A segment begins this much before the detected onset, so that no first word is clipped.
        manual: Turns end when the client says so, not by silence; replies are not interrupted by voice.
        held: A key is held while one speaks: as `manual`, but a turn is answered at its end, and prepared for before.
        answers: Turns are answered; else their words are taken down, and the client asks for an answer or does not.
        interruptible: Voice during a reply can take the floor.
    """

    hangover_ms: float = 400.0
    speculate_after_ms: float | None = None
    settle_ms: float = 60.0
    interrupt_after_ms: float = 300.0
    max_turn_s: float = 60.0
    stuck_after_s: float = 10.0
    pre_roll_ms: float = 300.0
    patience: Patience | None = None
    manual: bool = False
    held: bool = False
    answers: bool = True
    interruptible: bool = True


@dataclass(slots=True)
class _Attempt:
    reply: ReplyId
    text: str | None = None
    added: str = ""
    rough: bool = False
    unheard: bool = False
    asked_ms: float = 0.0  # after how much silence for its words
    settled: bool = False  # nothing better will come
    void: Literal["", "overheard", "called"] = ""  # why its words are none to be answered

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
    begun: int = 0  # of them, without those that only asked for words again
    attempt: _Attempt | None = None
    recheck: _Attempt | None = None  # its words asked for again
    endpoint: Samples | None = None
    forced: bool = False  # ended by its length or the client: the voice that still goes on does not reopen it
    wait_ms: float | None = None  # for the silence at hand, as it was judged last
    owed: bool = False  # an answer is due even if nothing more was said
    answered: bool = True


@dataclass(slots=True)
class _Reply:
    reply: ReplyId
    earlier: tuple[str, ...]
    rough: bool
    progress_at: Samples
    attempts: int = 1  # of its turn so far, dropped ones too: no id is used twice
    announcement: str = ""  # what is to be said again if nothing of it was heard
    requested: bool = False
    words_heard: int = 0
    audible: bool = False
    challenge: "_Challenge | None" = None


@dataclass(slots=True)
class _Challenge:
    """Voice during a reply, not yet decided."""

    segment: SegmentId
    onset: Samples
    speech_end: Samples
    backchannel: bool = False
    ducked: bool = False
    sure_ms: float = 0.0


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

    @property
    def replying(self) -> ReplyId | None:
        """The reply that has the floor."""
        return None if self._reply is None else self._reply.reply

    def tell(self, event: Event) -> Effects:  # noqa: C901, PLR0911, PLR0912 - one return for each kind of event
        """Take one event, in order of time; the effects are to be performed at once and in order."""
        match event:
            case Heard():
                return self._heard(event.at, event.voicing)
            case Partial():
                return self._partial(event.at, event.words, called=event.called)
            case Judged():
                return self._judged(event.at, event.segment, event.estimate)
            case Transcribed():
                words = event.words
                return self._transcribed(event.at, event.reply, words.text.strip(), rough=words.rough, void=event.void)
            case NotTranscribed():
                return self._transcribed(event.at, event.reply, "", unheard=True)
            case Playing():
                return self._playing(event)
            case ReplyEnded():
                return self._reply_ended(event)
            case Asked():
                return self._asked(event)
            case Submitted():
                return self._submitted(event.at)
            case Pressed():
                return self._pressed(event.at)
            case Cleared():
                return self._cleared(event.at)
            case Cancelled():
                return self._cancelled()
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
        self._turn.answered = self.settings.answers and not self.settings.manual
        return (OpenSegment(segment, voicing.edge), Started(self._turns_so_far, voicing.edge))

    def _segment_at(self, onset: Samples) -> SegmentId:
        pre_roll = samples_of_ms(self.settings.pre_roll_ms)
        return SegmentId(max(self._used_until, onset - pre_roll, 0))

    def _speaking(self, turn: _Turn, at: Samples, voicing: Voicing) -> Effects:
        if not self.settings.manual and at - turn.onset >= samples_of_s(self.settings.max_turn_s):
            turn.speech_end = at
            dropped = self._drop_attempts(turn, "went on")
            turn.forced = True
            turn.endpoint = at
            self._used_until = Samples(voicing.edge + 1)  # the same stretch of voice does not open another turn
            return (*dropped, self._attempt(turn, at, at), Endpoint(turn.number))
        if voicing.fading is not None:
            turn.endpoint = None
            return self._speculate(turn, at, voicing.fading)
        turn.speech_end = at
        turn.endpoint = turn.wait_ms = None
        return self._drop_attempts(turn, "went on")

    def _pausing(self, turn: _Turn, at: Samples, speech_end: Samples) -> Effects:
        if self.settings.manual:
            turn.speech_end = speech_end
            return ()
        effects = self._speculate(turn, at, speech_end)
        if self.settings.held:
            return effects
        if at - speech_end < samples_of_ms(self.settings.hangover_ms if turn.wait_ms is None else turn.wait_ms):
            return effects
        if turn.attempt is None:
            effects += (self._attempt(turn, at, speech_end),)
        turn.endpoint = at
        return (*effects, Endpoint(turn.number), *self._commit_if_ready(turn, at))

    def _speculate(self, turn: _Turn, at: Samples, speech_end: Samples) -> Effects:
        """A silence, or what may become one: prepare an answer, in case."""
        turn.speech_end = speech_end
        speculate_ms = self.settings.speculate_after_ms
        if speculate_ms is None or self.settings.manual:
            return ()
        attempt, silence = turn.attempt, at - speech_end
        if attempt is None:
            early = turn.begun < EARLY_ATTEMPTS + EARLY_ATTEMPTS_PER_S * s_of_samples(at - turn.onset)
            after_ms = speculate_ms if early else max(speculate_ms, LATE_ATTEMPT_MS)
            return (self._attempt(turn, at, speech_end),) if silence >= samples_of_ms(after_ms) else ()
        if attempt.settled or not attempt.ready or turn.recheck is not None:
            return ()
        return self._recheck(turn, attempt, ms_of_samples(silence), speech_end)

    def _recheck(self, turn: _Turn, attempt: _Attempt, silence_ms: float, speech_end: Samples) -> Effects:
        """Ask for the words again when they have settled, and on the way there, to learn of others sooner."""
        settle_ms = self.settings.settle_ms
        again_ms = attempt.asked_ms + RECHECK_MS
        if silence_ms < (again_ms if again_ms <= settle_ms - RECHECK_APART_MS else settle_ms):
            return ()
        attempt.asked_ms = silence_ms
        attempt.settled = silence_ms >= settle_ms  # or will be, with the answer
        turn.attempts += 1
        reply = ReplyId(turn.number, turn.attempts)
        turn.recheck = _Attempt(reply, asked_ms=silence_ms, settled=attempt.settled)
        return (Transcribe(reply, turn.segment, speech_end),)

    def _judged(self, at: Samples, segment: SegmentId, estimate: Estimate) -> Effects:
        turn, patience = self._turn, self.settings.patience
        if turn is None or patience is None or turn.segment != segment or turn.endpoint is not None:
            return ()  # of a silence that is over
        turn.wait_ms = hangover_ms(estimate, patience)
        return ()

    def _attempt(self, turn: _Turn, at: Samples, speech_end: Samples) -> Effect:
        turn.attempts += 1
        turn.begun += 1
        asked_ms = ms_of_samples(at - speech_end)
        settled = asked_ms >= self.settings.settle_ms or turn.forced
        turn.attempt = _Attempt(ReplyId(turn.number, turn.attempts), asked_ms=asked_ms, settled=settled)
        return Transcribe(turn.attempt.reply, turn.segment, speech_end)

    def _drop_attempts(self, turn: _Turn, why: DropReason) -> Effects:
        dropped = tuple(Drop(attempt.reply, why) for attempt in (turn.attempt, turn.recheck) if attempt is not None)
        turn.attempt = turn.recheck = None
        return dropped

    def _waiting_for_words(self, turn: _Turn, at: Samples, endpoint: Samples) -> Effects:
        if at - endpoint < samples_of_s(self.settings.stuck_after_s):
            return ()
        return self._abandon_turn(turn, at, "stuck")

    # ---- the words ----

    def _partial(self, at: Samples, words: Words, *, called: bool) -> Effects:
        reply = self._reply
        challenge = reply.challenge if reply is not None else None
        if (
            reply is None
            or challenge is None
            or not (self._interruptible or called)
            or words.segment != challenge.segment
            or not words.text
        ):
            return ()
        challenge.backchannel = is_backchannel(words.text) and not called
        if challenge.backchannel or (words.rough and not called):
            return ()  # a cough may be taken for a word, but only roughly
        return self._take_floor(reply, challenge, at)

    def _transcribed(
        self,
        at: Samples,
        reply: ReplyId,
        text: str,
        *,
        rough: bool = False,
        unheard: bool = False,
        void: Literal["", "overheard", "called"] = "",
    ) -> Effects:
        turn = self._turn
        if turn is None:
            return ()
        if turn.recheck is not None and turn.recheck.reply == reply:
            turn.recheck.void = void
            return self._rechecked(turn, turn.recheck, at, text, rough=rough, unheard=unheard)
        if turn.attempt is None or turn.attempt.reply != reply or turn.attempt.ready:
            return ()  # of an attempt that was dropped: too late to matter
        attempt = turn.attempt
        attempt.text, attempt.added = " ".join((*turn.earlier, text)).strip(), text
        attempt.rough, attempt.unheard, attempt.void = rough or turn.earlier_rough, unheard, void
        prepared = (self._prepared(attempt),) if turn.answered and (attempt.text or unheard or turn.owed) else ()
        return prepared + (self._commit_if_ready(turn, at) if turn.endpoint is not None else ())

    def _rechecked(
        self, turn: _Turn, recheck: _Attempt, at: Samples, text: str, *, rough: bool, unheard: bool
    ) -> Effects:
        """The words, asked for again: the same, and the attempt goes on, or others, and it begins anew."""
        attempt, turn.recheck = turn.attempt, None
        assert attempt is not None, "what is asked for again was asked for before"
        if unheard or plain_words(text) == plain_words(attempt.added):
            attempt.void = recheck.void
            dropped: Effects = (Drop(recheck.reply, "same words"),)
            return dropped + (self._commit_if_ready(turn, at) if turn.endpoint is not None else ())
        turn.attempt = recheck
        return (
            Drop(attempt.reply, "other words"),
            *self._transcribed(at, recheck.reply, text, rough=rough, void=recheck.void),
        )

    def _prepared(self, attempt: _Attempt) -> Effect:
        assert attempt.text is not None
        return Prepare(attempt.reply, attempt.text, attempt.added, attempt.unheard)

    def _commit_if_ready(self, turn: _Turn, at: Samples) -> Effects:
        attempt = turn.attempt
        if attempt is None or attempt.text is None or turn.recheck is not None:
            return ()
        if turn.answered and not attempt.text and not attempt.unheard and not turn.owed:
            return self._abandon_turn(turn, at, attempt.void or "no words")
        self._turn = None
        self._used_until = max(self._used_until, turn.speech_end)
        closed = CloseSegment(turn.segment, turn.number)
        if not turn.answered:
            return (TakeDown(turn.number, attempt.text, attempt.added, turn.speech_end, attempt.rough), closed)
        # Joined to what follows only if it is retracted; an apology has no words worth joining.
        earlier = (attempt.text,) if attempt.text else turn.earlier
        self._reply = _Reply(
            attempt.reply, earlier, attempt.rough, progress_at=at, attempts=turn.attempts, requested=turn.owed
        )
        commit = Commit(attempt.reply, attempt.text, attempt.added, turn.speech_end, attempt.rough)
        return (commit, closed)

    def _abandon_turn(self, turn: _Turn, at: Samples, why: AbandonReason) -> Effects:
        dropped = self._drop_attempts(turn, why)
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
        challenge.speech_end = _end_so_far(at, voicing, challenge.onset)
        if not self._interruptible:
            # In manual mode the client may still submit what was said meanwhile.
            if voicing.speaking or self.settings.manual or self.settings.held:
                return self._watch_reply(reply, at)
            return self._forgive(reply, voicing.edge)
        if not voicing.speaking:
            return self._forgive(reply, voicing.edge)
        challenge.sure_ms += _sure_ms(voicing)
        patience_ms = self.settings.interrupt_after_ms * (2 if challenge.backchannel else 1)
        return self._take_floor(reply, challenge, at) if challenge.sure_ms >= patience_ms else ()

    @property
    def _interruptible(self) -> bool:
        return self.settings.interruptible and not self.settings.manual and not self.settings.held

    def _forgive(self, reply: _Reply, until: Samples) -> Effects:
        """The voice during the reply was nothing."""
        challenge, reply.challenge = reply.challenge, None
        self._used_until = max(self._used_until, until)
        if challenge is None:
            return ()
        return (*self._unducked(reply, challenge), DiscardSegment(challenge.segment, reply.reply.turn))

    def _unducked(self, reply: _Reply, challenge: _Challenge) -> Effects:
        return (Unduck(reply.reply),) if challenge.ducked else ()

    def _challenge(self, reply: _Reply, at: Samples, voicing: Voicing) -> Effects:
        segment = self._segment_at(voicing.edge)
        reply.challenge = _Challenge(segment, voicing.edge, at, sure_ms=_sure_ms(voicing))
        opened = OpenSegment(segment, voicing.edge)
        if not self._interruptible:
            return (opened,)
        if reply.audible:
            reply.challenge.ducked = True
            return (Duck(reply.reply), opened)
        # Nothing was heard yet: whoever speaks now is not interrupting but going on.
        return (opened, *self._take_floor(reply, reply.challenge, at))

    def _take_floor(self, reply: _Reply, challenge: _Challenge, at: Samples) -> Effects:
        self._reply = None
        if reply.words_heard == 0:
            effect: Effect = Retract(reply.reply)
            self._announce_again(reply)
            self._turn = _Turn(reply.reply.turn, challenge.segment, challenge.onset, at)
            self._turn.earlier, self._turn.earlier_rough = reply.earlier, reply.rough
            self._turn.owed = bool(reply.earlier) or reply.requested
            self._turn.attempts = reply.attempts
        else:
            effect = Interrupt(reply.reply)
            self._turns_so_far += 1
            self._turn = _Turn(self._turns_so_far, challenge.segment, challenge.onset, at)
        self._turn.answered = self.settings.answers or self._turn.owed
        return (effect, Started(self._turn.number, challenge.onset))

    def _announce_again(self, reply: _Reply) -> None:
        if reply.announcement and not reply.words_heard:
            self._announcements.appendleft(reply.announcement)

    def _watch_reply(self, reply: _Reply, at: Samples) -> Effects:
        if at - reply.progress_at < samples_of_s(self.settings.stuck_after_s):
            return ()
        challenge, self._reply = reply.challenge, None
        handed = self._hand_over(challenge) if challenge is not None else ()
        return (Interrupt(reply.reply, "stuck"), *handed)

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
        return (*self._unducked(reply, reply.challenge), *self._hand_over(reply.challenge))

    def _hand_over(self, challenge: _Challenge) -> Effects:
        """The reply is over; whoever spoke into it has the floor."""
        self._turns_so_far += 1
        self._turn = _Turn(self._turns_so_far, challenge.segment, challenge.onset, challenge.speech_end)
        self._turn.answered = self.settings.answers and not self.settings.manual
        return (Started(self._turns_so_far, challenge.onset),)

    # ---- replies that nobody spoke for ----

    def _asked(self, event: Asked) -> Effects:
        if event.origin == "announcement":
            self._announcements.append(event.text)
            return ()  # with the next frame that finds nobody speaking
        if event.origin == "greeting":
            return self._recite(event.at, event.origin, event.text) if self.floor is Floor.IDLE else ()
        turn = self._turn
        if turn is not None and turn.endpoint is not None:
            return self._answer_after_all(turn, event.at) if event.origin == "requested" else ()
        effects = self._cut(self._reply, "requested") if self._reply is not None else ()
        if turn is not None:
            effects += self._abandon_turn(turn, event.at, "requested")
        self._used_until = max(self._used_until, event.at)
        if event.origin == "repeated":
            return (*effects, *self._recite(event.at, event.origin, event.text))
        answer = self._unspoken_turn(event.at, requested=True)
        return (*effects, Prepare(answer, ""), Commit(answer, "", "", None, origin="requested"))

    def _answer_after_all(self, turn: _Turn, at: Samples) -> Effects:
        """An answer is asked for while the turn's words are still to come: they are what it answers."""
        if turn.answered:
            return ()
        turn.answered = turn.owed = True
        attempt = turn.attempt
        return (
            (self._prepared(attempt), *self._commit_if_ready(turn, at)) if attempt is not None and attempt.ready else ()
        )

    def _cut(self, reply: _Reply, why: Literal["requested", "client"]) -> Effects:
        self._reply = None
        if why == "requested":
            self._announce_again(reply)
        forgiven: Effects = ()
        if reply.challenge is not None:
            forgiven = (DiscardSegment(reply.challenge.segment, reply.reply.turn),)
        return (*forgiven, Interrupt(reply.reply, why))

    def _recite(self, at: Samples, origin: Literal["greeting", "announcement", "repeated"], text: str) -> Effects:
        """Words of the assistant's own: nobody said anything that they answer."""
        answer = self._unspoken_turn(at, announcement=text if origin == "announcement" else "")
        return (Prepare(answer, text, recited=True), Commit(answer, "", "", None, origin=origin))

    def _unspoken_turn(self, at: Samples, *, announcement: str = "", requested: bool = False) -> ReplyId:
        self._turns_so_far += 1
        answer = ReplyId(self._turns_so_far, 1)
        self._reply = _Reply(answer, (), rough=False, progress_at=at, announcement=announcement, requested=requested)
        return answer

    # ---- what the client decides ----

    def _submitted(self, at: Samples) -> Effects:
        effects: Effects = ()
        reply = self._reply
        if reply is not None and reply.challenge is not None:
            self._reply = None
            effects = (Interrupt(reply.reply, "client"), *self._hand_over(reply.challenge))
        turn = self._turn
        self._used_until = max(self._used_until, at)
        if turn is None and self.settings.held:
            return ()
        if turn is None:
            # Nobody was heard in what is submitted. The history says so.
            self._turns_so_far += 1
            return (TakeDown(self._turns_so_far, "", "", at),)
        if turn.endpoint is not None:
            return ()
        turn.endpoint, turn.forced = at, True
        if self.settings.held and turn.attempt is not None and turn.attempt.settled:
            return (*effects, Endpoint(turn.number), *self._commit_if_ready(turn, at))  # it was prepared for
        dropped = self._drop_attempts(turn, "went on")
        return (*effects, *dropped, self._attempt(turn, at, turn.speech_end), Endpoint(turn.number))

    def _pressed(self, at: Samples) -> Effects:
        turn = self._turn
        if turn is None or turn.endpoint is None:
            return self._cancelled()
        turn.endpoint, turn.forced = None, False
        return self._drop_attempts(turn, "went on")

    def _cleared(self, at: Samples) -> Effects:
        self._used_until = max(self._used_until, at)
        if self._reply is not None and self._reply.challenge is not None:
            return self._forgive(self._reply, at)
        if self._turn is not None and self._turn.endpoint is None:
            return self._abandon_turn(self._turn, at, "cleared")
        return ()

    def _cancelled(self) -> Effects:
        return () if self._reply is None else self._cut(self._reply, "client")


def _end_so_far(at: Samples, voicing: Voicing, onset: Samples) -> Samples:
    """Where speech ended, should nothing more come."""
    if voicing.speaking:
        return at if voicing.fading is None else max(voicing.fading, onset)
    return max(voicing.edge, onset)


def _sure_ms(voicing: Voicing) -> float:
    """How much of this frame is surely voice: babble and clatter hover around a half, speech near one.

    As finely as the trace keeps it, in 8 bits, so that a replay of the trace decides alike.
    """
    probability = round(voicing.probability * 255) / 255
    return FRAME_MS * min(max((probability - UNSURE) / (1 - UNSURE), 0.0), 1.0)


def is_backchannel(text: str) -> bool:
    """Whether it is nothing but what people say to show that they listen."""
    return all(word.strip(".,!?") in BACKCHANNELS for word in text.lower().replace("-", "").split())


def plain_words(text: str) -> str:
    """The words alone: case and punctuation are the recognizer's taste."""
    return " ".join("".join(char for char in word if char.isalnum()) for word in text.lower().split())
