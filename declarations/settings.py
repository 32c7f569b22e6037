"""Settings that an engine declares: fields of a frozen dataclass, each with its description and allowed values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """Meaning and allowed values of a key, where the type alone does not tell.

    Attributes:
        text: One line, ending in a full stop.
        unit: Unit of a number, as shown to the user.
        low: Least number allowed.
        high: Greatest number allowed.
        zero: Whether 0 is allowed besides low to high.
        pattern: Regular expression for the whole string; "" allows any string.
        form: The pattern in words: "a language code such as en or de".
        private: Whether a wrong value may be a secret; error texts then do not repeat it.
        retired: Values of earlier versions, and what to do instead, as the end of an error text.
        choices: Returns the only strings allowed, where they depend on what is installed.
        listed: Whether a list of texts is allowed, too; it is kept as one text with blanks.
        formerly: Dotted name of the key in earlier versions; "" if it has always had this one.
    """

    text: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    zero: bool = False
    pattern: str = ""
    form: str = ""
    private: bool = False
    retired: Mapping[str, str] = field(default_factory=dict)
    choices: Callable[[], tuple[str, ...]] | None = None
    listed: bool = False
    formerly: str = ""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings of an engine that has none of its own."""
