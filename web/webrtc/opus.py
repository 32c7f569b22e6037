"""Encodes and decodes Opus by libopus, which PyAV brings along.

PyAV's own codecs have neither loss concealment nor the redundant copy of a lost frame in the next one (in-band FEC).
All sound is mono at 24 kHz, the rate of the protocol: libopus converts it.
"""

import ctypes
import ctypes.util
import importlib.util
from functools import cache
from pathlib import Path

import numpy as np

from audio.units import REPLY_RATE_HZ, Pcm

RTP_RATE_HZ = 48_000
"""Clock rate of Opus in RTP, whatever the sound's rate."""
FRAME_MS = 20
FRAME_SAMPLES = REPLY_RATE_HZ * FRAME_MS // 1000
FRAME_TICKS = RTP_RATE_HZ * FRAME_MS // 1000

SILENCE = b"\xf8\xff\xfe"
"""A frame of 20 ms of silence, as clients and servers send it. It needs no encoder."""

MAX_FRAME_SAMPLES = REPLY_RATE_HZ * 120 // 1000
"""The longest packet that Opus permits."""
MAX_PACKET_BYTES = 1275

BITRATE = 32_000
"""Bits per second of replies: wideband speech with room for the redundant copies."""
EXPECTED_LOSS_PERCENT = 10
"""With more expected loss, libopus spends more of the bit rate on redundant copies."""
COMPLEXITY = 5

_VOIP = 2048
_SET_BITRATE, _SET_COMPLEXITY, _SET_FEC, _SET_LOSS = 4002, 4010, 4012, 4014


class OpusMissingError(Exception):
    """libopus cannot be loaded."""


@cache
def library() -> ctypes.CDLL:
    """Loads libopus. Raises OpusMissingError."""
    for name in _names():
        try:
            loaded = ctypes.CDLL(name)
        except OSError:
            continue
        loaded.opus_encoder_create.restype = loaded.opus_decoder_create.restype = ctypes.c_void_p
        loaded.opus_encoder_ctl.argtypes = [ctypes.c_void_p, ctypes.c_int]
        for function in (loaded.opus_encoder_destroy, loaded.opus_decoder_destroy):
            function.argtypes, function.restype = [ctypes.c_void_p], None
        loaded.opus_encode.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int32]
        loaded.opus_decode.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
        ]  # fmt: skip
        return loaded
    raise OpusMissingError("libopus was not found beside the package av")


def _names() -> list[str]:
    """Returns where libopus may be: in PyAV's wheel, then on the system."""
    spec = importlib.util.find_spec("av")
    names: list[str] = []
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        for folder in (package.parent / "av.libs", package / ".dylibs"):
            names += [str(file) for file in sorted(folder.glob("*opus*"))]
    system = ctypes.util.find_library("opus")
    return [*names, system] if system else names


class OpusEncoder:
    """Encodes frames of 20 ms."""

    def __init__(self) -> None:
        """Creates an encoder. Raises OpusMissingError."""
        self._library = library()
        failed = ctypes.c_int()
        self._state = self._library.opus_encoder_create(REPLY_RATE_HZ, 1, _VOIP, ctypes.byref(failed))
        if not self._state:
            raise OpusMissingError(f"libopus gives no encoder ({failed.value})")
        for option, value in (
            (_SET_BITRATE, BITRATE),
            (_SET_COMPLEXITY, COMPLEXITY),
            (_SET_FEC, 1),
            (_SET_LOSS, EXPECTED_LOSS_PERCENT),
        ):
            self._library.opus_encoder_ctl(self._state, option, ctypes.c_int(value))
        self._packet = ctypes.create_string_buffer(MAX_PACKET_BYTES)

    def encode(self, pcm: Pcm) -> bytes:
        """Encodes int16 (480,)."""
        pcm = np.ascontiguousarray(pcm, np.int16)
        size = self._library.opus_encode(self._state, pcm.ctypes.data, len(pcm), self._packet, MAX_PACKET_BYTES)
        return self._packet.raw[:size] if size > 0 else SILENCE

    def __del__(self) -> None:
        """Frees the encoder."""
        if getattr(self, "_state", None):
            self._library.opus_encoder_destroy(self._state)


class OpusDecoder:
    """Decodes the packets of one stream, and conceals lost ones."""

    def __init__(self) -> None:
        """Creates a decoder. Raises OpusMissingError."""
        self._library = library()
        failed = ctypes.c_int()
        self._state = self._library.opus_decoder_create(REPLY_RATE_HZ, 1, ctypes.byref(failed))
        if not self._state:
            raise OpusMissingError(f"libopus gives no decoder ({failed.value})")
        self._pcm = np.zeros(MAX_FRAME_SAMPLES, np.int16)

    def decode(self, packet: bytes) -> Pcm:
        """Decodes a packet. Returns int16 (n,), empty for an invalid packet."""
        return self._decode(packet, MAX_FRAME_SAMPLES, fec=False)

    def decode_copy(self, packet: bytes, samples: int) -> Pcm:
        """Decodes the frame before this packet from the copy in it; conceals it if there is no copy."""
        return self._decode(packet, samples, fec=True)

    def conceal(self, samples: int) -> Pcm:
        """Continues the sound in place of a lost frame; `samples`: a multiple of 2.5 ms, up to 120 ms."""
        return self._decode(None, samples, fec=False)

    def _decode(self, packet: bytes | None, samples: int, *, fec: bool) -> Pcm:
        length = len(packet) if packet else 0
        count = self._library.opus_decode(self._state, packet, length, self._pcm.ctypes.data, samples, int(fec))
        return self._pcm[: max(0, count)].copy()

    def __del__(self) -> None:
        """Frees the decoder."""
        if getattr(self, "_state", None):
            self._library.opus_decoder_destroy(self._state)


_SILK_MS = (10.0, 20.0, 40.0, 60.0)
_CELT_MS = (2.5, 5.0, 10.0, 20.0)


def ticks_of(packet: bytes) -> int:
    """Returns the length of a packet on the RTP clock (RFC 6716, section 3.1); 0 for an invalid one."""
    if not packet:
        return 0
    mode, count = packet[0] >> 3, packet[0] & 3
    if mode < 12:
        ms = _SILK_MS[mode & 3]
    elif mode < 16:
        ms = _SILK_MS[mode & 1]
    else:
        ms = _CELT_MS[mode & 3]
    frames = 1 if count == 0 else 2
    if count == 3:
        frames = packet[1] & 63 if len(packet) > 1 else 0
    return round(ms * frames * RTP_RATE_HZ / 1000)
