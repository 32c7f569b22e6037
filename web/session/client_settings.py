"""Maps what a client configures to the settings of turn taking and of replies. Pure."""

from dataclasses import replace

from assistant.config.turn_settings import PROFILE_HANGOVER_MS, ProfileName
from assistant.history.items import Item
from assistant.pipeline.engines import ReplyOptions
from assistant.setup.derived_settings import PROFILES
from assistant.turns.settings import EndsTurn, InterruptedBy, TurnSettings
from llm.chat import NO_LIMIT, ChatOptions
from web.wire.incoming.commands import ResponseOptions
from web.wire.values.session_config import Limit, SemanticVad, ServerVad, SessionConfig


def turn_settings(base: TurnSettings, server_profile: ProfileName, config: SessionConfig) -> TurnSettings:
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
            idle_ms = detection.idle_timeout_ms if config.kind == "realtime" else None
            if detection.silence_duration_ms is not None:
                base = _fixed_silence(base, float(detection.silence_duration_ms))
            return replace(
                base,
                pre_roll_ms=float(detection.prefix_padding_ms),
                answers=config.answers,
                idle_timeout_ms=None if idle_ms is None else float(idle_ms),
                interrupted_by=_interrupted_by(detection),
            )
        case SemanticVad():
            name = detection.profile_name(server_profile)
            if name != server_profile:
                base = replace(base, hangover_ms=float(PROFILE_HANGOVER_MS[name]), profile=PROFILES[name])
            return replace(base, answers=config.answers, interrupted_by=_interrupted_by(detection))


def _fixed_silence(base: TurnSettings, silence_ms: float) -> TurnSettings:
    """Returns settings in which sound alone decides: a turn ends after this silence, for good.

    Its transcript settles no later.
    """
    settled = replace(base.rechecks, settle_ms=min(base.rechecks.settle_ms, silence_ms))
    fixed = replace(base, hangover_ms=silence_ms, profile=None, rechecks=settled)
    return replace(fixed, silence_is_final=True, sound_decides=True)


def _interrupted_by(detection: ServerVad | SemanticVad) -> InterruptedBy:
    return InterruptedBy.VOICE if detection.interrupt_response else InterruptedBy.CLIENT


def reply_options(config: SessionConfig) -> ReplyOptions:
    """Returns the options of the session's replies."""
    return ReplyOptions(
        spoken=config.modality == "audio",
        speed=config.speed,
        options=ChatOptions(config.tools, config.tool_choice, _limit(config.max_output_tokens)),
        answers_speech=config.answers,
        markup=config.extensions.markup and config.extensions.events,
    )


def response_options(
    session_options: ReplyOptions, options: ResponseOptions, context: tuple[Item, ...] | None = None
) -> ReplyOptions:
    """Returns the options of one response: those of the session with the response's own changes.

    `context`: what the model sees instead of the history.
    """
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
        context=context,
        answers_speech=session_options.answers_speech,
        client_tools=session_options.client_tools,
        markup=session_options.markup,
    )


def _limit(limit: Limit) -> int:
    return NO_LIMIT if limit == "inf" else limit
