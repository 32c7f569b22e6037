"""Tests of the life of a reply: which state follows which event."""

import pytest

from assistant.pipeline.reply_life import (
    TRANSITIONS,
    AllSent,
    ConversationOver,
    LifeEvent,
    NextReplyBegan,
    PlayedOut,
    ReplyState,
    TrailingReplyStopped,
    next_state,
)
from assistant.turns.effects import CommitTurn, DropAttempt, InterruptReply, RetractReply
from assistant.turns.events import ReplyId

A = ReplyId(1, 1)
COMMIT = CommitTurn(A, "", "", None)


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ([COMMIT, AllSent(A), PlayedOut(A)], "FINISHED"),
        ([COMMIT, AllSent(A), NextReplyBegan(A), PlayedOut(A)], "FINISHED"),
        ([COMMIT, AllSent(A), NextReplyBegan(A), TrailingReplyStopped(A, "client")], "INTERRUPTED"),
        ([COMMIT, InterruptReply(A)], "INTERRUPTED"),
        ([COMMIT, AllSent(A), RetractReply(A)], "RETRACTED"),
        ([DropAttempt(A, "went on")], "DROPPED"),
        ([COMMIT, ConversationOver(A)], "ABANDONED"),
        ([ConversationOver(A)], "DROPPED"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(type(event).__name__ for event in value),
)
def test_reply_lives_from_its_preparation_to_its_end(events: list[LifeEvent], end: str) -> None:
    state = ReplyState.HELD
    for event in events:
        following = next_state(state, event)
        assert following is not None
        state = following
    assert state is ReplyState[end]
    assert state.has_ended


def test_only_a_reply_that_was_sent_completely_trails() -> None:
    assert [state.name for state in TRANSITIONS if next_state(state, NextReplyBegan(A))] == ["SENT"]


def test_late_events_have_no_effect() -> None:
    ended = [state for state in ReplyState if state.has_ended]
    assert len(ended) == 5
    assert not any(next_state(state, PlayedOut(A)) for state in (*ended, ReplyState.HELD, ReplyState.SPEAKING))
    assert next_state(ReplyState.TRAILING, RetractReply(A)) is None
