"""Checks limits on a client's events before their JSON is parsed. No I/O, no clock.

The JSON parser blocks the event loop: for about 20 ms per megabyte of text, and up to half a second per megabyte of
brackets. Only `input_audio_buffer.append`, and a message with a recording or an image, need to be large: they have few
values.
"""

import re

from web.wire.values.errors import ProtocolError

APPEND = "input_audio_buffer.append"
ITEM_CREATE = "conversation.item.create"

MAX_EVENT_BYTES = 1_000_000
"""Longest event other than an append: about 150,000 words, more than any model's context."""

MAX_MEDIA_EVENT_BYTES = 10_000_000
"""Longest `conversation.item.create` with recordings or images: two minutes of sound."""
MEDIA_SHARE = 3
"""A byte of such an event costs a third of another one: checking and decoding takes 7 ms per megabyte."""

MAX_VALUES = 20_000
"""Maximum number of values in one event: 128 tools (the limit of a session) with 150 values each. Parsing takes about
10 ms."""

UNCHECKED_CHARS = 1 << 14
"""Shorter messages, nearly all of them, are not checked: parsing takes at most about a millisecond."""

BYTES_PER_S = 2_000_000
"""Bytes of one client's events that are processed per second, without audio, which has its own pace. At 20 ms per
megabyte this is 4 % of the event loop's time."""
ANSWER_SHARE = 8
"""A byte of an answer costs an eighth of a byte of an event, because it is not parsed."""
BURST_BYTES = 2_000_000
"""Bytes at once, for a client that sends the history of a conversation."""
EVENT_BYTES = 4000
"""Cost added for each event, which limits them to 500 a second. An event takes 50 to 400 µs: at most a fifth of the
event loop's time."""
MAX_REFUSED = 20
MAX_REFUSED_BYTES = 64 << 20
"""Messages that are refused unread (too large, too many values, binary), and their bytes, after which the connection is
closed: a client that goes on sending them has an error that waiting does not remedy."""
REFUSED_RESET_S = 60.0
"""Time without such a message after which they are counted from 0 again, for well-behaved clients of long sessions."""
COSTLY_BYTES = 2000
"""After an event that costs more, other tasks of the event loop run."""
MIN_WAIT_S = 0.02
"""A shorter wait is added to that of the next event, because each wait costs time itself."""

_HEAD_CHARS = 1 << 16
_MAX_MEDIA_SIGNS = 20_000
_MAX_MEMBERS = 8
_MAX_ESCAPED_QUOTES = 8
_MAX_BACKSLASHES = 64
_MAX_QUOTES = 4 * MAX_VALUES
"""Two quotes for each key and each value."""

_LONG_CHARS = 1 << 16
_SIGNS = " \\[{"
"""Signs that are counted, and that base64 does not have. A comma is in the head of a data URL only."""
_URL_HEAD_CHARS = 64

_BLANK = r"[ \t\r\n]{0,1000}"
_OPENING = re.compile(rf"{_BLANK}\{{{_BLANK}")
_KEY = re.compile(rf'"([^"\\]{{0,64}})"{_BLANK}:{_BLANK}')
_WORD = re.compile(r"[-+.0-9A-Za-z]{1,64}")
_NEXT = re.compile(rf"{_BLANK}(?:(,){_BLANK}|\}}{_BLANK}$)")


def refusal(text: str, size: int, longest: int) -> ProtocolError | None:
    """Returns the error for a message that must not be parsed, or None if it may be parsed.

    Args:
        text: The message.
        size: Its size in bytes on the wire.
        longest: Longest message in bytes.
    """
    if size > longest:
        return _too_large(f"a message may have at most {longest} bytes; this one has {size}")
    if len(text) <= UNCHECKED_CHARS or is_append(text):
        return None
    outline = outline_of(text)
    if is_media(outline):
        if size > MAX_MEDIA_EVENT_BYTES:
            return _too_large(f"an item may have at most {MAX_MEDIA_EVENT_BYTES} bytes; this one has {size}")
    elif size > MAX_EVENT_BYTES:
        return _too_large(f"an event other than {APPEND} may have at most {MAX_EVENT_BYTES} bytes; this one has {size}")
    if has_too_many_values(outline):
        return ProtocolError("too_many_values", f"an event may have at most {MAX_VALUES} values; this one has more")
    return None


def cost_of(text: str, size: int) -> int:
    """Returns the cost of a message of this size, in bytes of a usual event."""
    return size // MEDIA_SHARE if len(text) > UNCHECKED_CHARS and is_media(outline_of(text)) else size


def utf8_bytes(text: str) -> int:
    """Returns the size of a text in UTF-8. The usual message is audio in ASCII, whose size is known at once."""
    return len(text) if text.isascii() else len(text.encode())


def outline_of(text: str) -> str:
    """Returns a text without its long strings of base64. Checks of it take a tenth of the time."""
    if len(text) <= _LONG_CHARS or not text.isascii():
        return text
    parts = text.split('"', _MAX_QUOTES)
    return '"'.join("" if len(part) > _LONG_CHARS and _may_be_base64(part) else part for part in parts)


def _may_be_base64(part: str) -> bool:
    return part.find(",", _URL_HEAD_CHARS) < 0 and not any(sign in part for sign in _SIGNS)


def is_media(text: str) -> bool:
    """Returns whether a text is a `conversation.item.create` that is recordings or images for the most part.

    Words have blanks, so the text outside of base64 is short.
    """
    return (
        f'"{ITEM_CREATE}"' in text[:_HEAD_CHARS] + text[-_HEAD_CHARS:]
        and any(f'"{kind}"' in text for kind in ("input_audio", "input_image", "output_audio"))
        and text.isascii()
        and text.count(" ") + text.count('"') + text.count("\\") + text.count("[") <= _MAX_MEDIA_SIGNS
    )


def is_append(text: str) -> bool:
    """Returns whether a text is an `input_audio_buffer.append`, wherever its type field is.

    An append is an object without lists or objects in it. This visits its members and skips over its strings, which
    takes microseconds for any length.
    """
    return append_members(text) is not None


def append_members(text: str) -> dict[str, tuple[int, int]] | None:
    """Returns where the values of an `input_audio_buffer.append` begin and end; None for another text."""
    opening = _OPENING.match(text)
    members: dict[str, tuple[int, int]] = {}
    if opening is None:
        return None
    position = opening.end()
    for _ in range(_MAX_MEMBERS):
        key = _KEY.match(text, position)
        end = -1 if key is None else _end_of_value(text, key.end())
        following = None if end < 0 else _NEXT.match(text, end)
        if key is None or following is None:
            return None
        members[key[1]] = key.end(), end
        if following[1] is None:
            begin, end = members.get("type", (0, 0))
            return members if text[begin : min(end, begin + 64)] == f'"{APPEND}"' else None
        position = following.end()
    return None


def has_too_many_values(text: str) -> bool:
    """Returns whether a JSON text has more than MAX_VALUES values or keys. Linear time, without a step for each value.

    The contents of strings do not count: prose has commas, and a function's output may be JSON itself.
    """
    if _separators(text) + text.count('"') // 2 <= MAX_VALUES:
        return False
    # Once escaped quotes are removed, every second part between quotes is outside of strings. Escaped backslashes go
    # first.
    parts = text.replace("\\\\", "").replace('\\"', "").split('"', _MAX_QUOTES)
    return len(parts) > _MAX_QUOTES or _separators("".join(parts[::2])) > MAX_VALUES


def _separators(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{")


def _end_of_value(text: str, position: int) -> int:
    """Returns the position after a string, number or word; -1 for anything else and for a string with many escapes."""
    if not text.startswith('"', position):
        word = _WORD.match(text, position)
        return -1 if word is None else word.end()
    end = position
    for _ in range(_MAX_ESCAPED_QUOTES):
        end = text.find('"', end + 1)
        if end < 0:
            return -1
        before = text[max(position + 1, end - _MAX_BACKSLASHES) : end]
        backslashes = len(before) - len(before.rstrip("\\"))
        if backslashes == _MAX_BACKSLASHES:
            return -1
        if backslashes % 2 == 0:
            return end + 1
    return -1


class EventBudget:
    """Limits the server time that one client's events take, with a token bucket of bytes."""

    def __init__(self) -> None:
        """Starts with a full bucket."""
        self._paid_until_s = 0.0

    def wait_s(self, size: int, now_s: float) -> float:
        """Returns for how long the client is not read after an event of this cost in bytes; 0: it is read at once."""
        self._paid_until_s = max(self._paid_until_s, now_s) + (size + EVENT_BYTES) / BYTES_PER_S
        wait_s = self._paid_until_s - now_s - BURST_BYTES / BYTES_PER_S
        return wait_s if wait_s >= MIN_WAIT_S else 0.0


class RefusedMessages:
    """Counts the messages of one connection that were refused unread."""

    def __init__(self) -> None:
        self._messages = self._bytes = 0
        self._last_s = 0.0

    def problem(self, size: int, now_s: float) -> str | None:
        """Counts a refused message of this size in bytes. Returns the reason if the connection must be closed."""
        if now_s - self._last_s >= REFUSED_RESET_S:
            self._messages = self._bytes = 0
        self._last_s = now_s
        self._messages += 1
        self._bytes += size
        if self._messages <= MAX_REFUSED and self._bytes <= MAX_REFUSED_BYTES:
            return None
        return f"{self._messages} messages with {self._bytes} bytes were refused; see the errors"


def _too_large(message: str) -> ProtocolError:
    return ProtocolError("message_too_large", message)
