"""Lets pages of `server.allowed_origins` begin WebRTC calls: answers their browsers' preflight requests (CORS).

A WebSocket needs none of this. Access control has checked the origin before these headers are sent.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Scope, Send

from web.access_control import CALLS_PATH

_KEPT_S = "600"


def is_preflight(scope: Scope) -> bool:
    """Returns whether a browser asks whether a page may begin a call."""
    return (
        scope["type"] == "http"
        and scope["path"] == CALLS_PATH
        and scope["method"] == "OPTIONS"
        and "access-control-request-method" in Headers(scope=scope)
    )


def preflight_answer() -> Response:
    """Returns the answer to a preflight request; `with_origin` adds the origin."""
    allowed = {
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": "Authorization, Content-Type",
        "Access-Control-Max-Age": _KEPT_S,
    }
    return Response(status_code=204, headers=allowed)


def with_origin(scope: Scope, send: Send) -> Send:
    """Returns `send` with the headers that let a page read the answer to a request about calls."""
    origin = Headers(scope=scope).get("origin")
    if origin is None or scope["path"] != CALLS_PATH:
        return send

    async def send_with_origin(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "Location"
            headers.append("Vary", "Origin")
        await send(message)

    return send_with_origin
