"""Chooses the recognizer's model by what it costs a turn. Pure: no I/O, no clock.

The cost is the recognizer's share of the response latency at p95. It is estimated from measured decodes until real
turns have shown it (docs/stt.md, "Which model is used").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType
from typing import Literal

Line = Literal["wide", "telephone"]
"""The band of the user's line: more than 4 kHz, or the telephone's."""

LINES: tuple[Line, ...] = ("wide", "telephone")

LIMIT_MS = 500.0
"""Longest response latency at p95, in ms, that a chosen model may cause."""

BESIDES_MS = 245.0
"""Response latency in ms beside the recognizer's share: the pause that starts its last decode (64), the first token
(100), the first chunk (60), its first sound and the output."""

ALLOWED_MS = LIMIT_MS - BESIDES_MS
"""Largest share of the recognizer."""

MARGIN = 0.8
"""Part of `ALLOWED_MS` that a larger model than the one in use may take. So the choice does not alternate."""

MIN_TURNS = 20
"""Turns from which their p95 counts instead of the estimate."""

MAX_TURNS = 60
"""Latest turns that count."""

_KEPT_MEASUREMENTS = 5
"""Latest measurements of the decodes that count."""


@dataclass(frozen=True, slots=True)
class DecodeTime:
    """Measured time of a model.

    Attributes:
        p95_ms: Time of a decode at p95, in ms; infinity if the model cannot be used.
        busy: Whether other programs kept the processor busy during the measurement.
        problem: Why the model cannot be used, for display; "" if it can.
    """

    p95_ms: float
    busy: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """All that is known of the cost of a model on this machine.

    Attributes:
        decode: Measured time of a decode; None: not measured.
        wait_share: Longest wait for a running decode, as a part of a decode.
        turns_ms: Recognizer's shares of the latest turns with this model, in ms, the oldest first.
    """

    decode: DecodeTime | None
    wait_share: float
    turns_ms: tuple[float, ...] = ()

    @property
    def is_usable(self) -> bool:
        """Whether the model may work, as far as known."""
        return self.decode is None or math.isfinite(self.decode.p95_ms)

    @property
    def estimate_ms(self) -> float | None:
        """Estimated share: a running decode is waited for, then the last one runs. None: not measured."""
        return None if self.decode is None else self.decode.p95_ms * (1 + self.wait_share)

    @property
    def observed_ms(self) -> float | None:
        """Share at p95 in real turns; None before `MIN_TURNS`."""
        return percentile_95(self.turns_ms[-MAX_TURNS:]) if len(self.turns_ms) >= MIN_TURNS else None


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen model.

    Attributes:
        name: The model.
        why: Reason, for display.
        unmeasured: Models without a time on this machine, the smallest first.
        doubtful: Models that were too slow while the machine was busy, the smallest first.
    """

    name: str
    why: str
    unmeasured: tuple[str, ...]
    doubtful: tuple[str, ...]


def choose(
    costs: Mapping[str, ModelCost],
    in_use: str = "",
    line: Line = "wide",
    equals: Mapping[str, str] = MappingProxyType({}),
) -> Choice:
    """Returns the largest model within `LIMIT_MS`, or the smallest that may work if none is.

    A model that is larger than the one in use needs a margin. A model that is in use stays until its turns, or without
    them its estimate, break the limit.

    Args:
        costs: The models, the smallest first.
        in_use: The model of the conversations before; "" if there was none.
        line: The line of the conversation.
        equals: Models that recognize no more on this line than a smaller one, and that one.
    """
    names = list(costs)
    shares = expected_shares(costs)
    usable = [name for name in names if costs[name].is_usable]
    limits = {
        name: ALLOWED_MS * (MARGIN if in_use in names and names.index(name) > names.index(in_use) else 1.0)
        for name in names
    }
    fast = [name for name, share in shares.items() if share is not None and share <= limits[name]]
    worth = [name for name in fast if equals.get(name) not in fast]
    chosen = worth[-1] if worth else (usable or names)[0]
    why = f"auto: {chosen} is the largest that keeps p95 of response latency within {LIMIT_MS:.0f} ms"
    if not worth:
        why = f"auto: no model keeps p95 of response latency within {LIMIT_MS:.0f} ms, and {chosen} is the smallest"
    elif fast[-1] != chosen:
        why = f"auto: {chosen}, because {fast[-1]} recognizes no more on a {line} line"
    elif line != "wide":
        why += f" on a {line} line"
    estimates = ", ".join(f"{name} {_shown(costs, shares, limits, name)}" for name in names)
    doubtful = tuple(name for name in names if _is_doubtful(costs[name]))
    note = ""
    if doubtful:
        were = "was" if len(doubtful) == 1 else "were"
        note = f"; the machine was busy when {' and '.join(doubtful)} {were} measured"
        note += ": measured again at the next start on a free machine"
    unmeasured = tuple(name for name in names if costs[name].decode is None)
    return Choice(chosen, f"{why} (estimates: {estimates}{note})", unmeasured, doubtful)


def expected_shares(costs: Mapping[str, ModelCost]) -> dict[str, float | None]:
    """Returns the expected share of each model at p95, in ms; None: not known, or the model cannot be used.

    Real turns of the nearest model show the load of the machine, and so correct the estimates of the others.
    """
    names = list(costs)
    observed = [(index, cost) for index, cost in enumerate(costs.values()) if cost.observed_ms is not None]
    shares: dict[str, float | None] = {}
    for index, name in enumerate(names):
        cost = costs[name]
        estimate_ms = cost.estimate_ms
        if not cost.is_usable:
            shares[name] = None
        elif cost.observed_ms is not None:
            shares[name] = cost.observed_ms
        elif estimate_ms is None or not observed:
            shares[name] = estimate_ms
        else:
            nearest, known = min(observed, key=lambda pair: abs(pair[0] - index))
            shares[name] = _corrected(estimate_ms, known, larger=index > nearest)
    return shares


def _corrected(estimate_ms: float, known: ModelCost, *, larger: bool) -> float:
    """Returns an estimate after the turns of another model. Of a larger model, the higher of two is taken.

    On a busy machine all decodes take longer by a factor; on a free one, a part of each is hidden behind the pause.
    """
    observed_ms, base_ms = known.observed_ms, known.estimate_ms
    if observed_ms is None or base_ms is None or not 0 < base_ms < math.inf:
        return estimate_ms
    by_factor = estimate_ms * observed_ms / base_ms
    return max(by_factor, observed_ms + estimate_ms - base_ms) if larger else by_factor


def is_slow(time: DecodeTime, wait_share: float) -> bool:
    """Returns whether a model is estimated to be too slow."""
    return time.p95_ms * (1 + wait_share) > ALLOWED_MS


def percentile_95(values: Sequence[float]) -> float:
    """Returns the nearest-rank p95 of at least one value."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def merged(earlier: Sequence[float], earlier_busy: bool, time: DecodeTime) -> tuple[list[float], bool]:
    """Returns the measurements that count after another one, and whether they were made on a busy machine.

    Measurements on a free machine replace those on a busy one, and are not replaced by them.
    """
    if not math.isfinite(time.p95_ms) or not all(map(math.isfinite, earlier)):
        return [time.p95_ms], time.busy
    if earlier and earlier_busy != time.busy:
        return (list(earlier), False) if time.busy else ([time.p95_ms], False)
    return [*earlier, time.p95_ms][-_KEPT_MEASUREMENTS:], time.busy


def agreed_ms(measurements: Sequence[float]) -> float:
    """Returns the time of a decode that several measurements agree on: their median."""
    return median(measurements)


def _is_doubtful(cost: ModelCost) -> bool:
    return cost.decode is not None and cost.decode.busy and is_slow(cost.decode, cost.wait_share)


def _shown(
    costs: Mapping[str, ModelCost], shares: Mapping[str, float | None], limits: Mapping[str, float], name: str
) -> str:
    """Returns the expected response latency with a model, for display."""
    cost, share = costs[name], shares[name]
    if cost.decode is not None and not cost.is_usable:
        return cost.decode.problem or "cannot be loaded"
    if share is None:
        return "not measured"
    turns = f" in {min(len(cost.turns_ms), MAX_TURNS)} turns" if cost.observed_ms is not None else ""
    # The smaller one was already too slow, so this one was not measured to the end.
    smaller = [costs[cost].decode for cost in list(costs)[: list(costs).index(name)]][-1:]
    taken_over = (
        not turns and cost.decode in smaller and cost.decode is not None and is_slow(cost.decode, cost.wait_share)
    )
    needs = (
        "" if limits[name] == ALLOWED_MS or share > ALLOWED_MS else f", used from {limits[name] + BESIDES_MS:.0f} ms on"
    )
    return f"{'over ' if taken_over else ''}{share + BESIDES_MS:.0f} ms{turns}{needs if share > limits[name] else ''}"
