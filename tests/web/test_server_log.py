"""Lines of the server's log: no key of a client, and no line that a client could forge."""

import logging
from collections.abc import Mapping

import pytest

from web.server_log import HIDDEN, LOGGING, LogFormatter, without_keys

KEY = "hunter2-is-a-long-secret"


def formatted(text: str, *arguments: object, error: Exception | None = None) -> str:
    caught = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, text, arguments, caught)
    return LogFormatter("repartee: %(message)s").format(record)


@pytest.mark.parametrize(
    "sent",
    [
        f"(b'authorization', b'Bearer {KEY}')",
        f"authorization: bearer  {KEY}",
        f"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.{KEY}",
        f"ek_{KEY}",
        f"GET /v1/phone?token={KEY} HTTP/1.1",
        f"/v1/realtime?model=m&resume={KEY}&response_id=1",
        f"redis://user:{KEY}@10.0.0.7:6379/0",
    ],
    ids=["header", "lower case", "subprotocol", "client secret", "token of a call", "resume token", "address"],
)
def test_key_is_hidden_in_message_and_traceback(sent: str) -> None:
    for line in (formatted("broken: %s", sent), formatted("broken", error=ValueError(sent))):
        assert KEY not in line
        assert HIDDEN in line


@pytest.mark.parametrize(
    "text", ["the Bearer header is missing", "call CA1: the token is missing or wrong", "http://localhost:8765/x@y"]
)
def test_text_without_a_key_is_unchanged(text: str) -> None:
    assert without_keys(text) == text


def test_message_of_a_client_cannot_forge_a_line() -> None:
    for end in ("\n", "\r\n", "\r"):
        lines = formatted("refused: %s", f"x{end}repartee: all is well").splitlines()
        assert lines == ["repartee: refused: x", "    repartee: all is well"]


def test_traceback_stays_readable() -> None:
    try:
        int("no")
    except ValueError as error:
        lines = formatted("a session ended because of an error\n", error=error).splitlines()
    assert lines[0] == "repartee: a session ended because of an error"
    assert lines[1].startswith("Traceback")
    assert lines[-1].startswith("ValueError: ")


def test_every_handler_of_the_server_hides_keys() -> None:
    handlers, formatters = LOGGING["handlers"], LOGGING["formatters"]
    assert isinstance(handlers, Mapping)
    assert isinstance(formatters, Mapping)
    assert {one["formatter"] for one in handlers.values()} == set(formatters)
    for one in formatters.values():
        assert one["()"] == f"{LogFormatter.__module__}.{LogFormatter.__qualname__}"
