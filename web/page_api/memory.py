"""/v1/repartee/memory: shows, edits and deletes what is remembered of the user of one browser, and switches it off.

A browser sends its secret in the header `Repartee-Browser`, and gets nothing of any other browser.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Send

from assistant.memory.facts import MAX_FACT_CHARS, Fact, PendingFacts
from assistant.memory.memory_file import MemoryFile
from assistant.memory.unkeepable import reason_not_to_keep
from assistant.storage.conversation_database import ConversationFileError
from assistant.support.disk_threads import DiskThreads
from assistant.support.paths import HomeError
from web.access.body_limits import MEMORY_PATH
from web.http_api.bodies import BodyReader
from web.http_api.errors import ApiError
from web.http_api.serving import respond
from web.page_api.conversations import Answered, ByMethod, owner_of
from web.wire.values.fields import IDENTIFIER, Field, Table, flag, text

if TYPE_CHECKING:
    from assistant.setup.answering.user_memory import UserMemory

Result = TypeVar("Result")

MAX_WAITING = 16
"""Requests that wait for the file; more are refused."""

_CHANGE: Table = {
    "fact": Field(IDENTIFIER),
    "text": Field(text(max_chars=MAX_FACT_CHARS, min_chars=1)),
    "enabled": Field(flag),
}


def memory_routes(
    memory: "Callable[[], UserMemory | None]",
    open_file: Callable[[], MemoryFile],
    bodies: BodyReader,
    answered: Answered,
) -> list[BaseRoute]:
    """Returns the routes. Arguments as for `PageMemory`."""
    page = PageMemory(memory, open_file, bodies)
    many = {
        "GET": answered("GET", page.all),
        "POST": answered("POST", page.change),
        "DELETE": answered("DELETE", page.delete_all),
    }
    return [Route(MEMORY_PATH, ByMethod(many)), Route(f"{MEMORY_PATH}/{{key}}", answered("DELETE", page.delete))]


@dataclass(slots=True)
class PageMemory:
    """Answers the requests. The file is used in one thread of its own, one request at a time.

    Attributes:
        memory: Returns the memory of the server; None: it remembers nothing.
        open_file: Returns the file, which may have facts from a time when the memory was on. Raises HomeError.
        bodies: Reads the requests.
    """

    memory: "Callable[[], UserMemory | None]"
    open_file: Callable[[], MemoryFile]
    bodies: BodyReader
    _file: MemoryFile | None = None
    _thread: DiskThreads = field(default_factory=lambda: DiskThreads("memory of the page", 1))
    _waiting: int = 0

    async def all(self, request: Request, send: Send) -> None:
        """Answers GET: the facts, the newest first."""
        owner, offered = owner_of(request), self.memory() is not None
        kept = await self._call(lambda file: file.exchange(owner, PendingFacts({})))
        data = [{"key": fact.key, "text": fact.text, "said_at": fact.said_at} for fact in reversed(kept.facts or ())]
        state = {"data": data, "enabled": offered and kept.enabled, "offered": offered}
        await respond(request, JSONResponse(state), send)

    async def change(self, request: Request, send: Send) -> None:
        """Answers POST: new words of a fact, or whether anything is to be remembered."""
        owner = owner_of(request)
        fields = await self.bodies.fields(request, _CHANGE)
        if self.memory() is None:
            raise ApiError(404, "memory_off", "this server remembers nothing: memory.enabled is false")
        if "enabled" in fields:
            await self._call(partial(_enable, owner=owner, enabled=fields["enabled"]))
        elif "fact" in fields and "text" in fields:
            new = " ".join(fields["text"].split())
            if not new or reason_not_to_keep(new) is not None:
                raise ApiError(400, "not_kept", "secrets and instructions are not remembered", "text")
            if not await self._call(partial(_edit, owner=owner, key=fields["fact"], text=new)):
                raise _not_found()
        else:
            raise ApiError(400, "missing_required_parameter", "send enabled, or fact and text", "fact")
        self._changed(owner)
        await respond(request, JSONResponse({"changed": True}), send)

    async def delete(self, request: Request, send: Send) -> None:
        """Answers DELETE of one fact."""
        owner, key = owner_of(request), str(request.path_params["key"])
        if not await self._call(partial(_delete, owner=owner, key=key)):
            raise _not_found()
        self._changed(owner)
        await respond(request, JSONResponse({"deleted": 1}), send)

    async def delete_all(self, request: Request, send: Send) -> None:
        """Answers DELETE of all facts of this browser."""
        owner = owner_of(request)
        deleted = await self._call(lambda file: file.delete_all(owner))
        self._changed(owner)
        await respond(request, JSONResponse({"deleted": deleted}), send)

    def _changed(self, owner: str) -> None:
        """Has running conversations of the owner use what was changed."""
        memory = self.memory()
        if memory is not None:
            memory.keeper.changed(owner)

    async def _call(self, call: Callable[[MemoryFile], Result]) -> Result:
        """Uses the file in the thread. Raises ApiError."""
        if self._waiting >= MAX_WAITING:
            raise ApiError.busy("too many requests wait for the memory; try again in a moment", 1)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._use, call)
        except (ConversationFileError, HomeError) as error:
            text = getattr(error, "text", str(error))
            raise ApiError(503, "memory_unavailable", f"{text}. Tell whoever runs the server.") from error
        finally:
            self._waiting -= 1

    def _use(self, call: Callable[[MemoryFile], Result]) -> Result:
        """Runs in the thread."""
        memory = self.memory()
        if memory is not None:
            return call(memory.keeper.file)
        if self._file is None:
            self._file = self.open_file()
        try:
            return call(self._file)
        finally:
            self._file.close()  # nobody else closes it


def _enable(file: MemoryFile, *, owner: str, enabled: bool) -> None:
    file.enable(owner, enabled=enabled)


def _fact(file: MemoryFile, owner: str, key: str) -> Fact | None:
    return next((fact for fact in file.facts(owner) if fact.key == key), None)


def _edit(file: MemoryFile, *, owner: str, key: str, text: str) -> bool:
    fact = _fact(file, owner, key)
    if fact is not None:
        file.change(owner, {key: replace(fact, text=text)})
    return fact is not None


def _delete(file: MemoryFile, *, owner: str, key: str) -> bool:
    fact = _fact(file, owner, key)
    if fact is not None:
        file.change(owner, {key: None})
    return fact is not None


def _not_found() -> ApiError:
    return ApiError(404, "fact_not_found", "nothing of this key is remembered for this browser; it may be deleted")
