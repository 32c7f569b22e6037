"""Circuit breaker: decides when an endpoint that failed is asked again. No I/O, no clock; times are event-loop seconds.

closed ──failures──▶ open ──time──▶ half-open ──one request, answered──▶ closed
                      ▲                 └────────────failed────────────────┘ (for twice as long)
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

State = Literal["closed", "open", "half-open"]

CONSECUTIVE_FAILURES = 2
"""Number of consecutive doubtful failures that open the breaker. A failure is doubtful if the endpoint refused the
request, or if another endpoint answered first."""

RECENT_FAILURES = 3
RECENT_REQUESTS = 10
"""RECENT_FAILURES failures among the last RECENT_REQUESTS requests open the breaker too: the endpoint is unstable."""

OPEN_S = 5.0
MAX_OPEN_S = 300.0
MAX_OPEN_FAST_S = 60.0
"""The time that the breaker stays open is OPEN_S at first. It doubles with each further failure, up to MAX_OPEN_S.

The limit is MAX_OPEN_FAST_S if the endpoint fails at once, because asking it then costs nothing. Asking an endpoint
that does not answer costs a turn some time and a prompt."""

RESET_AFTER_S = 120.0
RESET_AFTER_ANSWERS = 50
"""The open time is OPEN_S again if the breaker has not opened for RESET_AFTER_S, or after this number of answers.

Otherwise random slow answers in many parallel conversations would add up to minutes."""

PROBE_S = 15.0
"""A request to a half-open endpoint that has no result after this time no longer counts: another one may be sent."""

FAST_FAILURE_S = 0.03
"""A failure within this time costs a turn nothing: such an endpoint may be probed with a real turn."""


@dataclass(slots=True)
class Breaker:
    """Circuit breaker of one endpoint.

    Attributes:
        failed_fast: Whether its last failure came at once, like a refused connection.
    """

    failed_fast: bool = False
    _consecutive: int = 0
    _recent: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT_REQUESTS))  # True: it failed
    _open_until_s: float | None = None
    _open_for_s: float = OPEN_S
    _opened_at_s: float | None = None
    _answers: int = 0  # since it opened
    _probe_at_s: float | None = None

    def state(self, now_s: float) -> State:
        """Returns the state under its usual name."""
        if self._open_until_s is None:
            return "closed"
        return "open" if now_s < self._open_until_s else "half-open"

    def closed(self, now_s: float) -> bool:
        """Returns whether the endpoint may be asked normally."""
        return self.state(now_s) == "closed"

    @property
    def last_failed(self) -> bool:
        """Whether the endpoint's last result was a failure."""
        return self._consecutive > 0

    def wants_probe(self, now_s: float) -> bool:
        """Returns whether the endpoint may be asked once, to test whether it has recovered."""
        probing = self._probe_at_s is not None and now_s - self._probe_at_s < PROBE_S
        return self.state(now_s) == "half-open" and not probing

    def may_be_asked_at_s(self) -> float:
        """Returns when the endpoint may be asked again; a past time if it may be asked now."""
        return self._open_until_s or 0.0

    def asked(self, now_s: float) -> None:
        """Records a request."""
        if self.state(now_s) == "half-open":
            self._probe_at_s = now_s

    def cancelled(self, asked_at_s: float) -> None:
        """Forgets the request of that time: it was cancelled without a result. Another request may still be a probe."""
        if self._probe_at_s == asked_at_s:
            self._probe_at_s = None

    def succeeded(self, asked_at_s: float) -> None:
        """Records an answer to the request of that time."""
        self._consecutive = 0
        self._probe_at_s = None
        self._answers += 1
        if self._open_until_s is not None:
            if self._precedes_opening(asked_at_s):
                self._answers = RESET_AFTER_ANSWERS  # false alarm: the endpoint was working all the time
            self._open_until_s = None
            self._recent.clear()
        self._recent.append(False)

    def failed(self, now_s: float, took_s: float, *, certain: bool, pause_s: float | None = None) -> None:
        """Records a failure.

        Args:
            now_s: When the failure was known.
            took_s: Time from the request to the failure.
            certain: Whether the endpoint is unreachable or has wasted a turn's time: opens the breaker at once.
                Otherwise the failure may have been chance.
            pause_s: How long the endpoint asks not to be asked; opens the breaker at once, for this time at least.
        """
        if self._open_until_s is not None and self._precedes_opening(now_s - took_s):
            return  # the same failure, not another one
        self.failed_fast = took_s <= FAST_FAILURE_S
        self._consecutive += 1
        self._recent.append(True)
        half_open = self.state(now_s) == "half-open"
        self._probe_at_s = None
        if pause_s is not None:
            self._open(now_s)
            self._open_until_s = now_s + max(pause_s, self._open_for_s if half_open or certain else 0.0)
        elif half_open or certain or self._consecutive >= CONSECUTIVE_FAILURES or sum(self._recent) >= RECENT_FAILURES:
            self._open(now_s)

    def _precedes_opening(self, asked_at_s: float) -> bool:
        return self._opened_at_s is not None and asked_at_s < self._opened_at_s

    def _open(self, now_s: float) -> None:
        resets = self._opened_at_s is None or now_s - self._opened_at_s > max(RESET_AFTER_S, 2 * self._open_for_s)
        resets = resets or self._answers >= RESET_AFTER_ANSWERS
        self._answers = 0
        max_s = MAX_OPEN_FAST_S if self.failed_fast else MAX_OPEN_S
        self._open_for_s = OPEN_S if resets else min(max_s, 2 * self._open_for_s)
        self._opened_at_s = now_s
        self._open_until_s = now_s + self._open_for_s
