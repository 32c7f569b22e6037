"""Handles the events of a conversation in which a reply plays. No I/O, no clock.

`overlap_handlers.py` handles the user's speech during it.
"""

from dataclasses import replace

from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects, InterruptReply
from assistant.turns.events import (
    FrameProcessed,
    InputCleared,
    InputCommitted,
    KeyPressed,
    PlaybackProgress,
    ReplyCancelled,
    ReplyEnded,
)
from assistant.turns.handlers import idle, overlap_handlers, user_speaking
from assistant.turns.handlers.interruption import begin_turn_from_overlap, dismiss_overlap, stop_reply
from assistant.turns.handlers.queued_turn_start import clear_queued, commit_queued, queue_frame
from assistant.turns.handlers.replies import answer_turn_of_reply
from assistant.turns.state.overlap import Overlap, OverlapStatus
from assistant.turns.state.states import ConfirmingSpeech, Idle, Replying, UserSpeaking
from audio.units import Samples
from audio.vad import VadResult


def on_frame(conversation: Conversation, state: Replying, event: FrameProcessed) -> Effects:
    """Waits for speech, and gives up a reply without progress."""
    overlap = state.overlap
    if overlap is None:
        effects = _on_frame_without_overlap(conversation, state, event.position, event.vad)
    elif overlap.has_ended:
        effects = (*state.stop_ducking(), *queue_frame(conversation, event.position, event.vad))
    else:
        effects = overlap_handlers.on_frame(conversation, state, overlap, event.position, event.vad)
    if conversation.state is not state or state.overlap is not overlap:
        return effects
    return (*effects, *_give_up_if_stuck(conversation, state, event.position))


def _on_frame_without_overlap(
    conversation: Conversation, state: Replying, position: Samples, vad: VadResult
) -> Effects:
    onset = conversation.unassigned_onset(position, vad)
    if onset is None:
        return state.update_hold(position, vad, conversation.settings)
    segment = conversation.segment_at(onset)
    return overlap_handlers.start_overlap(conversation, state, position, segment, replace(vad, boundary=onset))


def _give_up_if_stuck(conversation: Conversation, state: Replying, position: Samples) -> Effects:
    if not state.is_stuck(position, conversation.settings):
        return ()
    conversation.state = Idle()
    conversation.repeat_failed_announcement(state)
    stopped = InterruptReply(state.reply_id, "stuck")
    if state.overlap is None:
        return (stopped,)
    return (stopped, *begin_turn_from_overlap(conversation, state.overlap, position))


def on_playback_progress(_conversation: Conversation, state: Replying, event: PlaybackProgress) -> Effects:
    """Notes how much of the reply was heard."""
    if state.reply_id == event.reply_id:
        state.update_progress(event)
    return ()


def on_reply_ended(conversation: Conversation, state: Replying, event: ReplyEnded) -> Effects:
    """Ends the reply. The user's speech during it becomes a turn, or a candidate if it is not decided yet."""
    if state.reply_id != event.reply_id:
        return ()
    conversation.state = Idle()
    conversation.repeat_failed_announcement(state)
    conversation.reply_heard_at = event.position if state.audible else None
    overlap = state.overlap
    if overlap is None:
        return answer_turn_of_reply(conversation, event.position)
    is_open = overlap.pause is not None and _is_unreported(overlap)
    if is_open and conversation.settings.voice_interrupts and not conversation.settings.sound_decides:
        conversation.state = ConfirmingSpeech(overlap.to_candidate())
        return state.unduck()
    return (*state.unduck(), *begin_turn_from_overlap(conversation, overlap, event.position))


def _is_unreported(overlap: Overlap) -> bool:
    """Returns whether the overlap may still come to nothing: no turn was begun with it."""
    return overlap.turn is None and overlap.side_talk is None and overlap.status is not OverlapStatus.DEFERRED


def on_input_committed(conversation: Conversation, state: Replying, event: InputCommitted) -> Effects:
    """Ends the turn of the overlap for the client. It interrupts the reply, unless that is to play to its end."""
    if state.overlap is None:
        return idle.on_input_committed(conversation, state, event)
    if state.overlap.has_ended:
        after_reply = state.reply_id if event.after_current_reply else None
        return commit_queued(conversation, event.position, after_reply=after_reply)
    interrupted: Effects = ()
    if not event.after_current_reply:
        conversation.repeat_unheard_announcement(state)
        interrupted = (InterruptReply(state.reply_id, "client"),)
    started = begin_turn_from_overlap(conversation, state.overlap, event.position)
    ended: Effects = ()
    if isinstance(conversation.state, UserSpeaking):
        ended = user_speaking.on_input_committed(conversation, conversation.state, event)
    return (*interrupted, *started, *ended)


def on_input_cleared(conversation: Conversation, state: Replying, event: InputCleared) -> Effects:
    """Discards the overlap, or the speech after it if it has ended for good."""
    if state.overlap is not None and state.overlap.has_ended:
        return clear_queued(conversation, event.position)
    idle.on_input_cleared(conversation, state, event)
    return () if state.overlap is None else dismiss_overlap(conversation, state, event.position, event.position)


def on_key_pressed(conversation: Conversation, state: Replying, event: KeyPressed) -> Effects:
    """Ends the reply: the user wants to speak."""
    if conversation.settings.ends_by_key:
        conversation.key_pressed_at = event.position
        conversation.repeat_unheard_announcement(state)
    return on_reply_cancelled(conversation, state, ReplyCancelled(event.position))


def on_reply_cancelled(conversation: Conversation, state: Replying, event: ReplyCancelled) -> Effects:
    """Ends the reply for the client. Speech that may not interrupt it becomes a turn; other speech is discarded."""
    conversation.resume_pending = None
    overlap = state.overlap
    if overlap is None or (conversation.settings.voice_interrupts and not overlap.is_deferred):
        return stop_reply(conversation, state, event.position, "client")
    return (InterruptReply(state.reply_id, "client"), *begin_turn_from_overlap(conversation, overlap, event.position))
