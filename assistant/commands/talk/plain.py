"""Implements `repartee talk --plain`: a conversation as lines, for pipes and screen readers."""

import asyncio
import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from assistant.commands.demo_screen import summary
from assistant.commands.talk.blocks import ReadableText, ReplyBlocks
from assistant.commands.talk.controls import NOT_YET, Controls, Status
from assistant.commands.talk.pipe import LineWriter, lines_of, standard_input
from assistant.commands.talk.resumed import Resumed
from assistant.commands.talk.text import printable
from assistant.events import (
    ChunkSpoken,
    LanguageChanged,
    ListsChanged,
    MarkupWritten,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    TimersChanged,
    TurnFinished,
    UserTurnCommitted,
)
from assistant.history.items import UserMessage
from assistant.history.shown_speakers import ShownSpeakers
from assistant.models.language_names import NAMES
from assistant.skills.lists.items import ListItem, titled_lists
from assistant.skills.ringing.shown_timers import ShownTimer
from assistant.support.console import write_error
from assistant.trace.record import TurnRecord
from assistant.trace.waterfall import SHORT_NAMES, segments, verdict_on
from audio.noisy_libraries import hushed
from audio.portaudio.owner import library_in_use

if TYPE_CHECKING:
    from assistant.registry.engine_choice import EngineChoice

START_S = 5.0
"""Seconds. If the start fails sooner, only the error is printed; if it takes longer, its progress is printed."""

WATCH_S = 0.5
"""Seconds between checks for changes to print: a changed device, a closed microphone."""

IDLE_S = 1.5
"""Seconds without a reply, after the end of the input and without a microphone, after which the conversation ends."""
_IDLE_CHECK_S = 0.1

COMMANDS = (
    "/mute            close the microphone device; again to open it",
    "/talk            push-to-talk: begin to speak; again when you are done",
    "/interrupt       stop the reply",
    "/repeat          repeat the last reply",
    "/lists           show your lists and notes",
    "/devices         list the microphones and loudspeakers",
    "/use input NAME  switch the microphone; /use output NAME the loudspeaker; without a name, the system's default",
    "/help            list these commands",
    "/quit            end the conversation",
    "anything else is said to the assistant",
)

_SUMMARY_COLUMNS = 200


def screen_problem(environ: Mapping[str, str], *, keys: bool, terminal: bool, encoding: str) -> str:
    """Returns why the screen cannot be used and lines are printed, in one sentence; "" if it can.

    Args:
        environ: Environment variables, with TERM.
        keys: Whether the input is a terminal.
        terminal: Whether the output and standard error are terminals.
        encoding: Encoding of the output.
    """
    if not terminal:
        return "the output or standard error is not a terminal: lines are printed, as with --plain"
    if not keys:
        return "the input is not a terminal, so keys have no effect: lines are printed, as with --plain"
    if environ.get("TERM") in {"dumb", "unknown"}:
        return f"TERM={environ['TERM']} has no cursor to move: lines are printed, as with --plain"
    if not encoding.lower().startswith(("utf", "cp65001")):
        return f"the terminal's encoding is {encoding}, but the screen needs UTF-8: lines are printed, as with --plain"
    return ""


class TalkPlain:
    """A conversation as lines. Implements `Stage`.

    Created on the event loop; runs concurrently with the conversation, as the screen does.
    """

    def __init__(
        self,
        controls: Controls,
        *,
        clock: Callable[[], str],
        out: TextIO | None = None,
        typed: TextIO | None = None,
        ends_with_input: bool | None = None,
        note: str = "",
        start_s: float = START_S,
    ) -> None:
        """Prints to `out` and reads typed lines from `typed`; by default the standard streams.

        Args:
            controls: Executes the commands.
            clock: Returns the time of day as text.
            out: Output stream.
            typed: Input stream.
            ends_with_input: Whether the end of the input ends the conversation at once. By default only for a terminal,
                where the user pressed ctrl+d; the end of a pipe or /dev/null only means that nothing more is typed,
                which ends the conversation only without a microphone.
            note: Written to standard error before the first line.
            start_s: Seconds for which lines are held back during the start.
        """
        self.records: list[TurnRecord] = []
        self._controls = controls
        self._clock = clock
        self._typed = typed if typed is not None else standard_input()
        self._ends = ends_with_input if ends_with_input is not None else bool(self._typed and self._typed.isatty())
        self._note = note
        self._start_s = start_s
        self._blocks, self._spoken = ReplyBlocks(), True  # code and tables of the reply; whether it is spoken
        self._readable, self._unprinted = ReadableText(), ""  # of a reply that is not spoken
        self._held_back: list[str] | None = []  # lines of the start; None once they are written
        self._began = False
        self._over = asyncio.Event()
        self._ringing: set[int] = set()
        self._list_items: tuple[ListItem, ...] = ()
        self._has_turn = False
        self._out = LineWriter(out if out is not None else sys.stdout, self._over.set)
        self._chosen: tuple[EngineChoice, ...] = ()
        self._status: Status | None = None
        self._speakers = ShownSpeakers()

    # Events --------------------------------------------------------------------------------------------------

    def show(self, event: SessionEvent) -> None:  # noqa: C901, PLR0912 - one case for each kind of event
        """Prints one event of the conversation; interim words are not printed."""
        if not isinstance(event, Problem):
            self._begin()
        if isinstance(event, ReplyStarted | ReplySent | ReplyStopped):
            self._finish_text()
        self._has_turn = self._has_turn or isinstance(event, UserTurnCommitted)
        match event:
            case UserTurnCommitted() if event.text and not _is_printed(event):
                who = self._speakers.shown(event.speaker) or "you"
                self._print(who, f"{event.text} (roughly)" if event.low_confidence else event.text)
            case ReplyStarted():
                self._blocks, self._spoken = ReplyBlocks(), event.spoken
            case MarkupWritten():
                self._blocks.add_text(event.text)
            case ReplySent():
                self._print_blocks()
            case ChunkSpoken():
                self._print_chunk(event.text)
            case ReplyStopped() if event.reason == "unheard":
                self._print("repartee", f'(heard: "{event.heard}")' if event.heard else "(not heard)")
            case ReplyStopped() if event.heard_ms > 0:
                self._print("repartee", "(interrupted)")
            case TurnFinished():
                self._finished(event.record)
            case LanguageChanged():
                self._print("language", f"{NAMES.get(event.language, event.language)}, spoken by {event.voice}")
            case TimersChanged():
                self._show_rings(event.timers)
            case ListsChanged():
                self._note_lists(event.items)
            case Problem():
                self._print(f"problem {self._clock()}", event.text)

    def engines(self, chosen: Sequence["EngineChoice"]) -> None:
        """Prints the engines loaded so far, each once."""
        for engine in chosen[len(self._chosen) :]:
            why = f" (fallback: {engine.why})" if engine.fallback else ""
            self._print(engine.stage, f"{engine.name}, {engine.detail}{why}")
        self._chosen = tuple(chosen)

    def measuring(self, what: str) -> None:
        """Prints what is measured during the start."""
        self._print("measuring", what)

    def resumed(self, past: Resumed) -> None:
        """Prints the last words of the resumed conversation."""
        self._print("resumed", past.heading)
        for who, text in past.last:
            self._print(f"{who} (earlier)", text)

    def ready(self) -> None:
        """Reports that everything is loaded."""
        self._begin()
        self._print("ready", "speak, or type; /help lists the commands")

    def hushed(self) -> AbstractContextManager[object]:
        """See `Stage`."""
        return hushed(library_in_use)  # also into a pipe, which may lead to a screen

    async def run(self) -> None:
        """Runs until the user quits or `close` is called. In both cases the controls have quit."""
        loop = asyncio.get_running_loop()
        held_until_s = loop.time() + self._start_s
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(self._read(), name="typed lines")
            while not self._over.is_set():
                self._print_changes(self._controls.status())
                if loop.time() >= held_until_s:
                    self._release()
                try:
                    async with asyncio.timeout(WATCH_S):
                        await self._over.wait()
                except TimeoutError:
                    continue
            reading.cancel()
        self._controls.quit()

    def close(self) -> None:
        """Ends the display, because the conversation is over."""
        self._over.set()

    async def aclose(self) -> None:
        """Prints the latencies and engines at the end; nothing if the conversation never began."""
        written = io.StringIO()
        console = Console(file=written, width=_SUMMARY_COLUMNS, no_color=True, highlight=False, force_terminal=False)
        if self._chosen and self._began:
            summary(console, self.records, self._chosen, verbose=False)
        for line in written.getvalue().splitlines():
            self._write(_columns(line))
        if self._out.left_out:
            self._print("left out", f"{self._out.left_out} lines that were not read in time")
        await self._out.aclose()

    def _begin(self) -> None:
        self._began = True
        self._release()

    def _release(self) -> None:
        """Writes the lines held back, and all later lines at once."""
        if self._held_back is None:
            return
        held, self._held_back = self._held_back, None
        if self._note:
            write_error(self._note)
        for line in held:
            self._out.write(line)

    def _print_chunk(self, text: str) -> None:
        """Prints a chunk of the reply. Of a reply that is not spoken, prints each paragraph when it is complete."""
        if self._spoken:
            self._print("repartee", text)
            return
        self._blocks.add_text(text)
        self._unprinted += self._readable.add_text(text)
        *complete, self._unprinted = self._unprinted.split("\n\n")
        self._print_paragraphs(complete)

    def _finish_text(self) -> None:
        """Prints the rest of a reply that is not spoken."""
        rest, self._unprinted = self._unprinted + self._readable.finish(), ""
        self._print_paragraphs(rest.split("\n\n"))

    def _print_paragraphs(self, paragraphs: Sequence[str]) -> None:
        for paragraph in paragraphs:
            if paragraph.strip():
                self._print("repartee", paragraph)

    def _print_blocks(self) -> None:
        """Prints the code and the tables of the reply."""
        for block in self._blocks.blocks(links=not self._spoken):
            self._write(f"{block.title}:")
            for line in block.lines:
                self._write(f"    {line}")
        self._blocks = ReplyBlocks()

    def _print(self, label: str, text: str) -> None:
        self._write(f"{label}: {printable(text)}")

    def _write(self, line: str) -> None:
        if self._held_back is None:
            self._out.write(line)
        else:
            self._held_back.append(line)

    def _finished(self, record: TurnRecord) -> None:
        self.records.append(record)
        if record.response_latency_ms is None:
            if record.outcome in {"failed", "stuck"}:
                self._print("latency", f"turn {record.turn} {record.outcome}: no reply was heard")
            return
        parts = [f"{SHORT_NAMES[part.stage]} {part.ms:.0f}" for part in segments(record, 1) if part.ms >= 0.5]
        latency_ms = record.response_latency_ms
        self._print("latency", f"{latency_ms:.0f} ms, {verdict_on(record)}: {', '.join(parts)}")

    def _print_changes(self, status: Status) -> None:
        before, self._status = self._status, status
        if status.floor != "starting":
            self._begin()
        if before is None or (before.input, before.muted) != (status.input, status.muted):
            self._device("microphone", "closed; /mute opens it" if status.muted else status.input)
        if before is None or before.output != status.output:
            self._device("loudspeaker", status.output)
        if before is None or before.echo != status.echo:
            self._device("echo", status.echo)
        waking = status.wake_phrase and status.floor != "starting"
        if waking and (before is None or (before.floor == "asleep") != (status.floor == "asleep")):
            self._print("wake", f'say "{status.wake_phrase}"' if status.floor == "asleep" else "speak")

    def _device(self, label: str, line: str) -> None:
        """Prints a device. One that is not open yet is skipped: it opens soon, or a problem is reported."""
        if line != NOT_YET:
            self._print(label, line)

    # Commands ------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        if self._typed is not None:
            async with aclosing(lines_of(self._typed)) as lines:
                async for line in lines:
                    if line:
                        self._execute(line)
                    elif self._ringing:
                        self._controls.interrupt()
        if not self._ends:
            await self._wait_without_microphone()
        self._over.set()

    async def _wait_without_microphone(self) -> None:
        """Waits until nothing more can come: there is no microphone, and all that was typed is answered."""
        idle_since_s, loop = None, asyncio.get_running_loop()
        while idle_since_s is None or loop.time() < idle_since_s + IDLE_S:
            await asyncio.sleep(_IDLE_CHECK_S)
            is_idle = self._controls.status().floor == "typing"
            idle_since_s = (idle_since_s or loop.time()) if is_idle else None

    def _execute(self, line: str) -> None:  # noqa: C901, PLR0912 - one case for each command
        self._release()
        if not line.startswith("/"):
            self._print("you (typed)", line)
            self._controls.type(line)
            return
        command, _, rest = line.partition(" ")
        match command:
            case "/mute":
                self._controls.mute(not self._controls.status().muted)
            case "/talk":
                self._talk()
            case "/interrupt":
                self._controls.interrupt()
            case "/repeat":
                self._controls.repeat()
            case "/lists":
                self._print_all_lists()
            case "/devices":
                for choice in self._controls.devices():
                    self._print(choice.direction, f"{choice.name}{' (in use)' if choice.in_use else ''}")
            case "/use":
                self._use(*rest.strip().partition(" ")[::2])
            case "/help":
                for text in COMMANDS:
                    self._write(text)
            case "/quit":
                self._over.set()
            case _:
                self._print("unknown", f"there is no command {command}; /help lists the commands")

    def _show_rings(self, timers: Sequence[ShownTimer]) -> None:
        """Prints how to stop what has begun to ring."""
        ringing = {timer.number for timer in timers if timer.state == "ringing"}
        if ringing - self._ringing:
            self._print("ring", "press Enter to stop it")
        self._ringing = ringing

    def _note_lists(self, items: tuple[ListItem, ...]) -> None:
        """Prints the lists that have changed. Those of before the first turn are reported, but have not changed."""
        before, self._list_items = self._list_items, items
        if self._has_turn:
            names = {item.list_name for item in set(before) ^ set(items)}
            self._print_lists([item for item in items if item.list_name in names])

    def _print_all_lists(self) -> None:
        self._print_lists(self._list_items)
        if not self._list_items:
            self._print("list", "there are no lists and no notes")

    def _print_lists(self, items: Sequence[ListItem]) -> None:
        for title, of_list in titled_lists(items):
            self._print("list", f"{title}: {', '.join(item.text for item in of_list)}")

    def _talk(self) -> None:
        status = self._controls.status()
        if status.mode != "push-to-talk":
            self._print("talk", f'the mode is {status.mode}, but /talk needs talk.mode = "push-to-talk"')
            return
        self._controls.set_push_to_talk(not status.talking)

    def _use(self, direction: str, name: str) -> None:
        match direction:
            case "input" | "output":
                self._controls.use(direction, name.strip())
            case _:
                self._print("use", f"write /use input NAME or /use output NAME, not {direction or '/use alone'}")


def _is_printed(event: UserTurnCommitted) -> bool:
    """Returns whether the text was printed before: it was typed, or belongs to an earlier turn.

    Not for speech during a lost connection.
    """
    return event.origin == "requested" and not (isinstance(event.item, UserMessage) and event.item.spoken)


def _columns(line: str) -> str:
    """Makes a table row safe for a terminal and keeps the blanks between its columns."""
    parts = re.split("( {2,})", line.rstrip())
    return "".join(part if part.isspace() else printable(part) for part in parts)
