"""Declares the detector webrtc. Imports nothing heavy: its declaration is read at every start."""

from types import MappingProxyType

from audio.engines.vad import VadEngine
from audio.vad import Vad


def make() -> Vad:
    """Returns a detector. Raises EngineLoadError."""
    from audio.vad.webrtc.detector import WebrtcVad  # noqa: PLC0415 - on use: it imports numpy

    return WebrtcVad()


ENGINE = VadEngine(
    name="webrtc",
    make=make,
    about="cheap, needs no model, less accurate in noise",
    is_spare=True,
    packages=MappingProxyType({"webrtcvad-wheels": "webrtcvad"}),
)
