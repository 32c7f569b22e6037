"""Exceptions of the audio package.

AudioError
├── AudioFileError      a recording that cannot be read or written
├── DeviceError         a microphone or a speaker that cannot be opened or has gone
│   └── SoundSystemHungError    the sound system does not answer in time
├── EchoUnavailable     echo cancellation without the extra it needs
├── EngineLoadError     an engine that cannot be loaded: names what is missing and the remedy
└── EngineError         an engine that failed while it worked
    ├── ReplicaLostError    a replica on a cluster that ended with a request: another one can repeat it
    ├── SttError
    │   └── LateError       one transcript took too long; the engine works
    │       └── BusyError   it would take too long, because others come first
    ├── TtsError
    └── VadError
"""


class AudioError(Exception):
    """Base class of this package's errors. The text is for the user: what, where, and what to do next."""


class AudioFileError(AudioError):
    """A recording that cannot be read or written."""


class DeviceError(AudioError):
    """A microphone or a speaker that cannot be opened or has gone."""


class SoundSystemHungError(DeviceError):
    """The sound system does not answer in time: nothing is known of the device."""


class EchoUnavailable(AudioError):  # noqa: N818 - a condition, to which the caller has an alternative
    """Echo cancellation is not available; the text names what is missing and the remedy."""


class EngineLoadError(AudioError):
    """An engine that cannot be loaded; the text names what is missing and the remedy."""


class EngineError(AudioError):
    """An engine that failed while running."""


class ReplicaLostError(EngineError):
    """A replica on a cluster ended while it worked on a request; another one can repeat it."""


class SttError(EngineError):
    """Speech to text failed: the transcript of the segment is lost."""


class LateError(SttError):
    """One transcript took too long and is lost. The engine works and must not be loaded again."""


class BusyError(LateError):
    """So many conversations wait for a transcript that this one would come too late; nothing is lost but it."""

    def __init__(self, ahead: int, wait_s: float) -> None:
        """`ahead`: how many conversations come first; `wait_s`: how long they take, in seconds."""
        super().__init__(f"{ahead} other conversations come first, which takes about {wait_s:.0f} s")
        self.ahead = ahead
        self.wait_s = wait_s


class TtsError(EngineError):
    """Text to speech failed within a text."""


class VadError(EngineError):
    """Voice activity detection failed."""
