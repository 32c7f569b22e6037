"""The server's log: which lines are written, and without which parts.

No line contains a token or a client secret, whoever logs it: libraries quote requests in their errors.
"""

import logging
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass

LOGGING: Mapping[str, object] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"ours": {"()": "web.observation.server_log.LogFilter"}},
    "formatters": {"short": {"()": "web.observation.server_log.LogFormatter", "format": "repartee: %(message)s"}},
    "handlers": {
        "screen": {"class": "web.observation.log_writer.LogWriter", "formatter": "short", "filters": ["ours"]}
    },
    "loggers": {"web.phone": {"level": "INFO"}},  # the beginning and the end of every call
    "root": {"handlers": ["screen"], "level": "WARNING"},
}


LOG_EVERY_S = 60.0
"""Shortest time between two log lines about the same mistake of clients."""
MAX_LINE_CHARS = 500
"""Longest log line of uvicorn in characters; it may quote what a client sent."""
MAX_OWN_LINES = 60
"""Warnings and errors that one place in this program may log a minute; a place in a library: one."""
OWN_PACKAGES = frozenset({"assistant", "audio", "declarations", "llm", "repartee", "web"})
CLIENTS_MISTAKES = (
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
    "No supported WebSocket library detected.",
    "Invalid UTF-8 sequence received from client.",
    "opening handshake failed",
    "parser failed",
    "ASGI callable returned without completing response.",
)
"""Beginnings of log lines of which a client can cause any number."""

_ONCE = "logged at most once a minute"

HIDDEN = "[hidden]"
"""Stands in a log line for a token or a client secret."""

_KEY_CHARS = r"[A-Za-z0-9!#$%&'*+.^_`|~/=-]"
_KEYS = (
    re.compile(rf"(\bbearer\s+){_KEY_CHARS}{{8,}}", re.IGNORECASE),
    re.compile(rf"(openai-insecure-api-key\.){_KEY_CHARS}+"),
    re.compile(r"(\bek_)[A-Za-z0-9_-]{8,}"),
    # The repetitions are bounded, so that a long line of a client takes linear time.
    re.compile(r"([?&][\w.-]{0,32}?(?:token|resume|key|passw|secret|auth|sig)[\w.-]{0,32}=)[^\s&\"']+", re.IGNORECASE),
    re.compile(
        r"((?:authorization|api-key|repartee-browser)\b['\"]?\s*[:,]\s*b?['\"]?)(?!bearer\b)[^\s'\"][^\r\n'\"]*",
        re.IGNORECASE,
    ),
    re.compile(r"(://)[^\s/@]+(?=@)"),  # user name and password of an address
)
_LINE_END = re.compile(r"\r\n?|\n")


class LogFilter(logging.Filter):
    """Filters the log, so that no client can fill the disk with it.

    Drops the error that uvicorn logs for every WebSocket refused with a body, and the traceback that starlette sends as
    text when a second signal ends the server. Logs known mistakes of clients as one short line, at most once a minute.
    Limits all other warnings and errors by the place in the code that logs them, because a client may cause any number.
    """

    def __init__(self) -> None:
        """Starts with nothing logged."""
        super().__init__()
        self._minutes: dict[object, _Minute] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether a record is logged."""
        text = str(record.msg)
        cancelled = record.name == "uvicorn.error" and text.rstrip().endswith("asyncio.exceptions.CancelledError")
        if cancelled or text == "ASGI callable returned without completing handshake.":
            return False
        if record.name.startswith(("uvicorn", "websockets")):
            mistake = next((begin for begin in CLIENTS_MISTAKES if text.startswith(begin)), None)
            if mistake is not None:
                return self._allow_mistake(mistake, record)
        return record.levelno < logging.WARNING or self._allow_line(record)

    def _allow_mistake(self, mistake: str, record: logging.LogRecord) -> bool:
        if not self._counted(mistake, record.created, 1):
            return False
        _set_message(record, f"{record.getMessage()[:MAX_LINE_CHARS]} (an error of a client; {_ONCE})")
        record.exc_info, record.exc_text = None, None
        return True

    def _allow_line(self, record: logging.LogRecord) -> bool:
        is_own = record.name.partition(".")[0] in OWN_PACKAGES
        most = MAX_OWN_LINES if is_own else 1
        count = self._counted(_place_of(record), record.created, most)
        if count == most:
            note = f"at most {most} such lines are logged a minute" if is_own else _ONCE
            _set_message(record, f"{record.getMessage().rstrip()} ({note})")
        return count > 0

    def _counted(self, kind: object, now_s: float, most: int) -> int:
        """Counts a line of this kind. Returns its number within the minute; 0 if there were `most` already."""
        minute = self._minutes.get(kind)
        if minute is None or not 0 <= now_s - minute.began_s < LOG_EVERY_S:
            minute = self._minutes[kind] = _Minute(now_s)
        if minute.lines >= most:
            return 0
        minute.lines += 1
        return minute.lines


@dataclass(slots=True)
class _Minute:
    """The lines of one kind in the minute that began with the first of them."""

    began_s: float
    lines: int = 0


def _place_of(record: logging.LogRecord) -> object:
    """Returns where in the code a record was logged, and where its exception was raised. No client has a say in it."""
    raised: object = None
    if record.exc_info and record.exc_info[0] is not None:
        frames = list(traceback.walk_tb(record.exc_info[2]))
        raised = record.exc_info[0], *((frame.f_code.co_filename, line) for frame, line in frames[-1:])
    return record.pathname, record.lineno, raised


def _set_message(record: logging.LogRecord, text: str) -> None:
    record.msg, record.args = text, ()


class LogFormatter(logging.Formatter):
    """Formats a record without tokens. Further lines of a message are indented, so that no client can forge a line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - of the base class
        """Returns the message with its prefix, without a traceback."""
        return _LINE_END.sub("\n    ", super().formatMessage(record).rstrip())

    def format(self, record: logging.LogRecord) -> str:
        """Returns the message and the traceback, if there is one."""
        return without_keys(super().format(record))


def without_keys(text: str) -> str:
    """Hides tokens and client secrets in the places where clients send them."""
    for pattern in _KEYS:
        text = pattern.sub(rf"\1{HIDDEN}", text)
    return text
