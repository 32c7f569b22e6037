"""Sends the events of one response, from response.created to response.done and for changes after that."""

import json
from dataclasses import replace

from assistant.events import ReplySent, ReplyStopped
from assistant.history.items import FunctionCallItem, ItemId
from assistant.history.mcp_items import CANCELLED, McpApprovalRequest, McpCall, McpFailure
from audio.units import Pcm
from web.wire.items.item_order import ItemOrder
from web.wire.items.items import JsonObject, answer_part, call_object, message_object
from web.wire.items.mcp_items import mcp_item_object
from web.wire.items.sound_encoding import ReplyAudioEncoder
from web.wire.outgoing.outbox import Outbox
from web.wire.outgoing.server_events import BEGUN, EventType, ResponseHead, ending_of, response_object


class Response:
    """Sends the events of a reply. Its message is opened with its first words or audio.

    A reply that only calls a function has no message: the client's history would otherwise have an empty message that
    the server's history does not have.

    Attributes:
        head: The properties that do not change.
        item_id: Id of its message, if there is one.
        open: Whether response.done is still to be sent.
        began: Whether its message was opened.
        deleted: Whether its message was deleted from the conversation, or never belongs to it.
        cut_by_client: Whether the client itself truncates the message, so that no event reports it.
    """

    def __init__(
        self, head: ResponseHead, item_id: ItemId, outbox: Outbox, order: ItemOrder, *, deleted: bool = False
    ) -> None:
        """Sends response.created.

        `deleted`: the response is sent again after a reconnect, and its message was deleted meanwhile.
        """
        self.head = head
        self.item_id = item_id
        self.open = True
        self.began = False
        self.deleted = deleted or head.conversation_id is None
        self.cut_by_client = False
        self._outbox = outbox
        self._order = order
        self._sound = ReplyAudioEncoder(head.output_format)
        self._text = ""
        self._status = "in_progress"
        self._calls: list[tuple[int, JsonObject]] = []
        self._mcp_calls: dict[ItemId, tuple[McpCall, JsonObject, ItemId | None]] = {}  # those in progress
        self._index = 0  # index of the message among the response's items
        self._delta_start = ""
        self._cut = False
        self._message_done = False
        if not self.deleted:
            order.reserve(item_id)  # the server's history has it from now on
        outbox.add_event("response.created", {"response": response_object(head, BEGUN, [])})

    # ---- while it is in progress ----

    def say(self, text: str) -> None:
        """Sends a piece of its words."""
        if not text or self._message_done:
            return
        self._begin_message()
        self._text += text
        kind: EventType = "response.output_audio_transcript.delta" if self.head.spoken else "response.output_text.delta"
        self._outbox.add_event(kind, {**self._part_fields(), "delta": text})

    def send_audio(self, pcm: Pcm) -> bool:
        """Sends a piece of its audio: int16 (n,) at 24 kHz. Returns False if the response is text only."""
        if not self.head.spoken:
            return False
        if len(pcm) and not self._message_done:
            self._begin_message()
            self._send_sound(self._sound.encode_chunk(pcm))
        return True

    def call(self, item: FunctionCallItem) -> None:
        """Sends a complete function call, after the words before it."""
        if self.began and not self._message_done:
            self._send_sound(self._sound.flush())
            self._end_message("completed")
        index = len(self._calls) + self.began
        fields = {**self._response_fields(), "output_index": index}
        about = {**fields, "item_id": item.id, "call_id": item.call_id}
        begun = call_object(item.id, item.call_id, item.name, "", "in_progress")
        done = call_object(item.id, item.call_id, item.name, item.arguments)
        in_conversation = self.head.conversation_id is not None
        previous = self._order.insert(item.id) if in_conversation else None
        self._outbox.add_event("response.output_item.added", {**fields, "item": begun})
        if in_conversation:
            self._outbox.add_event("conversation.item.added", {"previous_item_id": previous, "item": begun})
        self._outbox.add_event("response.function_call_arguments.delta", {**about, "delta": item.arguments})
        self._outbox.add_event(
            "response.function_call_arguments.done", {**about, "name": item.name, "arguments": item.arguments}
        )
        self._outbox.add_event("response.output_item.done", {**fields, "item": done})
        if in_conversation:
            self._outbox.add_event("conversation.item.done", {"previous_item_id": previous, "item": done})
        self._calls.append((index, done))

    def request_approval(self, item: McpApprovalRequest) -> None:
        """Sends a request for approval of a tool call."""
        fields, previous = self._begin_call(item.id, mcp_item_object(item))
        self._end_call(item.id, fields, previous, mcp_item_object(item))

    def mcp_call_started(self, item: McpCall) -> None:
        """Sends a tool call that the server makes. The words may go on after it."""
        fields, previous = self._begin_call(item.id, mcp_item_object(replace(item, arguments="")))
        about = {**fields, "item_id": item.id}
        self._outbox.add_event("response.mcp_call_arguments.delta", {**about, "delta": item.arguments})
        self._outbox.add_event("response.mcp_call_arguments.done", {**about, "arguments": item.arguments})
        where = {"item_id": item.id, "output_index": fields["output_index"]}
        self._outbox.add_event("response.mcp_call.in_progress", where)
        self._mcp_calls[item.id] = item, fields, previous

    def mcp_call_ended(self, item: McpCall) -> None:
        """Sends the end of a tool call."""
        if item.id not in self._mcp_calls:
            return
        _, fields, previous = self._mcp_calls.pop(item.id)
        ended: EventType = "response.mcp_call.completed" if item.failure is None else "response.mcp_call.failed"
        self._outbox.add_event(ended, {"item_id": item.id, "output_index": fields["output_index"]})
        self._end_call(item.id, fields, previous, mcp_item_object(item))

    def _begin_call(self, item_id: ItemId, begun: JsonObject) -> tuple[JsonObject, ItemId | None]:
        index = len(self._calls) + self.began
        fields = {**self._response_fields(), "output_index": index}
        previous = self._order.insert(item_id)
        self._outbox.add_event("response.output_item.added", {**fields, "item": begun})
        self._outbox.add_event("conversation.item.added", {"previous_item_id": previous, "item": begun})
        self._calls.append((index, begun))
        return fields, previous

    def _end_call(self, item_id: ItemId, fields: JsonObject, previous: ItemId | None, done: JsonObject) -> None:
        self._outbox.add_event("response.output_item.done", {**fields, "item": done})
        self._outbox.add_event("conversation.item.done", {"previous_item_id": previous, "item": done})
        self._calls = [(index, done if known["id"] == item_id else known) for index, known in self._calls]

    def end(self, event: ReplySent | ReplyStopped) -> None:
        """Ends the response: it is complete or was cut."""
        ending = ending_of(event)
        for item, _, _ in list(self._mcp_calls.values()):
            self.mcp_call_ended(replace(item, failure=McpFailure("protocol_error", CANCELLED)))
        self.open = False
        if self.began and not self._message_done:
            if isinstance(event, ReplySent):
                self._send_sound(self._sound.flush())
            self._end_message("completed" if ending.status == "completed" else "incomplete")
        elif not self.began:
            self._order.remove(self.item_id)
        output = [*self._calls, (self._index, self.message())] if self.began else self._calls
        items = [item for _, item in sorted(output, key=lambda entry: entry[0])]
        self._outbox.add_event("response.done", {"response": response_object(self.head, ending, items)})

    # ---- afterwards ----

    def cut(self, event: ReplyStopped) -> None:
        """Cuts the response, before or after its end: truncates or deletes its message."""
        if self.open:
            self.end(event)
        if self._cut or self.deleted or not self.began:
            return
        self._cut = True
        if event.reason == "went on" and not event.heard:
            self.delete()
            self._order.remove(self.item_id)
            self._outbox.add_event("conversation.item.deleted", {"item_id": self.item_id})
        elif self.head.spoken:
            self._text = event.heard
            self._status = "incomplete"
            if self.cut_by_client:
                return
            end_ms = max(0, round(event.heard_ms))
            self._outbox.add_event(
                "conversation.item.truncated", {"item_id": self.item_id, "content_index": 0, "audio_end_ms": end_ms}
            )

    def delete(self) -> None:
        """Marks its message as deleted from the conversation."""
        self.deleted = self.began

    @property
    def in_conversation(self) -> bool:
        """Whether the client knows its message as an item of the conversation."""
        return self.began and not self.deleted

    def message(self) -> JsonObject:
        """Builds the current state of its message."""
        part = answer_part(self._text, spoken=self.head.spoken)
        return message_object(self.item_id, "assistant", part, self._status)

    # ---- message events ----

    def _begin_message(self) -> None:
        if self.began:
            return
        self.began = True
        self._index = len(self._calls)
        self._delta_start = _start_of_delta(self._part_fields())
        item = message_object(self.item_id, "assistant", None, "in_progress")
        self._outbox.add_event(
            "response.output_item.added", {**self._response_fields(), "output_index": self._index, "item": item}
        )
        if not self.deleted:
            previous = self._order.insert(self.item_id, written=not self.head.spoken)
            self._outbox.add_event("conversation.item.added", {"previous_item_id": previous, "item": item})
        self._outbox.add_event("response.content_part.added", {**self._part_fields(), "part": self._part("")})

    def _end_message(self, status: str) -> None:
        self._status, self._message_done = status, True
        fields = self._part_fields()
        if self.head.spoken:
            self._outbox.add_event("response.output_audio.done", fields)
            self._outbox.add_event("response.output_audio_transcript.done", {**fields, "transcript": self._text})
        else:
            self._outbox.add_event("response.output_text.done", {**fields, "text": self._text})
        self._outbox.add_event("response.content_part.done", {**fields, "part": self._part(self._text)})
        item = self.message()
        self._outbox.add_event(
            "response.output_item.done", {**self._response_fields(), "output_index": self._index, "item": item}
        )
        if not self.deleted:
            before = self._order.before(self.item_id)
            self._outbox.add_event("conversation.item.done", {"previous_item_id": before, "item": item})

    def _send_sound(self, deltas: list[str]) -> None:
        for delta in deltas:
            self._outbox.add_written(f'{self._delta_start}"{delta}"')

    def _part(self, text: str) -> JsonObject:
        return {"type": "audio", "transcript": text} if self.head.spoken else {"type": "text", "text": text}

    def _response_fields(self) -> JsonObject:
        return {"response_id": self.head.response_id}

    def _part_fields(self) -> JsonObject:
        return {**self._response_fields(), "item_id": self.item_id, "output_index": self._index, "content_index": 0}


def _start_of_delta(fields: JsonObject) -> str:
    """Builds the part of an audio delta before its audio, which is the same for a whole message."""
    return json.dumps(
        {"type": "response.output_audio.delta", **fields, "delta": None}, separators=(",", ":")
    ).removesuffix("null}")
