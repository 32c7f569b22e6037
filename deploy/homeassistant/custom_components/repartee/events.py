"""Events of the Realtime protocol, as `connection` sends and receives them."""

import json
from collections.abc import Mapping
from typing import Any

import aiohttp


def update(session: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the event that changes settings."""
    return {"type": "session.update", "session": {"type": "realtime", **session}}


def item(role: str, text: str, item_id: str = "") -> dict[str, Any]:
    """Returns the event that adds a message. `item_id`: "" for an id of the server."""
    kind = "output_text" if role == "assistant" else "input_text"
    message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"type": "conversation.item.create", "item": {**message, "id": item_id} if item_id else message}


def event_of(message: aiohttp.WSMessage) -> dict[str, Any] | None:
    """Returns a server event; None if it is none."""
    try:
        event = json.loads(message.data)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("type"), str) else None
