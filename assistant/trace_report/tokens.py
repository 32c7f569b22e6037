"""Tokens of language models: of a turn, and of many. Pure."""

from dataclasses import dataclass
from typing import NamedTuple

from assistant.trace_report.reading import Record


class Tokens(NamedTuple):
    """Of one turn, all attempts together, as the services counted.

    Attributes:
        prompt: Asked, what services had cached included.
        completion: Answered; where the service did not count, the pieces that came.
        cached: Of the prompts, what services had cached.
        cached_of: Prompts of which that is known.
        wasted: Asked and answered for attempts that were dropped, as far as counted.
        uncounted: Answers whose service did not count, most of them cancelled before it would have.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cached_of: int = 0
    wasted: int = 0
    uncounted: int = 0


NONE = Tokens()


def tokens_of(record: Record) -> Tokens:
    """Of a record; none of one that was written before answers were counted, and none where nothing was counted.

    Who never counts, as the built-in skills, is no language model: its answers are left out, unless a connection was
    waited for.
    """
    answers = record.get("answers")
    if not answers:
        return NONE
    prompt = completion = cached = cached_of = wasted = uncounted = 0
    models = {span["attempt"] for span in record["spans"] if span["name"] in {"queue", "llm_network"}}
    for answer in answers:
        asked, answered = answer["prompt_tokens"], answer["completion_tokens"]
        counted = asked is not None or answered is not None
        if not counted and answer["attempt"] not in models:
            continue
        uncounted += not counted
        answered = answer["pieces"] if answered is None else answered
        prompt += asked or 0
        completion += answered
        if asked is not None and answer["cached_tokens"] is not None:
            cached += answer["cached_tokens"]
            cached_of += asked
        if answer["dropped"]:
            wasted += (asked or 0) + answered
    return Tokens(prompt, completion, cached, cached_of, wasted, uncounted)


@dataclass(frozen=True, slots=True)
class TokenFigures:
    """Tokens of many turns: the sums of `Tokens`, and what follows.

    Attributes:
        per_minute: Prompts and answers, per minute of conversation; None where its length is not known.
        wasted_share: Of prompts and answers.
        cached_share: Of the prompts of which it is known; None: of none.
    """

    prompt: int
    completion: int
    cached: int
    cached_of: int
    wasted: int
    uncounted: int
    per_minute: float | None
    wasted_share: float
    cached_share: float | None


@dataclass(slots=True)
class TokenTally:
    """Counts tokens, and how long conversations were, while turns come in."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cached_of: int = 0
    wasted: int = 0
    uncounted: int = 0
    _conversation: str = ""
    _latest_ms: float = 0.0  # of the conversation at hand
    _others_ms: float = 0.0

    def add(self, conversation: str, tokens: Tokens, last_ms: float) -> None:
        """One more turn, whose last event was at `last_ms` of its conversation; a conversation's come together."""
        if conversation != self._conversation:
            self._others_ms += self._latest_ms
            self._conversation, self._latest_ms = conversation, 0.0
        self._latest_ms = max(self._latest_ms, last_ms)
        if tokens is not NONE:
            self._sum(tokens)

    def merge(self, later: "TokenTally") -> None:
        """Those of other conversations."""
        self._sum(Tokens(*(getattr(later, name) for name in Tokens._fields)))
        self._others_ms += later._others_ms + later._latest_ms

    def figures(self) -> TokenFigures | None:
        """So far; None where there were none."""
        total = self.prompt + self.completion
        if not total and not self.uncounted:
            return None
        minutes = (self._others_ms + self._latest_ms) / 60_000
        return TokenFigures(
            **{name: getattr(self, name) for name in Tokens._fields},
            per_minute=round(total / minutes, 1) if minutes > 0 else None,
            wasted_share=round(self.wasted / total, 4) if total else 0.0,
            cached_share=round(self.cached / self.cached_of, 4) if self.cached_of else None,
        )

    def _sum(self, tokens: Tokens) -> None:
        self.prompt += tokens.prompt
        self.completion += tokens.completion
        self.cached += tokens.cached
        self.cached_of += tokens.cached_of
        self.wasted += tokens.wasted
        self.uncounted += tokens.uncounted
