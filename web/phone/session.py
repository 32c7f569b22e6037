"""Marks a connection as a telephone call, and sets the session of one."""

import logging
from dataclasses import replace

from starlette.types import Scope

from web.wire.values.session_config import AudioFormat, Extensions, SemanticVad, SessionConfig

_CALL_ID = "repartee.call_id"

_log = logging.getLogger(__name__)


def mark_as_call(scope: Scope, call_id: str) -> None:
    """Marks the connection as a telephone call."""
    scope.setdefault("state", {})[_CALL_ID] = call_id


def call_of(scope: Scope) -> str | None:
    """Returns the id of the connection's telephone call; None if it is none. A call cannot be resumed."""
    call_id: str | None = scope.get("state", {}).get(_CALL_ID)
    return call_id


def log_conversation(call_id: str, conversation: str) -> None:
    """Logs which conversation, and so which trace, is that of the call."""
    _log.info("call %s began: conversation %s", call_id, conversation)


def config_of_call(config: SessionConfig) -> SessionConfig:
    """Returns the initial settings for a telephone call: mu-law both ways, and marks that report playback.

    Args:
        config: The server's settings, or those of the call's client secret. What a telephone call cannot have is
            left out: commits by the client, functions, MCP servers (nobody could approve a call), replies as text.

    A telephone has no volume that the server could lower, so there is no ducking.
    """
    return replace(
        config,
        turn_detection=config.turn_detection or SemanticVad(),
        modality="audio",
        tools=(),
        mcp_servers=(),
        tool_choice="auto",
        input_format=AudioFormat.ULAW,
        output_format=AudioFormat.ULAW,
        extensions=Extensions(playout=True),
        beta=False,
    )
