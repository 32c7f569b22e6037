"""Asks services for plain answers, and refuses compressed ones before a byte of them is read.

A kilobyte of nested gzip unpacks to hundreds of megabytes, on the event loop.
"""

import re
from collections.abc import Mapping

import httpx

PLAIN: Mapping[str, str] = {"accept-encoding": "identity"}
"""The request header that asks for a plain answer."""

_CODINGS = re.compile(r"[\w-]{1,16}(, ?[\w-]{1,16}){0,3}")


class CompressedError(httpx.DecodingError):
    """An answer is compressed although a plain one was asked for.

    Attributes:
        header: Its status and its Content-Encoding, for people.
    """

    def __init__(self, header: str) -> None:
        """As the class says."""
        super().__init__(f"compressed answer ({header})")
        self.header = header


def coding_of(headers: Mapping[str, str]) -> str:
    """The Content-Encoding of an answer, fit to be quoted; "" for a plain answer."""
    value = headers.get("content-encoding", "").strip().lower()
    if all(coding.strip() in {"", "identity"} for coding in value.split(",")):
        return ""
    return value if _CODINGS.fullmatch(value) else "unknown"


def refuse_compressed(response: httpx.Response) -> None:
    """A response hook of httpx: it runs before the body is read. Raises CompressedError."""
    if coding := coding_of(response.headers):
        raise CompressedError(f"HTTP {response.status_code}, Content-Encoding: {coding}")


async def refuse_compressed_async(response: httpx.Response) -> None:
    """As `refuse_compressed`, for asynchronous clients."""
    refuse_compressed(response)
