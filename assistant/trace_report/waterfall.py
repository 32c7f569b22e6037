"""Draws one turn as text: when each work ran, which part added to the latency, and what came of it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from assistant.trace.latency import STAGES, Stage
from assistant.trace.waterfall import NOT_COUNTED, REFUSAL, SHORT_NAMES, shown, verdict
from assistant.trace_report.facts import WORK_STAGES, facts_of, failed, refused
from assistant.trace_report.reading import Record

CELLS = 56
"""Length of the longest bar in characters. With names and numbers a line fits into 100 columns."""

LABEL_COLUMNS = 42
"""Columns before the bars."""

MIN_CELLS = 16
"""Length of the longest bar where there is no room for it."""

MIN_CELL_MS = 5.0

MARKS = {"paid": "█", "hidden": "▒", "dropped": "░"}
LEGEND = "█ waited for   ▒ hidden behind something else   ░ dropped"
LEGEND_WITHOUT_LATENCY = "▒ work   ░ dropped"

Cost = Literal["paid", "hidden", "dropped"]


@dataclass(frozen=True, slots=True)
class SpanPiece:
    """A part of a span. Times are in milliseconds on the record's own clock."""

    start_ms: float
    end_ms: float
    cost: Cost


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """One span and its pieces, in order and without gaps."""

    name: str
    stage: Stage
    attempt: int
    start_ms: float
    end_ms: float
    pieces: tuple[SpanPiece, ...]


def waterfall(record: Record, columns: int = LABEL_COLUMNS + CELLS) -> list[str]:
    """Returns the lines that draw the whole turn; its bars fit into `columns`."""
    cells = max(MIN_CELLS, min(CELLS, columns - LABEL_COLUMNS))
    return [*_head(record), "", *_bars(record, cells), "", *_words_about(record)]


def line_of(record: Record) -> str:
    """Returns the turn as one line, for `repartee trace follow`."""
    latency_ms = record["response_latency_ms"]
    who = f"  {record['speaker']}" if record.get("speaker") else ""
    head = f"{record['conversation']}  turn {record['turn']:>3}{who}  {record['outcome']:<11}"
    if latency_ms is None:
        return f"{head}       –     {record['no_latency_reason'] or ''}".rstrip()
    error = "  error" if record["error"] is not None else f"  {REFUSAL}" if refused(record) else ""
    return f"{head}  {latency_ms:>5.0f} ms  {_stages(record)}{error}"


def rows(record: Record) -> list[WaterfallRow]:
    """Returns every span as a row. Splits the spans of the heard attempt into waited-for and hidden pieces."""
    paid = paid_intervals(record)
    return [
        WaterfallRow(
            span["name"], span["stage"], span["attempt"], span["start_ms"], span["end_ms"],
            _pieces(span, paid.get(span["name"]) if _is_heard(span) else None),
        )
        for span in record["spans"]
    ]  # fmt: skip


def paid_intervals(record: Record) -> dict[str, tuple[float, float]]:
    """Maps each span of the heard attempt to its part of the latency (see assistant/trace/latency.py).

    Together the parts are the whole latency; silence before the first of them belongs to the EOT decision. Empty for a
    turn without a latency.
    """
    until_ms, speech_end_ms = record.get("playout_start_ms"), record["speech_end_ms"]
    heard = {span["name"]: span for span in record["spans"] if _is_heard(span)}
    span = heard.get("playout")
    intervals: dict[str, tuple[float, float]] = {}
    if record["response_latency_ms"] is None or until_ms is None:
        return intervals
    while span is not None and span["name"] not in intervals and until_ms > speech_end_ms:
        before = max(
            (heard[name] for name in span["after"] if name in heard), key=lambda other: other["end_ms"], default=None
        )
        since_ms = before["end_ms"] if before is not None else span["start_ms"]
        since_ms = min(max(since_ms, speech_end_ms), until_ms)
        intervals[span["name"]] = (since_ms, until_ms)
        span, until_ms = before, since_ms
    if until_ms > speech_end_ms and "endpoint" in heard:
        intervals["endpoint"] = (speech_end_ms, until_ms)
    return intervals


def _is_heard(span: dict[str, Any]) -> bool:
    return not span["dropped"]


def _pieces(span: dict[str, Any], paid: tuple[float, float] | None) -> tuple[SpanPiece, ...]:
    start_ms, end_ms = span["start_ms"], span["end_ms"]
    if span["dropped"]:
        return (SpanPiece(start_ms, end_ms, "dropped"),)
    since_ms, until_ms = paid if paid is not None else (end_ms, end_ms)
    # The waited-for interval may begin before the span or end after it. Only the overlap is drawn.
    since_ms, until_ms = min(max(since_ms, start_ms), end_ms), max(min(until_ms, end_ms), start_ms)
    pieces = (
        SpanPiece(start_ms, since_ms, "hidden"),
        SpanPiece(since_ms, until_ms, "paid"),
        SpanPiece(until_ms, end_ms, "hidden"),
    )
    return tuple(piece for piece in pieces if piece.end_ms > piece.start_ms)


# ---- lines ----


def _head(record: Record) -> Iterator[str]:
    latency_ms = record["response_latency_ms"]
    who = f" by {record['speaker']}" if record.get("speaker") else ""
    title = f"turn {record['turn']} of {record['conversation']}{who}: {record['outcome']}"
    if latency_ms is None:
        yield f"{title}, no latency ({record['no_latency_reason']})"
        return
    named = f", {REFUSAL}" if refused(record) else ""
    yield f"{title}, {latency_ms:.0f} ms, {NOT_COUNTED if failed(record) else verdict(latency_ms) + named}"
    yield f"waited for  {_stages(record)}"
    facts = facts_of(record)
    work_ms = facts.hidden_ms + sum(ms for stage, ms in _paid(record) if stage in WORK_STAGES)
    if work_ms > 0:
        yield f"hidden      {facts.hidden_ms:.0f} of {work_ms:.0f} ms of work did not delay the reply"


def _stages(record: Record) -> str:
    shown = [f"{SHORT_NAMES[stage]} {ms:.0f}" for stage, ms in _paid(record) if ms >= 0.5]
    return "  ".join(shown)


def _paid(record: Record) -> list[tuple[Stage, float]]:
    return [(stage, record["stages"][stage]["ms"]) for stage in STAGES if stage in record["stages"]]


def _bars(record: Record, cells: int) -> Iterator[str]:
    drawn = rows(record)
    if not drawn:
        yield "no work was started"
        return
    begin_ms, end_ms = min(row.start_ms for row in drawn), max(row.end_ms for row in drawn)
    spoken = record["speech_end_ms"] is not None
    zero_ms = record["speech_end_ms"] if spoken else begin_ms
    zero = "the end of speech" if spoken else "its beginning"
    cell_ms = max(MIN_CELL_MS, (end_ms - begin_ms) / cells)
    yield f"attempt  span               from     to   ms after {zero}; one cell is {cell_ms:.0f} ms"
    for row in drawn:
        bar = _bar(row, begin_ms, cell_ms)
        times = f"{round(row.start_ms - zero_ms):>6} {round(row.end_ms - zero_ms):>6}"  # integers avoid -0
        yield f"{row.attempt:>7}  {shown(row.name):<16} {times}   {bar}"
    legend = LEGEND if record["response_latency_ms"] is not None else LEGEND_WITHOUT_LATENCY
    before = LABEL_COLUMNS if cells == CELLS else max(0, LABEL_COLUMNS + cells - len(legend))
    yield f"{'':{before}}{legend}"


def _bar(row: WaterfallRow, begin_ms: float, cell_ms: float) -> str:
    start, end = (round((ms - begin_ms) / cell_ms) for ms in (row.start_ms, row.end_ms))
    bar = " " * start
    for piece in row.pieces:
        until = round((piece.end_ms - begin_ms) / cell_ms)
        bar += MARKS[piece.cost] * (until - len(bar))
    if end == start:
        bar += "▏"  # present, but shorter than half a cell
    return bar


def _listening_sounds(record: Record) -> Iterator[str]:
    """Yields when listening sounds were played in pauses of the user, and which were cut because the user went on."""
    end_ms = record["speech_end_ms"] or 0.0
    for event in record["events"]:
        if event["name"] == "listening_sound":
            after_ms = event["at_ms"] - end_ms
            when = "after" if after_ms > 0 else "before"
            yield f"listening    a sound, {abs(after_ms):.0f} ms {when} the end of speech"
        elif event["name"] == "listening_sound_cut":
            yield f"listening    it was cut {event['detail']}, because the user went on"


def _words_about(record: Record) -> Iterator[str]:
    facts = facts_of(record)
    if facts.committed and facts.ahead_ms is not None:
        won = facts.ahead_ms > 0
        how = f"{'won' if won else 'lost'}: the answer was begun {abs(facts.ahead_ms):.0f} ms"
        yield f"speculation  {how} {'before' if won else 'after'} the end of turn"
    yield from (
        f"{event['name']:<12} {event['detail']}"
        for event in record["events"]
        if event["name"] in ("dropped", "retracted", "interrupt")
    )
    yield from _listening_sounds(record)
    engines = ", ".join(f"{stage} {name}" for stage, name in record["engines"].items() if name)
    yield f"engines      {engines}"
    yield from (f"fallback     {text}" for text in record["fallbacks"])
    counters = ", ".join(f"{name} {count:,}" for name, count in record.get("counters", {}).items() if count)
    yield from [f"counters     {counters}"] if counters else []
    # An error of the reply is recorded when it happens and again at the end of the turn; a lasting one repeatedly.
    errors = [event["detail"] for event in record["events"] if event["name"] == "error"]
    yield from (f"error        {text}" for text in dict.fromkeys([*errors, record["error"]]) if text is not None)
