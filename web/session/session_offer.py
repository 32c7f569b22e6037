"""Creates the configuration with which a session begins, and this server's offer to its client."""

from dataclasses import replace
from functools import cache
from importlib.util import find_spec

from starlette.types import Scope
from starlette.websockets import WebSocket

from assistant.config.llm_settings import LlmSection
from assistant.config.settings import Settings
from assistant.pipeline.engines import Engines
from assistant.registry.engine_choice import EngineChoice
from assistant.registry.listening import DETECTORS, RECOGNIZERS
from assistant.setup.conversation.engine_options import EngineOptions
from assistant.setup.listening.wake_words import installed_wake_words
from assistant.skills.lists.items import UserLists
from assistant.skills.timers.timers import Timers
from web.limits.session_acceptor import passed_config
from web.phone.session import call_of, config_of_call
from web.wire.values.beta import is_asked_for
from web.wire.values.session_config import Limit, SemanticVad, SessionConfig, SessionOffer


def session_offer(
    settings: Settings, chosen: list[EngineChoice], options: EngineOptions | None = None, voice: str = ""
) -> SessionOffer:
    """Returns what the server offers.

    Args:
        settings: The server's settings.
        chosen: Its engines.
        options: Further engines that clients may choose.
        voice: Name of its voice.
    """
    names = {choice.stage: choice.name for choice in chosen}
    vad, recognizer = DETECTORS.get(names.get("vad", "")), RECOGNIZERS.get(names.get("stt", ""))
    return SessionOffer(
        prompts=settings.server.prompts.texts,
        max_history_tokens=settings.llm.max_history_tokens,
        images=any(endpoint.images for endpoint in settings.llm.endpoints),
        noise_reduction=_has_livekit(),
        logprobs=recognizer is not None and recognizer.has_probabilities,
        threshold=vad is not None and vad.has_threshold,
        wake_window_s=settings.talk.listen_s,
        wake_words=tuple(word for word in settings.server.wake_words.split() if word in installed_wake_words()),
        options=options or EngineOptions(),
        voice=voice,
    )


@cache
def _has_livekit() -> bool:
    return find_spec("livekit") is not None


def initial_config(settings: Settings, voice: str) -> SessionConfig:
    """Returns the settings of a session before its client changes them; `voice`: the name of the voice."""
    # The server's limit on output tokens counts if it differs from the default.
    configured = settings.llm.max_tokens
    limit: Limit = "inf" if configured == LlmSection().max_tokens else configured
    return SessionConfig(
        instructions=settings.assistant.instructions,
        turn_detection=SemanticVad.of_profile(settings.turn.profile),
        voice=voice,
        max_output_tokens=limit,
    )


def config_of_connection(websocket: WebSocket, initial: SessionConfig) -> SessionConfig:
    """Returns the settings with which the session of this connection begins.

    They are those of its client secret, if it has one. `?intent=transcription` asks for a transcription session.
    """
    scope: Scope = websocket.scope
    config = passed_config(scope) or initial
    if call_of(scope) is not None:
        return config_of_call(config)
    if is_asked_for(websocket.headers, scope.get("subprotocols", [])):
        config = replace(config, beta=True)
    if websocket.query_params.get("intent") == "transcription":
        return replace(config, kind="transcription")
    return config


def engines_for(engines: Engines, config: SessionConfig, websocket: WebSocket, *, is_guest: bool) -> Engines:
    """Returns the engines of a session. A transcription session does without the language model and its connections.

    It says nothing, so the timers of this machine's user do not ring in it. A telephone caller and the client of a
    client secret may be anybody: they have timers and lists of their own, which end with the session, and cannot
    use the home. `is_guest`: whether the session was opened with a client secret.
    """
    if config.kind != "realtime" or call_of(websocket.scope) is not None or is_guest:
        engines.skill_effects.timers, engines.skill_effects.lists = Timers(), UserLists()
        engines.skill_effects.home = None
    if config.kind == "realtime":
        return engines
    return replace(engines, warm_connections=None, summarizer=None, tools=None, listening_sound=None)
