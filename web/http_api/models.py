"""GET /v1/models and /v1/models/{id}: what this server offers, by the names of its engines."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Send

from web.http_api.errors import ApiError
from web.http_api.serving import respond
from web.observation.health import EngineHealth

REALTIME_MODEL = "repartee"
"""The conversation as a whole: what the address of a Realtime connection may name."""

_STAGES = ("llm", "stt", "tts")


class Models:
    """Lists the models."""

    def __init__(self, engine_pool: EngineHealth) -> None:
        """`engine_pool`: its states name the engines."""
        self._engine_pool = engine_pool
        self._created_s = int(datetime.now(UTC).timestamp())

    async def all(self, request: Request, send: Send) -> None:
        """Answers GET /v1/models."""
        listed = [self._model(name) for name in self._names()]
        await respond(request, JSONResponse({"object": "list", "data": listed}), send)

    async def send_model(self, request: Request, send: Send) -> None:
        """Answers GET /v1/models/{id}."""
        name = request.path_params["name"]
        if name not in self._names():
            offered = ", ".join(repr(name) for name in self._names())
            raise ApiError(404, "model_not_found", f"this server has no such model; it has {offered}", "model")
        await respond(request, JSONResponse(self._model(name)), send)

    def _names(self) -> Sequence[str]:
        engines = {engine.stage: engine.name for engine in self._engine_pool.state()}
        return list(dict.fromkeys([REALTIME_MODEL, *(engines[stage] for stage in _STAGES if engines.get(stage))]))

    def _model(self, name: str) -> Mapping[str, object]:
        return {"id": name, "object": "model", "created": self._created_s, "owned_by": "repartee"}
