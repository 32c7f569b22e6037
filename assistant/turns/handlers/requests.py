"""Handles requests for replies that no user speech caused, in every state. No I/O, no clock."""

from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects
from assistant.turns.events import ReplyRequested
from assistant.turns.handlers.commit import request_answer
from assistant.turns.handlers.interruption import move_turn_to_overlap, stop_reply
from assistant.turns.handlers.replies import answer_history, start_literal_reply, start_ring
from assistant.turns.state.announcements import Announcement
from assistant.turns.state.overlap import Overlap
from assistant.turns.state.states import AwaitingTranscript, Idle, Replying, State, UserSpeaking


def on_reply_requested(conversation: Conversation, state: State, event: ReplyRequested) -> Effects:
    """Starts the reply now, later or never; see `ReplyRequested`."""
    if event.origin == "announcement" and not event.at_once:
        conversation.announcements.add_announcement(event.text, conversation.settings.replies)
        return ()  # starts with the next frame in which nobody speaks
    if event.origin == "ring":
        begins = isinstance(state, Idle) and conversation.key_pressed_at is None
        return start_ring(conversation, event.position) if begins else ()
    if event.origin == "greeting":
        greets = isinstance(state, Idle)
        return start_literal_reply(conversation, event.position, event.origin, event.text) if greets else ()
    if event.origin == "announcement":
        return _replace_current(conversation, state, event)
    conversation.resume_pending = None
    return _answer(conversation, state, event)


def _answer(conversation: Conversation, state: State, event: ReplyRequested) -> Effects:
    """Starts a reply after the current one, as the reply to the turn that has ended, or at once."""
    match state:
        case Replying(overlap=None) if event.after_current_reply:
            return answer_history(conversation, event.position, audible=True)
        case AwaitingTranscript() if event.origin == "requested":
            return () if conversation.queued.request_reply() else request_answer(conversation, state, event.position)
        case AwaitingTranscript() if event.origin == "repeated":
            return ()  # a reply is about to begin
        case UserSpeaking(turn=turn) if event.origin == "repeated" and turn.reply_due:
            return ()
        case _:
            return _replace_current(conversation, state, event)


def _replace_current(conversation: Conversation, state: State, event: ReplyRequested) -> Effects:
    """Ends what goes on and starts the reply. Speech that is a turn already becomes a turn after the reply."""
    ended: Effects = ()
    unheard: Announcement | None = None
    kept: Overlap | None = None
    if isinstance(state, Replying):
        unheard = None if state.words_heard else state.announcement
        kept = state.overlap if state.overlap is not None and state.overlap.is_deferred else None
        ended = stop_reply(conversation, state, event.position, "requested")
    elif isinstance(state, UserSpeaking | AwaitingTranscript):
        kept, ended = move_turn_to_overlap(state.turn, event.position)
    conversation.mark_processed(event.position)
    started = _start(conversation, event, unheard)
    if isinstance(conversation.state, Replying):
        conversation.state.overlap = kept
    return (*ended, *started)


def _start(conversation: Conversation, event: ReplyRequested, unheard: Announcement | None) -> Effects:
    match event.origin:
        case "requested" | "ring":
            return answer_history(conversation, event.position)
        case "announcement":
            new = Announcement(event.text, at_once=True)
            return start_literal_reply(conversation, event.position, "announcement", event.text, announcement=new)
        case origin:
            if unheard is not None:
                conversation.announcements.remove(unheard)  # the repetition says it
            return start_literal_reply(conversation, event.position, origin, event.text, announcement=unheard)
