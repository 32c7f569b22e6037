"""Compares endpoints in a table and as bars, on a terminal or as a picture file."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assistant.config.errors import ConfigError
from assistant.endpoint_probe.figures import (
    ANSWER_TOKENS,
    PRICED_TURNS,
    PROMPT_TOKENS,
    EndpointMeasurement,
    fastest_first,
)
from assistant.support.atomic_file import write_whole

BAR_CELLS = 44
NETWORK, MODEL, LONGER = "▒", "█", "─"
PLAIN = str.maketrans({NETWORK: ".", MODEL: "#", LONGER: "-", "–": "-"})
"""Replacements for an output that supports only ASCII."""

_NONE = "–"
_COLUMNS = (
    "connect\nms",
    "TLS\nms",
    "round trip\nms",
    "first token ms\np50 / p95",
    "tokens\nper s",
    "price of\n1000 turns",
)
_NETWORK, _MODEL, _INK, _FAINT, _GRID = "#8a70e0", "#c763b4", "#222222", "#6f6f6f", "#e6e6e6"
"""Same colours for network and model as in the pictures of traces."""


def show_figures(measured: Sequence[EndpointMeasurement], console: Console, *, requests: int) -> None:
    """Prints the table of measured connections, and bars of the endpoints that answered; `requests`: per endpoint."""
    timed = [each for each in measured if each.handshake is not None]
    if not timed:
        return
    plain = not (console.encoding or "").lower().startswith("utf")
    count = max(len(each.answers) for each in timed)
    about = "no endpoint answered" if requests else "no answers were requested"
    if count:
        about = f"{count} short answer{'s' * (count != 1)} each, on a warm connection"
    console.print()
    console.print(Text(f"measured ({about})"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("name", "region"):
        table.add_column(heading, overflow="fold")
    for heading in _COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for each in timed:
        cells = (each.endpoint.name, each.endpoint.region or _NONE, *_cells(each))
        table.add_row(*(Text(cell.translate(PLAIN) if plain else cell) for cell in cells))
    console.print(table)
    if any(each.turns_price is not None for each in timed):
        text = f"{PRICED_TURNS} turns of {PROMPT_TOKENS} prompt tokens and {ANSWER_TOKENS} answer tokens"
        console.print(Text(f"price: {text}, nothing cached", style="dim"), soft_wrap=True)
    if lines := bars(measured):
        console.print()
        console.print(Text(f"first token, fastest first ({NETWORK} network, {MODEL} model, {LONGER} to p95)".translate(
            PLAIN if plain else {})), soft_wrap=True)  # fmt: skip
        for line in lines:
            console.print(Text(line.translate(PLAIN) if plain else line), soft_wrap=True)


def bars(measured: Sequence[EndpointMeasurement]) -> list[str]:
    """Returns a line for each endpoint that answered, fastest first; the longest p95 has BAR_CELLS cells."""
    answered = fastest_first(measured)
    max_ms = max((each.first_token_ms(95) or 0.0 for each in answered), default=0.0)
    width = max((len(each.endpoint.name) for each in answered), default=0)
    lines = []
    for each in answered:
        usual_ms, late_ms = each.first_token_ms(50) or 0.0, each.first_token_ms(95) or 0.0
        network, usual, late = (
            round(ms / max(max_ms, 1e-3) * BAR_CELLS) for ms in (_network_ms(each), usual_ms, late_ms)
        )
        bar = NETWORK * network + MODEL * (usual - network) + LONGER * (late - usual)
        lines.append(f"{each.endpoint.name:<{width}}  {bar:<{BAR_CELLS}}  {usual_ms:.0f} ms")
    return lines


def draw(measured: Sequence[EndpointMeasurement], file: Path, form: Literal["svg", "png"]) -> None:
    """Draws the bars to a file. Raises ConfigError if there is nothing to draw or the file cannot be written."""
    answered = fastest_first(measured)
    if not answered:
        raise ConfigError([f"{file}: no endpoint answered, so there is nothing to draw"])
    import matplotlib as mpl  # noqa: PLC0415 - on use: it takes half a second
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    places = range(len(answered))
    network = [_network_ms(each) for each in answered]
    usual = [each.first_token_ms(50) or 0.0 for each in answered]
    late = [each.first_token_ms(95) or 0.0 for each in answered]
    # The same figures produce the same file, byte for byte.
    with mpl.rc_context({"svg.hashsalt": "repartee", "font.size": 9, "axes.edgecolor": _FAINT}):
        figure = Figure(figsize=(8, 0.9 + 0.38 * len(answered)), facecolor="white", layout="constrained")
        axes = figure.subplots()
        axes.barh(places, network, 0.55, color=_NETWORK, label="network (round trip)")
        model = [all_ms - part_ms for all_ms, part_ms in zip(usual, network, strict=True)]
        axes.barh(places, model, 0.55, network, color=_MODEL, label="model, up to the median")
        axes.hlines(places, usual, late, color=_INK, linewidth=1.2, label="up to the 95th percentile")
        for place, ms, at_ms in zip(places, usual, late, strict=True):
            axes.annotate(f"{ms:.0f} ms", (at_ms, place), (4, 0), textcoords="offset points", va="center", color=_INK)
        axes.set_yticks(places, [_label(each) for each in answered], parse_math=False)
        axes.set_ylim(len(answered) - 0.5, -0.5)
        axes.set_xlim(0, max(late) * 1.15)
        axes.set_xlabel("from the question to the first token, ms")
        axes.grid(axis="x", color=_GRID)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
        drawn = io.BytesIO()
        figure.savefig(drawn, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
        try:
            write_whole(file, drawn.getvalue())
        except OSError as error:
            raise ConfigError([f"{file} cannot be written ({error.strerror}); name another file"]) from error


def _network_ms(each: EndpointMeasurement) -> float:
    """Returns the network's part of the first token's median time: the round trip, limited to the median."""
    return min(each.round_trip_ms or 0.0, each.first_token_ms(50) or 0.0)


def _label(each: EndpointMeasurement) -> str:
    region = each.endpoint.region
    return f"{each.endpoint.name} ({region})" if region else each.endpoint.name


def _cells(each: EndpointMeasurement) -> tuple[str, ...]:
    handshake = each.handshake
    assert handshake is not None
    usual_ms, late_ms = each.first_token_ms(50), each.first_token_ms(95)
    speed, price = each.tokens_per_s, each.turns_price
    return (
        "proxy" if handshake.proxy else _ms(handshake.connect_ms),
        _ms(handshake.tls_ms),
        _ms(each.round_trip_ms),
        _NONE if usual_ms is None else f"{usual_ms:.0f} / {late_ms:.0f}",
        _NONE if speed is None else f"{speed:.0f}",
        _NONE if price is None else f"{price:.2f}",
    )


def _ms(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"
