"""The screen of `repartee talk`: state, transcript, latency of the last turn, and keys."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.color import Color
from rich.terminal_theme import SVG_EXPORT_THEME
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, Static

from assistant.commands.demo_screen import COLOURS
from assistant.commands.talk import panels
from assistant.commands.talk.controls import Controls, DeviceChoice, Status
from assistant.commands.talk.dialogs import Devices, Help
from assistant.commands.talk.keys import HeldKey
from assistant.commands.talk.resumed import Resumed
from assistant.commands.talk.style import (
    AIRY_ROWS,
    CSS,
    HEIGHTS,
    HIGH_ROWS,
    MIN_COLUMNS,
    MIN_ROWS,
    THEMES,
    WIDE_COLUMNS,
    WIDTHS,
    Shade,
    shade_of,
)
from assistant.commands.talk.transcript import TranscriptView
from assistant.commands.talk.view import View
from assistant.events import ListsChanged, Problem, SessionEvent, TimersChanged
from assistant.skills.lists.items import ListItem
from assistant.skills.ringing.shown_timers import ShownTimer
from assistant.trace.latency import Stage

if TYPE_CHECKING:
    from assistant.registry.engine_choice import EngineChoice

STAGE_COLOURS: Mapping[Stage, str] = {
    stage: Color.parse(name).get_truecolor(SVG_EXPORT_THEME).hex for stage, name in COLOURS.items()
}
"""The colours of the demo, as in its picture."""

POLL_S = 0.1
"""Seconds between status requests; a word lasts three times as long."""

LINE_CHARS = 2000
"""Longest line that can be typed, in characters."""

BAR_CELLS = {False: 18, True: 28}
"""Cells of a level bar: on a normal and on a wide screen."""

SIDE = ("timers", "lists", "latency", "engines", "sound")
"""Parts of the side panel; on a narrow screen they are below the transcript."""


LETTER_ACTIONS = frozenset({"talk", "mute", "interrupt", "repeat", "type", "devices", "help", "shade", "quit_letter"})
"""Actions of the printable keys. Without a microphone these keys are text."""


class TalkScreen(App[None]):
    """Displays a conversation on the terminal. It only shows events and calls the controls.

    `show`, `engines` and `ready` may be called at any time on the event loop, also before the first drawing.
    """

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    TITLE = "repartee talk"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "talk", "talk"),
        Binding("m", "mute", "mute"),
        Binding("escape", "leave", "interrupt"),
        Binding("i", "interrupt", "interrupt"),
        Binding("r", "repeat", "repeat"),
        Binding("t,slash", "type", "type"),
        Binding("d", "devices", "devices"),
        Binding("question_mark", "help", "help"),
        Binding("f1", "help_key", "help"),
        Binding("l", "shade", "light or dark"),
        Binding("up", "look(1)", "look back"),
        Binding("down", "look(-1)", "look forward"),
        Binding("pageup", "look(8)", "look back"),
        Binding("pagedown", "look(-8)", "look forward"),
        Binding("home", "look_at(False)", "the beginning"),
        Binding("end", "look_at(True)", "the end"),
        Binding("q", "quit_letter", "quit"),
        Binding("ctrl+c,ctrl+q", "quit", "quit", priority=True),
    ]

    def __init__(
        self,
        controls: Controls,
        *,
        clock: Callable[[], str],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Creates a screen for this conversation.

        Args:
            controls: Executes the keys.
            clock: Returns the time of day as text.
            environ: Environment variables, with NO_COLOR and the terminal's background.
        """
        shade = shade_of(environ)
        super().__init__(ansi_color=shade == "none")
        self.view = View()
        self._controls = controls
        self._clock = clock
        self._shade: Shade = shade
        self._loaded = False
        self._drawn: dict[str, Content] = {}
        self._waiting = False  # a drawing is scheduled
        self._filled = {"mic": 0, "out": 0}
        self._key = HeldKey()
        self._shown_timers: tuple[ShownTimer, ...] = ()
        self._timers_s = 0.0  # loop time at which they were reported
        self._list_items: tuple[ListItem, ...] = ()
        self._parts = {
            name: Static(id=name, markup=False) for name in ("short", "floor", "levels", "hint", *SIDE, "keys")
        }
        self._transcript = TranscriptView()
        self._line = Input(
            id="line",
            placeholder="type; enter sends, escape cancels",
            max_length=LINE_CHARS,
            disabled=True,
            select_on_focus=False,
        )
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = THEMES[shade].name

    # Events --------------------------------------------------------------------------------------------------

    def show(self, event: SessionEvent) -> None:
        """Shows one event of the conversation."""
        if isinstance(event, TimersChanged):
            self._shown_timers, self._timers_s = event.timers, self._now_s()
        if isinstance(event, ListsChanged):
            self._list_items = event.items
        self.view.apply(event, self._clock())
        self._draw_soon()

    def engines(self, chosen: Sequence["EngineChoice"]) -> None:
        """Shows the engines loaded so far."""
        self.view.engines(chosen, self._clock())
        self._draw_soon()

    def measuring(self, what: str) -> None:
        """Shows what is measured during the start."""
        self.view.measuring(what, self._clock())
        self._draw_soon()

    def resumed(self, past: Resumed) -> None:
        """Shows the last words of the resumed conversation."""
        self.view.resumed(past, self._clock())
        self._draw_soon()

    def ready(self) -> None:
        """Reports that everything is loaded. From now on the controls supply the state."""
        self._loaded = True
        self._draw_soon()

    # Drawing -------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Builds the parts from top to bottom."""
        part = self._parts
        yield part["short"]
        with Horizontal(id="head"):
            yield part["floor"]
            yield part["levels"]
        yield part["hint"]
        with Vertical(id="middle"):
            yield self._transcript
            with VerticalScroll(id="side", can_focus=False):
                for name in SIDE:
                    part[name].border_title = name
                    yield part[name]
        yield self._line
        yield part["keys"]

    def on_mount(self) -> None:
        """Starts to poll the status."""
        # Textual applies the size classes only after a resize event, so the first drawing would be wrong.
        for length, steps in zip(self.size, (WIDTHS, HEIGHTS), strict=True):
            self.screen.add_class(max(step for step in steps if step[0] <= length)[1])
        self.set_interval(POLL_S, self._poll)
        self._poll()

    def on_resize(self) -> None:
        """Redraws everything for the new width."""
        self._draw_soon()

    def _poll(self) -> None:
        before, status = self.view.status, self._controls.status()
        self.view.set_status(status)
        self._open_or_close_line(before, status)
        self._draw_levels(status)
        self._draw_timers()
        if before is None or _without_levels(before) != _without_levels(status):
            self._draw()
        else:
            self._transcript.show(tuple(self.view.entries))

    def _draw_soon(self) -> None:
        """Schedules one drawing for several events, in the screen's own task."""
        if self._transcript.is_mounted and not self._waiting:
            self._waiting = self.call_later(self._draw)

    def _draw(self) -> None:
        self._waiting = False
        view, status = self.view, self.view.status
        columns, rows = self.size
        brief = columns < WIDE_COLUMNS
        colours = None if self._shade == "none" else STAGE_COLOURS
        cells = columns - 4 if brief else panels.SIDE_CELLS - 4
        floor = status.floor if self._loaded and status is not None else "starting"
        self._update_part("short", Content(f"{columns} × {rows}: enlarge to {MIN_COLUMNS} × {MIN_ROWS} to see all"))
        self._update_part("floor", panels.state(floor, large=rows >= HIGH_ROWS and columns >= MIN_COLUMNS))
        self._update_part("hint", Content(panels.hint(status, floor) if status is not None else ""))
        self._update_part("latency", panels.latency(view, cells, colours, brief=brief))
        self._update_part("engines", panels.engines(view, cells, brief=brief))
        self._update_part("sound", panels.sound(view, cells))
        self._update_part("lists", panels.lists(self._list_items, cells))
        self._parts["lists"].display = bool(self._list_items)
        self._draw_timers()
        self._update_part("keys", panels.keys(status, columns - (4 if rows >= AIRY_ROWS else 2)))
        self._transcript.show(tuple(view.entries))

    def _draw_timers(self) -> None:
        cells = self.size.width - 4 if self.size.width < WIDE_COLUMNS else panels.SIDE_CELLS - 4
        self._update_part("timers", panels.timers(self._shown_timers, self._now_s() - self._timers_s, cells))
        self._parts["timers"].display = bool(self._shown_timers)

    def _draw_levels(self, status: Status) -> None:
        cells = BAR_CELLS[self.size.width >= WIDE_COLUMNS]
        bars = []
        for name, dbfs in (("mic", status.input_dbfs), ("out", status.output_dbfs)):
            self._filled[name] = panels.level_cells(dbfs, self._filled[name], cells)
            bars.append(panels.level(name, self._filled[name], cells, dbfs=dbfs))
        self._update_part("levels", Content("\n").join(bars))

    def _update_part(self, name: str, content: Content) -> None:
        """Updates a part only if it changed, and its layout only if its size changed."""
        before = self._drawn.get(name)
        if before is not None and before.is_same(content):
            return
        self._drawn[name] = content
        sized = before is not None and len(before) == len(content) and name not in SIDE
        self._parts[name].update(content, layout=not sized)

    # Keys ----------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disables the printable keys where they are text."""
        return not (action in LETTER_ACTIONS and self._controls.status().typing)

    def on_key(self, event: Key) -> None:
        """Begins a text with a letter that came before the input line was open, if letters are text."""
        if self._controls.status().typing and event.is_printable and len(self.screen_stack) == 1:
            self._begin_text(event.character or "")

    def _begin_text(self, letter: str) -> None:
        if self._controls.status().typing or not self._line.disabled:
            self.action_type()
            self._line.insert_text_at_cursor(letter)
        elif letter in {"t", "/"}:  # the help was open, which this key has closed
            self.action_type()

    def _open_or_close_line(self, before: Status | None, status: Status) -> None:
        """Keeps the input line open without a microphone. When there is one, closes it unless a text was begun."""
        if self._loaded and status.typing and self._line.disabled:
            self.action_type()
        elif before is not None and before.typing and not status.typing and not self._line.value:
            self._close_line()

    def action_talk(self) -> None:
        """Starts or ends push-to-talk. Stops what rings."""
        status = self._controls.status()
        if any(timer.state == "ringing" for timer in self._shown_timers):
            self._controls.interrupt()
        if status.mode == "push-to-talk":
            self._key.press(self._now_s(), talking=status.talking)
            self._talk()

    def _talk(self) -> None:
        self._key.wait(self._now_s())
        if self._key.talking != self._controls.status().talking:
            self._controls.set_push_to_talk(self._key.talking)
        if (due_s := self._key.due_s()) is not None:
            self.set_timer(max(0.001, due_s - self._now_s()), self._talk)

    def action_mute(self) -> None:
        """Closes or opens the microphone."""
        self._controls.mute(self.view.status is None or not self.view.status.muted)

    def action_interrupt(self) -> None:
        """Stops the reply."""
        self._controls.interrupt()

    def action_leave(self) -> None:
        """Closes the input line; if it is not open, stops the reply."""
        if self._line.disabled or (self._controls.status().typing and not self._line.value):
            self._controls.interrupt()
        else:
            self._close_line()

    def action_repeat(self) -> None:
        """Speaks the last reply again."""
        self._controls.repeat()

    def action_type(self) -> None:
        """Opens the input line."""
        self._line.disabled, self._line.display = False, True
        self._line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Sends the line to the assistant; closes an empty one."""
        text = event.value.strip()
        self._close_line()
        if text.startswith("/"):
            self._execute(text)
        elif text:
            self.view.typed(text)
            self._transcript.look_at(end=True)
            self._controls.type(text)
            self._draw()

    def _close_line(self) -> None:
        self._line.clear()
        if self._controls.status().typing:
            return
        self._line.disabled, self._line.display = True, False
        self.set_focus(None)

    def _execute(self, command: str) -> None:
        """Executes a typed command."""
        actions: Mapping[str, Callable[[], None]] = {
            "/mute": self.action_mute,
            "/interrupt": self.action_interrupt,
            "/repeat": self.action_repeat,
            "/devices": self.action_devices,
            "/shade": self.action_shade,
            "/help": self.action_help,
        }
        if command == "/quit":
            self._controls.quit()
            self.exit()
        elif command in actions:
            actions[command]()
        else:
            self.show(Problem(f"there is no command {command}; /help lists the commands"))

    def action_devices(self) -> None:
        """Opens the list of devices."""
        self.push_screen(Devices(self._controls.devices()), self._use)

    def _use(self, choice: DeviceChoice | None) -> None:
        if choice is not None:
            self._controls.use(choice.direction, choice.name)

    def action_help(self) -> None:
        """Opens the help."""
        self.push_screen(Help(self._begin_text, typing=self._controls.status().typing))

    def action_help_key(self) -> None:
        """Opens the help with a key that is never text."""
        self.action_help()

    def action_shade(self) -> None:
        """Switches between light and dark, unless colours are off."""
        if self._shade != "none":
            self._shade = "light" if self._shade == "dark" else "dark"
            self.theme = THEMES[self._shade].name
            self._draw()

    def action_look(self, rows: int) -> None:
        """Scrolls back, or forward."""
        self._transcript.look(rows)

    def action_look_at(self, end: bool) -> None:
        """Scrolls to the end, or to the beginning."""
        self._transcript.look_at(end=end)

    async def action_quit(self) -> None:
        """Ends the conversation and closes the screen."""
        self._controls.quit()
        self.exit()

    async def action_quit_letter(self) -> None:
        """Ends the conversation with a letter."""
        await self.action_quit()

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()


def _without_levels(status: Status) -> Status:
    """Returns the status without its frequently changing fields."""
    return replace(status, input_dbfs=0.0, output_dbfs=0.0, played_ms=None)
