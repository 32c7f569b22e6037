"""Result of one check: severity, text, remedy and values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Level = Literal["ok", "info", "warn", "fail"]
"""ok: works. info: not used or not requested. warn: works worse than possible. fail: does not work."""

Fact = str | int | float | bool | None | Sequence[str]
"""A value for programs."""

NOTHING: Mapping[str, Fact] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check.

    Attributes:
        level: Severity.
        name: What was checked.
        text: Result for a person.
        ms: Duration, if useful; its meaning depends on the section.
        remedy: What to do; "" if nothing.
        essential: Whether a failure prevents conversations.
        checked: False if the check took too long, so that its result is not known.
        cells: Values for the columns of the section, instead of `ms`.
        facts: Values for programs.
    """

    level: Level
    name: str
    text: str
    ms: float | None = None
    remedy: str = ""
    essential: bool = False
    checked: bool = True
    cells: tuple[str, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=lambda: NOTHING)
