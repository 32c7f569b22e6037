"""The replies' sound on its way to the client: frames of 20 ms, and what was played when. Pure.

The sound of out-of-band responses waits until no reply has sound to send. A reply that begins
meanwhile goes first: the other sound pauses and goes on after it, so that the two never mix.

The client plays each frame as it comes, a little later than it was sent. So what is sent is what is heard: an
interruption drops the rest here, within a frame.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples, ms_of_reply_samples
from web.webrtc.opus import FRAME_SAMPLES

MAX_BESIDE_S = 120.0
"""Sound of out-of-band responses that may wait. The response that exceeds it is dropped."""

REPORT_EVERY_FRAMES = 5
"""Playback is reported every 100 ms, and at the first and the last frame of a reply."""


@dataclass(slots=True, eq=False)
class _Reply:
    """A reply that is not sent completely. `sent`: samples. `beside`: whether it is an out-of-band response."""

    response_id: str
    item_id: str
    beside: bool = False
    waiting: deque[Pcm] = field(default_factory=deque)
    waiting_samples: int = 0
    sent: int = 0
    frames: int = 0
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Playout:
    """The part of a reply that the client has played; `finished`: it plays no more of it."""

    response_id: str
    played_ms: float
    finished: bool


class OutgoingAudio:
    """The sound that is not sent yet, in order.

    Attributes:
        started: Called with the id of a response whose first frame is sent.
        stopped: Called when its last frame was sent.
    """

    def __init__(self) -> None:
        """Starts silent."""
        self.started: Callable[[str], None] = lambda _response_id: None
        self.stopped: Callable[[str], None] = lambda _response_id: None
        self._replies: deque[_Reply] = deque()
        self._dropped: deque[str] = deque(maxlen=32)  # further sound of these is dropped
        self._reports: deque[tuple[float, Playout]] = deque()

    def push_chunk(self, response_id: str, item_id: str, pcm: Pcm, *, beside: bool = False) -> bool:
        """Appends sound of a reply: int16 (n,) at 24 kHz. `beside`: of an out-of-band response.

        Returns False if too much of those waits; nothing is appended then.
        """
        if response_id in self._dropped:
            return True
        if beside:
            waiting = sum(reply.waiting_samples for reply in self._replies if reply.beside)
            if waiting + len(pcm) > MAX_BESIDE_S * REPLY_RATE_HZ:
                return False
        reply = self._find(response_id)
        if reply is None:
            reply = _Reply(response_id, item_id, beside)
            self._replies.append(reply)
        reply.waiting.append(pcm)
        reply.waiting_samples += len(pcm)
        return True

    def complete(self, response_id: str) -> None:
        """Ends a reply whose sound is complete."""
        reply = self._find(response_id)
        if reply is not None:
            reply.complete = True

    def drop(self, *, response_id: str = "", item_id: str = "") -> str | None:
        """Drops what is not sent of a reply. Returns the id of its response; None if nothing was waiting."""
        reply = next(
            (reply for reply in self._replies if response_id == reply.response_id or item_id == reply.item_id), None
        )
        if response_id:
            self._dropped.append(response_id)
        if reply is None:
            return None
        if not response_id:
            self._dropped.append(reply.response_id)
        self._replies.remove(reply)
        self._reports = deque(report for report in self._reports if report[1].response_id != reply.response_id)
        return reply.response_id

    def next_frame(self, heard_s: float) -> Pcm | None:
        """Takes the next frame, int16 (480,); None: silence. `heard_s`: when the client will have played it."""
        if not self._replies:
            return None
        reply = next((reply for reply in self._replies if not reply.beside), self._replies[0])
        if reply.waiting_samples < FRAME_SAMPLES and not reply.complete:
            return None  # the rest follows
        if reply.sent == 0 and reply.waiting_samples:
            self.started(reply.response_id)
            self._report(heard_s - FRAME_SAMPLES / REPLY_RATE_HZ, reply, finished=False)
        frame = _taken(reply)
        if reply.complete and not reply.waiting_samples:
            self._replies.remove(reply)
            self._report(heard_s, reply, finished=True)
            self.stopped(reply.response_id)
        else:
            reply.frames += 1
            if reply.frames % REPORT_EVERY_FRAMES == 0:
                self._report(heard_s, reply, finished=False)
        return frame

    def reports(self, now_s: float) -> list[Playout]:
        """Returns what the client has played since the last call."""
        due = []
        while self._reports and self._reports[0][0] <= now_s:
            due.append(self._reports.popleft()[1])
        return due

    @property
    def playing(self) -> bool:
        """Whether any reply has sound to send."""
        return bool(self._replies)

    def _find(self, response_id: str) -> _Reply | None:
        return next((reply for reply in self._replies if reply.response_id == response_id), None)

    def _report(self, heard_s: float, reply: _Reply, *, finished: bool) -> None:
        played_ms = ms_of_reply_samples(ReplySamples(reply.sent))
        self._reports.append((heard_s, Playout(reply.response_id, played_ms, finished)))


def _taken(reply: _Reply) -> Pcm:
    """Takes a frame; the last one of a reply is padded."""
    frame, filled = np.zeros(FRAME_SAMPLES, np.int16), 0
    while reply.waiting and filled < FRAME_SAMPLES:
        block = reply.waiting.popleft()
        taken = min(len(block), FRAME_SAMPLES - filled)
        frame[filled : filled + taken] = block[:taken]
        if taken < len(block):
            reply.waiting.appendleft(block[taken:])
        filled += taken
    reply.waiting_samples -= filled
    reply.sent += filled
    return frame
