"""German phrases of the skills."""

import re
from datetime import date, datetime, time

from assistant.skills.languages.language import EVERY_DAY, WORKDAYS, DayName, Phrases, Quantity
from assistant.skills.languages.say import NumberMarks, title, write_number
from assistant.skills.timers.durations import duration_parts

_WEEKDAYS = tuple("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split())
_MONTHS = tuple("Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split())
_LENGTHS = {3600: ("Stunde", "Stunden"), 60: ("Minute", "Minuten"), 1: ("Sekunde", "Sekunden")}
# Days with an article: "bis zum Valentinstag", but "bis Weihnachten".
_MASCULINE_DAYS = frozenset(("valentinstag", "nikolaustag", "tag der arbeit", "tag der deutschen einheit"))
_SMALL = frozenset(("in", "auf", "den", "der"))
_HALF_ENDING = {"m": "er", "f": "e", "n": "es"}


class German(Phrases):
    """German phrases."""

    plural_endings = ("n", "en", "er", "e", "s")
    marks = NumberMarks(thousands=".", grouped_from=1000, point=",", about="etwa")
    weekdays = _WEEKDAYS
    months = _MONTHS
    and_word = "und"
    other_repeat = re.compile(
        r"\b(jede[nrsm]?|alle)(\s+(zweite[nr]?|zwei|drei|\d+))?(\s+(stunden?|minuten?|tage?|wochen?|monate?|jahre?))?(\s+am)?$"
    )

    # ---- numbers and lengths ----

    def duration(self, seconds: float, *, about: bool = False) -> str:
        """Example: "eine Stunde und 30 Minuten"."""
        text = self.join(
            [_count_with_noun(count, *_LENGTHS[length], "eine") for count, length in duration_parts(seconds)]
        )
        return f"etwa {text}" if about else text

    def duration_behind_in(self, seconds: float) -> str:
        """Example: "einer Stunde und 30 Minuten"."""
        return self.duration(seconds).replace("eine ", "einer ")

    def days(self, count: int, *, weeks: bool) -> str:
        """Example: "14 Wochen und 3 Tage"."""
        if not weeks:
            return _count_with_noun(count, "Tag", "Tage", "ein")
        whole, rest = divmod(count, 7)
        parts = [_count_with_noun(whole, "Woche", "Wochen", "eine")] if whole else []
        if rest:
            parts.append(_count_with_noun(rest, "Tag", "Tage", "ein"))
        return self.join(parts) or "null Wochen"

    def converted(self, parts: tuple[Quantity, ...], result: Quantity) -> str:
        """Example: "6 Fuß und 2 Zoll sind etwa 188 Zentimeter"."""
        return f"{' und '.join(map(_quantity, parts))} sind {_quantity(result)}"

    # ---- clock and calendar ----

    def time_is(self, moment: time) -> str:
        """Example: "es ist 22:43 Uhr"."""
        return f"es ist {_time(moment)}"

    def moment(self, local_time: datetime, days: int) -> str:
        """Example: "morgen um 7 Uhr"."""
        on_day = self.weekday(local_time.weekday()) if abs(days) < 7 else f"am {_dated(local_time)}"
        day = {0: "heute", 1: "morgen", 2: "übermorgen"}.get(days, on_day)
        return f"{day} um {_time(local_time.time())}"

    def repeated(self, local_time: time, weekdays: tuple[int, ...]) -> str:
        """Example: "montags bis freitags um 7 Uhr", "jeden Montag und Donnerstag um 9 Uhr"."""
        named = f"jeden {self.join([self.weekday(day) for day in weekdays])}"
        every = {EVERY_DAY: "jeden Tag", WORKDAYS: "montags bis freitags"}.get(weekdays, named)
        return f"{every} um {_time(local_time)}"

    def full_date(self, day: date) -> str:
        """Example: "Freitag, der 20. November"."""
        return f"{self.weekday(day.weekday())}, der {_day_of_month(day.month, day.day)}"

    def on_date(self, day: date) -> str:
        """Example: "Freitag, den 20. November", after "fällt auf"."""
        return f"{self.weekday(day.weekday())}, den {_day_of_month(day.month, day.day)}"

    def day(self, name: DayName) -> str:
        """Example: "Weihnachten", "Freitag", "der 3. März 2028"."""
        return _short_name(name) or f"der {_date_of(name)}"

    def until(self, name: DayName) -> str:
        """Example: "bis Weihnachten", "bis zum 3. März"."""
        return f"bis zum {_dative(name)}" if _has_article(name) else f"bis {_short_name(name)}"

    def since(self, name: DayName) -> str:
        """Example: "seit Weihnachten", "seit dem 3. März"."""
        return f"seit dem {_dative(name)}" if _has_article(name) else f"seit {_short_name(name)}"

    def between(self, first: DayName, second: DayName) -> str:
        """Example: "zwischen dem 3. März und dem 1. Juni"."""
        names = [f"dem {_dative(name)}" if _has_article(name) else _short_name(name) for name in (first, second)]
        return f"zwischen {names[0]} und {names[1]}"

    def missing_day(self, month: int, day: int, *, that_year: bool) -> str:
        """Example: "den 30. Februar gibt es nicht"."""
        return f"den {_day_of_month(month, day)} gibt es {'in diesem Jahr ' * that_year}nicht"

    # ---- names ----

    def timer(self, name: str | None, seconds: float | None) -> str:
        """Example: "Timer über 10 Minuten", "Timer für Eier", "Timer für Eier über 5 Minuten"."""
        purpose = "" if name is None else f" für {title(name, frozenset())}"
        length = "" if seconds is None else f" über {self.duration(seconds)}"
        return f"Timer{purpose}{length}"

    def place(self, text: str) -> str:
        """Example: "in New York"."""
        return title(text, _SMALL)


def _time(moment: time) -> str:
    """Returns "7:30 Uhr", "1 Uhr", "Mitternacht"."""
    if moment.hour == moment.minute == 0:
        return "Mitternacht"
    minute = f":{moment.minute:02}" if moment.minute else ""
    return f"{moment.hour}{minute} Uhr"


def _day_of_month(month: int, day: int) -> str:
    return f"{day}. {_MONTHS[month - 1]}"


def _dated(day: date) -> str:
    """Returns "Donnerstag, dem 3. Dezember"."""
    return f"{_WEEKDAYS[day.weekday()]}, dem {_day_of_month(day.month, day.day)}"


def _date_of(name: DayName) -> str:
    year = f" {name.day.year}" if name.with_year else ""
    return f"{_day_of_month(name.day.month, name.day.day)}{year}"


def _short_name(name: DayName) -> str:
    """Returns the name of a day without its article; "" for a date."""
    if name.holiday is not None:
        return title(name.holiday, frozenset(("der",)))
    return _WEEKDAYS[name.day.weekday()] if name.weekday else ""


def _has_article(name: DayName) -> bool:
    return name.holiday in _MASCULINE_DAYS or not _short_name(name)


def _dative(name: DayName) -> str:
    return _short_name(name) or _date_of(name)


def _count_with_noun(count: int, one: str, many: str, article: str) -> str:
    return f"{article} {one}" if count == 1 else f"{count} {many}"


def _quantity(quantity: Quantity) -> str:
    value, unit = quantity.value, quantity.unit
    article = "eine" if unit.gender == "f" else "ein"
    if quantity.is_half:
        return f"{article} halb{_HALF_ENDING[unit.gender] if article == 'ein' else 'e'} {unit.one}"
    if value == 1 and not unit.symbol:
        return f"{article} {unit.one}"
    number = write_number(value, German.marks, decimals=quantity.decimals)
    return f"{number} {unit.symbol or (unit.one if value == -1 else unit.many)}"


PHRASES = German()
