"""Computes and formats the figures of many conversations at once, and writes them into a page. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from bench.serving.cells import NONE, pair, percent, table
from bench.serving.figures import Spread, spread

BEGIN = "<!-- Written by python -m bench.under_load.load --doc: -->"


@dataclass(frozen=True, slots=True)
class LoadTurn:
    """One spoken turn, as its client saw it.

    Attributes:
        session: Index of the conversation.
        latency_ms: Labelled end of speech to the first audible sample of the reply; None: no answer.
        cut_in: Whether a reply was audible before the user had finished.
        lost: Why the connection ended; "" if it did not.
        late_ms: Delay of the client's own sound, p99 over its connection.
        connected_s: How long the conversation was connected.
    """

    session: int
    latency_ms: float | None = None
    cut_in: bool = False
    lost: str = ""
    late_ms: float = 0.0
    connected_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ServerUse:
    """Resources that the server used while the conversations ran. None: unknown on this system.

    Attributes:
        loop_s: Processor time of the event loop's thread.
        engines_s: Processor time of recognizers and voices.
        other_s: Processor time of other threads.
        before_mb: Resident memory before the first conversation.
        most_mb: Most resident memory during the conversations.
        loop_lag_ms: Lag of the event loop, p99 of the last minute, while most conversations ran.
        refused: Conversations that the server refused, by reason.
    """

    loop_s: float | None
    engines_s: float | None
    other_s: float | None
    before_mb: float | None
    most_mb: float | None
    loop_lag_ms: float | None
    refused: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class LoadStep:
    """One number of conversations at once.

    Attributes:
        asked: Conversations that were begun.
        turns: All turns of all conversations.
        use: What the server used.
        others: Share of the processors that other programs took, 0..1; None: unknown.
    """

    asked: int
    turns: tuple[LoadTurn, ...]
    use: ServerUse
    others: float | None

    @property
    def measured(self) -> tuple[LoadTurn, ...]:
        """The turns that were spoken."""
        return tuple(turn for turn in self.turns if not turn.lost)

    @property
    def latency(self) -> Spread | None:
        """Latency of all answered turns without a cut-in."""
        return spread(turn.latency_ms for turn in self.measured if turn.latency_ms is not None and not turn.cut_in)

    @property
    def unanswered(self) -> int:
        """Turns without an answer."""
        return sum(turn.latency_ms is None for turn in self.measured)

    @property
    def refused(self) -> int:
        """Conversations that the server refused."""
        return sum(count for _, count in self.use.refused)

    @property
    def lost(self) -> int:
        """Connections that broke; refused ones do not count."""
        return max(0, sum(bool(turn.lost) for turn in self.turns) - self.refused)

    @property
    def minutes(self) -> float:
        """Minutes of conversation, summed over the conversations."""
        return sum({turn.session: turn.connected_s for turn in self.measured}.values()) / 60

    def per_minute(self, seconds: float | None) -> float | None:
        """Returns seconds for each minute of conversation; None: unknown."""
        return None if seconds is None or not self.minutes else seconds / self.minutes

    @property
    def mb_each(self) -> float | None:
        """Memory for each admitted conversation: growth from before the first to the most."""
        conversations = len({turn.session for turn in self.measured})
        if self.use.before_mb is None or self.use.most_mb is None or not conversations:
            return None
        return (self.use.most_mb - self.use.before_mb) / conversations


@dataclass(frozen=True, slots=True)
class LoadRun:
    """A run of the bench.

    Attributes:
        command: The command that measured it.
        at: When, ISO 8601.
        cores: Processors of the machine.
        settings: Settings of the server.
        steps: One for each number of conversations.
    """

    command: str
    at: str
    cores: int
    settings: tuple[str, ...]
    steps: tuple[LoadStep, ...]


HEADS = (
    "at once",
    "turns",
    "latency p50 / p95 ms",
    "cut into",
    "unanswered",
    "refused",
    "lost",
    "loop lag p99 ms",
    "CPU s per minute: event loop",
    "recognizer and voice",
    "other threads",
    "MB each",
    "client late p99 ms",
    "other programs",
)


def figures_table(run: LoadRun) -> str:
    """Returns a row for each number of conversations."""
    return table(HEADS, (_row(step) for step in run.steps))


def _row(step: LoadStep) -> tuple[str, ...]:
    use, measured = step.use, step.measured
    late_ms = max((turn.late_ms for turn in measured), default=None)
    return (
        str(step.asked),
        str(len(measured)),
        pair(step.latency),
        str(sum(turn.cut_in for turn in measured)),
        str(step.unanswered),
        ", ".join(f"{count} {reason}" for reason, count in use.refused) or "0",
        str(step.lost),
        _number(use.loop_lag_ms, 1),
        _number(step.per_minute(use.loop_s), 2),
        _number(step.per_minute(use.engines_s), 2),
        _number(step.per_minute(use.other_s), 2),
        _number(step.mb_each, 1),
        _number(late_ms, 0),
        NONE if step.others is None else percent(step.others),
    )


def _number(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def section(run: LoadRun) -> str:
    """Returns what stands between the marks of the page."""
    settings = ", ".join(f"`{setting}`" for setting in run.settings)
    return (
        f"`{run.command}`, {run.at[:16].replace('T', ' ')} UTC, {run.cores} cores. Settings: {settings}.\n\n"
        f"{figures_table(run)}\n\n"
        "Clients, the language model (100 ms to the first token) and the server share the cores; nothing is subtracted."
        " *MB each*: growth of the server's memory to its peak, for each conversation. *Client late*: how late the "
        "clients sent their sound, for the worst connection."
    )


def turn_line(turn: LoadTurn) -> str:
    """Returns a turn as a line of JSON."""
    return json.dumps({name: getattr(turn, name) for name in LoadTurn.__slots__})


def turns_of(lines: Sequence[str]) -> tuple[LoadTurn, ...]:
    """Returns the turns of lines that `turn_line` made."""
    return tuple(LoadTurn(**json.loads(line)) for line in lines)


def sample_of(metrics: str, name: str, label: str = "") -> float | None:
    """Returns the value of a sample in Prometheus text; `label`: as in `of="loop_lag_p99"`; None: there is none."""
    name_with_label = f"{name}{{{label}}}" if label else name
    for line in metrics.splitlines():
        sample, _, value = line.rpartition(" ")
        if sample == name_with_label:
            return float(value)
    return None


def refusals_of(metrics: str) -> tuple[tuple[str, int], ...]:
    """Returns the number of refused sessions by reason, from Prometheus text."""
    begin = 'repartee_sessions_refused_total{reason="'
    refusals = []
    for line in metrics.splitlines():
        if line.startswith(begin):
            reason, _, value = line.removeprefix(begin).partition('"} ')
            refusals.append((reason, round(float(value))))
    return tuple(sorted(refusals))
