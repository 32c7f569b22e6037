"""The models of the page: which there are, and a download with its progress, for this machine only.

    GET  /v1/repartee/models        the models, with size and licence
    POST /v1/repartee/models/pull   downloads one; the answer is a stream of its progress

The download ends when its client leaves. What has arrived stays, and the next download continues from there.
"""

import asyncio
import io
import json
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Send

from assistant.models.catalogue import named
from assistant.models.errors import ModelError
from assistant.models.needs import rows
from assistant.models.pull import PullCancelledError, pull
from assistant.registry.voices import voice_kinds
from assistant.setup.derived_settings import needs, use_of_chat_model
from web.access.body_limits import MODEL_PULL_PATH
from web.http_api.bodies import BodyReader
from web.http_api.errors import ApiError
from web.http_api.serving import Handler, ServerState, disconnected, respond, stream
from web.page_api.setup import SetupParts
from web.wire.values.fields import IDENTIFIER, Field, Table

PATH = "/v1/repartee/models"
REPORT_EVERY_S = 0.3
_WANTED: Table = {"name": Field(IDENTIFIER, required=True)}


class PullProgress:
    """Bytes of a running download. Thread-safe: the download reports, the event loop reads and cancels."""

    def __init__(self) -> None:
        self.done_bytes = self.total_bytes = 0
        self._cancelled = threading.Event()

    def report(self, done_bytes: int, total_bytes: int) -> None:
        """Takes the progress. Raises PullCancelledError after `cancel`."""
        self.done_bytes, self.total_bytes = done_bytes, total_bytes
        if self._cancelled.is_set():
            raise PullCancelledError

    def cancel(self) -> None:
        """Ends the download at its next bytes."""
        self._cancelled.set()


@dataclass(slots=True)
class ModelPulls:
    """Answers the requests, one download at a time.

    Attributes:
        parts: The settings, and who may change them.
        bodies: Reads the requests.
        state: Whether the server ends.
    """

    parts: SetupParts
    bodies: BodyReader
    state: ServerState
    _running: str = ""

    async def all(self, request: Request, send: Send) -> None:
        """Answers GET: the models that are needed, then all others of the catalogue."""
        if problem := self.parts.why_not(request):
            raise ApiError(403, "not_this_machine", f"{problem}; run `repartee models` on the server's machine instead")
        model_rows = await asyncio.to_thread(lambda: rows(needs(self.parts.settings), everything=True))
        models = [
            {
                "name": row.name,
                "kind": "" if (model := named(row.name)) is None else model.kind,
                "size": row.size,
                "licence": row.licence,
                "installed": row.at_hand,
                "needed": row.needed,
            }
            for row in model_rows
        ]
        await respond(request, JSONResponse({"models": models}), send)

    async def pull(self, request: Request, send: Send) -> None:
        """Answers POST: downloads a model. Lines of JSON: `done_bytes`, `total_bytes`, at last `ready` or `problem`."""
        if problem := self.parts.why_not(request, changes=True):
            remedy = "run `repartee models pull NAME` on the server's machine instead"
            raise ApiError(403, "not_this_machine", f"{problem}; {remedy}")
        name = (await self.bodies.fields(request, _WANTED))["name"]
        if named(name) is None:
            raise ApiError(
                404, "model_not_found", f"there is no model {name[:100]}; `repartee models --all` lists them"
            )
        if self._running:
            raise ApiError(409, "pull_running", f"{self._running} is being downloaded; wait until it has ended")
        self._running = name
        try:
            async with asyncio.TaskGroup() as tasks:
                ways_to_end = [
                    tasks.create_task(stream(send, "application/x-ndjson", self._lines(name)), name="model download"),
                    tasks.create_task(disconnected(request)),
                    tasks.create_task(self.state.ended.wait()),
                ]
                await asyncio.wait(ways_to_end, return_when=asyncio.FIRST_COMPLETED)
                for task in ways_to_end:
                    task.cancel()
        finally:
            self._running = ""

    async def _lines(self, name: str) -> AsyncGenerator[bytes]:
        progress = PullProgress()
        quiet = Console(file=io.StringIO())
        download = asyncio.get_running_loop().run_in_executor(None, pull, name, quiet, progress.report)
        try:
            while not download.done():
                yield _line({"done_bytes": progress.done_bytes, "total_bytes": progress.total_bytes})
                await asyncio.wait({download}, timeout=REPORT_EVERY_S)
            error = download.exception()
            if isinstance(error, ModelError):
                yield _line({"problem": str(error)})
            elif error is not None:
                raise error
            else:
                yield _line({"ready": name, **self._use(name)})
        finally:
            progress.cancel()

    def _use(self, name: str) -> dict[str, object]:
        """Returns whether the server uses it only after a restart, and what a language model is used for."""
        model = named(name)
        assert model is not None
        note = use_of_chat_model(self.parts.settings, name) if model.kind == "chat" else ""
        return {"restart": model.kind not in voice_kinds(), "note": note}


def model_routes(pulls: ModelPulls, answered: Callable[[str, Handler], ASGIApp]) -> list[BaseRoute]:
    """Returns the routes. `answered`: makes the endpoint for a method and a handler."""
    return [Route(PATH, answered("GET", pulls.all)), Route(MODEL_PULL_PATH, answered("POST", pulls.pull))]


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"
