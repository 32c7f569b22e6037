"""How an endpoint has done lately: its times to the first token. Pure; times come in as loop seconds.

A time that is not known to its end (the request was overtaken and closed) counts as what it was at least, or as what
the endpoint usually takes where that is longer: so a loser never looks quicker than the winner it lost against. Such
times say whom to ask, not how long to wait: else each question in vain would make the next one wait for longer.
"""

import math
from collections import deque
from dataclasses import dataclass, field

WINDOW = 50
"""Answers looked back on for percentiles: at one percent steps of two."""

TYPICAL_OF = 5
"""Answers whose median is what an endpoint takes now: three slow ones in a row are no chance any more."""

MAX_AGE_S = 900.0
"""Older times tell nothing of today's load; the newest TYPICAL_OF are kept all the same, for want of better."""


@dataclass(slots=True)
class Health:
    """One endpoint's recent times to the first token.

    Attributes:
        round_trip_s: The network's share, as last told by its connections; None: not known.
        measured_at_s: When the newest time came; None: never.
    """

    round_trip_s: float | None = None
    measured_at_s: float | None = None
    _newest: deque[float] = field(default_factory=lambda: deque(maxlen=TYPICAL_OF))  # also of what was overtaken
    _answered: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=WINDOW))  # (when, seconds)

    def first_token(self, now_s: float, took_s: float) -> None:
        """It answered: `took_s` from the asking to the first content token."""
        self._newest.append(took_s)
        self._answered.append((now_s, took_s))
        self.measured_at_s = now_s
        while len(self._answered) > TYPICAL_OF and now_s - self._answered[0][0] > MAX_AGE_S:
            self._answered.popleft()

    def at_least(self, now_s: float, waited_s: float) -> None:
        """It was closed after `waited_s` without a token."""
        self._newest.append(max(waited_s, self.typical_s or 0.0))
        self.measured_at_s = now_s

    def afresh(self, now_s: float, took_s: float) -> None:
        """It answered after it was not asked, or failed, for a while: what was before counts no more."""
        self._newest.clear()
        self._answered.clear()
        self.first_token(now_s, took_s)

    @property
    def samples(self) -> int:
        """How many answers are known."""
        return len(self._answered)

    @property
    def typical_s(self) -> float | None:
        """The median of the last few times: what is to be expected; None: it was never measured."""
        return _quantile(list(self._newest), 0.5) if self._newest else None

    @property
    def usual_s(self) -> float | None:
        """The median of its last few answers: how long to wait for it; None: it never answered."""
        newest = list(self._answered)[-TYPICAL_OF:]
        return _quantile([took_s for _, took_s in newest], 0.5) if newest else None

    def quantile_s(self, share: float) -> float | None:
        """The time that `share` of the recent answers did not exceed; None: it never answered."""
        return _quantile([took_s for _, took_s in self._answered], share) if self._answered else None

    def unmeasured_for_s(self, now_s: float) -> float:
        """How long ago the newest time came; infinite: there is none."""
        return float("inf") if self.measured_at_s is None else now_s - self.measured_at_s


def _quantile(values: list[float], share: float) -> float:
    """By nearest rank: a time that really was."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
