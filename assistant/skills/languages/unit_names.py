"""Names of the units of measure in each language."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import yaml

from assistant.skills.languages.measures import UNITS, MeasureUnit


@dataclass(frozen=True, slots=True)
class UnitName:
    """The names of a unit in one language.

    Attributes:
        one: Name after "one".
        many: Name after any other number.
        gender: "m", "f" or "n", in languages with genders.
        also: Other ways to say or write the unit. No word has two meanings.
        symbol: Written after a number in place of the name; "" if the name is written.
    """

    one: str
    many: str
    gender: str = ""
    also: tuple[str, ...] = ()
    symbol: str = ""

    @property
    def all_names(self) -> tuple[str, ...]:
        """All names in lower case, the plural first."""
        return tuple(dict.fromkeys(name.lower() for name in (self.many, self.one, *self.also)))


def load_unit_names(code: str) -> Mapping[MeasureUnit, UnitName]:
    """Returns the names of all units that the language has a name for.

    The English names are in `measures.py`. In other languages, a line of `units.yaml` maps the English name to "one,
    many, gender, also, also ...". Raises OSError, yaml.YAMLError or KeyError if the installation is broken.
    """
    if code == "en":
        return {unit: UnitName(unit.one, unit.many, "", unit.also, unit.symbol) for unit in UNITS}
    table = yaml.safe_load(files("assistant.skills.languages").joinpath(code, "units.yaml").read_text(encoding="utf-8"))
    by_english = {unit.one: unit for unit in UNITS}
    names = {}
    for english, line in table.items():
        one, many, gender, *also = (word.strip() for word in line.split(","))
        unit = by_english[english]
        names[unit] = UnitName(one, many, gender, tuple(also), unit.symbol)
    return names
