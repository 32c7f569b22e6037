"""Hedging: when a second endpoint gets the same request, and how often. No I/O, no clock.

A hedge costs its prompt twice. The budget is a share of the questions and of their tokens. No hedge starts that would
exceed it, over all questions so far or over the last hundred. Among the last hundred, the share of tokens may grow
afterwards, when long questions leave the window and short ones enter it.

One hedge is available from the start, before any is earned, because an endpoint may fall silent early. It is an
advance: the next one starts when both are covered.
"""

from collections import deque
from dataclasses import dataclass, field

from llm.routing.health import Health

WINDOW = 100
"""Number of recent questions that the budget must hold for."""

LOSER_TOKENS = 8
"""Upper estimate of the tokens that a losing request generated before its closed connection was noticed."""

EXPLORING_SHARE = 0.3
"""Share of the budget for second requests that measure whether another endpoint has become better."""

UNMEASURED_DELAY_S = 0.4
UNMEASURED_PATIENCE_S = 2.0
MIN_PATIENCE_S = 0.4
MIN_MARGIN_S = 0.04
MAX_MARGIN_S = 0.06


def hedge_delay_s(health: Health, unmeasured_s: float = 0.0) -> float:
    """Returns how long an endpoint may be silent before the next one is asked too.

    The 90th percentile of its recent answers, bounded: at least 1.5 times the usual time, so that chance does not use
    up the budget; at most 1.75 times, so that a slow period does not delay every answer.

    `unmeasured_s`: the delay while the endpoint has never answered, if configured; 0: the default.
    """
    usual_s, p90_s = health.usual_s, health.quantile_s(0.9)
    if usual_s is None or p90_s is None:
        return unmeasured_s or UNMEASURED_DELAY_S
    min_s = usual_s + max(usual_s / 2, MIN_MARGIN_S)
    max_s = usual_s + max(0.75 * usual_s, MAX_MARGIN_S)
    return min(max(p90_s, min_s), max_s)


def patience_s(health: Health, min_s: float = 0.0) -> float:
    """Returns how long an endpoint may be silent before another one replaces it (one request at a time, no hedge).

    `min_s`: configured minimum; 0: none.
    """
    usual_s = health.usual_s
    if usual_s is None:
        return min_s or UNMEASURED_PATIENCE_S
    return max(min_s, MIN_PATIENCE_S, 4 * usual_s)


@dataclass(slots=True)
class Question:
    """The cost of one question so far.

    Attributes:
        tokens: Prompt and answer of the endpoint that answers.
        extra_tokens: Tokens of the second request; the maximum while it is running.
        hedged: Whether it was sent to a second endpoint.
        explored: Whether that was only to measure the second endpoint.
    """

    tokens: int
    extra_tokens: int = 0
    hedged: bool = False
    explored: bool = False


@dataclass(slots=True)
class HedgeBudget:
    """Budget for second requests.

    Attributes:
        share: 0.1: one question of ten and one token of ten. 0: none.
        questions: Number of questions so far.
        hedges: Number of them that were sent to two endpoints.
        tokens: Tokens of all answers so far, prompts included.
        extra_tokens: Tokens of the second requests.
    """

    share: float
    questions: int = 0
    hedges: int = 0
    tokens: int = 0
    extra_tokens: int = 0
    _recent: deque[Question] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def __post_init__(self) -> None:
        """Raises ValueError for an invalid share."""
        if not 0 <= self.share <= 1:
            raise ValueError(f"hedge_share must be from 0 to 1, not {self.share}")

    @property
    def explores(self) -> bool:
        """Whether the budget can ever cover a second request for exploration."""
        return EXPLORING_SHARE * self.share * WINDOW >= 1

    def ask(self, prompt_tokens: int) -> Question:
        """Records a new question."""
        question = Question(prompt_tokens)
        self._recent.append(question)
        self.questions += 1
        self.tokens += prompt_tokens
        return question

    def may_hedge(self, question: Question, extra_tokens: int, *, exploring: bool = False) -> bool:
        """Returns whether the question may be sent to a second endpoint at a cost of at most `extra_tokens`."""
        return not question.hedged and self.affords(extra_tokens, exploring=exploring)

    def affords(self, extra_tokens: int, *, exploring: bool = False) -> bool:
        """Returns whether the budget covers a second request now."""
        if self.share <= 0:
            return False
        if not self.hedges and not exploring:
            return True
        hedged, explored = sum(past.hedged for past in self._recent), sum(past.explored for past in self._recent)
        if exploring and explored + 1 > EXPLORING_SHARE * self.share * len(self._recent):
            return False
        needed = 2 if exploring else 1  # exploration leaves one hedge for a question that needs it
        recent_tokens = sum(past.tokens for past in self._recent)
        recent_extra = sum(past.extra_tokens for past in self._recent)
        return (
            hedged + needed <= self.share * len(self._recent)
            and self.hedges + needed <= self.share * self.questions
            and recent_extra + extra_tokens <= self.share * recent_tokens
            and self.extra_tokens + extra_tokens <= self.share * self.tokens
        )

    def hedge(self, question: Question, extra_tokens: int, *, exploring: bool = False) -> None:
        """Records a second request. Raises ValueError if it is not permitted."""
        if not self.may_hedge(question, extra_tokens, exploring=exploring):
            raise ValueError("this hedge is beyond the budget: ask may_hedge first")
        question.hedged, question.explored = True, exploring
        question.extra_tokens = extra_tokens
        self.hedges += 1
        self.extra_tokens += extra_tokens

    def settle(self, question: Question, extra_tokens: int) -> None:
        """Corrects the cost of the second request, at most to its estimate. 0: it was never sent and does not count."""
        extra_tokens = min(extra_tokens, question.extra_tokens)
        self.extra_tokens -= question.extra_tokens - extra_tokens
        question.extra_tokens = extra_tokens
        if question.hedged and not extra_tokens:
            question.hedged = question.explored = False
            self.hedges -= 1

    def answered(self, question: Question, tokens: int) -> None:
        """Records tokens of the answer."""
        question.tokens += tokens
        self.tokens += tokens
