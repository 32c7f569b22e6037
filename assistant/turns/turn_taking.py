"""Decides when a user turn starts, ends, continues or interrupts a reply.

The machine does no I/O: `TurnTaking.handle(event) -> effects`. It has no clock, no await and no device. Every event
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

from dataclasses import replace
from typing import assert_never

from assistant.end_of_turn.estimator import EndOfTurnEstimate, silence_timeout_ms
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
from assistant.turns.settings import EndsTurn, InterruptedBy, TurnSettings
from assistant.turns.states import Phase, TurnState
from assistant.turns.user_turn import UserTurn
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult

_OF_CLIENTS = (ReplyRequested, InputCommitted, KeyPressed, InputCleared, ReplyCancelled)


class TurnTaking:
    """The turn-taking state machine of one conversation. It accepts events in any order and never raises."""

    def __init__(self, settings: TurnSettings) -> None:
        self._state = TurnState(settings)
        self._pressed_at: Samples | None = None  # push-to-talk key down since

    @property
    def settings(self) -> TurnSettings:
        """The settings, from the next event on. They may change at any time."""
        return self._state.settings

    @settings.setter
    def settings(self, settings: TurnSettings) -> None:
        self._state.settings = settings

    @property
    def phase(self) -> Phase:
        """The phase of the conversation."""
        return self._state.phase

    @property
    def replying(self) -> ReplyId | None:
        """The id of the active reply, or None."""
        return None if self._state.reply is None else self._state.reply.reply

    @property
    def has_overlap(self) -> bool:
        """Whether there is an overlap with the active reply."""
        return self._state.reply is not None and self._state.reply.overlap is not None

    @property
    def pending_turn_lacks_reply_request(self) -> bool:
        """Whether a finished turn waits for its transcript and no reply to it was requested."""
        turn = self._state.turn
        return turn is not None and turn.ended_at is not None and not turn.will_be_answered

    @property
    def pending_turn_has_reply_request(self) -> bool:
        """Whether a finished turn waits for its transcript and a reply to it was requested."""
        turn = self._state.turn
        return turn is not None and turn.ended_at is not None and turn.reply_due

    @property
    def resume_pending(self) -> bool:
        """Whether the rest of a falsely interrupted reply will be said soon."""
        return self._state.resume_pending is not None

    @property
    def ignores_silence(self) -> bool:
        """Whether nothing is pending, so that the next silent frame has no effect."""
        state = self._state
        if state.turn is not None or state.announcements or state.resume_pending is not None:
            return False
        if state.answer_after_reply and state.reply is None:
            return False
        if state.candidate is not None or state.queued.waiting:
            return False
        reply = state.reply
        if reply is None:
            return True
        return reply.overlap is None and not (self.settings.voice_interrupts and reply.can_hold_playback)

    def ignores_speech_until(self, until: Samples) -> bool:
        """Returns whether speech frames up to this position have no effect: the user speaks without an attempt."""
        turn = self._state.turn
        if turn is None or turn.ended_at is not None or turn.attempt is not None:
            return False
        return self.settings.ends_turn is EndsTurn.CLIENT or not turn.is_too_long(until, self.settings)

    @property
    def _push_to_talk(self) -> bool:
        return self.settings.ends_turn is EndsTurn.PUSH_TO_TALK

    def handle(self, event: Event) -> Effects:
        """Takes the next event, in order of time.

        Returns:
            The effects, to be performed at once and in order.
        """
        settings_effects = self._state.apply_settings()
        # An action of the client or the key during a speech candidate confirms the candidate as a turn.
        turn_effects = self._state.begin_turn() if isinstance(event, _OF_CLIENTS) else ()
        return (*settings_effects, *turn_effects, *self._dispatch(event))

    def _dispatch(self, event: Event) -> Effects:  # noqa: PLR0911 - one return for each kind of event
        match event:
            case FrameProcessed():
                return self._on_frame(event.at, event.vad)
            case InterimTranscript():
                return self._on_interim_transcript(event)
            case EndOfTurnScored():
                return self._on_end_of_turn_scored(event.segment, event.estimate)
            case FinalTranscript() | TranscriptFailed():
                return self._on_final_transcript(event)
            case PlaybackProgress():
                return self._on_playback_progress(event)
            case ReplyEnded():
                return self._on_reply_ended(event)
            case ReplyRequested():
                return self._state.on_reply_requested(event)
            case InputCommitted():
                return self._on_input_committed(event.at, after_current_reply=event.after_current_reply)
            case KeyPressed():
                return self._on_key_pressed(event.at)
            case InputCleared():
                return self._on_input_cleared(event.at)
            case ReplyCancelled():
                return self._on_reply_cancelled(event.at, including_request=event.including_request)
            case _:
                assert_never(event)

    # ---- the microphone ----

    def _on_frame(self, at: Samples, vad: VadResult) -> Effects:
        queued_effects = self._start_queued_turn(at) if self._state.queued.waiting else ()
        return (*queued_effects, *self._process_frame(at, vad))

    def _process_frame(self, at: Samples, vad: VadResult) -> Effects:
        turn, reply = self._state.turn, self._state.reply
        if reply is not None:
            return self._on_frame_during_reply(reply, at, vad)
        if turn is None:
            return self._on_idle_frame(at, vad)
        turn.add_frame(vad)
        if turn.ended_at is not None and (turn.forced or not vad.speaking):
            if self.settings.voice_interrupts and not turn.forced:
                turn.resume_guard.process(at, vad, self.settings)
            if turn.forced and not self._push_to_talk:
                self._state.queued.add_frame(at, vad, self.settings)
            return self._check_transcript_timeout(turn, at, turn.ended_at)
        if vad.speaking:
            return self._on_speech(turn, at, vad)
        # A VAD that was replaced during the turn has seen no speech yet. Then the last speech frame was the end.
        speech_end = vad.boundary if vad.boundary > turn.onset else turn.speech_end
        return self._on_silence(turn, at, vad, speech_end)

    def _on_idle_frame(self, at: Samples, vad: VadResult) -> Effects:
        state = self._state
        onset = state.unassigned_onset(at, vad)
        if onset is not None:
            return state.add_speech_frame(at, onset, vad)
        effects = () if state.candidate is None else state.add_silent_frame(state.candidate, at)
        return effects if state.candidate is not None else (*effects, *self._start_pending_reply(at))

    def _start_pending_reply(self, at: Samples) -> Effects:
        """Starts what is due when nobody speaks: a pending reply, the rest of a reply, or an announcement.

        While the push-to-talk key is down nothing starts, unless it has been down for longer than a turn may last.
        """
        waiting = self._state.announcements
        held = self._pressed_at is not None and at - self._pressed_at < samples_of_s(self.settings.max_turn_s)
        if held:
            return ()
        if self._state.answer_after_reply:
            return self._state.answer_recorded_turn(at)
        if not waiting:
            return self._state.request_resume(at)
        announcement = waiting.popleft()
        return self._state.start_literal_reply(at, "announcement", announcement.text, announcement=announcement)

    def _on_speech(self, turn: UserTurn, at: Samples, vad: VadResult) -> Effects:
        if self.settings.ends_turn is not EndsTurn.CLIENT and turn.is_too_long(at, self.settings):
            turn.speech_end = at
            dropped = turn.drop_attempts("went on")
            turn.forced = turn.overlong = True
            turn.ended_at, turn.resume_guard = at, ResumeGuard()
            self._state.queued.mark_cut(at)
            return (*dropped, turn.begin_attempt(at, at, self.settings), EndOfTurn(turn.number))
        if vad.possible_end is not None:
            turn.ended_at = None
            return turn.speculate(at, vad.possible_end, self.settings)
        turn.speech_end = at
        turn.ended_at = turn.silence_timeout_ms = None
        return turn.drop_attempts("went on")

    def _on_silence(self, turn: UserTurn, at: Samples, vad: VadResult, speech_end: Samples) -> Effects:
        settings = self.settings
        if settings.ends_turn is EndsTurn.CLIENT:
            turn.speech_end = speech_end
            return ()
        effects = turn.speculate(at, speech_end, settings)
        if settings.ends_turn is EndsTurn.PUSH_TO_TALK:
            return (*effects, *self._end_turn(turn, at)) if turn.is_too_long(at, settings) else effects
        if at - speech_end < samples_of_ms(
            settings.hangover_ms if turn.silence_timeout_ms is None else turn.silence_timeout_ms
        ):
            return effects
        if turn.resume_guard.process(at, vad, self.settings):
            return effects
        if turn.attempt is None:
            effects += (turn.begin_attempt(at, speech_end, settings),)
        turn.ended_at = at
        return (*effects, EndOfTurn(turn.number), *self._state.commit_if_ready(turn, at))

    def _end_turn(self, turn: UserTurn, at: Samples) -> Effects:
        """Ends the turn at once, even if speech continues."""
        turn.ended_at, turn.forced, turn.resume_guard = at, True, ResumeGuard()
        if self._push_to_talk and turn.attempt is not None and turn.attempt.settled:
            return (EndOfTurn(turn.number), *self._state.commit_if_ready(turn, at))  # reuse the settled attempt
        dropped = turn.drop_attempts("went on")
        return (*dropped, turn.begin_attempt(at, turn.speech_end, self.settings), EndOfTurn(turn.number))

    def _on_end_of_turn_scored(self, segment: SegmentId, estimate: EndOfTurnEstimate) -> Effects:
        turn, patience = self._state.turn, self.settings.patience
        if turn is None or patience is None or turn.segment != segment or turn.ended_at is not None:
            return ()  # the estimate belongs to a silence that is over
        turn.silence_timeout_ms = silence_timeout_ms(estimate, patience)
        return ()

    def _check_transcript_timeout(self, turn: UserTurn, at: Samples, ended_at: Samples) -> Effects:
        if at - ended_at < samples_of_s(self.settings.stuck_after_s):
            return ()
        return self._state.give_up(turn, at, "stuck")

    # ---- queued turns ----

    def _start_queued_turn(self, at: Samples) -> Effects:
        state = self._state
        if state.turn is not None or (state.reply is not None and state.reply.overlap is not None):
            return ()
        effects: Effects = ()
        queued = state.next_queued_turn()
        # Process all empty ones in this frame, since speech in this frame comes after them.
        while queued is not None and queued.candidate is None:
            ended = queued.submitted_at is not None
            effects += (TurnDiscarded(state.next_turn_number(), at, queued.speech_end, "no words", ended),)
            queued = state.next_queued_turn()
        if queued is None or queued.candidate is None:
            return effects
        ended = queued.submitted_at is not None
        if state.reply is not None:
            vad = VadResult(True, queued.candidate.onset, queued.candidate.peak_probability)
            effects += self._start_overlap(state.reply, at, queued.segment, vad)
            reply = state.reply
            if reply is not None and reply.overlap is not None and ended:  # a commit by the client interrupts
                effects += (
                    InterruptReply(reply.reply, "client"),
                    *state.begin_turn_from_overlap(reply.overlap),
                )
        else:
            effects += state.begin_turn_at(queued.segment, queued.candidate, queued.speech_end)
        turn = state.turn
        if turn is None or queued.submitted_at is None:
            return effects
        turn.speech_end = queued.speech_end
        turn.mark_certain()
        turn.submitted = True
        state.cut_speech(queued.submitted_at)
        effects += self._end_turn(turn, at)
        return effects + (state.request_answer(turn, at) if queued.reply_requested else ())

    # ---- transcripts ----

    def _on_final_transcript(self, event: FinalTranscript | TranscriptFailed) -> Effects:
        turn, reply = self._state.turn, self._state.reply
        if reply is not None:
            return self._state.on_side_talk_transcript(reply, event)
        effects = (
            None
            if turn is None
            else turn.on_transcript(
                event, self.settings, reject_noise=self.settings.ends_by_silence and turn.will_be_answered
            )
        )
        if turn is None or effects is None:
            return ()
        if turn.ended_at is not None:
            return effects + self._state.commit_if_ready(turn, event.at)
        return effects + turn.recheck_once_settled(event.at, self.settings)

    def _on_interim_transcript(self, event: InterimTranscript) -> Effects:
        at, words, called = event.at, event.transcript, event.has_wake_phrase
        turn, reply, candidate = self._state.turn, self._state.reply, self._state.candidate
        if event.was_requested and candidate is not None and candidate.segment == words.segment:
            begins = words.text and (called or not words.low_confidence)
            return (
                self._state.begin_turn(confirmed_by_transcript=True)
                if begins
                else self._state.discard_candidate_segment()
            )
        overlap = reply.overlap if reply is not None else None
        if called and turn is not None and turn.segment == words.segment:
            turn.mark_certain()
        if (
            reply is None
            or overlap is None
            or overlap.deferred
            or not (self.settings.voice_interrupts or called)
            or words.segment != overlap.segment
            or not (words.text or event.was_requested)
        ):
            return ()
        overlap.backchannel = bool(words.text) and is_backchannel(words.text) and not called
        if overlap.backchannel or not words.text or (words.low_confidence and not called):
            # A recognizer may report a word for a cough, but with low confidence.
            nothing = event.was_requested and overlap.transcript_requested_at is not None
            return self._state.dismiss_unclear_overlap(reply, overlap, at, echo=event.is_echo) if nothing else ()
        if called or event.was_requested:
            overlap.peak_probability = 1.0  # the transcript confirms the speech, whatever the VAD reported
        return self._state.interrupt_or_retract(reply, overlap, at)

    # ---- the active reply and overlaps ----

    def _on_frame_during_reply(self, reply: ActiveReply, at: Samples, vad: VadResult) -> Effects:
        overlap, settings = reply.overlap, self.settings
        if overlap is None:
            return self._detect_overlap(reply, at, vad)
        if overlap.paused and vad.speaking:
            overlap.early = overlap.early and reply.is_early(vad.boundary, settings)
        overlap.add_frame(at, vad)
        if overlap.deferred:
            return self._on_deferred_overlap(reply, overlap, at, vad)
        if not self.settings.voice_interrupts:
            return (*reply.stop_ducking(), *self._on_uninterruptible_overlap(reply, overlap, at, vad))
        if not vad.speaking:
            return self._on_overlap_pause(reply, overlap, at, vad)
        if overlap.interrupts(vad, settings):
            return self._state.interrupt_or_retract(reply, overlap, at)
        return (*reply.duck(at, self.settings), *self._check_reply_progress(reply, at))

    def _on_overlap_pause(self, reply: ActiveReply, overlap: Overlap, at: Samples, vad: VadResult) -> Effects:
        """Handles a pause in an overlap that has not interrupted: waits for the transcript, or dismisses it."""
        if not overlap.awaits_transcript(at, self.settings):
            return self._state.dismiss_overlap(reply, vad.boundary, at)
        return (*overlap.request_transcript(at, self.settings), *self._check_reply_progress(reply, at))

    def _detect_overlap(self, reply: ActiveReply, at: Samples, vad: VadResult) -> Effects:
        onset = self._state.unassigned_onset(at, vad)
        if onset is None:
            return self._on_silence_during_reply(reply, at, vad)
        segment = self._state.segment_at(onset)
        return self._start_overlap(reply, at, segment, replace(vad, boundary=onset))

    def _on_uninterruptible_overlap(self, reply: ActiveReply, overlap: Overlap, at: Samples, vad: VadResult) -> Effects:
        """Handles an overlap with a reply that speech may not interrupt."""
        settings = self.settings
        may_be_addressed = settings.interrupted_by is InterruptedBy.WAKE_PHRASE or overlap.side_talk is not None
        if settings.ends_by_silence and may_be_addressed:
            return (*self._check_side_talk(overlap, at, vad), *self._check_reply_progress(reply, at))
        # If only the client ends turns, the overlap is kept, since the client may still commit it.
        if settings.ends_by_silence and not vad.speaking:
            return self._state.dismiss_overlap(reply, vad.boundary, at)
        by_client = settings.ends_by_silence and settings.interrupted_by is InterruptedBy.CLIENT
        kept = by_client and overlap.is_long_enough(vad, settings)
        return self._state.defer_overlap(overlap) if kept else self._check_reply_progress(reply, at)

    def _check_side_talk(self, overlap: Overlap, at: Samples, vad: VadResult) -> Effects:
        """Requests the transcript of side talk after a silence that would end a turn. The reply continues."""
        if vad.speaking:
            return () if overlap.side_talk is None else overlap.side_talk.drop_attempts("went on")
        asked = overlap.side_talk is not None and overlap.side_talk.attempt is not None
        if asked or at - overlap.speech_end < samples_of_ms(self.settings.hangover_ms):
            return ()
        return self._state.request_side_talk(overlap, at)

    def _on_deferred_overlap(self, reply: ActiveReply, overlap: Overlap, at: Samples, vad: VadResult) -> Effects:
        """Handles speech that becomes a turn after the reply. Only a new onset can interrupt the reply."""
        is_new_onset = vad.speaking and vad.boundary >= self._state.processed_until
        if not is_new_onset or not self.settings.voice_interrupts:
            overlap.speech_ms = 0.0
            told = self.settings.ends_by_silence and self.settings.interrupted_by is InterruptedBy.CLIENT
            asked = self._check_side_talk(overlap, at, vad) if told else ()
            return (*reply.stop_ducking(), *asked, *self._check_reply_progress(reply, at))
        sure = overlap.is_long_enough(vad, self.settings)
        if sure or not reply.audible:
            return self._state.interrupt_or_retract(reply, overlap, at)
        return (*reply.duck(at, self.settings), *self._check_reply_progress(reply, at))

    def _start_overlap(self, reply: ActiveReply, at: Samples, segment: SegmentId, vad: VadResult) -> Effects:
        effects = reply.start_overlap(at, vad, segment, self.settings)
        if not self.settings.voice_interrupts or reply.audible or reply.overlap is None:
            return (*reply.release(), *effects)
        # The reply is not audible yet, so the user continues the turn and does not interrupt.
        return (*effects, *self._state.interrupt_or_retract(reply, reply.overlap, at))

    def _on_silence_during_reply(self, reply: ActiveReply, at: Samples, vad: VadResult) -> Effects:
        held = reply.update_hold(at, vad, self.settings)
        return (*held, *self._check_reply_progress(reply, at))

    def _check_reply_progress(self, reply: ActiveReply, at: Samples) -> Effects:
        if not reply.is_stuck(at, self.settings):
            return ()
        self._state.reply = None
        self._state.requeue_failed_announcement(reply)
        turn_effects = self._state.begin_turn_from_overlap(reply.overlap) if reply.overlap is not None else ()
        return (InterruptReply(reply.reply, "stuck"), *turn_effects)

    def _on_playback_progress(self, event: PlaybackProgress) -> Effects:
        reply = self._state.reply
        if reply is not None and reply.reply == event.reply:
            reply.update_progress(event)
        return ()

    def _on_reply_ended(self, event: ReplyEnded) -> Effects:
        reply = self._state.reply
        if reply is None or reply.reply != event.reply:
            return ()
        self._state.reply = None
        self._state.requeue_failed_announcement(reply)
        overlap = reply.overlap
        if overlap is None:
            return self._state.answer_recorded_turn(event.at)
        undecided = overlap.turn is None and overlap.side_talk is None and not overlap.deferred
        if overlap.paused and undecided and self.settings.voice_interrupts:
            self._state.candidate = overlap.to_candidate()
            return reply.unduck()
        return (*reply.unduck(), *self._state.begin_turn_from_overlap(overlap))

    # ---- client and key ----

    def _on_input_committed(self, at: Samples, *, after_current_reply: bool = False) -> Effects:
        # If the previous turn was given up in this frame, the commit refers to the queued turn.
        effects = self._start_queued_turn(at) if self._state.queued.waiting else ()
        state, reply = self._state, self._state.reply
        if reply is not None and reply.overlap is not None:
            if not after_current_reply:
                state.requeue_announcement(reply)
                effects += (InterruptReply(reply.reply, "client"),)
            effects += state.begin_turn_from_overlap(reply.overlap)
        turn = state.turn
        if (
            turn is not None
            and turn.forced
            and not self._push_to_talk
            and (not turn.overlong or state.queued.has_speech)
        ):
            state.queued.commit(at, self.settings)
            return effects
        state.cut_speech(at)
        self._pressed_at = None
        if turn is None and self._push_to_talk:
            return ()
        if turn is None:
            # Nobody spoke in the committed turn.
            return (TurnDiscarded(state.next_turn_number(), at, at, "no words", submitted=True),)
        turn.mark_certain()
        turn.submitted = True
        if turn.ended_at is None:
            effects += self._end_turn(turn, at)
        turn.forced = True
        state.queued.mark_cut(at)
        return effects

    def _on_key_pressed(self, at: Samples) -> Effects:
        turn, reply = self._state.turn, self._state.reply
        if not self._push_to_talk:
            return self._on_reply_cancelled(at)
        self._pressed_at = at
        if reply is not None:
            self._state.requeue_announcement(reply)  # the user wants to speak
        if turn is None or turn.ended_at is None:
            return self._on_reply_cancelled(at)
        turn.ended_at, turn.forced = None, False
        return turn.drop_attempts("went on")

    def _on_input_cleared(self, at: Samples) -> Effects:
        state, turn, reply = self._state, self._state.turn, self._state.reply
        if turn is not None and turn.forced and not self._push_to_talk:
            state.queued.clear(at)
            return ()
        state.cut_speech(at)
        self._pressed_at = None
        if reply is not None and reply.overlap is not None:
            return state.dismiss_overlap(reply, at, at)
        if turn is None or turn.ended_at is not None:
            return ()
        return state.give_up(turn, at, "cleared")

    def _on_reply_cancelled(self, at: Samples, *, including_request: bool = False) -> Effects:
        state, reply, turn = self._state, self._state.reply, self._state.turn
        state.resume_pending = None
        if reply is None:
            return (
                state.withdraw_request(turn, at)
                if including_request and turn is not None and self.pending_turn_has_reply_request
                else ()
            )
        overlap = reply.overlap
        if overlap is None or (self.settings.voice_interrupts and not overlap.deferred):
            return state.stop_reply(reply, at, "client")
        return (InterruptReply(reply.reply, "client"), *state.begin_turn_from_overlap(overlap))
