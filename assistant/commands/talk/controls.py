"""What the person at the screen can do, and what the screen asks while a conversation runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from audio.devices import Direction

Floor = Literal["starting", "listening", "hearing", "thinking", "speaking", "muted", "asleep"]
"""Who has the floor, in one word. asleep: the wake phrase is awaited."""

NOT_YET = "not open yet"
"""What stands for a device while the conversation starts."""

Mode = Literal["open", "push-to-talk", "wake"]
"""When the microphone's words count: always, between two presses of a key, after the wake phrase."""


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """A microphone or loudspeaker that can be switched to.

    Attributes:
        direction: Which of the two it is here; a device that is both is listed twice.
        name: What `Controls.use` takes.
        in_use: The conversation uses it now.
    """

    direction: Direction
    name: str
    in_use: bool


@dataclass(frozen=True, slots=True)
class Status:
    """How things stand at this moment.

    Attributes:
        floor: Who has it.
        input_dbfs: The microphone's level over the last 100 ms, -inf if it is silent or closed.
        output_dbfs: The loudspeaker's, likewise.
        input: The microphone in one line: its name, rate, block and latency; or why there is none.
        output: The loudspeaker, likewise.
        echo: What keeps the reply out of the microphone, in one line.
        mode: When words count.
        wake_phrase: What wakes the assistant; "" in the other modes.
        endpoint: Who answers, in one line.
        muted: The microphone is closed by hand.
        talking: Push-to-talk: what is said now counts.
        troubles: Counts by name since the beginning, such as overflows of the microphone; only those above 0 are shown.
        played_ms: How much was heard of the reply under way, in ms from its first sample; None while none is.
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


class Controls(Protocol):
    """A conversation, as far as the person at the screen can reach into it.

    Everything is synchronous, is called on the event loop and returns at once; what takes time is begun, and told by
    facts (a `Problem` where it fails) and by `status`. Nothing raises: a wish that cannot be met is a `Problem`.
    """

    def interrupt(self) -> None:
        """Stop the reply under way. Nothing happens where none is."""
        ...

    def repeat(self) -> None:
        """Say the last reply again."""
        ...

    def type(self, text: str) -> None:
        """Say this to the assistant; not empty."""
        ...

    def mute(self, on: bool) -> None:
        """Close the microphone, really, or open it again."""
        ...

    def talk(self, on: bool) -> None:
        """Push-to-talk: here begins, or ends, what is said. Nothing happens in the other modes."""
        ...

    def devices(self) -> Sequence[DeviceChoice]:
        """What can be switched to, as last listed."""
        ...

    def use(self, direction: Direction, name: str) -> None:
        """Switch to another microphone or loudspeaker, by the name of a choice; "" is the system's default."""
        ...

    def status(self) -> Status:
        """How things stand; asked about ten times a second."""
        ...

    def quit(self) -> None:
        """End the conversation. The screen leaves by itself."""
        ...
