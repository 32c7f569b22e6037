"""Decodes the audio that a client appends to its input buffer."""

import numpy as np

from audio.formats import g711
from audio.units import Pcm
from web.wire.incoming.commands import Append
from web.wire.values.session_config import AudioFormat


def length_s(command: Append) -> float:
    """Returns the length of the audio in seconds."""
    return len(command.audio) / command.format.sample_bytes / command.format.rate_hz


def decoded(audio: bytes, wire_format: AudioFormat) -> Pcm:
    """Returns whole samples on the wire as int16 (n,), at the rate of their format."""
    match wire_format:
        case AudioFormat.PCM:
            return np.frombuffer(audio, np.dtype("<i2")).astype(np.int16, copy=False)
        case AudioFormat.ULAW:
            return g711.decode_ulaw(audio)
        case AudioFormat.ALAW:
            return g711.decode_alaw(audio)
