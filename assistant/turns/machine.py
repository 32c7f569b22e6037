"""Who has the floor: the one place where it is decided that somebody spoke, finished, went on or interrupted.

Sans-I/O: `TurnTaking.tell(event) -> effects`. No clock, no await, no device; time comes in with every event, as a
position on the microphone's line. The session performs the effects in the order given. Here it is decided when the
floor passes from one to the other; how it does is in `assistant.turns.states`.

    IDLE ──voice──▶ USER ──silence──▶ (attempt) ──hangover──▶ ENDED ──words──▶ REPLY ──played──▶ IDLE
                     ▲                    │                     │                │
                     └──────── goes on ───┴─────────────────────┴── interrupts ──┘

An *attempt* at answering a turn starts at a silence: its words are asked for, its reply is prepared and held
behind a gate. Only `CommitTurn` opens the gate, and only when the endpoint is confirmed and the words are known.
Until then the attempt can be dropped without anybody having heard or remembered anything of it.

People who go on:

    before the commit                     Drop       the attempt never was; the turn goes on
    after it, less than a word was heard  Retract    the reply is cancelled; the turn goes on, words joined
    after a word or more was heard        Interrupt  the reply is cut at that word; a new turn

A reply that is asked for in the midst of speech (somebody types) is begun at once. The speech is listened to beside it,
and is a turn of its own when the reply is over.
"""

from dataclasses import dataclass, field, replace
from typing import assert_never

from assistant.end_of_turn.estimator import EndOfTurnEstimate, hangover_ms
from assistant.turns.backchannel import is_backchannel
from assistant.turns.events import (
    Effects,
    EndOfTurn,
    EndOfTurnScored,
    Event,
    FinalTranscript,
    FrameProcessed,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    InterruptReply,
    KeyPressed,
    PlaybackProgress,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    TranscriptFailed,
    TurnDiscarded,
)
from assistant.turns.overlap import ActiveReply, Overlap
from assistant.turns.resume_guard import ResumeGuard
from assistant.turns.settings import TurnSettings
from assistant.turns.states import Phase, TurnState
from assistant.turns.user_turn import UserTurn
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult

_OF_CLIENTS = (ReplyRequested, InputCommitted, KeyPressed, InputCleared, ReplyCancelled)


@dataclass(slots=True)
class TurnTaking:
    """The turn-taking state machine of one conversation; takes events in any order without raising."""

    settings: TurnSettings
    _state: TurnState = field(default_factory=TurnState)
    _pressed_at: Samples | None = None  # the key has been held since

    @property
    def phase(self) -> Phase:
        """Who is being waited for."""
        return self._state.phase

    @property
    def replying(self) -> ReplyId | None:
        """The reply that has the floor."""
        return None if self._state.reply is None else self._state.reply.reply

    @property
    def challenged(self) -> bool:
        """Somebody may be speaking into the reply that has the floor."""
        return self._state.reply is not None and self._state.reply.overlap is not None

    @property
    def has_unrequested_turn(self) -> bool:
        """A turn is over whose words are still to come, and nobody has asked for an answer to it yet."""
        turn = self._state.turn
        return turn is not None and turn.endpoint is not None and not turn.answered

    @property
    def owes_reply(self) -> bool:
        """Such a turn, and somebody has."""
        turn = self._state.turn
        return turn is not None and turn.endpoint is not None and turn.reply_owed

    @property
    def resume_pending(self) -> bool:
        """A reply was cut by nothing, and its rest is to be said soon."""
        return self._state.resume_pending is not None

    @property
    def is_quiet(self) -> bool:
        """Nobody speaks or has just spoken, and nothing is to be said: the next silent frame decides nothing."""
        state = self._state
        if state.turn is not None or state.announcements or state.resume_pending is not None:
            return False
        if state.answer_behind and state.reply is None:
            return False
        if state.candidate is not None or state.queued.waiting:
            return False
        reply = state.reply
        return reply is None or (reply.overlap is None and not (self._interruptible and reply.looks))

    def only_listens(self, until: Samples) -> bool:
        """Somebody has the floor, and nothing is prepared for its end: voiced frames up to there decide nothing."""
        turn = self._state.turn
        if turn is None or turn.endpoint is not None or turn.attempt is not None:
            return False
        return self.settings.manual or not turn.too_long(until, self.settings)

    @property
    def _by_silence(self) -> bool:
        """A silence ends a turn, not a client or a key."""
        return not self.settings.manual and not self.settings.held

    @property
    def _interruptible(self) -> bool:
        return self.settings.interruptible and not self.settings.manual and not self.settings.held

    def tell(self, event: Event) -> Effects:
        """Take one event, in order of time; the effects are to be performed at once and in order."""
        configured = self._state.configured(self.settings)
        # What a client or a key does while somebody may be speaking is done in a turn.
        begun = self._state.begin_turn(self.settings) if isinstance(event, _OF_CLIENTS) else ()
        return (*configured, *begun, *self._told(event))

    def _told(self, event: Event) -> Effects:  # noqa: PLR0911 - one return for each kind of event
        match event:
            case FrameProcessed():
                return self._heard(event.at, event.vad)
            case InterimTranscript():
                return self._partial(event)
            case EndOfTurnScored():
                return self._judged(event.segment, event.estimate)
            case FinalTranscript() | TranscriptFailed():
                return self._transcribed(event)
            case PlaybackProgress():
                return self._playing(event)
            case ReplyEnded():
                return self._reply_ended(event)
            case ReplyRequested():
                return self._state.asked(event)
            case InputCommitted():
                return self._submitted(event.at, behind=event.behind)
            case KeyPressed():
                return self._pressed(event.at)
            case InputCleared():
                return self._cleared(event.at)
            case ReplyCancelled():
                return self._cancelled(event.at, request_too=event.including_request)
            case _:
                assert_never(event)

    # ---- the microphone ----

    def _heard(self, at: Samples, voicing: VadResult) -> Effects:
        waited = self._waited(at) if self._state.queued.waiting else ()
        return (*waited, *self._heard_now(at, voicing))

    def _heard_now(self, at: Samples, voicing: VadResult) -> Effects:
        turn, reply = self._state.turn, self._state.reply
        if reply is not None:
            return self._heard_during_reply(reply, at, voicing)
        if turn is None:
            return self._heard_idle(at, voicing)
        turn.hears(voicing)
        if turn.endpoint is not None and (turn.forced or not voicing.speaking):
            if self._interruptible and not turn.forced:
                turn.resume_guard.at(at, voicing)
            if turn.forced and not self.settings.held:
                self._state.queued.hear(at, voicing, self.settings)
            return self._waiting_for_words(turn, at, turn.endpoint)
        if voicing.speaking:
            return self._speaking(turn, at, voicing)
        # A detector that took over in mid-turn knows of no speech yet: then the last voiced frame was the end.
        speech_end = voicing.boundary if voicing.boundary > turn.onset else turn.speech_end
        return self._pausing(turn, at, voicing, speech_end)

    def _heard_idle(self, at: Samples, voicing: VadResult) -> Effects:
        state = self._state
        onset = state.onset(at, voicing, self.settings)
        if onset is not None:
            return state.approached(at, onset, voicing, self.settings)
        receded = () if state.candidate is None else state.receded(state.candidate, at, self.settings)
        return receded if state.candidate is not None else (*receded, *self._announce(at))

    def _announce(self, at: Samples) -> Effects:
        """Nobody speaks; who holds the key is about to, unless they have forgotten it."""
        waiting = self._state.announcements
        held = self._pressed_at is not None and at - self._pressed_at < samples_of_s(self.settings.max_turn_s)
        if held:
            return ()
        if self._state.answer_behind:
            return self._state.answer_now(at)
        if not waiting:
            return self._state.resume(at)
        announcement = waiting.popleft()
        return self._state.recite(at, "announcement", announcement.text, announcement=announcement)

    def _speaking(self, turn: UserTurn, at: Samples, voicing: VadResult) -> Effects:
        if not self.settings.manual and turn.too_long(at, self.settings):
            turn.speech_end = at
            dropped = turn.drop_attempts("went on")
            turn.forced = turn.overlong = True
            turn.endpoint, turn.resume_guard = at, ResumeGuard()
            self._state.queued.cut_here(at)
            return (*dropped, turn.begin_attempt(at, at, self.settings), EndOfTurn(turn.number))
        if voicing.possible_end is not None:
            turn.endpoint = None
            return turn.speculate(at, voicing.possible_end, self.settings)
        turn.speech_end = at
        turn.endpoint = turn.wait_ms = None
        return turn.drop_attempts("went on")

    def _pausing(self, turn: UserTurn, at: Samples, voicing: VadResult, speech_end: Samples) -> Effects:
        settings = self.settings
        if settings.manual:
            turn.speech_end = speech_end
            return ()
        effects = turn.speculate(at, speech_end, settings)
        if settings.held:
            return (*effects, *self._end_turn(turn, at)) if turn.too_long(at, settings) else effects
        if at - speech_end < samples_of_ms(settings.hangover_ms if turn.wait_ms is None else turn.wait_ms):
            return effects
        if turn.resume_guard.at(at, voicing):
            return effects
        if turn.attempt is None:
            effects += (turn.begin_attempt(at, speech_end, settings),)
        turn.endpoint = at
        return (*effects, EndOfTurn(turn.number), *self._state.commit_if_ready(turn, at))

    def _end_turn(self, turn: UserTurn, at: Samples) -> Effects:
        """It is over, whatever is still to be heard."""
        turn.endpoint, turn.forced, turn.resume_guard = at, True, ResumeGuard()
        if self.settings.held and turn.attempt is not None and turn.attempt.settled:
            return (EndOfTurn(turn.number), *self._state.commit_if_ready(turn, at))  # it was prepared for
        dropped = turn.drop_attempts("went on")
        return (*dropped, turn.begin_attempt(at, turn.speech_end, self.settings), EndOfTurn(turn.number))

    def _judged(self, segment: SegmentId, estimate: EndOfTurnEstimate) -> Effects:
        turn, patience = self._state.turn, self.settings.patience
        if turn is None or patience is None or turn.segment != segment or turn.endpoint is not None:
            return ()  # of a silence that is over
        turn.wait_ms = hangover_ms(estimate, patience)
        return ()

    def _waiting_for_words(self, turn: UserTurn, at: Samples, endpoint: Samples) -> Effects:
        if at - endpoint < samples_of_s(self.settings.stuck_after_s):
            return ()
        return self._state.give_up(turn, at, "stuck")

    # ---- what was said behind a turn that waited for its words ----

    def _waited(self, at: Samples) -> Effects:
        state = self._state
        if state.turn is not None or (state.reply is not None and state.reply.overlap is not None):
            return ()
        effects: Effects = ()
        said = state.waited(self.settings)
        # All of them in one frame: what is said in it belongs behind what waits.
        while said is not None and said.voice is None:
            ended = said.submitted_at is not None
            effects += (TurnDiscarded(state.next_turn(), at, said.speech_end, "no words", ended),)
            said = state.waited(self.settings)
        if said is None or said.voice is None:
            return effects
        ended = said.submitted_at is not None
        if state.reply is not None:
            voicing = VadResult(True, said.voice.onset, said.voice.surest)
            effects += self._challenged(state.reply, at, said.segment, voicing)
            reply = state.reply
            if reply is not None and reply.overlap is not None and ended:  # the client may interrupt it
                effects += (InterruptReply(reply.reply, "client"), *state.hand_over(reply.overlap, self.settings))
        else:
            effects += state.begin_at(said.segment, said.voice, said.speech_end, self.settings)
        turn = state.turn
        if turn is None or said.submitted_at is None:
            return effects
        turn.speech_end = said.speech_end
        turn.vouched_for()
        turn.submitted = True
        state.cut_here(said.submitted_at, self.settings)
        effects += self._end_turn(turn, at)
        return effects + (state.answer_after_all(turn, at) if said.owed else ())

    # ---- the words ----

    def _transcribed(self, event: FinalTranscript | TranscriptFailed) -> Effects:
        turn, reply = self._state.turn, self._state.reply
        if reply is not None:
            return self._state.answered_aside(reply, event, self.settings)
        effects = None if turn is None else turn.told(event, doubted=self._by_silence and turn.answered)
        if turn is None or effects is None:
            return ()
        if turn.endpoint is not None:
            return effects + self._state.commit_if_ready(turn, event.at)
        return effects + turn.settle(event.at, self.settings)

    def _partial(self, event: InterimTranscript) -> Effects:
        at, words, called = event.at, event.transcript, event.has_wake_phrase
        turn, reply, approach = self._state.turn, self._state.reply, self._state.candidate
        if event.was_requested and approach is not None and approach.segment == words.segment:
            begins = words.text and (called or not words.low_confidence)
            return self._state.begin_turn(self.settings, vouched=True) if begins else self._state.heard_nothing()
        challenge = reply.overlap if reply is not None else None
        if called and turn is not None and turn.segment == words.segment:
            turn.vouched_for()
        if (
            reply is None
            or challenge is None
            or challenge.kept
            or not (self._interruptible or called)
            or words.segment != challenge.segment
            or not (words.text or event.was_requested)
        ):
            return ()
        challenge.backchannel = bool(words.text) and is_backchannel(words.text) and not called
        if challenge.backchannel or not words.text or (words.low_confidence and not called):
            # A cough may be taken for a word, but only roughly.
            nothing = event.was_requested and challenge.asked_at is not None
            return self._state.not_understood(reply, challenge, at, echo=event.is_echo) if nothing else ()
        if called or event.was_requested:
            challenge.surest = 1.0  # what was understood needs no detector that is sure
        return self._state.take(reply, challenge, at, self.settings)

    # ---- the reply, and voices during it ----

    def _heard_during_reply(self, reply: ActiveReply, at: Samples, voicing: VadResult) -> Effects:
        challenge, settings = reply.overlap, self.settings
        if challenge is None:
            return self._heard_into(reply, at, voicing)
        if challenge.paused and voicing.speaking:
            challenge.early = challenge.early and reply.is_early(voicing.boundary)
        challenge.goes_on(at, voicing)
        if challenge.kept:
            return self._heard_beside(reply, challenge, at, voicing)
        if not self._interruptible:
            return (*reply.hushed(), *self._heard_in_vain(reply, challenge, at, voicing))
        if not voicing.speaking:
            return self._hushed(reply, challenge, at, voicing)
        if challenge.takes(voicing, settings):
            return self._state.take(reply, challenge, at, settings)
        return (*reply.lowered(at), *self._watch_reply(reply, at))

    def _hushed(self, reply: ActiveReply, challenge: Overlap, at: Samples, voicing: VadResult) -> Effects:
        """It has ended before it was sure."""
        if not challenge.waits(at):
            return self._state.forgive(reply, voicing.boundary, at)
        return (*challenge.asks(at), *self._watch_reply(reply, at))

    def _heard_into(self, reply: ActiveReply, at: Samples, voicing: VadResult) -> Effects:
        onset = self._state.onset(at, voicing, self.settings)
        if onset is None:
            return self._quiet(reply, at, voicing)
        segment = self._state.segment_at(onset, self.settings)
        return self._challenged(reply, at, segment, replace(voicing, boundary=onset))

    def _heard_in_vain(self, reply: ActiveReply, challenge: Overlap, at: Samples, voicing: VadResult) -> Effects:
        """Voice may not interrupt this reply."""
        settings = self.settings
        if self._by_silence and (settings.by_name or challenge.side_talk is not None):
            return (*self._asked_aside(challenge, at, voicing), *self._watch_reply(reply, at))
        # Where the client ends turns it may still submit what was said meanwhile.
        if self._by_silence and not voicing.speaking:
            return self._state.forgive(reply, voicing.boundary, at)
        kept = settings.by_client and not settings.manual and challenge.is_sure(voicing, settings)
        return self._state.keep(challenge) if kept else self._watch_reply(reply, at)

    def _asked_aside(self, challenge: Overlap, at: Samples, voicing: VadResult) -> Effects:
        """The reply goes on: behind a silence that would end a turn the words are asked for."""
        if voicing.speaking:
            return () if challenge.side_talk is None else challenge.side_talk.drop_attempts("went on")
        asked = challenge.side_talk is not None and challenge.side_talk.attempt is not None
        if asked or at - challenge.speech_end < samples_of_ms(self.settings.hangover_ms):
            return ()
        return self._state.ask_aside(challenge, at, self.settings)

    def _heard_beside(self, reply: ActiveReply, challenge: Overlap, at: Samples, voicing: VadResult) -> Effects:
        """The reply was asked for in the midst of their words: only who speaks up anew interrupts it."""
        anew = voicing.speaking and voicing.boundary >= self._state.used_until
        if not anew or not self._interruptible:
            challenge.sure_ms = 0.0
            told = self._by_silence and self.settings.by_client and not self._interruptible
            asked = self._asked_aside(challenge, at, voicing) if told else ()
            return (*reply.hushed(), *asked, *self._watch_reply(reply, at))
        sure = challenge.is_sure(voicing, self.settings)
        if sure or not reply.audible:
            return self._state.take(reply, challenge, at, self.settings)
        return (*reply.lowered(at), *self._watch_reply(reply, at))

    def _challenged(self, reply: ActiveReply, at: Samples, segment: SegmentId, voicing: VadResult) -> Effects:
        effects = reply.challenged(at, voicing, segment, interruptible=self._interruptible)
        if not self._interruptible or reply.audible or reply.overlap is None:
            return (*reply.released(), *effects)
        # Nothing was heard yet: whoever speaks now is not interrupting but going on.
        return (*effects, *self._state.take(reply, reply.overlap, at, self.settings))

    def _quiet(self, reply: ActiveReply, at: Samples, voicing: VadResult) -> Effects:
        return (*reply.looked(at, voicing, interruptible=self._interruptible), *self._watch_reply(reply, at))

    def _watch_reply(self, reply: ActiveReply, at: Samples) -> Effects:
        if not reply.stuck(at, self.settings):
            return ()
        self._state.reply = None
        self._state.failed(reply)
        handed = self._state.hand_over(reply.overlap, self.settings) if reply.overlap is not None else ()
        return (InterruptReply(reply.reply, "stuck"), *handed)

    def _playing(self, event: PlaybackProgress) -> Effects:
        reply = self._state.reply
        if reply is not None and reply.reply == event.reply:
            reply.playing(event)
        return ()

    def _reply_ended(self, event: ReplyEnded) -> Effects:
        reply = self._state.reply
        if reply is None or reply.reply != event.reply:
            return ()
        self._state.reply = None
        self._state.failed(reply)
        challenge = reply.overlap
        if challenge is None:
            return self._state.answer_now(event.at)
        undecided = challenge.turn is None and challenge.side_talk is None and not challenge.kept
        if challenge.paused and undecided and self._interruptible:
            self._state.candidate = challenge.receding()
            return reply.unducked()
        return (*reply.unducked(), *self._state.hand_over(challenge, self.settings))

    # ---- what the client decides ----

    def _submitted(self, at: Samples, *, behind: bool = False) -> Effects:
        # What waits behind a turn that was given up in this very frame is what is submitted.
        effects = self._waited(at) if self._state.queued.waiting else ()
        state, reply = self._state, self._state.reply
        if reply is not None and reply.overlap is not None:
            if not behind:
                state.announce_again(reply)
                effects += (InterruptReply(reply.reply, "client"),)
            effects += state.hand_over(reply.overlap, self.settings)
        turn = state.turn
        if turn is not None and turn.forced and not self.settings.held and (not turn.overlong or state.queued.heard):
            state.queued.submitted(at, self.settings)
            return effects
        state.cut_here(at, self.settings)
        self._pressed_at = None
        if turn is None and self.settings.held:
            return ()
        if turn is None:
            # Nobody was heard in what is submitted.
            return (TurnDiscarded(state.next_turn(), at, at, "no words", submitted=True),)
        turn.vouched_for()
        turn.submitted = True
        if turn.endpoint is None:
            effects += self._end_turn(turn, at)
        turn.forced = True
        state.queued.cut_here(at)
        return effects

    def _pressed(self, at: Samples) -> Effects:
        turn, reply = self._state.turn, self._state.reply
        if not self.settings.held:
            return self._cancelled(at)
        self._pressed_at = at
        if reply is not None:
            self._state.announce_again(reply)  # who presses the key wants to speak
        if turn is None or turn.endpoint is None:
            return self._cancelled(at)
        turn.endpoint, turn.forced = None, False
        return turn.drop_attempts("went on")

    def _cleared(self, at: Samples) -> Effects:
        state, turn, reply = self._state, self._state.turn, self._state.reply
        if turn is not None and turn.forced and not self.settings.held:
            state.queued.cleared(at)
            return ()
        state.cut_here(at, self.settings)
        self._pressed_at = None
        if reply is not None and reply.overlap is not None:
            return state.forgive(reply, at, at)
        if turn is None or turn.endpoint is not None:
            return ()
        return state.give_up(turn, at, "cleared")

    def _cancelled(self, at: Samples, *, request_too: bool = False) -> Effects:
        state, reply, turn = self._state, self._state.reply, self._state.turn
        state.resume_pending = None
        if reply is None:
            return (
                state.request_dropped(turn, at, self.settings)
                if request_too and turn is not None and self.owes_reply
                else ()
            )
        challenge = reply.overlap
        if challenge is None or (self._interruptible and not challenge.kept):
            return state.cut(reply, at, "client")
        return (InterruptReply(reply.reply, "client"), *state.hand_over(challenge, self.settings))
