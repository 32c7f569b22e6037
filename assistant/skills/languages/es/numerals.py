"""Reads Spanish numbers as people say them and as recognizers write them."""

from fractions import Fraction

from assistant.skills.languages.numerals import TableNumerals, runs_by_length
from assistant.skills.languages.unit_names import load_unit_names

_SMALL = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    "veintiocho veintinueve"
)
_ROUND = "treinta cuarenta cincuenta sesenta setenta ochenta noventa"
_HUNDREDS = "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos"
_ALSO = {"un": 1, "una": 1, "veintiún": 21, "veintiuna": 21, "veintiun": 21, "dieciseis": 16, "veintidos": 22,
         "veintitres": 23, "veintiseis": 26}  # fmt: skip


def _below_thousand() -> dict[str, int]:
    small = {word: value for value, word in enumerate(_SMALL.split())} | _ALSO
    below = dict(small)
    for ten, word in enumerate(_ROUND.split(), start=3):
        below[word] = 10 * ten
        below.update({f"{word} y {unit}": 10 * ten + value for unit, value in small.items() if 0 < value < 10})
    table = dict(below) | {"cien": 100}
    for hundred, word in enumerate(_HUNDREDS.split(), start=1):
        for spelled in {word, word.removesuffix("os") + "as" if word.endswith("os") else word}:
            table[spelled] = 100 * hundred
            table.update({f"{spelled} {rest}": 100 * hundred + value for rest, value in below.items() if value})
    return table


NUMERALS = TableNumerals(
    below_thousand=runs_by_length(_below_thousand()),
    scales={"mil": 10**3, "millón": 10**6, "millon": 10**6, "millones": 10**6},
    points=frozenset(("coma", "punto")),
    signs=frozenset(("menos",)),
    articles=frozenset(("un", "una")),
    counted=frozenset(name.split()[0] for unit in load_unit_names("es").values() for name in unit.all_names)
    | {"", "más", "menos", "por", "entre", "y", "de", "en"},
    halves={("y", "medio"): Fraction(1, 2)},
)
