"""Sends the events of responses: at most one in progress, and earlier ones that may still be playing."""

from typing import assert_never

from assistant.events import (
    ChunkSpoken,
    FunctionCalled,
    MarkupWritten,
    McpApprovalRequested,
    McpCallEnded,
    McpCallStarted,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    WordsTimed,
)
from assistant.history.items import ItemId
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.wire.incoming.commands import Command, CreateResponse, ResponseOptions
from web.wire.items.item_order import ItemOrder
from web.wire.outgoing.outbox import Outbox
from web.wire.outgoing.response import Response
from web.wire.outgoing.server_events import ResponseHead, word_object
from web.wire.values.reply_ids import response_id
from web.wire.values.session_config import SessionConfig

MAX_RESPONSES = 8
"""Responses remembered. One that is over may still be cut while it plays: the last, or the one before it."""

MAX_ASKED = 8
"""Requested responses that have not begun; the session refuses all but one."""

ResponseEvent = (
    ChunkSpoken | FunctionCalled | McpApprovalRequested | McpCallStarted | McpCallEnded | ReplySent | ReplyStopped
)


class Responses:
    """Sends the events of the assistant's responses."""

    def __init__(self, conversation_id: str, outbox: Outbox, order: ItemOrder, id_tag: str = "") -> None:
        self._id_tag = id_tag
        self._conversation_id = conversation_id
        self._outbox = outbox
        self._order = order
        self._responses: dict[ReplyId, Response] = {}
        self._requests: list[CreateResponse] = []

    # ---- requests ----

    def ask(self, command: CreateResponse) -> None:
        """Remembers a requested response: the next response that begins on request is it."""
        self._requests = [*self._requests, command][-MAX_ASKED:]

    def cancel(self) -> None:
        """Drops requests that have not begun."""
        self._requests.clear()

    def refuse(self, command: Command) -> None:
        """Drops this request, because it was refused."""
        self._requests = [asked for asked in self._requests if asked is not command]

    # ---- session events ----

    def begin(self, begun: ReplyStarted, config: SessionConfig, *, requested: bool) -> None:
        """Begins a response; `requested`: whether it may be the one that the client requested.

        A response that has begun already is sent again with the same options.
        """
        known = self._responses.pop(begun.reply_id, None)
        if known is not None:
            again = Response(known.head, begun.item, self._outbox, self._order, deleted=known.deleted)
            self._responses[begun.reply_id] = again
            return
        if (stale := self._under_way()) is not None:
            # The session never has two in progress. If it had, the client must not wait forever for the first.
            self._responses[stale].cut(ReplyStopped(stale, heard="", heard_ms=0.0, reason="stuck"))
        options = self._requests.pop(0).options if self._requests and requested else ResponseOptions()
        name = response_id(begun.reply_id, self._id_tag)
        head = head_of(name, self._conversation_id, options, config, spoken=begun.spoken)
        self._responses[begun.reply_id] = Response(head, begun.item, self._outbox, self._order)
        while len(self._responses) > MAX_RESPONSES:
            del self._responses[next(iter(self._responses))]

    def on_event(self, event: ResponseEvent) -> None:
        """Sends an event of a reply; ignored if the client does not expect more of it."""
        response = None if event.reply_id is None else self._responses.get(event.reply_id)
        if response is None:
            return
        match event:
            case ReplyStopped():
                response.cut(event)
            case _ if not response.open:
                return
            case ChunkSpoken(_, text):
                response.say(text)
            case FunctionCalled():
                response.call(event.item)
            case McpApprovalRequested():
                response.request_approval(event.item)
            case McpCallStarted():
                response.mcp_call_started(event.item)
            case McpCallEnded():
                response.mcp_call_ended(event.item)
            case ReplySent():
                response.end(event)
            case _:
                assert_never(event)

    def send_audio(self, reply_id: ReplyId, pcm: Pcm) -> bool:
        """Sends the next audio of a reply: int16 (n,) at 24 kHz.

        Returns False if it is not in progress or text only.
        """
        response = self._responses.get(reply_id)
        return response is not None and response.open and response.send_audio(pcm)

    def add_extension(self, event: WordsTimed | MarkupWritten) -> None:
        """Sends the times of a reply's words, or a piece of its text as the language model wrote it."""
        response = self._responses.get(event.reply_id)
        if response is None:
            return
        where = {"response_id": response_id(event.reply_id, self._id_tag), "item_id": response.item_id}
        if isinstance(event, MarkupWritten):
            if response.open:
                self._outbox.add_event("repartee.markup", {**where, "delta": event.text})
        elif event.words:
            self._outbox.add_event("repartee.words", {**where, "words": [word_object(word) for word in event.words]})

    def of_item(self, item_id: ItemId) -> Response | None:
        """Returns the recent response with this message, unless the message was deleted."""
        known = (response for response in self._responses.values() if response.in_conversation)
        return next((response for response in known if response.item_id == item_id), None)

    def _under_way(self) -> ReplyId | None:
        return next((reply_id for reply_id, response in self._responses.items() if response.open), None)


def head_of(
    name: str, conversation_id: str | None, options: ResponseOptions, config: SessionConfig, *, spoken: bool
) -> ResponseHead:
    """Returns the properties of the response of this id with these options in a session with these settings."""
    return ResponseHead(
        response_id=name,
        conversation_id=conversation_id,
        spoken=spoken,
        voice=config.voice,
        output_format=options.output_format or config.output_format,
        max_output_tokens=options.max_output_tokens or config.max_output_tokens,
        metadata=options.metadata,
    )
