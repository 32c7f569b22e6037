"""Starts replies that no user turn caused: announcements, literal texts, and replies to the history.

No I/O, no clock.
"""

from typing import Literal

from assistant.turns.conversation import Conversation
from assistant.turns.effects import CommitTurn, Effects, IdleTimedOut, PrepareReply, ResumeReply
from assistant.turns.events import Origin, ReplyId
from assistant.turns.state.announcements import Announcement
from assistant.turns.state.states import Replying
from audio.units import Samples, samples_of_ms, samples_of_s


def start_pending_reply(conversation: Conversation, position: Samples) -> Effects:
    """Starts what is due when nobody speaks: a pending reply, the rest of a reply, or an announcement.

    While the push-to-talk key is down nothing starts, unless it has been down for longer than a turn may last.
    """
    pressed_at = conversation.key_pressed_at
    if pressed_at is not None and position - pressed_at < samples_of_s(conversation.settings.max_turn_s):
        return ()
    if conversation.answer_after_reply:
        return answer_history(conversation, position)
    announcement = conversation.announcements.next()
    if announcement is None:
        return _request_resume(conversation, position)
    return start_literal_reply(conversation, position, "announcement", announcement.text, announcement=announcement)


def _request_resume(conversation: Conversation, position: Samples) -> Effects:
    """Requests the rest of a falsely interrupted reply, once it is due."""
    pending = conversation.resume_pending
    if pending is None or position < pending[1]:
        return ()
    conversation.resume_pending = None
    return (ResumeReply(pending[0]),)


def start_literal_reply(
    conversation: Conversation,
    position: Samples,
    origin: Literal["greeting", "announcement", "repeated", "resumed"],
    text: str,
    *,
    announcement: Announcement | None = None,
) -> Effects:
    """Starts a reply that says this text literally."""
    reply = _start_reply(conversation, position, origin)
    reply.announcement = announcement
    prepared = PrepareReply(reply.reply_id, text, text_is_reply=True)
    return (prepared, CommitTurn(reply.reply_id, "", "", None, origin=origin))


def start_ring(conversation: Conversation, position: Samples) -> Effects:
    """Starts a reply that rings."""
    reply = _start_reply(conversation, position, "ring")
    prepared = PrepareReply(reply.reply_id, "", text_is_reply=True)
    return (prepared, CommitTurn(reply.reply_id, "", "", None, origin="ring"))


def answer_turn_of_reply(conversation: Conversation, position: Samples) -> Effects:
    """Answers a turn that was committed unanswered during the reply, which has ended."""
    return answer_history(conversation, position) if conversation.answer_after_reply else ()


def answer_history(conversation: Conversation, position: Samples, *, audible: bool = False) -> Effects:
    """Starts a reply to the history as it is.

    Args:
        conversation: The conversation.
        position: The current position.
        audible: The previous reply is still playing, so the user hears the new one as its continuation.
    """
    conversation.answer_after_reply = False
    reply = _start_reply(conversation, position, "requested")
    reply.audible_at = position if audible else None
    return (PrepareReply(reply.reply_id, ""), CommitTurn(reply.reply_id, "", "", None, origin="requested"))


def prompt_silent_user(conversation: Conversation, position: Samples) -> Effects:
    """Lets the assistant speak again if the user has said nothing for the idle timeout after a heard reply."""
    timeout_ms, heard_at = conversation.settings.idle_timeout_ms, conversation.reply_heard_at
    if timeout_ms is None or heard_at is None or position - heard_at < samples_of_ms(timeout_ms):
        return ()
    conversation.reply_heard_at = None
    answered = conversation.settings.answers_at_end
    timed_out = IdleTimedOut(heard_at, position, answered)
    return (timed_out, *answer_history(conversation, position)) if answered else (timed_out,)


def _start_reply(conversation: Conversation, position: Samples, origin: Origin) -> Replying:
    reply_id = ReplyId(conversation.next_turn_number(), 1)
    conversation.state = state = Replying(reply_id, origin, (), low_confidence=False, progress_at=position)
    return state
