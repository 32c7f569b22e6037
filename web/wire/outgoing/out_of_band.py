"""Sends the events of responses outside of the conversation, several at once."""

from typing import assert_never

from assistant.events import ChunkSpoken, FunctionCalled, ReplySent, ReplyStopped
from assistant.history.items import ItemId
from assistant.pipeline.out_of_band import OutOfBandEvent
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.wire.incoming.commands import ResponseOptions
from web.wire.items.item_order import ItemOrder
from web.wire.outgoing.outbox import Outbox
from web.wire.outgoing.response import Response
from web.wire.outgoing.responses import head_of
from web.wire.values.reply_ids import response_id
from web.wire.values.session_config import SessionConfig


class OutOfBandResponses:
    """Sends the events of the client's out-of-band responses. Their items are no items of the conversation."""

    def __init__(self, outbox: Outbox, order: ItemOrder, id_tag: str = "") -> None:
        self._id_tag = id_tag
        self._outbox = outbox
        self._order = order
        self._responses: dict[ReplyId, Response] = {}

    def begin(self, reply_id: ReplyId, item: ItemId, options: ResponseOptions, config: SessionConfig) -> None:
        """Begins a response. `item`: id of its message."""
        spoken = (options.modality or config.modality) == "audio"
        head = head_of(response_id(reply_id, self._id_tag), None, options, config, spoken=spoken)
        self._responses[reply_id] = Response(head, item, self._outbox, self._order)

    def on_event(self, event: OutOfBandEvent) -> None:
        """Sends an event of a response; ignored if the response is over."""
        response = self._responses.get(event.reply_id)
        if response is None:
            return
        match event:
            case ChunkSpoken(_, text):
                response.say(text)
            case FunctionCalled():
                response.call(event.item)
            case ReplySent() | ReplyStopped():
                response.end(event)
                del self._responses[event.reply_id]
            case _:
                assert_never(event)

    def send_audio(self, reply_id: ReplyId, pcm: Pcm) -> None:
        """Sends the next audio of a response: int16 (n,) at 24 kHz."""
        if (response := self._responses.get(reply_id)) is not None:
            response.send_audio(pcm)

    def forget(self) -> None:
        """Forgets all responses without events, because the connection was lost."""
        self._responses.clear()
