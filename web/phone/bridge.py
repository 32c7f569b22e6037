"""Translates between a telephone media stream and the Realtime protocol, so that a call is a session like any other.

    provider ─media, dtmf, mark─▶ PhoneBridge ─append, item.create, playout─▶ session
    provider ◀─media, mark, clear─ PhoneBridge ◀─audio delta, done, truncated─ session

No I/O, no clock. A mark follows every piece of a reply. When it comes back, the piece was played at the phone: this is
reported as heard. An interruption clears what the provider has not played.
"""

import json
from collections import deque
from dataclasses import dataclass
from typing import Any

from web.phone.keypad import Keypad
from web.phone.messages import Dtmf, Mark, Media, clear, mark, media

BYTES_PER_MS = 8
"""Mu-law at 8 kHz."""

KEYS_TEXT = "Keypad: {}"
"""The typed user turn of a keypad entry."""

_INTERRUPTED = frozenset({"cancelled", "failed"})
"""Statuses of a response whose rest must not be played."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a reply that is not known to be played. `end_ms`: its end in the reply. The first one has no audio."""

    mark: str
    response_id: str
    item_id: str
    end_ms: float
    payload: str


class PhoneBridge:
    """Translates the messages of one call.

    Attributes:
        to_session: Messages for the session, in order; the caller takes them.
        to_phone: Messages for the provider, in order; the caller takes them.
    """

    def __init__(self, stream_id: str) -> None:
        """`stream_id`: names the stream in messages to the provider."""
        self.to_session: deque[str] = deque()
        self.to_phone: deque[str] = deque()
        self._stream_id = stream_id
        self._keypad = Keypad()
        self._unplayed: deque[_Piece] = deque()
        self._marks = 0
        self._sent_ms: dict[str, float] = {}  # of the responses that are not over
        self._complete: set[str] = set()  # of these, the ones of which everything was sent
        self._under_way = False  # a response is being generated
        self._reply_wanted = False  # for a keypad entry
        self._stopping = False  # a key has stopped the reply, and the session does not know it yet

    # ---- from the provider ----

    def on_message(self, message: Media | Dtmf | Mark, now_s: float) -> None:
        """Translates a message of the provider."""
        match message:
            case Media(payload):
                self.to_session.append(f'{{"type":"input_audio_buffer.append","audio":"{payload}"}}')
            case Mark(name):
                self._played(name)
            case Dtmf(digit):
                self._stop_reply()
                self._enter(self._keypad.press(digit, now_s))

    @property
    def due_s(self) -> float | None:
        """Time at which `on_time` must be called; None: never."""
        return self._keypad.due_s

    def on_time(self, now_s: float) -> None:
        """Ends a keypad entry whose pause is over."""
        self._enter(self._keypad.check(now_s))

    def _stop_reply(self) -> None:
        """A key stops the reply, as speech does."""
        if (self._under_way or self._unplayed) and not self._stopping:
            self._stopping = True
            self._tell("response.cancel")

    def _enter(self, keys: str | None) -> None:
        if keys is None:
            return
        content = [{"type": "input_text", "text": KEYS_TEXT.format(" ".join(keys))}]
        self._tell("conversation.item.create", item={"type": "message", "role": "user", "content": content})
        self._reply_wanted = True
        self._request_reply()

    def _request_reply(self) -> None:
        if self._reply_wanted and not self._under_way:
            self._reply_wanted = False
            self._tell("response.create")

    def _played(self, name: str) -> None:
        """Reports as heard what lies before this mark. Marks of cleared audio come back, too; they are unknown."""
        if all(piece.mark != name for piece in self._unplayed):
            return
        last: dict[str, float] = {}
        while True:
            piece = self._unplayed.popleft()
            last[piece.response_id] = piece.end_ms
            if piece.mark == name:
                break
        for response_id, played_ms in last.items():
            self._report(response_id, played_ms)

    def _report(self, response_id: str, played_ms: float) -> None:
        finished = response_id in self._complete and all(piece.response_id != response_id for piece in self._unplayed)
        if finished:
            self._forget(response_id)
        self._tell("repartee.playout", response_id=response_id, played_ms=played_ms, finished=finished)

    # ---- from the session ----

    def on_event(self, text: str) -> None:
        """Translates an event of the session."""
        event = json.loads(text)
        match event["type"]:
            case "response.output_audio.delta":
                self._play_delta(event)
            case "response.created":
                self._under_way, self._stopping = True, False
            case "response.done":
                self._under_way = self._stopping = False
                self._response_done(event["response"])
                self._request_reply()
            case "conversation.item.truncated" | "conversation.item.deleted":
                self._stopping = False
                self._clear(item_id=event["item_id"])
            case "error" if event["error"].get("code") == "conversation_already_has_active_response":
                self._reply_wanted = True  # asked again after it

    def _play_delta(self, event: dict[str, Any]) -> None:
        response_id, item_id, payload = event["response_id"], event["item_id"], event["delta"]
        if response_id not in self._sent_ms:
            self._sent_ms[response_id] = 0.0
            self._send(response_id, item_id, 0.0, "")  # comes back when playback begins
        self._sent_ms[response_id] += (len(payload) * 3 // 4 - payload.count("=")) / BYTES_PER_MS
        self._send(response_id, item_id, self._sent_ms[response_id], payload)

    def _send(self, response_id: str, item_id: str, end_ms: float, payload: str) -> None:
        self._marks += 1
        piece = _Piece(f"m{self._marks}", response_id, item_id, end_ms, payload)
        self._unplayed.append(piece)
        if payload:
            self.to_phone.append(media(self._stream_id, payload))
        self.to_phone.append(mark(self._stream_id, piece.mark))

    def _response_done(self, response: dict[str, Any]) -> None:
        response_id = response["id"]
        if response["status"] in _INTERRUPTED:
            self._clear(response_id=response_id)
        elif response_id in self._sent_ms:
            self._complete.add(response_id)
            if all(piece.response_id != response_id for piece in self._unplayed):
                self._report(response_id, self._sent_ms[response_id])

    def _clear(self, *, response_id: str = "", item_id: str = "") -> None:
        """Clears the provider's buffer of a reply that was stopped. Audio of other replies is sent again."""
        stopped = {piece.response_id for piece in self._unplayed if piece.item_id == item_id}
        stopped |= {response_id} & set(self._sent_ms)
        if not stopped:
            return
        for stopped_id in stopped:
            self._forget(stopped_id)
        self.to_phone.append(clear(self._stream_id))
        again = [piece for piece in self._unplayed if piece.response_id not in stopped]
        self._unplayed.clear()
        for piece in again:
            self._send(piece.response_id, piece.item_id, piece.end_ms, piece.payload)

    def _forget(self, response_id: str) -> None:
        self._sent_ms.pop(response_id, None)
        self._complete.discard(response_id)

    def _tell(self, kind: str, **fields: object) -> None:
        self.to_session.append(json.dumps({"type": kind, **fields}, separators=(",", ":")))
