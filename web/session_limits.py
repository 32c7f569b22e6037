"""How many may talk at a time, how fast they may send, and what they are told when they must go. Pure.

A WebSocket that finds no seat is accepted all the same, told one `error` event and closed: a browser shows nothing at
all of a handshake that was answered with 503, and the openai SDK only the number.
"""

from dataclasses import dataclass

RATE_ALLOWANCE = 1.05
"""Faster than real time by so much is still real time: clocks of sound cards drift, by 100 ppm and some by far more."""


@dataclass(frozen=True, slots=True)
class CloseNotice:
    """The last thing a client is told.

    Attributes:
        code: Of the `error` event; one of a fixed few.
        message: For people.
        close_code: Of the WebSocket: 1001 going away, 1011 internal error, 1012 service restart, 1013 try again later.
    """

    code: str
    message: str
    close_code: int

    @property
    def reason(self) -> str:
        """For the close frame, which holds 123 bytes of it."""
        return f"{self.code}: {self.message}".encode()[:123].decode(errors="ignore")

    def event(self, event_id: str) -> dict[str, object]:
        """The `error` event."""
        error = {"type": "server_error", "code": self.code, "message": self.message, "param": None, "event_id": None}
        return {"type": "error", "event_id": event_id, "error": error}


LOADING = CloseNotice("server_loading", "The server is still loading its engines. Try again in a few seconds.", 1013)
DRAINING = CloseNotice("server_draining", "The server is shutting down. Try again in a moment.", 1012)
INTERNAL = CloseNotice("internal_error", "The session broke off by an error of the server's; its log says more.", 1011)

NO_DESCRIPTORS = CloseNotice(
    "too_few_descriptors", "The server has too few file descriptors left for another session. Try again later.", 1013
)

FULL = "server_full"
"""The code of a farewell for want of a seat."""


def full(max_sessions: int) -> CloseNotice:
    """No seat is left."""
    many = f"all {max_sessions} sessions are" if max_sessions > 1 else "its only session is"
    return CloseNotice(FULL, f"The server is full: {many} in use. Try again later.", 1013)


def expired(max_session_s: float) -> CloseNotice:
    """The session lasted as long as one may."""
    return CloseNotice("session_expired", f"The session ended: one may last {max_session_s:g} s. Connect anew.", 1001)


def idle(idle_timeout_s: float) -> CloseNotice:
    """Nothing came from the client."""
    return CloseNotice("session_idle", f"The session ended: nothing came for {idle_timeout_s:g} s. Connect anew.", 1001)


NEEDED_DESCRIPTORS = 8
"""For one conversation: its connection, its trace, its recognizer's pipes, a language model's connections."""
RESERVED_DESCRIPTORS = 4
"""For each conversation that runs, which opens a connection or a file now and then."""


class SessionLimits:
    """Counts seats."""

    def __init__(self, max_sessions: int) -> None:
        """With so many seats."""
        self.max_sessions = max_sessions
        self.current = 0
        self.draining = False

    def admit(self, *, ready: bool, resuming: bool = False, free_descriptors: int | None = None) -> CloseNotice | None:
        """Take a seat, or tell why there is none.

        Args:
            ready: Whether the engines are loaded.
            resuming: It takes a conversation over whose connection broke, often before that was noticed here: it is let
                in although the seat may still be counted as taken.
            free_descriptors: How many file descriptors the process has left; None: that is not known.
        """
        if self.draining:
            return DRAINING
        if not ready:
            return LOADING
        if resuming:
            return None  # its conversation has the seat
        if self.current >= self.max_sessions:
            return full(self.max_sessions)
        needed = NEEDED_DESCRIPTORS + RESERVED_DESCRIPTORS * self.current
        if free_descriptors is not None and free_descriptors < needed:
            return NO_DESCRIPTORS
        self.current += 1
        return None

    def leave(self) -> None:
        """A seat is free again."""
        assert self.current > 0
        self.current -= 1

    def close(self) -> None:
        """Let nobody in from now on."""
        self.draining = True


class AudioThrottle:
    """Holds one client's sound to real time: a token bucket of seconds of sound.

    Whoever sends faster is not cut off; it is only not read for as long as its sound is ahead, and waits.
    """

    def __init__(self, rate_hz: int, burst_s: float = 4.0) -> None:
        """`rate_hz`: samples per second of sound; `burst_s`: seconds of sound that may come at once."""
        self._rate_hz = rate_hz * RATE_ALLOWANCE
        self._burst_s = burst_s
        self._paid_until_s: float | None = None

    def room_s(self, now_s: float) -> float:
        """How many seconds of sound may come now without a wait behind them."""
        ahead_s = 0.0 if self._paid_until_s is None else max(0.0, self._paid_until_s - now_s)
        return (self._burst_s - ahead_s) * RATE_ALLOWANCE

    def wait_s(self, samples: int, now_s: float) -> float:
        """How long not to read on, after so many samples arrived; 0: go on.

        A client that was silent has saved up for `burst_s` at most.
        """
        paid_until_s = now_s if self._paid_until_s is None else max(self._paid_until_s, now_s)
        self._paid_until_s = paid_until_s + samples / self._rate_hz
        return max(0.0, self._paid_until_s - now_s - self._burst_s)
