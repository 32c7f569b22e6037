"""File format of a stored conversation: one JSON line for each history item. Converts items to bytes and back; no I/O.

    {"conversation":1,"began_at":"2026-01-31T09:30:00+00:00","continues":""}
    {"said":"what time is it","id":"item_1","spoken":true}
    {"answered":"Half past ten.","id":"item_2"}
    {"answered":"Here is the code.","id":"item_3","markup":"```python\\nprint(1)\\n```"}

The first key names the kind of the line. Fields with their default value are left out. Only whole lines are appended. A
line that a crash left incomplete, or that cannot be parsed, is skipped and counted; other lines do not depend on it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    PlainItem,
    SystemMessage,
    ToolUse,
    UserMessage,
)
from assistant.history.mcp_items import McpItem
from llm.chat import FunctionCall

VERSION = 1
"""Version of the format, written to the first line."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The first line.

    Attributes:
        began_at: Wall clock, ISO 8601.
        continues: Name of the conversation that this one resumes; "" for none.
    """

    began_at: str
    continues: str = ""


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """The content of a file.

    Attributes:
        heading: None if the first line cannot be parsed.
        items: Items, in order.
        lost: Number of lines that could not be parsed.
    """

    heading: Heading | None
    items: tuple[Item, ...]
    lost: int


class NewerVersionError(ValueError):
    """The file was written by a later version of this program, which may use another format."""


def heading_line(heading: Heading) -> bytes:
    """Returns the first line, with its line end."""
    return _line({"conversation": VERSION, "began_at": heading.began_at, "continues": heading.continues})


def item_lines(items: Iterable[Item]) -> bytes:
    """Returns a line for each item, with its line end. Items of a client's MCP servers are not stored."""
    return b"".join(_line(_item_to_json(item)) for item in items if not isinstance(item, McpItem))


def parse_conversation(content: bytes) -> StoredConversation:
    """Parses the content of a file, even if its end is missing. Raises NewerVersionError."""
    heading: Heading | None = None
    items: list[Item] = []
    lost = 0
    *lines, torn = content.split(b"\n")
    for number, line in enumerate(lines):
        try:
            fields = json.loads(line.decode("utf-8", "surrogatepass"))
            if number == 0 and isinstance(fields, dict) and "conversation" in fields:
                heading = _heading(fields)
            else:
                items.append(_item(fields))
        except NewerVersionError:
            raise
        except (ValueError, KeyError, TypeError, RecursionError):
            lost += 1
    return StoredConversation(heading, tuple(items), lost + bool(torn))


def parse_items(lines: Iterable[bytes]) -> tuple[tuple[Item, ...], int]:
    """Parses lines of items. Returns the items, and the number of lines that could not be parsed."""
    items: list[Item] = []
    lost = 0
    for line in lines:
        try:
            items.append(_item(json.loads(line.decode("utf-8", "surrogatepass"))))
        except (ValueError, KeyError, TypeError, RecursionError):
            lost += 1
    return tuple(items), lost


def _line(fields: Mapping[str, object]) -> bytes:
    # A recognizer or LLM may return half a surrogate pair; it is stored as it is.
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _item_to_json(item: PlainItem) -> dict[str, object]:
    match item:
        case UserMessage():
            known: dict[str, object] = {"continues": True} if item.continues else {}
            if item.speaker:
                known["speaker"] = item.speaker
            if item.language:
                known["language"] = item.language
            return {"said": item.text, "id": item.id, "spoken": item.spoken, **known}
        case AssistantMessage():
            non_default: dict[str, object] = {} if item.complete else {"complete": False}
            if item.tool_uses:
                non_default["used"] = [_tool_use_to_json(used) for used in item.tool_uses]
            if item.markup:
                non_default["markup"] = item.markup
            if item.unheard:
                non_default["unheard"] = item.unheard
            if item.withdrawn:
                non_default["withdrawn"] = True
            return {"answered": item.text, "id": item.id, **non_default}
        case SystemMessage():
            return {"instructed": item.text, "id": item.id}
        case FunctionCallItem():
            return {"called": item.name, "id": item.id, "call_id": item.call_id, "arguments": item.arguments}
        case FunctionOutput():
            return {"returned": item.output, "id": item.id, "call_id": item.call_id}


def _tool_use_to_json(used: ToolUse) -> dict[str, object]:
    call = used.call
    return {
        "called": call.name,
        "call_id": call.call_id,
        "arguments": call.arguments,
        "output": used.output,
        "at": used.at,
    }


def _heading(fields: Mapping[str, object]) -> Heading:
    version = fields["conversation"]
    if not isinstance(version, int):
        raise TypeError("a version is a number")
    if version > VERSION:
        raise NewerVersionError(f"file version {version}; this program supports {VERSION}")
    return Heading(_text(fields, "began_at"), _text(fields, "continues"))


def _item(fields: object) -> Item:
    """Parses an item. Raises KeyError, TypeError or ValueError."""
    if not isinstance(fields, dict):
        raise TypeError("an item is an object")
    kind, item = next(iter(fields), ""), ItemId(_text(fields, "id"))
    match kind:
        case "said":
            continues = _flag(fields, "continues", default=False)
            speaker = _text(fields, "speaker") if "speaker" in fields else ""
            language = _text(fields, "language") if "language" in fields else ""
            spoken = _flag(fields, "spoken")
            return UserMessage(item, _text(fields, kind), spoken, continues, speaker=speaker, language=language)
        case "answered":
            used = fields.get("used", [])
            if not isinstance(used, list):
                raise TypeError("what was used is a list")
            complete = _flag(fields, "complete", default=True)
            markup = _text(fields, "markup") if "markup" in fields else ""
            unheard = _text(fields, "unheard") if "unheard" in fields else ""
            withdrawn = _flag(fields, "withdrawn", default=False)
            tool_uses = tuple(map(_tool_use, used))
            return AssistantMessage(item, _text(fields, kind), complete, tool_uses, markup, unheard, withdrawn)
        case "instructed":
            return SystemMessage(item, _text(fields, kind))
        case "called":
            return FunctionCallItem(item, _text(fields, "call_id"), _text(fields, kind), _text(fields, "arguments"))
        case "returned":
            return FunctionOutput(item, _text(fields, "call_id"), _text(fields, kind))
        case _:
            raise ValueError("a line of another kind")


def _tool_use(fields: object) -> ToolUse:
    if not isinstance(fields, dict):
        raise TypeError("what was used is an object")
    call = FunctionCall(_text(fields, "call_id"), _text(fields, "called"), _text(fields, "arguments"))
    position = fields["at"]
    if not isinstance(position, int):
        raise TypeError("a place is a number")
    return ToolUse(call, _text(fields, "output"), position)


def _text(fields: Mapping[str, object], key: str) -> str:
    value = fields[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} is a text")
    return value


def _flag(fields: Mapping[str, object], key: str, *, default: bool | None = None) -> bool:
    value = fields[key] if default is None else fields.get(key, default)
    if not isinstance(value, bool):
        raise TypeError(f"{key} is true or false")
    return value
