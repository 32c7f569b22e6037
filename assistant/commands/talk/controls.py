"""Interface between a user interface and a running conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from assistant.events import Floor
from audio.devices import Direction

NOT_YET = "not open yet"
"""Text for a device while the conversation starts."""

Mode = Literal["open", "push-to-talk", "wake"]
"""Condition on which speech is answered: always, while the key is held, or after the wake phrase."""


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """A microphone or loudspeaker that can be selected.

    Attributes:
        direction: Input or output; a device that is both is listed twice.
        name: Argument of `Controls.use`.
        in_use: Whether the conversation uses it now.
    """

    direction: Direction
    name: str
    in_use: bool


@dataclass(frozen=True, slots=True)
class Status:
    """Current state of the conversation.

    Attributes:
        floor: State in one word.
        input_dbfs: Level of the microphone over the last 100 ms; -inf if it is silent or closed.
        output_dbfs: Level of the loudspeaker, likewise.
        input: The microphone in one line: name, rate, block and latency; or why there is none.
        output: The loudspeaker, likewise.
        echo: The echo control, in one line.
        mode: When speech is answered.
        wake_phrase: The wake phrase; "" in the other modes.
        endpoint: What answers, in one line.
        muted: Whether the user closed the microphone.
        talking: Push-to-talk: whether speech is currently recorded.
        troubles: Counts by name since the start, such as overflows of the microphone; only those above 0 are shown.
        played_ms: Played part of the current reply in ms; None without a reply.
        typing: Whether letters are text, not key commands: there is no microphone, or it is not known yet.
    """

    floor: Floor
    input_dbfs: float
    output_dbfs: float
    input: str
    output: str
    echo: str
    mode: Mode
    wake_phrase: str
    endpoint: str
    muted: bool
    talking: bool
    troubles: Mapping[str, int]
    played_ms: float | None
    typing: bool = False


class Controls(Protocol):
    """Actions of the user on a conversation.

    All methods are synchronous, run on the event loop and return at once. Longer actions are only started; events and
    `status` report their results. Nothing raises: failures are reported as `Problem`.
    """

    def interrupt(self) -> None:
        """Stops the current reply, if any."""
        ...

    def repeat(self) -> None:
        """Speaks the last reply again."""
        ...

    def type(self, text: str) -> None:
        """Sends a typed text to the assistant; not empty."""
        ...

    def mute(self, on: bool) -> None:
        """Closes the microphone device, or opens it again."""
        ...

    def set_push_to_talk(self, pressed: bool) -> None:
        """Push-to-talk: starts or ends recording. No effect in the other modes."""
        ...

    def devices(self) -> Sequence[DeviceChoice]:
        """Returns the selectable devices, as last listed."""
        ...

    def use(self, direction: Direction, name: str) -> None:
        """Switches to another microphone or loudspeaker, by the name of a choice; "" is the system's default."""
        ...

    def status(self) -> Status:
        """Returns the current state; called about ten times a second."""
        ...

    def quit(self) -> None:
        """Ends the conversation. The screen closes by itself."""
        ...
