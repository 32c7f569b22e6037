"""Language data of the skills: phrases, numbers, answers and units. A language is one folder."""

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import yaml

from assistant.registry.skills import shared_skills
from assistant.skills.languages.measures import Dimension, MeasureUnit
from assistant.skills.languages.numerals import Numerals
from assistant.skills.languages.say import NumberMarks, write_number
from assistant.skills.languages.unit_names import UnitName, load_unit_names

WORKDAYS = (0, 1, 2, 3, 4)
EVERY_DAY = tuple(range(7))

LANGUAGES = ("en", "de", "fr", "es")
"""The supported languages. Each has a folder of that name in this package."""
DIALOG = "assistant.skills.dialog"
"""Package with the sentences of dialogs, and the answers where no skill understands."""
_SIGNIFICANT_DIGITS = 4
# The C loader of PyYAML, if available, reads the files of a language in a tenth of the time.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class DayName:
    """A day, and how the user asked for it.

    Attributes:
        day: The date.
        holiday: The words that named the day ("christmas"); None without a name.
        weekday: Whether the user asked for a weekday.
        with_year: Whether the name includes the year.
    """

    day: date
    holiday: str | None = None
    weekday: bool = False
    with_year: bool = False


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in a unit, with the unit's names in the language."""

    value: Fraction
    unit: UnitName
    dimension: Dimension

    @property
    def decimals(self) -> int:
        """Number of decimals to write. There are four significant digits, but the integer part is never rounded."""
        return next(
            (_SIGNIFICANT_DIGITS - whole for whole in range(_SIGNIFICANT_DIGITS) if abs(self.value) < 10**whole), 0
        )

    @property
    def is_half(self) -> bool:
        """Whether the quantity is told as "half a ..."."""
        return self.value == Fraction(1, 2) and self.dimension is not Dimension.TEMPERATURE


class Phrases(Protocol):
    """Inflected phrases of a language, as they are written: numbers are digits.

    `assistant.text.normalization` makes their spoken form. Unless noted otherwise, they start in lower case and have no
    full stop.
    """

    plural_endings: tuple[str, ...]
    """Plural endings that "eggs" has and "egg" does not. A timer is found by either form."""

    other_repeat: re.Pattern[str]
    """End of a task that is a repetition without weekdays: "every other", "every month"."""

    marks: NumberMarks
    """The marks of numbers."""

    weekdays: tuple[str, ...]
    """The weekdays, from Monday."""

    months: tuple[str, ...]
    """The months, from January."""

    and_word: str
    """Joins the last two parts of a list."""

    # ---- numbers and lengths ----

    def number(self, value: Fraction) -> str:
        """Returns a number: "about 1.4142"."""
        return write_number(value, self.marks)

    def count(self, value: int) -> str:
        """Returns a small number before timers, alarms or dice: "3"."""
        return self.marks.whole(value)

    def join(self, parts: list[str]) -> str:
        """Joins the parts of a list: "a, b und c"."""
        return f" {self.and_word} ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))

    def duration(self, seconds: float, *, about: bool = False) -> str:
        """Returns a duration, to the second: "1 hour and 30 minutes"."""

    def duration_behind_in(self, seconds: float) -> str:
        """Returns a duration as it follows "in": "einer Stunde"."""
        return self.duration(seconds)

    def days(self, count: int, *, weeks: bool) -> str:
        """Returns a number of days: "14 weeks and 3 days"."""

    def converted(self, parts: tuple[Quantity, ...], result: Quantity) -> str:
        """Returns a conversion: "6 feet and 2 inches are about 188 centimeters"."""

    # ---- clock and calendar ----

    def time_is(self, moment: time) -> str:
        """Returns the time of day: "it's 10:43 PM"."""

    def moment(self, local_time: datetime, days: int) -> str:
        """Returns when an alarm rings, `days` days from today: "7 AM tomorrow".

        A day more than six days away or ago is named with its date.
        """

    def repeated(self, local_time: time, weekdays: tuple[int, ...]) -> str:
        """Returns when an alarm rings again and again: "7 AM every weekday"."""

    def full_date(self, day: date) -> str:
        """Returns a date with its weekday: "Friday, November 20"."""

    def on_date(self, day: date) -> str:
        """Returns a date with its weekday and preposition: "on Friday, November 20"."""

    def year(self, year: int) -> str:
        """Returns a year: "2026"."""
        return str(year)

    def month(self, month: int) -> str:
        """Returns the month 1 to 12: "November"."""
        return self.months[month - 1]

    def weekday(self, weekday: int) -> str:
        """Returns the weekday 0 to 6: "Friday"."""
        return self.weekdays[weekday]

    def day(self, name: DayName) -> str:
        """Returns the name of a day: "Christmas", "Friday", "March 3, 2028"."""

    def until(self, name: DayName) -> str:
        """Returns the end of a period: "until Christmas"."""

    def since(self, name: DayName) -> str:
        """Returns the start of a period: "since Christmas"."""

    def between(self, first: DayName, second: DayName) -> str:
        """Returns a period: "between March 3 and June 1"."""

    def missing_day(self, month: int, day: int, *, that_year: bool) -> str:
        """Returns that a date does not exist: "there is no February 30"."""

    # ---- names ----

    def timer(self, name: str | None, seconds: float | None) -> str:
        """Returns the name of a timer: "10 minute timer", "timer for eggs", "5 minute timer for eggs".

        At least one of `name` and `seconds` is given.
        """

    def place(self, text: str) -> str:
        """Returns a place as named in the template: "in Tokyo"."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language of the skills.

    Attributes:
        code: "en", "de", ...: its folder in this package.
        answers: Maps a name to a sentence with fields, or to sentences for "one", "two" and "other" items.
        unit_names: Names of every unit that the language has a name for.
        units: Maps each lower-case name to its unit.
        abilities: What the skills say that they can do, in order.
    """

    code: str
    phrases: Phrases
    numerals: Numerals
    answers: Mapping[str, str | Mapping[str, str]]
    unit_names: Mapping[MeasureUnit, UnitName]
    units: Mapping[str, MeasureUnit]
    abilities: tuple[str, ...] = ()

    def say(self, answer: str, /, *, of: int | None = None, **fields: str) -> str:
        """Returns the named answer as a sentence; `of` is the number of items, which selects the form."""
        sentence = self.piece(answer, of=of, **fields)
        return sentence[:1].upper() + sentence[1:]

    def piece(self, answer: str, /, *, of: int | None = None, **fields: str) -> str:
        """Returns the named answer as part of a sentence. Raises KeyError if the language has no such answer."""
        text = self.answers[answer]
        if not isinstance(text, str):
            text = text.get({1: "one", 2: "two"}.get(of or 0, "other")) or text["other"]
        return text.format(**fields)

    def number(self, value: Fraction) -> str:
        """Returns `value` in digits."""
        return self.phrases.number(value)


def base_language(tag: str) -> str | None:
    """Returns the skill language of a BCP 47 tag, "de" for "de-AT"; None if it is not supported."""
    code = tag.replace("_", "-").partition("-")[0].lower()
    return code if code in LANGUAGES else None


def read_yaml(code: str, name: str) -> dict[str, Any]:
    """Reads a YAML file of a language's folder. Raises OSError or yaml.YAMLError if the installation is broken."""
    return _read(f"assistant.skills.languages.{code}", name)


@cache
def read_skill(package: str, code: str) -> Mapping[str, Any]:
    """Reads the sentences and answers of a skill in a language, from its package. Raises OSError or yaml.YAMLError."""
    return _read(package, code)


def shared_files(code: str) -> tuple[Mapping[str, Any], ...]:
    """Reads the sentences and answers of all skills that share their sentences, and those of dialogs."""
    return tuple(read_skill(package, code) for package in (*(skill.package for skill in shared_skills()), DIALOG))


def _read(package: str, name: str) -> dict[str, Any]:
    text = files(package).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, _LOADER)  # noqa: S506 - both loaders are safe ones
    if not isinstance(data, dict):
        raise yaml.YAMLError(f"{name}.yaml of {package} is no table")
    return data


@cache
def load_language(code: str) -> Language:
    """Loads a language without its templates: with the answers of the skills that share their sentences.

    Raises OSError, ImportError or yaml.YAMLError if the installation is broken.
    """
    module = importlib.import_module(f"assistant.skills.languages.{code}.phrases")
    names = load_unit_names(code)
    units = {name: unit for unit, unit_name in names.items() for name in unit_name.all_names}
    phrases: Phrases = module.PHRASES
    numerals: Numerals = importlib.import_module(f"assistant.skills.languages.{code}.numerals").NUMERALS
    answers = dict(read_yaml(code, "wording")["answers"])
    for file in shared_files(code):
        answers |= file.get("answers", {})
    return Language(code, phrases, numerals, answers, names, units)


def language_with(package: str, code: str) -> Language:
    """Returns a language with the answers of a skill that shares no sentences, too. Raises as `load_language` does."""
    language = load_language(code)
    return replace(language, answers={**language.answers, **read_skill(package, code).get("answers", {})})


def ability_of(package: str, code: str) -> str:
    """Returns what a skill says that it can do, as a part of a sentence; "" for nothing."""
    return str(read_skill(package, code).get("can", ""))
