"""Renders a report as one self-contained HTML page: no scripts, no external resources. Pure.

The page follows the light or dark theme of the reader's system. Its plots name the same colours (plots.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape

from assistant.trace.waterfall import shown
from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import Figures, Tally
from assistant.trace_report.plots import (
    DARK_STAGE_COLOURS,
    STAGE_COLOURS,
    css_colours,
    distribution,
    over_time,
    turn_plot,
)
from assistant.trace_report.reading import Record, convert_record
from assistant.trace_report.statistics import LEVEL, PERCENTS, IntervalEstimate
from assistant.trace_report.text import headline, sentences, spreads
from assistant.trace_report.waterfall import rows, waterfall

_STYLE = """
:root { color-scheme: light dark; --background: #fdfdfb; --surface: #f5f4ef; --text: #182020; --soft: #566463;
  --border: #dddad0; --reply: #0a7660; LIGHT }
@media (prefers-color-scheme: dark) { :root { --background: #0d1113; --surface: #13191c; --text: #edf1ef;
  --soft: #9aa8a6; --border: #232c30; --reply: #6fd3b8; DARK } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--background); margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
figure { margin: 0; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .9rem .15rem 0; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 500; color: var(--soft); border-bottom: 1px solid var(--border); }
tbody th { border-bottom: 0; color: var(--text); }
small { color: var(--soft); }
pre { font: 12px/1.35 ui-monospace, monospace; overflow-x: auto; }
pre.advice { font-size: 13px; white-space: pre-wrap; background: var(--surface); padding: .8rem 1rem; }
dt { color: var(--soft); float: left; clear: left; width: 9rem; }
dd { margin: 0 0 .15rem 9.5rem; }
summary { cursor: pointer; }
.wide { overflow-x: auto; }
:focus-visible { outline: 2px solid var(--reply); outline-offset: 2px; }
""".replace("LIGHT", css_colours(STAGE_COLOURS)).replace("DARK", css_colours(DARK_STAGE_COLOURS))


@dataclass(frozen=True, slots=True)
class PageNotes:
    """Texts of the page besides the figures.

    Attributes:
        dates: When the conversations took place.
        settings: The settings of the last turn, by name.
        advice: Lines of the advice.
    """

    dates: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    advice: Sequence[str] = ()


def page(tally: Tally, figures: Figures, slowest: Sequence[Record], notes: PageNotes = PageNotes()) -> str:
    """Returns the HTML of the page.

    Args:
        tally: The turns.
        figures: The figures of `tally`.
        slowest: Records to draw one by one, slowest first.
        notes: Dates, settings and advice.

    Raises:
        TraceError: A record of `slowest` is not valid.
    """
    parts = [f"<p>{escape(line)}</p>" for line in headline(figures)]
    if notes.advice:
        parts += ["<h2>What to change</h2>", f'<pre class="advice">{escape(chr(10).join(notes.advice))}</pre>']
    if figures.latency is not None:
        parts += [
            "<h2>Response latency</h2>",
            _figure("Histogram of the response latency", distribution(tally.ordered()["response_latency"])),
            _table(figures),
            "<h2>Stages of the latency over time</h2>",
            _figure("Stages of each turn, oldest first", over_time(tally.stages())),
        ]
    parts += ["<h2>Tail, interruptions, speculation</h2>", _pre("\n".join(sentences(figures)), "Figures in sentences")]
    parts += _engines(figures)
    parts += ["<h2>The slowest turns</h2>", *_turns(slowest)] if slowest else []
    parts += _settings(notes)
    body = "\n".join(parts)
    dates = f"<p><small>{escape(notes.dates)}</small></p>" if notes.dates else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Repartee: traces</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Words and names come from files. This policy prevents their content from running or fetching anything.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<style>{_STYLE}</style></head>\n<body><header><h1>Where the milliseconds went</h1>\n{dates}</header>\n"
        f"<main>\n{body}\n</main></body></html>\n"
    )


def _settings(notes: PageNotes) -> list[str]:
    """Returns the settings as a list of terms."""
    if not notes.settings:
        return []
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n" for name, value in notes.settings.items())
    return ["<h2>Settings of the last turn</h2>", f"<dl>{rows}</dl>"]


def _figure(label: str, drawing: str) -> str:
    """Returns a plot as one image with a name. Its figures are in the tables."""
    return f'<figure role="img" aria-label="{escape(label)}">{drawing}</figure>'


def _pre(text: str, label: str) -> str:
    """Returns preformatted text that can be scrolled with the keyboard."""
    return f'<pre tabindex="0" role="region" aria-label="{escape(label)}">{escape(text)}</pre>'


def _table(figures: Figures) -> str:
    lines = [
        [shown(name), f"{spread.count:,}", *map(_cell, spread.percentiles.values()), f"{spread.most:.0f}"]
        for name, spread in spreads(figures)
        if spread.most > 0
    ]
    note = (
        f"<p><small>In brackets: {LEVEL:.0%} intervals; with a question mark where the turns are too few.</small></p>"
    )
    headings = ["ms", "turns", *(f"p{percent}" for percent in PERCENTS), "max"]
    return _html_table(headings, lines, "Latency and stages") + note


def _cell(estimate: IntervalEstimate) -> str:
    mark = "" if estimate.enough else "?"
    return f"{estimate.value:.0f} <small>({estimate.low:.0f}–{estimate.high:.0f}{mark})</small>"


def _engines(figures: Figures) -> list[str]:
    parts = []
    for title, work, engines in (
        ("Answered by", "first token", figures.endpoints),
        ("Recognizers", "final transcript", figures.recognizers),
        ("Voices", "first audio", figures.voices),
    ):
        lines = [
            [escape(name), f"{engine.turns:,}", f"{engine.failed:,}"]
            + [
                "–" if spread is None else _cell(spread.percentiles[percent])
                for spread in (engine.work, engine.latency)
                for percent in (50, 95)
            ]
            for name, engine in engines.items()
        ]
        if lines:
            headings = ["name", "turns", "failed", f"{work} p50", f"{work} p95", "latency p50", "latency p95"]
            parts += [f"<h2>{title}</h2>", _html_table(headings, lines, title)]
    return parts + _asked(figures)


def _asked(figures: Figures) -> list[str]:
    lines = [
        [escape(name), f"{endpoint.asked:,}", _spelled(endpoint.outcomes), _spelled(endpoint.reasons)]
        + (
            ["–", "–"]
            if endpoint.first_token is None
            else [_cell(endpoint.first_token.percentiles[percent]) for percent in (50, 95)]
        )
        + [f"{endpoint.tokens_in_vain:,} tokens"]
        for name, endpoint in figures.asked.items()
    ]
    headings = ["name", "asked", "outcome", "why", "first token p50", "first token p95", "wasted"]
    return ["<h2>Endpoints asked</h2>", _html_table(headings, lines, "Endpoints asked")] if lines else []


def _spelled(counts: dict[str, int]) -> str:
    return escape(", ".join(f"{count:,} {name}" for name, count in counts.items()))


def _html_table(headings: Sequence[str], lines: Sequence[Sequence[str]], label: str) -> str:
    """Returns a table that can be scrolled sideways, also with the keyboard. The cells are HTML."""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    body = "".join(
        f'<tr><th scope="row">{name or "unnamed"}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>\n'
        for name, *cells in lines
    )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}">{table}</div>'


def _turns(slowest: Sequence[Record]) -> list[str]:
    return [convert_record(partial(_turn, rank), record) for rank, record in enumerate(slowest, 1)]


def _turn(rank: int, record: Record) -> str:
    title = f"turn {record['turn']} of {record['conversation']}: {facts_of(record).latency_ms:.0f} ms"
    drawing = _figure(f"Waterfall of {title}", turn_plot(rows(record), record["speech_end_ms"]))
    text = _pre("\n".join(waterfall(record)), f"Slowest turn {rank} as text")
    summary = f"<summary>turn {record['turn']} as text</summary>"
    return f"<h3>{escape(title)}</h3>\n{drawing}\n<details>{summary}{text}</details>"
