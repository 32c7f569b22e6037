"""Reads sentences.txt, the table of sentences in all languages and of what is understood."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.texts.text_cases import plain_text

TABLE = Path(__file__).with_name("sentences.txt")
PLACES = (
    "",
    "lists",
    "home",
    "furnished home",
    "weather",
    "answer cache",
    "answer cache, second turn",
    "size of a request",
)
SITUATIONS = ("now", "set", "rings", "rang")


@dataclass(slots=True)
class Section:
    """Sentences that are asked in the same situation.

    Attributes:
        title: What is shown by them.
        place: Where they are asked; "" if they are asked of the skills.
        situation: Further lines of the head, by their key.
        columns: Names of the columns after language and sentence.
        rows: Language, sentence, and a value for each column.
    """

    title: str
    place: str = ""
    situation: dict[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: list[list[str]] = field(default_factory=list)

    def expected(self, row: Sequence[str]) -> dict[str, str]:
        """Returns the values of a row by their columns."""
        return dict(zip(self.columns, row[2:], strict=True))


def sections(place: str = "") -> list[Section]:
    """Returns the sections of a place. Raises ValueError for a line that no test would read."""
    found: list[Section] = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            found.append(Section(line.removeprefix("== ")))
        elif line and not line.startswith("#"):
            _add(found[-1], line)
    return [section for section in found if section.place == place]


def _add(section: Section, line: str) -> None:
    cells = [cell.strip() for cell in line.split(" | ")]
    if len(cells) > 1:
        if len(cells) != 2 + len(section.columns):
            raise ValueError(f"a row has {len(cells)} cells, but {section.title!r} has other columns: {line}")
        section.rows.append(cells)
        return
    key, _, value = line.partition(": ")
    if key == "in" and value in PLACES:
        section.place = value
    elif key == "columns":
        section.columns = tuple(value.split(", "))
    elif key in SITUATIONS:
        section.situation[key] = value
    else:
        raise ValueError(f"neither a row nor a known key and place: {line}")


def case_id(section: Section, row: Sequence[str]) -> str:
    """Returns the id of a case in printable ASCII."""
    return f"{section.title}: {row[0]}: {plain_text(row[1])}"


def sentence_cases(place: str = "", *, answered: bool = True) -> pytest.MarkDecorator:
    """Parametrizes a test with the sections of a place that have columns, or that have none, and their rows."""
    cases = [(section, row) for section in sections(place) if bool(section.columns) == answered for row in section.rows]
    return pytest.mark.parametrize(("section", "row"), cases, ids=[case_id(*case) for case in cases])
