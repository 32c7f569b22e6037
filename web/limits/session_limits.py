"""Limits on concurrent sessions and on the rate of audio, and the notices that close a session. No I/O, no clock.

A refused WebSocket is accepted, sent one `error` event and closed. If the handshake were answered with 503, a browser
would show nothing and the openai SDK only the number.
"""

import math
from dataclasses import dataclass
from typing import Protocol

RATE_ALLOWANCE = 1.05
"""Tolerance for real time: clocks of sound cards drift, typically by 100 ppm and sometimes by far more."""


@dataclass(frozen=True, slots=True)
class CloseNotice:
    """The last event and the close frame of a connection.

    Attributes:
        code: Code of the `error` event, one of a fixed set.
        message: Human-readable reason.
        close_code: WebSocket close code: 1001 going away, 1011 internal error, 1012 service restart, 1013 try again
            later.
        retry_after_s: Time after which the client should try again; None: the client decides.
    """

    code: str
    message: str
    close_code: int
    retry_after_s: float | None = None

    @property
    def reason(self) -> str:
        """The reason for the close frame, at most 123 bytes."""
        return f"{self.code}: {self.message}".encode()[:123].decode(errors="ignore")

    def event(self, event_id: str) -> dict[str, object]:
        """Builds the `error` event."""
        error: dict[str, object] = {
            "type": "server_error", "code": self.code, "message": self.message, "param": None, "event_id": None,
        }  # fmt: skip
        if self.retry_after_s is not None:
            error["retry_after_s"] = self.retry_after_s
        return {"type": "error", "event_id": event_id, "error": error}


LOADING = CloseNotice("server_loading", "The server is still loading its engines. Try again in a few seconds.", 1013)
DRAINING = CloseNotice("server_draining", "The server is shutting down. Try again in a moment.", 1012)
INTERNAL = CloseNotice("internal_error", "The session ended because of a server error. See the server's log.", 1011)

RESUMING = CloseNotice(
    "session_resuming", "Another connection is resuming this conversation. Try again in a moment.", 1013
)

NO_DESCRIPTORS = CloseNotice(
    "too_few_descriptors", "The server has too few file descriptors left for another session. Try again later.", 1013
)

FULL = "server_full"
"""Code of the notice when all slots are in use."""


def full(max_sessions: int) -> CloseNotice:
    """Returns the notice when all slots are in use."""
    many = f"all {max_sessions} sessions are" if max_sessions > 1 else "its only session is"
    return CloseNotice(FULL, f"The server is full: {many} in use. Try again later.", 1013)


BUSY = "server_busy"
"""Code of the notice when the measured load permits no further conversation."""


def busy(reason: str, retry_after_s: float) -> CloseNotice:
    """Returns the notice when one more conversation does not fit; `reason`: a figure and its limit."""
    whole_s = max(1, math.ceil(retry_after_s))
    message = f"The server is busy: {reason}. Try again in {whole_s} s."
    return CloseNotice(BUSY, message, 1013, retry_after_s=whole_s)


def expired(max_session_s: float) -> CloseNotice:
    """Returns the notice for a session that reached the session limit."""
    return CloseNotice(
        "session_expired", f"The session ended: it reached the limit of {max_session_s:g} s. Connect again.", 1001
    )


def idle(idle_timeout_s: float) -> CloseNotice:
    """Returns the notice for a session that reached the idle limit."""
    return CloseNotice(
        "session_idle", f"The session ended: nothing was received for {idle_timeout_s:g} s. Connect again.", 1001
    )


class SessionRefusedError(Exception):
    """A session that was admitted cannot begin."""

    def __init__(self, close_notice: CloseNotice) -> None:
        """`close_notice`: tells the client why."""
        super().__init__(close_notice.message)
        self.close_notice = close_notice


NEEDED_DESCRIPTORS = 8
"""File descriptors of one conversation: its connection, trace, recognizer pipes and LLM connections."""
RESERVED_DESCRIPTORS = 4
"""File descriptors kept free for each running conversation, which occasionally opens a connection or a file."""


class LoadLimit(Protocol):
    """Decides by the load whether one more conversation fits."""

    def refusal(self, sessions: int) -> CloseNotice | None:
        """Returns why it does not fit beside `sessions` others; None: it does. Asking changes nothing."""
        ...

    def began(self) -> None:
        """Counts a conversation that begins."""
        ...

    def ended(self, lasted_s: float) -> None:
        """Counts a conversation that ends, or is silent, with its duration so far."""
        ...


class SessionLimits:
    """Counts the sessions in use.

    Attributes:
        max_sessions: Number of slots.
        current: Slots in use.
        draining: Whether new sessions are refused because the server shuts down.
    """

    def __init__(self, max_sessions: int, load_limit: LoadLimit | None = None) -> None:
        """Starts with `max_sessions` free slots; `load_limit`: refuses by the load, None: only the slots decide."""
        self.max_sessions = max_sessions
        self._load_limit = load_limit
        self.current = 0
        self.draining = False

    def admit(
        self,
        *,
        ready: bool,
        resuming: bool = False,
        free_descriptors: int | None = None,
        continuing: bool = False,
    ) -> CloseNotice | None:
        """Takes a slot. Returns why there is none, or None if there is.

        Args:
            ready: Whether the engines are loaded.
            resuming: Whether the connection resumes a conversation, which has a slot already.
            free_descriptors: How many file descriptors the process has left; None: unknown.
            continuing: Whether it continues a conversation of another gateway, which needs a slot and passes the limit
                on the load.
        """
        if self.draining:
            return DRAINING
        if not ready:
            return LOADING
        if resuming:
            return None  # its conversation has a slot
        close_notice = self.refusal(free_descriptors)
        if close_notice is None or (continuing and close_notice.code == BUSY):
            self.current += 1
            if self._load_limit is not None:
                self._load_limit.began()
            return None
        return close_notice

    def refusal(self, free_descriptors: int | None = None) -> CloseNotice | None:
        """Returns why a new session would be refused while the engines are ready; None: it would be admitted.

        Changes nothing. `free_descriptors`: as for `admit`.
        """
        if self.draining:
            return DRAINING
        if self.current >= self.max_sessions:
            return full(self.max_sessions)
        needed = NEEDED_DESCRIPTORS + RESERVED_DESCRIPTORS * self.current
        if free_descriptors is not None and free_descriptors < needed:
            return NO_DESCRIPTORS
        return None if self._load_limit is None else self._load_limit.refusal(self.current)

    def leave(self, lasted_s: float = math.inf) -> None:
        """Frees a slot of a conversation that lasted this long."""
        assert self.current > 0
        self.current -= 1
        if self._load_limit is not None:
            self._load_limit.ended(lasted_s)

    def silent(self, lasted_s: float) -> None:
        """Notes that a conversation which began `lasted_s` ago sends no sound, so that it is no load."""
        if self._load_limit is not None:
            self._load_limit.ended(lasted_s)

    def close(self) -> None:
        """Refuses new sessions from now on."""
        self.draining = True


RECORDING_BURST_S = 90.0
RECORDING_SPEED = 8.0
"""Seconds of a recording that a client may send at once, and the multiple of real time after that. The recognizer's
buffer of 120 s must not overflow; it decodes 20 s a second."""


def recording_throttle(rate_hz: int) -> "AudioThrottle":
    """Returns the limit for recordings."""
    return AudioThrottle(rate_hz, RECORDING_BURST_S / RECORDING_SPEED, RECORDING_SPEED)


class AudioThrottle:
    """Limits one client's audio to a multiple of real time, with a token bucket of seconds of audio.

    A client that sends faster is not disconnected; it is not read while its audio is ahead.
    """

    def __init__(self, rate_hz: int, burst_s: float = 4.0, speed: float = RATE_ALLOWANCE) -> None:
        """Sets the limit.

        Args:
            rate_hz: Sample rate of the audio.
            burst_s: Time that may be ahead, in seconds.
            speed: Multiple of real time at which the audio may come.
        """
        self._rate_hz = rate_hz * speed
        self._burst_s = burst_s
        self._speed = speed
        self._paid_until_s: float | None = None

    def room_s(self, now_s: float) -> float:
        """Returns how many seconds of audio may come now without a wait after them."""
        ahead_s = 0.0 if self._paid_until_s is None else max(0.0, self._paid_until_s - now_s)
        return (self._burst_s - ahead_s) * self._speed

    def wait_s(self, samples: int, now_s: float) -> float:
        """Returns for how long the client is not read after this number of samples; 0: it is read at once.

        A client that was silent has saved at most `burst_s`.
        """
        paid_until_s = now_s if self._paid_until_s is None else max(self._paid_until_s, now_s)
        self._paid_until_s = paid_until_s + samples / self._rate_hz
        return max(0.0, self._paid_until_s - now_s - self._burst_s)
