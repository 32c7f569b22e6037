"""Requests uncompressed answers, and refuses compressed ones before their body is read.

A kilobyte of nested gzip expands to hundreds of megabytes, and would be decoded on the event loop.
"""

import re
from collections.abc import Mapping

import httpx

PLAIN: Mapping[str, str] = {"accept-encoding": "identity"}
"""The request header that asks for an uncompressed answer."""

_CODINGS = re.compile(r"[\w-]{1,16}(, ?[\w-]{1,16}){0,3}")


class CompressedError(httpx.DecodingError):
    """An answer is compressed although an uncompressed one was requested.

    Attributes:
        header: Its status and its Content-Encoding, for messages.
    """

    def __init__(self, header: str) -> None:
        """Initializes the error; see the class."""
        super().__init__(f"compressed answer ({header})")
        self.header = header


def coding_of(headers: Mapping[str, str]) -> str:
    """Returns the Content-Encoding of an answer in a form that can be quoted; "" for an uncompressed answer."""
    value = headers.get("content-encoding", "").strip().lower()
    if all(coding.strip() in {"", "identity"} for coding in value.split(",")):
        return ""
    return value if _CODINGS.fullmatch(value) else "unknown"


def refuse_compressed(response: httpx.Response) -> None:
    """Response hook for httpx, which calls it before the body is read. Raises CompressedError."""
    if coding := coding_of(response.headers):
        raise CompressedError(f"HTTP {response.status_code}, Content-Encoding: {coding}")


async def refuse_compressed_async(response: httpx.Response) -> None:
    """Variant of `refuse_compressed` for asynchronous clients."""
    refuse_compressed(response)
