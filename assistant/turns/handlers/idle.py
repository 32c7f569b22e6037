"""Handles the events of a conversation in which nobody speaks and no reply plays. No I/O, no clock."""

from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects, TurnDiscarded
from assistant.turns.events import FrameProcessed, InputCleared, InputCommitted, KeyPressed, ReplyCancelled
from assistant.turns.handlers import confirming_speech
from assistant.turns.handlers.replies import prompt_silent_user, start_pending_reply
from assistant.turns.state.states import Idle


def on_frame(conversation: Conversation, _state: Idle, event: FrameProcessed) -> Effects:
    """Waits for speech. Until it begins, replies that no user speech caused may start."""
    onset = conversation.unassigned_onset(event.position, event.vad)
    if onset is not None:
        return confirming_speech.add_speech(conversation, event.position, onset, event.vad)
    return start_pending_reply(conversation, event.position) or prompt_silent_user(conversation, event.position)


def on_input_committed(conversation: Conversation, _state: object, event: InputCommitted) -> Effects:
    """Reports a turn in which nobody spoke. It also applies while a reply plays without an overlap."""
    conversation.cut_speech(event.position)
    conversation.key_pressed_at = None
    if conversation.settings.ends_by_key:
        return ()
    return (TurnDiscarded(conversation.next_turn_number(), event.position, event.position, "no words", submitted=True),)


def on_input_cleared(conversation: Conversation, _state: object, event: InputCleared) -> Effects:
    """Ignores the speech so far. It also applies while a transcript is pending and while a reply plays."""
    conversation.cut_speech(event.position)
    conversation.key_pressed_at = None
    return ()


def on_key_pressed(conversation: Conversation, state: Idle, event: KeyPressed) -> Effects:
    """Keeps pending replies from starting while the key is down."""
    if conversation.settings.ends_by_key:
        conversation.key_pressed_at = event.position
    return on_reply_cancelled(conversation, state, ReplyCancelled(event.position))


def on_reply_cancelled(conversation: Conversation, _state: object, _event: ReplyCancelled) -> Effects:
    """Cancels the rest of an interrupted reply. It also applies while the user speaks."""
    conversation.resume_pending = None
    return ()
