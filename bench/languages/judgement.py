"""Judges the policy: in how many turns of one language it changes wrongly, and how many changes it follows. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from audio.languages.conversation_language import ConversationLanguage
from bench.languages.evidence import Evidence
from bench.languages.utterances import LANGUAGES

TURNS_BETWEEN_CHANGES = 3
"""Turns of a synthesized dialogue in one language, on average, before it changes."""


@dataclass(frozen=True, slots=True)
class Share:
    """A count of successes.

    Attributes:
        hits: Successes.
        total: Trials.
    """

    hits: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        if not self.total:
            return 0.0, 1.0
        z, share = 1.96, self.hits / self.total
        centre = share + z * z / (2 * self.total)
        spread = z * (share * (1 - share) / self.total + z * z / (4 * self.total**2)) ** 0.5
        scale = 1 + z * z / self.total
        return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)

    def __str__(self) -> str:
        """Returns the count and the interval in percent."""
        low, high = self.interval
        return f"{self.hits} of {self.total} ({100 * low:.1f} to {100 * high:.1f} %)"


def decided(state: ConversationLanguage, evidence: Evidence) -> str:
    """Returns the language that the recognizer would choose, as `LoadedWhisper.decode` does."""
    other = state.possible(evidence.probabilities)
    words, fluency = evidence.words.get(other, ""), evidence.scores.get(other, float("-inf"))
    return other if state.changes(other, evidence.probabilities, words, fluency) else state.current


def wrong_changes(evidence: Sequence[Evidence]) -> tuple[Share, list[Evidence]]:
    """Returns the turns of conversations in one language that changed it, and which ones."""
    wrong = [
        one
        for one in evidence
        if decided(ConversationLanguage(LANGUAGES, one.utterance.language, is_first=False), one)
        != one.utterance.language
    ]
    return Share(len(wrong), len(evidence)), wrong


def compared_turns(evidence: Sequence[Evidence]) -> Share:
    """Returns the turns of conversations in one language that are recognized in another one, too."""
    states = [ConversationLanguage(LANGUAGES, one.utterance.language, is_first=False) for one in evidence]
    twice = [state.possible(one.probabilities) != state.current for state, one in zip(states, evidence, strict=True)]
    return Share(sum(twice), len(twice))


def followed_changes(evidence: Sequence[Evidence], dialogues: int, turns: int) -> tuple[Share, Share, list[str]]:
    """Returns the changes that were followed in dialogues made of the sentences.

    After a change that was missed, the dialogue goes on in the language that the recognizer uses. Also returns in how
    many cases the next sentence, in the same language, was followed then; and the words of all that were missed.
    """
    random = Random(3)
    by_language = {language: [one for one in evidence if one.utterance.language == language] for language in LANGUAGES}
    followed = changes = repeated = followed_then = 0
    missed: list[str] = []
    for _ in range(dialogues):
        spoken = random.choice(LANGUAGES)
        state = ConversationLanguage(LANGUAGES, spoken, is_first=False)
        missed_in = ""
        for _turn in range(turns):
            if random.random() < 1 / TURNS_BETWEEN_CHANGES:
                spoken = random.choice([language for language in LANGUAGES if language != spoken])
            one = random.choice(by_language[spoken])
            language = decided(state, one)
            if state.current != spoken:
                changes += 1
                followed += language == spoken
                repeated += missed_in == spoken
                followed_then += missed_in == spoken == language
                missed += [] if language == spoken else [f"{state.current}->{spoken}: {one.utterance.text}"]
            missed_in = spoken if language != spoken else ""
            state = replace(state.after_turn(language))
    return Share(followed, changes), Share(followed_then, repeated), missed


def where(evidence: Sequence[Evidence], fits: Callable[[Evidence], bool]) -> list[Evidence]:
    """Returns the evidence that fits."""
    return [one for one in evidence if fits(one)]
