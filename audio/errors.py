"""What can go wrong with sound.

AudioError
├── AudioFileError      a recording that cannot be read or written
├── DeviceError         a microphone or a speaker that cannot be opened or has gone
├── EchoUnavailable     echo cancellation without the extra it needs
├── EngineLoadError     an engine that cannot be loaded: names what is missing and the remedy
└── EngineError         an engine that failed while it worked
    ├── SttError
    ├── TtsError
    └── VadError
"""


class AudioError(Exception):
    """Root of this package's errors. The text is for the user: what, where, and what to do next."""


class AudioFileError(AudioError):
    """A recording that cannot be read or written."""


class DeviceError(AudioError):
    """A microphone or a speaker that cannot be opened or has gone."""


class EchoUnavailable(AudioError):  # noqa: N818 - says what is the case, and another way is taken
    """Echo cancellation cannot be had; the text names what is missing and the remedy."""


class EngineLoadError(AudioError):
    """An engine that cannot be loaded; the text names what is missing and the remedy."""


class EngineError(AudioError):
    """An engine that failed while it worked."""


class SttError(EngineError):
    """Speech to text failed: the segment's words are lost."""


class TtsError(EngineError):
    """Text to speech failed inside a unit."""


class VadError(EngineError):
    """Voice activity detection failed."""
