"""Judges a soak: compares the last third of its time with the first one. Pure.

The first `WARM_UP_SHARE` of the time is left out: engines and caches fill in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from assistant.trace.waterfall import nearest_rank

WARM_UP_SHARE = 0.1

MEMORY_SHARE, MEMORY_MB = 0.05, 20.0
"""Permitted growth of memory: 5 % and 20 MB. Allocators and histories of the open conversations vary by this much."""

MORE_DESCRIPTORS, MORE_THREADS, MORE_TASKS = 5, 3, 10
"""Permitted growth: what one conversation that happens to be open, or opening, adds."""

P95_FACTOR = 1.5
"""Permitted growth of the response latency's p95."""

MAX_UNANSWERED_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Usage:
    """The server at one moment.

    Attributes:
        at_s: Time since the beginning.
        memory_mb: Resident memory in MB, with child processes.
        descriptors: Open descriptors.
        threads: Threads.
        tasks: Tasks of the event loop; None: the server did not answer.
    """

    at_s: float
    memory_mb: float
    descriptors: int
    threads: int
    tasks: int | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn.

    Attributes:
        at_s: When it was answered, since the beginning.
        latency_ms: Response latency at the client; None: it was not answered in time.
    """

    at_s: float
    latency_ms: float | None


@dataclass(frozen=True, slots=True)
class Soak:
    """The measurements of a run.

    Attributes:
        minutes: Its length.
        conversations: Number of simultaneous conversations.
        usages: The server over time.
        turns: All turns.
        lost: Connections that were lost, with the reason.
    """

    minutes: float
    conversations: int
    usages: tuple[Usage, ...]
    turns: tuple[Turn, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity by third of the time.

    Attributes:
        name: Name, with its unit.
        thirds: Values; none if nothing was measured.
        limit: Largest value permitted in the last third.
    """

    name: str
    thirds: tuple[float, ...]
    limit: float

    @property
    def is_flat(self) -> bool:
        """Whether the last third is within the limit."""
        return len(self.thirds) == 3 and self.thirds[-1] <= self.limit

    @property
    def problem(self) -> str:
        """Describes a row that is not flat."""
        if len(self.thirds) < 3:
            return f"{self.name}: not measured in each third of the time"
        return f"{self.name}: {self.thirds[-1]:.1f} in the last third, {self.limit:.1f} permitted"


@dataclass(frozen=True, slots=True)
class SoakVerdict:
    """The judged rows.

    Attributes:
        rows: The quantities.
        turns: Number of turns.
        unanswered: Number of turns without an answer.
        lost: Connections that were lost, with the reason.
    """

    rows: tuple[Row, ...]
    turns: int
    unanswered: int
    lost: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each thing that is not as it should be."""
        names = [row.problem for row in self.rows if not row.is_flat]
        if not self.turns or self.unanswered > MAX_UNANSWERED_SHARE * self.turns:
            names.append(f"{self.unanswered} of {self.turns} turns were not answered")
        return (*names, *(f"connection lost {name}" for name in self.lost))

    @property
    def is_flat(self) -> bool:
        """Whether nothing grew, and all turns were answered."""
        return not self.problems

    def table(self) -> str:
        """Returns the verdict as a Markdown table."""
        lines = ["| | first third | second | last | permitted | |", "|---|---|---|---|---|---|"]
        for row in self.rows:
            values = " | ".join(f"{value:.0f}" for value in row.thirds) or "- | - | -"
            lines.append(f"| {row.name} | {values} | {row.limit:.0f} | {'flat' if row.is_flat else 'grows'} |")
        lines.append(f"\n{self.turns} turns, {self.unanswered} unanswered, {len(self.lost)} connections lost.")
        return "\n".join([*lines, *self.problems])


def verdict(soak: Soak) -> SoakVerdict:
    """Judges a run."""
    rows = [
        _row(soak, "memory, MB", lambda usage: usage.memory_mb, lambda first: first * (1 + MEMORY_SHARE) + MEMORY_MB),
        _row(soak, "descriptors", lambda usage: usage.descriptors, lambda first: first + MORE_DESCRIPTORS),
        _row(soak, "threads", lambda usage: usage.threads, lambda first: first + MORE_THREADS),
        _row(soak, "tasks", lambda usage: usage.tasks, lambda first: first + MORE_TASKS),
    ]
    answered = [(turn.at_s, turn.latency_ms) for turn in soak.turns if turn.latency_ms is not None]
    p95_ms = tuple(nearest_rank(values, 95) for values in _thirds(soak, answered) if values)
    rows.append(Row("response latency p95, ms", p95_ms, p95_ms[0] * P95_FACTOR if p95_ms else 0.0))
    unanswered = sum(turn.latency_ms is None for turn in soak.turns)
    return SoakVerdict(tuple(rows), len(soak.turns), unanswered, soak.lost)


def _row(soak: Soak, name: str, value: Callable[[Usage], float | None], limit: Callable[[float], float]) -> Row:
    known = [(usage.at_s, usage_value) for usage in soak.usages if (usage_value := value(usage)) is not None]
    thirds = tuple(median(values) for values in _thirds(soak, known) if values)
    return Row(name, thirds, limit(thirds[0]) if thirds else 0.0)


def _thirds(soak: Soak, values: Sequence[tuple[float, float]]) -> list[list[float]]:
    """Returns the values of each third of the time after the warm-up."""
    length_s = soak.minutes * 60
    begin_s = length_s * WARM_UP_SHARE
    third_s = (length_s - begin_s) / 3
    thirds: list[list[float]] = [[], [], []]
    for at_s, value in values:
        if at_s >= begin_s:
            thirds[min(2, int((at_s - begin_s) / third_s))].append(value)
    return thirds
