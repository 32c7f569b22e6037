"""What was measured, one row for each thing that was tried; and the file of a run."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

Scenario = Literal["turns", "paused", "bargein", "hold", "noise", "sessions", "warmup", "sweep"]

SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

Part = Literal[Scenario, "profiles", "engines", "curve"]

PARTS: tuple[Part, ...] = get_args(Part)
"""What a run is made of: the scenarios, some of them again in other settings, and the curve, which needs no server."""

Trace = dict[str, Any]
"""A turn's record: docs/traces.md."""


@dataclass(frozen=True, slots=True)
class Row:
    """One turn, interruption, or noise. What a scenario does not measure stays at its default.

    Attributes:
        scenario: Which.
        clip: The recording.
        session: Which of several at once.
        start: Which start of the server; 0 but for the warm-up.
        number: Which turn of its connection, from 1.
        ttft_ms: The model's time to its first token.
        tokens_per_s: After it.
        lost: Why nothing was measured; "" otherwise.
        why: Why an interruption or a noise failed at once; "" otherwise.
        latency_ms: From the labelled end of speech to the first audible sample; None: no answer.
        cut_in: A reply was audible while the person was not done.
        replies: That were not cancelled.
        leading_ms: Silence with which the reply began.
        wrong_reply: It was not what the model says.
        other_words: The model was not asked what was heard.
        errors: Words that were heard wrong, of `words`.
        words: Of the transcript, where there is one.
        stop_ms: From the first sample of an interruption to `speech_started`; None: none, or one too soon.
        duck_ms: To `repartee.duck`.
        held: The reply came whole; None: there was none.
        seconds: Of noise.
        starts: Times that speech was said to start, where there was none.
        late_ms: 99th percentile of how late the client's sound left, of its connection.
        traces: Of the turns that ended meanwhile.
        variant: A profile or an engine; "": the run's own settings.
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
        """Of the turn whose latency was measured."""
        with_latency = [trace for trace in self.traces if trace["response_latency_ms"] is not None]
        return with_latency[-1] if with_latency and self.latency_ms is not None and not self.cut_in else None


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor time of the server during a scenario, in seconds, and for how long it held conversations."""

    scenario: Scenario
    minutes: float
    loop_s: float
    threads_s: float
    engines_s: float
    variant: str = ""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What one way of waiting for the end of a turn costs.

    Attributes:
        source: What judges: "fixed" for a silence of one length, "sound", "text" and so on; "profile" for what ships.
        setting: Of it: a length, a threshold, a name.
        median_ms: From the last word to the decision, where nobody was cut into.
        p95_ms: Likewise.
        cut_share: Of the turns with a pause of 300 ms, those that were cut into, 0..1.
        cut_plain_share: Of the turns without one.
    """

    source: str
    setting: str
    median_ms: float
    p95_ms: float
    cut_share: float
    cut_plain_share: float


def total(costs: Iterable[Cost]) -> tuple[Cost, ...]:
    """One for each scenario and variant."""
    found: dict[tuple[Scenario, str], Cost] = {}
    for cost in costs:
        key = (cost.scenario, cost.variant)
        before = found.get(key, Cost(cost.scenario, 0.0, 0.0, 0.0, 0.0))
        found[key] = Cost(
            cost.scenario,
            before.minutes + cost.minutes,
            before.loop_s + cost.loop_s,
            before.threads_s + cost.threads_s,
            before.engines_s + cost.engines_s,
            cost.variant,
        )
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run.

    Attributes:
        command: What was typed.
        at: When, UTC, ISO 8601.
        cores: Of the machine.
        others: Share of all processors that other programs took meanwhile, 0..1; None: not known.
        ready_s: How long the server took to get ready.
        engines: As the server shows them.
        costs: By scenario and variant.
        rows: All that was measured.
        curve: What waiting costs, computed.
        settings: That the server was given beyond its defaults.
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
        """The rows of one scenario; without a variant, in the run's own settings."""
        return [row for row in self.rows if row.scenario == scenario and row.variant == variant]

    @property
    def variants(self) -> list[str]:
        """Those that were measured, in their order."""
        return list(dict.fromkeys(row.variant for row in self.rows if row.variant))


ROWS, CONDITIONS = "turns.jsonl", "run.json"


def write(run: Run, folder: Path) -> None:
    """`turns.jsonl`, one row with its traces a line, and `run.json`, everything else."""
    with (folder / ROWS).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(row), separators=(",", ":")) + "\n" for row in run.rows)
    rest = {name: value for name, value in asdict(run).items() if name != "rows"}
    (folder / CONDITIONS).write_text(json.dumps(rest, indent=2) + "\n", encoding="utf-8")


def read(folder: Path) -> Run:
    """A run that was written. Raises SystemExit where there is none."""
    try:
        rest = json.loads((folder / CONDITIONS).read_text(encoding="utf-8"))
        lines = (folder / ROWS).read_text(encoding="utf-8").splitlines()
        rows = tuple(_row(json.loads(line)) for line in lines)
        costs = tuple(Cost(**cost) for cost in rest.pop("costs"))
        curve = tuple(CurvePoint(**point) for point in rest.pop("curve", ()))
        rest |= {name: tuple(rest.pop(name, ())) for name in ("engines", "settings")}
        return Run(**rest, costs=costs, rows=rows, curve=curve)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SystemExit(f"{folder} holds no run of this bench ({error}); name the --out of one.") from error


def _row(values: dict[str, Any]) -> Row:
    known = {one.name for one in fields(Row)}
    return Row(**{name: value for name, value in values.items() if name in known and name != "traces"},
               traces=tuple(values["traces"]))  # fmt: skip


def measured(rows: Iterable[Row]) -> list[Row]:
    """Without those of which nothing was."""
    return [row for row in rows if not row.lost]
