"""The server's log: which lines are written, and without which parts.

No line contains a token or a client secret, whoever logs it: libraries quote requests in their errors.
"""

import logging
import re
from collections.abc import Mapping

LOGGING: Mapping[str, object] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"ours": {"()": "web.server_log.LogFilter"}},
    "formatters": {"short": {"()": "web.server_log.LogFormatter", "format": "repartee: %(message)s"}},
    "handlers": {"screen": {"class": "web.log_writer.LogWriter", "formatter": "short", "filters": ["ours"]}},
    "loggers": {"web.phone": {"level": "INFO"}},  # the beginning and the end of every call
    "root": {"handlers": ["screen"], "level": "WARNING"},
}


LOG_EVERY_S = 60.0
"""Shortest time between two log lines about the same mistake of clients."""
MAX_LINE_CHARS = 500
"""Longest log line of uvicorn in characters; it may quote what a client sent."""
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

HIDDEN = "[hidden]"
"""Stands in a log line for a token or a client secret."""

_KEY_CHARS = r"[A-Za-z0-9!#$%&'*+.^_`|~/=-]"
_KEYS = (
    re.compile(rf"(\bbearer\s+){_KEY_CHARS}{{8,}}", re.IGNORECASE),
    re.compile(rf"(openai-insecure-api-key\.){_KEY_CHARS}+"),
    re.compile(r"(\bek_)[A-Za-z0-9_-]{8,}"),
    re.compile(r"([?&](?:token|resume|key|api_key|password)=)[^\s&\"']+"),
    re.compile(r"(://)[^\s/@]+(?=@)"),  # user name and password of an address
)
_LINE_END = re.compile(r"\r\n?|\n")


class LogFilter(logging.Filter):
    """Filters uvicorn's log.

    Drops the error that uvicorn logs for every WebSocket refused with a body, and the traceback that starlette sends as
    text when a second signal ends the server. Logs each kind of client mistake at most once a minute.
    """

    def __init__(self) -> None:
        """Starts with nothing logged."""
        super().__init__()
        self._last_logged_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether a record is logged."""
        text = str(record.msg)
        if record.name.startswith(("uvicorn", "websockets")):
            mistake = next((begin for begin in CLIENTS_MISTAKES if text.startswith(begin)), None)
            if mistake is not None:
                return self._allow_once_a_minute(mistake, record)
        cancelled = record.name == "uvicorn.error" and text.rstrip().endswith("asyncio.exceptions.CancelledError")
        return not cancelled and text != "ASGI callable returned without completing handshake."

    def _allow_once_a_minute(self, mistake: str, record: logging.LogRecord) -> bool:
        before_s = self._last_logged_s.get(mistake)
        if before_s is not None and record.created - before_s < LOG_EVERY_S:
            return False
        self._last_logged_s[mistake] = record.created
        record.msg = f"{record.getMessage()[:MAX_LINE_CHARS]} (an error of a client; logged at most once a minute)"
        record.args, record.exc_info, record.exc_text = (), None, None
        return True


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
