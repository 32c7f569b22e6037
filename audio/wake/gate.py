"""Decides whether a conversation is awake: whether frames go to VAD and recognizer, or only to the wake-word detector.

    state    event                                   next state
    asleep   wake word                               awake, for `after_word`
    asleep   frame while the conversation is busy    awake: a timer rings, or typed text is answered
    awake    wake word                               awake, for `after_word`
    awake    frame while a reply is active           awake, for `after_reply`
    awake    frame while the user speaks             awake
    awake    frame after the window, nothing to do   asleep
    awake    another satellite answers               asleep

No I/O, no clock: positions are on the sample clock.
"""

from dataclasses import dataclass
from enum import Enum, auto

from audio.units import Samples


class Attention(Enum):
    """Whether a conversation is awake."""

    ASLEEP = auto()
    AWAKE = auto()


class Activity(Enum):
    """The activity in a conversation while a frame is processed."""

    NONE = auto()
    SPEECH = auto()
    """The user speaks, or the words are awaited."""
    REPLY = auto()


@dataclass(slots=True)
class WakeWordGate:
    """The attention of one conversation; it begins asleep.

    Attributes:
        after_word: How long after the wake word speech may begin.
        after_reply: How long after a reply speech may begin without the wake word.
        attention: The state.
    """

    after_word: Samples
    after_reply: Samples
    attention: Attention = Attention.ASLEEP
    _until: Samples = Samples(0)  # the conversation stays awake up to here, even if nothing goes on

    @property
    def awake(self) -> bool:
        """Whether frames go to VAD and recognizer."""
        return self.attention is Attention.AWAKE

    def wake(self, end: Samples) -> None:
        """Notes that the wake word was said, up to `end`."""
        self.attention = Attention.AWAKE
        self._until = max(self._until, Samples(end + self.after_word))

    def sleep(self) -> None:
        """Notes that another satellite answers."""
        self.attention, self._until = Attention.ASLEEP, Samples(0)

    def add_frame(self, end: Samples, activity: Activity) -> None:
        """Notes what goes on while the frame up to `end` is processed."""
        match self.attention, activity:
            case _, Activity.REPLY:
                self.attention, self._until = Attention.AWAKE, max(self._until, Samples(end + self.after_reply))
            case _, Activity.SPEECH:
                self.attention = Attention.AWAKE
            case Attention.AWAKE, Activity.NONE if end > self._until:
                self.attention = Attention.ASLEEP
            case _:
                pass
