"""Whether an endpoint that failed is asked again yet. Pure; times come in as loop seconds.

closed ──failures──▶ open ──time──▶ half-open ──one question, answered──▶ closed
                      ▲                 └────────────failed────────────────┘ (for twice as long)
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

State = Literal["closed", "open", "half-open"]

IN_A_ROW = 2
"""Doubtful failures (a refusal, an answer that was overtaken) that open it."""

OF_RECENT = 3
RECENT = 10
"""As many failures among the recent questions open it too: an endpoint that flaps."""

OPEN_S = 5.0
OPEN_MOST_S = 300.0
OPEN_MOST_CHEAP_S = 60.0
"""Twice as long each time, up to these: trying one that is silent costs a turn some time and a prompt."""

CALM_S = 120.0
CALM_ANSWERS = 50
"""So long without an opening, or after so many answers, the next one is short again: of many conversations at once,
some that are slow by chance would else add up to minutes."""

PROBE_S = 15.0
"""A question to a half-open endpoint of which nothing was heard for so long is forgotten."""

CHEAP_S = 0.03
"""A failure told within it costs a turn nothing: such an endpoint may be tried with a turn of its own."""


@dataclass(slots=True)
class Breaker:
    """One endpoint's.

    Attributes:
        cheap: Its last failure was told at once, as a refused connection is.
    """

    cheap: bool = False
    _in_a_row: int = 0
    _recent: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))  # True: it failed
    _open_until_s: float | None = None
    _open_for_s: float = OPEN_S
    _opened_at_s: float | None = None
    _answers: int = 0  # since it opened
    _probe_at_s: float | None = None

    def state(self, now_s: float) -> State:
        """As a reader of the trace would call it."""
        if self._open_until_s is None:
            return "closed"
        return "open" if now_s < self._open_until_s else "half-open"

    def closed(self, now_s: float) -> bool:
        """It may be asked like any other."""
        return self.state(now_s) == "closed"

    @property
    def doubted(self) -> bool:
        """The last that was heard of it is a failure."""
        return self._in_a_row > 0

    def wants_probe(self, now_s: float) -> bool:
        """It may be asked once, to see whether it has recovered."""
        probing = self._probe_at_s is not None and now_s - self._probe_at_s < PROBE_S
        return self.state(now_s) == "half-open" and not probing

    def opens_at_s(self) -> float:
        """When it may be asked again; in the past where it may."""
        return self._open_until_s or 0.0

    def asked(self, now_s: float) -> None:
        """A question is on its way."""
        if self.state(now_s) == "half-open":
            self._probe_at_s = now_s

    def let_go(self, asked_at_s: float) -> None:
        """The question that was asked then was taken back: nothing was learned. Another may still be trying it."""
        if self._probe_at_s == asked_at_s:
            self._probe_at_s = None

    def succeeded(self, asked_at_s: float) -> None:
        """It answered a question of then."""
        self._in_a_row = 0
        self._probe_at_s = None
        self._answers += 1
        if self._open_until_s is not None:
            if self._before_it_opened(asked_at_s):
                self._answers = CALM_ANSWERS  # a false alarm: it was working all the time
            self._open_until_s = None
            self._recent.clear()
        self._recent.append(False)

    def failed(self, now_s: float, took_s: float, *, surely: bool) -> None:
        """It did not answer.

        Args:
            now_s: When that was known.
            took_s: From the asking until then.
            surely: Nobody is there, or it has wasted a turn's time: opens at once. Else it may have been chance.
        """
        if self._open_until_s is not None and self._before_it_opened(now_s - took_s):
            return  # the same trouble, not a further one
        self.cheap = took_s <= CHEAP_S
        self._in_a_row += 1
        self._recent.append(True)
        half_open = self.state(now_s) == "half-open"
        self._probe_at_s = None
        if half_open or surely or self._in_a_row >= IN_A_ROW or sum(self._recent) >= OF_RECENT:
            self._open(now_s)

    def _before_it_opened(self, asked_at_s: float) -> bool:
        return self._opened_at_s is not None and asked_at_s < self._opened_at_s

    def _open(self, now_s: float) -> None:
        calm = self._opened_at_s is None or now_s - self._opened_at_s > max(CALM_S, 2 * self._open_for_s)
        calm = calm or self._answers >= CALM_ANSWERS
        self._answers = 0
        most_s = OPEN_MOST_CHEAP_S if self.cheap else OPEN_MOST_S
        self._open_for_s = OPEN_S if calm else min(most_s, 2 * self._open_for_s)
        self._opened_at_s = now_s
        self._open_until_s = now_s + self._open_for_s
