"""Spanish phrases of the skills."""

import re
from datetime import date, datetime, time

from assistant.skills.languages.language import EVERY_DAY, WORKDAYS, DayName, Phrases, Quantity
from assistant.skills.languages.say import NARROW_SPACE, NumberMarks, title, write_number
from assistant.skills.timers.durations import duration_parts

_WEEKDAYS = tuple("lunes martes miércoles jueves viernes sábado domingo".split())
_MONTHS = tuple("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split())
_LENGTHS = {3600: ("hora", "una"), 60: ("minuto", "un"), 1: ("segundo", "un")}
# Days with an article: "hasta el día de Navidad", but "hasta Navidad".
_ARTICLES = {
    "nochebuena": "",
    "navidad": "",
    "nochevieja": "",
    "año nuevo": "",
    "halloween": "",
    "san valentín": "",
    "pascua": "",
    "pentecostés": "",
}
_CAPITALS = {"día de navidad": "día de Navidad", "día de reyes": "día de Reyes", "día de año nuevo": "día de Año Nuevo",
             "día del trabajo": "día del Trabajo", "día de la hispanidad": "día de la Hispanidad",
             "día de los inocentes": "día de los Inocentes", "día de san valentín": "día de San Valentín"}  # fmt: skip
_SMALL = frozenset(("en", "de", "la", "el"))
_PARTS_OF_DAY = ((6, "de la madrugada"), (12, "de la mañana"), (20, "de la tarde"), (24, "de la noche"))


class Spanish(Phrases):
    """Spanish phrases."""

    plural_endings = ("s", "es")
    marks = NumberMarks(thousands=NARROW_SPACE, grouped_from=10_000, point=",", about="aproximadamente")
    weekdays = _WEEKDAYS
    months = _MONTHS
    and_word = "y"
    other_repeat = re.compile(
        r"\b(cada|todos los|todas las)(\s+(dos|tres|\d+))?"
        r"(\s+(horas?|minutos?|días?|semanas?|mes|meses|años?))?(\s+el)?$"
    )

    # ---- numbers and lengths ----

    def duration(self, seconds: float, *, about: bool = False) -> str:
        """Example: "una hora y 30 minutos"."""
        text = self.join([_counted(count, *_LENGTHS[length]) for count, length in duration_parts(seconds)])
        return f"aproximadamente {text}" if about else text

    def days(self, count: int, *, weeks: bool) -> str:
        """Example: "14 semanas y 3 días"."""
        if not weeks:
            return _counted(count, "día", "un")
        whole, rest = divmod(count, 7)
        parts = [_counted(whole, "semana", "una")] if whole else []
        if rest:
            parts.append(_counted(rest, "día", "un"))
        return self.join(parts) or "cero semanas"

    def converted(self, parts: tuple[Quantity, ...], result: Quantity) -> str:
        """Example: "6 pies y 2 pulgadas equivalen a aproximadamente 188 centímetros"."""
        verb = "equivale" if len(parts) == 1 and (parts[0].value == 1 or parts[0].is_half) else "equivalen"
        return f"{' y '.join(map(_quantity, parts))} {verb} a {_quantity(result)}"

    # ---- clock and calendar ----

    def time_is(self, moment: time) -> str:
        """Example: "son las 10:43 de la noche", "es la 1:00 de la tarde"."""
        return f"{'es' if moment.hour % 12 == 1 else 'son'} {_time(moment)}"

    def moment(self, local_time: datetime, days: int) -> str:
        """Example: "mañana a las 7:00 de la mañana"."""
        on_day = f"el {self.weekday(local_time.weekday())}" if abs(days) < 7 else self.on_date(local_time)
        day = {0: "hoy", 1: "mañana", 2: "pasado mañana"}.get(days, on_day)
        return f"{day} a {_time(local_time.time())}"

    def repeated(self, local_time: time, weekdays: tuple[int, ...]) -> str:
        """Example: "de lunes a viernes a las 7:00 de la mañana", "cada lunes y jueves a las 9:00 de la mañana"."""
        named = f"cada {self.join([self.weekday(day) for day in weekdays])}"
        every = {EVERY_DAY: "todos los días", WORKDAYS: "de lunes a viernes"}.get(weekdays, named)
        return f"{every} a {_time(local_time)}"

    def full_date(self, day: date) -> str:
        """Example: "viernes, 20 de noviembre"."""
        return f"{self.weekday(day.weekday())}, {_day_of_month(day.month, day.day)}"

    def on_date(self, day: date) -> str:
        """Example: "el viernes, 25 de diciembre"."""
        return f"el {self.full_date(day)}"

    def day(self, name: DayName) -> str:
        """Example: "Navidad", "el viernes", "el 3 de marzo de 2028"."""
        if name.holiday is not None:
            if name.holiday in _ARTICLES:
                return title(name.holiday, frozenset())
            return f"el {_CAPITALS.get(name.holiday, name.holiday)}"
        if name.weekday:
            return f"el {self.weekday(name.day.weekday())}"
        year = f" de {name.day.year}" if name.with_year else ""
        return f"el {_day_of_month(name.day.month, name.day.day)}{year}"

    def until(self, name: DayName) -> str:
        """Example: "para Navidad", "para el 3 de marzo"."""
        return f"para {self.day(name)}"

    def since(self, name: DayName) -> str:
        """Example: "desde Navidad", "desde el 3 de marzo"."""
        return f"desde {self.day(name)}"

    def between(self, first: DayName, second: DayName) -> str:
        """Example: "entre el 3 de marzo y el 1 de junio"."""
        return f"entre {self.day(first)} y {self.day(second)}"

    def missing_day(self, month: int, day: int, *, that_year: bool) -> str:
        """Example: "el 30 de febrero no existe"."""
        return f"el {_day_of_month(month, day)} no existe{' ese año' * that_year}"

    # ---- names ----

    def timer(self, name: str | None, seconds: float | None) -> str:
        """Example: "temporizador de 10 minutos", "temporizador de 10 minutos para pasta"."""
        length = "" if seconds is None else f" de {self.duration(seconds)}"
        purpose = "" if name is None else f" para {name}"
        return f"temporizador{length}{purpose}"

    def place(self, text: str) -> str:
        """Example: "en Nueva York"."""
        return title(text, _SMALL)


def _time(moment: time) -> str:
    """Returns "las 7:30 de la mañana", "la 1:00 de la tarde", "las 12:00 del mediodía"."""
    hour = moment.hour % 12 or 12
    clock = f"{'la' if hour == 1 else 'las'} {hour}:{moment.minute:02}"
    if moment.hour == 12:
        return f"{clock} del mediodía"
    if moment.hour == 0:
        return f"{clock} de la noche"
    return f"{clock} {next(part for before, part in _PARTS_OF_DAY if moment.hour < before)}"


def _day_of_month(month: int, day: int) -> str:
    return f"{day} de {_MONTHS[month - 1]}"


def _counted(count: int, noun: str, article: str) -> str:
    return f"{article} {noun}" if count == 1 else f"{count} {noun}s"


def _quantity(quantity: Quantity) -> str:
    value, unit = quantity.value, quantity.unit
    if quantity.is_half:
        return f"{'media' if unit.gender == 'f' else 'medio'} {unit.one}"
    if value == 1 and not unit.symbol:
        return f"{'una' if unit.gender == 'f' else 'un'} {unit.one}"
    number = write_number(value, Spanish.marks, decimals=quantity.decimals)
    return f"{number} {unit.symbol or (unit.one if abs(value) == 1 else unit.many)}"


PHRASES = Spanish()
