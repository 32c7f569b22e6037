"""Counts language-model tokens of one turn and of many turns. No I/O, no clock."""

from dataclasses import dataclass
from typing import NamedTuple

from assistant.trace_report.reading import Record


class Tokens(NamedTuple):
    """Tokens of one turn over all attempts, as counted by the services.

    Attributes:
        prompt: Prompt tokens, including cached ones.
        completion: Completion tokens. If the service does not count them: the number of streamed pieces.
        cached: Prompt tokens that the service had cached.
        cached_of: Prompt tokens for which the number of cached ones is known.
        wasted: Prompt and completion tokens of dropped attempts, as far as counted.
        uncounted: Answers without a token count. Most were cancelled before the service reported it.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cached_of: int = 0
    wasted: int = 0
    uncounted: int = 0


NONE = Tokens()


def tokens_of(record: Record) -> Tokens:
    """Returns the tokens of a record; zeros if none were counted or the record is older than token counts.

    Sources that never count tokens, such as the built-in skills, are no language models. Their answers are left out,
    unless a connection was waited for.
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
    """Tokens of many turns: the sums of `Tokens` and derived values.

    Attributes:
        per_minute: Prompt and completion tokens per minute of conversation; None if its length is not known.
        wasted_share: Share of the prompt and completion tokens.
        cached_share: Share of the prompt tokens for which it is known; None if it is known for none.
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
    """Accumulates tokens and conversation lengths over turns."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cached_of: int = 0
    wasted: int = 0
    uncounted: int = 0
    _conversation: str = ""
    _latest_ms: float = 0.0  # of the current conversation
    _others_ms: float = 0.0

    def add_turn(self, conversation: str, tokens: Tokens, last_ms: float) -> None:
        """Adds a turn. `last_ms` is the time of its last event. A conversation's turns must come together."""
        if conversation != self._conversation:
            self._others_ms += self._latest_ms
            self._conversation, self._latest_ms = conversation, 0.0
        self._latest_ms = max(self._latest_ms, last_ms)
        if tokens is not NONE:
            self._sum(tokens)

    def merge(self, later: "TokenTally") -> None:
        """Adds the tokens of other conversations."""
        self._sum(Tokens(*(getattr(later, name) for name in Tokens._fields)))
        self._others_ms += later._others_ms + later._latest_ms

    def figures(self) -> TokenFigures | None:
        """Returns the figures so far; None if there are none."""
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
