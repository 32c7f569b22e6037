"""Files that are read while somebody else writes them."""

from pathlib import Path


def whole_lines(file: Path) -> list[str]:
    """The lines that are all there: of the last one only a piece may have come, and it has no end then."""
    return [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
