"""Simulates telephone lines on 16 kHz recordings, so that one recording is measured with and without them.

A line keeps the length and the time axis of the recording (within 2 ms; the mobile codec: within 5 ms).
"""

from collections.abc import Callable

import numpy as np
import soxr

from audio.formats.g711 import decode_ulaw, encode_ulaw
from audio.resample import StreamResampler
from audio.units import FULL_SCALE, MIC_RATE_HZ, Pcm

LINE_RATE_HZ = 8_000
PASS_BAND_HZ = (300.0, 3400.0)
"""Band of a telephone (ITU-T G.712)."""

QUIET_LINE_DB = -20.0
"""Gain of a quiet caller."""

_FILTER_TAPS = 255
_MOBILE_BITS_PER_S = 12_200
"""AMR-NB at 12.2 kbit/s is the GSM enhanced full-rate codec."""

_MOBILE_FRAME = 160
_MOBILE_DELAY = 40
"""Look-ahead of the mobile codec, in samples at LINE_RATE_HZ (5 ms)."""


def _band_pass() -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    positions = np.arange(_FILTER_TAPS) - _FILTER_TAPS // 2
    low, high = (2 * edge_hz / LINE_RATE_HZ for edge_hz in PASS_BAND_HZ)
    taps: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        high * np.sinc(high * positions) - low * np.sinc(low * positions)
    ) * np.hamming(_FILTER_TAPS)
    return taps


def _narrow(pcm: Pcm, gain_db: float = 0.0) -> Pcm:
    """Returns the recording at LINE_RATE_HZ, limited to PASS_BAND_HZ."""
    sound = soxr.resample(pcm.astype(np.float64) / FULL_SCALE, MIC_RATE_HZ, LINE_RATE_HZ)
    sound = np.convolve(sound, _band_pass(), "same") * 10 ** (gain_db / 20)
    return (sound * FULL_SCALE).round().clip(-32_768, 32_767).astype(np.int16)


def _widened(narrow: Pcm, length: int) -> Pcm:
    """Returns sound at LINE_RATE_HZ at 16 kHz, as the server receives it."""
    resampler = StreamResampler(LINE_RATE_HZ)
    wide = np.concatenate([resampler.push_samples(narrow), resampler.flush()])
    return np.pad(wide, (0, max(length - len(wide), 0)))[:length].astype(np.int16)


def landline(pcm: Pcm, gain_db: float = 0.0) -> Pcm:
    """Passes a recording through a telephone band and 8 kHz mu-law."""
    return _widened(decode_ulaw(encode_ulaw(_narrow(pcm, gain_db))), len(pcm))


def quiet_landline(pcm: Pcm) -> Pcm:
    """As `landline`, for a caller who is 20 dB quieter: mu-law keeps fewer bits of them."""
    return landline(pcm, QUIET_LINE_DB)


def quiet(pcm: Pcm) -> Pcm:
    """Attenuates a recording by 20 dB at full band."""
    return (pcm * 10 ** (QUIET_LINE_DB / 20)).round().astype(np.int16)


def mobile(pcm: Pcm) -> Pcm:
    """Passes a recording through a telephone band and AMR-NB at 12.2 kbit/s (GSM enhanced full rate)."""
    import av  # noqa: PLC0415 - comes with faster-whisper; only this line needs it

    narrow = _narrow(pcm)
    narrow = np.pad(narrow, (0, -len(narrow) % _MOBILE_FRAME + 2 * _MOBILE_FRAME))
    encoder = av.CodecContext.create("libopencore_amrnb", "w")
    encoder.sample_rate, encoder.layout, encoder.format = LINE_RATE_HZ, "mono", "s16"
    encoder.bit_rate = _MOBILE_BITS_PER_S
    decoder = av.CodecContext.create("amrnb", "r")
    decoder.sample_rate, decoder.layout = LINE_RATE_HZ, "mono"  # type: ignore[attr-defined]
    pieces = []
    for start in range(0, len(narrow), _MOBILE_FRAME):
        block = av.AudioFrame.from_ndarray(narrow[None, start : start + _MOBILE_FRAME], "s16", "mono")
        block.sample_rate, block.pts = LINE_RATE_HZ, start
        for packet in encoder.encode(block):
            pieces += [decoded.to_ndarray()[0] for decoded in decoder.decode(packet)]  # type: ignore[attr-defined]
    sound = np.concatenate(pieces)[_MOBILE_DELAY:].astype(np.float64) * FULL_SCALE
    return _widened(sound.round().clip(-32_768, 32_767).astype(np.int16), len(pcm))


LINES: dict[str, Callable[[Pcm], Pcm]] = {
    "wide band": lambda pcm: pcm,
    "wide band, -20 dB": quiet,
    "landline": landline,
    "landline, -20 dB": quiet_landline,
    "mobile": mobile,
}
