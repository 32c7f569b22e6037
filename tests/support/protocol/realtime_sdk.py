"""Lists every event, field and HTTP endpoint of the Realtime API, as the installed openai SDK has them."""

import inspect
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import openai
from openai.types.audio import speech_create_params, transcription_create_params, translation_create_params
from openai.types.realtime import (
    call_accept_params,
    call_create_params,
    call_refer_params,
    call_reject_params,
    client_secret_create_params,
    conversation_item,
    realtime_client_event,
    realtime_connect_params,
    realtime_response,
    realtime_server_event,
    realtime_session_create_response,
    realtime_transcription_session_create_response,
)
from openai.types.realtime.realtime_response_create_params import RealtimeResponseCreateParams
from openai.types.realtime.response_item_reference import ResponseItemReference
from pydantic import BaseModel

_SENT_ELSEWHERE = {
    "RealtimeResponse": "response",
    "RealtimeSessionCreateRequest": "session",
    "RealtimeTranscriptionSessionCreateRequest": "session",
    "RealtimeSessionCreateResponse": "session",
    "RealtimeTranscriptionSessionCreateResponse": "session",
}
"""Objects within server events that have a section of their own; so do items."""

ITEMS = frozenset(model.__name__ for model in get_args(get_args(conversation_item.ConversationItem)[0]))


@dataclass(frozen=True, slots=True)
class Step:
    """One field on the way to a field.

    Attributes:
        name: Its name on the wire.
        in_list: Whether its value is a list, of which an entry is meant.
        model: Type of the object in it; None at the end of the way.
    """

    name: str
    in_list: bool = False
    model: type[BaseModel] | None = None


@dataclass(frozen=True, slots=True)
class SdkField:
    """A field that the SDK knows.

    Attributes:
        path: Its name in the table: "session(realtime).tools(mcp)[].server_url".
        steps: The way to it.
        model: The type that has it.
        annotation: Its type.
    """

    path: str
    steps: tuple[Step, ...]
    model: type[BaseModel]
    annotation: Any

    @property
    def wire_path(self) -> str:
        """The path as an error names it: "session.tools[0].server_url"."""
        return ".".join(f"{step.name}[0]" if step.in_list else step.name for step in self.steps).removesuffix("[0]")


def variants(annotation: Any) -> list[Any]:
    """Returns the types that a value may have, without None."""
    if get_origin(annotation) is Annotated:
        return variants(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        return [one for part in get_args(annotation) for one in variants(part)]
    return [] if annotation is type(None) else [annotation]


def is_model(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, BaseModel)


def literals(annotation: Any) -> list[Any]:
    """Returns the keywords that a value may have."""
    return [word for one in variants(annotation) if get_origin(one) is Literal for word in get_args(one)]


def label(model: type[BaseModel]) -> str:
    """Returns what tells an object from others in its place: its type, and a message's role."""
    words = [
        literals(model.model_fields[name].annotation)[0]
        for name in ("type", "role")
        if name in model.model_fields and len(literals(model.model_fields[name].annotation)) == 1
    ]
    return " ".join(words)


def fields_of(
    model: type[BaseModel], path: str = "", steps: tuple[Step, ...] = (), seen: tuple[Any, ...] = ()
) -> Iterator[SdkField]:
    """Yields the fields of an object and of those within it, in the SDK's order."""
    for name, info in model.model_fields.items():
        wire_name = info.alias or name
        at = f"{path}.{wire_name}" if path else wire_name
        yield SdkField(at, (*steps, Step(wire_name)), model, info.annotation)
        for inner, in_list in inner_models(info.annotation):
            if inner in seen or not _is_followed(model, wire_name, inner):
                continue
            several = len(inner_models(info.annotation)) > 1 or label(inner)
            mark = f"({label(inner) or _spelled(inner)})" if several else ""
            step = Step(wire_name, in_list, inner)
            yield from fields_of(inner, f"{at}{mark}{'[]' * in_list}", (*steps, step), (*seen, inner))


def inner_models(annotation: Any) -> list[tuple[type[BaseModel], bool]]:
    """Returns the objects that a field may hold, and whether in a list."""
    found = []
    for one in variants(annotation):
        if is_model(one):
            found.append((one, False))
        elif get_origin(one) is list:
            found += [(inner, True) for inner in variants(get_args(one)[0]) if is_model(inner)]
    return list(dict.fromkeys(found))


def _is_followed(model: type[BaseModel], name: str, inner: type[BaseModel]) -> bool:
    """Returns whether the fields of an inner object have rows here. Items of a response's input are one row each."""
    return not (
        name in {"item", "output"} and inner.__name__ in ITEMS and not model.__name__.endswith("CreateEvent")
    ) and (inner.__name__ not in _SENT_ELSEWHERE or model.__name__ == "SessionUpdateEvent")


def _spelled(model: type[BaseModel]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", model.__name__).lower()


def event_type(model: type[BaseModel]) -> str:
    return str(literals(model.model_fields["type"].annotation)[0])


def seen_fields(model: type[BaseModel], value: object) -> set[str]:
    """Returns the fields of an object that an example has, other than null."""
    return {field.path for field in fields_of(model) if any(_at(field, value))}


def _at(field: SdkField, value: object) -> Iterator[bool]:
    values = [value]
    for step in field.steps[:-1]:
        inner = [one.get(step.name) for one in values if isinstance(one, dict)]
        flat = [entry for one in inner for entry in (one if isinstance(one, list) else [one])]
        values = [one for one in flat if isinstance(one, dict) and step.model is not None and _is_a(step.model, one)]
    for one in values:
        yield isinstance(one, dict) and one.get(field.steps[-1].name) is not None


def _is_a(model: type[BaseModel], value: Mapping[str, object]) -> bool:
    for name in ("type", "role"):
        words = literals(model.model_fields[name].annotation) if name in model.model_fields else []
        if words and value.get(name) not in words:
            return False
    return True


def client_fields() -> Mapping[str, list[SdkField]]:
    """Returns the fields of each client event."""
    found: dict[str, list[SdkField]] = {}
    for model in variants(realtime_client_event.RealtimeClientEvent):
        rows: list[SdkField] = []
        for field in fields_of(model):
            inside = [step for step in field.steps[:-1] if step.name == "input" and step.in_list]
            if (
                inside and inside[0].model is not None
            ):  # the fields of items have their rows in conversation.item.create
                kind = label(inside[0].model)
                prefix = f"response.input({kind})[]"
                if prefix not in [row.path for row in rows]:
                    at = next(i for i, step in enumerate(field.steps) if step.name == "input")
                    rows.append(SdkField(prefix, (*field.steps[: at + 1],), inside[0].model, None))
            else:
                rows += _by_content_type(field)
        if event_type(model) == "response.create":
            steps = (
                Step("response", model=RealtimeResponseCreateParams),
                Step("input", in_list=True, model=ResponseItemReference),
            )
            rows.append(SdkField("response.input(item_reference)[]", steps, ResponseItemReference, None))
        found[event_type(model)] = rows
    return found


def _by_content_type(field: SdkField) -> list[SdkField]:
    """Returns one row for each type of a message's content, else the field itself."""
    words = literals(field.annotation)
    if field.path.endswith(".content[].type") and len(words) > 1:
        return [SdkField(f"{field.path}={word}", field.steps, field.model, Literal[word]) for word in words]
    return [field]


def server_models() -> Mapping[str, type[BaseModel]]:
    """Returns the types of the server events, and of the objects in them that have rows of their own."""
    found = {event_type(model): model for model in variants(realtime_server_event.RealtimeServerEvent)}
    found["session(realtime)"] = realtime_session_create_response.RealtimeSessionCreateResponse
    found["session(transcription)"] = (
        realtime_transcription_session_create_response.RealtimeTranscriptionSessionCreateResponse
    )
    found["response"] = realtime_response.RealtimeResponse
    return found | {f"item({label(item)})": item for item in variants(conversation_item.ConversationItem)}


def server_fields() -> Mapping[str, list[str]]:
    """Returns the fields of each server event, and of the objects in them.

    A client sets the fields within a session, so only its own fields are listed.
    """
    return {
        name: [field.path for field in fields_of(model) if len(field.steps) == 1 or not name.startswith("session(")]
        for name, model in server_models().items()
    }


def objects_in(value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the sessions, responses and items within an event, by their names in `server_models`."""
    if isinstance(value, list):
        for inner in value:
            yield from objects_in(inner)
    if not isinstance(value, dict):
        return
    kind, role = value.get("type"), value.get("role")
    if value.get("object") == "realtime.response":
        yield "response", value
    elif value.get("object") == "realtime.item":
        yield f"item({kind} {role})" if role else f"item({kind})", value
    elif str(value.get("object", "")).endswith("session"):
        yield f"session({kind})", value
    for inner in value.values():
        yield from objects_in(inner)


_PARAMS: Mapping[str, tuple[Any, ...]] = {
    "POST /realtime/client_secrets": (client_secret_create_params.ClientSecretCreateParams,),
    "POST /realtime/calls": (call_create_params.CallCreateParams,),
    "POST /realtime/calls/{call_id}/accept": (call_accept_params.CallAcceptParams,),
    "POST /realtime/calls/{call_id}/refer": (call_refer_params.CallReferParams,),
    "POST /realtime/calls/{call_id}/reject": (call_reject_params.CallRejectParams,),
    "POST /audio/speech": (speech_create_params.SpeechCreateParams,),
    "POST /audio/transcriptions": get_args(transcription_create_params.TranscriptionCreateParams),
    "POST /audio/translations": (translation_create_params.TranslationCreateParams,),
}
"""The parameters of each request that has any."""

_REQUEST = re.compile(r'self\._(post|get|delete|get_api_list)\(\s*(?:path_template\()?"([^"]+)"')
_METHODS = {"get_api_list": "GET"}


def http_requests() -> Mapping[str, list[str]]:
    """Returns the fields of each HTTP request of `client.realtime`, `client.audio` and `client.models`."""
    folder = Path(openai.__file__).parent / "resources"
    found: dict[str, list[str]] = {}
    for file in sorted([*(folder / "realtime").rglob("*.py"), *(folder / "audio").rglob("*.py"), folder / "models.py"]):
        for method, path in _REQUEST.findall(file.read_text(encoding="utf-8")):
            name = f"{_METHODS.get(method, method.upper())} {path}"
            names = [field for params in _PARAMS.get(name, ()) for field in get_type_hints(params)]
            found[name] = list(dict.fromkeys(names))
    found["WebSocket /realtime"] = list(get_type_hints(realtime_connect_params.RealtimeConnectParams))
    return found
