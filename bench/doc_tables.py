"""Writes the tables of `bench.turn_taking` into a documentation page, each part between two marks."""

from pathlib import Path

BEGIN = "<!-- Written by python -m bench.turn_taking --doc: -->"
BEGIN_OVERLAPS = "<!-- Written by python -m bench.turn_taking --overlaps --doc: -->"
END = "<!-- So far. -->"


def document(page: str, text: str, mark: str = BEGIN) -> str:
    """Returns the page with a text between a mark and the next END. Raises ValueError without the marks."""
    head, begin, rest = page.partition(mark)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the tables: put a line {mark} and a line {END} where they belong")
    return f"{head}{mark}\n\n{text}\n\n{END}{tail}"


def write_page(text: str, page: Path, mark: str = BEGIN) -> None:
    """Writes a text into a page. Raises SystemExit if the page does not exist or has no marks."""
    try:
        page.write_text(document(page.read_text(encoding="utf-8"), text, mark), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SystemExit(f"{page}: {error}") from error
