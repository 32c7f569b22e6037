"""What a server's events want done at this end, besides being shown: the vocabulary of `web.remote.conversation`."""

from dataclasses import dataclass

from assistant.events import SessionEvent
from assistant.pipeline.engines import EngineChoice
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.remote.commands import Detection


@dataclass(frozen=True, slots=True)
class Greeted:
    """A session is open: the first thing on every connection.

    Attributes:
        resumed: It goes on with the conversation of the connection before.
        heard_ms: How much sound of ours the server has had.
        detection: How it finds turns, unless it is told otherwise.
        engines: What works there.
    """

    resumed: bool
    heard_ms: float
    detection: Detection
    engines: tuple[EngineChoice, ...]


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """Where the person's speech ended, as a length of the sound that was sent."""

    sent_ms: float


@dataclass(frozen=True, slots=True)
class Sound:
    """The next sound of a reply: int16 (n,) at 24 kHz."""

    reply: ReplyId
    pcm: Pcm


@dataclass(frozen=True, slots=True)
class SoundEnded:
    """All sound of a reply has come."""

    reply: ReplyId


@dataclass(frozen=True, slots=True)
class Hush:
    """What is played now is not to be heard any more."""


@dataclass(frozen=True, slots=True)
class Loudness:
    """Lower what is played, somebody may be interrupting; or let it swell up again."""

    lower: bool


Effect = Greeted | SpeechEnded | Sound | SoundEnded | Hush | Loudness | SessionEvent
