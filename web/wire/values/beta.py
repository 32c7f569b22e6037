"""The beta of the Realtime protocol: renames its fields and events to the present ones, and back. Pure.

Its fields and events are understood from every client. Its names are sent to clients that use the beta: they say so
when they connect (header `OpenAI-Beta`), or have a secret of the beta's endpoints. Inside of the server everything has
its present name.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

JsonObject = dict[str, Any]

_PLACES: Mapping[str, tuple[str, ...]] = {
    "modalities": ("output_modalities",),
    "voice": ("audio", "output", "voice"),
    "speed": ("audio", "output", "speed"),
    "output_audio_format": ("audio", "output", "format"),
    "input_audio_format": ("audio", "input", "format"),
    "input_audio_transcription": ("audio", "input", "transcription"),
    "input_audio_noise_reduction": ("audio", "input", "noise_reduction"),
    "turn_detection": ("audio", "input", "turn_detection"),
    "max_response_output_tokens": ("max_output_tokens",),
}
"""Fields of sessions and responses, and their present places."""

_FORMATS = {"pcm16": "audio/pcm", "g711_ulaw": "audio/pcmu", "g711_alaw": "audio/pcma"}

_PARTS = {"text": "output_text", "audio": "output_audio"}
"""Content parts of the assistant's messages."""

_EVENTS: Mapping[str, str | None] = {
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "response.output_text.delta": "response.text.delta",
    "response.output_text.done": "response.text.done",
    "conversation.item.added": "conversation.item.created",
    "conversation.item.done": None,
}
"""Server events and their names in the beta; None: it has no such event."""

_NAMED = re.compile(r'\{"type":"([a-z_.]+)"')
_TEMPERATURE = 0.8
"""The beta's default, which its session object must have."""


def is_asked_for(headers: Mapping[str, str], subprotocols: list[str]) -> bool:
    """Returns whether a client that connects asks for the beta, in a header or, from a browser, a subprotocol."""
    named = headers.get("openai-beta", "").replace(" ", "").split(",")
    return "realtime=v1" in named or "openai-beta.realtime-v1" in subprotocols


# ---- from the client ----


def client_event(event: JsonObject) -> JsonObject:
    """Returns a client's event with present names, except for the fields of its session or response."""
    match event:
        case {"type": "transcription_session.update", "session": dict() as session}:
            return {**event, "type": "session.update", "session": {"type": "transcription", **session}}
        case {"type": "conversation.item.create", "item": item}:
            return {**event, "item": _present_item(item)}
        case {"type": "response.create", "response": {"input": list() as items} as response}:
            return {**event, "response": {**response, "input": [_present_item(item) for item in items]}}
    return event


def present(settings: object) -> Any:
    """Returns the fields of a session or response at their present places. Fields without another place stay."""
    if not isinstance(settings, dict):
        return settings
    fields: JsonObject = {}
    for name, value in sorted(settings.items(), key=lambda field: field[0] in _PLACES):  # "audio" comes first
        place = _PLACES.get(name, (name,))
        inner = fields
        for step in place[:-1]:
            known = inner.get(step)
            inner[step] = inner = dict(known) if isinstance(known, dict) else {}
        inner[place[-1]] = _present_value(name, value)
    return fields


def _present_value(name: str, value: object) -> object:
    match name, value:
        case "input_audio_format" | "output_audio_format", str():
            return {"type": _FORMATS.get(value, value)}
        case "modalities", list():
            return ["audio"] if "audio" in value else value
    return value


def _present_item(item: object) -> object:
    if not isinstance(item, dict) or item.get("role") != "assistant" or not isinstance(item.get("content"), list):
        return item
    return {**item, "content": [_renamed(part, _PARTS) for part in item["content"]]}


def _renamed(part: object, names: Mapping[str, str]) -> object:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return part
    return {**part, "type": names.get(part["type"], part["type"])}


# ---- to the client ----


def server_event(text: str) -> str | None:
    """Returns a server event as the beta has it; None: the beta has no such event."""
    match = _NAMED.match(text)
    kind = match[1] if match else ""
    name = _EVENTS.get(kind, kind)
    if name is None:
        return None
    if kind.startswith("response.") and kind.endswith(".delta"):  # audio, fifty times a second
        return f'{{"type":"{name}"{text[match.end() :]}' if match else text
    event = orjson.loads(text)
    event["type"] = name
    if isinstance(session := event.get("session"), dict):
        if session.get("type") == "transcription":
            event["type"] = f"transcription_{name}"
        event["session"] = beta_session(session)
    if isinstance(response := event.get("response"), dict):
        event["response"] = _beta_response(response)
    if isinstance(item := event.get("item"), dict):
        event["item"] = _beta_item(item)
    return orjson.dumps(event).decode()


def beta_session(session: JsonObject) -> JsonObject:
    """Returns a session object with the beta's fields."""
    told = _flat(session)
    told.pop("type", None)
    if session.get("type") == "transcription":
        told["modalities"] = ["text"]
        return told
    return {**told, "temperature": _TEMPERATURE}


def _beta_response(response: JsonObject) -> JsonObject:
    told = _flat(response)
    told["max_output_tokens"] = told.pop("max_response_output_tokens", None)
    return {**told, "temperature": _TEMPERATURE, "output": [_beta_item(item) for item in response["output"]]}


def _flat(settings: JsonObject) -> JsonObject:
    told = {name: value for name, value in settings.items() if name not in {"audio", "output_modalities"}}
    told.pop("max_output_tokens", None)
    for name, place in _PLACES.items():
        value: Any = settings
        for step in place:
            if not isinstance(value, dict) or step not in value:
                break
            value = value[step]
        else:
            told[name] = _beta_value(name, value)
    return told


def _beta_value(name: str, value: Any) -> Any:
    match name:
        case "input_audio_format" | "output_audio_format":
            return next(beta for beta, kind in _FORMATS.items() if kind == value["type"])
        case "modalities":
            return ["audio", "text"] if "audio" in value else value
    return value


def _beta_item(item: JsonObject) -> JsonObject:
    if "content" not in item:
        return item
    names = {present_name: name for name, present_name in _PARTS.items()}
    return {**item, "content": [_renamed(part, names) for part in item["content"]]}
