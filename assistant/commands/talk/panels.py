"""Parts of the screen of `repartee talk` as styled text. Pure. Colours never carry information alone."""

import math
from collections.abc import Mapping, Sequence

from textual.content import Content

from assistant.commands.talk.controls import Status
from assistant.commands.talk.text import printable
from assistant.commands.talk.view import Entry, View
from assistant.events import Floor
from assistant.skills.lists.items import ListItem, titled_lists
from assistant.skills.ringing.shown_timers import ShownTimer
from assistant.trace.latency import Stage
from assistant.trace.latency_summary import LatencySummary
from assistant.trace.record import TurnRecord
from assistant.trace.waterfall import BAND_MS, SHORT_NAMES, segments, verdict_on

FLOOR_STYLES: Mapping[Floor, str] = {
    "starting": "$soft",
    "listening": "$reply",
    "hearing": "$you",
    "thinking": "$soon",
    "speaking": "$reply",
    "muted": "$late",
    "closed": "$soft",
    "asleep": "$soft",
    "typing": "$reply",
}

LABEL_CELLS = 11
SIDE_CELLS = 46
"""Width of the side panel: 40 cells from 0 to the band's upper end, and a margin on both sides."""

QUIET_DBFS, LOUD_DBFS = -60.0, -3.0
"""Ends of a level bar: noise of a quiet room; nearly clipped audio."""

PATTERN = "█▓▒░"
"""Distinguish adjacent stages without colours."""

_DETAIL_CHARS = 200
_NAME_CELLS = 9
_MAX_TIMERS = 8
_MAX_ITEMS = 8
_GAP = "  "

LETTER_ROWS = 3

_FONT = {
    "A": "·██· █··█ ████ █··█ █··█",
    "C": "·███ █··· █··· █··· ·███",
    "D": "███· █··█ █··█ █··█ ███·",
    "E": "████ █··· ███· █··· ████",
    "G": "·███ █··· █·██ █··█ ·███",
    "H": "█··█ █··█ ████ █··█ █··█",
    "I": "█ █ █ █ █",
    "K": "█··█ █·█· ██·· █·█· █··█",
    "L": "█··· █··· █··· █··· ████",
    "M": "█···█ ██·██ █·█·█ █···█ █···█",
    "N": "█··█ ██·█ █·██ █··█ █··█",
    "O": "·██· █··█ █··█ █··█ ·██·",
    "P": "███· █··█ ███· █··· █···",
    "R": "███· █··█ ███· █·█· █··█",
    "S": "·███ █··· ·██· ···█ ███·",
    "T": "███ ·█· ·█· ·█· ·█·",
    "U": "█··█ █··█ █··█ █··█ ·██·",
    "Y": "█·█ █·█ ·█· ·█· ·█·",
}
"""Five rows of dots for each letter needed. Two rows of dots are one row of the terminal."""

_HALVES = {"··": " ", "█·": "▀", "·█": "▄", "██": "█"}


def big(word: Floor) -> tuple[str, ...]:
    """Returns the word in letters three rows high; all rows have the same width."""
    letters = [_FONT[letter].split() for letter in word.upper()]
    dots = ["·".join(letter[row] for letter in letters) for row in range(5)]
    dots.append("·" * len(dots[0]))
    return tuple(
        "".join(_HALVES[upper + lower] for upper, lower in zip(dots[row], dots[row + 1], strict=True))
        for row in range(0, 2 * LETTER_ROWS, 2)
    )


def level_cells(dbfs: float, before: int, cells: int) -> int:
    """Returns the filled cells of a bar. It rises at once and falls by one cell per call, to avoid flicker."""
    share = (dbfs - QUIET_DBFS) / -QUIET_DBFS
    now = round(max(0.0, min(1.0, share)) * cells) if dbfs > QUIET_DBFS else 0
    return max(now, before - 1)


def state(floor: Floor, *, large: bool) -> Content:
    """Returns the state in one word."""
    text = "\n".join(big(floor)) if large else floor.upper()
    return Content.styled(text, f"{FLOOR_STYLES[floor]} bold")


def hint(status: Status, floor: Floor) -> str:
    """Returns what the user can do now, in one sentence."""
    hints: dict[Floor, str] = {
        "starting": "the engines are loading",
        "muted": "the microphone is closed; m opens it",
        "typing": "no microphone: type and press enter; /help lists the commands",
        # A terminal reports only presses, not releases.
        "closed": "the microphone is closed; press space, then speak",
        "asleep": f'say "{printable(status.wake_phrase, 60)}"',
        "speaking": "escape interrupts" if status.typing else "escape interrupts, r repeats",
        "thinking": "",
    }
    if floor in hints:
        return hints[floor]
    if status.talking:
        return "speak; press space again when you are done"
    return "speak" if floor == "listening" else ""


def level(name: str, filled: int, cells: int, *, dbfs: float) -> Content:
    """Returns a level as a bar."""
    loudness = "  loud" if dbfs > LOUD_DBFS else ""
    return Content.assemble(
        (f"{name:<5}", "$soft"),
        ("━" * filled, "$late" if loudness else "$reply"),
        ("─" * (cells - filled), "$edge"),
        (loudness, "$late"),
    )


def paragraph(entry: Entry) -> tuple[Content, Content]:
    """Returns an entry's label and its text."""
    match entry.who:
        case "you":
            label, style = "you", "$you"
        case "repartee":
            label, style = "repartee", "$reply"
        case _:
            label, style = entry.who, "$late" if entry.who == "problem" else "$standin"
    if entry.who in {"you", "repartee"}:
        text = Content.styled(entry.text or "…", "" if entry.settled else "italic $soft")
        if entry.unheard_from is not None:
            # Text still to come is faint; text that was never played is also struck through, as on the web page.
            text = text.stylize("$faint strike" if entry.mark else "$faint", entry.unheard_from)
        if entry.highlight is not None:
            text = text.stylize("bold reverse", *entry.highlight)
        if not entry.settled and entry.text:
            text = Content.assemble(text, (" …", "$soft"))
    else:
        text = Content.assemble((f"{entry.time_text}  ", "$soft"), (entry.text, style))
    if entry.mark:
        text = Content.assemble(text, (f"  ({entry.mark})", "$soft"))
    return Content.styled(label if entry.first else "", style), text


def waterfall(record: TurnRecord, cells: int, colours: Mapping[Stage, str] | None) -> Content:
    """Returns the last turn's latency as one bar; without colours, stages differ by pattern."""
    bar = Content("")
    for index, part in enumerate(segments(record, cells)):
        if colours is None:
            bar += Content(PATTERN[index % len(PATTERN)] * part.cells)
        else:
            bar += Content.styled("█" * part.cells, colours[part.stage])
    return bar


def band(record: TurnRecord, cells: int) -> Content:
    """Returns a marker of 200–500 ms under the bar; empty if the bar is too long for its scale."""
    parts = segments(record, cells)
    drawn = sum(part.cells for part in parts)
    cell_ms = (record.response_latency_ms or 0.0) / drawn if drawn else 0.0
    if not cell_ms:
        return Content("")
    low, high = (round(end_ms / cell_ms) for end_ms in BAND_MS)
    inner = f"{BAND_MS[0]:.0f}–{BAND_MS[1]:.0f} ms"
    if high > cells or high - low < len(inner) + 2:
        return Content("")
    return Content.assemble((" " * low, ""), ("└" + inner.center(high - low - 2, "─") + "┘", "$soft"))


def legend(record: TurnRecord, cells: int, colours: Mapping[Stage, str] | None) -> list[Content]:
    """Returns the stages of the bar from left to right, in ms, in lines of at most `cells`."""
    lines: list[Content] = []
    for index, part in enumerate(segments(record, cells)):
        if part.ms < 0.5:
            continue
        swatch = (PATTERN[index % len(PATTERN)], "") if colours is None else ("█", colours[part.stage])
        content = Content.assemble(swatch, f" {SHORT_NAMES[part.stage]} ", (f"{part.ms:.0f}", "bold"))
        if lines and lines[-1].cell_length + len(_GAP) + content.cell_length <= cells:
            lines[-1] = Content.assemble(lines[-1], _GAP, content)
        else:
            lines.append(content)
    return lines


def headline(record: TurnRecord) -> Content:
    """Returns the last turn's latency and its position relative to the band."""
    latency_ms = record.response_latency_ms or 0.0
    inside = BAND_MS[0] <= latency_ms <= BAND_MS[1] and not record.failed
    style = "$reply" if inside else "$soon" if latency_ms < BAND_MS[0] and not record.failed else "$late"
    return Content.assemble(
        (f"{latency_ms:.0f} ms", "bold"), (f"  {'✓' if inside else '✗'} {verdict_on(record)}", style)
    )


def running(summary: LatencySummary) -> list[Content]:
    """Returns the percentiles so far, the number of turns within the band, and the failed turns."""
    failed = failures(summary)
    latencies = summary.answered
    if latencies is None:
        return failed
    of = f"{latencies.turns} turn" + ("s" if latencies.turns != 1 else "")
    percentiles = Content.assemble(
        ("p50 ", "$soft"), (f"{latencies.p50_ms:.0f} ms", "bold"),
        ("  p95 ", "$soft"), (f"{latencies.p95_ms:.0f} ms", "bold"),
    )  # fmt: skip
    return [percentiles, Content.styled(f"{latencies.within} of {of} within 200–500 ms", "$soft"), *failed]


def failures(summary: LatencySummary) -> list[Content]:
    """Returns the number of failed turns, and when their apology was heard; nothing if none failed."""
    if not summary.failed:
        return []
    summary_text = f"{summary.failed} more failed" if summary.answered is not None else f"{summary.failed} failed"
    if (apologies := summary.apologies) is not None:
        summary_text += f", apology after {apologies.p50_ms:.0f} ms"
    return [Content.styled(summary_text, "$late")]


def latency(view: View, cells: int, colours: Mapping[Stage, str] | None, *, brief: bool) -> Content:
    """Returns the latencies of the last turn and of all turns; `brief` for a narrow screen."""
    if view.last is None:
        nothing = Content.styled(_without_latency(view.typed_turns), "$soft")
        return Content("\n").join([nothing, *failures(view.latencies)])
    bar = waterfall(view.last, cells, colours)
    names = legend(view.last, cells, colours)
    so_far = running(view.latencies)
    if brief:
        lines = [Content(_GAP).join([headline(view.last), *so_far]), bar, *names]
    else:
        under = band(view.last, cells)
        lines = [headline(view.last), bar, *([under] if under else []), *names, Content(""), *so_far]
    return Content("\n").join(lines)


def _without_latency(typed_turns: int) -> str:
    """Returns why no latency is shown."""
    if not typed_turns:
        return "no turn has been answered yet"
    turns = "turn" if typed_turns == 1 else "turns"
    return f"{typed_turns} typed {turns}; typed turns have no response latency"


def engines(view: View, cells: int, *, brief: bool) -> Content:
    """Returns the engines in use, with fallbacks marked. The reasons are in the transcript."""
    rows = []
    for engine in view.chosen:
        name, detail = printable(engine.name, _DETAIL_CHARS), printable(engine.detail, _DETAIL_CHARS)
        if engine.stage == "llm" and view.status is not None and view.status.endpoint:
            name, detail = printable(view.status.endpoint, _DETAIL_CHARS), ""
        named = (name, "$standin") if engine.fallback else (name, "")
        why = (" fallback", "$standin") if engine.fallback else ""
        if brief:
            rows.append(Content.assemble(named, why))
        else:
            what = ("", "") if not detail else (f"  {detail}", "$soft")
            rows.append(_row(printable(engine.stage, 6), Content.assemble(named, why, what), cells))
    if view.status is not None and brief and (counted := _counted(view.status)):
        rows.append(Content.styled(counted, "$late"))
    return Content.styled(" · ", "$soft").join(rows) if brief else Content("\n").join(rows)


def timers(shown: Sequence[ShownTimer], passed_s: float, cells: int) -> Content:
    """Returns the timers, alarms and reminders. `passed_s`: time in s since they were reported."""
    return Content("\n").join(
        [_row(_left(timer, passed_s), _timer_text(timer), cells) for timer in shown[:_MAX_TIMERS]]
    )


def _left(timer: ShownTimer, passed_s: float) -> str:
    if timer.state == "ringing":
        return "rings"
    if timer.local_time is not None:
        return f"{timer.local_time:%H:%M}" if timer.left_s < 22 * 3600 else f"{timer.local_time:%a %H:%M}"
    left = max(0, math.ceil(timer.left_s - (passed_s if timer.state == "running" else 0.0)))
    minutes, seconds = divmod(left, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"


def _timer_text(timer: ShownTimer) -> Content:
    name = printable(timer.name, _DETAIL_CHARS) or timer.kind
    if timer.state == "ringing":
        return Content.assemble((name, "$reply bold"), ("  escape stops it", "$soft"))
    return Content(f"{name}  (paused)" if timer.state == "paused" else name)


def lists(items: Sequence[ListItem], cells: int) -> Content:
    """Returns the lists and notes: title and items, the newest items of long lists."""
    lines = []
    for title, of_list in titled_lists(items):
        more = len(of_list) - _MAX_ITEMS
        lines.append(Content.assemble((printable(title, _DETAIL_CHARS), "$soft"), f"  {more} more" if more > 0 else ""))
        for item in of_list[-_MAX_ITEMS:]:
            lines += Content(printable(item.text, _DETAIL_CHARS)).wrap(max(1, cells - len(_GAP)))
    return Content("\n").join(lines)


def sound(view: View, cells: int) -> Content:
    """Returns the devices, the echo control and the number of problems."""
    status = view.status
    if status is None:
        return Content("")
    lines = [
        _row(name, Content(printable(value, _DETAIL_CHARS)), cells)
        for name, value in (("mic", status.input), ("out", status.output), ("echo", status.echo))
        if value
    ]
    if counted := _counted(status):
        lines.append(_row("counted", Content.styled(counted, "$late"), cells))
    if view.troubles:
        times = "once," if view.troubles == 1 else f"{view.troubles} times, last"
        lines.append(_row("problem", Content.styled(f"{times} at {view.trouble_at}", "$late"), cells))
    return Content("\n").join(lines)


def _counted(status: Status) -> str:
    """Returns the problem counts."""
    return ", ".join(f"{number} {printable(name, 60)}" for name, number in status.troubles.items() if number > 0)


def _row(name: str, value: Content, cells: int) -> Content:
    """Returns a name and its value, wrapped beside it in lines of at most `cells`."""
    lines = value.wrap(max(1, cells - _NAME_CELLS))
    first = Content.styled(f"{name:<{_NAME_CELLS}}", "$soft")
    return Content("\n").join(
        [Content.assemble(" " * _NAME_CELLS if index else first, line) for index, line in enumerate(lines)]
    )


def keys(status: Status | None, cells: int) -> Content:
    """Returns the active keys in one line of at most `cells`. Leaves out the least important if it is narrow."""
    if status is not None and status.typing:
        return _fitted({"enter": "send", "/help": "commands", "esc": "interrupt", "ctrl+c": "quit"}, cells)
    named = {"m": "open mic" if status is not None and status.muted else "mute", "esc": "interrupt"}
    named |= {"r": "repeat", "t": "type", "d": "devices", "?": "help", "q": "quit"}
    if status is not None and status.mode == "push-to-talk":
        named = {"space": "done" if status.talking else "talk", **named}
    return _fitted(named, cells)


def _fitted(named: dict[str, str], cells: int) -> Content:
    line = Content("")
    for missed in ("", "r", "d", "t", "esc", "enter"):
        named.pop(missed, None)
        keys = [Content.assemble((key, "bold $reply"), (f" {name}", "$soft")) for key, name in named.items()]
        line = Content("  ").join(keys)
        if line.cell_length <= cells:
            break
    return line
