"""Statistics of an endpoint's recent times to the first token. No I/O, no clock; times are event-loop seconds.

A request that was overtaken and closed has no exact time. It counts as the longer of the time it took so far and the
endpoint's typical time, so that the loser never looks faster than the winner. These times affect the selection of
endpoints but not the wait for one: otherwise each lost request would lengthen the next wait.
"""

import math
from collections import deque
from dataclasses import dataclass, field

WINDOW = 50
"""Number of answers for percentiles."""

TYPICAL_OF = 5
"""Number of answers whose median is the current time: three slow ones in a row are not chance."""

MAX_AGE_S = 900.0
"""Older times are dropped because the load has changed; the newest TYPICAL_OF are kept regardless."""


@dataclass(slots=True)
class Health:
    """Recent times to the first token of one endpoint.

    Attributes:
        round_trip_s: Network round trip, as last reported by its connections; None if unknown.
        measured_at_s: When the newest time arrived; None: never.
    """

    round_trip_s: float | None = None
    measured_at_s: float | None = None
    _newest: deque[float] = field(default_factory=lambda: deque(maxlen=TYPICAL_OF))  # also of what was overtaken
    _answered: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=WINDOW))  # (when, seconds)

    def first_token(self, now_s: float, took_s: float) -> None:
        """Records an answer: `took_s` from the request to the first content token."""
        self._newest.append(took_s)
        self._answered.append((now_s, took_s))
        self.measured_at_s = now_s
        while len(self._answered) > TYPICAL_OF and now_s - self._answered[0][0] > MAX_AGE_S:
            self._answered.popleft()

    def overtaken(self, now_s: float, waited_s: float) -> None:
        """Records a request that was closed after `waited_s` without a token."""
        self._newest.append(max(waited_s, self.typical_s or 0.0))
        self.measured_at_s = now_s

    def restart(self, now_s: float, took_s: float) -> None:
        """Records an answer after a failure or a time without requests; earlier times are discarded."""
        self._newest.clear()
        self._answered.clear()
        self.first_token(now_s, took_s)

    @property
    def samples(self) -> int:
        """Number of recorded answers."""
        return len(self._answered)

    @property
    def typical_s(self) -> float | None:
        """Median of the last few times, overtaken requests included: the expected time. None: never measured."""
        return _quantile(list(self._newest), 0.5) if self._newest else None

    @property
    def usual_s(self) -> float | None:
        """Median of the last few answers: the basis of waiting times. None: it never answered."""
        newest = list(self._answered)[-TYPICAL_OF:]
        return _quantile([took_s for _, took_s in newest], 0.5) if newest else None

    def quantile_s(self, share: float) -> float | None:
        """Returns the time that `share` of the recent answers did not exceed; None if it never answered."""
        return _quantile([took_s for _, took_s in self._answered], share) if self._answered else None

    def unmeasured_for_s(self, now_s: float) -> float:
        """Returns the age of the newest time; infinite if there is none."""
        return float("inf") if self.measured_at_s is None else now_s - self.measured_at_s


def _quantile(values: list[float], share: float) -> float:
    """Returns the quantile by nearest rank, which is always a measured value."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
