"""Defines the rows of a run, one for each measured attempt, and reads and writes the files of a run."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

Scenario = Literal["turns", "paused", "bargein", "hold", "noise", "sessions", "warmup", "sweep"]

SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

Part = Literal[Scenario, "profiles", "engines", "curve"]

PARTS: tuple[Part, ...] = get_args(Part)
"""Parts of a run: the scenarios, some of them again with other settings, and the curve, which needs no server."""

Trace = dict[str, Any]
"""A turn's record: docs/lab/trace-record.md."""


@dataclass(frozen=True, slots=True)
class Row:
    """One turn, interruption, or noise. Fields that a scenario does not measure keep their defaults.

    Attributes:
        scenario: Name of the scenario.
        clip: Id of the recording.
        session: Index of the session among simultaneous ones.
        start: Index of the server start; 0 except for the warm-up.
        number: Number of the turn in its connection, from 1.
        ttft_ms: The LLM's time to the first token.
        tokens_per_s: The LLM's rate after the first token.
        lost: Why nothing was measured; "" otherwise.
        why: Why an interruption or a noise failed at once; "" otherwise.
        latency_ms: Time from the labelled end of speech to the first audible sample; None without an answer.
        cut_in: Whether a reply was audible before the user had finished.
        overlap_ms: Audible reply while the user spoke, without their pauses, in ms.
        replies: Number of replies that were not cancelled.
        leading_ms: Silence at the beginning of the reply.
        wrong_reply: Whether the reply is not the LLM's.
        other_words: Whether the LLM was not asked the words that were recognized.
        errors: Word errors among `words`.
        words: Number of words of the transcript, if there is one.
        stop_ms: Time from an interruption's speech onset to `speech_started`; None if there was none or it came too
            soon.
        duck_ms: Time from an interruption's speech onset to `repartee.duck`.
        held: Whether the reply was played completely; None without a reply.
        seconds: Duration of the noise.
        starts: Number of reported speech starts without speech.
        late_ms: 99th percentile of the delay of the client's sound, over its connection.
        traces: Records of the turns that ended meanwhile.
        variant: A profile or an engine; "" for the run's own settings.
    """

    scenario: Scenario
    clip: str
    session: int = 0
    start: int = 0
    number: int = 1
    ttft_ms: float = 0.0
    tokens_per_s: float = 0.0
    lost: str = ""
    latency_ms: float | None = None
    cut_in: bool = False
    overlap_ms: float = 0.0
    replies: int = 0
    leading_ms: float = 0.0
    wrong_reply: bool = False
    other_words: bool = False
    errors: int = 0
    words: int = 0
    stop_ms: float | None = None
    duck_ms: float | None = None
    held: bool | None = None
    seconds: float = 0.0
    starts: int = 0
    late_ms: float = 0.0
    traces: tuple[Trace, ...] = ()
    variant: str = ""
    why: str = ""

    @property
    def trace(self) -> Trace | None:
        """Returns the record of the turn whose latency was measured."""
        with_latency = [trace for trace in self.traces if trace["response_latency_ms"] is not None]
        return with_latency[-1] if with_latency and self.latency_ms is not None and not self.cut_in else None


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor time of the server during a scenario, in seconds, and the duration of its conversations."""

    scenario: Scenario
    minutes: float
    loop_s: float
    threads_s: float
    engines_s: float
    variant: str = ""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Cost of one way of waiting for the end of a turn.

    Attributes:
        source: EOT source: "fixed" for a fixed silence, "sound", "text" and so on; "profile" for the shipped profiles.
        setting: Its setting: a duration, a threshold, a name.
        median_ms: Median time from the last word to the EOT decision, over turns without a cut-in.
        p95_ms: 95th percentile of the same.
        cut_share: Share of the turns with a pause of 300 ms that were cut into, 0..1.
        cut_plain_share: Share of the turns without such a pause that were cut into, 0..1.
    """

    source: str
    setting: str
    median_ms: float
    p95_ms: float
    cut_share: float
    cut_plain_share: float


def total(costs: Iterable[Cost]) -> tuple[Cost, ...]:
    """Sums the costs for each scenario and variant."""
    sums: dict[tuple[Scenario, str], Cost] = {}
    for cost in costs:
        key = (cost.scenario, cost.variant)
        before = sums.get(key, Cost(cost.scenario, 0.0, 0.0, 0.0, 0.0))
        sums[key] = Cost(
            cost.scenario,
            before.minutes + cost.minutes,
            before.loop_s + cost.loop_s,
            before.threads_s + cost.threads_s,
            before.engines_s + cost.engines_s,
            cost.variant,
        )
    return tuple(sums.values())


@dataclass(frozen=True, slots=True)
class Run:
    """A complete run.

    Attributes:
        command: The command line.
        at: Time of the run, UTC, ISO 8601.
        cores: Number of cores of the machine.
        others: Share of all processors used by other programs meanwhile, 0..1; None if unknown.
        ready_s: Startup time of the server.
        engines: Engines as listed by the server.
        costs: Costs by scenario and variant.
        rows: All rows.
        curve: Computed cost of waiting.
        settings: Settings of the server other than its defaults.
    """

    command: str
    at: str
    cores: int
    others: float | None = None
    ready_s: float = 0.0
    engines: tuple[str, ...] = ()
    costs: tuple[Cost, ...] = ()
    rows: tuple[Row, ...] = field(default=(), repr=False)
    curve: tuple[CurvePoint, ...] = ()
    settings: tuple[str, ...] = ()

    def of(self, scenario: Scenario, variant: str = "") -> list[Row]:
        """Returns the rows of one scenario; without a variant, those with the run's own settings."""
        return [row for row in self.rows if row.scenario == scenario and row.variant == variant]

    @property
    def variants(self) -> list[str]:
        """Returns the measured variants, in order."""
        return list(dict.fromkeys(row.variant for row in self.rows if row.variant))


ROWS, CONDITIONS = "turns.jsonl", "run.json"


def write(run: Run, folder: Path) -> None:
    """Writes `turns.jsonl`, one row with its traces a line, and `run.json`, which holds everything else."""
    with (folder / ROWS).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(row), separators=(",", ":")) + "\n" for row in run.rows)
    rest = {name: value for name, value in asdict(run).items() if name != "rows"}
    (folder / CONDITIONS).write_text(json.dumps(rest, indent=2) + "\n", encoding="utf-8")


def read(folder: Path) -> Run:
    """Reads a stored run. Raises SystemExit if there is none."""
    try:
        rest = json.loads((folder / CONDITIONS).read_text(encoding="utf-8"))
        lines = (folder / ROWS).read_text(encoding="utf-8").splitlines()
        rows = tuple(_row(json.loads(line)) for line in lines)
        costs = tuple(Cost(**cost) for cost in rest.pop("costs"))
        curve = tuple(CurvePoint(**point) for point in rest.pop("curve", ()))
        rest |= {name: tuple(rest.pop(name, ())) for name in ("engines", "settings")}
        return Run(**rest, costs=costs, rows=rows, curve=curve)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SystemExit(
            f"{folder} contains no run of this bench ({error}); name the --out folder of a run."
        ) from error


def _row(values: dict[str, Any]) -> Row:
    known = {column.name for column in fields(Row)}
    return Row(**{name: value for name, value in values.items() if name in known and name != "traces"},
               traces=tuple(values["traces"]))  # fmt: skip


def measured(rows: Iterable[Row]) -> list[Row]:
    """Returns the rows that were measured."""
    return [row for row in rows if not row.lost]
