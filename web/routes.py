"""Builds the HTTP endpoints, those of OpenAI's API and those of the page, and the Wyoming server."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from assistant.setup.answering.user_memory import memory_file
from assistant.setup.conversation.chosen_engines import EngineChoices
from assistant.setup.engine_loader import EngineLoader
from assistant.storage.conversation_file import ConversationFile
from web.access.access_control import CALLS_PATH
from web.access.body_limits import (
    ANNOUNCE_PATH,
    SECRETS_PATH,
    SESSIONS_PATH,
    SPEECH_PATH,
    TRANSCRIPTION_SESSIONS_PATH,
    TRANSCRIPTIONS_PATH,
)
from web.access.client_secrets import ClientSecrets
from web.access.rate_limits import RateLimits
from web.api_paths import RealtimeEndpoint
from web.http_api.announcements import Announcements
from web.http_api.bodies import BodyReader
from web.http_api.models import Models
from web.http_api.secret_endpoints import SecretEndpoints
from web.http_api.serving import ApiEndpoint, AudioSlots, Handler, ServerState
from web.http_api.speech import Speech
from web.http_api.transcriptions import Transcriptions
from web.limits.session_acceptor import SessionAcceptor
from web.page_api.conversations import conversation_routes
from web.page_api.memory import memory_routes
from web.page_api.model_pulls import ModelPulls, model_routes
from web.page_api.reachable import Reachability
from web.page_api.restart import Restart, restart_routes
from web.page_api.settings import PATH as SETTINGS_PATH
from web.page_api.settings import PageSettings
from web.page_api.setup import PageSetup, SetupParts, setup_routes
from web.page_api.voice_sample import MAX_SAMPLES, VoiceSample
from web.page_api.voice_sample import PATH as SAMPLE_PATH
from web.page_api.voices import PageVoices, voice_routes
from web.rooms.user_rooms import UserRooms
from web.webrtc.calls import Calls
from web.wire.outgoing.session_object import Service
from web.wire.values.session_config import SessionConfig
from web.wyoming.address import WyomingSockets

MODELS_PATH = "/v1/models"

_SIP_ONLY = ("accept", "reject", "refer")


@dataclass(frozen=True, slots=True)
class ApiParts:
    """The parts of the server that the endpoints need.

    Attributes:
        engine_loader: Its voice and recognizer are used.
        initial_config: Returns the settings of a session; takes the name of the voice.
        service: Returns the description of the server.
        choices: The engines that clients may choose; None: the page has no settings of the server.
        rooms: The running conversations of the user, for announcements.
        conversations: The conversations that are kept for browsers; None: none are.
    """

    engine_loader: EngineLoader
    initial_config: Callable[[str], SessionConfig]
    service: Callable[[], Service]
    rooms: UserRooms
    choices: EngineChoices | None = None
    conversations: ConversationFile | None = None


def make_calls(parts: ApiParts, state: ServerState, session_acceptor: ASGIApp) -> Calls:
    """Returns the WebRTC calls of a server. Their `run` must run as long as the server does."""
    session = RealtimeEndpoint(session_acceptor)
    return Calls(session, state, lambda: parts.initial_config(parts.engine_loader.voice.name), parts.service)


def serving_wyoming(
    listening: WyomingSockets, parts: ApiParts | None, session_acceptor: SessionAcceptor, ended: asyncio.Event
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Returns the background task that serves Wyoming clients until `ended`."""
    from web.wyoming.connection import WyomingParts  # noqa: PLC0415 - on use: most servers need no library for it
    from web.wyoming.description import Descriptions  # noqa: PLC0415
    from web.wyoming.detection import Detectors  # noqa: PLC0415
    from web.wyoming.handling import TextConversations  # noqa: PLC0415
    from web.wyoming.server import WyomingServer  # noqa: PLC0415

    assert parts is not None
    assert parts.choices is not None, "a server with engines has choices"
    loader, initial_config = parts.engine_loader, parts.initial_config
    conversations = TextConversations(
        session_acceptor, lambda: initial_config(loader.voice.name), lambda: loader.language_model is not None
    )
    detectors = Detectors(parts.choices)
    descriptions = Descriptions(parts.choices, detectors.words)
    services = WyomingParts(parts.choices, session_acceptor, conversations, detectors, descriptions)
    return WyomingServer(listening, services, ended).run


def api_routes(
    parts: ApiParts,
    client_secrets: ClientSecrets,
    state: ServerState,
    count_refused: Callable[[str], None],
    *,
    max_audio_requests: int,
    tokens_are_checked: bool,
    calls: Calls | None = None,
    setup: SetupParts | None = None,
    restart: Callable[[], None] | None = None,
) -> list[BaseRoute]:
    """Returns the routes.

    Without audio requests (0) there are no audio endpoints, without `calls` no WebRTC calls, without `setup` no first
    steps on the page. `tokens_are_checked`: whether clients need the server's token; `restart`: begins a restart.
    """

    def answered(method: str, handle: Handler) -> ApiEndpoint:
        return ApiEndpoint(method, handle, count_refused, rates)

    rates = RateLimits(client_secrets.now_s, tokens_are_checked)
    bodies, engine_loader = BodyReader(), parts.engine_loader
    slots = AudioSlots(max_audio_requests)
    models = Models(state.engine_pool)
    secret = SecretEndpoints(
        client_secrets,
        rates,
        bodies,
        state,
        lambda: parts.initial_config(engine_loader.voice.name),
        parts.service,
    )
    announcements = Announcements(parts.rooms.announce, bodies, state)
    speech = Speech(
        lambda: engine_loader.voice,
        lambda: _configured_voice(engine_loader),
        lambda: engine_loader.settings.assistant.language,
        engine_loader.spoken_text,
        bodies,
        slots,
        state,
    )
    transcriptions = Transcriptions(
        engine_loader.background_recognizer,
        lambda: next(
            (engine_state.name for engine_state in state.engine_pool.state() if engine_state.stage == "stt"), ""
        ),
        lambda: engine_loader.settings.assistant.language,
        bodies,
        slots,
        state,
    )
    routes: list[BaseRoute] = [
        Route(SECRETS_PATH, answered("POST", secret.client_secret)),
        Route(SESSIONS_PATH, answered("POST", secret.session)),
        Route(TRANSCRIPTION_SESSIONS_PATH, answered("POST", secret.transcription_session)),
        Route(ANNOUNCE_PATH, answered("POST", announcements.create)),
        Route(MODELS_PATH, answered("GET", models.all)),
        Route(f"{MODELS_PATH}/{{name:path}}", answered("GET", models.send_model)),
        *conversation_routes(parts.conversations, bodies, answered),
        *memory_routes(lambda: engine_loader.memory, partial(memory_file, engine_loader.environ), bodies, answered),
    ]
    if setup is not None:
        routes += setup_routes(PageSetup(setup, bodies, state), answered)
        routes += model_routes(ModelPulls(setup, bodies, state), answered)
        routes += voice_routes(PageVoices(setup, bodies, state), answered)
        if restart is not None:
            routes += restart_routes(Restart(setup, bodies, state, restart), answered)
    if parts.choices is not None:
        settings = PageSettings(
            parts.choices, state, Reachability(), lambda request: setup is not None and not setup.why_not(request)
        )
        sample = VoiceSample(parts.choices, AudioSlots(MAX_SAMPLES), state)
        routes += [Route(SETTINGS_PATH, answered("GET", settings.get)), Route(SAMPLE_PATH, answered("GET", sample.get))]
    if calls is not None:
        routes += [
            Route(CALLS_PATH, answered("POST", calls.create)),
            Route(f"{CALLS_PATH}/{{call_id}}/hangup", answered("POST", calls.hang_up)),
            *(Route(f"{CALLS_PATH}/{{call_id}}/{name}", answered("POST", calls.sip_only)) for name in _SIP_ONLY),
        ]
    if max_audio_requests:
        routes += [
            Route(SPEECH_PATH, answered("POST", speech.create)),
            Route(TRANSCRIPTIONS_PATH, answered("POST", transcriptions.create)),
        ]
    return routes


def _configured_voice(engine_loader: EngineLoader) -> str:
    """Returns the setting tts.voice; "" if another voice runs in its place."""
    replaced = any(chosen.stage == "tts" and chosen.fallback for chosen in engine_loader.chosen)
    return "" if replaced else engine_loader.settings.tts.voice
