"""Handles speech during a reply whose transcript shows whether it is for the assistant. No I/O, no clock.

With the wake phrase, addressed speech interrupts the reply when its transcript arrives. Where only the client
interrupts, the turn is committed during the reply and answered after it.
"""

from assistant.turns.conversation import Conversation
from assistant.turns.effects import CloseSegment, CommitWithoutReply, Effects, EndSegment, TurnStarted
from assistant.turns.events import AbandonReason, FinalTranscript, TranscriptFailed
from assistant.turns.handlers.interruption import dismiss_overlap, interrupt_or_retract
from assistant.turns.state.overlap import Overlap
from assistant.turns.state.states import Replying
from assistant.turns.state.user_turn import Answering, UserTurn
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult


def request_transcript_after_pause(
    conversation: Conversation, overlap: Overlap, position: Samples, vad: VadResult
) -> Effects:
    """Requests the transcript of side talk after a silence that would end a turn. The reply continues."""
    turn, settings = overlap.side_talk, conversation.settings
    if vad.speaking:
        return () if turn is None else turn.drop_attempt("went on")
    requested = turn is not None and turn.attempt is not None
    if requested or position - overlap.speech_end < samples_of_ms(settings.hangover_ms):
        return ()
    started: Effects = ()
    if overlap.turn is None:
        overlap.turn = conversation.next_turn_number()
        started = (TurnStarted(overlap.turn, overlap.onset),)
    if settings.sound_decides:
        conversation.queued.mark_cut(overlap.speech_end)
        started += (EndSegment(overlap.segment, Samples(max(overlap.segment, position))),)
    return (*started, *begin_side_talk(conversation, overlap))


def begin_side_talk(conversation: Conversation, overlap: Overlap, *, end_reported: bool = False) -> Effects:
    """Requests the transcript of speech that has ended beside the reply. Its turn was reported."""
    settings, turn = conversation.settings, overlap.side_talk
    if turn is None:
        turn = overlap.side_talk = UserTurn(overlap.turn or 0, overlap.segment, overlap.onset, overlap.speech_end)
        turn.end_reported = end_reported
        # Speech that may not interrupt is committed unanswered: no reply to it is prepared during this reply.
        turn.answering = Answering.of(due=False, automatic=settings.answers and not overlap.is_deferred)
    return (*turn.report_end(settings), turn.begin_attempt(overlap.speech_end))


def on_transcript(conversation: Conversation, state: Replying, event: FinalTranscript | TranscriptFailed) -> Effects:
    """Takes the transcript of side talk: speech addressed to the assistant interrupts, other speech does not."""
    overlap, turn = state.overlap, state.side_talk
    if overlap is None or turn is None:
        return ()
    if overlap.is_deferred:
        return _commit_unanswered(conversation, state, overlap, turn, event)
    effects = turn.on_transcript(event, conversation.settings)
    if effects is None or turn.attempt is None or turn.attempt.words is None:
        return ()
    words = turn.attempt.words
    if not words.text and words.ignored_because != "called":
        reason = words.ignored_because or "no words"
        return dismiss_overlap(conversation, state, overlap.speech_end, event.position, reason)
    overlap.peak_probability = 1.0  # addressed by name
    return (*interrupt_or_retract(conversation, state, overlap, event.position), *effects)


def _commit_unanswered(
    conversation: Conversation,
    state: Replying,
    overlap: Overlap,
    turn: UserTurn,
    event: FinalTranscript | TranscriptFailed,
) -> Effects:
    """Commits a turn whose transcript arrived during the reply. It is answered after the reply.

    A lost transcript is handled by the turn that begins then. Where later speech waits already, it ends the turn.
    """
    settings = conversation.settings
    turn.peak_probability = overlap.peak_probability
    effects = turn.on_transcript(event, settings, reject_noise=settings.answers)
    words = None if turn.attempt is None else turn.attempt.words
    if effects is None or words is None or (words.are_lost and not overlap.has_ended):
        return effects or ()
    if not words.text:
        reason: AbandonReason = "stuck" if words.are_lost else words.ignored_because or "no words"
        return (*effects, *dismiss_overlap(conversation, state, overlap.speech_end, event.position, reason))
    conversation.mark_processed(overlap.speech_end)
    conversation.answer_after_reply = conversation.answer_after_reply or settings.answers
    commit = CommitWithoutReply(turn.number, words.text, words.new_text, overlap.speech_end, words.low_confidence)
    return (*effects, *state.end_overlap(), commit, CloseSegment(turn.segment, turn.number))
