"""Lets pages of `server.allowed_origins` call the API by HTTP: answers preflight requests, and permits reading (CORS).

A WebSocket needs none of this. Access control has checked the origin before these headers are sent.
"""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Scope, Send

API_FOLDER = "/v1/"

_METHODS = "DELETE, GET, PATCH, POST, PUT"
_KEPT_S = "600"
_READABLE = "Location, Retry-After, WWW-Authenticate"
"""Headers of an answer that a page may read besides the harmless ones: the address of a call, when to try again."""


def is_preflight(scope: Scope) -> bool:
    """Returns whether a browser asks whether a page may send a request to the API."""
    return (
        scope["type"] == "http"
        and scope["path"].startswith(API_FOLDER)
        and scope["method"] == "OPTIONS"
        and "access-control-request-method" in Headers(scope=scope)
    )


def preflight_answer(scope: Scope) -> Response:
    """Returns the answer to a preflight request; `with_origin` adds the origin.

    It allows the headers that are asked for: clients name themselves in headers of their own, and the server ignores
    unknown ones. An allowed page of a public site may also reach a server of the local network.
    """
    asked = Headers(scope=scope)
    allowed = {
        "Access-Control-Allow-Methods": _METHODS,
        "Access-Control-Allow-Headers": asked.get("access-control-request-headers", "Authorization, Content-Type"),
        "Access-Control-Max-Age": _KEPT_S,
        "Vary": "Access-Control-Request-Headers",
    }
    if asked.get("access-control-request-private-network") == "true":
        allowed["Access-Control-Allow-Private-Network"] = "true"
    return Response(status_code=204, headers=allowed)


def with_origin(scope: Scope, send: Send) -> Send:
    """Returns `send` with the headers that let a page read the answer to a request to the API."""
    origin = Headers(scope=scope).get("origin")
    if origin is None or not scope["path"].startswith(API_FOLDER):
        return send

    async def send_with_origin(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = _READABLE
            headers.append("Vary", "Origin")
        await send(message)

    return send_with_origin
