"""Lays out tables of figures to fit the available width."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table

GAP = 2
"""Number of characters between the columns of a table."""

MAX_NAME_CHARS = 24
"""Number of characters of a name that count for the layout. Endpoint names may have any length."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table whose width is not decided yet.

    Attributes:
        title: Text above the table.
        headings: Headings of the figure columns. The name column before them has no heading.
        rows: One name and its figures per row.
        spare: Figure columns to leave out if there is no room, in this order.
        bold: Name of the most important row.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    spare: Sequence[int]
    bold: str = ""

    @property
    def width(self) -> int:
        """Returns the width needed to show everything."""
        return self._width(range(len(self.headings)))

    def table(self, width: int) -> Table:
        """Returns the table for this width. Leaves out columns first, then folds names; never cuts a figure."""
        shown = list(range(len(self.headings)))
        for place in self.spare:
            if self._width(shown) > width:
                shown.remove(place)
        table = plain_table(self.title, "", *(self.headings[place] for place in shown))
        for name, *cells in self.rows:
            table.add_row(name, *(cells[place] for place in shown), style="bold" if name == self.bold else None)
        return table

    def _width(self, shown: Iterable[int]) -> int:
        """Returns the width of these columns and the names. A long name is folded before a column is left out."""
        names = min(MAX_NAME_CHARS, max(len(row[0]) for row in self.rows))
        figures = (max(map(len, (self.headings[place], *(row[place + 1] for row in self.rows)))) for place in shown)
        return names + GAP + sum(figure + GAP for figure in figures)


def plain_table(title: str, first: str, *headings: str) -> Table:
    """Returns an empty table in the style of all commands."""
    table = Table(
        title=title, title_justify="left", box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim"
    )
    table.add_column(first, overflow="fold")  # the only folding column: names give way to figures
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
