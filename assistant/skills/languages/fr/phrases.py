"""French phrases of the skills."""

import re
from datetime import date, datetime, time

from assistant.skills.languages.language import EVERY_DAY, WORKDAYS, DayName, Phrases, Quantity
from assistant.skills.languages.say import NARROW_SPACE, NumberMarks, title, write_number
from assistant.skills.timers.durations import duration_parts

_WEEKDAYS = tuple("lundi mardi mercredi jeudi vendredi samedi dimanche".split())
_MONTHS = tuple("janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split())
_LENGTHS = {3600: "heure", 60: "minute", 1: "seconde"}
# Days with an article: "jusqu'au premier mai", but "jusqu'à Noël".
_ARTICLES = {
    "jour de l'an": "le", "nouvel an": "le", "réveillon": "le", "saint valentin": "la", "fête nationale": "la",
    "fête du travail": "la", "armistice": "l'", "assomption": "l'", "toussaint": "la", "saint sylvestre": "la",
    "réveillon de noël": "le",
    "dimanche de pâques": "le",
    "lundi de pâques": "le",
    "vendredi saint": "le",
    "pentecôte": "la",
    "ascension": "l'",
}  # fmt: skip
_CAPITALS = (
    {
        "noël": "Noël",
        "pâques": "Pâques",
        "dimanche de pâques": "dimanche de Pâques",
        "lundi de pâques": "lundi de Pâques",
        "halloween": "Halloween",
        "réveillon de noël": "réveillon de Noël",
    }
    | {name: "Saint-" + name.removeprefix("saint ").capitalize() for name in ("saint valentin", "saint sylvestre")}
    | {"toussaint": "Toussaint", "jour de l'an": "jour de l'An", "nouvel an": "Nouvel An"}
)
_TO = {"le ": "au ", "la ": "à la ", "l'": "à l'"}
_SMALL = frozenset(("à", "au", "aux", "en", "de", "du", "la"))


class French(Phrases):
    """French phrases."""

    plural_endings = ("s", "x")
    marks = NumberMarks(thousands=NARROW_SPACE, grouped_from=10_000, point=",", about="environ")
    weekdays = _WEEKDAYS
    months = _MONTHS
    and_word = "et"
    other_repeat = re.compile(
        r"\b(chaque|tous les|toutes les|un)(\s+(deux|trois|\d+))?"
        r"(\s+(heures?|minutes?|jours?|semaines?|mois|ans?|(\w+ )?sur deux))?(\s+le)?$"
    )

    # ---- numbers and lengths ----

    def duration(self, seconds: float, *, about: bool = False) -> str:
        """Example: "une heure et 30 minutes"."""
        text = self.join([_counted(count, _LENGTHS[length], "une") for count, length in duration_parts(seconds)])
        return f"environ {text}" if about else text

    def days(self, count: int, *, weeks: bool) -> str:
        """Example: "14 semaines et 3 jours"."""
        if not weeks:
            return _counted(count, "jour", "un")
        whole, rest = divmod(count, 7)
        parts = [_counted(whole, "semaine", "une")] if whole else []
        if rest:
            parts.append(_counted(rest, "jour", "un"))
        return self.join(parts) or "zéro semaine"

    def converted(self, parts: tuple[Quantity, ...], result: Quantity) -> str:
        """Example: "6 pieds et 2 pouces font environ 188 centimètres"."""
        verb = "fait" if len(parts) == 1 and abs(parts[0].value) < 2 else "font"
        return f"{' et '.join(map(_quantity, parts))} {verb} {_quantity(result)}"

    # ---- clock and calendar ----

    def time_is(self, moment: time) -> str:
        """Example: "il est 22 h 43"."""
        return f"il est {_time(moment)}"

    def moment(self, local_time: datetime, days: int) -> str:
        """Example: "demain à 7 h"."""
        on_day = self.weekday(local_time.weekday()) if abs(days) < 7 else self.on_date(local_time)
        day = {0: "aujourd'hui", 1: "demain", 2: "après-demain"}.get(days, on_day)
        return f"{day} à {_time(local_time.time())}"

    def repeated(self, local_time: time, weekdays: tuple[int, ...]) -> str:
        """Example: "du lundi au vendredi à 7 h", "tous les lundis et jeudis à 9 h"."""
        named = f"tous les {self.join([f'{self.weekday(day)}s' for day in weekdays])}"
        every = {EVERY_DAY: "tous les jours", WORKDAYS: "du lundi au vendredi"}.get(weekdays, named)
        return f"{every} à {_time(local_time)}"

    def full_date(self, day: date) -> str:
        """Example: "vendredi 20 novembre"."""
        return f"{self.weekday(day.weekday())} {_day_of_month(day.month, day.day)}"

    def on_date(self, day: date) -> str:
        """Example: "le vendredi 20 novembre"."""
        return f"le {self.full_date(day)}"

    def day(self, name: DayName) -> str:
        """Example: "Noël", "vendredi", "le 3 mars 2028"."""
        if name.holiday is not None:
            article = _ARTICLES.get(name.holiday, "")
            return article + " " * (article not in ("", "l'")) + _CAPITALS.get(name.holiday, name.holiday)
        if name.weekday:
            return self.weekday(name.day.weekday())
        year = f" {name.day.year}" if name.with_year else ""
        return f"le {_day_of_month(name.day.month, name.day.day)}{year}"

    def until(self, name: DayName) -> str:
        """Example: "jusqu'à Noël", "jusqu'au 3 mars"."""
        return f"jusqu'{_to(self.day(name))}"

    def since(self, name: DayName) -> str:
        """Example: "depuis Noël", "depuis le 3 mars"."""
        return f"depuis {self.day(name)}"

    def between(self, first: DayName, second: DayName) -> str:
        """Example: "entre le 3 mars et le 1er juin"."""
        return f"entre {self.day(first)} et {self.day(second)}"

    def missing_day(self, month: int, day: int, *, that_year: bool) -> str:
        """Example: "le 30 février n'existe pas"."""
        return f"le {_day_of_month(month, day)} n'existe pas{' cette année-là' * that_year}"

    # ---- names ----

    def timer(self, name: str | None, seconds: float | None) -> str:
        """Example: "minuteur de 10 minutes", "minuteur pâtes", "minuteur pâtes de 10 minutes"."""
        purpose = "" if name is None else f" {name}"
        if seconds is None:
            return f"minuteur{purpose}"
        length = self.duration(seconds)
        joint = "d'" if length.startswith("un") else "de "
        return f"minuteur{purpose} {joint}{length}"

    def place(self, text: str) -> str:
        """Example: "à New York"."""
        return title(text, _SMALL)


def _to(day: str) -> str:
    """Puts "à" before a day and contracts it with the article: "au", "à la"."""
    for article, joined in _TO.items():
        if day.startswith(article):
            return joined + day.removeprefix(article)
    return f"à {day}"


def _time(moment: time) -> str:
    """Returns "7 h 30", "1 h", "midi", "0 h 05"."""
    if not moment.minute and moment.hour in (0, 12):
        return "midi" if moment.hour else "minuit"
    return f"{moment.hour} h {moment.minute:02}" if moment.minute else f"{moment.hour} h"


def _day_of_month(month: int, day: int) -> str:
    return f"{'1er' if day == 1 else day} {_MONTHS[month - 1]}"


def _counted(count: int, one: str, article: str) -> str:
    return f"{article} {one}" if count == 1 else f"{count} {one}{'s' * (count > 1)}"


def _quantity(quantity: Quantity) -> str:
    value, unit = quantity.value, quantity.unit
    article = "une" if unit.gender == "f" else "un"
    if quantity.is_half:
        return f"{article} demi-{unit.one}"
    if value == 1 and not unit.symbol:
        return f"{article} {unit.one}"
    number = write_number(value, French.marks, decimals=quantity.decimals)
    return f"{number} {unit.symbol or (unit.one if abs(value) < 2 else unit.many)}"


PHRASES = French()
