"""Follows one reply from its preparation to its end. No I/O, no clock.

    HELD ──commit──▶ SPEAKING ──all sent──▶ SENT ──next reply begins──▶ TRAILING

    ends from HELD:      DROPPED
    ends from SPEAKING:  RETRACTED, INTERRUPTED, ABANDONED
    ends from SENT:      RETRACTED, INTERRUPTED, ABANDONED, FINISHED
    ends from TRAILING:  INTERRUPTED, ABANDONED, FINISHED

`TRANSITIONS` has all of it. `ReplyManager` passes each event through the table and then does what the new state needs,
in the method of its name. Turn taking decides: its effects `CommitTurn`, `DropAttempt`, `RetractReply` and
`InterruptReply` are inputs here. It does not know trailing replies: what interrupts a reply also stops those before it,
as `TrailingReplyStopped`.

Turn taking knows the reply earlier, as an attempt whose transcript is still awaited:
`assistant/turns/state/attempt.py`. While it speaks, turn taking may duck it or hold its sound; this does not
change its state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from assistant.turns.effects import CommitTurn, DropAttempt, InterruptReply, RetractReply, StopReason
from assistant.turns.events import ReplyId


class ReplyState(Enum):
    """The state of a reply.

    - HELD: prepared, it waits for the commit of its turn. Nothing of it is heard, nothing is in the history.
    - SPEAKING: committed; what is made of it is played, and more is being made.
    - SENT: all of it was handed to the speaker, which may still play it.
    - TRAILING: it plays to its end while another reply is prepared. The history shows all of it unless it is stopped.
    - DROPPED: it ended before a commit.
    - RETRACTED: it ended before a whole word was heard, or just after, because the user went on. Its turn continues.
    - INTERRUPTED: it was stopped while it played.
    - FINISHED: it was played to its end.
    - ABANDONED: the conversation ended while it played.
    """

    HELD = auto()
    SPEAKING = auto()
    SENT = auto()
    TRAILING = auto()
    DROPPED = auto()
    RETRACTED = auto()
    INTERRUPTED = auto()
    FINISHED = auto()
    ABANDONED = auto()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens to the reply."""
        return self not in TRANSITIONS


@dataclass(frozen=True, slots=True)
class AllSent:
    """All of the reply was handed to the speaker."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class NextReplyBegan:
    """The next reply is being prepared. This one is played to its end."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class TrailingReplyStopped:
    """A trailing reply was stopped, without an effect of turn taking for it."""

    reply_id: ReplyId
    reason: StopReason


@dataclass(frozen=True, slots=True)
class PlayedOut:
    """The speaker has played the reply to its end, or there was nothing to play."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class ConversationOver:
    """The conversation is over.

    Attributes:
        reply_id: The reply.
        failure: Why it ended early; None if it did not.
        user_left: The user has left, so a reply that is not finished is no problem to report.
    """

    reply_id: ReplyId
    failure: str | None = None
    user_left: bool = False


LifeEvent = (
    CommitTurn
    | DropAttempt
    | RetractReply
    | InterruptReply
    | AllSent
    | NextReplyBegan
    | TrailingReplyStopped
    | PlayedOut
    | ConversationOver
)

TRANSITIONS: Mapping[ReplyState, Mapping[type[LifeEvent], ReplyState]] = {
    ReplyState.HELD: {
        CommitTurn: ReplyState.SPEAKING,
        DropAttempt: ReplyState.DROPPED,
        ConversationOver: ReplyState.DROPPED,
    },
    ReplyState.SPEAKING: {
        AllSent: ReplyState.SENT,
        RetractReply: ReplyState.RETRACTED,
        InterruptReply: ReplyState.INTERRUPTED,
        ConversationOver: ReplyState.ABANDONED,
    },
    ReplyState.SENT: {
        NextReplyBegan: ReplyState.TRAILING,
        PlayedOut: ReplyState.FINISHED,
        RetractReply: ReplyState.RETRACTED,
        InterruptReply: ReplyState.INTERRUPTED,
        ConversationOver: ReplyState.ABANDONED,
    },
    ReplyState.TRAILING: {
        PlayedOut: ReplyState.FINISHED,
        TrailingReplyStopped: ReplyState.INTERRUPTED,
        ConversationOver: ReplyState.ABANDONED,
    },
}
"""The next state for each event in each state. Other events have no effect: they are late, or the reply has ended."""


def next_state(state: ReplyState, event: LifeEvent) -> ReplyState | None:
    """Returns the state that follows; None if the event has no effect."""
    return TRANSITIONS.get(state, {}).get(type(event))
