"""Decides when a user turn starts, ends, continues or interrupts a reply.

The machine does no I/O: `TurnTaking.tell(event) -> effects`. It has no clock, no await and no device. Every event
carries its time as a position on the sample clock. The session performs the effects in the given order. This module
decides when the conversation changes state; `assistant.turns.states` performs the transitions.

    IDLE ──speech──▶ USER_SPEAKING ──silence──▶ AWAITING_TRANSCRIPT ──transcript──▶ REPLYING ──played──▶ IDLE
                          ▲                              │                             │
                          └────── user continues ────────┴───────── interruption ──────┘

An attempt starts at a silence. Its transcript is requested, and its reply is prepared but held back. Only `CommitTurn`
lets the reply play, once the end of turn is decided and the transcript is known. Until then the attempt can be
dropped: nothing of it was heard or written to the history.

What happens if the user continues:

    before the commit                     Drop       the attempt is dropped; the turn continues
    after it, less than a word was heard  Retract    the reply is cancelled; the turn continues, with all its words
    after a word or more was heard        Interrupt  the reply is cut at that word; a new turn starts

A reply that is requested during speech (by typed text) starts at once. The speech is still transcribed and becomes a
turn after the reply.
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
    """The turn-taking state machine of one conversation. It accepts events in any order and never raises."""

    settings: TurnSettings
    _state: TurnState = field(default_factory=TurnState)
    _pressed_at: Samples | None = None  # push-to-talk key down since

    @property
    def phase(self) -> Phase:
        """The phase of the conversation."""
        return self._state.phase

    @property
    def replying(self) -> ReplyId | None:
        """The id of the active reply, or None."""
        return None if self._state.reply is None else self._state.reply.reply

    @property
    def challenged(self) -> bool:
        """Whether there is an overlap with the active reply."""
        return self._state.reply is not None and self._state.reply.overlap is not None

    @property
    def has_unrequested_turn(self) -> bool:
        """Whether a finished turn waits for its transcript and no reply to it was requested."""
        turn = self._state.turn
        return turn is not None and turn.endpoint is not None and not turn.answered

    @property
    def owes_reply(self) -> bool:
        """Whether a finished turn waits for its transcript and a reply to it was requested."""
        turn = self._state.turn
        return turn is not None and turn.endpoint is not None and turn.reply_owed

    @property
    def resume_pending(self) -> bool:
        """Whether the rest of a falsely interrupted reply will be said soon."""
        return self._state.resume_pending is not None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is pending, so that the next silent frame has no effect."""
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
        """Returns whether speech frames up to this position have no effect: the user speaks without an attempt."""
        turn = self._state.turn
        if turn is None or turn.endpoint is not None or turn.attempt is not None:
            return False
        return self.settings.manual or not turn.too_long(until, self.settings)

    @property
    def _by_silence(self) -> bool:
        """Whether silence ends turns, rather than the client or the key."""
        return not self.settings.manual and not self.settings.held

    @property
    def _interruptible(self) -> bool:
        return self.settings.interruptible and not self.settings.manual and not self.settings.held

    def tell(self, event: Event) -> Effects:
        """Takes the next event, in order of time.

        Returns:
            The effects, to be performed at once and in order.
        """
        configured = self._state.configured(self.settings)
        # An action of the client or the key during a speech candidate confirms the candidate as a turn.
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
        # A VAD that was replaced during the turn has seen no speech yet. Then the last speech frame was the end.
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
        """Starts what is due when nobody speaks: a pending reply, the rest of a reply, or an announcement.

        While the push-to-talk key is down nothing starts, unless it has been down for longer than a turn may last.
        """
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
        """Ends the turn at once, even if speech continues."""
        turn.endpoint, turn.forced, turn.resume_guard = at, True, ResumeGuard()
        if self.settings.held and turn.attempt is not None and turn.attempt.settled:
            return (EndOfTurn(turn.number), *self._state.commit_if_ready(turn, at))  # reuse the settled attempt
        dropped = turn.drop_attempts("went on")
        return (*dropped, turn.begin_attempt(at, turn.speech_end, self.settings), EndOfTurn(turn.number))

    def _judged(self, segment: SegmentId, estimate: EndOfTurnEstimate) -> Effects:
        turn, patience = self._state.turn, self.settings.patience
        if turn is None or patience is None or turn.segment != segment or turn.endpoint is not None:
            return ()  # the estimate belongs to a silence that is over
        turn.wait_ms = hangover_ms(estimate, patience)
        return ()

    def _waiting_for_words(self, turn: UserTurn, at: Samples, endpoint: Samples) -> Effects:
        if at - endpoint < samples_of_s(self.settings.stuck_after_s):
            return ()
        return self._state.give_up(turn, at, "stuck")

    # ---- queued turns ----

    def _waited(self, at: Samples) -> Effects:
        state = self._state
        if state.turn is not None or (state.reply is not None and state.reply.overlap is not None):
            return ()
        effects: Effects = ()
        said = state.waited(self.settings)
        # Process all empty ones in this frame, since speech in this frame comes after them.
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
            if reply is not None and reply.overlap is not None and ended:  # a commit by the client interrupts
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

    # ---- transcripts ----

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
            # A recognizer may report a word for a cough, but with low confidence.
            nothing = event.was_requested and challenge.asked_at is not None
            return self._state.not_understood(reply, challenge, at, echo=event.is_echo) if nothing else ()
        if called or event.was_requested:
            challenge.surest = 1.0  # the transcript confirms the speech, whatever the VAD reported
        return self._state.take(reply, challenge, at, self.settings)

    # ---- the active reply and overlaps ----

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
        """Handles a pause in an overlap that has not interrupted: waits for the transcript, or dismisses it."""
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
        """Handles an overlap with a reply that speech may not interrupt."""
        settings = self.settings
        if self._by_silence and (settings.by_name or challenge.side_talk is not None):
            return (*self._asked_aside(challenge, at, voicing), *self._watch_reply(reply, at))
        # In manual mode the overlap is kept, since the client may still commit it.
        if self._by_silence and not voicing.speaking:
            return self._state.forgive(reply, voicing.boundary, at)
        kept = settings.by_client and not settings.manual and challenge.is_sure(voicing, settings)
        return self._state.keep(challenge) if kept else self._watch_reply(reply, at)

    def _asked_aside(self, challenge: Overlap, at: Samples, voicing: VadResult) -> Effects:
        """Requests the transcript of side talk after a silence that would end a turn. The reply continues."""
        if voicing.speaking:
            return () if challenge.side_talk is None else challenge.side_talk.drop_attempts("went on")
        asked = challenge.side_talk is not None and challenge.side_talk.attempt is not None
        if asked or at - challenge.speech_end < samples_of_ms(self.settings.hangover_ms):
            return ()
        return self._state.ask_aside(challenge, at, self.settings)

    def _heard_beside(self, reply: ActiveReply, challenge: Overlap, at: Samples, voicing: VadResult) -> Effects:
        """Handles speech that becomes a turn after the reply. Only a new onset can interrupt the reply."""
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
        # The reply is not audible yet, so the user continues the turn and does not interrupt.
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

    # ---- client and key ----

    def _submitted(self, at: Samples, *, behind: bool = False) -> Effects:
        # If the previous turn was given up in this frame, the commit refers to the queued turn.
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
            # Nobody spoke in the committed turn.
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
            self._state.announce_again(reply)  # the user wants to speak
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
