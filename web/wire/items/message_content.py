"""Checks the content of a client's message: texts, recordings, images.

A wrong recording or image is refused by itself, and the other parts of the message stay. A wrong text refuses the
message.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assistant.history.items import ContentPart, SoundPart, TextPart
from web.wire.items.image_field import image_of
from web.wire.items.sound_field import Recording, audio_bytes
from web.wire.values.fields import (
    TEXT,
    Field,
    FieldError,
    Refusals,
    Table,
    checked,
    dropped_value,
    listing,
    not_supported,
    one_of,
    text,
    wrong_value,
)
from web.wire.values.session_config import AudioFormat

MAX_CONTENT_PARTS = 64

MAX_RECORDING_S = 120
"""Longest recording in a message. Longer sound is appended to the input buffer."""

_MAX_RECORDING_BYTES = MAX_RECORDING_S * 48_000

NO_IMAGES = "no language model of this server takes images (llm.endpoints.images)"

_TEXT_PARTS = {"user": "input_text", "assistant": "output_text", "system": "input_text"}
_MEDIA_PARTS: dict[str, tuple[str, ...]] = {
    "user": ("input_audio", "input_image"),
    "assistant": ("output_audio",),
    "system": (),
}

_SOUND: Table = {"type": Field(dropped_value), "audio": Field(dropped_value), "transcript": Field(TEXT)}
_IMAGE: Table = {
    "type": Field(dropped_value),
    "image_url": Field(lambda value, _path: value, required=True),
    "detail": Field(one_of("auto", "low", "high")),
}


@dataclass(frozen=True, slots=True)
class ContentRules:
    """Rules for the content of a client's messages.

    Attributes:
        no_images: Why images are refused; "": they are accepted.
        sound: Whether recordings are accepted; without, only their transcripts are.
        input_format: Format of the user's recordings.
        output_format: Format of the assistant's.
    """

    no_images: str = "only messages of the conversation have images; create one and refer to it"
    sound: bool = False
    input_format: AudioFormat = AudioFormat.PCM
    output_format: AudioFormat = AudioFormat.PCM


@dataclass(slots=True)
class Content:
    """The checked content of a message.

    Attributes:
        parts: The parts, without the refused ones.
        recordings: The sound of parts, by their index in `parts`.
    """

    parts: list[ContentPart] = field(default_factory=list)
    recordings: dict[int, Recording] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether all parts are texts."""
        return all(isinstance(part, TextPart) for part in self.parts)

    @property
    def text(self) -> str:
        """A line for each text and transcript."""
        lines = [part.text if isinstance(part, TextPart) else part.transcript or ""
                 for part in self.parts if isinstance(part, TextPart | SoundPart)]  # fmt: skip
        return "\n".join(filter(None, lines))


def content_of(value: object, path: str, role: str, rules: ContentRules, refusals: Refusals) -> Content:
    """Checks the content of a message of this role; errors of single parts are added to `refusals`.

    Raises FieldError if the message as a whole is refused, also if no part is left.
    """
    content = Content()
    before = len(refusals.errors)
    listing(_reader(content, role, rules, refusals), minimum=1, maximum=MAX_CONTENT_PARTS)(value, path)
    if not content.parts:
        raise _nothing_left(refusals, before)
    if content.is_text and not content.text.strip():
        raise wrong_value(path, "is blank", "text")
    return content


def _reader(content: Content, role: str, rules: ContentRules, refusals: Refusals) -> Callable[[object, str], None]:
    text_table = _text_table(role)

    def read(value: object, path: str) -> None:
        kind = value.get("type") if isinstance(value, dict) else None
        if kind not in _MEDIA_PARTS[role]:
            content.parts.append(TextPart(checked(value, path, text_table)["text"]))
            return
        try:
            _READERS[kind](value, path, rules, content)
        except FieldError as error:
            refusals.add_error(error)

    return read


def _text_table(role: str) -> Table:
    return {
        "type": Field(one_of(_TEXT_PARTS[role], *_MEDIA_PARTS[role]), required=True),
        # Listed so that a part of another type is refused for its type and not for its fields.
        **{name: Field(dropped_value) for name in ("audio", "transcript", "image_url", "detail")},
        "text": Field(text(min_chars=1), required=True),
    }


def _read_recording(value: object, path: str, rules: ContentRules, content: Content) -> None:
    fields = checked(value, path, _SOUND)
    transcript = fields.get("transcript")
    recording = _recording(value, f"{path}.audio", rules.input_format)
    if recording is not None and not rules.sound and transcript is None:
        raise not_supported(
            f"{path}.audio", "only messages of the conversation are transcribed; create one, or give its transcript"
        )
    if recording is None and not (transcript or "").strip():
        raise FieldError("missing_required_parameter", f"{path}.audio is missing", f"{path}.audio")
    _add_part(content, SoundPart(transcript), recording)


def _read_spoken(value: object, path: str, rules: ContentRules, content: Content) -> None:
    transcript = checked(value, path, _SOUND).get("transcript")
    recording = _recording(value, f"{path}.audio", rules.output_format)
    if not (transcript or "").strip():
        message = f"{path}.transcript is missing; the language model reads it in place of the sound"
        raise FieldError("missing_required_parameter", message, f"{path}.transcript")
    _add_part(content, SoundPart(transcript), recording)


def _read_image(value: object, path: str, rules: ContentRules, content: Content) -> None:
    if rules.no_images:
        raise not_supported(f"{path}.type", rules.no_images)
    fields = checked(value, path, _IMAGE)
    content.parts.append(image_of(fields["image_url"], f"{path}.image_url", fields.get("detail", "auto")))


_READERS: Mapping[str, Callable[[object, str, ContentRules, Content], None]] = {
    "input_audio": _read_recording,
    "input_image": _read_image,
    "output_audio": _read_spoken,
}


def _recording(value: object, path: str, form: AudioFormat) -> Recording | None:
    sound = value.get("audio") if isinstance(value, dict) else None
    if sound is None or sound == "":
        return None
    recording = Recording(audio_bytes(sound, path, form, _MAX_RECORDING_BYTES), form)
    if recording.duration_s > MAX_RECORDING_S:
        raise wrong_value(path, f"lasts {recording.duration_s:.1f} s", f"at most {MAX_RECORDING_S} s")
    return recording


def _add_part(content: Content, part: SoundPart, recording: Recording | None) -> None:
    if recording is not None:
        content.recordings[len(content.parts)] = recording
    content.parts.append(part)


def _nothing_left(refusals: Refusals, before: int) -> FieldError:
    """Returns one error for a message all of whose parts are refused; they are taken from `refusals`."""
    first, more = refusals.errors[before], len(refusals.errors) + refusals.more - before - 1
    del refusals.errors[before:]
    also = "" if not more else f"; {more} more {'part is' if more == 1 else 'parts are'} refused as well"
    return FieldError(first.code, f"{first}{also}", first.param)
