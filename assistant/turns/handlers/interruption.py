"""Ends a reply in favor of the user's speech, or the speech in favor of the reply. No I/O, no clock."""

from typing import Literal

from assistant.turns.conversation import Conversation
from assistant.turns.effects import (
    CloseSegment,
    Effects,
    EndOfTurn,
    InterruptReply,
    RetractReply,
    TurnDiscarded,
    TurnStarted,
)
from assistant.turns.events import AbandonReason
from assistant.turns.handlers.commit import commit_if_ready
from assistant.turns.state.attempt import prepare_reply
from assistant.turns.state.overlap import Ducking, Overlap, OverlapStatus
from assistant.turns.state.states import AwaitingTranscript, EndedBy, Idle, Replying, UserSpeaking
from assistant.turns.state.user_turn import Answering, UserTurn
from audio.units import Samples


def interrupt_or_retract(conversation: Conversation, state: Replying, overlap: Overlap, position: Samples) -> Effects:
    """Ends the reply in favor of the overlapping speech.

    If no complete word of the reply was heard, or if the speech is early, the reply is retracted and the turn
    continues. Otherwise, or if the turn ended for good, the reply is interrupted and a new turn starts; also if a word
    of a reply was heard that has called a tool or changed something, because retracting would undo or repeat this.
    """
    conversation.repeat_unheard_announcement(state)
    if overlap.turn is not None:
        return (InterruptReply(state.reply_id), *begin_turn_from_overlap(conversation, overlap, position))
    may_retract = conversation.settings.overlap.max_early_hold_ms > 0 and not state.has_effect
    went_on = may_retract and overlap.early and state.turn_ended_by is EndedBy.SILENCE
    ended_for_good = state.turn_ended_by is EndedBy.FINAL_SILENCE or conversation.settings.sound_decides
    if went_on or (state.words_heard == 0 and not ended_for_good):
        return _retract(conversation, state, overlap, position)
    turn = UserTurn(conversation.next_turn_number(), overlap.segment, overlap.onset, position)
    conversation.take_resume_pending()
    turn.resumable_reply, turn.early = state.reply_id, overlap.early
    _open(conversation, turn, overlap, due=False)
    return (TurnStarted(turn.number, overlap.onset), InterruptReply(state.reply_id))


def _retract(conversation: Conversation, state: Replying, overlap: Overlap, position: Samples) -> Effects:
    turn = UserTurn(state.reply_id.turn, overlap.segment, overlap.onset, position)
    pending = conversation.take_resume_pending()
    turn.retracted_texts, turn.retracted_low_confidence = state.answered_texts, state.low_confidence
    turn.attempts = state.attempts
    turn.heard_before = turn.early = state.words_heard > 0
    # If a word was heard, the new part has to be certain by itself: it decides whether the reply resumes.
    if not turn.heard_before:
        turn.peak_probability = state.peak_probability
    turn.resumable_reply = state.reply_id if turn.heard_before or state.origin == "resumed" else pending
    due = not turn.heard_before and (bool(state.answered_texts) or state.origin == "requested")
    _open(conversation, turn, overlap, due=due)
    return (RetractReply(state.reply_id), TurnStarted(turn.number, overlap.onset))


def _open(conversation: Conversation, turn: UserTurn, overlap: Overlap, *, due: bool) -> None:
    """Opens the turn with which an overlap has ended a reply."""
    due = conversation.take_answer_after_reply() or due
    turn.answering = Answering.of(due=due, automatic=turn.heard_before or conversation.settings.answers)
    turn.peak_probability = max(turn.peak_probability, overlap.peak_probability)
    conversation.state = UserSpeaking(turn)
    conversation.other_voice.ignored_from = None


def begin_turn_from_overlap(conversation: Conversation, overlap: Overlap, position: Samples) -> Effects:
    """Turns the overlap into a user turn after the reply has ended."""
    due = conversation.take_answer_after_reply()
    if overlap.side_talk is not None:
        return _continue_side_talk(conversation, overlap, overlap.side_talk, position, due=due)
    number = conversation.next_turn_number() if overlap.turn is None else overlap.turn
    turn = conversation.open_turn(number, overlap.segment, overlap.onset, overlap.speech_end)
    turn.peak_probability = overlap.peak_probability
    turn.answering = Answering.of(due=due, automatic=turn.will_be_answered)
    return (TurnStarted(number, overlap.onset),) if overlap.turn is None else ()


def _continue_side_talk(
    conversation: Conversation, overlap: Overlap, turn: UserTurn, position: Samples, *, due: bool
) -> Effects:
    """Continues the turn whose transcript was requested during the reply. If its end was reported, it has ended."""
    awaiting = AwaitingTranscript(turn, position, EndedBy.FINAL_SILENCE) if turn.end_reported else None
    conversation.state = awaiting or UserSpeaking(turn)
    turn.speech_end, turn.peak_probability = overlap.speech_end, overlap.peak_probability
    turn.resumable_reply = conversation.take_resume_pending()
    prepared: Effects = ()
    if overlap.is_deferred:
        turn.answering = Answering.of(due=due, automatic=conversation.settings.answers)
        attempt = turn.attempt
        if attempt is not None and attempt.words is not None and turn.will_be_answered:
            prepared = (prepare_reply(attempt.reply_id, attempt.words),)
    if awaiting is None:
        return prepared
    return (*prepared, EndOfTurn(turn.number), *commit_if_ready(conversation, awaiting, position))


def defer_overlap(conversation: Conversation, overlap: Overlap) -> Effects:
    """Keeps the overlap as a turn after the reply."""
    overlap.status, overlap.turn = OverlapStatus.DEFERRED, conversation.next_turn_number()
    return (TurnStarted(overlap.turn, overlap.onset),)


def dismiss_overlap(
    conversation: Conversation, state: Replying, until: Samples, position: Samples, reason: AbandonReason = "cleared"
) -> Effects:
    """Dismisses the overlap without an interruption. Speech before `until` counts as processed."""
    overlap = state.overlap
    conversation.mark_processed(until)
    if overlap is None:
        return ()
    if overlap.side_talk is not None:
        return (*state.end_overlap(), *overlap.side_talk.discard(position, reason))
    discarded = (*state.end_overlap(), CloseSegment(overlap.segment, state.reply_id.turn, used=False))
    if overlap.turn is None:
        return discarded
    return (*discarded, TurnDiscarded(overlap.turn, position, overlap.speech_end, reason))


def stop_reply(
    conversation: Conversation, state: Replying, position: Samples, reason: Literal["requested", "client"]
) -> Effects:
    """Ends the reply and drops the overlap, unless it is kept as a turn; see `move_turn_to_overlap`."""
    conversation.state = Idle()
    if reason == "requested":
        conversation.repeat_unheard_announcement(state)
    dismissed: Effects = ()
    if state.overlap is not None:
        # The reply is over, so its volume and its hold need no effect. An overlap that is kept may duck the next reply.
        state.overlap.ducking, state.playback_held = Ducking.NOT_YET, False
        if not state.overlap.is_deferred:
            why: AbandonReason = "requested" if reason == "requested" else "cleared"
            dismissed = dismiss_overlap(conversation, state, conversation.processed_until, position, why)
    return (*dismissed, InterruptReply(state.reply_id, reason))


def move_turn_to_overlap(turn: UserTurn, position: Samples) -> tuple[Overlap, Effects]:
    """Turns the open turn into an overlap of the reply that was requested during it.

    The turn itself ends. Its speech is still transcribed and becomes another turn after the reply.
    """
    dropped = turn.drop_attempt("requested")
    kept = Overlap(turn.segment, turn.onset, turn.speech_end, OverlapStatus.DEFERRED)
    kept.peak_probability = turn.peak_probability
    return kept, (*dropped, TurnDiscarded(turn.number, position, turn.speech_end, "requested"))
