"""Renders a report as one self-contained HTML page: no scripts, no external resources. Pure."""

from collections.abc import Sequence
from html import escape

from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import Figures, Tally
from assistant.trace_report.plots import distribution, over_time, turn_plot
from assistant.trace_report.reading import Record, convert_record
from assistant.trace_report.statistics import LEVEL, PERCENTS, IntervalEstimate
from assistant.trace_report.text import headline, sentences, spreads
from assistant.trace_report.waterfall import rows, waterfall

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #182020; background: #fdfdfb; margin: 2rem auto; max-width: 62rem;
  padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15rem .9rem .15rem 0; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 500; color: #566463; border-bottom: 1px solid #dddad0; }
td small { color: #71807e; }
pre { font: 12px/1.35 ui-monospace, monospace; overflow-x: auto; }
summary { cursor: pointer; }
.wide { overflow-x: auto; }
"""


def page(tally: Tally, figures: Figures, slowest: Sequence[Record]) -> str:
    """Returns the HTML of the page.

    Args:
        tally: The turns.
        figures: The figures of `tally`.
        slowest: Records to draw one by one, slowest first.

    Raises:
        TraceError: A record of `slowest` is not valid.
    """
    parts = [f"<p>{escape(line)}</p>" for line in headline(figures)]
    if figures.latency is not None:
        parts += [
            "<h2>Response latency</h2>",
            distribution(tally.ordered()["response_latency"]),
            _table(figures),
            "<h2>Stages of the latency over time</h2>",
            over_time(tally.stages()),
        ]
    parts += ["<h2>Tail, interruptions, speculation</h2>", f"<pre>{escape(chr(10).join(sentences(figures)))}</pre>"]
    parts += _engines(figures)
    parts += ["<h2>The slowest turns</h2>", *(convert_record(_turn, record) for record in slowest)] if slowest else []
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Repartee: traces</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Words and names come from files. This policy prevents their content from running or fetching anything.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<style>{_STYLE}</style></head>\n<body><h1>Where the milliseconds went</h1>\n{body}\n</body></html>\n"
    )


def _table(figures: Figures) -> str:
    lines = [
        [name, f"{spread.count:,}", *map(_cell, spread.percentiles.values()), f"{spread.most:.0f}"]
        for name, spread in spreads(figures)
        if spread.most > 0
    ]
    note = (
        f"<p><small>In brackets: {LEVEL:.0%} intervals; with a question mark where the turns are too few.</small></p>"
    )
    return _html_table(["ms", "turns", *(f"p{percent}" for percent in PERCENTS), "max"], lines) + note


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
            headings = ["", "turns", "failed", f"{work} p50", "p95", "latency p50", "p95"]
            parts += [f"<h2>{title}</h2>", _html_table(headings, lines)]
    return parts + _asked(figures)


def _asked(figures: Figures) -> list[str]:
    lines = [
        [escape(name), f"{found.asked:,}", _spelled(found.outcomes), _spelled(found.reasons)]
        + (["–", "–"] if found.first_token is None else [_cell(found.first_token.percentiles[at]) for at in (50, 95)])
        + [f"{found.tokens_in_vain:,} tokens"]
        for name, found in figures.asked.items()
    ]
    headings = ["", "asked", "outcome", "why", "first token p50", "p95", "wasted"]
    return ["<h2>Endpoints asked</h2>", _html_table(headings, lines)] if lines else []


def _spelled(counts: dict[str, int]) -> str:
    return escape(", ".join(f"{count:,} {name}" for name, count in counts.items()))


def _html_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in line)}</tr>\n" for line in lines)
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'


def _turn(record: Record) -> str:
    title = f"turn {record['turn']} of {record['conversation']}: {facts_of(record).latency_ms:.0f} ms"
    drawing = turn_plot(rows(record), record["speech_end_ms"])
    text = escape("\n".join(waterfall(record)))
    return f"<h3>{escape(title)}</h3>\n{drawing}\n<details><summary>as text</summary><pre>{text}</pre></details>"
