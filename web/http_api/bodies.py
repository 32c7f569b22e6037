"""Reads request bodies within limits of size, time and number. No other module reads one.

A body is read only after access control has allowed the request. While it is not read, the client is not read either.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from web.access.access_control import CALLS_PATH
from web.access.body_limits import FORM_BYTES, MAX_BYTES, MAX_JSON_BYTES, MAX_UPLOAD_BYTES
from web.http_api.errors import ApiError
from web.wire.incoming.event_limits import MAX_VALUES, has_too_many_values
from web.wire.incoming.parse import object_of
from web.wire.values.fields import FieldError, Table, checked

READ_AND_DROPPED = 2
"""A body of up to this many times the limit is read and dropped: a client that still sends does not see an answer."""

BODY_TIMEOUT_S = 60.0
"""Time limit for a whole body."""
STALL_TIMEOUT_S = 10.0
"""Time limit for the next part of a body."""
OFFER_TIMEOUT_S = 10.0
"""Time limit for the offer of a call, a few kilobytes."""

PARSED_BYTES = 8 << 10
"""Bytes of a form that are parsed before other tasks of the event loop run."""

MAX_FIELDS = 64
MAX_TEXTS = 8
"""Fields of a form of texts that may be sent as files."""
MAX_FIELD_BYTES = 16 << 10


@dataclass(slots=True)
class BodyReader:
    """Reads bodies, a limited number at a time, which bounds the memory they occupy.

    Attributes:
        most_objects: JSON bodies and offers that are read at a time.
        most_of_address: Those of one address, so that a client that sends slowly does not stop the others.
        most_forms: Forms that are read at a time.
    """

    most_objects: int = 50
    most_of_address: int = 12
    most_forms: int = 8
    _objects: Counter[str] = field(default_factory=Counter, init=False)
    _forms: int = field(default=0, init=False)

    async def json_object(self, request: Request) -> dict[str, Any]:
        """Returns the JSON object in the body; an empty body is an empty object. Raises ApiError."""
        text = await self.text(request)
        if not text:
            return {}
        if has_too_many_values(text):  # parsing it would block the event loop
            raise ApiError(400, "invalid_json", f"the body has more than {MAX_VALUES} values")
        try:
            return object_of(text)
        except FieldError as error:
            raise ApiError.of_field(error) from error

    async def fields(self, request: Request, table: Table) -> dict[str, Any]:
        """Returns the fields of the JSON object in the body, checked by the table. Raises ApiError."""
        return checked_fields(await self.json_object(request), table)

    async def text(self, request: Request) -> str:
        """Returns the body as text. Raises ApiError."""
        with self._object(request):
            async with _bounded(request) as chunks:
                body = b"".join([chunk async for chunk in chunks])
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            raise ApiError(400, "invalid_json", "the body is not UTF-8") from error

    async def text_form(self, request: Request) -> dict[str, str]:
        """Returns the fields of a multipart body, all of which are texts of up to `MAX_JSON_BYTES`. Raises ApiError."""
        with self._object(request):
            items = await _items(request, max_files=MAX_TEXTS, max_part_size=MAX_JSON_BYTES)
            return {name: await _text_of(value, name) for name, value in items}

    @contextmanager
    def _object(self, request: Request) -> Generator[None]:
        """Occupies a place while a body other than a recording is read. Raises ApiError."""
        address = request.client.host if request.client else ""
        if self._objects.total() >= self.most_objects or self._objects[address] >= self.most_of_address:
            raise _too_many()
        self._objects[address] += 1
        try:
            yield
        finally:
            self._objects[address] -= 1
            if not self._objects[address]:
                del self._objects[address]

    async def form(self, request: Request) -> "Form":
        """Returns the fields of a multipart body. Its file is kept in memory only. Raises ApiError."""
        kind, _options = parse_options_header(request.headers.get("content-type", ""))
        if kind != b"multipart/form-data":
            raise ApiError(
                415, "invalid_content_type", "the body must be multipart/form-data, with the sound in its file"
            )
        if self._forms >= self.most_forms:
            raise _too_many()
        self._forms += 1
        try:
            return await _parsed(request)
        finally:
            self._forms -= 1


@dataclass(slots=True)
class Form:
    """A multipart form.

    Attributes:
        fields: The values of each field.
        file: The content of the field "file"; None if there is none.
    """

    fields: dict[str, list[str]]
    file: bytes | None


class _InMemoryParser(MultiPartParser):
    """Never writes what a user said to the disk."""

    spool_max_size = MAX_UPLOAD_BYTES + FORM_BYTES


async def _items(request: Request, *, max_files: int, max_part_size: int) -> list[tuple[str, UploadFile | str]]:
    async with _bounded(request) as chunks:
        parser = _InMemoryParser(
            request.headers, chunks, max_files=max_files, max_fields=MAX_FIELDS, max_part_size=max_part_size
        )
        try:
            return (await parser.parse()).multi_items()
        except MultiPartException as error:
            raise ApiError(400, "invalid_multipart", f"the form cannot be read: {error.message}") from error


async def _text_of(value: UploadFile | str, name: str) -> str:
    """Returns a field that may have been sent as a file, as browsers and clients do for a part with a content type."""
    if isinstance(value, str):
        return value
    with value.file as file:
        try:
            return file.read().decode()
        except UnicodeDecodeError as error:
            raise ApiError(400, "invalid_value", f"{name} is not UTF-8", name) from error


async def _parsed(request: Request) -> Form:
    form = Form({}, None)
    for name, value in await _items(request, max_files=1, max_part_size=MAX_FIELD_BYTES):
        if isinstance(value, UploadFile):
            with value.file as file:
                if name != "file":
                    raise ApiError(400, "unknown_parameter", "the only file of the form must be file", "file")
                form.file = file.read()
        else:
            form.fields.setdefault(name, []).append(value)
    return form


@asynccontextmanager
async def _bounded(request: Request) -> AsyncGenerator[AsyncGenerator[bytes]]:
    """Gives the parts of a body within the time limit. Raises ApiError."""
    is_offer = request.scope["path"] == CALLS_PATH
    try:
        async with asyncio.timeout(min(OFFER_TIMEOUT_S, BODY_TIMEOUT_S) if is_offer else BODY_TIMEOUT_S):
            yield _limited(request, MAX_BYTES[request.scope["path"]])
    except TimeoutError as error:
        raise ApiError(408, "body_timeout", "the body did not arrive in time") from error


async def _limited(request: Request, most: int) -> AsyncGenerator[bytes]:
    """Yields the parts of a body. Raises ApiError if it is too long, TimeoutError if it stalls."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > READ_AND_DROPPED * most:
        raise _too_large(most)
    parts = request.stream()
    received = 0
    while True:
        async with asyncio.timeout(STALL_TIMEOUT_S):
            part = await anext(parts, None)
        if part is None:
            break
        received += len(part)
        if received > READ_AND_DROPPED * most:
            break
        if received <= most:
            for start in range(0, len(part), PARSED_BYTES):
                yield part[start : start + PARSED_BYTES]
                await asyncio.sleep(0)
    if received > most:
        raise _too_large(most)


def _too_many() -> ApiError:
    return ApiError.busy("the server is reading its maximum number of bodies; try again in a moment", 1)


def _too_large(most: int) -> ApiError:
    return ApiError(413, "body_too_large", f"the body is too large; allowed: {most} bytes")


def checked_fields(values: object, table: Table) -> dict[str, Any]:
    """Returns the fields of a request, checked by the table. Raises ApiError for the first invalid one."""
    try:
        return checked(values, "", table)
    except FieldError as error:
        raise ApiError.of_field(error) from error
