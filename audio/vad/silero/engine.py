"""Declares the detector silero. Imports nothing heavy: its declaration is read at every start."""

from types import MappingProxyType

from audio.engines.vad import VadEngine
from audio.vad import Vad


def make() -> Vad:
    """Returns a detector. Raises EngineLoadError."""
    from audio.vad.silero.detector import SileroVad  # noqa: PLC0415 - on use: it imports numpy

    return SileroVad()


ENGINE = VadEngine(
    name="silero",
    make=make,
    about="a neural network, accurate in noise",
    is_default=True,
    has_threshold=True,
    packages=MappingProxyType({"faster-whisper": "faster_whisper"}),  # its wheel has the network
)
