"""Writes the tables of `bench.turn_taking` into a documentation page, between two marks."""

from pathlib import Path

BEGIN = "<!-- Written by python -m bench.turn_taking --doc: -->"
END = "<!-- So far. -->"


def document(page: str, text: str) -> str:
    """Returns the page with a text between its marks. Raises ValueError without the marks."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the tables: put a line {BEGIN} and a line {END} where they belong")
    return f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}"


def write_page(text: str, page: Path) -> None:
    """Writes a text into a page. Raises SystemExit if the page does not exist or has no marks."""
    try:
        page.write_text(document(page.read_text(encoding="utf-8"), text), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SystemExit(f"{page}: {error}") from error
