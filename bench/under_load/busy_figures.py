"""Computes and formats the figures of conversations on a busy machine. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.serving.cells import NONE, pair, percent, table
from bench.serving.figures import Spread, spread
from bench.under_load.load_figures import LoadTurn

BEGIN = "<!-- Written by python -m bench.under_load.busy --doc: -->"

HEADS = (
    "other programs",
    "their share of the processors",
    "turns",
    "answered",
    "latency p50 / p95 ms",
    "slowest s",
    "refused or lost",
    "memory before, most, after MB",
    "engine restarts",
    "left out",
    "client late p99 ms",
)


@dataclass(frozen=True, slots=True)
class BusyStep:
    """The conversations beside some other programs.

    Attributes:
        others: What runs beside them.
        others_share: Share of the processors that it takes, 0..1; None: unknown.
        turns: All turns of all conversations.
        before_mb: Memory of the server and its child processes before the conversations; after one alone.
        most_mb: The most during them.
        after_mb: After them, when the other programs have ended.
        restarts: Engines that were abandoned or loaded again.
        left_out: The highest level of what was left out (audio/degradation.py); None: unknown.
    """

    others: str
    others_share: float | None
    turns: tuple[LoadTurn, ...]
    before_mb: float
    most_mb: float
    after_mb: float
    restarts: int
    left_out: int | None

    @property
    def spoken(self) -> tuple[LoadTurn, ...]:
        """The turns of connections that did not break."""
        return tuple(turn for turn in self.turns if not turn.lost)

    @property
    def answered_share(self) -> float:
        """Share of the spoken turns that were answered; 0 without turns."""
        return sum(turn.latency_ms is not None for turn in self.spoken) / max(1, len(self.spoken))

    @property
    def latency(self) -> Spread | None:
        """Latency of the answered turns without a cut-in."""
        return spread(turn.latency_ms for turn in self.spoken if turn.latency_ms is not None and not turn.cut_in)


def figures_table(steps: Sequence[BusyStep]) -> str:
    """Returns a row for each step."""
    return table(HEADS, (_row(step) for step in steps))


def _row(step: BusyStep) -> tuple[str, ...]:
    latency = step.latency
    late_ms = max((turn.late_ms for turn in step.spoken), default=None)
    return (
        step.others,
        NONE if step.others_share is None else percent(step.others_share),
        str(len(step.spoken)),
        percent(step.answered_share),
        pair(latency),
        NONE if latency is None else f"{latency.maximum / 1000:.1f}",
        str(len(step.turns) - len(step.spoken)),
        f"{step.before_mb:.0f}, {step.most_mb:.0f}, {step.after_mb:.0f}",
        str(step.restarts),
        NONE if step.left_out is None else f"level {step.left_out}",
        NONE if late_ms is None else f"{late_ms:.0f}",
    )


def section(command: str, started_at: str, cores: int, settings: Sequence[str], steps: Sequence[BusyStep]) -> str:
    """Returns what stands between the marks of the page."""
    used = ", ".join(f"`{setting}`" for setting in settings)
    return (
        f"`{command}`, {started_at[:16].replace('T', ' ')} UTC, {cores} cores. Settings: {used}.\n\n"
        f"{figures_table(steps)}\n\n"
        "The other programs slow down the clients and the language model, too: *client late* says how late they sent "
        "their own sound. *Restarts* are engines that were abandoned or loaded again. *Left out*: the highest level in "
        "`audio/degradation.py`."
    )
