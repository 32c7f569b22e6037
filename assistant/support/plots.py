"""Tells whether pictures can be drawn. They need matplotlib, from the extra `plots`."""

from importlib.util import find_spec

from declarations.extra import installing


def why_no_plots() -> str | None:
    """Returns why no picture can be drawn, with the remedy, as part of a sentence; None if matplotlib is installed."""
    return None if find_spec("matplotlib") is not None else f"pictures need matplotlib: {installing('plots')}"
