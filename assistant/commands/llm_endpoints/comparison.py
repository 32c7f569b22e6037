"""Compares the locations of language models: `repartee endpoints --compare`. Pure, except for printing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assistant.endpoint_probe.figures import EndpointMeasurement, fastest_first
from assistant.trace.waterfall import nearest_rank

AUDIBLE_MS = 20.0
"""Differences of two medians below this are smaller than one frame of audio, and than the noise of few answers."""

_NONE = "–"
_PLAIN = str.maketrans({_NONE: "-", "−": "-"})


@dataclass(frozen=True, slots=True)
class LocationRow:
    """Figures of one endpoint.

    Attributes:
        name: The endpoint's name.
        location: Its region, else the host of its address.
        model: Its model.
        connect_ms: TCP handshakes, p50 and p95; None behind a proxy.
        first_token_ms: Time to the first token, p50 and p95.
        round_trip_ms: Network round trip; None if unknown, 0 for a model that this program runs.
        to_nearest_ms: Difference of its median first token to that of the nearest location; None if none is known.
        answers: Number of answers.
        is_partial: Whether it failed before it had given all answers.
    """

    name: str
    location: str
    model: str
    connect_ms: tuple[float, float] | None
    first_token_ms: tuple[float, float]
    round_trip_ms: float | None
    to_nearest_ms: float | None
    answers: int
    is_partial: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Locations that answered, fastest first, and locations that did not.

    Attributes:
        rows: Sorted by the median time to the first token.
        nearest: Name of the endpoint with the shortest round trip; "" if none is known.
        silent: Names of endpoints without an answer.
        verdict: Which location to choose, and why; one or two sentences.
    """

    rows: tuple[LocationRow, ...]
    nearest: str
    silent: tuple[str, ...]
    verdict: str

    def as_fields(self) -> Mapping[str, object]:
        """Returns the comparison for JSON, times rounded to hundredths of ms."""
        return {
            "nearest": self.nearest,
            "silent": list(self.silent),
            "verdict": self.verdict,
            "rows": [
                {
                    "name": row.name,
                    "location": row.location,
                    "model": row.model,
                    "connect_ms": _as_json(row.connect_ms),
                    "first_token_ms": _as_json(row.first_token_ms),
                    "to_nearest_ms": None if row.to_nearest_ms is None else round(row.to_nearest_ms, 2),
                    "answers": row.answers,
                    "is_partial": row.is_partial,
                }
                for row in self.rows
            ],
        }


def compare(measured: Sequence[EndpointMeasurement]) -> Comparison:
    """Compares the endpoints that answered."""
    answered = fastest_first(measured)
    silent = tuple(each.endpoint.name for each in measured if not each.answers)
    if not answered:
        return Comparison((), "", silent, "No endpoint answered, so there is nothing to compare.")
    trips_ms = {each.endpoint.name: trip_ms for each in answered if (trip_ms := _round_trip_ms(each)) is not None}
    nearest = min(trips_ms, key=trips_ms.__getitem__, default="")
    base_ms = next((each.first_token_ms(50) for each in answered if each.endpoint.name == nearest), None)
    rows = tuple(_row(each, base_ms) for each in answered)
    return Comparison(rows, nearest, silent, _verdict(rows, nearest))


def show_comparison(compared: Comparison, console: Console) -> None:
    """Prints the table and the verdict."""
    plain = not (console.encoding or "").lower().startswith("utf")
    if compared.rows:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for heading in ("location", "name", "model"):
            table.add_column(heading, overflow="fold")
        for heading in ("connect ms\np50 / p95", "first token ms\np50 / p95", "to the nearest\nms"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in compared.rows:
            cells = (
                row.location,
                row.name,
                row.model,
                _NONE if row.connect_ms is None else _pair(row.connect_ms, 1),
                _pair(row.first_token_ms),
                "nearest" if row.name == compared.nearest else _difference(row.to_nearest_ms),
            )
            table.add_row(*(Text(cell.translate(_PLAIN) if plain else cell) for cell in cells))
        console.print(table)
    if compared.silent:
        text = f"no answer: {', '.join(compared.silent)} (repartee endpoints says why)"
        console.print(Text(text, style="yellow"), soft_wrap=True)
    if partial := [f"{row.name} after {row.answers}" for row in compared.rows if row.is_partial]:
        text = f"failed before all answers: {', '.join(partial)} (repartee endpoints says why)"
        console.print(Text(text, style="yellow"), soft_wrap=True)
    console.print()
    console.print(Text(compared.verdict), soft_wrap=True)


def _round_trip_ms(each: EndpointMeasurement) -> float | None:
    return 0.0 if each.endpoint.is_on_this_machine else each.round_trip_ms


def _row(each: EndpointMeasurement, base_ms: float | None) -> LocationRow:
    endpoint, connects = each.endpoint, each.connects_ms
    usual_ms, late_ms = each.first_token_ms(50) or 0.0, each.first_token_ms(95) or 0.0
    return LocationRow(
        name=endpoint.name,
        location=endpoint.region or urlsplit(each.shown_address).hostname or "this machine",
        model=endpoint.model,
        connect_ms=(nearest_rank(list(connects), 50), nearest_rank(list(connects), 95)) if connects else None,
        first_token_ms=(usual_ms, late_ms),
        round_trip_ms=_round_trip_ms(each),
        to_nearest_ms=None if base_ms is None else usual_ms - base_ms,
        answers=len(each.answers),
        is_partial=bool(each.problem),
    )


def _verdict(rows: Sequence[LocationRow], nearest: str) -> str:
    best = rows[0]
    if len(rows) == 1:
        return f"Only {_named(best)} answered, so there is nothing to compare."
    following, slowest = rows[1], rows[-1]
    models = "" if len({row.model for row in rows}) == 1 else " The models differ: their speed is part of it."
    gained_ms = following.first_token_ms[0] - best.first_token_ms[0]
    if gained_ms < AUDIBLE_MS:
        text = f"{_named(best)} and {_named(following)} are equally fast ({gained_ms:.0f} ms apart): choose by price."
        return text + models
    text = f"Choose {_named(best)}: its first token comes {gained_ms:.0f} ms before that of {_named(following)}"
    if slowest is not following:
        text += f", and {slowest.first_token_ms[0] - best.first_token_ms[0]:.0f} ms before that of {_named(slowest)}"
    if best.round_trip_ms is not None and following.round_trip_ms is not None:
        network_ms = min(max(following.round_trip_ms - best.round_trip_ms, 0.0), gained_ms)
        text += f"; {network_ms:.0f} of the {gained_ms:.0f} ms are network"
    text += "."
    if best.is_partial:
        text += " But it failed before all answers: see why first."
    if best.round_trip_ms is not None and best.name != nearest:
        text += f" It is not the nearest: {nearest} has the shortest round trip, but its model answers later."
    if best.first_token_ms[1] > following.first_token_ms[1]:
        text += f" Its slowest answers come later than those of {_named(following)} (p95)."
    return text + models


def _named(row: LocationRow) -> str:
    return row.name if row.location == row.name else f"{row.name} ({row.location})"


def _difference(ms: float | None) -> str:
    return _NONE if ms is None else f"{ms:+.0f}".replace("-", "−")


def _pair(times_ms: tuple[float, float], digits: int = 0) -> str:
    return " / ".join(f"{ms:.{digits if ms < 10 else 0}f}" for ms in times_ms)


def _as_json(times_ms: tuple[float, float] | None) -> Mapping[str, float] | None:
    return None if times_ms is None else {"p50": round(times_ms[0], 2), "p95": round(times_ms[1], 2)}
