"""Declares the detector cascade. Imports nothing heavy: its declaration is read at every start."""

from types import MappingProxyType

from audio.engines.vad import VadEngine
from audio.vad import Vad


def make() -> Vad:
    """Returns a detector. Raises EngineLoadError."""
    from audio.vad.cascade.detector import CascadeVad  # noqa: PLC0415 - on use: it imports numpy

    return CascadeVad()


ENGINE = VadEngine(
    name="cascade",
    make=make,
    about="runs the network only while a cheap detector detects sound",
    has_threshold=True,
    packages=MappingProxyType({"webrtcvad-wheels": "webrtcvad", "faster-whisper": "faster_whisper"}),
)
