"""Says what a speaker dictates and whether it is complete: a phone number, a name letter by letter, an address. Pure.

The rules read the recognizer's transcript so far, the assistant's last question and the region. They have no weights.
The text of dictation is often wrong in form ("1,0001 90210"), so they count digits and letters and rely on few words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from assistant.end_of_turn.completeness import is_request, is_short_answer, words_of
from assistant.end_of_turn.dictation.announced_lists import announces_list
from assistant.end_of_turn.dictation.dictated_text import (
    DictatedText,
    announces_more,
    dictated_text,
    ends_with,
    separates,
    trailing,
)
from assistant.end_of_turn.dictation.dictated_values import (
    NUMBER_SIGNS,
    SHORTEST_DICTATED,
    SHORTEST_SPELT,
    UNITS_OF_BUILDINGS,
    value_state,
)
from assistant.end_of_turn.dictation.dictation_words import (
    GROUP_SEPARATORS,
    DictatedKind,
    DictationWords,
    dictation_words,
)
from assistant.end_of_turn.dictation.phone_numbers import REGION_OF_LANGUAGE, ValueState
from assistant.end_of_turn.dictation.spoken_tokens import Token
from assistant.end_of_turn.questions import NO_QUESTION, Expected, Question

Kind = Literal["none", "announcement"] | DictatedKind
KINDS: tuple[Kind, ...] = ("none", "announcement", *get_args(DictatedKind))
STATES: tuple[ValueState, ...] = get_args(ValueState)


_ASKED: Mapping[Expected, DictatedKind] = MappingProxyType(
    {
        "a phone number": "phone number",
        "a card number": "card number",
        "a code": "code",
        "a number": "number",
        "a spelling": "spelling",
        "an address": "address",
        "a date": "date",
        "a time": "time",
        "an e-mail address": "e-mail address",
        "a list": "list",
    }
)
_MAIL = re.compile(
    r"\w@|@\w|\bat [a-z][\w-]* ?(?:dot\b|\.[a-z])|\b(?:at|arroba) (?:gmail|g mail|hotmail|yahoo|outlook|icloud|gmx"
    r"|web)\b"
)
_UNIT_WORDS = re.compile(
    r"(?:a\.?m|p\.?m|o'clock|percent|dollars?|euros?|pounds?|cents?|minutes?|hours?|seconds?|days?|weeks?|months?"
    r"|years?|degrees?|kilometers?|miles?|meters?|feet|square|acres?|hectares?|times|plus|minus|of|and|or|to|by|is|people"
    r"|persons?|january|february|march|april|may|june|july|august|september|october|november|december|uhr|prozent"
    r"|minuten|stunden|heures|horas)"
)
"""Words after a number that make it no house number."""

_MISHEARD_WORDS = 2
_MOST_WORDS = 100  # words at the end that the rules read: it bounds their cost
_NAME_WORDS = 4
_SINGLE_CHARACTERS, _SINGLE_SHARE = 4, 0.6
"""A text with so many single characters, and this share of them, is spelt, even if some were written as words."""

_STREETS = frozenset("street avenue road lane boulevard straße strasse rue calle avenida".split())
_SENTENCE_WORDS = frozenset(
    "the a an to in on at of my your is are was i you we it this that what where which and der die das le la el".split()
)
_VERB_WORDS = frozenset("is are was were am be i you we it about please how wie wird schreibt man est es".split())
_STREET_WORDS = 6

_DECLINES = re.compile(
    r"(?:no|none|nope|not|nothing|never|sorry|skip|why|what|i (?:don't|do not|can't|cannot|won't|have no)|i'm not"
    r"|nein|kein\w*"
    r"|weiß nicht|ich (?:weiß|habe|möchte|will) (?:es |das )?(?:nicht|kein)|non|aucun|je ne|no sé|ninguno)\b"
)
"""Beginnings of texts that do not give the value that was asked for."""


@dataclass(frozen=True, slots=True)
class Dictation:
    """A dictated value: its kind, and whether it is complete.

    Attributes:
        kind: What it is. "announcement": the speaker said that more follows ("let me think"). "none": no dictation.
        state: Whether it is complete. "unknown": it may be complete, and may go on.
    """

    kind: Kind = "none"
    state: ValueState = "unknown"

    @property
    def described(self) -> str:
        """A phrase for the trace: "dictates a phone number: incomplete"."""
        return "announces more" if self.kind == "announcement" else f"dictates {self.kind}: {self.state}"

    def features(self) -> dict[str, float]:
        """Returns the features of the EOT model, by name: 1 for the state of a value, 0 otherwise."""
        state = None if self.kind == "none" else self.state
        return {f"value_{name}": float(state == name) for name in STATES}


NOTHING = Dictation()

OPEN_ENDED: frozenset[Kind] = frozenset(
    {"digits", "phone number", "card number", "code", "number", "spelling", "address", "e-mail address", "list"}
)
"""Values that are said in groups, so that one that may be complete may also go on."""


@dataclass(frozen=True, slots=True)
class DictationRules:
    """The rules of one conversation.

    Attributes:
        language: Its language code.
        region: Two-letter code of the region whose phone numbers are expected; "": the main region of the language.
    """

    language: str = "en"
    region: str = ""

    def dictation_of(self, text: str, question: Question = NO_QUESTION, earlier: Dictation = NOTHING) -> Dictation:
        """Says what is dictated.

        Args:
            text: The transcript of the turn so far.
            question: What the assistant's last words asked for.
            earlier: The result in the pause before. A value that has begun goes on even if the recognizer now writes it
                as ordinary words.
        """
        dictation = self._dictation_in(text, question)
        return Dictation(earlier.kind) if dictation == NOTHING and earlier.kind in OPEN_ENDED else dictation

    def _dictation_in(self, text: str, question: Question) -> Dictation:
        words = dictation_words(self.language)
        asked = _ASKED.get(question.expected)
        if words is None:
            return NOTHING
        if not text.strip():
            return Dictation(asked) if asked is not None else NOTHING
        if announces_more(text, words):
            return Dictation("announcement", "incomplete")
        region = self.region or REGION_OF_LANGUAGE.get(self.language.partition("-")[0], "")
        speech = dictated_text(" ".join(text.split()[-_MOST_WORDS:]), words, question, region)
        kind = _kind_of(speech)
        return NOTHING if kind is None else Dictation(kind, value_state(kind, speech))


# ---- what is dictated ----


def _kind_of(speech: DictatedText) -> DictatedKind | None:
    """Returns what is dictated; None if nothing is."""
    asked = _ASKED.get(speech.question.expected)
    if _MAIL.search(speech.plain) and asked in (None, "e-mail address"):
        return "e-mail address"
    if announces_list(speech.plain, asked=asked is not None):
        return "list"
    if speech.introduced is not None and asked in (None, "number"):
        return speech.introduced
    if asked is None:
        return _kind_by_shape(speech)
    if _DECLINES.match(speech.plain) or is_request(words_of(speech.text)):
        return None
    return asked if _fits(speech, asked) or _has_hardly_begun(speech.text) else _kind_by_shape(speech)


def _has_hardly_begun(text: str) -> bool:
    """Returns whether the text is so short that it may be the misheard beginning of a value."""
    words = words_of(text)
    return len(words) <= _MISHEARD_WORDS and not is_short_answer(words)


def _fits(speech: DictatedText, asked: DictatedKind) -> bool:
    """Returns whether the text can be the value that was asked for."""
    kinds = {token.kind for token in speech.tokens}
    if asked in ("phone number", "card number", "number"):
        return "digits" in kinds
    if asked == "code":
        return bool({"digits", "letter"} & kinds)
    if asked == "spelling":
        return len(speech.tokens) == 1 or "letter" in kinds
    if asked == "address":
        return "digits" in kinds or any(speech.words.suffixes.fullmatch(token.text) for token in speech.tokens)
    return True


def _kind_by_shape(speech: DictatedText) -> DictatedKind | None:
    """Returns what the form of the whole text shows, where nothing was asked for or introduced."""
    tokens, again = speech.tokens, speech.words.repeats
    if not tokens:
        return None
    if all(separates(token) or token.kind == "digits" or token.text in again for token in tokens):
        begins = len(tokens) == 1 and len(tokens[0].text) == 1 and speech.question.expected == "anything"
        return "digits" if begins or _is_dictated(speech) else None
    if speech.is_one_number or is_request(words_of(speech.text)):
        return None
    if _looks_like_address(tokens, speech.words):
        return "address"
    single = [token for token in tokens if len(token.text) == 1 and token.kind != "sign" and not token.capital]
    if _spells(speech) or len(single) >= max(_SINGLE_CHARACTERS, _SINGLE_SHARE * len(tokens)):
        return "spelling"
    mixed = all(token.kind in ("digits", "letter") or separates(token) for token in tokens)
    return "code" if mixed and len(tokens) > 1 else None


def _spells(speech: DictatedText) -> bool:
    """Returns whether the text ends with letters, after a name at most: "Sam S A M", but not "turn on the T V"."""
    tokens, asks_for_letter = speech.tokens, False
    for example in (*speech.words.as_in, *((word,) for word in speech.words.repeats)):
        if ends_with(tokens, example):
            tokens, asks_for_letter = tokens[: -len(example)], True
    letters = trailing(tokens, "letter")
    before = tokens[: len(tokens) - len(letters)]
    if len(before) > _NAME_WORDS or any(token.kind != "word" for token in before):
        return False
    if is_request([token.text for token in before]):
        return False
    if len(before) > 1 and all(token.capital for token in letters):
        return False  # "I work at NASA"
    count = sum(token.kind == "letter" for token in letters)
    alone = not before and speech.question.expected == "anything"  # after a question, one letter may be the answer
    return count >= SHORTEST_SPELT or (count == 1 and (asks_for_letter or alone))


def _is_dictated(speech: DictatedText) -> bool:
    """Returns whether digits are dictated: not "twenty five", "two plus two", "seven thirty" or "nineteen ninety"."""
    digits = [token.text for token in speech.tokens if token.kind == "digits"]
    inner = [token.text for token in speech.tokens[1:-1] if token.kind == "word"]
    if speech.is_one_number or not speech.words.repeats.keys() | GROUP_SEPARATORS >= set(inner):
        return False
    if len(digits) == len(("seven", "thirty")):
        is_year = "".join(digits)[:2] in ("19", "20")
        return all(len(each) == 1 for each in digits) or (len("".join(digits)) > len("730") and not is_year)
    return len(digits) > 1 or any(len(each) >= SHORTEST_DICTATED for each in digits)


def _looks_like_address(tokens: Sequence[Token], words: DictationWords) -> bool:
    """Returns whether the text begins as an address: "29 Summer Breeze", "flat number 207", "12 rue"."""
    first, *rest = tokens
    if first.kind == "word" and first.text in UNITS_OF_BUILDINGS:
        skipped = [token for token in rest if token.text not in NUMBER_SIGNS]
        return not skipped or skipped[0].kind == "digits"
    names = [token for token in rest if token.kind == "word"]
    texts = {token.text for token in tokens}
    if texts & _VERB_WORDS:
        return False
    if first.kind != "digits":
        return bool(texts & _STREETS) and not texts & _SENTENCE_WORDS and len(tokens) <= _STREET_WORDS
    if not names or _UNIT_WORDS.fullmatch(names[0].text):
        return False
    has_street = any(words.suffixes.fullmatch(token.text) for token in names)
    digit_by_digit = len(first.text) == 1 and rest[0].kind == "digits" and len(rest[0].text) == 1
    return has_street or digit_by_digit or all(token.capital for token in names[:2])
