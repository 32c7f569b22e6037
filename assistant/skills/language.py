"""What a language brings to the skills: phrases, numbers, answers, units and spelling. Its folder is all it needs."""

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import yaml

from assistant.skills.measures import Dimension, MeasureUnit
from assistant.skills.numerals import Numerals
from assistant.skills.unit_names import UnitName, load_unit_names

LANGUAGES = ("en", "de", "fr", "es")
"""Each has a folder of that name in this package."""
_SIGNIFICANT_DIGITS = 4
# The same in C, where PyYAML was built with it: reading the files of a language takes a tenth of the time.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class DayName:
    """A day, and how it was asked for.

    Attributes:
        day: The date that is meant.
        holiday: The words it was named by ("christmas"); None if it was not named so.
        weekday: Whether it was asked for as a day of the week.
        with_year: Whether its year belongs to its name.
    """

    day: date
    holiday: str | None = None
    weekday: bool = False
    with_year: bool = False


@dataclass(frozen=True, slots=True)
class Quantity:
    """So many of a unit, whose names are those of the language."""

    value: Fraction
    unit: UnitName
    dimension: Dimension

    @property
    def decimals(self) -> int:
        """Digits to say after the point: four significant ones, but nothing is rounded before it."""
        return next(
            (_SIGNIFICANT_DIGITS - whole for whole in range(_SIGNIFICANT_DIGITS) if abs(self.value) < 10**whole), 0
        )

    @property
    def is_half(self) -> bool:
        """Whether it is said as "half a ..."."""
        return self.value == Fraction(1, 2) and self.dimension is not Dimension.TEMPERATURE


class Phrases(Protocol):
    """What bends in a sentence. Without capital at its head and without full stop, unless it is said otherwise."""

    plural_endings: tuple[str, ...]
    """What "eggs" has more than "egg": a timer is found by either."""

    # ---- numbers and lengths ----

    def number(self, value: Fraction) -> str:
        """ "about one point four one four two"."""

    def count(self, value: int) -> str:
        """A small number before timers, alarms or dice: "three"."""

    def join(self, parts: list[str]) -> str:
        """ "a, b, and c"."""

    def duration(self, seconds: float, *, about: bool = False) -> str:
        """ "one hour and thirty minutes"; to the second."""

    def days(self, count: int, *, weeks: bool) -> str:
        """ "fourteen weeks and three days"."""

    def converted(self, parts: tuple[Quantity, ...], result: Quantity) -> str:
        """ "six feet and two inches are about one hundred and eighty-eight centimeters"."""

    # ---- clock and calendar ----

    def time_is(self, moment: time) -> str:
        """ "it's ten forty-three PM"."""

    def moment(self, at: datetime, days: int) -> str:
        """When an alarm rings, so many days from today: "seven AM tomorrow"."""

    def full_date(self, day: date) -> str:
        """ "Friday, November twentieth"."""

    def on_date(self, day: date) -> str:
        """ "on Friday, November twentieth"."""

    def year(self, year: int) -> str:
        """ "twenty twenty-six"."""

    def month(self, month: int) -> str:
        """ "November", of 1 to 12."""

    def weekday(self, weekday: int) -> str:
        """ "Friday", of 0 to 6."""

    def day(self, name: DayName) -> str:
        """ "Christmas", "Friday", "March third, twenty twenty-eight"."""

    def until(self, name: DayName) -> str:
        """ "until Christmas"."""

    def since(self, name: DayName) -> str:
        """ "since Christmas"."""

    def between(self, first: DayName, second: DayName) -> str:
        """ "between March third and June first"."""

    def missing_day(self, month: int, day: int, *, that_year: bool) -> str:
        """ "there is no February thirtieth"."""

    # ---- names ----

    def timer(self, name: str | None, seconds: float | None) -> str:
        """ "ten minute timer", "timer for eggs", "five minute timer for eggs"; one of the two is known."""

    def place(self, said: str) -> str:
        """ "in Tokyo", of the words of the template."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How people ask for the spelling of a word.

    Attributes:
        requests: Patterns of whole requests, each with the group `word`.
        not_spelled: A run of words with one of these is a sentence about spelling.
        pronouns: First words of what cannot be spelled: which word that is, only a model may know.
        letters: Letters with a name of their own in capitals.
    """

    requests: tuple[re.Pattern[str], ...]
    not_spelled: frozenset[str]
    pronouns: frozenset[str]
    letters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Language:
    """One language of the skills.

    Attributes:
        code: "en", "de": its folder in this package.
        answers: Sentences by name, with fields; where the number decides, by "one", "two" and "other".
        unit_names: Of every unit the language has a name for.
        units: By each of its names, lower case.
    """

    code: str
    phrases: Phrases
    numerals: Numerals
    answers: Mapping[str, str | Mapping[str, str]]
    unit_names: Mapping[MeasureUnit, UnitName]
    units: Mapping[str, MeasureUnit]
    spelling: Spelling

    def say(self, answer: str, /, *, of: int | None = None, **fields: str) -> str:
        """The answer of that name as a sentence; `of` is how many things it is about, where that bends it."""
        sentence = self.piece(answer, of=of, **fields)
        return sentence[:1].upper() + sentence[1:]

    def piece(self, answer: str, /, *, of: int | None = None, **fields: str) -> str:
        """The same as part of a sentence. Raises KeyError where the language lacks that answer."""
        text = self.answers[answer]
        if not isinstance(text, str):
            text = text.get({1: "one", 2: "two"}.get(of or 0, "other")) or text["other"]
        return text.format(**fields)

    def number(self, value: Fraction) -> str:
        """As words."""
        return self.phrases.number(value)


def base_of(tag: str) -> str | None:
    """The language of a BCP 47 tag, if the skills speak it: "de" of "de-AT"."""
    code = tag.replace("_", "-").partition("-")[0].lower()
    return code if code in LANGUAGES else None


def read_yaml(code: str, name: str) -> dict[str, Any]:
    """A file of a language's folder. Raises OSError or yaml.YAMLError if the installation is broken."""
    text = files("assistant.skills").joinpath(code, f"{name}.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, _LOADER)  # noqa: S506 - both loaders are safe ones
    assert isinstance(data, dict), name
    return data


@cache
def load_language(code: str) -> Language:
    """What the folder of that name brings, without its templates.

    Raises OSError, ImportError or yaml.YAMLError if the installation is broken.
    """
    module = importlib.import_module(f"assistant.skills.{code}.phrases")
    names = load_unit_names(code)
    units = {name: unit for unit, unit_name in names.items() for name in unit_name.all_names}
    spelling = read_yaml(code, "spelling")
    phrases: Phrases = module.PHRASES
    numerals: Numerals = importlib.import_module(f"assistant.skills.{code}.numerals").NUMERALS
    return Language(
        code,
        phrases,
        numerals,
        read_yaml(code, "answers"),
        names,
        units,
        Spelling(
            tuple(re.compile(request) for request in spelling["requests"]),
            frozenset(spelling["not_spelled"].split()),
            frozenset(spelling["pronouns"].split()),
            spelling.get("letters", {}),
        ),
    )
