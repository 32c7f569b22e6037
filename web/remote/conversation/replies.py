"""Tracks a server's replies by its events. Sans-I/O; a part of `web.remote.conversation.conversation`."""

import binascii
import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from assistant.events import ChunkSpoken, MarkupWritten, ReplySent, ReplyStarted, ReplyStopped, WordsTimed
from assistant.history.cut_to_heard import TimedWord
from assistant.history.items import ItemId
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.remote.conversation.effects import Effect, Sound, SoundEnded, StopPlayback
from web.wire.values.reply_ids import reply_of

Event = Mapping[str, Any]
Why = Literal["voice", "went on", "requested", "stuck", "client", "unheard"]

MAX_REPLIES = 8
"""Replies remembered. One that is over may still be cut while it plays: the last, or the one before it."""


@dataclass(slots=True)
class _Reply:
    id: ReplyId
    item: str = ""
    text: str = ""
    placed: list[TimedWord] = field(default_factory=list)
    over: bool = False  # complete or cut
    cut: bool = False
    why: Why = "voice"
    longest_ms: float = math.inf  # upper limit of what was heard, even if the server assumes more
    lost: bool = False  # the connection broke within it, and the new one has not mentioned it yet
    known_chars: int = 0  # a new connection sends it again from its start: this much is known already
    known_words: int = 0
    markup_chars: int = 0
    known_markup: int = 0

    def heard(self, until_ms: float) -> str:
        """Returns its words up to this time."""
        return " ".join(word.text for word in self.placed if word.end_ms <= until_ms)


@dataclass(slots=True)
class Replies:
    """Tracks the replies of one conversation.

    Attributes:
        under_way: The reply in progress.
        newest_turn: Highest turn number of the replies so far.
    """

    under_way: ReplyId | None = None
    newest_turn: int = 0
    _replies: dict[ReplyId, _Reply] = field(default_factory=dict)
    _silenced: ReplyId | None = None
    _announcements: deque[ReplyId] = field(default_factory=lambda: deque(maxlen=MAX_REPLIES))

    def forget(self) -> None:
        """Forgets all replies, because another conversation uses the same reply ids."""
        self._replies.clear()
        self._announcements.clear()
        self.under_way = self._silenced = None
        self.newest_turn = 0

    def connection_lost(self) -> None:
        """Marks replies in progress as lost: the next connection sends them again, or they are over by then."""
        for reply in self._replies.values():
            reply.lost = not reply.over

    def silence(self, reply_id: ReplyId | None) -> None:
        """Notes that the user stopped a reply: its further audio is not played."""
        self._silenced = reply_id
        if reply_id in self._replies:
            self._replies[reply_id].why = "client"

    @property
    def unwanted(self) -> ReplyId | None:
        """The reply that the user has stopped and whose cut the server has not confirmed yet."""
        stopped = None if self._silenced is None else self._replies.get(self._silenced)
        return None if stopped is None or stopped.cut else stopped.id

    def whose(self, item: str) -> ReplyId | None:
        """Returns the reply with this message item."""
        return next((reply.id for reply in self._replies.values() if item and reply.item == item), None)

    def announced(self, event: Event) -> None:
        """Handles repartee.announcement: the response that follows says an announcement of another program."""
        if (name := reply_of(event["response_id"])) is not None:
            self._announcements.append(name)

    def is_announcement(self, reply_id: ReplyId | None) -> bool:
        """Returns whether a reply says an announcement of another program."""
        return reply_id in self._announcements

    def text_of(self, reply_id: ReplyId | None) -> str:
        """Returns the text of a reply so far; "" if it is not known."""
        known = None if reply_id is None else self._replies.get(reply_id)
        return "" if known is None else known.text

    def unheard(self, reply_id: ReplyId, from_ms: float) -> str | None:
        """Notes that there was no loudspeaker from this position on.

        Returns the id of the reply's message, which must be truncated; None if it has none.
        """
        known = self._replies.get(reply_id)
        if known is None or not known.item or known.cut:
            return None
        known.why, known.longest_ms = "unheard", from_ms
        return known.item

    # ---- server events ----

    def created(self, event: Event) -> Iterator[Effect]:
        """Handles response.created, for a new reply or one that is sent again."""
        response = event["response"]
        name = reply_of(response["id"])
        if name is None:
            raise ValueError("the response id does not name a reply")
        self.under_way, self.newest_turn = name, max(self.newest_turn, name.turn)
        known = self._replies.get(name)
        if known is not None and not known.cut:
            known.lost, known.known_chars, known.known_words = False, len(known.text), len(known.placed)
            known.known_markup = known.markup_chars
            return
        self._replies.pop(name, None)
        self._replies[name] = _Reply(name, why="client" if name == self._silenced else "voice")
        while len(self._replies) > MAX_REPLIES:
            del self._replies[next(iter(self._replies))]
        yield ReplyStarted(name, ItemId(""), spoken=True)

    def item_added(self, event: Event) -> None:
        """Handles response.output_item.added: notes the id of the reply's message."""
        reply = self._of(event)
        if reply is not None and event["item"].get("type") == "message":
            reply.item = str(event["item"]["id"])

    def add_words(self, event: Event) -> Iterator[Effect]:
        """Handles a piece of a reply's words."""
        reply = self._of(event)
        if reply is None:
            return
        piece = str(event["delta"])[reply.known_chars :]
        reply.known_chars = 0
        reply.text += piece
        if piece.strip():
            yield ChunkSpoken(reply.id, piece.strip())

    def written(self, event: Event) -> Iterator[Effect]:
        """Handles a piece of a reply's text as the language model wrote it."""
        reply = self._of(event)
        if reply is None:
            return
        piece = str(event["delta"])
        new = piece[reply.known_markup :]
        reply.known_markup = max(0, reply.known_markup - len(piece))
        reply.markup_chars += len(new)
        if new:
            yield MarkupWritten(reply.id, new)

    def placed(self, event: Event) -> Iterator[Effect]:
        """Handles the times of a reply's words."""
        reply = self._of(event)
        if reply is None:
            return
        words = tuple(_placed(word) for word in event["words"])[reply.known_words :]
        reply.known_words = 0
        reply.placed += words
        if words:
            yield WordsTimed(reply.id, words)

    def sounds(self, event: Event) -> Iterator[Effect]:
        """Handles a piece of a reply's audio."""
        reply = self._of(event)
        if reply is not None and reply.id != self._silenced:
            yield Sound(reply.id, pcm_of(event["delta"]))

    def sound_ended(self, event: Event) -> Iterator[Effect]:
        """Handles the end of a reply's audio."""
        reply = self._of(event)
        if reply is not None:
            yield SoundEnded(reply.id)

    def done(self, event: Event) -> Iterator[Effect]:
        """Handles response.done."""
        response = event["response"]
        reply = self._replies.get(reply_of(response["id"]) or ReplyId(0, 0))
        if reply is None:
            return
        self.under_way = None if self.under_way == reply.id else self.under_way
        yield SoundEnded(reply.id)
        details = response.get("status_details") or {}
        failure = details.get("error") or {}
        stuck = failure.get("code") == "reply_stuck"
        if response.get("status") == "cancelled" or stuck:
            asked = reply.why == "client" or details.get("reason") == "client_cancelled"
            reply.why = "stuck" if stuck else "client" if asked else "voice"
            yield StopPlayback()
            if not reply.item:
                yield from self._cut(reply, 0.0)  # otherwise the position of the cut follows
        elif not reply.over:
            reply.over = True
            usage = response.get("usage") or {}
            incomplete = str(details.get("reason")) if response.get("status") == "incomplete" else None
            error = str(failure.get("message") or "the reply failed") if response.get("status") == "failed" else None
            tokens = usage.get("input_tokens"), usage.get("output_tokens")
            yield ReplySent(reply.id, reply.text.strip(), error, incomplete, *tokens)

    def truncated(self, event: Event) -> Iterator[Effect]:
        """Handles conversation.item.truncated: the reply was cut at this position."""
        reply = self._replies.get(self.whose(event["item_id"]) or ReplyId(0, 0))
        if reply is not None and not reply.cut:
            yield StopPlayback()
            yield from self._cut(reply, float(event["audio_end_ms"]))

    def deleted(self, event: Event) -> Iterator[Effect]:
        """Handles conversation.item.deleted: the reply was retracted."""
        reply = self._replies.get(self.whose(event["item_id"]) or ReplyId(0, 0))
        if reply is not None and not reply.cut:
            reply.why = "went on"
            yield StopPlayback()
            yield from self._cut(reply, 0.0)

    def cut_unsent(self) -> Iterator[Effect]:
        """Cuts lost replies that the new connection has not sent again: they ended in the meantime."""
        for reply in [reply for reply in self._replies.values() if reply.lost]:
            self.under_way = None if self.under_way == reply.id else self.under_way
            yield StopPlayback()
            yield from self._cut(reply, 0.0)

    def _cut(self, reply: _Reply, end_ms: float) -> Iterator[Effect]:
        reply.cut = reply.over = True
        reply.lost = False
        end_ms = min(end_ms, reply.longest_ms)
        yield ReplyStopped(reply.id, reply.heard(end_ms), end_ms, reply.why)

    def _of(self, event: Event) -> _Reply | None:
        return self._replies.get(reply_of(event["response_id"]) or ReplyId(0, 0))


def _placed(word: Mapping[str, Any]) -> TimedWord:
    return TimedWord(str(word["text"]), float(word["start_ms"]), float(word["end_ms"]), bool(word["estimated"]))


def pcm_of(base64: str) -> Pcm:
    """Returns audio of the wire as int16 samples (n,). Raises ValueError for invalid base64."""
    raw = binascii.a2b_base64(base64)
    return np.frombuffer(raw, np.dtype("<i2"), len(raw) // 2).astype(np.int16, copy=False)
