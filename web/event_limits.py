"""Limits on a client's events that are checked before their JSON is parsed. Pure.

The parser holds the event loop for as long as it takes: about 20 ms for a megabyte of text, and up to half a second for
a megabyte of brackets. Only `input_audio_buffer.append` needs to be large, and it is one long string.
"""

import re

from web.wire.errors import ProtocolError

APPEND = "input_audio_buffer.append"

MAX_EVENT_BYTES = 1_000_000
"""Longest event other than an append: some 150,000 words, more than any model's context."""

MAX_VALUES = 20_000
"""Values in one event: 128 tools (the most a session may have) with 150 values each. Parsing them takes about 10 ms."""

UNCHECKED_CHARS = 1 << 14
"""Shorter messages, as nearly all are, cannot take longer than about a millisecond."""

BYTES_PER_S = 2_000_000
"""Bytes of one client's events that are handled per second, sound aside, which is taken at its own pace. At 20 ms
a megabyte this is a twenty-fifth of the event loop's time."""
ANSWER_SHARE = 8
"""A byte of an answer costs an eighth as much: it is not parsed."""
BURST_BYTES = 2_000_000
"""Bytes at once, as where a client sends the history of a conversation."""
EVENT_BYTES = 2000
"""Added for each event, so that there are 1,000 a second at most: the shortest takes 50 to 100 µs."""
COSTLY_BYTES = 2000
"""After an event that costs more, others get their turn."""
LEAST_WAIT_S = 0.02
"""A shorter wait is left to the next event: each wait costs some time itself."""

_MOST_MEMBERS = 8
_MOST_ESCAPED_QUOTES = 8
_MOST_BACKSLASHES = 64
_MOST_QUOTES = 4 * MAX_VALUES
"""Two for each key and each value."""

_BLANK = r"[ \t\r\n]{0,1000}"
_OPENING = re.compile(rf"{_BLANK}\{{{_BLANK}")
_KEY = re.compile(rf'"([^"\\]{{0,64}})"{_BLANK}:{_BLANK}')
_WORD = re.compile(r"[-+.0-9A-Za-z]{1,64}")
_NEXT = re.compile(rf"{_BLANK}(?:(,){_BLANK}|\}}{_BLANK}$)")


def refusal(text: str, size: int, longest: int) -> ProtocolError | None:
    """The error that answers a message which is not to be parsed; None: it may be.

    Args:
        text: The message.
        size: Its bytes on the wire.
        longest: The setting server.max_message_bytes.
    """
    if size > longest:
        return _too_large(f"a message has {longest} bytes at most (server.max_message_bytes), this one {size}")
    if len(text) <= UNCHECKED_CHARS or is_append(text):
        return None
    if size > MAX_EVENT_BYTES:
        return _too_large(f"an event other than {APPEND} has {MAX_EVENT_BYTES} bytes at most, this one {size}")
    if has_too_many_values(text):
        return ProtocolError("too_many_values", f"an event has {MAX_VALUES} values at most, this one has more")
    return None


def is_append(text: str) -> bool:
    """Whether a text is an `input_audio_buffer.append`, wherever its type stands.

    That is an object without lists or objects in it. Its members are walked through and its strings skipped, not read:
    microseconds for any length.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return False
    kind, at = "", opening.end()
    for _ in range(_MOST_MEMBERS):
        key = _KEY.match(text, at)
        if key is None:
            return False
        at = _end_of_value(text, key.end())
        if at < 0:
            return False
        if key[1] == "type":
            kind = text[key.end() : min(at, key.end() + 64)]
        following = _NEXT.match(text, at)
        if following is None:
            return False
        if following[1] is None:
            return kind == f'"{APPEND}"'
        at = following.end()
    return False


def has_too_many_values(text: str) -> bool:
    """Whether a JSON text has more than MAX_VALUES values, or keys. Linear in time, without a step for each value.

    What stands within strings does not count: prose has commas, and a function's output may be JSON itself.
    """
    if _separators(text) + text.count('"') // 2 <= MAX_VALUES:
        return False
    # Without escaped quotes each second part between quotes is outside of strings. Pairs of backslashes go first.
    parts = text.replace("\\\\", "").replace('\\"', "").split('"', _MOST_QUOTES)
    return len(parts) > _MOST_QUOTES or sum(map(_separators, parts[::2])) > MAX_VALUES


def _separators(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{")


def _end_of_value(text: str, at: int) -> int:
    """The position behind a string, number or word; -1: it is something else, or a string with many escapes."""
    if not text.startswith('"', at):
        word = _WORD.match(text, at)
        return -1 if word is None else word.end()
    end = at
    for _ in range(_MOST_ESCAPED_QUOTES):
        end = text.find('"', end + 1)
        if end < 0:
            return -1
        before = text[max(at + 1, end - _MOST_BACKSLASHES) : end]
        backslashes = len(before) - len(before.rstrip("\\"))
        if backslashes == _MOST_BACKSLASHES:
            return -1
        if backslashes % 2 == 0:
            return end + 1
    return -1


class EventBudget:
    """Limits how much of the server's time one client's events take: a token bucket of bytes."""

    def __init__(self) -> None:
        """Full."""
        self._paid_until_s = 0.0

    def wait_s(self, size: int, now_s: float) -> float:
        """How long not to read the client, after an event that cost so many bytes; 0: read on."""
        self._paid_until_s = max(self._paid_until_s, now_s) + (size + EVENT_BYTES) / BYTES_PER_S
        wait_s = self._paid_until_s - now_s - BURST_BYTES / BYTES_PER_S
        return wait_s if wait_s >= LEAST_WAIT_S else 0.0


def _too_large(message: str) -> ProtocolError:
    return ProtocolError("message_too_large", message)
