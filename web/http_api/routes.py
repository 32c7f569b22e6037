"""Builds the HTTP endpoints of OpenAI's API."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.routing import BaseRoute, Route

from assistant.setup.engine_loader import EngineLoader
from web.http_api.bodies import SECRETS_PATH, SESSIONS_PATH, SPEECH_PATH, TRANSCRIPTIONS_PATH, BodyReader
from web.http_api.client_secrets import ClientSecrets
from web.http_api.models import Models
from web.http_api.rate_limits import RateLimits
from web.http_api.secret_endpoints import SecretEndpoints
from web.http_api.serving import ApiEndpoint, AudioSlots, Handler, ServerState
from web.http_api.speech import Speech
from web.http_api.transcriptions import Transcriptions
from web.wire.session_config import SessionConfig
from web.wire.session_object import Service

MODELS_PATH = "/v1/models"


@dataclass(frozen=True, slots=True)
class ApiParts:
    """The parts of the server that the endpoints need.

    Attributes:
        engine_loader: Its voice and recognizer are used.
        initial_config: Returns the settings of a session; takes the name of the voice.
        service: Returns the description of the server.
    """

    engine_loader: EngineLoader
    initial_config: Callable[[str], SessionConfig]
    service: Callable[[], Service]


def api_routes(
    parts: ApiParts,
    client_secrets: ClientSecrets,
    state: ServerState,
    count_refused: Callable[[str], None],
    *,
    max_audio_requests: int,
) -> list[BaseRoute]:
    """Returns the routes. Without audio requests (0), there are no audio endpoints."""

    def answered(method: str, handle: Handler) -> ApiEndpoint:
        return ApiEndpoint(method, handle, count_refused, rates)

    rates = RateLimits(client_secrets.now_s)
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
    speech = Speech(
        lambda: engine_loader.voice,
        lambda: _configured_voice(engine_loader),
        engine_loader.spoken_text,
        bodies,
        slots,
        state,
    )
    transcriptions = Transcriptions(
        engine_loader.background_recognizer,
        lambda: next((one.name for one in state.engine_pool.state() if one.stage == "stt"), ""),
        lambda: engine_loader.settings.assistant.language,
        bodies,
        slots,
        state,
    )
    routes: list[BaseRoute] = [
        Route(SECRETS_PATH, answered("POST", secret.client_secret)),
        Route(SESSIONS_PATH, answered("POST", secret.session)),
        Route(MODELS_PATH, answered("GET", models.all)),
        Route(f"{MODELS_PATH}/{{name:path}}", answered("GET", models.one)),
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
