"""Maps what a client configures to the settings of turn taking and of replies. Pure."""

from dataclasses import replace

from assistant.config.settings import PROFILE_HANGOVER_MS
from assistant.pipeline.engines import ReplyOptions
from assistant.setup.derived_settings import PATIENCE
from assistant.turns.settings import EndsTurn, InterruptedBy, TurnSettings
from llm.chat import NO_LIMIT, ChatOptions
from web.wire.commands import ResponseOptions
from web.wire.session_config import Limit, Profile, SemanticVad, ServerVad, SessionConfig


def turn_settings(base: TurnSettings, server_profile: Profile, config: SessionConfig) -> TurnSettings:
    """Returns the server's turn-taking settings with the client's changes."""
    base = replace(base, has_client=True)
    if not (config.extensions.listening_sounds and config.extensions.events and config.modality == "audio"):
        base = replace(base, listening_sounds=None)
    min_ms = config.extensions.interrupt_after_ms
    if min_ms is not None:
        base = replace(base, interrupt_after_ms=max(base.interrupt_after_ms, float(min_ms)))
    detection = config.turn_detection
    match detection:
        case None:
            return replace(base, ends_turn=EndsTurn.CLIENT, interrupted_by=InterruptedBy.CLIENT)
        case ServerVad():
            if detection.silence_duration_ms is not None:
                base = replace(base, hangover_ms=float(detection.silence_duration_ms), patience=None)
            return replace(
                base,
                pre_roll_ms=float(detection.prefix_padding_ms),
                answers=detection.create_response,
                interrupted_by=_interrupted_by(detection),
            )
        case SemanticVad():
            profile = detection.profile(server_profile)
            if profile != server_profile:
                base = replace(base, hangover_ms=float(PROFILE_HANGOVER_MS[profile]), patience=PATIENCE[profile])
            return replace(base, answers=detection.create_response, interrupted_by=_interrupted_by(detection))


def _interrupted_by(detection: ServerVad | SemanticVad) -> InterruptedBy:
    return InterruptedBy.VOICE if detection.interrupt_response else InterruptedBy.CLIENT


def reply_options(config: SessionConfig) -> ReplyOptions:
    """Returns the options of the session's replies."""
    return ReplyOptions(
        spoken=config.modality == "audio",
        speed=config.speed,
        options=ChatOptions(config.tools, config.tool_choice, _limit(config.max_output_tokens)),
    )


def response_options(session_options: ReplyOptions, options: ResponseOptions) -> ReplyOptions:
    """Returns the options of one response: those of the session with the response's own changes."""
    chat = session_options.options
    return ReplyOptions(
        spoken=session_options.spoken if options.modality is None else options.modality == "audio",
        speed=session_options.speed,
        options=ChatOptions(
            chat.functions if options.tools is None else options.tools,
            chat.choice if options.tool_choice is None else options.tool_choice,
            chat.max_tokens if options.max_output_tokens is None else _limit(options.max_output_tokens),
        ),
        instructions=options.instructions,
        client_tools=session_options.client_tools,
    )


def _limit(limit: Limit) -> int:
    return NO_LIMIT if limit == "inf" else limit
