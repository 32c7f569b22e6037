"""Translates between a WebRTC call and the Realtime protocol, so that a call is a session like any other. No I/O.

    client ─Opus─▶ append ─▶ session ─output_audio.delta─▶ OutgoingAudio ─Opus─▶ client
    client ◀──────────── events on the data channel ────────────▶ session

The session gets reports of what the client has played: what was sent, a little later.
"""

import binascii
import json
import secrets
from collections import deque
from typing import Any

import numpy as np

from audio.units import Pcm
from web.webrtc.outgoing import OutgoingAudio
from web.wire.incoming.event_limits import refusal

FIRST_DELAY_S = 0.08
"""From sending a frame to its sound at the client, in a fast network: the client's jitter buffer and its device."""

_LOOKED_AT = ("append", "session.", "playout")
"""A message with none of these is passed on as it is."""

CALL_EVENTS = ("output_audio_buffer.started", "output_audio_buffer.stopped")
"""Events that only a call has."""

_INTERRUPTED = frozenset({"cancelled", "failed"})
"""Statuses of a response whose rest must not be played."""

_MOST_BESIDE = 32
"""Out-of-band responses that are known: more than can be in progress."""

_DELTA = '{"type":"response.output_audio.delta"'


class CallBridge:
    """Translates the events of one call.

    Attributes:
        to_session: Messages for the session, in order; the caller takes them.
        to_client: Messages for the data channel, in order; the caller takes them.
        outgoing: The sound of the replies.
        delay_s: Time from sending a frame to its sound at the client.
        resumable: Whether the client knows that a session can be resumed.
        refused: Code and message of an error that came before the session began.
        retry_after_s: Time after which the client should try again, as that error says; None: it says nothing.
        began: Whether the session began.
    """

    def __init__(self) -> None:
        """Starts before the session."""
        self.to_session: deque[str] = deque()
        self.to_client: deque[str] = deque()
        self.outgoing = OutgoingAudio()
        self.outgoing.started = lambda response_id: self._tell_buffer("started", response_id)
        self.outgoing.stopped = lambda response_id: self._tell_buffer("stopped", response_id)
        self.delay_s = FIRST_DELAY_S
        self.resumable = False
        self.began = False
        self.refused: tuple[str, str] | None = None
        self.retry_after_s: float | None = None
        self._beside: deque[str] = deque(maxlen=_MOST_BESIDE)  # out-of-band responses
        self._cleared: str | None = None  # the response whose sound was dropped last
        self._played_ms: dict[str, float] = {}

    # ---- from the client ----

    def on_sound(self, pcm: Pcm) -> None:
        """Takes sound of the client: int16 (n,) at 24 kHz."""
        sound = binascii.b2a_base64(pcm.astype("<i2", copy=False).tobytes(), newline=False).decode("ascii")
        self.to_session.append(f'{{"type":"input_audio_buffer.append","audio":"{sound}"}}')

    def on_message(self, text: str) -> None:
        """Takes a message of the data channel. One that is too costly to parse is left to the session."""
        if any(part in text for part in _LOOKED_AT) and refusal(text, len(text), len(text)) is None:
            try:
                event = json.loads(text)
            except (ValueError, RecursionError):
                event = None  # the session answers it
            if isinstance(event, dict) and (rewritten := self._rewritten(event)) is not event:
                if rewritten is not None:
                    self.to_session.append(json.dumps(rewritten))
                return
        self.to_session.append(text)

    def _rewritten(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the event for the session: the same object if it stays as it is; None if it is refused."""
        kind = event.get("type")
        if kind == "input_audio_buffer.append":
            self._refuse(event, "type", "the sound of a WebRTC call is its audio track; there is no append")
            return None
        if kind == "session.update" and isinstance(event.get("session"), dict):
            return self._session_update(event)
        if kind == "repartee.playout" and isinstance(event.get("response_id"), str):
            played_ms = self._played_ms.get(event["response_id"], 0.0)
            return {**event, "played_ms": played_ms, "finished": False}
        return event

    def _session_update(self, event: dict[str, Any]) -> dict[str, Any]:
        session, changed = event["session"], False
        for side in ("input", "output"):
            audio = session.get("audio")
            part = audio.get(side) if isinstance(audio, dict) else None
            form = part.get("format") if isinstance(part, dict) else None
            if part is not None and isinstance(form, dict) and form.get("type") in ("audio/pcmu", "audio/pcma"):
                path = f"session.audio.{side}.format"
                self._refuse(event, path, f"{path}: a WebRTC call is always in Opus; leave it out")
                del part["format"]
                changed = True
        if isinstance(session.get("repartee"), dict):
            self.resumable = True
            session["repartee"]["playout"] = True  # the call itself reports
            changed = True
        return dict(event) if changed else event

    def _refuse(self, event: dict[str, Any], param: str, message: str) -> None:
        event_id = event.get("event_id")
        error = {
            "type": "invalid_request_error",
            "code": "not_supported",
            "message": f"{event['type']}: {message}",
            "param": param,
            "event_id": event_id if isinstance(event_id, str) else None,
        }
        self._tell("error", error=error)

    # ---- from the session ----

    def on_event(self, text: str) -> None:
        """Takes an event of the session."""
        if text.startswith(_DELTA):
            self._play_delta(json.loads(text))
            return
        kind = _type_of(text)
        if kind == "response.done":
            self._response_done(json.loads(text)["response"])
        elif kind == "response.created":
            response = json.loads(text)["response"]
            if response.get("conversation_id", "") is None:
                self._beside.append(response["id"])
        elif kind in {"conversation.item.truncated", "conversation.item.deleted"}:
            self._drop(item_id=json.loads(text)["item_id"])
        elif kind == "output_audio_buffer.cleared":
            if json.loads(text)["response_id"] == self._cleared:
                return  # the client was told
        elif not self.began:
            event = json.loads(text)
            if kind == "error":
                self.refused = (str(event["error"]["code"]), str(event["error"]["message"]))
                self.retry_after_s = event["error"].get("retry_after_s")
            self.began = kind == "session.created"
            if self.began and event["session"].get("repartee", {}).get("events"):
                self.resumable = True  # it was declared in the form, or on an earlier connection
            if self.began and any(side["format"]["type"] != "audio/pcm" for side in event["session"]["audio"].values()):
                self.began, self.refused = False, ("not_supported", "a conversation in G.711 cannot go on over WebRTC")
        self.to_client.append(text)

    def _play_delta(self, event: dict[str, Any]) -> None:
        pcm = np.frombuffer(binascii.a2b_base64(event["delta"]), "<i2").astype(np.int16, copy=False)
        response_id = event["response_id"]
        if not self.outgoing.push_chunk(response_id, event["item_id"], pcm, beside=response_id in self._beside):
            self._drop(response_id=response_id)

    def _response_done(self, response: dict[str, Any]) -> None:
        if response["status"] in _INTERRUPTED:
            self._drop(response_id=response["id"])
        else:
            self.outgoing.complete(response["id"])

    def _drop(self, *, response_id: str = "", item_id: str = "") -> None:
        dropped = self.outgoing.drop(response_id=response_id, item_id=item_id)
        if dropped is not None:
            self._cleared = dropped
            self._tell_buffer("cleared", dropped)

    def too_long(self, text: str) -> str:
        """Returns the error for an event that is too long for the data channel."""
        message = f"an event of type {_type_of(text)} is too long for the data channel; connect by WebSocket to get it"
        error = {
            "type": "server_error",
            "code": "message_too_large",
            "message": message,
            "param": None,
            "event_id": None,
        }
        return json.dumps({"type": "error", "event_id": f"event_{secrets.token_hex(8)}", "error": error})

    # ---- playback ----

    def next_frame(self, now_s: float) -> Pcm | None:
        """Takes the frame to send now; None: silence. Reports what was played."""
        for played in self.outgoing.reports(now_s):
            self._played_ms[played.response_id] = played.played_ms
            while len(self._played_ms) > 4:
                del self._played_ms[next(iter(self._played_ms))]
            self.to_session.append(
                json.dumps(
                    {
                        "type": "repartee.playout",
                        "response_id": played.response_id,
                        "played_ms": played.played_ms,
                        "finished": played.finished,
                    }
                )
            )
        return self.outgoing.next_frame(now_s + self.delay_s)

    def _tell_buffer(self, what: str, response_id: str) -> None:
        self._tell(f"output_audio_buffer.{what}", response_id=response_id)

    def _tell(self, kind: str, **fields: object) -> None:
        event = {"type": kind, "event_id": f"event_{secrets.token_hex(8)}", **fields}
        self.to_client.append(json.dumps(event, separators=(",", ":")))


def _type_of(text: str) -> str:
    """Returns the type of a server event, with which each begins."""
    return text[9 : text.find('"', 9)]
