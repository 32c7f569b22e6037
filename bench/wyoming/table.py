"""Makes the table of all rounds."""

import statistics
from collections.abc import Sequence

from bench.wyoming.measurement import Measurement, Part

MARK = "<!-- Written by python -m bench.wyoming.compare --doc: -->"

OURS = "Repartee"
OTHERS = {"stt": "wyoming-faster-whisper", "tts": "wyoming-piper"}

_TIMES: tuple[tuple[str, Part, str, str], ...] = (
    ("transcript, live sound", "stt live", "", "total_ms"),
    ("first words, live sound", "stt interim", "streaming", "first_ms"),
    ("transcript, file", "stt file", "non_streaming", "total_ms"),
    ("first sound, whole text", "tts", "non_streaming", "first_ms"),
    ("first sound, text by sentences", "tts", "streaming", "first_ms"),
    ("first sound, text word by word", "tts live", "", "first_ms"),
    ("last sound, whole text", "tts", "non_streaming", "total_ms"),
)
_COSTS: tuple[tuple[str, Part], ...] = (
    ("live sound, processor time", "stt live"),
    ("files, processor time", "stt file"),
    ("speech, processor time", "tts"),
    ("speech word by word, processor time", "tts live"),
)


def table(rows: Sequence[Measurement]) -> str:
    """Returns a Markdown table: a line for each figure, the other program's and Repartee's side by side."""
    lines = [f"| | n | {' or '.join(OTHERS.values())} | {OURS} |", "|---|---|---|---|"]
    for title, part, mode, field in _TIMES:
        theirs, ours = (_values(rows, name, part, mode, field) for name in (OTHERS[part[:3]], OURS))
        if ours:
            lines.append(f"| {title}: p50 / p90 ms | {len(ours)} | {_times(theirs)} | {_times(ours)} |")
    for title, part in _COSTS:
        cells = [_processor_time(rows, name, part) for name in (OTHERS[part[:3]], OURS)]
        if cells[1] != "–":
            lines.append(f"| {title}: s a minute of sound | | {' | '.join(cells)} |")
    for title, part in (("live sound", "stt live"), ("files", "stt file")):
        cells = [_word_errors(rows, name, part) for name in (OTHERS["stt"], OURS)]
        if cells[1] != "–":
            lines.append(f"| {title}: word errors | | {' | '.join(cells)} |")
    return "\n".join(lines)


def _values(rows: Sequence[Measurement], server: str, part: str, mode: str, field: str) -> list[float]:
    chosen = [row for row in rows if (row.server, row.part, row.mode) == (server, part, mode)]
    return [value for row in chosen if (value := getattr(row, field)) is not None]


def _times(values: list[float]) -> str:
    if not values:
        return "–"
    slow = statistics.quantiles(values, n=10)[-1] if len(values) > 1 else values[0]
    return f"{statistics.median(values):.0f} / {slow:.0f}"


def _processor_time(rows: Sequence[Measurement], server: str, part: str) -> str:
    chosen = [row for row in rows if (row.server, row.part) == (server, part)]
    used = [row.processor_s * 60 / row.audio_s for row in chosen if row.processor_s is not None and row.audio_s]
    return f"{statistics.median(used):.2f}" if used else "–"


def _word_errors(rows: Sequence[Measurement], server: str, part: str) -> str:
    chosen = [row for row in rows if (row.server, row.part, row.sample) == (server, part, "words")]
    words = sum(row.words for row in chosen)
    return f"{100 * sum(row.errors for row in chosen) / words:.1f} %" if words else "–"
