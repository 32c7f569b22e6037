"""Holds the state of a conversation and performs its transitions. Pure.

`assistant.turns.turn_taking` decides when a transition happens. There is never a turn and a reply at the same time.

    idle ──begin_turn──▶ turn ──commit──▶ reply ──finished──▶ idle
                         ▲ │                │ ▲
            interruption │ └── discard_turn │ │ say, answer_history: replies without user speech
                         └──────────────────┘
"""

from collections import deque
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Literal

from assistant.turns.events import (
    AbandonReason,
    CloseSegment,
    CommitTurn,
    DiscardSegment,
    Effect,
    Effects,
    FinalTranscript,
    HoldPlayback,
    InterruptReply,
    OpenSegment,
    PrepareReply,
    RecordTurn,
    ReplyId,
    ReplyRequested,
    RequestTranscript,
    ResumeReply,
    RetractReply,
    TranscriptFailed,
    TurnDiscarded,
    TurnStarted,
)
from assistant.turns.overlap import ActiveReply, Announcement, Overlap
from assistant.turns.queued_turns import QueuedTurn, QueuedTurns
from assistant.turns.settings import EndsTurn, TurnSettings
from assistant.turns.speech_candidate import PossiblePrefix, SpeechCandidate
from assistant.turns.user_turn import UserTurn, prepare_reply
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult


class Phase(Enum):
    """What the conversation waits for."""

    IDLE = auto()
    USER_SPEAKING = auto()
    AWAITING_TRANSCRIPT = auto()
    REPLYING = auto()


@dataclass(slots=True)
class TurnState:
    """The state of one conversation.

    Attributes:
        settings: The current settings.
        candidate: Unconfirmed speech.
        turn: The open user turn.
        queued: Speech that followed a turn whose transcript is pending.
        reply: The active reply.
        processed_until: Speech that began before this position is processed already.
        cut_at: Position at which the client or the maximum length cut the speech. Speech that continues after it is
            the next turn.
        prefix: Speech that was not understood and may be the beginning of the next turn.
        announcements: Announcements that wait until nobody speaks.
        resume_pending: The falsely interrupted reply, and when its rest is said if nobody speaks.
        answer_after_reply: A turn was recorded during a reply; it is answered after that reply.
    """

    settings: TurnSettings
    candidate: SpeechCandidate | None = None
    turn: UserTurn | None = None
    queued: QueuedTurns = field(default_factory=QueuedTurns)
    reply: ActiveReply | None = None
    processed_until: Samples = field(default=Samples(0))
    cut_at: Samples | None = None
    prefix: PossiblePrefix | None = None
    announcements: deque[Announcement] = field(default_factory=deque)
    resume_pending: tuple[ReplyId, Samples] | None = None
    answer_after_reply: bool = False
    _last_turn_number: int = 0

    @property
    def phase(self) -> Phase:
        """The phase, derived from the turn and the reply."""
        if self.reply is not None:
            return Phase.REPLYING
        if self.turn is None:
            return Phase.IDLE
        return Phase.USER_SPEAKING if self.turn.ended_at is None else Phase.AWAITING_TRANSCRIPT

    def mark_processed(self, until: Samples) -> None:
        """Marks speech that began before this position as processed."""
        self.processed_until = max(self.processed_until, until)

    def cut_speech(self, at: Samples) -> None:
        """Marks speech as processed. If the client controls turns, speech that continues is the next turn."""
        self.mark_processed(at)
        if self.settings.has_client:
            self.cut_at = self.processed_until

    def segment_at(self, onset: Samples) -> SegmentId:
        """Returns the segment for speech with this onset: with the pre-roll, and the possible prefix."""
        segment = SegmentId(max(self.processed_until, onset - samples_of_ms(self.settings.pre_roll_ms), 0))
        before = self.prefix
        if (
            before is None
            or self.processed_until > before.until
            or not before.is_continued_by(onset, self.settings.start)
        ):
            return segment
        return SegmentId(min(segment, before.segment + 1))  # one sample later, since segment ids are unique

    def next_turn_number(self) -> int:
        """Returns the number of the next turn, counting from 1."""
        self._last_turn_number += 1
        return self._last_turn_number

    # ---- the user turn ----

    def unassigned_onset(self, at: Samples, vad: VadResult) -> Samples | None:
        """Returns the onset of speech that belongs to no turn yet, or None.

        Speech that continues well beyond a cut has its onset at the cut.
        """
        if not vad.speaking or vad.boundary >= self.processed_until:
            return vad.boundary if vad.speaking else None
        cut = self._cut_starts_next_turn() and vad.possible_end is None
        return (
            self.processed_until
            if cut and at - self.processed_until >= samples_of_ms(self.settings.start.min_continued_speech_ms)
            else None
        )

    def _cut_starts_next_turn(self) -> bool:
        """Returns whether speech that continues after a cut is the next turn."""
        if self.settings.ends_turn is EndsTurn.PUSH_TO_TALK:
            return False
        return self.settings.ends_turn is EndsTurn.CLIENT or self.cut_at == self.processed_until

    def next_queued_turn(self) -> QueuedTurn | None:
        """Removes and returns the next queued turn, or None."""
        return self.queued.next(
            self.settings,
            include_rest=self._cut_starts_next_turn(),
            include_unconfirmed=self.settings.ends_turn is EndsTurn.CLIENT,
        )

    def add_speech_frame(self, at: Samples, onset: Samples, vad: VadResult) -> Effects:
        """Takes a speech frame while idle. A confirmed candidate begins a turn; in manual modes any speech does."""
        discarded = self.discard_candidate_segment()
        self.candidate = (self.candidate or SpeechCandidate(onset, at)).with_frame(at, onset, vad, self.settings.start)
        begins = self.candidate.is_confirmed(self.settings.start) or not self.settings.ends_by_silence
        return (*discarded, *(self.begin_turn() if begins else ()))

    def add_silent_frame(self, candidate: SpeechCandidate, at: Samples) -> Effects:
        """Takes a silent frame after a candidate: requests its transcript, or drops the candidate."""
        if candidate.is_over(at, self.settings.start):
            discarded, self.candidate = self.discard_candidate_segment(), None
            return discarded
        if candidate.transcript_requested or not candidate.may_request_transcript(at, self.settings.start):
            return ()
        segment = self.segment_at(candidate.onset) if candidate.segment is None else candidate.segment
        self.candidate = replace(candidate, transcript_requested=True, segment=segment)
        opened = (OpenSegment(segment, candidate.onset),) if candidate.segment is None else ()
        return (*opened, RequestTranscript(segment, candidate.voiced_until))

    def discard_candidate_segment(self) -> Effects:
        """Discards the segment of the candidate, whose transcript has no words so far."""
        if self.candidate is None or self.candidate.segment is None:
            return ()
        segment = self.candidate.segment
        self.candidate = replace(self.candidate, segment=None)
        return (DiscardSegment(segment, self._last_turn_number),)

    def begin_turn(self, *, confirmed_by_transcript: bool = False) -> Effects:
        """Begins the turn of the current candidate, if there is one.

        Args:
            confirmed_by_transcript: The transcript confirms the speech, whatever the VAD reported.
        """
        if self.candidate is None:
            return ()
        candidate, self.candidate = self.candidate, None
        if candidate.segment is not None:
            turn = self._open_turn(self.next_turn_number(), candidate.segment, candidate.onset, candidate.voiced_until)
            turn.peak_probability = 1.0 if confirmed_by_transcript else candidate.peak_probability
            return (TurnStarted(turn.number, candidate.onset),)
        return self.begin_turn_at(self.segment_at(candidate.onset), candidate, candidate.onset)

    def begin_turn_at(self, segment: SegmentId, candidate: SpeechCandidate, speech_end: Samples) -> Effects:
        """Begins a turn for speech that lasted up to `speech_end`, as far as is known."""
        turn = self._open_turn(self.next_turn_number(), segment, candidate.onset, speech_end)
        turn.peak_probability = candidate.peak_probability
        return (OpenSegment(segment, candidate.onset), TurnStarted(turn.number, candidate.onset))

    def _open_turn(self, number: int, segment: SegmentId, onset: Samples, speech_end: Samples) -> UserTurn:
        self.turn = turn = UserTurn(number, segment, onset, speech_end, resumable_reply=self._take_resume_pending())
        turn.will_be_answered = self.settings.answers_at_end
        return turn

    def _take_resume_pending(self) -> ReplyId | None:
        """Removes and returns the reply that was about to resume. It resumes only if the new turn is discarded."""
        cut, self.resume_pending = None if self.resume_pending is None else self.resume_pending[0], None
        return cut

    def apply_settings(self) -> Effects:
        """Updates whether the open turn is answered, since the client may have changed the settings."""
        turn = self.turn
        will_be_answered = self.settings.answers_at_end
        if turn is None or turn.ended_at is not None or turn.reply_due or turn.will_be_answered == will_be_answered:
            return ()
        turn.will_be_answered = will_be_answered
        return turn.drop_attempts("went on")

    def request_answer(self, turn: UserTurn, at: Samples) -> Effects:
        """Handles a request for a reply while the transcript is pending: the reply answers this turn."""
        if turn.will_be_answered:
            return ()
        turn.will_be_answered = turn.reply_due = True
        turn.mark_certain()
        attempt = turn.attempt
        if attempt is None or not attempt.ready:
            return ()
        return (prepare_reply(attempt), *self.commit_if_ready(turn, at))

    def withdraw_request(self, turn: UserTurn, at: Samples) -> Effects:
        """Withdraws the request for a reply while the transcript is pending."""
        turn.reply_due, turn.will_be_answered = False, self.settings.answers_at_end
        if turn.will_be_answered or turn.attempt is None or not turn.attempt.ready:
            return ()
        return (*turn.drop_attempts("cleared"), turn.begin_attempt(at, turn.speech_end, self.settings))

    def commit_if_ready(self, turn: UserTurn, at: Samples) -> Effects:
        """Commits or records a finished turn once its transcript is known; discards it if there are no words."""
        attempt = turn.attempt
        if attempt is None or attempt.text is None or turn.recheck is not None:
            return ()
        if confirming := turn.recheck_before_commit(at):
            return confirming
        if not attempt.text and not attempt.transcript_lost and not turn.reply_due:
            return self.discard_turn(turn, at, attempt.ignored_because or "no words")
        self.turn = None
        self.mark_processed(turn.speech_end)
        if turn.overlong and attempt.text and not attempt.low_confidence:
            self.cut_at = self.processed_until
        closed = CloseSegment(turn.segment, turn.number)
        if not turn.will_be_answered:
            return (
                RecordTurn(turn.number, attempt.text, attempt.new_text, turn.speech_end, attempt.low_confidence),
                closed,
            )
        # Used only after a retraction, to join the words. A reply to a lost transcript has no words to join.
        earlier = (attempt.text,) if attempt.text else turn.retracted_texts
        self.reply = ActiveReply(
            attempt.reply,
            earlier,
            attempt.low_confidence,
            progress_at=at,
            attempts=turn.attempts,
            requested=turn.reply_due,
            peak_probability=turn.peak_probability,
            was_retracted=bool(turn.retracted_texts) and not attempt.new_text,
            forced=turn.forced,
            resume_guard=turn.resume_guard,
            playback_held=turn.resume_guard.holds,
        )
        commit = CommitTurn(
            attempt.reply,
            attempt.text,
            attempt.new_text,
            turn.speech_end,
            attempt.low_confidence,
            submitted=turn.submitted,
        )
        return (commit, *((HoldPlayback(attempt.reply),) if turn.resume_guard.holds else ()), closed)

    def give_up(self, turn: UserTurn, at: Samples, reason: AbandonReason) -> Effects:
        """Ends a turn that cannot complete. A reply that is owed is still given, to the earlier words."""
        return self._answer_retracted_texts(turn, at, reason) if turn.reply_due else self.discard_turn(turn, at, reason)

    def _answer_retracted_texts(self, turn: UserTurn, at: Samples, reason: AbandonReason) -> Effects:
        """Replies to the words before the retraction, since no more words were understood."""
        dropped = turn.drop_attempts(reason)
        self.turn = None
        turn.attempts += 1
        answer, text = ReplyId(turn.number, turn.attempts), " ".join(turn.retracted_texts)
        self.reply = ActiveReply(
            answer,
            turn.retracted_texts,
            turn.retracted_low_confidence,
            progress_at=at,
            attempts=turn.attempts,
            requested=True,
            was_retracted=True,
        )
        commit = CommitTurn(
            answer, text, "", None, turn.retracted_low_confidence, origin="requested", submitted=turn.submitted
        )
        return (*dropped, DiscardSegment(turn.segment, turn.number), PrepareReply(answer, text), commit)

    def discard_turn(self, turn: UserTurn, at: Samples, reason: AbandonReason) -> Effects:
        """Ends the turn without a reply. A reply that it had falsely interrupted will resume."""
        self.turn = None
        self.mark_processed(turn.speech_end)
        if (
            turn.resumable_reply is not None
            and turn.will_be_answered
            and reason in {"no words", "noise", "overheard", "backchannel"}
        ):
            delay = samples_of_ms(self.settings.replies.resume_delay_ms)
            self.resume_pending = turn.resumable_reply, Samples(turn.speech_end + delay)
        return turn.discard(at, reason)

    # ---- overlaps ----

    def interrupt_or_retract(self, reply: ActiveReply, overlap: Overlap, at: Samples) -> Effects:
        """Ends the reply in favor of the overlapping speech.

        If no complete word of the reply was heard, the reply is retracted and the turn continues. Otherwise the reply
        is interrupted and a new turn starts.
        """
        self.reply = None
        self.requeue_announcement(reply)
        if overlap.turn is not None:
            return (InterruptReply(reply.reply), *self.begin_turn_from_overlap(overlap))
        resume_pending = self._take_resume_pending()
        if reply.words_heard == 0:
            effect: Effect = RetractReply(reply.reply)
            self.turn = turn = UserTurn(reply.reply.turn, overlap.segment, overlap.onset, at)
            turn.retracted_texts, turn.retracted_low_confidence = reply.answered_texts, reply.low_confidence
            turn.reply_due = bool(reply.answered_texts) or reply.requested
            turn.attempts, turn.peak_probability = reply.attempts, reply.peak_probability
            turn.resumable_reply = reply.reply if reply.resumed else resume_pending
        else:
            effect = InterruptReply(reply.reply, continues_turn=overlap.early and not reply.forced)
            self.turn = turn = UserTurn(self.next_turn_number(), overlap.segment, overlap.onset, at)
            turn.resumable_reply, turn.early = reply.reply, overlap.early
        turn.peak_probability = max(turn.peak_probability, overlap.peak_probability)
        turn.reply_due, self.answer_after_reply = turn.reply_due or self.answer_after_reply, False
        turn.will_be_answered = self.settings.answers or turn.reply_due
        started = TurnStarted(turn.number, overlap.onset)
        # An interrupting turn starts before its reply ends. A continued turn starts after the retraction.
        return (effect, started) if isinstance(effect, RetractReply) else (started, effect)

    def begin_turn_from_overlap(self, overlap: Overlap) -> Effects:
        """Turns the overlap into a user turn after the reply has ended."""
        self.reply = None
        reply_due, self.answer_after_reply = self.answer_after_reply, False
        number, side_talk = overlap.turn, overlap.side_talk
        if side_talk is not None:
            self.turn, side_talk.speech_end, side_talk.resumable_reply = (
                side_talk,
                overlap.speech_end,
                self._take_resume_pending(),
            )
            side_talk.peak_probability = overlap.peak_probability
            if not overlap.deferred:
                return ()
            side_talk.reply_due, side_talk.will_be_answered = reply_due, reply_due or self.settings.answers
            ready = side_talk.attempt is not None and side_talk.attempt.ready and side_talk.will_be_answered
            return (prepare_reply(side_talk.attempt),) if ready and side_talk.attempt is not None else ()
        turn = self._open_turn(number or self.next_turn_number(), overlap.segment, overlap.onset, overlap.speech_end)
        turn.peak_probability = overlap.peak_probability
        turn.reply_due, turn.will_be_answered = reply_due, reply_due or turn.will_be_answered
        return (TurnStarted(self._last_turn_number, overlap.onset),) if number is None else ()

    def defer_overlap(self, overlap: Overlap) -> Effects:
        """Keeps the overlap as a turn after the reply."""
        overlap.deferred, overlap.turn = True, self.next_turn_number()
        return (TurnStarted(overlap.turn, overlap.onset),)

    def request_side_talk(self, overlap: Overlap, at: Samples) -> Effects:
        """Requests the transcript of the overlap, to decide whether it is addressed to the assistant."""
        side_talk = overlap.side_talk
        started: Effects = ()
        if side_talk is None:
            number = overlap.turn
            if number is None:
                number = overlap.turn = self.next_turn_number()
                started = (TurnStarted(number, overlap.onset),)
            side_talk = overlap.side_talk = UserTurn(number, overlap.segment, overlap.onset, overlap.speech_end)
            # Speech that may not interrupt is only recorded: no reply to it is prepared during this reply.
            side_talk.will_be_answered = self.settings.answers and not overlap.deferred
        return (*started, side_talk.begin_attempt(at, overlap.speech_end, self.settings))

    def record_side_talk(
        self, reply: ActiveReply, overlap: Overlap, event: FinalTranscript | TranscriptFailed
    ) -> Effects:
        """Records a turn whose transcript arrived during the reply. It is answered after the reply.

        A lost transcript is handled by the turn that begins then.
        """
        side_talk = overlap.side_talk
        if side_talk is None:
            return ()
        side_talk.peak_probability = overlap.peak_probability
        effects = side_talk.on_transcript(event, self.settings, reject_noise=self.settings.answers)
        attempt = side_talk.attempt
        if effects is None or attempt is None or attempt.transcript_lost:
            return effects or ()
        if not attempt.text:
            return (
                *effects,
                *self.dismiss_overlap(reply, overlap.speech_end, event.at, attempt.ignored_because or "no words"),
            )
        self.mark_processed(overlap.speech_end)
        self.answer_after_reply = self.answer_after_reply or self.settings.answers
        words = RecordTurn(side_talk.number, attempt.text, attempt.new_text, overlap.speech_end, attempt.low_confidence)
        return (*effects, *reply.end_overlap(), words, CloseSegment(side_talk.segment, side_talk.number))

    def on_side_talk_transcript(self, reply: ActiveReply, event: FinalTranscript | TranscriptFailed) -> Effects:
        """Takes the transcript of side talk: speech addressed to the assistant interrupts, other speech does not."""
        if reply.overlap is not None and reply.overlap.deferred:
            return self.record_side_talk(reply, reply.overlap, event)
        side_talk = None if reply.overlap is None else reply.overlap.side_talk
        effects = None if side_talk is None else side_talk.on_transcript(event, self.settings)
        if side_talk is None or side_talk.attempt is None or reply.overlap is None or effects is None:
            return ()
        if not side_talk.attempt.text and side_talk.attempt.ignored_because != "called":
            return self.dismiss_overlap(
                reply, reply.overlap.speech_end, event.at, side_talk.attempt.ignored_because or "no words"
            )
        reply.overlap.peak_probability = 1.0  # addressed by name
        return (*self.interrupt_or_retract(reply, reply.overlap, event.at), *effects)

    def dismiss_unclear_overlap(self, reply: ActiveReply, overlap: Overlap, at: Samples, *, echo: bool) -> Effects:
        """Dismisses an overlap whose transcript does not interrupt.

        Unless it was an echo or a backchannel, it may be the prefix of the next speech.
        """
        if not echo and not overlap.backchannel:
            self.prefix = PossiblePrefix(overlap.segment, overlap.speech_end)
        return self.dismiss_overlap(reply, overlap.speech_end, at)

    def dismiss_overlap(
        self, reply: ActiveReply, until: Samples, at: Samples, reason: AbandonReason = "cleared"
    ) -> Effects:
        """Dismisses the overlap without an interruption. Speech before `until` counts as processed."""
        overlap = reply.overlap
        self.mark_processed(until)
        if overlap is None:
            return ()
        if overlap.side_talk is not None:
            return (*reply.end_overlap(), *overlap.side_talk.discard(at, reason))
        discarded = (*reply.end_overlap(), DiscardSegment(overlap.segment, reply.reply.turn))
        nothing = () if overlap.turn is None else (TurnDiscarded(overlap.turn, at, overlap.speech_end, reason),)
        return (*discarded, *nothing)

    def stop_reply(self, reply: ActiveReply, at: Samples, reason: Literal["requested", "client"]) -> Effects:
        """Ends the reply and drops the overlap, unless it is kept as a turn; see `move_turn_to_overlap`."""
        self.reply = None
        if reason == "requested":
            self.requeue_announcement(reply)
        overlap = reply.overlap
        if overlap is None:
            return (InterruptReply(reply.reply, reason),)
        # The reply is over, so its volume needs no effect. An overlap that is kept may duck the next reply.
        overlap.ducked, overlap.ducked_at = False, None
        dismissed: Effects = ()
        if not overlap.deferred:
            dismissed = self.dismiss_overlap(
                reply, self.processed_until, at, "requested" if reason == "requested" else "cleared"
            )
        return (*dismissed, InterruptReply(reply.reply, reason))

    def move_turn_to_overlap(self, turn: UserTurn, at: Samples) -> tuple[Overlap, Effects]:
        """Turns the open turn into an overlap of the reply that was requested during it.

        The turn itself ends. Its speech is still transcribed and becomes another turn after the reply.
        """
        self.turn = None
        dropped = turn.drop_attempts("requested")
        kept = Overlap(turn.segment, turn.onset, turn.speech_end, peak_probability=turn.peak_probability, deferred=True)
        return kept, (*dropped, TurnDiscarded(turn.number, at, turn.speech_end, "requested"))

    def requeue_announcement(self, reply: ActiveReply) -> None:
        """Queues the announcement of the reply again if no complete word of it was heard."""
        if reply.announcement is not None and not reply.words_heard:
            self.announcements.appendleft(reply.announcement)

    def requeue_failed_announcement(self, reply: ActiveReply) -> None:
        """Queues an announcement again, up to the limit, after a reply ended without any sound."""
        announcement = reply.announcement
        if announcement is None or reply.audible:
            return
        if announcement.failures + 1 < self.settings.replies.max_announcement_failures:
            reply.announcement = replace(announcement, failures=announcement.failures + 1)
            self.requeue_announcement(reply)

    # ---- replies without user speech ----

    def on_reply_requested(self, event: ReplyRequested) -> Effects:
        """Handles a request for a reply that no user speech caused; see `ReplyRequested`."""
        if event.origin == "announcement":
            self.announcements.append(Announcement(event.text))
            if len(self.announcements) > self.settings.replies.max_announcements:
                self.announcements.popleft()
            return ()  # starts with the next frame in which nobody speaks
        if event.origin == "greeting":
            return self.start_literal_reply(event.at, event.origin, event.text) if self.phase is Phase.IDLE else ()
        turn, reply = self.turn, self.reply
        self.resume_pending = None
        if event.after_current_reply and reply is not None and reply.overlap is None:
            self.reply = None
            return self.answer_history(event.at, audible=True)
        if turn is not None and turn.ended_at is not None and event.origin == "requested":
            return () if self.queued.request_reply() else self.request_answer(turn, event.at)
        if turn is not None and (turn.ended_at is not None or turn.reply_due) and event.origin == "repeated":
            return ()
        unheard = None if reply is None or reply.words_heard else reply.announcement
        effects = self.stop_reply(reply, event.at, "requested") if reply is not None else ()
        kept = reply.overlap if reply is not None and reply.overlap is not None and reply.overlap.deferred else None
        if turn is not None:
            kept, moved = self.move_turn_to_overlap(turn, event.at)
            effects += moved
        self.mark_processed(event.at)
        if event.origin == "requested":
            effects += self.answer_history(event.at)
        else:
            if unheard is not None:
                self.announcements.remove(unheard)  # the repetition says it
            effects += self.start_literal_reply(event.at, event.origin, event.text, announcement=unheard)
        if self.reply is not None:
            self.reply.overlap = kept
        return effects

    def request_resume(self, at: Samples) -> Effects:
        """Requests the rest of a falsely interrupted reply, once it is due."""
        if self.resume_pending is None or at < self.resume_pending[1]:
            return ()
        (cut, _), self.resume_pending = self.resume_pending, None
        return (ResumeReply(cut),)

    def start_literal_reply(
        self,
        at: Samples,
        origin: Literal["greeting", "announcement", "repeated", "resumed"],
        text: str,
        *,
        announcement: Announcement | None = None,
    ) -> Effects:
        """Starts a reply that says this text literally."""
        answer = self._start_reply(at, announcement=announcement)
        if self.reply is not None:
            self.reply.resumed = origin == "resumed"
        return (PrepareReply(answer, text, is_literal=True), CommitTurn(answer, "", "", None, origin=origin))

    def answer_recorded_turn(self, at: Samples) -> Effects:
        """Answers a turn that was recorded during the reply, which has ended."""
        return self.answer_history(at) if self.answer_after_reply else ()

    def answer_history(self, at: Samples, *, audible: bool = False) -> Effects:
        """Starts a reply to the history as it is.

        Args:
            at: The current position.
            audible: The previous reply is still playing, so the user hears the new one as its continuation.
        """
        self.answer_after_reply = False
        answer = self._start_reply(at, requested=True)
        if self.reply is not None and audible:
            self.reply.audible_at = at
        return (PrepareReply(answer, ""), CommitTurn(answer, "", "", None, origin="requested"))

    def _start_reply(
        self, at: Samples, *, announcement: Announcement | None = None, requested: bool = False
    ) -> ReplyId:
        answer = ReplyId(self.next_turn_number(), 1)
        self.reply = ActiveReply(
            answer, (), low_confidence=False, progress_at=at, announcement=announcement, requested=requested
        )
        return answer
