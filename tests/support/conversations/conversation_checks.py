"""Checks of simulated conversations that hold whatever the user and the engines do (DESIGN: rules that always hold)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from support.conversations.simulation import WORD_MS, SimulationResult

from assistant.events import (
    ChunkSpoken,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    SpeechDiscarded,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
)
from assistant.history.items import AssistantMessage, ItemId, UserMessage
from assistant.turns.events import ReplyId

BLOCK_MS = 25.0
"""Audio that the loudspeaker has accepted is still played after the reply is stopped."""

AUDIBLE = 300
"""Absolute sample value above which a block counts as sound."""


@dataclass(slots=True)
class ObservedReply:
    """One reply, from its session events."""

    reply_id: ReplyId
    item: ItemId
    begun_ms: int
    origin: str
    ended_ms: float = float("inf")
    retracted: bool = False
    text: str = ""


def observed_replies(result: SimulationResult) -> list[ObservedReply]:
    """Returns the replies of a conversation, in order."""
    found: dict[ReplyId, ObservedReply] = {}
    origin = ""
    for at_ms, event in result.events:
        match event:
            case UserTurnCommitted():
                origin = event.origin
            case ReplyStarted():
                assert event.reply_id not in found, "begun twice"
                found[event.reply_id] = ObservedReply(event.reply_id, event.item, at_ms, origin)
            case ChunkSpoken():
                found[event.reply_id].text += (" " if found[event.reply_id].text else "") + event.text
            case ReplyStopped():
                found[event.reply_id].ended_ms = at_ms
                found[event.reply_id].retracted = event.reason == "went on"
            case TurnFinished():
                for course in found.values():
                    if course.reply_id.turn == event.record.turn:
                        course.ended_ms = min(course.ended_ms, at_ms)
    return list(found.values())


def check_unconfirmed_reply_is_silent(
    result: SimulationResult,
    replies: list[ObservedReply],
    card_stalls_ms: Sequence[tuple[float, float]] = (),
    most_at_once: int = 1,
) -> None:
    """Checks that all sound belongs to a committed reply.

    Args:
        result: The conversation.
        replies: Its replies.
        card_stalls_ms: Spans in which the sound card took no audio. It plays the end of a fade when it goes on.
        most_at_once: Replies that may be open at once. A client may request one while another still plays.
    """
    spans = []
    for one in replies:
        until_ms = [until_ms for since_ms, until_ms in card_stalls_ms if since_ms <= one.ended_ms + BLOCK_MS]
        stalled = [end_ms for end_ms in until_ms if end_ms > one.ended_ms]
        spans.append((one.begun_ms - 1, max([one.ended_ms, *stalled]) + BLOCK_MS))
    for at_ms, pcm in result.sound:
        if np.abs(pcm).max() > AUDIBLE:
            assert any(since_ms <= at_ms + BLOCK_MS and at_ms <= until_ms for since_ms, until_ms in spans), (
                f"sound at {at_ms:.0f} ms that belongs to no reply"
            )
    for one, later in zip(replies, replies[most_at_once:], strict=False):
        assert one.ended_ms <= later.begun_ms, "too many replies at once"


def check_history_was_heard(result: SimulationResult, replies: list[ObservedReply]) -> None:
    """Checks that the history holds the replies as they were heard, and of a retracted one at most its tool calls."""
    messages = [item for item in result.history.items if isinstance(item, AssistantMessage)]
    withdrawn = {item.id for item in messages if item.withdrawn}
    texts = {item.id: item.text for item in messages}
    called = {item.id for item in messages if item.tool_uses and not item.text}
    heard_items = {one.item for one in replies if not one.retracted}
    restored = restored_items(result, replies)
    assert set(texts) - called - withdrawn <= heard_items | restored, "an inaudible reply is in the history"
    assert heard_items <= set(texts), "a reply that was heard is not in the history"
    for one in replies:
        heard = texts.get(one.item, "")
        assert one.text.startswith(heard), "the history holds other words than the reply"
        assert len(heard.split()) * WORD_MS <= one.ended_ms - one.begun_ms + BLOCK_MS, "remembered before it was heard"


def restored_items(result: SimulationResult, replies: list[ObservedReply]) -> set[str]:
    """Returns the items of withdrawn replies that were put back, because they had been heard and no words followed."""
    texts = {item.id: item.text for item in result.history.items if isinstance(item, AssistantMessage)}
    kept = {item.id for item in result.history.items if isinstance(item, AssistantMessage) and not item.withdrawn}
    return {one.item for one in replies if one.retracted and one.item in kept and texts[one.item]}


def check_turn_ends_once(result: SimulationResult, replies: list[ObservedReply], *, ended_early: bool = False) -> None:
    """Checks that every turn that began has one record with one outcome, and one reply if it was answered.

    `ended_early`: the conversation ended in the middle of a turn. Such a turn is overheard, if the wake phrase was not
    heard in it, or has failed before its reply.
    """
    finished = [record.turn for record in result.records]
    assert len(finished) == len(set(finished)), "a turn was finished twice"
    overheard = {
        event.turn for _, event in result.events if isinstance(event, SpeechDiscarded) and event.reason == "overheard"
    }
    begun = {
        event.turn
        for _, event in result.events
        if isinstance(event, SpeechStarted | UserTurnCommitted)
        or (isinstance(event, SpeechDiscarded) and event.item is not None)  # the client ended a turn without speech
    }
    lost = begun ^ (set(finished) | overheard)
    assert len(lost) <= ended_early, f"turns were lost: {lost}"
    assert lost <= {max(begun, default=0)}, f"turns were lost: {lost}"
    restored = restored_items(result, replies)
    for record in result.records:
        given = [one for one in replies if not one.retracted or one.item in restored]
        answers = [one for one in given if one.reply_id.turn == record.turn]
        wanted = record.outcome in {"answered", "interrupted", "failed", "stuck"}
        if ended_early and not answers and (record.error or "").startswith("the conversation ended"):
            continue
        assert len(answers) == wanted, f"{record.outcome}, with {len(answers)} answers"


def check_no_word_is_remembered_twice(result: SimulationResult) -> None:
    """Checks that no word that the user said is in the history twice. The words of a conversation are unique."""
    spoken = [item for item in result.history.items if isinstance(item, UserMessage) and item.spoken]
    words = Counter(word for item in spoken for word in item.text.split() if word.startswith("said"))
    assert [word for word, count in words.items() if count > 1] == [], "words came in twice"


def check_stopped_replies_have_ended(events: Sequence[SessionEvent], before: int) -> None:
    """Checks that a client has stopped all replies.

    Args:
        events: The events until the client's command was carried out.
        before: Number of events before it. A reply that was requested before may begin by it.
    """
    begun = {event.reply_id for event in events[:before] if isinstance(event, ReplyStarted)}
    stopped = {event.reply_id for event in events if isinstance(event, ReplyStopped)}
    finished = {event.record.turn for event in events if isinstance(event, TurnFinished)}
    still_open = {reply_id for reply_id in begun - stopped if reply_id.turn not in finished}
    assert not still_open, f"{still_open} went on although the client stopped them"
