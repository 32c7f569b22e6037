"""POST /v1/announce: a text that is spoken in the rooms of the server's user, in conversations that are open there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Send

from assistant.pipeline.unasked.announcing import Priority
from web.http_api.bodies import BodyReader
from web.http_api.errors import ApiError
from web.http_api.serving import ServerState, respond
from web.rooms.user_rooms import Announced
from web.wire.incoming.satellite_fields import room_name
from web.wire.values.fields import Field, Table, listing, one_of, text

MAX_CHARS = 1000
"""Longest announcement: a minute and a half of speech."""
MAX_ROOMS = 50

_FIELDS: Table = {
    "text": Field(text(min_chars=1, max_chars=MAX_CHARS), required=True),
    "rooms": Field(listing(room_name, maximum=MAX_ROOMS, minimum=1)),
    "priority": Field(one_of(*get_args(Priority))),
}


@dataclass(frozen=True, slots=True)
class Announcements:
    """Speaks texts of other programs.

    Attributes:
        announce: Speaks a text in these rooms (None: in all) and returns what has become of it in each.
        bodies: Reads the requests.
        state: Whether the server takes requests.
    """

    announce: Callable[[str, Sequence[str] | None, Priority], Sequence[Announced]]
    bodies: BodyReader
    state: ServerState

    async def create(self, request: Request, send: Send) -> None:
        """Answers POST /v1/announce."""
        self.state.check()
        fields = await self.bodies.fields(request, _FIELDS)
        spoken = " ".join(fields["text"].split())
        if not any(map(str.isalnum, spoken)):
            raise ApiError(400, "invalid_value", "text has no words to speak", "text")
        announced = self.announce(spoken, fields.get("rooms"), fields.get("priority", "pause"))
        rooms = [{"room": result.room, "state": result.state.value} for result in announced]
        await respond(request, JSONResponse({"rooms": rooms}), send)
