"""Scores how hard a request is, and decides whether a small or a large model is to answer it.

Pure: the messages of a request in, a size with points and reasons out. No reason contains words of the conversation.
All numbers are in this file; `request_words.py` has the words. docs/lab/tiers.md says how well they work.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from llm.chat import Message, Size
from llm.routing.request_words import LANGUAGES, NUMBER_WORDS, QUESTION_WORDS, Feature

LARGE_FROM = 2.0
"""Points from which the large model is asked."""

POINTS: Mapping[Feature, float] = MappingProxyType(
    {
        "asked to think": 3.0,
        "reasoning": 1.5,
        "comparison": 2.0,
        "planning": 2.0,
        "code": 2.0,
        "maths": 1.5,
        "condition": 0.5,
        "short answer": -1.5,
    }
)
"""Points of a feature that occurs anywhere in the request, once."""

OPENING_POINTS: Mapping[Feature, float] = MappingProxyType({"fact": -1.0, "command": -2.0, "small talk": -2.0})
"""Points of a feature at the beginning of the request; courtesies before it do not count."""

LENGTH_POINTS = ((24, 2.0), (14, 1.0), (9, 0.5))
"""Points of a request with at least this many words; the first that applies."""

NUMBERS_POINTS = ((3, 1.5), (2, 0.5))
"""Points of a request with at least this many numbers; the first that applies."""

SEVERAL_QUESTIONS_POINTS = 1.0
"""Points of a request with two or more different question words."""

FOLLOW_UP_POINTS = 2.0
"""Points of a follow-up to a hard request."""

MAX_FOLLOW_UP_WORDS = 14
"""A longer request stands on its own."""

MAX_SMALL_TALK_WORDS = 4
"""A greeting or thanks with more words than that is the beginning of something else."""

MAX_SCORED_CHARS = 1000
"""Characters of a text that are scored, from its beginning: a minute of speech."""

GAP_CHARS = 80
"""Longest gap between the words of a phrase with a gap."""

_SIGNS = re.compile(r"[=<>{}\[\]^√∫]|\w\(|::|=>|\d\s*[*/]\s*\d")
"""Signs of code or of a formula, in typed text."""

_COURTESY = re.compile(
    r"^(?:(?:(?:hey|ok|okay|so|well|please|um|uh|also|äh|ähm|bitte|sag mal|na|euh|alors|bon|s'il te plaît|stp|dis-moi|"
    r"eh|bueno|pues|por favor|oye|dime)\b|can you|could you|would you|tell me|do you know|kannst du|könntest du|"
    r"weißt du|sag mir|peux-tu|tu peux|pourrais-tu|est-ce que tu peux|sais-tu|puedes|podrías|sabes)[ ,]*)*"
)


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of a score, without words of the conversation."""

    name: str
    points: float


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The size of model for a request.

    Attributes:
        size: The size.
        points: Sum of the reasons' points.
        reasons: What counted, in the order of the rules.
    """

    size: Size
    points: float
    reasons: tuple[Reason, ...]

    @property
    def why(self) -> str:
        """Points and reasons in one line: "3.5 points: comparison +2, length +1.5"."""
        reasons = ", ".join(f"{reason.name} {reason.points:+g}" for reason in self.reasons)
        return f"{self.points:g} points: {reasons}" if reasons else "0 points"


def request_size(messages: Sequence[Message], language: str) -> RequestSize:
    """Returns the size of model for the last user message.

    Args:
        messages: The request. The user message before the last one tells whether it is a follow-up.
        language: Language tag of the conversation.
    """
    user_texts = [message.content for message in messages if message.role == "user"]
    base = language.partition("-")[0].lower()
    reasons = _reasons(user_texts[-1], base) if user_texts else ()
    if (
        len(user_texts) > 1
        and _follows_up(user_texts[-1], base)
        and _points(_reasons(user_texts[-2], base)) >= LARGE_FROM
    ):
        reasons = (*reasons, Reason("follow-up to a hard request", FOLLOW_UP_POINTS))
    points = _points(reasons)
    return RequestSize("large" if points >= LARGE_FROM else "small", points, reasons)


def _points(reasons: Sequence[Reason]) -> float:
    return sum(reason.points for reason in reasons)


def _reasons(text: str, language: str) -> tuple[Reason, ...]:
    normal_text = _normalized(text)
    words = len(re.findall(r"[\w'’-]+", normal_text))
    reasons = [Reason(name, points) for name, points in POINTS.items() if _has(name, normal_text, language)]
    opening = _COURTESY.sub("", normal_text, count=1)
    for name, points in OPENING_POINTS.items():
        short = name != "small talk" or words <= MAX_SMALL_TALK_WORDS
        if short and _begins(name, opening if name != "small talk" else normal_text, language):
            reasons.append(Reason(name, points))
            break
    reasons += _by_count("length", words, LENGTH_POINTS)
    reasons += _by_count("numbers", _numbers(normal_text, language), NUMBERS_POINTS)
    if language in QUESTION_WORDS and len(set(_pattern(QUESTION_WORDS[language]).findall(normal_text))) > 1:
        reasons.append(Reason("several questions", SEVERAL_QUESTIONS_POINTS))
    if _SIGNS.search(text[:MAX_SCORED_CHARS]):
        reasons.append(Reason("code or formula", POINTS["code"]))
    return tuple(reasons)


def _follows_up(text: str, language: str) -> bool:
    normal_text = _normalized(text)
    words = len(re.findall(r"[\w'’-]+", normal_text))
    return (
        words <= MAX_FOLLOW_UP_WORDS
        and not _begins("small talk", normal_text, language)
        and _begins("follow-up", normal_text, language)
    )


def _by_count(name: str, count: int, steps: Sequence[tuple[int, float]]) -> list[Reason]:
    return next(([Reason(name, points)] for least, points in steps if count >= least), [])


def _numbers(text: str, language: str) -> int:
    """Returns how many numbers are named; words of one number count once."""
    words = f"|(?:(?:{NUMBER_WORDS[language]})[ -]?)+" if language in NUMBER_WORDS else ""
    return len(_pattern(rf"\d[\d.,]*{words}").findall(text))


def _has(name: Feature, text: str, language: str) -> bool:
    words = LANGUAGES.get(language)
    return words is not None and _pattern("|".join(words[name])).search(text) is not None


def _begins(name: Feature, text: str, language: str) -> bool:
    words = LANGUAGES.get(language)
    return words is not None and _pattern("|".join(words[name])).match(text) is not None


@cache
def _pattern(words: str) -> re.Pattern[str]:
    bounded = words.replace(".+", f".{{1,{GAP_CHARS}}}").replace(".*", f".{{0,{GAP_CHARS}}}")
    return re.compile(rf"(?<!\w)(?:{bounded})(?!\w)")


def _normalized(text: str) -> str:
    """Returns the text in lower case, with plain apostrophes and single blanks, and without punctuation at its ends."""
    return " ".join(text[:MAX_SCORED_CHARS].lower().replace("’", "'").split()).strip(" .,!?¿¡…\"'")
