"""Dialogs of the screen of `repartee talk`: devices and help."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.commands.talk.controls import DeviceChoice
from assistant.commands.talk.text import printable
from audio.devices import Direction

_TITLES: dict[Direction, str] = {"input": "microphone", "output": "loudspeaker"}
_NAME_CHARS = 120

HELP = (
    ("space", "push-to-talk: begin to speak; again when you are done (terminals do not report key releases)"),
    ("m", "close the microphone device; again to open it"),
    ("escape, i", "interrupt the reply"),
    ("r", "repeat the last reply"),
    ("t, /", "type instead of speaking; enter sends, escape cancels"),
    ("d", "choose the microphone and the loudspeaker"),
    ("up, down, page up, page down, home, end", "scroll; end follows the conversation again"),
    ("l", "switch between light and dark"),
    ("?, f1", "this list; any letter closes it"),
    ("q, ctrl+c", "quit"),
)

COMMANDS = (
    ("/mute", "close the microphone device; again to open it, also one that you connect now"),
    ("/interrupt", "interrupt the reply, as escape does"),
    ("/repeat", "repeat the last reply"),
    ("/devices", "choose the microphone and the loudspeaker"),
    ("/shade", "switch between light and dark"),
    ("/help", "this list, as f1"),
    ("/quit", "quit, as ctrl+c"),
)
"""Commands of the input line, with their effects. All other text is sent to the assistant."""

TYPING_HELP = (
    ("letters, enter", "type; enter sends"),
    ("escape", "empty the input line; if it is empty, interrupt the reply"),
    ("up, down, page up, page down", "scroll"),
)


class Dialog(ModalScreen[DeviceChoice | None]):
    """A window over the screen; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "close")]


class Devices(Dialog):
    """Lists the devices of both directions; returns the selected one."""

    BINDINGS: ClassVar[list[BindingType]] = [("d", "dismiss", "close")]

    def __init__(self, choices: Sequence[DeviceChoice]) -> None:
        """Offers these devices, and the system's default for each direction."""
        super().__init__()
        self._offered: list[DeviceChoice | None] = []
        for direction in _TITLES:
            self._offered.append(None)
            self._offered.append(DeviceChoice(direction, "", in_use=False))
            self._offered += [choice for choice in choices if choice.direction == direction and choice.name]

    def compose(self) -> ComposeResult:
        """Builds the list under its titles."""
        options, titles = [], iter(_TITLES.values())
        for choice in self._offered:
            if choice is None:
                options.append(Option(Content.styled(next(titles), "$soft"), disabled=True))
            else:
                name = printable(choice.name, _NAME_CHARS) or "the system's default"
                options.append(Option(Content(f"{'●' if choice.in_use else ' '} {name}{_in_use(choice)}")))
        with Vertical() as window:
            window.border_title = "devices: enter switches, escape closes"
            yield OptionList(*options, markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Returns the selected device."""
        self.dismiss(self._offered[event.option_index])


def _in_use(choice: DeviceChoice) -> str:
    return "  (in use)" if choice.in_use else ""


class Help(Dialog):
    """Explains the keys in full sentences. A letter closes it and is then passed to `on_letter`."""

    BINDINGS: ClassVar[list[BindingType]] = [("f1", "dismiss", "close")]

    def __init__(self, on_letter: Callable[[str], object], *, typing: bool) -> None:
        """Explains the keys; `typing`: those of a machine without a microphone."""
        super().__init__()
        self._on_letter = on_letter
        self._lines = (*TYPING_HELP, *COMMANDS) if typing else (*HELP, *COMMANDS)

    def on_key(self, event: Key) -> None:
        """Closes the help, so that it does not swallow what is typed."""
        if event.is_printable and event.character is not None:
            event.stop()
            event.prevent_default()
            if self.is_current:  # a fast second letter still arrives here
                self.dismiss(None)
            self._on_letter(event.character)

    def compose(self) -> ComposeResult:
        """Builds the list of keys."""
        lines = [Content.assemble((f"{key}\n", "bold $reply"), f"    {what}") for key, what in self._lines]
        with Vertical() as window:
            window.border_title = "keys: escape closes"
            with VerticalScroll():
                yield Static(Content("\n").join(lines))
