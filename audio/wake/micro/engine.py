"""Declares the wake words of microWakeWord. Imports nothing heavy: its declaration is read before its library."""

from collections.abc import Sequence
from types import MappingProxyType

from audio.engines.wake import WakeWordEngine
from audio.wake import WakeWordDetector


def make(words: Sequence[str]) -> WakeWordDetector:
    """Returns a detector of these words. Raises EngineLoadError."""
    from audio.wake.micro.detector import MicroWakeWords  # noqa: PLC0415 - on use: it loads a library of 5 MB

    return MicroWakeWords(words)


ENGINE = WakeWordEngine(
    name="microwakeword",
    words=MappingProxyType(
        {"okay_nabu": "okay nabu", "hey_jarvis": "hey jarvis", "hey_mycroft": "hey mycroft", "alexa": "alexa"}
    ),
    make=make,
    about="0.6 % of a core",
    packages=MappingProxyType({"pymicro-wakeword": "pymicro_wakeword"}),
    extra="wake",
)
