"""Parses a client's MCP servers: entries of `tools` with type "mcp", and the choice of one of their tools. No I/O."""

import re
from dataclasses import dataclass, replace
from typing import Any

from assistant.config.mcp_hosts import McpHosts
from assistant.tools.client_mcp import ALL_TOOLS, NO_TOOLS, ClientServer, ToolFilter, function_name
from assistant.tools.client_mcp_thread import mcp_available
from llm.chat import Function
from web.wire.items.items import JsonObject
from web.wire.values.fields import (
    IDENTIFIER,
    Field,
    FieldError,
    Refusals,
    checked,
    dropped_value,
    flag,
    hint,
    listing,
    missing_here,
    not_supported,
    one_of,
    text,
    wrong_type,
    wrong_value,
)
from web.wire.values.session_config import SessionConfig

MAX_SERVERS = 8
"""Servers of one session."""

MAX_HEADERS = 32
MAX_HEADER_CHARS = 8192
MAX_TOOL_NAMES = 128

_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")

_OWN_HEADERS = frozenset(
    {
        "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect",
        "host", "keep-alive", "last-event-id", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
"""Headers that the connection sets itself, and all that begin with "mcp-"."""

_FILTER = {
    "tool_names": Field(listing(IDENTIFIER, maximum=MAX_TOOL_NAMES)),
    "read_only": Field(flag),
}


@dataclass(frozen=True, slots=True)
class DeclaredTools:
    """The entries of a `tools` field."""

    functions: tuple[Function, ...] = ()
    servers: tuple[ClientServer, ...] = ()


def server_of(value: object, path: str) -> ClientServer:
    """Parses an entry with type "mcp". An entry with a wrong field is refused as a whole. Raises FieldError."""
    fields = checked(value, path, _SERVER)
    allowed = fields.get("allowed_tools")
    always, never = fields.get("require_approval", (ALL_TOOLS, NO_TOOLS))
    headers = dict(fields.get("headers", {}))
    token = fields.get("authorization")
    if token is not None and any(name.lower() == "authorization" for name in headers):
        raise wrong_value(f"{path}.authorization", "is beside headers.Authorization", "one of them")
    if token is not None:
        headers["Authorization"] = token if " " in token.strip() else f"Bearer {token.strip()}"
    assert isinstance(value, dict)
    return ClientServer(
        fields["server_label"],
        fields.get("server_url", ""),
        tuple(sorted(headers.items())),
        fields.get("server_description", ""),
        ALL_TOOLS if allowed is None else allowed,
        always,
        never,
        shown_allowed=value.get("allowed_tools"),
        shown_approval=value.get("require_approval"),
    )


def add_server(value: object, path: str, servers: dict[str, ClientServer]) -> None:
    """Parses an entry with type "mcp" and adds it by its label. Raises FieldError."""
    server = server_of(value, path)
    if server.label in servers:
        raise wrong_value(f"{path}.server_label", "names a server twice", "each label once")
    servers[server.label] = replace(server, path=path)


def allowed_servers(
    servers: tuple[ClientServer, ...], config: SessionConfig, refusals: Refusals, *, in_response: bool = False
) -> tuple[ClientServer, ...]:
    """Returns the servers that the client may name. The others are added to the refusals.

    `in_response`: a server without an address is that of the session with the same label.
    """
    of_session = {server.label: server for server in config.mcp_servers}
    complete: list[ClientServer] = []
    for server in servers:
        known = of_session.get(server.label) if in_response and not server.url else server
        error = _refusal(server, known, config.mcp_hosts, full=len(complete) >= MAX_SERVERS)
        if error is not None:
            refusals.add_error(error)
        elif known is not None:
            complete.append(known)
    return tuple(complete)


def _refusal(declared: ClientServer, known: ClientServer | None, hosts: McpHosts, *, full: bool) -> FieldError | None:
    """Returns why a server is refused. `known`: the server with its address; `full`: there are enough servers."""
    if known is None or not known.url:
        where = f"{declared.path}.server_url"
        return FieldError("missing_required_parameter", f"{where} is missing", where)
    if refusal := hosts.refusal(known.url):
        return not_supported(f"{declared.path}.server_url", refusal)
    if not mcp_available():
        lacks = "this server lacks the Python package mcp; its operator installs the extra `mcp`"
        return not_supported(f"{declared.path}.type", lacks)
    return wrong_value(declared.path, "is one MCP server too many", f"at most {MAX_SERVERS}") if full else None


def chosen_tool(value: dict[str, Any], path: str) -> str:
    """Parses a choice of type "mcp"; returns the model's name of the tool. Raises FieldError."""
    fields = checked(value, path, _CHOSEN)
    if "name" not in fields:
        raise not_supported(f"{path}.name", "a choice of a server names one of its tools")
    return function_name(fields["server_label"], fields["name"])


def server_object(server: ClientServer) -> JsonObject:
    """Builds the entry of a session object, without secrets."""
    shown: JsonObject = {"type": "mcp", "server_label": server.label, "server_url": server.url}
    if server.description:
        shown["server_description"] = server.description
    if server.shown_allowed is not None:
        shown["allowed_tools"] = server.shown_allowed
    shown["require_approval"] = "always" if server.shown_approval is None else server.shown_approval
    return shown


def choice_object(choice: str, servers: tuple[ClientServer, ...]) -> JsonObject | None:
    """Builds a tool choice that names a tool of one of the servers; None: it names none."""
    for server in servers:
        prefix = function_name(server.label, "")
        if choice.startswith(prefix):
            return {"type": "mcp", "server_label": server.label, "name": choice.removeprefix(prefix)}
    return None


def is_choice(choice: str, servers: tuple[ClientServer, ...]) -> bool:
    """Returns whether a choice names a tool of one of the servers."""
    return choice_object(choice, servers) is not None


# ---- fields ----


def _label(value: object, path: str) -> str:
    label: str = IDENTIFIER(value, path)
    if not _LABEL.fullmatch(label):
        raise wrong_value(path, "is no label", "1 to 32 letters, digits, - and _, with a letter first")
    return label


def _filter(value: object, path: str) -> ToolFilter:
    fields = checked(value, path, _FILTER)
    if not fields:
        raise wrong_value(path, "selects nothing", "tool_names, read_only or both")
    names = fields.get("tool_names")
    return ToolFilter(None if names is None else frozenset(names), fields.get("read_only"))


def _allowed(value: object, path: str) -> ToolFilter:
    if isinstance(value, list):
        return ToolFilter(frozenset(_FILTER["tool_names"].check(value, path)))
    return _filter(value, path)


def _approval(value: object, path: str) -> tuple[ToolFilter, ToolFilter]:
    """Returns the tools that always need approval, and the tools that never need it."""
    if isinstance(value, str):
        never = one_of("always", "never")(value, path) == "never"
        return (NO_TOOLS, ALL_TOOLS) if never else (ALL_TOOLS, NO_TOOLS)
    fields = checked(value, path, {"always": Field(_filter), "never": Field(_filter)})
    return fields.get("always", NO_TOOLS), fields.get("never", NO_TOOLS)


def _headers(value: object, path: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object of strings")
    if len(value) > MAX_HEADERS:
        raise wrong_value(path, f"has {len(value)} entries", f"at most {MAX_HEADERS}")
    if len({name.lower() for name in value}) < len(value):
        raise wrong_value(path, "names a header twice", "each header once")
    for name, content in value.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS or name.lower().startswith("mcp-"):
            raise wrong_value(path, "has a header that cannot be set", "headers other than those of the connection")
        _header_value(content, f"{path}.{name}")
    return value


def _header_value(value: object, path: str) -> str:
    header: str = text(max_chars=MAX_HEADER_CHARS)(value, path)
    if not _HEADER_VALUE.fullmatch(header):
        raise wrong_value(path, "has other characters", "printable ASCII")
    return header


_SERVER = {
    "type": Field(dropped_value),
    "server_label": Field(_label, required=True),
    "server_url": Field(text(min_chars=1, max_chars=2048)),
    "server_description": Field(text(max_chars=1024)),
    "headers": Field(_headers),
    "authorization": Field(_header_value),
    "allowed_tools": Field(_allowed),
    "require_approval": Field(_approval),
    "defer_loading": Field(hint(flag)),
    "allowed_callers": Field(hint(listing(one_of("direct", "programmatic"), maximum=2))),  # only the model calls tools
    "connector_id": Field(missing_here("there are no connectors; name the server with server_url")),
    "tunnel_id": Field(missing_here("there are no tunnels; name the server with server_url")),
}
_CHOSEN = {
    "type": Field(dropped_value),
    "server_label": Field(_label, required=True),
    "name": Field(IDENTIFIER),
}
