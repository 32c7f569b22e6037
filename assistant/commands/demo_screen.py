"""Shows a conversation on a terminal: interim words, transcripts, replies and latency waterfalls."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from assistant.events import (
    ChunkSpoken,
    InterimWords,
    Problem,
    ReplyStopped,
    SessionEvent,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
)
from assistant.history.shown_speakers import ShownSpeakers
from assistant.trace.latency import Stage
from assistant.trace.latency_summary import TurnLatency, latency_summary
from assistant.trace.record import FAILED, TurnRecord
from assistant.trace.waterfall import BAND_MS, NOT_COUNTED, REFUSAL, SHORT_NAMES, segments, verdict
from assistant.turns.events import ReplyId

if TYPE_CHECKING:
    from assistant.registry.engine_choice import EngineChoice

COLOURS: dict[Stage, str] = {
    "endpoint_wait": "grey50",
    "stt": "cyan",
    "queue": "magenta",
    "llm_network": "blue",
    "llm_first_token": "yellow",
    "first_sentence": "dark_orange",
    "tts": "green",
    "transport": "purple",
    "playout": "red",
}
INDENT = " " * 11

BEFORE_BAR = 44
"""Columns before the bar of a turn at most, with the verdict."""


class Screen:
    """Shows events as they occur. Rewrites interim words in place on a terminal; prints them as lines in a pipe."""

    def __init__(self, console: Console) -> None:
        """Shows the conversation on this console."""
        self.console = console
        self.records: list[TurnRecord] = []
        self._live: Live | None = None
        self._interim = ""
        self._interim_turn = 0
        self._reply_id: ReplyId | None = None
        self._speakers = ShownSpeakers()

    def show(self, event: SessionEvent) -> None:
        """Shows one event of the conversation."""
        match event:
            case SpeechStarted():
                self._interim_turn = event.turn
                self._show_interim(Text("…", style="dim"))
            case InterimWords():
                if event.text != self._interim:
                    self._interim = event.text
                    self._show_interim(Text(f"{event.text} …", style="dim italic"))
            case UserTurnCommitted():
                self._clear_interim()
                if event.text:
                    words = Text(event.text, style="bold")
                    speaker = self._speakers.shown(event.speaker)
                    self._line(
                        speaker or "you",
                        words.append("  (roughly)", style="dim not bold") if event.low_confidence else words,
                    )
            case ChunkSpoken():
                label = "repartee" if event.reply_id != self._reply_id else ""
                self._reply_id = event.reply_id
                self._line(label, Text(event.text, style="green"))
            case ReplyStopped() if event.heard_ms > 0:
                self._line("", Text("(not heard)" if event.reason == "unheard" else "(interrupted)", style="dim"))
            case TurnFinished():
                self._finished(event.record)
            case Problem():
                self._line("problem", Text(event.text, style="red"))

    def close(self) -> None:
        """Ends the display."""
        self._clear_interim()

    def _line(self, label: str, text: Text) -> None:
        self._print(Text.assemble((f"{label:>9}  ", "dim"), text))

    def _print(self, text: Text) -> None:
        self.console.print(text, soft_wrap=True)

    def _show_interim(self, text: Text) -> None:
        line = Text.assemble((f"{'hearing':>9}  ", "dim"), text)
        if not self.console.is_terminal:
            if text.plain != "…":
                self._print(line)
            return
        if self._live is None:
            self._live = Live(line, console=self.console, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(line, refresh=True)

    def _clear_interim(self) -> None:
        self._interim = ""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _finished(self, record: TurnRecord) -> None:
        if record.turn >= self._interim_turn:  # otherwise the user is speaking during this turn's reply
            self._clear_interim()
        self.records.append(record)
        if record.response_latency_ms is None:
            if record.outcome in {"no words", "noise", "stuck", "failed"}:
                self._print(Text(f"{INDENT}turn {record.turn}: {record.outcome}, no reply was heard", style="dim"))
        else:
            line = waterfall(record, max(20, min(60, self.console.width - 70)))
            if self.console.is_terminal and line.cell_len > self.console.width:
                line = waterfall(record, max(10, min(60, self.console.width - BEFORE_BAR)), below=self.console.width)
            self._print(line)
        self._print(Text(""))


def waterfall(record: TurnRecord, max_cells: int, *, below: int = 0) -> Text:
    """Returns one line: the latency, whether it is within the band, the bar, and the stages in milliseconds.

    `below`: the stages are below, in lines of so many columns, for a narrow terminal; 0: they are not.
    """
    latency_ms = record.response_latency_ms or 0.0
    inside = BAND_MS[0] <= latency_ms <= BAND_MS[1] and not record.failed
    line = Text(INDENT)
    line.append(f"{latency_ms:4.0f} ms ", style="bold")
    line.append("✓ " if inside else "✗ ", style="green" if inside else "red")
    if record.failed:
        line.append(f"{NOT_COUNTED}  ", style="red")
    elif record.refused:
        line.append(f"{REFUSAL}  ", style="yellow")
    if record.engines.get("answered_by") == "cache":
        line.append("from the cache  ", style="bold")
    parts = segments(record, max_cells)
    for part in parts:
        line.append("█" * part.cells, style=COLOURS[part.stage])
    shares = [(f"{SHORT_NAMES[part.stage]} {part.ms:.0f}  ", COLOURS[part.stage]) for part in parts if part.ms >= 0.5]
    if not below:
        return line.append("  ").append_tokens(shares)
    column = below
    for text, colour in shares:
        if column + len(text.rstrip()) > below:
            line.append(f"\n{INDENT}")
            column = len(INDENT)
        line.append(text, style=colour)
        column += len(text)
    return line


def _failure(record: TurnRecord) -> str:
    return record.outcome if record.outcome in FAILED else "failed"


def summary(
    console: Console,
    records: Iterable[TurnRecord],
    chosen: Iterable["EngineChoice"],
    *,
    whole: bool = True,
    verbose: bool = True,
) -> None:
    """Prints the latency distribution and the engines used.

    Args:
        console: Receives the lines.
        records: The turns.
        chosen: The engines.
        whole: Whether the conversation was not aborted.
        verbose: Whether to print a table of all engines; else a line for each that runs in place of another. The
            language model's was shown before the conversation.
    """
    records = list(records)
    summary = latency_summary(map(TurnLatency.of, records))
    refused = sum(record.refused and not record.failed for record in records)
    if (latencies := summary.answered) is not None:
        turns = "turn" if latencies.turns == 1 else "turns"
        console.print(
            Text.assemble(
                "response latency  ",
                (f"p50 {latencies.p50_ms:.0f} ms  p95 {latencies.p95_ms:.0f} ms", "bold"),
                f"  over {latencies.turns} {turns}, {latencies.within} of them within 200–500 ms",
                f" (p95 {verdict(latencies.p95_ms)})" if latencies.within < latencies.turns else "",
                f"; {refused} of them refused" if refused else "",
                f"; {summary.failed} more failed" if summary.failed else "",
            ),
            soft_wrap=True,
        )
    elif answered := [
        record for record in records if record.outcome in {"answered", "interrupted"} and not record.failed
    ]:
        reasons = {record.no_latency_reason or "not measured" for record in answered}
        turns = "turn was" if len(answered) == 1 else "turns were"
        if reasons == {"requested"}:
            counted = f"{len(answered)} typed {turns} answered; typed turns have no response latency"
        else:
            causes = ", ".join(sorted("typed" if reason == "requested" else reason for reason in reasons))
            counted = f"{len(answered)} {turns} answered, none with a response latency ({causes})"
        console.print(counted, soft_wrap=True)
    elif failures := sorted({_failure(record) for record in records if record.failed}):
        console.print(f"no turn was answered: {', '.join(failures)}")
    else:
        of_what = ": no words were recognized" if whole else ""
        console.print(f"no turn was answered{of_what}")
    if (apologies := summary.apologies) is not None:
        p50, p95 = apologies.p50_ms, apologies.p95_ms
        times = f"p50 {p50:.0f} ms  p95 {p95:.0f} ms" if apologies.turns > 1 else f"after {p50:.0f} ms"
        console.print(f"failed turns      apology {times}, not counted above", highlight=False)
    if not verbose:
        for engine in chosen:
            if engine.fallback and engine.stage != "llm":
                console.print(Text(f"{engine.stage}: {engine.name}, {engine.why}", style="yellow"), soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("stage", "engine", "loaded", "what", "why"):
        table.add_column(heading, overflow="fold")
    for engine in chosen:
        why = Text(
            f"fallback: {engine.why}" if engine.fallback else engine.why, style="yellow" if engine.fallback else ""
        )
        # Names and paths are not markup, on any console.
        cells = (engine.stage, engine.name, f"{engine.load_ms:.0f} ms", engine.detail)
        table.add_row(*map(Text, cells), why)
    console.print(table)
