"""Commits or discards a user turn that has ended. No I/O, no clock."""

from assistant.turns.conversation import Conversation
from assistant.turns.effects import CloseSegment, CommitTurn, CommitWithoutReply, Effects, HoldPlayback, PrepareReply
from assistant.turns.events import AbandonReason, ReplyId, TranscriptExpected
from assistant.turns.state.attempt import Words, prepare_reply
from assistant.turns.state.states import AwaitingTranscript, EndedBy, Idle, Replying, UserSpeaking
from assistant.turns.state.user_turn import Answering, UserTurn
from audio.units import Samples, samples_of_ms

_RESUMABLE = frozenset({"no words", "noise", "overheard", "backchannel", "other voice"})
"""Reason for discarding a turn that had falsely interrupted a reply."""

_RESUMABLE_IF_RETRACTED = _RESUMABLE | {"cleared", "stuck"}
"""The same for a turn that had retracted a reply, which is due."""


def on_transcript_expected(
    _conversation: Conversation, state: UserSpeaking | AwaitingTranscript | Replying, event: TranscriptExpected
) -> Effects:
    """Notes which transcript of the turn follows next."""
    turn = state.side_talk if isinstance(state, Replying) else state.turn
    if turn is not None:
        turn.expect_transcript(event)
    return ()


def commit_if_ready(conversation: Conversation, state: AwaitingTranscript, position: Samples) -> Effects:
    """Commits a finished turn, with a reply or without, once its transcript has settled; discards it without words."""
    turn, attempt = state.turn, state.turn.attempt
    words = None if attempt is None else attempt.final_words
    if attempt is None or words is None:
        return ()
    if turn.voice.is_other and not turn.submitted:
        return ignore_other_voice(conversation, turn, position)
    if not turn.is_answered(words):
        return discard_turn(conversation, turn, position, words.ignored_because or "no words")
    conversation.mark_processed(turn.speech_end)
    if state.ended_by is EndedBy.MAX_LENGTH and words.text and not words.low_confidence:
        conversation.cut_at = conversation.processed_until
    if turn.will_be_answered:
        return _commit(conversation, state, attempt.reply_id, words, position)
    conversation.state = Idle()
    commit = CommitWithoutReply(turn.number, words.text, words.new_text, turn.speech_end, words.low_confidence)
    return (commit, CloseSegment(turn.segment, turn.number))


def _commit(
    conversation: Conversation, state: AwaitingTranscript, reply_id: ReplyId, words: Words, position: Samples
) -> Effects:
    turn = state.turn
    held = turn.resume_guard.holds
    conversation.state = Replying(
        reply_id,
        "requested" if turn.reply_due else "spoken",
        # Used only after a retraction, to join the words. A reply to a lost transcript has no words to join.
        (words.text,) if words.text else turn.retracted_texts,
        words.low_confidence,
        progress_at=position,
        attempts=turn.attempts,
        peak_probability=turn.peak_probability,
        was_retracted=bool(turn.retracted_texts) and not words.new_text,
        turn_ended_by=state.ended_by,
        resume_guard=turn.resume_guard,
        playback_held=held,
    )
    commit = CommitTurn(
        reply_id,
        words.text,
        words.new_text,
        turn.speech_end,
        words.low_confidence,
        submitted=turn.submitted,
        guessed=words.guessed,
        softly=state.ended_by is EndedBy.SILENCE and turn.sounds_unsure(conversation.settings),
        called=turn.voice.called and conversation.settings.focus is not None,
    )
    return (commit, *((HoldPlayback(reply_id),) if held else ()), CloseSegment(turn.segment, turn.number))


def discard_turn(conversation: Conversation, turn: UserTurn, position: Samples, reason: AbandonReason) -> Effects:
    """Ends the turn without a reply. A reply that it had falsely interrupted will resume."""
    conversation.state = Idle()
    conversation.mark_processed(turn.speech_end)
    resumable = _RESUMABLE_IF_RETRACTED if turn.heard_before else _RESUMABLE
    if turn.resumable_reply is not None and turn.will_be_answered and reason in resumable:
        replies = conversation.settings.replies
        delay_ms = replies.backchannel_resume_delay_ms if reason == "backchannel" else replies.resume_delay_ms
        if reason == "other voice":  # it is not the user, who may be about to speak
            delay_ms = 0.0
        conversation.resume_pending = turn.resumable_reply, Samples(turn.speech_end + samples_of_ms(delay_ms))
    return turn.discard(position, reason)


def ignore_other_voice(conversation: Conversation, turn: UserTurn, position: Samples) -> Effects:
    """Ignores a turn of another voice, which may go on. A reply that it had interrupted resumes at once."""
    ignored = give_up(conversation, turn, position, "other voice")
    conversation.mark_processed(position)
    conversation.other_voice.ignore(turn.onset)
    return ignored


def give_up(conversation: Conversation, turn: UserTurn, position: Samples, reason: AbandonReason) -> Effects:
    """Ends a turn that cannot complete. A reply that is due is still given, to the words of retracted replies."""
    if not turn.reply_due:
        return discard_turn(conversation, turn, position, reason)
    dropped = turn.drop_attempt(reason)
    turn.attempts += 1
    reply_id, text = ReplyId(turn.number, turn.attempts), " ".join(turn.retracted_texts)
    conversation.state = Replying(
        reply_id,
        "requested",
        turn.retracted_texts,
        turn.retracted_low_confidence,
        progress_at=position,
        attempts=turn.attempts,
        was_retracted=True,
    )
    commit = CommitTurn(
        reply_id, text, "", None, turn.retracted_low_confidence, origin="requested", submitted=turn.submitted
    )
    return (*dropped, CloseSegment(turn.segment, turn.number, used=False), PrepareReply(reply_id, text), commit)


# ---- requests while the transcript is pending ----


def request_answer(conversation: Conversation, state: AwaitingTranscript, position: Samples) -> Effects:
    """Handles a request for a reply: the reply answers this turn."""
    turn, attempt = state.turn, state.turn.attempt
    if turn.will_be_answered:
        return ()
    turn.answering = Answering.ALWAYS
    turn.mark_certain()
    if attempt is None or attempt.words is None:
        return ()
    return (prepare_reply(attempt.reply_id, attempt.words), *commit_if_ready(conversation, state, position))


def withdraw_request(conversation: Conversation, state: AwaitingTranscript) -> Effects:
    """Withdraws the request for a reply."""
    turn = state.turn
    turn.answering = Answering.of(due=False, automatic=conversation.settings.answers_at_end)
    if turn.will_be_answered or turn.attempt is None or turn.attempt.words is None:
        return ()
    dropped = turn.drop_attempt("cleared")
    return (*dropped, turn.begin_attempt(turn.speech_end, "settled" if state.is_final else "early"))
