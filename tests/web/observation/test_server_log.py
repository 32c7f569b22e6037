"""Lines of the server's log: no key of a client, and no line that a client could forge."""

import logging
from collections.abc import Mapping

import pytest

from web.observation.server_log import (
    HIDDEN,
    LOG_EVERY_S,
    LOGGING,
    MAX_OWN_LINES,
    LogFilter,
    LogFormatter,
    without_keys,
)

KEY = "hunter2-is-a-long-secret"


def formatted(text: str, *arguments: object, error: Exception | None = None) -> str:
    caught = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, text, arguments, caught)
    return LogFormatter("repartee: %(message)s").format(record)


SENT = {
    "header": f"(b'authorization', b'Bearer {KEY}')",
    "lower case": f"authorization: bearer  {KEY}",
    "subprotocol": f"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.{KEY}",
    "client secret": f"ek_{KEY}",
    "token of a call": f"GET /v1/phone?token={KEY} HTTP/1.1",
    "resume token": f"/v1/realtime?model=m&resume={KEY}&response_id=1",
    "address": f"redis://user:{KEY}@10.0.0.7:6379/0",
    "other scheme": f"(b'authorization', b'Basic {KEY}')",
    "API key": f"Ocp-Api-Key: {KEY}",
    "JSON": f'"api-key": "{KEY}"',
    "browser's secret": f"Repartee-Browser: {KEY}",
    "query": f"https://llm.example/v1?Access_Token={KEY}",
    "signature": f"https://s3.example/x?a=b&X-Amz-Signature={KEY}",
}


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_key_is_hidden_in_message_and_traceback(sent: str) -> None:
    for line in (formatted("broken: %s", sent), formatted("broken", error=ValueError(sent))):
        assert KEY not in line
        assert HIDDEN in line


@pytest.mark.parametrize(
    "text",
    [
        "the Bearer header is missing",
        "call CA1: the token is missing or wrong",
        "http://localhost:8765/x@y",
        "/v1/realtime?model=m&intent=transcription",
        "the api-key is missing",
        "open it in a browser: it asks for the token",
    ],
)
def test_text_without_a_key_is_unchanged(text: str) -> None:
    assert without_keys(text) == text


def test_message_of_a_client_cannot_forge_a_line() -> None:
    for end in ("\n", "\r\n", "\r"):
        lines = formatted("refused: %s", f"x{end}repartee: all is well").splitlines()
        assert lines == ["repartee: refused: x", "    repartee: all is well"]


def logged(text: str, *, name: str, line: int = 7, level: int = logging.WARNING, error: Exception | None = None) -> str:
    """Returns the line of a record that the filter lets through; "" if it does not."""
    caught = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord(name, level, "x.py", line, text, (), caught)
    return record.getMessage() if FILTER.filter(record) else ""


FILTER = LogFilter()


@pytest.fixture(autouse=True)
def new_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.FILTER", LogFilter())


def raised(number: int) -> Exception:
    try:
        if number:
            float("no")
        int("no")
    except ValueError as error:
        return error
    raise AssertionError


def test_library_logs_one_line_a_minute_from_each_place() -> None:
    lines = [logged(f"Expected boundary character 45, got {n}", name="python_multipart.multipart") for n in range(9)]
    assert lines == ["Expected boundary character 45, got 0 (logged at most once a minute)", *[""] * 8]
    assert logged("another problem", name="python_multipart.multipart", line=8)
    assert logged("Fatal error\nprotocol: x", name="asyncio", error=raised(0))
    assert not logged("Fatal error\nprotocol: y", name="asyncio", error=raised(0))
    assert logged("Fatal error\nprotocol: z", name="asyncio", error=raised(1)), "raised elsewhere"


def test_lines_of_this_program_are_limited_and_the_last_one_says_so() -> None:
    lines = [
        logged(f"a session was refused: {n}", name="web.limits.session_acceptor") for n in range(MAX_OWN_LINES + 9)
    ]
    assert lines[0] == "a session was refused: 0"
    assert lines[MAX_OWN_LINES - 1].endswith(f" (at most {MAX_OWN_LINES} such lines are logged a minute)")
    assert lines[MAX_OWN_LINES:] == [""] * 9
    assert all(logged("call CA1 begins", name="web.phone", level=logging.INFO) for _ in range(2 * MAX_OWN_LINES))


def test_place_that_was_limited_logs_again_after_a_minute() -> None:
    record = logging.LogRecord("asyncio", logging.ERROR, "x.py", 7, "again", (), None)
    at_s = record.created
    allowed = []
    for passed_s in (0.0, LOG_EVERY_S - 1, LOG_EVERY_S, LOG_EVERY_S + 1):
        record.created = at_s + passed_s
        allowed.append(FILTER.filter(record))
    assert allowed == [True, False, True, False]


def test_clock_that_is_set_back_does_not_silence_the_log() -> None:
    record = logging.LogRecord("asyncio", logging.ERROR, "x.py", 7, "again", (), None)
    assert FILTER.filter(record)
    record.created -= 3600
    assert FILTER.filter(record)


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
