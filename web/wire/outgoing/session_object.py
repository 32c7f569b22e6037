"""Builds the session object of session.created and session.updated."""

import json
from dataclasses import asdict, dataclass, field

from assistant.registry.engine_choice import EngineChoice
from web.wire.incoming.mcp_fields import choice_object, server_object
from web.wire.incoming.transcription_fields import LOGPROBS
from web.wire.incoming.turn_detection_fields import WITHOUT_RESPONSES
from web.wire.items.items import JsonObject
from web.wire.outgoing.hidden_addresses import without_addresses
from web.wire.outgoing.server_events import format_object
from web.wire.values.session_config import PromptReference, ServerVad, SessionConfig, SessionOffer, Tracing, Truncation


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
        offer: What it offers sessions.
        languages: The languages that conversations follow, if there are several.
    """

    version: str
    model: str
    transcriber: str
    language: str
    engines: tuple[EngineChoice, ...]
    resume_token: str
    offer: SessionOffer = field(default_factory=SessionOffer)
    languages: tuple[str, ...] = ()


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
    language = config.language or service.language
    transcription: JsonObject = {
        "model": service.transcriber,
        "language": language,
        "prompt": config.transcription_prompt or None,
    }
    if config.keywords:
        transcription["keywords"] = list(config.keywords)
    if config.kind == "transcription":
        transcription["delay"] = config.transcription_delay
    audio_input = {
        "format": format_object(config.input_format),
        "transcription": transcription if config.transcription else None,
        "noise_reduction": None if config.noise_reduction is None else {"type": config.noise_reduction},
        "turn_detection": _turn_detection(config),
    }
    shown: JsonObject = {
        "type": config.kind,
        "object": "realtime.session" if config.kind == "realtime" else "realtime.transcription_session",
        "id": session.session_id,
        "expires_at": session.expires_at_s,
        "include": [LOGPROBS] if config.logprobs else None,
        "repartee": {
            "version": service.version,
            "resume_token": service.resume_token,
            "resumed": session.resumed,
            "heard_ms": round(session.heard_ms, 1),
            "language": language,
            **({"languages": list(service.languages)} if service.languages and not config.language else {}),
            "engines": [_engine(engine) for engine in service.engines],
            "wake_window_s": service.offer.wake_window_s,
            "wake_words": list(service.offer.wake_words),
            "endpoint": config.endpoint or None,
            "words": config.words,
            **asdict(config.extensions),
        },
    }
    if config.kind == "transcription":
        return {**shown, "audio": {"input": audio_input}}
    return {
        **shown,
        "model": service.model,
        "output_modalities": [config.modality],
        "instructions": config.instructions,
        "audio": {
            "input": audio_input,
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
        "truncation": _truncation(config.truncation),
        "tracing": _tracing(config.tracing),
        "prompt": _prompt(config.prompt),
    }


def _engine(engine: EngineChoice) -> JsonObject:
    texts = {name: without_addresses(getattr(engine, name)) for name in ("name", "detail", "why")}
    return {"stage": engine.stage, **texts, "fallback": engine.fallback}


def _turn_detection(config: SessionConfig) -> JsonObject | None:
    detection = config.turn_detection
    if detection is None:
        return None
    kind = "server_vad" if isinstance(detection, ServerVad) else "semantic_vad"
    shown = {"type": kind, **asdict(detection)}
    if config.kind == "transcription":
        return {name: value for name, value in shown.items() if name not in WITHOUT_RESPONSES}
    return shown


def _truncation(truncation: Truncation) -> object:
    if truncation.kind != "retention_ratio":
        return truncation.kind
    shown: JsonObject = {"type": truncation.kind, "retention_ratio": truncation.retention_ratio}
    if truncation.post_instructions is not None:
        shown["token_limits"] = {"post_instructions": truncation.post_instructions}
    return shown


def _tracing(tracing: Tracing | None) -> object:
    if tracing is None:
        return None
    given: JsonObject = {name: value for name, value in asdict(tracing).items() if value}
    if tracing.metadata:
        given["metadata"] = json.loads(tracing.metadata)
    return given or "auto"


def _prompt(prompt: PromptReference | None) -> JsonObject | None:
    return None if prompt is None else {"id": prompt.id, "variables": dict(prompt.variables), "version": None}


def _choice(config: SessionConfig) -> object:
    choice = config.tool_choice
    if choice in {"auto", "none", "required"}:
        return choice
    function = {"type": "function", "name": choice}
    is_function = any(tool.name == choice for tool in config.tools)
    return function if is_function else choice_object(choice, config.mcp_servers) or function
