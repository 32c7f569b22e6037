"""When a second endpoint is asked the same, and how often that may be. Pure.

A hedge costs its prompt twice. The budget is a share of the questions and of their tokens: no hedge begins that would
exceed it, neither over everything so far nor over the last hundred questions. Among those the share of the tokens may
grow afterwards, where long questions leave the hundred and short ones follow.

One hedge is in hand from the start, before any was earned: an endpoint may fall silent early, too. It is an advance and
no gift: the next begins when both are paid for.
"""

from collections import deque
from dataclasses import dataclass, field

from llm.routing.health import Health

WINDOW = 100

LOSER_TOKENS = 8
"""What a request that lost has generated before its closed connection was noticed, at most: none of it arrived."""

EXPLORING_SHARE = 0.3
"""Of the budget, for questions that are asked twice to see whether another endpoint has become better."""

UNMEASURED_DELAY_S = 0.4
UNMEASURED_PATIENCE_S = 2.0
LEAST_PATIENCE_S = 0.4
LEAST_MARGIN_S = 0.04
MOST_MARGIN_S = 0.06


def hedge_delay_s(health: Health, unmeasured_s: float = 0.0) -> float:
    """How long an endpoint may be silent before the next is asked too.

    The time that nine of ten recent answers kept to; at least half as long again as usual, so that chance alone
    does not use up the budget, and at most three quarters, so that a bad spell does not make everybody wait.
    `unmeasured_s`: as long as it has never answered, where somebody knows better than we do; 0: nobody does.
    """
    usual_s, ninth_s = health.usual_s, health.quantile_s(0.9)
    if usual_s is None or ninth_s is None:
        return unmeasured_s or UNMEASURED_DELAY_S
    least_s = usual_s + max(usual_s / 2, LEAST_MARGIN_S)
    most_s = usual_s + max(0.75 * usual_s, MOST_MARGIN_S)
    return min(max(ninth_s, least_s), most_s)


def patience_s(health: Health, least_s: float = 0.0) -> float:
    """How long an endpoint may be silent before another is asked in its place: no hedge, one at a time.

    `least_s`: as somebody wishes it; 0: nobody does.
    """
    usual_s = health.usual_s
    if usual_s is None:
        return least_s or UNMEASURED_PATIENCE_S
    return max(least_s, LEAST_PATIENCE_S, 4 * usual_s)


@dataclass(slots=True)
class Question:
    """What one question has cost so far.

    Attributes:
        tokens: Prompt and answer, of the endpoint that answers.
        extra_tokens: Asked for besides; as long as it is under way, the most that it can become.
        hedged: It was asked twice.
        explored: And that only to see how the other endpoint does.
    """

    tokens: int
    extra_tokens: int = 0
    hedged: bool = False
    explored: bool = False


@dataclass(slots=True)
class HedgeBudget:
    """What may be asked twice.

    Attributes:
        share: 0.1: one question of ten, and one token of ten. 0: none.
        questions: Asked so far.
        hedges: Of them asked twice.
        tokens: Of all answers so far, prompts included.
        extra_tokens: Asked for besides.
    """

    share: float
    questions: int = 0
    hedges: int = 0
    tokens: int = 0
    extra_tokens: int = 0
    _recent: deque[Question] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def __post_init__(self) -> None:
        """Raises ValueError for a share that is none."""
        if not 0 <= self.share <= 1:
            raise ValueError(f"hedge_share must be from 0 to 1, not {self.share}")

    @property
    def explores(self) -> bool:
        """Whether it can ever afford a question that is asked twice out of curiosity."""
        return EXPLORING_SHARE * self.share * WINDOW >= 1

    def ask(self, prompt_tokens: int) -> Question:
        """A question is asked."""
        question = Question(prompt_tokens)
        self._recent.append(question)
        self.questions += 1
        self.tokens += prompt_tokens
        return question

    def may_hedge(self, question: Question, extra_tokens: int, *, exploring: bool = False) -> bool:
        """Whether it may be asked twice, at a cost of at most `extra_tokens`."""
        return not question.hedged and self.affords(extra_tokens, exploring=exploring)

    def affords(self, extra_tokens: int, *, exploring: bool = False) -> bool:
        """Whether some question may be asked twice now."""
        if self.share <= 0:
            return False
        if not self.hedges and not exploring:
            return True
        hedged, explored = sum(past.hedged for past in self._recent), sum(past.explored for past in self._recent)
        if exploring and explored + 1 > EXPLORING_SHARE * self.share * len(self._recent):
            return False
        wanted = 2 if exploring else 1  # who looks around leaves a hedge for whoever may need it
        recent_tokens = sum(past.tokens for past in self._recent)
        recent_extra = sum(past.extra_tokens for past in self._recent)
        return (
            hedged + wanted <= self.share * len(self._recent)
            and self.hedges + wanted <= self.share * self.questions
            and recent_extra + extra_tokens <= self.share * recent_tokens
            and self.extra_tokens + extra_tokens <= self.share * self.tokens
        )

    def hedge(self, question: Question, extra_tokens: int, *, exploring: bool = False) -> None:
        """It is asked twice. Raises ValueError where it may not be."""
        if not self.may_hedge(question, extra_tokens, exploring=exploring):
            raise ValueError("this hedge is beyond the budget: ask may_hedge first")
        question.hedged, question.explored = True, exploring
        question.extra_tokens = extra_tokens
        self.hedges += 1
        self.extra_tokens += extra_tokens

    def settle(self, question: Question, extra_tokens: int) -> None:
        """What the second request has really cost, no more than was taken for it; 0: it never left and is none."""
        extra_tokens = min(extra_tokens, question.extra_tokens)
        self.extra_tokens -= question.extra_tokens - extra_tokens
        question.extra_tokens = extra_tokens
        if question.hedged and not extra_tokens:
            question.hedged = question.explored = False
            self.hedges -= 1

    def answered(self, question: Question, tokens: int) -> None:
        """So many tokens of the answer came."""
        question.tokens += tokens
        self.tokens += tokens
