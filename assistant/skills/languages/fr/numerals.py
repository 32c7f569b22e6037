"""Reads French numbers as people say them and as recognizers write them."""

from collections.abc import Iterator
from fractions import Fraction

from assistant.skills.languages.numerals import TableNumerals, runs_by_length
from assistant.skills.languages.unit_names import load_unit_names

_SMALL = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf"
).replace("-", "_")
_ROUND = {"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60, "septante": 70, "huitante": 80,
          "octante": 80, "nonante": 90}  # fmt: skip


def _below_hundred() -> Iterator[tuple[str, int]]:
    small = [word.replace("_", " ") for word in _SMALL.split()]
    yield from ((word, value) for value, word in enumerate(small))
    yield "une", 1
    for ten, value in _ROUND.items():
        yield ten, value
        for unit in range(1, 20 if ten == "soixante" else 10):
            yield f"{ten} {small[unit]}", value + unit
        yield from ((f"{ten} et {article}", value + 1) for article in ("un", "une"))
    yield "soixante et onze", 71
    for eighty in ("quatre vingt", "quatre vingts"):
        yield eighty, 80
        yield f"{eighty} une", 81
        yield from ((f"{eighty} {small[unit]}", 80 + unit) for unit in range(1, 20))


def _below_thousand() -> dict[str, int]:
    table = dict(_below_hundred())
    below = dict(table)
    for hundred in range(1, 10):
        count = "" if hundred == 1 else f"{next(word for word, value in below.items() if value == hundred)} "
        for spelled in ("cent", "cents"):
            table[f"{count}{spelled}"] = 100 * hundred
            table.update({f"{count}{spelled} {word}": 100 * hundred + value for word, value in below.items() if value})
    return table


NUMERALS = TableNumerals(
    below_thousand=runs_by_length(_below_thousand()),
    scales={"mille": 10**3, "million": 10**6, "millions": 10**6, "milliard": 10**9, "milliards": 10**9},
    points=frozenset(("virgule",)),
    signs=frozenset(("moins",)),
    articles=frozenset(("un", "une")),
    counted=frozenset(name.split()[0] for unit in load_unit_names("fr").values() for name in unit.all_names)
    | {"", "plus", "moins", "fois", "et", "divisé", "multiplié", "pourcent"},
    halves={("et", "demi"): Fraction(1, 2), ("et", "demie"): Fraction(1, 2)},
    no_sign_after=frozenset(("heure", "heures", "midi", "minuit", "h")),
    thousands="\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE} .",
)
