"""Starts turns that were queued while the transcript of the previous turn was pending. No I/O, no clock."""

from typing import Literal

from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects, InterruptReply, TurnDiscarded
from assistant.turns.handlers import overlap_handlers, user_speaking
from assistant.turns.handlers.commit import request_answer
from assistant.turns.handlers.confirming_speech import begin_turn_at
from assistant.turns.handlers.interruption import begin_turn_from_overlap, defer_overlap
from assistant.turns.state.queued_turns import QueuedTurn
from assistant.turns.state.speech_candidate import SpeechCandidate
from assistant.turns.state.states import AwaitingTranscript, EndedBy, Idle, Replying, UserSpeaking
from audio.units import Samples
from audio.vad import VadResult


def start_queued_turn(conversation: Conversation, position: Samples) -> Effects:
    """Starts the next queued turn, if the user has no other turn. During a reply its speech is an overlap."""
    state = conversation.state
    if not isinstance(state, Idle) and not (isinstance(state, Replying) and state.overlap is None):
        return ()
    effects: Effects = ()
    queued = conversation.next_queued_turn()
    # Process all empty ones in this frame, since speech in this frame comes after them.
    while queued is not None and queued.candidate is None:
        number, submitted = conversation.next_turn_number(), queued.submitted_at is not None
        effects += (TurnDiscarded(number, position, queued.speech_end, "no words", submitted),)
        queued = conversation.next_queued_turn()
    if queued is None or queued.candidate is None:
        return effects
    if isinstance(state, Replying):
        effects += _start_during_reply(conversation, state, position, queued, queued.candidate)
    else:
        effects += begin_turn_at(conversation, queued.segment, queued.candidate, queued.speech_end, queued.submitted_at)
    return effects + _end_if_submitted(conversation, position, queued)


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
    reason: Literal["voice", "client"] = "voice" if queued.ended_by_silence else "client"
    return (*effects, InterruptReply(state.reply_id, reason), *begin_turn_from_overlap(conversation, state.overlap))


def _end_if_submitted(conversation: Conversation, position: Samples, queued: QueuedTurn) -> Effects:
    """Ends the turn if the client or silence had ended it while it was queued."""
    state = conversation.state
    if queued.submitted_at is None or not isinstance(state, UserSpeaking):
        return ()
    turn = state.turn
    turn.speech_end = queued.speech_end
    if queued.ended_by_silence:
        return user_speaking.end_turn(conversation, turn, position, EndedBy.FINAL_SILENCE)
    turn.submitted = True
    turn.mark_certain()
    conversation.cut_speech(queued.submitted_at)
    ended = user_speaking.end_turn(conversation, turn, position, EndedBy.COMMAND)
    if not queued.reply_requested or not isinstance(conversation.state, AwaitingTranscript):
        return ended
    return (*ended, *request_answer(conversation, conversation.state, position))
