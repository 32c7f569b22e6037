"""The words and constructions of one language, as data for the lexical gate."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

Rewrite = tuple[re.Pattern[str], str]


_LOOKAHEAD = re.compile(r"\(\?[=!](?:[^()]|\([^()]*\))*\)$")


def rewrites(text: str) -> tuple[Rewrite, ...]:
    """Returns rewrite rules: one a line, "pattern -> replacement". A pattern matches whole words."""
    rules = []
    for line in text.strip().splitlines():
        pattern, _, replacement = line.strip().partition(" ->")
        begin = "" if pattern.startswith("^") else r"\b"
        looks_ahead = bool(_LOOKAHEAD.search(pattern))
        end = "" if pattern.endswith("$") or looks_ahead else r"(?!\w)"
        rules.append((re.compile(f"{begin}{pattern}{end}"), replacement.strip() + " " * looks_ahead))
    return tuple(rules)


def alternatives(words: str) -> re.Pattern[str]:
    """Returns a pattern for any of the phrases, which are separated by "|" or line ends, as whole words."""
    phrases = [phrase.strip() for phrase in re.split(r"[|\n]", words) if phrase.strip()]
    return re.compile(rf"(?<![\w'])(?:{'|'.join(phrases)})(?![\w'])")


def forms(text: str) -> dict[str, str]:
    """Maps each word of a line to the first word of that line."""
    return {word: line.split()[0] for line in text.strip().splitlines() for word in line.split()}


def pairs(text: str) -> dict[str, str]:
    """Returns "a=b" items as a mapping from a to b."""
    return dict(item.split("=") for item in text.split())


CAPITALIZED = re.compile(r"(?:(?<=[\w,] )|(?<=['’]))([A-ZÀ-Ý]\w*)")
"""A word with a capital letter within a sentence. In most languages it is a name."""


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The words of one language. All text is lower case and without punctuation.

    Attributes:
        contractions: Rules that write contractions in full.
        frames: What surrounds a request without changing it: "can you tell me", "please". Removed at both ends.
        rewrites: Rules that bring constructions into one form: "what year" is "when".
        questions: Question words, each with its class; the first that occurs decides. It is removed.
        polar: Words that begin a yes-or-no question.
        dropped: Words without meaning of their own.
        articles: Articles, each with "definite" or "indefinite".
        genders: Articles that one noun may have in its cases and numbers; () where articles have no gender.
        be: Forms of "be" that make a past form passive.
        past, future: Words that tell the tense. `past_forms` maps past forms to their verbs.
        negations: Words that negate, each with the word that stands for it.
        numbers: Number words; ordinals are written "#2".
        forms: Maps inflected forms and synonyms to one word.
        plurals: Maps irregular plurals to the singular.
        suffixes: Endings that are removed, each with its replacement and the least length of what remains.
        kept: Words whose ending is no suffix.
        superlative: Superlatives and ordinals: with them, singular and plural ask for different things.
        classes: Words that name a kind of mismatch for the trace: "unit", "date", "quantity".
        asks: The beginning of a request for information without a question word, such as "tell me the".
        timely: Words of requests whose answer depends on time or place.
        personal: Words of requests that are about the user or the assistant.
        varied: Words of requests whose answer should vary, such as jokes.
        referring: Words that refer back to what was said before.
        state: The beginning of a question for the state of a certain thing: "is the".
        definite: A definite noun phrase; one without a complement may refer back.
        unique: What there is only once, such as "the sun".
        definition: A request for a definition, such as "what is a compass", after the rewrite rules.
        name: A name in a request as it was written; its group 1 is a word that must not be among `no_names`.
        no_names: Words with a capital letter that do not tell what a request is about: days, months, languages.
        relational: What is always of something, such as "inhabitants"; without a complement it refers back.
        complement: What makes a noun phrase complete, such as "of France".
    """

    contractions: tuple[Rewrite, ...]
    frames: tuple[re.Pattern[str], ...]
    rewrites: tuple[Rewrite, ...]
    questions: tuple[tuple[re.Pattern[str], str], ...]
    polar: re.Pattern[str]
    dropped: frozenset[str]
    articles: Mapping[str, str]
    genders: tuple[frozenset[str], ...]
    be: frozenset[str]
    past: frozenset[str]
    future: frozenset[str]
    past_forms: Mapping[str, str]
    past_suffix: str
    negations: Mapping[str, str]
    numbers: Mapping[str, str]
    forms: Mapping[str, str]
    plurals: Mapping[str, str]
    suffixes: tuple[tuple[str, str, int], ...]
    kept: frozenset[str]
    superlative: re.Pattern[str]
    classes: Mapping[str, frozenset[str]]
    asks: re.Pattern[str]
    timely: re.Pattern[str]
    personal: re.Pattern[str]
    varied: re.Pattern[str]
    referring: re.Pattern[str]
    state: re.Pattern[str]
    definite: re.Pattern[str]
    unique: re.Pattern[str]
    definition: re.Pattern[str]
    name: re.Pattern[str]
    no_names: frozenset[str]
    relational: re.Pattern[str]
    complement: re.Pattern[str]

    def knows(self, word: str) -> bool:
        """Returns whether this is one of the language's frequent words: an article, a pronoun, a question word, ..."""
        return (
            word in self.articles
            or word in self.dropped
            or word in self.past
            or word in self.negations
            or any(pattern.fullmatch(word) for pattern in (self.personal, self.timely, self.polar))
            or any(pattern.fullmatch(word) for pattern, _ in self.questions)
        )
