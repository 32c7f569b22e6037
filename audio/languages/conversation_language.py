"""Chooses the language of an utterance among those of a conversation. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from audio.languages.thresholds import LANGUAGE_THRESHOLDS, LanguageThresholds
from audio.languages.words import evidence_words


@dataclass(frozen=True, slots=True)
class ConversationLanguage:
    """The languages of a conversation, and the one of its last turn.

    Attributes:
        candidates: Codes without regions; only these are recognized.
        current: Language of the last turn; before the first one, the first of the list.
        is_first: Whether no turn was recognized yet.
        thresholds: What a change needs.
    """

    candidates: tuple[str, ...]
    current: str
    is_first: bool = True
    thresholds: LanguageThresholds = LANGUAGE_THRESHOLDS

    def __post_init__(self) -> None:
        assert self.current in self.candidates, "it is one of the candidates"

    def posterior(self, probabilities: Mapping[str, float]) -> dict[str, float]:
        """Returns the probability of each candidate with the prior of the conversation.

        `probabilities`: of the model's languages, as detected; a language that is missing has none.
        """
        others = len(self.candidates) - 1
        prior = self.thresholds.first_prior if self.is_first else self.thresholds.current_prior
        weights = {
            language: max(0.0, probabilities.get(language, 0.0))
            * (prior if language == self.current else (1 - prior) / max(1, others))
            for language in self.candidates
        }
        total = sum(weights.values())
        if total <= 0:
            return {language: float(language == self.current) for language in self.candidates}
        return {language: weight / total for language, weight in weights.items()}

    def possible(self, probabilities: Mapping[str, float]) -> str:
        """Returns the language in which to recognize the utterance first: another one than the current if it may be.

        Then `changes` tells whether its words are evidence.
        """
        posterior, limits = self.posterior(probabilities), self.thresholds
        other = max(posterior, key=lambda language: posterior[language])
        may_be = posterior[other] >= limits.possible and probabilities.get(other, 0.0) >= limits.possible_among_all
        return other if may_be else self.current

    def changes(self, language: str, probabilities: Mapping[str, float], text: str, fluency: float) -> bool:
        """Returns whether words that were recognized in another language are evidence that the user speaks it.

        `fluency`: mean log-probability of their tokens.
        """
        limits, words = self.thresholds, evidence_words(text)
        among_all = probabilities.get(language, 0.0)
        if language == self.current:
            return False
        if words >= limits.fluent_words and fluency >= limits.fluency:
            return True
        likely = self.posterior(probabilities)[language] >= limits.likely and among_all >= limits.among_all
        return likely and words >= limits.words

    def is_sure(self, probabilities: Mapping[str, float]) -> bool:
        """Returns whether the sound, without a prior, is almost certainly in the current language."""
        total = sum(probabilities.get(language, 0.0) for language in self.candidates)
        return total > 0 and probabilities.get(self.current, 0.0) >= self.thresholds.sure_of_current * total

    def may_differ(self, samples: int, sure_samples: int) -> bool:
        """Returns whether sound has to be examined of which the beginning is certainly in the current language.

        `samples`: its length; `sure_samples`: that of the beginning, 0 if nothing is certain.
        """
        return sure_samples < self.thresholds.sure_share * samples

    def after_turn(self, language: str) -> "ConversationLanguage":
        """Returns the state after a turn of the user in a language; "" or an unknown one changes nothing."""
        if language not in self.candidates:
            return self
        return replace(self, current=language, is_first=False)
