"""The terminal that commands write to."""

from rich.console import Console


def terminal(*, stderr: bool = False, width: int | None = None) -> Console:
    """Text stands on it as it is: what rich would take for markup or an emoji is a path, a name or somebody's words."""
    return Console(highlight=False, markup=False, emoji=False, stderr=stderr, width=width)
