"""Encodes and decodes G.711, telephone speech at 8 kHz with one byte per sample (mu-law and A-law).

Both laws encode the sign, a segment (the power of two) and four bits within it. Encoding and decoding use one table
look-up per sample: 64 KiB per law for encoding, 256 values for decoding.
"""

import numpy as np
import numpy.typing as npt

from audio.units import Pcm

Bytes = npt.NDArray[np.uint8]

_ULAW_BIAS = 33  # 14-bit scale; makes every segment begin at a power of two
_ULAW_MAX = 8158  # 14-bit scale, before the bias
_EVERY_BYTE = np.arange(256, dtype=np.int32)
# Index i of an encoding table stands for the sample whose 16 bits, read as unsigned, are i.
_EVERY_SAMPLE = np.arange(65_536, dtype=np.uint16).view(np.int16).astype(np.int32)


def encode_ulaw(pcm: Pcm) -> bytes:
    """Encodes int16 samples (n,) to n bytes of mu-law."""
    return _ULAW_OF[np.ascontiguousarray(pcm).view(np.uint16)].tobytes()


def decode_ulaw(data: bytes) -> Pcm:
    """Decodes bytes of mu-law to as many int16 samples; every input is valid."""
    return _OF_ULAW[np.frombuffer(data, np.uint8)]


def encode_alaw(pcm: Pcm) -> bytes:
    """Encodes int16 samples (n,) to n bytes of A-law."""
    return _ALAW_OF[np.ascontiguousarray(pcm).view(np.uint16)].tobytes()


def decode_alaw(data: bytes) -> Pcm:
    """Decodes bytes of A-law to as many int16 samples; every input is valid."""
    return _OF_ALAW[np.frombuffer(data, np.uint8)]


def _bits(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Returns the bit length of each value; 0 for 0."""
    exponents: npt.NDArray[np.int32] = np.asarray(np.frexp(values.astype(np.float64))[1], np.int32)
    return exponents


def _ulaw_of_samples() -> Bytes:
    wide = _EVERY_SAMPLE >> 2
    magnitude = np.minimum(np.abs(wide), _ULAW_MAX) + _ULAW_BIAS
    segment = _bits(magnitude) - 6
    code = (segment << 4) | ((magnitude >> (segment + 1)) & 0x0F)
    codes: Bytes = (code ^ np.where(wide < 0, 0x7F, 0xFF)).astype(np.uint8)
    return codes


def _samples_of_ulaw() -> Pcm:
    code = _EVERY_BYTE ^ 0xFF
    magnitude = (((((code & 0x0F) << 1) + _ULAW_BIAS) << ((code >> 4) & 0x07)) - _ULAW_BIAS) << 2
    return np.where(code & 0x80, -magnitude, magnitude).astype(np.int16)


def _alaw_of_samples() -> Bytes:
    wide = _EVERY_SAMPLE >> 3
    magnitude = np.where(wide < 0, ~wide, wide)
    segment = np.maximum(_bits(magnitude) - 5, 0)
    code = (segment << 4) | ((magnitude >> np.maximum(segment, 1)) & 0x0F)
    # Every second bit is inverted: telephone lines needed level changes for synchronization.
    codes: Bytes = (code ^ np.where(wide < 0, 0x55, 0xD5)).astype(np.uint8)
    return codes


def _samples_of_alaw() -> Pcm:
    code = _EVERY_BYTE ^ 0x55
    segment = (code >> 4) & 0x07
    middle = ((code & 0x0F) << 1) + 1
    magnitude = np.where(segment == 0, middle, (middle + 32) << np.maximum(segment - 1, 0)) << 3
    return np.where(code & 0x80, magnitude, -magnitude).astype(np.int16)


_ULAW_OF = _ulaw_of_samples()
_OF_ULAW = _samples_of_ulaw()
_ALAW_OF = _alaw_of_samples()
_OF_ALAW = _samples_of_alaw()
