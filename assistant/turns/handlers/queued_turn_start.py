"""Queues speech while the transcript of the previous turn is pending, and starts its turns later. No I/O, no clock.

Where sound alone decides, the queued turns are reported as they begin and end, in order.
"""

from assistant.turns.conversation import Conversation
from assistant.turns.effects import (
    Effects,
    InterruptReply,
    OpenSegment,
    TurnDiscarded,
    TurnEnded,
    TurnQueued,
    TurnStarted,
)
from assistant.turns.events import ReplyId
from assistant.turns.handlers import overlap_handlers, user_speaking
from assistant.turns.handlers.commit import request_answer
from assistant.turns.handlers.confirming_speech import begin_turn_at
from assistant.turns.handlers.interruption import begin_turn_from_overlap, defer_overlap
from assistant.turns.handlers.side_talk import begin_side_talk
from assistant.turns.state.overlap import Overlap, OverlapStatus
from assistant.turns.state.queued_turns import QueuedTurn
from assistant.turns.state.speech_candidate import SpeechCandidate
from assistant.turns.state.states import AwaitingTranscript, EndedBy, Idle, Replying, UserSpeaking
from audio.units import Samples
from audio.vad import VadResult


def queue_frame(conversation: Conversation, position: Samples, vad: VadResult) -> Effects:
    """Adds a frame after a turn that has ended for good."""
    conversation.queued.add_frame(position, vad, conversation.settings)
    return _report(conversation, position) if conversation.settings.sound_decides else ()


def commit_queued(conversation: Conversation, position: Samples, *, after_reply: ReplyId | None = None) -> Effects:
    """Ends the queued turn for the client. It does not interrupt `after_reply`."""
    conversation.queued.commit(position, conversation.settings, after_reply)
    return _report(conversation, position) if conversation.settings.sound_decides else ()


def clear_queued(conversation: Conversation, position: Samples) -> Effects:
    """Discards the speech after the turn that has ended."""
    dropped = conversation.queued.clear(position)
    if dropped is None or dropped.number is None:
        return ()
    return (TurnDiscarded(dropped.number, position, dropped.speech_end, "cleared"),)


def _report(conversation: Conversation, position: Samples) -> Effects:
    """Reports the queued turns that have begun or ended. Gives up the oldest if there are too many.

    The end of the turn before them comes first: it is not reported yet if the settings have just changed.
    """
    effects: Effects = ()
    waiting, state = conversation.queued.waiting, conversation.state
    if waiting and isinstance(state, AwaitingTranscript):
        effects += state.turn.report_end(conversation.settings)
    for queued in waiting:
        if queued.number is None:
            queued.number = conversation.next_turn_number()
            if queued.candidate is not None:
                effects += (TurnQueued(queued.number, queued.candidate.onset),)
        if queued.submitted_at is not None and not queued.end_reported:
            queued.end_reported = True
            effects += (TurnEnded(queued.number, queued.speech_end),)
    while len(waiting) > conversation.settings.start.max_queued_turns:
        lost = waiting.popleft()
        effects += (TurnDiscarded(lost.number or 0, position, lost.speech_end, "stuck"),)
    return effects


def start_queued_turn(conversation: Conversation, position: Samples) -> Effects:
    """Starts the next queued turn, if the user has no other turn. During a reply its speech is an overlap."""
    state = conversation.state
    if not isinstance(state, Idle) and not (isinstance(state, Replying) and state.overlap is None):
        return ()
    effects: Effects = ()
    queued = conversation.next_queued_turn()
    # Process all empty ones in this frame, since speech in this frame comes after them.
    while queued is not None and queued.candidate is None:
        number, submitted = queued.number or conversation.next_turn_number(), queued.submitted_at is not None
        effects += (TurnDiscarded(number, position, queued.speech_end, "no words", submitted),)
        queued = conversation.next_queued_turn()
    if queued is None or queued.candidate is None:
        return effects
    if isinstance(state, Replying) and queued.number is not None:
        effects += _start_reported(conversation, state, position, queued, speech=queued.candidate, number=queued.number)
    elif isinstance(state, Replying):
        effects += _start_during_reply(conversation, state, position, queued, queued.candidate)
    else:
        effects += begin_turn_at(
            conversation,
            queued.segment,
            queued.candidate,
            queued.speech_end,
            segment_end=queued.submitted_at,
            queued_number=queued.number,
        )
    return effects + _end_if_submitted(conversation, position, queued)


def _start_reported(
    conversation: Conversation,
    state: Replying,
    position: Samples,
    queued: QueuedTurn,
    *,
    speech: SpeechCandidate,
    number: int,
) -> Effects:
    """Starts a turn whose start was reported: it interrupts the reply, or is transcribed beside it."""
    state.overlap = overlap = Overlap(queued.segment, speech.onset, queued.speech_end, OverlapStatus.DEFERRED)
    overlap.turn, overlap.peak_probability = number, speech.peak_probability
    released = state.release()
    started = (
        OpenSegment(queued.segment, speech.onset, queued.submitted_at),
        TurnStarted(number, speech.onset),
    )
    ended = queued.submitted_at is not None
    if conversation.settings.voice_interrupts or (ended and not queued.ended_by_silence):
        return (*released, *_interrupt(conversation, state, position, overlap, queued, started=started))
    beside = begin_side_talk(conversation, overlap, end_reported=queued.end_reported) if ended else ()
    return (*released, *started, *beside)


def _interrupt(
    conversation: Conversation,
    state: Replying,
    position: Samples,
    overlap: Overlap,
    queued: QueuedTurn,
    *,
    started: Effects = (),
) -> Effects:
    """Ends the reply for the queued turn. If the client did not end that and it has no words, the reply resumes."""
    if queued.after_reply == state.reply_id:
        return (*state.end_overlap(), *started, *begin_turn_from_overlap(conversation, overlap, position))
    conversation.repeat_unheard_announcement(state)
    by_client = queued.submitted_at is not None and not queued.ended_by_silence
    begun = begin_turn_from_overlap(conversation, overlap, position)
    if not by_client and isinstance(conversation.state, UserSpeaking):
        conversation.state.turn.resumable_reply = state.reply_id
    return (InterruptReply(state.reply_id, "client" if by_client else "voice"), *started, *begun)


def _start_during_reply(
    conversation: Conversation, state: Replying, position: Samples, queued: QueuedTurn, speech: SpeechCandidate
) -> Effects:
    vad = VadResult(True, speech.onset, speech.peak_probability)
    effects = overlap_handlers.start_overlap(
        conversation, state, position, queued.segment, vad, segment_end=queued.submitted_at
    )
    if conversation.state is not state or state.overlap is None or queued.submitted_at is None:
        return effects
    if queued.ended_by_silence and not conversation.settings.voice_interrupts:
        return (*effects, *defer_overlap(conversation, state.overlap))
    # A commit by the client interrupts, and so does speech that is over.
    return (*effects, *_interrupt(conversation, state, position, state.overlap, queued))


def _end_if_submitted(conversation: Conversation, position: Samples, queued: QueuedTurn) -> Effects:
    """Ends the turn if the client or silence had ended it while it was queued."""
    state = conversation.state
    if queued.submitted_at is None or not isinstance(state, UserSpeaking):
        return ()
    turn = state.turn
    turn.speech_end, turn.end_reported = queued.speech_end, queued.end_reported
    if queued.ended_by_silence:
        return user_speaking.end_turn(conversation, turn, position, EndedBy.FINAL_SILENCE)
    turn.submitted = True
    turn.mark_certain()
    conversation.cut_speech(queued.submitted_at)
    ended = user_speaking.end_turn(conversation, turn, position, EndedBy.COMMAND)
    if not queued.reply_requested or not isinstance(conversation.state, AwaitingTranscript):
        return ended
    return (*ended, *request_answer(conversation, conversation.state, position))
