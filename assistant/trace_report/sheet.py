"""Tables of figures in as much room as there is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table

GAP = 2
"""Columns between those of a table."""

MOST_NAME = 24
"""Of a name that are counted when it is asked what fits: endpoints may be called anything."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table before it is known how wide it may be.

    Attributes:
        title: Above it.
        headings: Of the columns of figures; before them stand the names, which have none.
        rows: A name and its figures each.
        spare: The columns of figures that are left out where there is no room, in this order.
        bold: The name of the row that counts most.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    spare: Sequence[int]
    bold: str = ""

    @property
    def width(self) -> int:
        """That it takes to show everything."""
        return self._width(range(len(self.headings)))

    def table(self, width: int) -> Table:
        """As much as fits: columns are left out, then names are folded; no figure is ever cut."""
        shown = list(range(len(self.headings)))
        for place in self.spare:
            if self._width(shown) > width:
                shown.remove(place)
        table = plain_table(self.title, "", *(self.headings[place] for place in shown))
        for name, *cells in self.rows:
            table.add_row(name, *(cells[place] for place in shown), style="bold" if name == self.bold else None)
        return table

    def _width(self, shown: Iterable[int]) -> int:
        """Of these columns and the names; a long name is folded before a column is left out."""
        names = min(MOST_NAME, max(len(row[0]) for row in self.rows))
        figures = (max(map(len, (self.headings[place], *(row[place + 1] for row in self.rows)))) for place in shown)
        return names + GAP + sum(figure + GAP for figure in figures)


def plain_table(title: str, first: str, *headings: str) -> Table:
    """A table as all commands print them."""
    table = Table(
        title=title, title_justify="left", box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim"
    )
    table.add_column(first, overflow="fold")  # alone: what has no room is taken from the names, never from figures
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
