"""A client that checks the protocol: events must have the openai SDK's types and be consistent with earlier ones."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from openai._models import BaseModel
from openai.types.realtime import RealtimeServerEvent
from openai.types.realtime.realtime_session_create_response import RealtimeSessionCreateResponse
from openai.types.realtime.realtime_transcription_session_create_response import (
    RealtimeTranscriptionSessionCreateResponse,
)
from pydantic import TypeAdapter

from assistant.events import SessionEvent
from assistant.history.items import Item
from assistant.registry.engine_choice import EngineChoice
from assistant.turns.events import ReplyId
from web.wire.incoming.commands import Command, UpdateSession
from web.wire.outgoing.session_object import Service
from web.wire.realtime import Realtime
from web.wire.values.session_config import Extensions, SessionConfig

SERVICE = Service(
    version="0.1",
    model="skills",
    transcriber="faster-whisper",
    language="en",
    engines=(EngineChoice("vad", "silero", "20 ms frames", "as configured", fallback=False, load_ms=1.0),),
    resume_token="token",
)
REPLY = ReplyId(1, 1)

Event = dict[str, Any]

_ADAPTER: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)
_SESSION: TypeAdapter[Any] = TypeAdapter(RealtimeSessionCreateResponse)
_TRANSCRIPTION_SESSION: TypeAdapter[Any] = TypeAdapter(RealtimeTranscriptionSessionCreateResponse)
# Fields of our session that a session.update cannot set. The type of a created session has them.
_OF_A_CREATED_SESSION = {"id", "object", "expires_at", "repartee"}


class Client:
    """Holds the server end of the protocol, and the state that a stock client would have.

    Attributes:
        wire: The server end of the protocol.
        events: All received events, without their ids.
        items: Item ids of the conversation, in the order in which the client received them.
        commands: Commands that resulted from the client's messages.
    """

    def __init__(
        self, config: SessionConfig | None = None, *, history: Sequence[Item] = (), begin: bool = True
    ) -> None:
        config = config or SessionConfig(voice="amy", extensions=Extensions(events=True))
        self.wire = Realtime(config, SERVICE, session_id="s1")
        self.events: list[Event] = []
        self.items: list[str] = []
        self.commands: list[Command] = []
        self._ids: set[str] = set()
        self._items_open: set[str] = set()
        self._responses: dict[str, str] = {}
        self._in_conversation: set[str] = set()
        self._said: dict[tuple[str, str], str] = {}
        if begin:
            self.wire.begin(history)
            self.fetch()

    def comes_back(self) -> None:
        """Reconnects: on a new connection everything is sent again."""
        self.items, self._items_open, self._responses, self._said = [], set(), {}, {}
        self._in_conversation = set()

    def tell(self, *events: SessionEvent) -> list[Event]:
        """Passes session events to the protocol. Returns the resulting events."""
        for event in events:
            self.wire.on_event(event)
        return self.fetch()

    def send(self, event: Event | str) -> list[Event]:
        """Sends a client message; settings are in force at once. Returns the resulting events."""
        text = event if isinstance(event, str) else json.dumps(event)
        for command in self.wire.receive(text):
            self.commands.append(command)
            if isinstance(command, UpdateSession):
                self.wire.config = command.config
        return self.fetch()

    def do(self, act: Callable[[Realtime], object]) -> list[Event]:
        """Performs any other action on the protocol. Returns the resulting events."""
        act(self.wire)
        return self.fetch()

    def sound(self, samples: int, reply_id: ReplyId = REPLY) -> list[Event]:
        """Passes sound of a reply: a tone."""
        tone = np.sin(np.arange(samples) * (2 * np.pi * 500 / 24_000)) * 8000
        return self.do(lambda wire: wire.sound(reply_id, tone.astype(np.int16)))

    def fetch(self) -> list[Event]:
        """Returns the pending events, checked."""
        events = [json.loads(text) for text in self.wire.to_send()]
        for event in events:
            self._check(event)
        return events

    def _check(self, event: Event) -> None:
        event_id = event.pop("event_id")
        assert event_id not in self._ids
        self._ids.add(event_id)
        self.events.append(event)
        kind: str = event["type"]
        if not kind.startswith("repartee."):
            check_shape({**event, "event_id": event_id})
        check = getattr(self, "_" + kind.replace(".", "_"), None)
        if check is not None:
            check(event)
        if kind.endswith(".delta") and kind != "response.output_audio.delta":
            at = (event["item_id"], kind.removesuffix(".delta"))
            self._said[at] = self._said.get(at, "") + event["delta"]
        if kind.startswith("response.") and "response_id" in event:
            assert self._responses[event["response_id"]] == "in_progress", event

    def _conversation_item_added(self, event: Event) -> None:
        item_id, previous = event["item"]["id"], event["previous_item_id"]
        assert item_id not in self.items
        self.items.insert(0 if previous is None else self.items.index(previous) + 1, item_id)
        if event["item"]["type"] != "mcp_list_tools":  # a list belongs to no response
            self._items_open.add(item_id)

    def _conversation_item_done(self, event: Event) -> None:
        if event["item"]["type"] != "mcp_list_tools":
            self._items_open.remove(event["item"]["id"])

    def _conversation_item_deleted(self, event: Event) -> None:
        if event["item_id"] in self.items:
            self.items.remove(event["item_id"])
        self._items_open.discard(event["item_id"])

    def _response_created(self, event: Event) -> None:
        response = event["response"]
        assert response["status"] == "in_progress"
        if response["conversation_id"] is not None:
            assert "in_progress" not in (self._responses[one] for one in self._in_conversation)
            self._in_conversation.add(response["id"])
        self._responses[response["id"]] = "in_progress"

    def _response_done(self, event: Event) -> None:
        response = event["response"]
        assert self._responses[response["id"]] == "in_progress"
        assert response["status"] != "in_progress"
        assert response["id"] not in self._in_conversation or not self._items_open
        self._responses[response["id"]] = response["status"]

    def _response_output_audio_transcript_done(self, event: Event) -> None:
        self._done(event, "transcript")

    def _response_output_text_done(self, event: Event) -> None:
        self._done(event, "text")

    def _response_function_call_arguments_done(self, event: Event) -> None:
        self._done(event, "arguments")

    def _conversation_item_input_audio_transcription_completed(self, event: Event) -> None:
        self._done(event, "transcript")

    def _done(self, event: Event, field: str) -> None:
        kind = event["type"].removesuffix(".done").removesuffix(".completed")
        assert self._said.pop((event["item_id"], kind), "") == event[field]


def check_shape(event: Event) -> None:
    """Checks that the SDK has a type for this event, and that the event has no unknown fields."""
    parsed = _ADAPTER.validate_python(event)
    assert parsed.type == event["type"]
    session = event.get("session")
    if session is not None:
        transcribes = session["type"] == "transcription"
        created = (_TRANSCRIPTION_SESSION if transcribes else _SESSION).validate_python(session)
        # The SDK's type of a created transcription session has no semantic_vad; that of a request has it.
        assert set(unknown_fields(created)) - ({"eagerness"} if transcribes else set()) == {"repartee"}
    assert [name for name in unknown_fields(parsed) if name not in _OF_A_CREATED_SESSION] == []


def unknown_fields(value: object) -> list[str]:
    """Returns the names of fields, at any depth, that the SDK's types do not have."""
    if isinstance(value, list):
        return [name for inner in value for name in unknown_fields(inner)]
    if not isinstance(value, BaseModel):
        return []
    inner = [name for field in type(value).model_fields for name in unknown_fields(getattr(value, field))]
    return [*(value.model_extra or {}), *inner]


def line(event: Event) -> str:
    """Formats an event as one line, for golden lists."""
    parts = [event["type"]]
    for name, value in event.items():
        if name == "type":
            continue
        if name == "delta" and event["type"] == "response.output_audio.delta":
            parts.append(f"{len(base64.b64decode(value))} bytes")
        elif name == "item":
            parts.append(_item(value))
        elif name == "response":
            parts.append(_response(value))
        elif name in ("session", "trace"):
            parts.append(f"({len(value)} fields)")
        elif name in ("output_index", "content_index"):
            parts += [f"{name}={value}"] if value else []
        else:
            parts.append(f"{name}={json.dumps(value)}")
    return " ".join(parts)


def _item(item: Event) -> str:
    if item["type"] != "message":
        rest = " ".join(str(item[name]) for name in ("call_id", "name", "arguments", "output") if name in item)
        status = f" {item['status']}" if "status" in item else ""
        return f"[{item['id']} {item['type']}{status}: {rest}]"
    words = [
        f"{part['type']} {json.dumps(part.get('text', part.get('transcript')))}" for part in item["content"]
    ]  # fmt: skip
    return f"[{item['id']} {item['role']} {item['status']}: {', '.join(words)}]"


def _response(response: Event) -> str:
    details = response["status_details"] or {}
    why = details.get("reason") or details.get("error", {}).get("code") or ""
    output = " ".join(item["id"] for item in response["output"])
    usage = f" tokens={response['usage']['total_tokens']}" if response["usage"] else ""
    return f"<{response['id']} {response['status']}{' ' if why else ''}{why}: {output}>{usage}"
