"""Formats figures as table cells, and names what was measured. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from bench.serving.figures import Spread, TurnFigures
from bench.serving.rows import Scenario

NONE = "—"
"""Cell without a value."""

TITLES: Mapping[Scenario, str] = MappingProxyType(
    {
        "turns": "plain turns",
        "paused": "with a pause",
        "sessions": "several at once",
        "warmup": "after a start",
        "bargein": "into a reply",
    }
)

OF_TURNS: tuple[Scenario, ...] = ("turns", "paused", "sessions", "warmup")


def plain_cell(figures: TurnFigures) -> str:
    """Formats the latency and the number of cut-ins."""
    return f"{pair(figures.latency)}, {percent(figures.talked_over_share)}"


def paused_cell(figures: TurnFigures) -> str:
    """Formats the number of cut-ins, and the latency of the other turns."""
    share = percent(figures.talked_over_share)
    return f"{share}, {pair(figures.latency)}" if figures.latency else share


def percent(share: float) -> str:
    """Formats a share of 0..1 as a percentage."""
    return f"{100 * share:.0f} %"


def pair(first: Spread | None) -> str:
    """Formats p50 / p95."""
    return NONE if first is None else f"{first.p50:.0f} / {first.p95:.0f}"


def triple(first: Spread | None) -> str:
    """Formats p50 / p95 / max."""
    return NONE if first is None else f"{first.p50:.0f} / {first.p95:.0f} / {first.maximum:.0f}"


def numbers(first: Spread) -> str:
    """Formats p50, p95 and max as three cells, to a tenth."""
    return " | ".join(f"{value:.1f}" for value in (first.p50, first.p95, first.maximum))


def each(values: Sequence[float]) -> str:
    """Formats all values."""
    return ", ".join(f"{value:.0f}" for value in values)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table; "" without rows."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *lines]) if lines else ""
