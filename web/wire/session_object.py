"""Builds the session object of session.created and session.updated."""

import json
from dataclasses import asdict, dataclass

from assistant.pipeline.engines import EngineChoice
from web.wire.items import JsonObject
from web.wire.mcp_fields import choice_object, server_object
from web.wire.server_events import format_object
from web.wire.session_config import ServerVad, SessionConfig, TurnDetection


@dataclass(frozen=True, slots=True)
class Service:
    """Facts about the server that are sent to a client.

    Attributes:
        version: The server's version.
        model: The language model.
        transcriber: The recognizer.
        language: Language of the conversation.
        engines: The engine of each stage.
        resume_token: Token with which a new connection resumes this conversation.
    """

    version: str
    model: str
    transcriber: str
    language: str
    engines: tuple[EngineChoice, ...]
    resume_token: str


@dataclass(frozen=True, slots=True)
class SessionDescription:
    """Properties of a session that do not change on a connection.

    Attributes:
        session_id: The session's id.
        service: Facts about the server.
        expires_at_s: Latest end, in seconds since 1970; None: never.
        resumed: Whether it resumes a conversation of an earlier connection.
        heard_ms: Length of the audio received from the client before this connection began.
    """

    session_id: str
    service: Service
    expires_at_s: int | None = None
    resumed: bool = False
    heard_ms: float = 0.0


def session_object(session: SessionDescription, config: SessionConfig) -> JsonObject:
    """Builds the session object."""
    service = session.service
    transcription = {"model": service.transcriber, "language": service.language, "prompt": None}
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": session.session_id,
        "model": service.model,
        "expires_at": session.expires_at_s,
        "output_modalities": [config.modality],
        "instructions": config.instructions,
        "audio": {
            "input": {
                "format": format_object(config.input_format),
                "transcription": transcription if config.transcription else None,
                "noise_reduction": None,
                "turn_detection": _turn_detection(config.turn_detection),
            },
            "output": {
                "format": format_object(config.output_format),
                "voice": config.voice,
                "speed": config.speed,
            },
        },
        "tools": [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": json.loads(tool.parameters),
            }
            for tool in config.tools
        ]
        + [server_object(server) for server in config.mcp_servers],
        "tool_choice": _choice(config),
        "max_output_tokens": config.max_output_tokens,
        "truncation": "auto",
        "tracing": None,
        "prompt": None,
        "include": None,
        "repartee": {
            "version": service.version,
            "resume_token": service.resume_token,
            "resumed": session.resumed,
            "heard_ms": round(session.heard_ms, 1),
            "language": service.language,
            "engines": [_engine(engine) for engine in service.engines],
            **asdict(config.extensions),
        },
    }


def _engine(engine: EngineChoice) -> JsonObject:
    return {name: getattr(engine, name) for name in ("stage", "name", "detail", "why", "fallback")}


def _turn_detection(detection: TurnDetection | None) -> JsonObject | None:
    if detection is None:
        return None
    kind = "server_vad" if isinstance(detection, ServerVad) else "semantic_vad"
    idle = {"idle_timeout_ms": None} if isinstance(detection, ServerVad) else {}
    return {"type": kind, **asdict(detection), **idle}


def _choice(config: SessionConfig) -> object:
    choice = config.tool_choice
    if choice in {"auto", "none", "required"}:
        return choice
    function = {"type": "function", "name": choice}
    is_function = any(tool.name == choice for tool in config.tools)
    return function if is_function else choice_object(choice, config.mcp_servers) or function
