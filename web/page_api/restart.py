"""POST /v1/repartee/restart: the server starts again with the same arguments, for this machine only."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Send

from web.access.body_limits import RESTART_PATH
from web.http_api.bodies import BodyReader
from web.http_api.errors import ApiError
from web.http_api.serving import Handler, ServerState, respond
from web.page_api.setup import SetupParts
from web.wire.values.fields import Field, Table, flag

_WANTED: Table = {"own": Field(flag), "anyway": Field(flag)}


@dataclass(slots=True)
class Restart:
    """Answers the request.

    Attributes:
        parts: Who may restart the server.
        bodies: Reads the request.
        state: Counts the conversations.
        begin: Begins the shutdown, after which the process is replaced.
    """

    parts: SetupParts
    bodies: BodyReader
    state: ServerState
    begin: Callable[[], None]

    async def post(self, request: Request, send: Send) -> None:
        """Restarts, unless others talk. `own`: the page has a conversation itself; `anyway`: end those of others."""
        if problem := self.parts.why_not(request, changes=True):
            raise ApiError(403, "not_this_machine", f"{problem}; restart the server on its own machine instead")
        fields = await self.bodies.fields(request, _WANTED)
        others = self.state.limits.current - (1 if fields.get("own") else 0)
        if others > 0 and not fields.get("anyway"):
            count = "another conversation is" if others == 1 else f"{others} other conversations are"
            raise ApiError(409, "others_talk", f"{count} running and would end: wait, or restart anyway")
        await respond(request, JSONResponse({"restarting": True}, 202), send)
        self.begin()


def restart_routes(restart: Restart, answered: Callable[[str, Handler], ASGIApp]) -> list[BaseRoute]:
    """Returns the route. `answered`: makes the endpoint for a method and a handler."""
    return [Route(RESTART_PATH, answered("POST", restart.post))]
