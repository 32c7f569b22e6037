"""/v1/repartee/conversations: lists, searches, reads, renames, exports and deletes those kept for one browser.

A browser sends its secret in the header `Repartee-Browser`, and gets nothing of any other browser.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from assistant.storage.conversation_database import ConversationFileError
from assistant.storage.conversation_export import as_json, as_markdown, message_objects
from assistant.storage.conversation_file import ConversationFile, KeptConversation, owner_of_browser
from assistant.storage.conversation_search import MAX_QUERY_CHARS, Summary
from assistant.support.disk_threads import DiskThreads
from web.access.body_limits import CONVERSATION_TITLE_PATH
from web.http_api.bodies import BodyReader
from web.http_api.errors import ApiError
from web.http_api.serving import Handler, respond
from web.wire.incoming.keeping_field import CONVERSATION_SHAPE, SECRET_SHAPE
from web.wire.values.fields import IDENTIFIER, Field, Table, text

PATH = "/v1/repartee/conversations"
BROWSER_HEADER = "repartee-browser"

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
"""Conversations in one list."""

MAX_WAITING = 16
"""Requests that wait for the file; more are refused."""

_TITLE: Table = {"conversation": Field(IDENTIFIER, required=True), "title": Field(text(max_chars=1000), required=True)}

Answered = Callable[[str, Handler], ASGIApp]
Result = TypeVar("Result")


def conversation_routes(file: ConversationFile | None, bodies: BodyReader, answered: Answered) -> list[BaseRoute]:
    """Returns the routes. `answered` makes the endpoint of a method and its handler."""
    kept = KeptConversations(file, bodies)
    many = {"GET": answered("GET", kept.all), "DELETE": answered("DELETE", kept.delete_all)}
    methods = {"GET": answered("GET", kept.send_conversation), "DELETE": answered("DELETE", kept.delete)}
    return [
        Route(PATH, ByMethod(many)),
        Route(f"{PATH}/{{name}}", ByMethod(methods)),
        Route(f"{PATH}/{{name}}/export", answered("GET", kept.export)),
        Route(CONVERSATION_TITLE_PATH, answered("POST", kept.rename)),
    ]


class ByMethod:
    """ASGI endpoint for a path with several methods."""

    def __init__(self, endpoints: dict[str, ASGIApp]) -> None:
        """`endpoints`: one for each method."""
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        endpoint = self._endpoints.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if endpoint is None:
            allowed = ", ".join(self._endpoints)
            message = f"{scope['method']} is not allowed here; use {allowed}"
            refusal = ApiError(405, "method_not_allowed", message, headers={"Allow": allowed})
            await refusal.response()(scope, receive, send)
            return
        await endpoint(scope, receive, send)


@dataclass(slots=True)
class KeptConversations:
    """Answers the requests. The file is read in one thread of its own, one request at a time.

    Attributes:
        file: The file; None: the server keeps nothing.
        bodies: Reads the requests.
    """

    file: ConversationFile | None
    bodies: BodyReader
    _thread: DiskThreads = field(default_factory=lambda: DiskThreads("kept conversations", 1))
    _waiting: int = 0

    async def all(self, request: Request, send: Send) -> None:
        """Answers GET: the newest conversations, or those in which `query` is found."""
        owner, query = owner_of(request), request.query_params.get("query", "").strip()
        limit = _number(request, "limit", DEFAULT_LIMIT, 1, MAX_LIMIT)
        if self.file is None:
            await respond(request, JSONResponse({"data": [], "has_more": False, "keeps": False}), send)
            return
        if len(query) > MAX_QUERY_CHARS:
            raise ApiError(400, "invalid_value", f"query is too long; allowed: {MAX_QUERY_CHARS} characters", "query")
        if query:
            summaries = await self._call(partial(self.file.search, owner, query, limit + 1))
        else:
            before_s = _number(request, "before", None, 0, 1e12)
            summaries = await self._call(partial(self.file.summaries, owner, limit + 1, before_s))
        body = {"data": _summaries(summaries[:limit]), "has_more": len(summaries) > limit, "keeps": True}
        await respond(request, JSONResponse(body), send)

    async def send_conversation(self, request: Request, send: Send) -> None:
        """Answers GET of one conversation: its messages."""
        await respond(request, await self._conversation_response(request, _described), send)

    async def export(self, request: Request, send: Send) -> None:
        """Answers GET of an export, as a file to save."""
        form = request.query_params.get("format", "markdown")
        if form not in {"markdown", "json"}:
            raise ApiError(400, "invalid_value", "format is markdown or json", "format")
        await respond(
            request, await self._conversation_response(request, _json_file if form == "json" else _markdown_file), send
        )

    async def rename(self, request: Request, send: Send) -> None:
        """Answers POST of the title of a conversation."""
        owner = owner_of(request)
        fields = await self.bodies.fields(request, _TITLE)
        name = fields["conversation"]
        if CONVERSATION_SHAPE.fullmatch(name) is None or self.file is None:
            raise _not_found()
        title = await self._call(partial(self.file.rename, owner, name, fields["title"]))
        if title is None:
            raise _not_found()
        await respond(request, JSONResponse({"title": title}), send)

    async def delete(self, request: Request, send: Send) -> None:
        """Answers DELETE of one conversation."""
        owner, name = owner_of(request), _name(request)
        if self.file is None or not await self._call(partial(self.file.delete, owner, name)):
            raise _not_found()
        await respond(request, JSONResponse({"deleted": 1}), send)

    async def delete_all(self, request: Request, send: Send) -> None:
        """Answers DELETE of all conversations of this browser."""
        owner = owner_of(request)
        deleted = [] if self.file is None else await self._call(partial(self.file.delete, owner, None))
        await respond(request, JSONResponse({"deleted": len(deleted)}), send)

    async def _conversation_response(self, request: Request, made: Callable[[KeptConversation], Response]) -> Response:
        """Returns what `made` makes of the wanted conversation, in the thread: it may be long. Raises ApiError."""
        owner, name, file = owner_of(request), _name(request), self.file

        def answer() -> Response | None:
            kept = None if file is None else file.load(owner, name)
            return None if kept is None else made(kept)

        response = None if file is None else await self._call(answer)
        if response is None:
            raise _not_found()
        return response

    async def _call(self, call: Callable[[], Result]) -> Result:
        """Uses the file in the thread. Raises ApiError."""
        if self._waiting >= MAX_WAITING:
            raise ApiError.busy("too many requests wait for the conversations; try again in a moment", 1)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        except ConversationFileError as error:
            raise ApiError(503, "conversations_unavailable", f"{error.text}. Tell whoever runs the server.") from error
        finally:
            self._waiting -= 1


def owner_of(request: Request) -> str:
    """Returns the owner for the secret that a browser sends. Raises ApiError."""
    sent = request.headers.getlist(BROWSER_HEADER)
    if len(sent) != 1 or SECRET_SHAPE.fullmatch(sent[0]) is None:
        message = "send the secret of this browser: 32 to 128 random letters, digits, - and _"
        raise ApiError(400, "browser_missing", f"{message}, in the header Repartee-Browser")
    return owner_of_browser(sent[0])


def _name(request: Request) -> str:
    name: str = request.path_params["name"]
    if CONVERSATION_SHAPE.fullmatch(name) is None:
        raise _not_found()
    return name


def _not_found() -> ApiError:
    return ApiError(404, "conversation_not_found", "this browser has no such conversation; it may have been deleted")


def _number(request: Request, name: str, default: Result, low: float, high: float) -> "int | Result":
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not low <= number <= high:
        raise ApiError(400, "invalid_value", f"{name} is a number from {low:g} to {high:g}", name)
    return int(number) if name == "limit" else number  # type: ignore[return-value]


def _described(kept: KeptConversation) -> Response:
    described = {"id": kept.id, "title": kept.title, "began_at": kept.began_at, "changed_at": _iso(kept.changed_s)}
    # Escaped: a recognizer or LLM may return half a surrogate pair, which UTF-8 cannot encode.
    return Response(json.dumps({**described, "messages": message_objects(kept)}), media_type="application/json")


def _json_file(kept: KeptConversation) -> Response:
    return _saved(as_json(kept), "application/json", f"conversation-{kept.id}.json")


def _markdown_file(kept: KeptConversation) -> Response:
    return _saved(as_markdown(kept), "text/markdown", f"conversation-{kept.id}.md")


def _saved(text: str, kind: str, name: str) -> Response:
    saved = f'attachment; filename="{name}"'
    return Response(text.encode(errors="replace"), media_type=kind, headers={"Content-Disposition": saved})


def _summaries(summaries: Sequence[Summary]) -> list[dict[str, object]]:
    return [
        {
            "id": summary.id,
            "title": summary.title,
            "began_at": summary.began_at,
            "changed_at": _iso(summary.changed_s),
            "changed_s": summary.changed_s,
            "turns": summary.turns,
            "found": summary.snippet,
        }
        for summary in summaries
    ]


def _iso(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")
