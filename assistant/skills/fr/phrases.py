"""French phrases of the skills."""

import re
from datetime import date, datetime, time
from fractions import Fraction

from assistant.skills.durations import duration_parts
from assistant.skills.language import EVERY_DAY, WORKDAYS, DayName, Phrases, Quantity
from assistant.skills.say import NumberWords, say_number, title
from assistant.text.normalization.numbers import cardinal

_WEEKDAYS = tuple("lundi mardi mercredi jeudi vendredi samedi dimanche".split())
_MONTHS = tuple("janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split())
_LENGTHS = {3600: "heure", 60: "minute", 1: "seconde"}
# Days with an article: "jusqu'au premier mai", but "jusqu'à Noël".
_ARTICLES = {
    "jour de l'an": "le", "nouvel an": "le", "réveillon": "le", "saint valentin": "la", "fête nationale": "la",
    "fête du travail": "la", "armistice": "l'", "assomption": "l'", "toussaint": "la", "saint sylvestre": "la",
    "réveillon de noël": "le",
}  # fmt: skip
_CAPITALS = (
    {"noël": "Noël", "halloween": "Halloween", "réveillon de noël": "réveillon de Noël"}
    | {name: "Saint-" + name.removeprefix("saint ").capitalize() for name in ("saint valentin", "saint sylvestre")}
    | {"toussaint": "Toussaint", "jour de l'an": "jour de l'An", "nouvel an": "Nouvel An"}
)
_TO = {"le ": "au ", "la ": "à la ", "l'": "à l'"}
_SMALL = frozenset(("à", "au", "aux", "en", "de", "du", "la"))


def _words(value: int) -> str:
    return cardinal(value, "fr")


def _digits(digits: str) -> str:
    # Two decimals are read as one number.
    if len(digits) == 2 and digits[0] != "0":
        return _words(int(digits))
    return " ".join(_words(int(digit)) for digit in digits)


_NUMBERS = NumberWords(
    whole=_words,
    digits=_digits,
    minus="moins",
    point="virgule",
    about="environ",
    power="puissance",
    times_ten="fois dix puissance",
)


class French(Phrases):
    """French phrases."""

    plural_endings = ("s", "x")
    other_repeat = re.compile(
        r"\b(chaque|tous les|toutes les|un)(\s+(deux|trois|\d+))?"
        r"(\s+(heures?|minutes?|jours?|semaines?|mois|ans?|(\w+ )?sur deux))?(\s+le)?$"
    )

    # ---- numbers and lengths ----

    def number(self, value: Fraction) -> str:
        """Example: "environ un virgule quatre un quatre deux"."""
        return say_number(value, _NUMBERS)

    def count(self, value: int) -> str:
        """Example: "trois"."""
        return _words(value)

    def join(self, parts: list[str]) -> str:
        """Example: "a, b et c"."""
        return " et ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else "".join(parts)

    def duration(self, seconds: float, *, about: bool = False) -> str:
        """Example: "une heure et trente minutes"."""
        said = self.join([_feminine(count, _LENGTHS[length]) for count, length in duration_parts(seconds)])
        return f"environ {said}" if about else said

    def days(self, count: int, *, weeks: bool) -> str:
        """Example: "quatorze semaines et trois jours"."""
        if not weeks:
            return _masculine(count, "jour")
        whole, rest = divmod(count, 7)
        parts = [_feminine(whole, "semaine")] if whole else []
        if rest:
            parts.append(_masculine(rest, "jour"))
        return self.join(parts) or "zéro semaine"

    def converted(self, parts: tuple[Quantity, ...], result: Quantity) -> str:
        """Example: "six pieds et deux pouces font environ cent quatre-vingt-huit centimètres"."""
        verb = "fait" if len(parts) == 1 and abs(parts[0].value) < 2 else "font"
        return f"{' et '.join(map(_quantity, parts))} {verb} {_quantity(result)}"

    # ---- clock and calendar ----

    def time_is(self, moment: time) -> str:
        """Example: "il est vingt-deux heures quarante-trois"."""
        return f"il est {_time(moment)}"

    def moment(self, at: datetime, days: int) -> str:
        """Example: "demain à sept heures"."""
        on_day = self.weekday(at.weekday()) if abs(days) < 7 else self.on_date(at)
        day = {0: "aujourd'hui", 1: "demain", 2: "après-demain"}.get(days, on_day)
        return f"{day} à {_time(at.time())}"

    def repeated(self, at: time, weekdays: tuple[int, ...]) -> str:
        """Example: "du lundi au vendredi à sept heures", "tous les lundis et jeudis à neuf heures"."""
        named = f"tous les {self.join([f'{self.weekday(day)}s' for day in weekdays])}"
        every = {EVERY_DAY: "tous les jours", WORKDAYS: "du lundi au vendredi"}.get(weekdays, named)
        return f"{every} à {_time(at)}"

    def full_date(self, day: date) -> str:
        """Example: "vendredi vingt novembre"."""
        return f"{self.weekday(day.weekday())} {_day_of_month(day.month, day.day)}"

    def on_date(self, day: date) -> str:
        """Example: "le vendredi vingt novembre"."""
        return f"le {self.full_date(day)}"

    def year(self, year: int) -> str:
        """Example: "deux mille vingt-six"."""
        return _words(year)

    def month(self, month: int) -> str:
        """Example: "novembre"."""
        return _MONTHS[month - 1]

    def weekday(self, weekday: int) -> str:
        """Example: "vendredi"."""
        return _WEEKDAYS[weekday]

    def day(self, name: DayName) -> str:
        """Example: "Noël", "vendredi", "le trois mars deux mille vingt-huit"."""
        if name.holiday is not None:
            article = _ARTICLES.get(name.holiday, "")
            return article + " " * (article not in ("", "l'")) + _CAPITALS.get(name.holiday, name.holiday)
        if name.weekday:
            return self.weekday(name.day.weekday())
        year = f" {_words(name.day.year)}" if name.with_year else ""
        return f"le {_day_of_month(name.day.month, name.day.day)}{year}"

    def until(self, name: DayName) -> str:
        """Example: "jusqu'à Noël", "jusqu'au trois mars"."""
        return f"jusqu'{_to(self.day(name))}"

    def since(self, name: DayName) -> str:
        """Example: "depuis Noël", "depuis le trois mars"."""
        return f"depuis {self.day(name)}"

    def between(self, first: DayName, second: DayName) -> str:
        """Example: "entre le trois mars et le premier juin"."""
        return f"entre {self.day(first)} et {self.day(second)}"

    def missing_day(self, month: int, day: int, *, that_year: bool) -> str:
        """Example: "le trente février n'existe pas"."""
        return f"le {_day_of_month(month, day)} n'existe pas{' cette année-là' * that_year}"

    # ---- names ----

    def timer(self, name: str | None, seconds: float | None) -> str:
        """Example: "minuteur de dix minutes", "minuteur pâtes", "minuteur pâtes de dix minutes"."""
        purpose = "" if name is None else f" {name}"
        if seconds is None:
            return f"minuteur{purpose}"
        length = self.duration(seconds)
        joint = "d'" if length.startswith("un") else "de "
        return f"minuteur{purpose} {joint}{length}"

    def place(self, said: str) -> str:
        """Example: "à New York"."""
        return title(said, _SMALL)


def _to(day: str) -> str:
    """Puts "à" before a day and contracts it with the article: "au", "à la"."""
    for article, joined in _TO.items():
        if day.startswith(article):
            return joined + day.removeprefix(article)
    return f"à {day}"


def _time(moment: time) -> str:
    """Returns "sept heures trente", "une heure", "midi", "minuit cinq"."""
    if moment.hour == 0 or (moment.hour == 12 and not moment.minute):
        hour = "midi" if moment.hour else "minuit"
    else:
        hour = _feminine(moment.hour, "heure")
    return f"{hour} {_inflected(moment.minute)}" if moment.minute else hour


def _day_of_month(month: int, day: int) -> str:
    return f"{'premier' if day == 1 else _words(day)} {_MONTHS[month - 1]}"


def _inflected(count: int) -> str:
    """Inflects a number for a feminine noun: "vingt et une"."""
    words = _words(count)
    return f"{words}e" if words == "un" or words.endswith((" un", "-un")) else words


def _feminine(count: int, noun: str) -> str:
    return f"{_inflected(count)} {noun}{'s' * (count > 1)}"


def _masculine(count: int, noun: str) -> str:
    return f"{_words(count)} {noun}{'s' * (count > 1)}"


def _quantity(quantity: Quantity) -> str:
    value, unit = quantity.value, quantity.unit
    if quantity.is_half:
        return f"{'une' if unit.gender == 'f' else 'un'} demi-{unit.one}"
    feminine = unit.gender == "f" and value.denominator == 1 and abs(value) < 10**15
    if feminine:
        words = f"{'moins ' * (value < 0)}{_inflected(abs(int(value)))}"
    else:
        words = say_number(value, _NUMBERS, decimals=quantity.decimals)
    if words.endswith(("million", "millions", "milliard", "milliards")):
        words += " d'" if unit.many[0] in "aeéhio" else " de"
    joint = "" if words.endswith("'") else " "
    return f"{words}{joint}{unit.one if abs(value) < 2 else unit.many}"


PHRASES = French()
