"""Spanish phrases of the skills."""

import re
from datetime import date, datetime, time
from fractions import Fraction

from assistant.skills.durations import duration_parts
from assistant.skills.language import EVERY_DAY, WORKDAYS, DayName, Phrases, Quantity
from assistant.skills.say import NumberWords, say_number, title
from assistant.text.normalization.numbers import cardinal

_WEEKDAYS = tuple("lunes martes miércoles jueves viernes sábado domingo".split())
_MONTHS = tuple("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split())
_LENGTHS = {3600: ("hora", "f"), 60: ("minuto", "m"), 1: ("segundo", "m")}
# Days with an article: "hasta el día de Navidad", but "hasta Navidad".
_ARTICLES = {"nochebuena": "", "navidad": "", "nochevieja": "", "año nuevo": "", "halloween": "", "san valentín": ""}
_CAPITALS = {"día de navidad": "día de Navidad", "día de reyes": "día de Reyes", "día de año nuevo": "día de Año Nuevo",
             "día del trabajo": "día del Trabajo", "día de la hispanidad": "día de la Hispanidad",
             "día de los inocentes": "día de los Inocentes", "día de san valentín": "día de San Valentín"}  # fmt: skip
_SMALL = frozenset(("en", "de", "la", "el"))
_PARTS_OF_DAY = ((6, "de la madrugada"), (12, "de la mañana"), (20, "de la tarde"), (24, "de la noche"))


def _words(value: int) -> str:
    # num2words says "veintiuno mil" and "ciento uno mil": before "mil" and "millones" the ending is dropped.
    return cardinal(value, "es").replace("veintiuno mil", "veintiún mil").replace("uno mil", "un mil")


_NUMBERS = NumberWords(
    whole=_words,
    digits=lambda digits: " ".join(_words(int(digit)) for digit in digits),
    minus="menos",
    point="coma",
    about="aproximadamente",
    power="elevado a",
    times_ten="por diez elevado a",
)


class Spanish(Phrases):
    """Spanish phrases."""

    plural_endings = ("s", "es")
    other_repeat = re.compile(
        r"\b(cada|todos los|todas las)(\s+(dos|tres|\d+))?"
        r"(\s+(horas?|minutos?|días?|semanas?|mes|meses|años?))?(\s+el)?$"
    )

    # ---- numbers and lengths ----

    def number(self, value: Fraction) -> str:
        """Example: "aproximadamente uno coma cuatro uno cuatro dos"."""
        return say_number(value, _NUMBERS)

    def count(self, value: int) -> str:
        """Example: "tres"."""
        return _words(value)

    def join(self, parts: list[str]) -> str:
        """Example: "a, b y c"."""
        return " y ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else "".join(parts)

    def duration(self, seconds: float, *, about: bool = False) -> str:
        """Example: "una hora y treinta minutos"."""
        said = self.join([_count_with_noun(count, *_LENGTHS[length]) for count, length in duration_parts(seconds)])
        return f"aproximadamente {said}" if about else said

    def days(self, count: int, *, weeks: bool) -> str:
        """Example: "catorce semanas y tres días"."""
        if not weeks:
            return _count_with_noun(count, "día", "m")
        whole, rest = divmod(count, 7)
        parts = [_count_with_noun(whole, "semana", "f")] if whole else []
        if rest:
            parts.append(_count_with_noun(rest, "día", "m"))
        return self.join(parts) or "cero semanas"

    def converted(self, parts: tuple[Quantity, ...], result: Quantity) -> str:
        """Example: "seis pies y dos pulgadas equivalen a aproximadamente ciento ochenta y ocho centímetros"."""
        verb = "equivale" if len(parts) == 1 and (parts[0].value == 1 or parts[0].is_half) else "equivalen"
        return f"{' y '.join(map(_quantity, parts))} {verb} a {_quantity(result)}"

    # ---- clock and calendar ----

    def time_is(self, moment: time) -> str:
        """Example: "son las diez y cuarenta y tres de la noche", "es la una de la tarde"."""
        return f"{'es' if moment.hour % 12 == 1 else 'son'} {_time(moment)}"

    def moment(self, at: datetime, days: int) -> str:
        """Example: "mañana a las siete de la mañana"."""
        on_day = f"el {self.weekday(at.weekday())}" if abs(days) < 7 else self.on_date(at)
        day = {0: "hoy", 1: "mañana", 2: "pasado mañana"}.get(days, on_day)
        return f"{day} a {_time(at.time())}"

    def repeated(self, at: time, weekdays: tuple[int, ...]) -> str:
        """Example: "de lunes a viernes a las siete de la mañana", "cada lunes y jueves a las nueve de la mañana"."""
        named = f"cada {self.join([self.weekday(day) for day in weekdays])}"
        every = {EVERY_DAY: "todos los días", WORKDAYS: "de lunes a viernes"}.get(weekdays, named)
        return f"{every} a {_time(at)}"

    def full_date(self, day: date) -> str:
        """Example: "viernes, veinte de noviembre"."""
        return f"{self.weekday(day.weekday())}, {_day_of_month(day.month, day.day)}"

    def on_date(self, day: date) -> str:
        """Example: "el viernes, veinticinco de diciembre"."""
        return f"el {self.full_date(day)}"

    def year(self, year: int) -> str:
        """Example: "dos mil veintiséis"."""
        return _words(year)

    def month(self, month: int) -> str:
        """Example: "noviembre"."""
        return _MONTHS[month - 1]

    def weekday(self, weekday: int) -> str:
        """Example: "viernes"."""
        return _WEEKDAYS[weekday]

    def day(self, name: DayName) -> str:
        """Example: "Navidad", "el viernes", "el tres de marzo de dos mil veintiocho"."""
        if name.holiday is not None:
            if name.holiday in _ARTICLES:
                return title(name.holiday, frozenset())
            return f"el {_CAPITALS.get(name.holiday, name.holiday)}"
        if name.weekday:
            return f"el {self.weekday(name.day.weekday())}"
        year = f" de {_words(name.day.year)}" if name.with_year else ""
        return f"el {_day_of_month(name.day.month, name.day.day)}{year}"

    def until(self, name: DayName) -> str:
        """Example: "para Navidad", "para el tres de marzo"."""
        return f"para {self.day(name)}"

    def since(self, name: DayName) -> str:
        """Example: "desde Navidad", "desde el tres de marzo"."""
        return f"desde {self.day(name)}"

    def between(self, first: DayName, second: DayName) -> str:
        """Example: "entre el tres de marzo y el uno de junio"."""
        return f"entre {self.day(first)} y {self.day(second)}"

    def missing_day(self, month: int, day: int, *, that_year: bool) -> str:
        """Example: "el treinta de febrero no existe"."""
        return f"el {_day_of_month(month, day)} no existe{' ese año' * that_year}"

    # ---- names ----

    def timer(self, name: str | None, seconds: float | None) -> str:
        """Example: "temporizador de diez minutos", "temporizador de diez minutos para pasta"."""
        length = "" if seconds is None else f" de {self.duration(seconds)}"
        purpose = "" if name is None else f" para {name}"
        return f"temporizador{length}{purpose}"

    def place(self, said: str) -> str:
        """Example: "en Nueva York"."""
        return title(said, _SMALL)


def _time(moment: time) -> str:
    """Returns "las siete y treinta de la mañana", "la una de la tarde", "las doce del mediodía"."""
    hour = moment.hour % 12 or 12
    clock = "la una" if hour == 1 else f"las {_words(hour)}"
    if moment.minute:
        clock += f" y {_words(moment.minute)}"
    if moment.hour == 12:
        return f"{clock} del mediodía"
    if moment.hour == 0:
        return f"{clock} de la noche"
    return f"{clock} {next(part for before, part in _PARTS_OF_DAY if moment.hour < before)}"


def _day_of_month(month: int, day: int) -> str:
    return f"{_words(day)} de {_MONTHS[month - 1]}"


def _inflected(count: int, gender: str) -> str:
    """Inflects a number for a noun: "un", "una", "veintiún", "veintiuna", "doscientas"."""
    words = _words(count)
    if gender == "f":
        words = words.replace("cientos", "cientas").replace("quinientos", "quinientas")
        return words.removesuffix("uno") + "una" if words.endswith("uno") else words
    if words.endswith("veintiuno"):
        return words.removesuffix("uno") + "ún"
    return words.removesuffix("o") if words.endswith("uno") else words


def _count_with_noun(count: int, noun: str, gender: str) -> str:
    return f"{_inflected(count, gender)} {noun}{'' if count == 1 else 's'}"


def _quantity(quantity: Quantity) -> str:
    value, unit = quantity.value, quantity.unit
    if quantity.is_half:
        return f"{'media' if unit.gender == 'f' else 'medio'} {unit.one}"
    if value.denominator == 1 and abs(value) < 10**15:
        words = f"{'menos ' * (value < 0)}{_inflected(abs(int(value)), unit.gender)}"
    else:
        words = say_number(value, _NUMBERS, decimals=quantity.decimals)
    if words.endswith(("millón", "millones")):
        words += " de"
    return f"{words} {unit.one if abs(value) == 1 else unit.many}"


PHRASES = Spanish()
