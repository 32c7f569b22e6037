"""Builds the client events of the Realtime protocol as text. Pure."""

import binascii
import json

from audio.units import Pcm

Detection = dict[str, object] | None
"""The server's turn detection; None: the client commits turns."""


def update_session(
    detection: Detection,
    interrupt_after_ms: float | None = None,
    *,
    listening_sounds: bool = False,
    markup: bool = False,
    room: str = "",
) -> str:
    """Declares this client's extensions and sets turn detection.

    Args:
        detection: The object the server sent, or None.
        interrupt_after_ms: Shortest speech that may interrupt; None: the server's setting.
        listening_sounds: Whether listening sounds are played.
        markup: Whether code and tables are shown.
        room: Name of the room of this machine; "" if it has none, or if the server knows no rooms.
    """
    repartee: dict[str, object] = {"duck": True, "playout": True, **({"markup": True} if markup else {})}
    if interrupt_after_ms is not None:
        repartee["interrupt_after_ms"] = round(interrupt_after_ms)
    if listening_sounds:
        repartee["listening_sounds"] = True
    if room:
        repartee["room"] = room
    return _text("session.update", session={
        "type": "realtime", "repartee": repartee, "audio": {"input": {"turn_detection": detection}},
    })  # fmt: skip


def append(pcm: Pcm) -> str:
    """Appends audio to the input buffer: int16 (n,) at 24 kHz."""
    sound = binascii.b2a_base64(pcm.astype("<i2", copy=False).tobytes(), newline=False).decode("ascii")
    return f'{{"type":"input_audio_buffer.append","audio":"{sound}"}}'


def commit() -> str:
    """Commits the input buffer as a turn."""
    return _text("input_audio_buffer.commit")


def clear() -> str:
    """Clears the input buffer."""
    return _text("input_audio_buffer.clear")


def typed(name: str, words: str) -> str:
    """Creates a typed user message. `name`: id of the item, and the event id in an error about it."""
    content = [{"type": "input_text", "text": words}]
    item = {"type": "message", "id": name, "role": "user", "content": content}
    return _text("conversation.item.create", event_id=name, item=item)


def answer() -> str:
    """Requests a response."""
    return _text("response.create")


def cancel(response: str) -> str:
    """Cancels a response that is generated or still played."""
    return _text("response.cancel", response_id=response)


def truncate(item: str, heard_ms: float) -> str:
    """Truncates a reply's message to the part that was heard."""
    return _text("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=int(heard_ms))


def silence() -> str:
    """Stops playback."""
    return _text("output_audio_buffer.clear")


def playout(
    response: str,
    played_ms: float,
    *,
    finished: bool,
    latency_ms: float | None = None,
    device_ms: float | None = None,
) -> str:
    """Reports how much of a reply was played. `latency_ms` and `device_ms`: see docs/protocol.md."""
    measured = {"latency_ms": latency_ms, "device_ms": device_ms}
    told = {name: round(ms, 3) for name, ms in measured.items() if ms is not None}
    played_ms = round(max(0.0, played_ms), 3)
    return _text("repartee.playout", response_id=response, played_ms=played_ms, finished=finished, **told)


def wake_word_heard(level_dbfs: float, audio_end_ms: float) -> str:
    """Reports that this machine heard its wake word, which ended at this position of the sent audio."""
    return _text("repartee.wake_word.heard", level_dbfs=round(level_dbfs, 1), audio_end_ms=round(audio_end_ms))


def _text(kind: str, **fields: object) -> str:
    return json.dumps({"type": kind, **fields}, separators=(",", ":"))
