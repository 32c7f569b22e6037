"""Units of audio and the conversions between them.

Every position in a conversation is a count of microphone samples at 16 kHz (`Samples`): the microphone's sample
counter is the clock. Replies are synthesized at 24 kHz, the rate of the wire, and counted in `ReplySamples`.
"""

from typing import NewType

import numpy as np
import numpy.typing as npt

Pcm = npt.NDArray[np.int16]
"""Mono PCM16, shape (n,)."""

Samples = NewType("Samples", int)
"""A position or a length in the microphone audio, in samples at MIC_RATE_HZ."""

ReplySamples = NewType("ReplySamples", int)
"""A position or a length in a reply, in samples at REPLY_RATE_HZ."""

MIC_RATE_HZ = 16_000
REPLY_RATE_HZ = 24_000
FRAME_MS = 20
FRAME_SAMPLES = Samples(MIC_RATE_HZ * FRAME_MS // 1000)
FULL_SCALE = 32_768.0


def samples_of_ms(ms: float) -> Samples:
    """Converts milliseconds to microphone samples, rounded to the nearest."""
    return Samples(round(ms * MIC_RATE_HZ / 1000))


def ms_of_samples(samples: int) -> float:
    """Converts microphone samples to milliseconds."""
    return samples * 1000 / MIC_RATE_HZ


def samples_of_s(seconds: float) -> Samples:
    """Converts seconds to microphone samples, rounded to the nearest."""
    return Samples(round(seconds * MIC_RATE_HZ))


def s_of_samples(samples: int) -> float:
    """Converts microphone samples to seconds."""
    return samples / MIC_RATE_HZ


def reply_samples_of_ms(ms: float) -> ReplySamples:
    """Converts milliseconds to reply samples, rounded to the nearest."""
    return ReplySamples(round(ms * REPLY_RATE_HZ / 1000))


def s_of_reply_samples(samples: int) -> float:
    """Converts reply samples to seconds."""
    return samples / REPLY_RATE_HZ


def ms_of_reply_samples(samples: int) -> float:
    """Converts reply samples to milliseconds."""
    return samples * 1000 / REPLY_RATE_HZ
