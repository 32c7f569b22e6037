"""A reply's sound on its way to the client: in the format of its session, as base64."""

import binascii
from collections.abc import Callable

from audio.g711 import encode_alaw, encode_ulaw
from audio.resample import StreamResampler
from audio.units import REPLY_RATE_HZ, Pcm
from web.wire.session_config import AudioFormat

MAX_DELTA_SAMPLES = REPLY_RATE_HZ // 2
"""Of one delta, at 24 kHz: 32 KB of base64. Stock clients take messages of at most 1 MiB."""


def _linear(pcm: Pcm) -> bytes:
    return pcm.astype("<i2", copy=False).tobytes()


_ENCODERS: dict[AudioFormat, Callable[[Pcm], bytes]] = {
    AudioFormat.PCM: _linear,
    AudioFormat.ULAW: encode_ulaw,
    AudioFormat.ALAW: encode_alaw,
}


class ReplyAudioEncoder:
    """Encodes one reply, block by block. G.711 comes at 8 kHz: the resampler holds back some of it until `flush`."""

    def __init__(self, form: AudioFormat) -> None:
        """Begin, in this format."""
        self._encode = _ENCODERS[form]
        self._resampler = StreamResampler(REPLY_RATE_HZ, form.rate_hz)

    def push(self, pcm: Pcm) -> list[str]:
        """The deltas of the next int16 samples (n,) at 24 kHz; none where all of it is held back."""
        blocks = [pcm[at : at + MAX_DELTA_SAMPLES] for at in range(0, len(pcm), MAX_DELTA_SAMPLES)]
        return [delta for block in blocks if (delta := self._base64(self._resampler.push(block)))]

    def flush(self) -> list[str]:
        """The deltas of what was held back."""
        rest = self._base64(self._resampler.flush())
        return [rest] if rest else []

    def _base64(self, pcm: Pcm) -> str:
        return binascii.b2a_base64(self._encode(pcm), newline=False).decode("ascii")
