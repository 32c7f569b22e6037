"""Encodes sound for the client, in the session's format, as base64: that of a reply and of the parts of an item."""

import binascii
from collections.abc import Callable, Mapping
from types import MappingProxyType

import soxr

from audio.formats.g711 import encode_alaw, encode_ulaw
from audio.resample import StreamResampler, to_float, to_pcm
from audio.units import REPLY_RATE_HZ, Pcm
from web.wire.items.items import JsonObject
from web.wire.values.session_config import AudioFormat, SessionConfig

NO_SOUNDS: Mapping[int, tuple[Pcm, int]] = MappingProxyType({})


MAX_DELTA_SAMPLES = REPLY_RATE_HZ // 2
"""Samples of one delta at 24 kHz: 32 KB of base64. Common clients accept messages of at most 1 MiB."""


def _linear(pcm: Pcm) -> bytes:
    return pcm.astype("<i2", copy=False).tobytes()


_ENCODERS: dict[AudioFormat, Callable[[Pcm], bytes]] = {
    AudioFormat.PCM: _linear,
    AudioFormat.ULAW: encode_ulaw,
    AudioFormat.ALAW: encode_alaw,
}


class ReplyAudioEncoder:
    """Encodes one reply, block by block. For G.711 at 8 kHz the resampler holds back some samples until `flush`."""

    def __init__(self, form: AudioFormat) -> None:
        """Creates an encoder for this format."""
        self._encode = _ENCODERS[form]
        self._resampler = StreamResampler(REPLY_RATE_HZ, form.rate_hz)

    def encode_chunk(self, pcm: Pcm) -> list[str]:
        """Encodes int16 samples (n,) at 24 kHz. Returns the deltas; none if the resampler holds back all samples."""
        blocks = [pcm[start : start + MAX_DELTA_SAMPLES] for start in range(0, len(pcm), MAX_DELTA_SAMPLES)]
        return [delta for block in blocks if (delta := self._base64(self._resampler.push_samples(block)))]

    def flush(self) -> list[str]:
        """Returns the deltas of the samples that were held back."""
        rest = self._base64(self._resampler.flush())
        return [rest] if rest else []

    def _base64(self, pcm: Pcm) -> str:
        return binascii.b2a_base64(self._encode(pcm), newline=False).decode("ascii")


def encoded_sound(pcm: Pcm, rate_hz: int, form: AudioFormat) -> str:
    """Encodes a whole piece of sound, int16 (n,) at this rate."""
    if rate_hz != form.rate_hz:  # much faster than `StreamResampler`, whose short filter is for single frames
        pcm = to_pcm(soxr.resample(to_float(pcm), rate_hz, form.rate_hz, quality="LQ"))
    return binascii.b2a_base64(_ENCODERS[form](pcm), newline=False).decode("ascii")


def with_sounds(item: JsonObject, sounds: Mapping[int, tuple[Pcm, int]], config: SessionConfig) -> JsonObject:
    """Returns an item with the sound of its parts: the user's in the input format, the assistant's in the output's.

    `sounds`: int16 (n,) and its sample rate, by the index of the part.
    """
    content = item.get("content")
    if not sounds or not isinstance(content, list):
        return item
    form = config.input_format if item["role"] == "user" else config.output_format
    parts: list[JsonObject] = []
    for index, part in enumerate(content):
        heard = part["type"] in {"input_audio", "output_audio"} and index in sounds
        parts.append({**part, "audio": encoded_sound(*sounds[index], form)} if heard else part)
    return {**item, "content": parts}
