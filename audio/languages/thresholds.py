"""Thresholds of a change of language; chosen on synthesized and recorded speech (docs/performance.md, "Languages")."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LanguageThresholds:
    """Needs of a change of language: a likely language and two words, or fluent words in a language that may be.

    All are probabilities, but for `words`, `fluent_words` and `fluency`.

    Attributes:
        current_prior: Before an utterance is heard: that it is in the language of the last turn.
        first_prior: The same before the first turn of a conversation, for the first language of the list.
        likely: Of the other language among the candidates, with the prior.
        among_all: Of the other language among all languages of the model. Noise, hums and bad synthesis spread over
            many.
        words: Different words in the other language. Short answers, numbers and names do not count.
        possible: As `likely`, where the words are fluent.
        possible_among_all: As `among_all`, where the words are fluent.
        fluent_words: As `words`, where the words are fluent.
        fluency: Mean log-probability of the tokens of fluent words. Of words recognized in the wrong language it is
            usually below -0.7.
        sure_of_current: Of the current language, without a prior, from which an utterance that goes on is not examined
            again.
        sure_share: Share of an utterance that was examined then, from which the rest is not.
    """

    current_prior: float = 0.9
    first_prior: float = 0.6
    likely: float = 0.9
    among_all: float = 0.4
    words: int = 2
    possible: float = 0.5
    possible_among_all: float = 0.2
    fluent_words: int = 3
    fluency: float = -0.5
    sure_of_current: float = 0.9
    sure_share: float = 0.5


LANGUAGE_THRESHOLDS = LanguageThresholds()
