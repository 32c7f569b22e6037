"""Types of the effects of a server's events, the results of `web.remote.conversation.conversation`."""

from dataclasses import dataclass

from assistant.events import SessionEvent
from assistant.registry.engine_choice import EngineChoice
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.remote.conversation.commands import Detection


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """A session is open. The first effect of every connection.

    Attributes:
        resumed: Whether it resumes the conversation of the previous connection.
        heard_ms: Length of the audio that the server has received.
        detection: The server's default turn detection.
        engines: The engines of the server.
        markup: Whether the server can send replies as the language model wrote them.
        rooms: Whether the server knows rooms, and decides which of several satellites answers.
    """

    resumed: bool
    heard_ms: float
    detection: Detection
    engines: tuple[EngineChoice, ...]
    markup: bool = True
    rooms: bool = False


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """The end of the user's speech, as a length of the audio that was sent."""

    sent_ms: float


@dataclass(frozen=True, slots=True)
class Sound:
    """The next audio of a reply: int16 (n,) at 24 kHz."""

    reply_id: ReplyId
    pcm: Pcm


@dataclass(frozen=True, slots=True)
class SoundEnded:
    """All audio of a reply has arrived."""

    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class StopPlayback:
    """Stop playback."""


@dataclass(frozen=True, slots=True)
class Ducking:
    """Duck the reply because the user may be interrupting, or restore its volume."""

    lower: bool


@dataclass(frozen=True, slots=True)
class ListeningSoundReceived:
    """Play a listening sound, int16 (n,) at 24 kHz. It belongs to no reply."""

    pcm: Pcm


@dataclass(frozen=True, slots=True)
class ListeningSoundStopped:
    """Stop the listening sound, because the user goes on."""


@dataclass(frozen=True, slots=True)
class WakeWordYielded:
    """Sleep again, because a satellite in `room` has heard the wake word better."""

    room: str


Effect = (
    SessionOpened | SpeechEnded | Sound | SoundEnded | StopPlayback | Ducking | ListeningSoundReceived
    | ListeningSoundStopped | WakeWordYielded | SessionEvent
)  # fmt: skip
