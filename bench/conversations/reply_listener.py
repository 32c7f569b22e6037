"""Models the client side of a server's events: the replies, and when each became audible.

No I/O, no clock: takes times as values. Sound is played when it arrives, or after the sound before it. An underrun
delays everything after it.
"""

import base64
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from audio.level import OnsetFinder
from audio.units import REPLY_RATE_HZ

Event = dict[str, Any]

SPEECH_STARTED = "input_audio_buffer.speech_started"
DUCK = "repartee.duck"


@dataclass(slots=True)
class HeardReply:
    """One reply. Times are in event loop seconds.

    Attributes:
        id: Id of the response.
        first_s: When its first sound began to play.
        audible_s: When it became audible: the start of sustained sound. None until known.
        plays_until_s: When all sound received so far will have been played.
        text: Transcript so far.
        status: Status of `response.done`; "" before.
        cut: Whether the server stopped it before all of it was played.
    """

    id: str
    first_s: float | None = None
    audible_s: float | None = None
    plays_until_s: float = 0.0
    text: str = ""
    status: str = ""
    cut: bool = False
    _onset: OnsetFinder = field(default_factory=lambda: OnsetFinder(REPLY_RATE_HZ))
    # (first sample, when it plays), until the reply is audible.
    _pieces: list[tuple[int, float]] = field(default_factory=list)
    _samples: int = 0

    def sound(self, now_s: float, data: bytes) -> None:
        """Adds the next piece of sound: PCM16 as on the wire."""
        pcm = np.frombuffer(data, np.dtype("<i2")).astype(np.int16, copy=False)
        begins_s = max(now_s, self.plays_until_s)
        if self.first_s is None:
            self.first_s = begins_s
        self._pieces.append((self._samples, begins_s))
        self._samples += pcm.size
        self.plays_until_s = begins_s + pcm.size / REPLY_RATE_HZ
        if self.audible_s is None:
            self._audible(self._onset.feed(pcm))

    def stop(self, now_s: float) -> None:
        """Stops playback: sound not yet played is discarded."""
        if self.plays_until_s > now_s:
            self.plays_until_s, self.cut = now_s, True

    def audible_ms(self, since_s: float, until_s: float) -> float:
        """Returns how long it was audible between two times, in ms. Gaps in it count."""
        if self.audible_s is None:
            return 0.0
        return max(0.0, min(self.plays_until_s, until_s) - max(self.audible_s, since_s)) * 1000

    @property
    def leading_ms(self) -> float:
        """Returns the time from its first sound to the first audible sound: leading silence, and gaps in it."""
        return 0.0 if self.audible_s is None or self.first_s is None else (self.audible_s - self.first_s) * 1000

    def _audible(self, onset: int | None) -> None:
        if onset is not None:
            start, begins_s = next(piece for piece in reversed(self._pieces) if piece[0] <= onset)
            self.audible_s = begins_s + (onset - start) / REPLY_RATE_HZ
            self._pieces.clear()


@dataclass(slots=True)
class ReplyListener:
    """Events of one connection.

    Attributes:
        replies: Replies in the order of their creation.
        events: (time, type) of every event except sound.
        transcripts: (time, words) of the user's turns.
        traces: (time, record) of finished turns.
        notices: Notices of the server.
        last_error: Code of the last error; "" for none.
        retry_after_s: Time after which the last error says to try again, in seconds; 0: it says none.
    """

    replies: list[HeardReply] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    transcripts: list[tuple[float, str]] = field(default_factory=list)
    traces: list[tuple[float, Event]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    last_error: str = ""
    retry_after_s: float = 0.0

    def receive(self, now_s: float, event: Event) -> None:
        """Processes an event."""
        kind = event["type"]
        match kind:
            case "response.output_audio.delta":
                self._reply(event["response_id"]).sound(now_s, base64.b64decode(event["delta"]))
                return
            case "response.created":
                self.replies.append(HeardReply(event["response"]["id"]))
            case "response.done":
                self._reply(event["response"]["id"]).status = event["response"]["status"]
                if event["response"]["status"] == "cancelled":
                    self._reply(event["response"]["id"]).stop(now_s)
            case "response.output_audio_transcript.delta":
                self._reply(event["response_id"]).text += event["delta"]
            case "conversation.item.input_audio_transcription.completed":
                self.transcripts.append((now_s, event["transcript"]))
            case "repartee.trace":
                self.traces.append((now_s, event["trace"]))
            case "repartee.notice":
                self.notices.append(event["text"])
            case "error":
                self.last_error = str(event["error"].get("code"))
                self.retry_after_s = float(event["error"].get("retry_after_s") or 0.0)
            case "input_audio_buffer.speech_started":
                for reply in self.replies:
                    reply.stop(now_s)
        self.events.append((now_s, kind))

    def first(self, kind: str, since_s: float) -> float | None:
        """Returns when the first event of a type came at or after `since_s`."""
        return next((at_s for at_s, name in self.events if name == kind and at_s >= since_s), None)

    def count(self, kind: str, since_s: float, until_s: float = float("inf")) -> int:
        """Returns the number of events of a type from `since_s` until before `until_s`."""
        return sum(name == kind and since_s <= at_s < until_s for at_s, name in self.events)

    def answering(self) -> bool:
        """Returns whether a reply is in progress."""
        return any(not reply.status for reply in self.replies)

    def silent_at_s(self) -> float:
        """Returns when everything received so far will have been played."""
        return max((reply.plays_until_s for reply in self.replies), default=0.0)

    def _reply(self, name: str) -> HeardReply:
        return next(reply for reply in reversed(self.replies) if reply.id == name)
