"""Reads files that another process is still writing."""

from pathlib import Path


def complete_lines(file: Path) -> list[str]:
    """Returns the complete lines. A partly written last line has no line end and is left out."""
    return [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
