"""Endpoint of the Realtime API, and JSON errors for the paths of OpenAI's API that this server does not have.

OpenAI's clients parse every error body as JSON and show its message. A browser shows nothing of a refused WebSocket
handshake: a request for an unsupported kind of session is accepted, answered with an `error` event and closed.
"""

import asyncio
import secrets
from contextlib import suppress

from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from web.http_api.errors import ApiError
from web.limits.session_acceptor import SUBPROTOCOL

API_PREFIX = "/v1"

POLICY_CLOSE_CODE = 1008
TELL_TIMEOUT_S = 1.0
"""Time limit for sending the error event and the close frame to a client that may not read."""

_MISSING: dict[str, str] = {
    "realtime/transcription_sessions": "Make a secret with /v1/realtime/client_secrets instead.",
    "realtime/translations": "This server has no translation sessions, only conversations.",
    "realtime/calls": "Begin a WebRTC call with POST /v1/realtime/calls.",
    "audio/translations": "This server does not translate. Use /v1/audio/transcriptions.",
    "chat": "This server has no chat completions. Connect to /v1/realtime by WebSocket.",
    "responses": "This server has no responses endpoint. Connect to /v1/realtime by WebSocket.",
}
"""Paths of OpenAI's API, below /v1, and what to use instead."""


def unknown_url(method: str, path: str) -> JSONResponse:
    """Builds a 404 response for a path that does not exist, with a hint for known paths of OpenAI's API."""
    below = path.removeprefix(f"{API_PREFIX}/")
    known = next((text for name, text in _MISSING.items() if below == name or below.startswith(f"{name}/")), None)
    remedy = known or "This server speaks OpenAI's Realtime protocol by WebSocket at /v1/realtime."
    return ApiError(404, "unknown_url", f"Unknown request URL: {method} {path[:200]}. {remedy}").response()


class NotFound:
    """ASGI endpoint for paths that no route matches."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request or WebSocket handshake with 404."""
        path = scope["path"]
        if scope["type"] == "websocket":
            websocket = WebSocket(scope, receive, send)
            await websocket.receive()  # the handshake
            await websocket.send_denial_response(unknown_url("GET", path))
            return
        is_api = path == API_PREFIX or path.startswith(f"{API_PREFIX}/")
        response = unknown_url(scope["method"], path) if is_api else PlainTextResponse("Not Found", 404)
        await response(scope, receive, send)


class RealtimeEndpoint:
    """WebSocket endpoint of the Realtime API.

    Refuses unsupported kinds of session before anything is set up for them.
    """

    def __init__(self, session_acceptor: ASGIApp) -> None:
        """`session_acceptor` handles all supported sessions."""
        self._session_acceptor = session_acceptor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection."""
        websocket = WebSocket(scope, receive, send)
        refusal = _refusal(websocket)
        if refusal is None:
            await self._session_acceptor(scope, receive, send)
            return
        code, param, message = refusal
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": param, "event_id": None}
        event = {"type": "error", "event_id": f"event_{secrets.token_hex(8)}", "error": error}
        with suppress(TimeoutError, WebSocketDisconnect):
            async with asyncio.timeout(TELL_TIMEOUT_S):
                offered = scope.get("subprotocols", [])
                await websocket.accept(subprotocol=SUBPROTOCOL if SUBPROTOCOL in offered else None)
                await websocket.send_json(event)
                await websocket.close(POLICY_CLOSE_CODE, f"{code}: {param}")


def _refusal(websocket: WebSocket) -> tuple[str, str, str] | None:
    """Returns code, parameter and message if the query asks for an unsupported kind of session."""
    query = websocket.query_params
    intent = query.get("intent", "")
    if intent not in {"", "conversation", "transcription"}:
        message = "This server has no sessions of this intent: connect without intent for a conversation, or with "
        message += "intent=transcription for transcripts only."
        return "not_supported", "intent", message
    if query.get("call_id"):
        message = "A call cannot be joined by WebSocket: its events are on its data channel. Connect without call_id."
        return "not_supported", "call_id", message
    return None
