"""A transcript as the rules about dictation see it: its tokens, its value, and what its end shows. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.end_of_turn.completeness import is_request, words_of
from assistant.end_of_turn.dictation.dictation_words import (
    DECIMAL_POINTS,
    FILLERS,
    SEPARATORS,
    DictatedKind,
    DictationWords,
)
from assistant.end_of_turn.dictation.spoken_tokens import Token, tokens_of
from assistant.end_of_turn.questions import Question

_STRIPPED = " .!?,;:-–—"
_ANNOUNCEMENT_WORDS = 15
"""An announcement is looked for in so many words at the end."""

_BEGUN_WITH_ANY_WORD: frozenset[DictatedKind] = frozenset({"address", "date", "e-mail address"})


@dataclass(frozen=True, slots=True)
class DictatedText:
    """A transcript.

    Attributes:
        text: As the recognizer wrote it.
        plain: In lower case, without fillers, and without punctuation at its end.
        tokens: Its tokens.
        introduced: The kind of value that a phrase introduces: "my number is". None without such a phrase, or if the
            value has not begun.
        value: The tokens after that phrase; all tokens without one.
        words: The words of the language.
        question: What the assistant's last words asked for.
        region: The region of phone numbers.
    """

    text: str
    plain: str
    tokens: tuple[Token, ...]
    introduced: DictatedKind | None
    value: tuple[Token, ...]
    words: DictationWords
    question: Question
    region: str

    @property
    def goes_on(self) -> bool:
        """Whether the last word shows that more follows: "double", "dash", "as in"."""
        last = self.tokens[-1] if self.tokens else None
        open_ended = self.text.rstrip().endswith(("-", "–", "—", "+"))
        if last is None or open_ended or separates(last) or last.text in self.words.repeats:
            return True
        return any(ends_with(self.tokens, example) for example in self.words.as_in)

    @property
    def is_one_number(self) -> bool:
        """Whether the digits are those of one number: "two thousand and six", "three point one"."""
        words = set(words_of(self.plain))
        return bool(words & (self.words.hundreds.keys() | DECIMAL_POINTS))

    @property
    def last_digits(self) -> str:
        """The digits that end the text; those of the value if it ends with words."""
        return digits_of(trailing(self.tokens, "digits") or self.value)


def dictated_text(text: str, words: DictationWords, question: Question, region: str) -> DictatedText:
    """Returns a transcript with its tokens and its value."""
    plain, tokens = plain_text(text), tokens_of(text, words)
    introduced, value = _introduced(text, plain, words) or (None, tokens)
    return DictatedText(text, plain, tokens, introduced, value, words, question, region)


def _introduced(text: str, plain: str, words: DictationWords) -> tuple[DictatedKind, tuple[Token, ...]] | None:
    """Returns the kind and the tokens of a value that a phrase introduces, if it has begun."""
    kinds = [(match.end(), kind) for kind, pattern in words.introductions.items() for match in pattern.finditer(plain)]
    if not kinds or is_request(words_of(text)):
        return None
    end, kind = max(kinds)
    value = tokens_of(plain[end:], words)
    if kind == "spelling":
        has_begun = bool(value) and value[-1].kind == "letter"
    else:
        has_begun = any(kind in _BEGUN_WITH_ANY_WORD or token.kind == "digits" for token in value)
    return (kind, value) if has_begun else None


def announces_more(text: str, words: DictationWords) -> bool:
    """Returns whether the text ends with words that announce more, or with a value that is named and not begun."""
    lower = _lower(text)
    parts = lower.split()
    if len(parts) > _ANNOUNCEMENT_WORDS:
        lower = " ".join(["x", *parts[-_ANNOUNCEMENT_WORDS:]])  # "x": the patterns tell where the text begins
    plain = plain_text(lower)
    if words.announced.search(plain) or words.announced.search(lower.rstrip(_STRIPPED)):
        return True
    return not lower.endswith("?") and bool(words.unsaid.search(plain)) and not is_request(words_of(text))


def plain_text(text: str) -> str:
    """Returns the text in lower case, without fillers, and without punctuation at its end."""
    return " ".join(word for word in _lower(text).split() if word.strip(".,!?-") not in FILLERS).rstrip(_STRIPPED)


def _lower(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").replace("…", " ").split())


def separates(token: Token) -> bool:
    """Returns whether a token separates groups: "dash", "+"."""
    return (token.kind == "word" and token.text in SEPARATORS) or (token.kind == "sign" and token.text == "+")


def trailing(tokens: Sequence[Token], kind: Literal["digits", "letter"]) -> Sequence[Token]:
    """Returns the tokens of a kind at the end, with separators between them."""
    start = len(tokens)
    while start and (tokens[start - 1].kind == kind or separates(tokens[start - 1])):
        start -= 1
    while start < len(tokens) and separates(tokens[start]) and tokens[start].kind != "sign":
        start += 1
    return tokens[start:]


def ends_with(tokens: Sequence[Token], words: tuple[str, ...]) -> bool:
    """Returns whether the last tokens are these words."""
    return tuple(token.text for token in tokens[-len(words) :]) == words


def digits_of(tokens: Sequence[Token]) -> str:
    """Returns all digits of the tokens."""
    return "".join(token.text for token in tokens if token.kind == "digits")
