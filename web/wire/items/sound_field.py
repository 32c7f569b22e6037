"""Decodes sound in an event: base64 of whole samples in one of the audio formats."""

import binascii
from dataclasses import dataclass

from web.wire.values.fields import FieldError, wrong_type, wrong_value
from web.wire.values.session_config import AudioFormat


@dataclass(frozen=True, slots=True)
class Recording:
    """Sound that a client sent in one piece.

    Attributes:
        audio: Whole samples: two bytes each, little-endian (pcm), or one byte each (pcmu, pcma).
        format: Format of `audio`.
    """

    audio: bytes
    format: AudioFormat

    @property
    def duration_s(self) -> float:
        """Its length."""
        return len(self.audio) / self.format.sample_bytes / self.format.rate_hz


def audio_bytes(value: object, path: str, form: AudioFormat, max_bytes: int) -> bytes:
    """Returns the decoded bytes of a field. Raises FieldError."""
    if not isinstance(value, str):
        raise wrong_type(path, value, "a string in base64")
    if len(value) > max_bytes // 3 * 4:
        message = f"{path} is longer than {max_bytes} bytes; send it in pieces"
        raise FieldError("string_above_max_length", message, path)
    try:
        audio = binascii.a2b_base64(value, strict_mode=True)
    except ValueError as error:
        raise not_base64(path) from error
    return whole_samples(audio, path, form)


def not_base64(path: str) -> FieldError:
    """Returns the error for a field that is not base64."""
    return FieldError("invalid_base64", f"{path} is not base64: letters, digits, + and /, padded with =", path)


def whole_samples(audio: bytes, path: str, form: AudioFormat) -> bytes:
    """Returns the decoded bytes. Raises FieldError if the last sample is incomplete."""
    if len(audio) % form.sample_bytes:
        raise wrong_value(path, f"has {len(audio)} bytes", f"whole samples of two bytes for {form.value!r}")
    return audio
