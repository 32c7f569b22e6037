"""Tests of the replies of a session as its client knows them."""

from assistant.events import ChunkSpoken, ReplySent, ReplyStarted, ReplyStopped
from assistant.history.items import ItemId
from assistant.turns.events import ReplyId
from web.session.client_replies import ClientReplies
from web.wire.incoming.commands import CancelResponse, ClearOutput

A, B = ReplyId(1, 1), ReplyId(2, 1)
A_STARTED, B_STARTED = ReplyStarted(A, ItemId("a"), spoken=True), ReplyStarted(B, ItemId("b"), spoken=True)
A_SENT = ReplySent(A, "One. Two.", None, None, None, None)
CANCEL, CLEAR = CancelResponse("e1", None), ClearOutput("e2")


def test_playing_reply_is_sent_again_after_a_later_one_was_retracted() -> None:
    replies = ClientReplies()
    for event in (A_STARTED, ChunkSpoken(A, "One."), B_STARTED, ChunkSpoken(A, "Two."), A_SENT):
        replies.on_event(event)
    assert replies.generated == B
    replies.on_event(ReplyStopped(B, "", 0.0, "went on"))
    assert replies.generated is None
    assert replies.current is not None
    assert list(replies.current.again()) == [A_STARTED, ChunkSpoken(A, "One. Two.")]


def test_command_about_a_stopped_reply_is_late_once_for_each_kind() -> None:
    replies = ClientReplies()
    replies.on_event(A_STARTED)
    assert replies.late_for(CANCEL, A) is None
    replies.on_event(ReplyStopped(A, "", 0.0, "voice"))
    assert [replies.late_for(CANCEL, A), replies.late_for(CANCEL, A), replies.late_for(CLEAR, None)] == [A, None, A]


def test_command_that_names_no_reply_is_not_late_once_another_reply_has_begun() -> None:
    replies = ClientReplies()
    replies.on_event(A_STARTED)
    replies.on_event(ReplyStopped(A, "", 0.0, "voice"))
    replies.on_event(B_STARTED)
    assert [replies.late_for(CLEAR, None), replies.late_for(CANCEL, A)] == [None, A]
