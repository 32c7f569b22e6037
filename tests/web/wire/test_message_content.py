"""The content of a client's messages: recordings, images and texts, each checked by itself."""

import base64
import json
from typing import Any

import pytest
from support.texts.image_files import data_url, jpeg, png

from assistant.history.items import AssistantMessage, ItemId, SoundPart, SystemMessage, TextPart, UserMessage
from llm.chat import Image
from web.wire.incoming.commands import CreateItem
from web.wire.incoming.parse import Reader
from web.wire.items.image_field import MAX_IMAGE_BYTES
from web.wire.items.message_content import MAX_RECORDING_S
from web.wire.items.sound_field import Recording
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import AudioFormat, SessionConfig, SessionOffer

Json = dict[str, Any]

TEXT = {"type": "input_text", "text": "What is this?"}
SOUND = base64.b64encode(bytes(4800)).decode()


def read(*content: Json, role: str = "user", images: bool = True, **config: Any) -> CreateItem | ProtocolError:
    item = {"type": "message", "role": role, "content": content}
    event = {"type": "conversation.item.create", "event_id": "e", "item": item}
    found = Reader(SessionConfig(**config), "en", offer=SessionOffer(images=images)).read(json.dumps(event))
    assert isinstance(found, CreateItem | ProtocolError)
    return found


def created(*content: Json, **options: Any) -> CreateItem:
    found = read(*content, **options)
    assert isinstance(found, CreateItem), found
    return found


def image(address: object, **fields: Any) -> Json:
    return {"type": "input_image", "image_url": address, **fields}


# ---- images ----


@pytest.mark.parametrize(
    ("file", "kind", "media_type"),
    [(png(), "png", "image/png"), (jpeg(), "jpeg", "image/jpeg"), (jpeg(), "png", "image/jpeg")],
    ids=["png", "jpeg", "jpeg called png"],
)
def test_image_is_read_from_its_data_url(file: bytes, kind: str, media_type: str) -> None:
    found = created(TEXT, image(data_url(file, kind), detail="low"))
    assert found.refused == ()
    assert isinstance(found.item, UserMessage)
    assert found.item.text == "What is this?"
    assert found.item.parts == (
        TextPart("What is this?"), Image(media_type, base64.b64encode(file).decode(), 640, 480, "low")
    )  # fmt: skip


@pytest.mark.parametrize(
    ("part", "code", "param", "why"),
    [
        (image("https://example.com/a.png"), "not_supported", "image_url", "fetches no addresses"),
        (image("HTTP://169.254.169.254/latest/meta-data"), "not_supported", "image_url", "fetches no addresses"),
        (image("file:///etc/passwd"), "not_supported", "image_url", "fetches no addresses"),
        (image("data:text/html;base64,AAAA"), "invalid_value", "image_url", "data:image/png"),
        (image("data:image/svg+xml;base64,AAAA"), "invalid_value", "image_url", "svg"),
        (image("data:image/png;base64,A*"), "invalid_base64", "image_url", "base64"),
        (image(data_url(b"hello")), "invalid_value", "image_url", "complete image"),
        (image(data_url(jpeg()[:20])), "invalid_value", "image_url", "complete image"),
        (image(data_url(png(8001, 10))), "invalid_value", "image_url", "8001 x 10"),
        (image(data_url(png(0, 10))), "invalid_value", "image_url", "0 x 10"),
        (image(data_url(png(more=MAX_IMAGE_BYTES))), "invalid_value", "image_url", "3750000 bytes"),
        (image(5), "invalid_type", "image_url", "a number"),
        (image(data_url(png()), detail="most"), "invalid_value", "detail", "'most'"),
        (image(data_url(png()), file_id="f"), "unknown_parameter", "file_id", "file_id"),
        ({"type": "input_image"}, "missing_required_parameter", "image_url", "missing"),
    ],
)
def test_wrong_image_is_refused_and_text_is_kept(part: Json, code: str, param: str, why: str) -> None:
    found = created(TEXT, part)
    assert found.item == UserMessage(ItemId(""), "What is this?", spoken=False)
    (error,) = found.refused
    assert (error.code, error.param, error.event_id) == (code, f"item.content[1].{param}", "e")
    assert why in error.message
    assert error.message.startswith("conversation.item.create: ")


def test_image_without_a_model_for_images_is_refused_and_text_is_kept() -> None:
    found = created(image(data_url(png())), TEXT, images=False)
    assert found.item == UserMessage(ItemId(""), "What is this?", spoken=False)
    (error,) = found.refused
    assert (error.code, error.param) == ("not_supported", "item.content[0].type")
    assert "llm.endpoints.images" in error.message


def test_message_without_a_valid_part_is_refused_with_one_error() -> None:
    found = read(image("https://example.com/a.png"), image("ftp://example.com/a.png"))
    assert isinstance(found, ProtocolError)
    assert (found.code, found.param) == ("not_supported", "item.content[0].image_url")
    assert found.message.endswith("; 1 more part is refused as well")


# ---- recordings ----


@pytest.mark.parametrize(("form", "seconds"), [(AudioFormat.PCM, 0.1), (AudioFormat.ULAW, 0.6)])
def test_recording_has_the_input_format_of_the_session(form: AudioFormat, seconds: float) -> None:
    part = {"type": "input_audio", "audio": SOUND, "transcript": "hello"}
    found = created(part, TEXT, input_format=form)
    assert found.recordings == {0: Recording(bytes(4800), form)}
    assert found.recordings[0].duration_s == pytest.approx(seconds)
    assert found.item == UserMessage.of_parts(ItemId(""), (SoundPart("hello"), TextPart("What is this?")))
    assert found.item.text == "hello\nWhat is this?"


def test_transcript_without_sound_is_a_spoken_message() -> None:
    found = created({"type": "input_audio", "transcript": "hello", "audio": None})
    assert found.recordings == {}
    assert found.item == UserMessage.of_parts(ItemId(""), (SoundPart("hello"),))


@pytest.mark.parametrize(
    ("part", "code", "param"),
    [
        ({"type": "input_audio"}, "missing_required_parameter", "audio"),
        ({"type": "input_audio", "audio": "", "transcript": " "}, "missing_required_parameter", "audio"),
        ({"type": "input_audio", "audio": 5}, "invalid_type", "audio"),
        ({"type": "input_audio", "audio": "AA=A"}, "invalid_base64", "audio"),
        ({"type": "input_audio", "audio": "AQID"}, "invalid_value", "audio"),
        ({"type": "input_audio", "audio": SOUND, "transcript": 5}, "invalid_type", "transcript"),
        ({"type": "input_audio", "audio": SOUND, "format": "pcm16"}, "unknown_parameter", "format"),
        ({"type": "input_audio", "audio": "A" * (64_004 * MAX_RECORDING_S)}, "string_above_max_length", "audio"),
    ],
)
def test_wrong_recording_is_refused_and_text_is_kept(part: Json, code: str, param: str) -> None:
    found = created(part, TEXT)
    assert found.item == UserMessage(ItemId(""), "What is this?", spoken=False)
    (error,) = found.refused
    assert (error.code, error.param) == (code, f"item.content[0].{param}")
    assert SOUND not in error.message


def test_g711_recording_longer_than_two_minutes_is_refused() -> None:
    audio = base64.b64encode(bytes(8000 * MAX_RECORDING_S + 800)).decode()
    found = read({"type": "input_audio", "audio": audio}, input_format=AudioFormat.ALAW)
    assert isinstance(found, ProtocolError)
    assert "lasts 120.1 s; allowed: at most 120 s" in found.message


# ---- the assistant and the system ----


def test_assistant_history_may_be_spoken() -> None:
    found = created({"type": "output_audio", "audio": SOUND, "transcript": "It is noon."}, role="assistant")
    assert found.item == AssistantMessage(ItemId(""), "It is noon.")
    assert not found.written
    assert found.recordings == {0: Recording(bytes(4800), AudioFormat.PCM)}
    assert created({"type": "output_text", "text": "It is noon."}, role="assistant").written


def test_spoken_assistant_history_needs_its_transcript() -> None:
    found = read({"type": "output_audio", "audio": SOUND}, role="assistant")
    assert isinstance(found, ProtocolError)
    assert (found.code, found.param) == ("missing_required_parameter", "item.content[0].transcript")


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("user", "output_text"), ("user", "output_audio"), ("assistant", "input_audio"), ("assistant", "input_image"),
        ("system", "input_audio"), ("system", "input_image"), ("system", "output_text"), ("user", "text"),
    ],
)  # fmt: skip
def test_part_of_another_role_refuses_the_message(role: str, kind: str) -> None:
    found = read({"type": kind, "text": "hello", "transcript": "hello"}, role=role)
    assert isinstance(found, ProtocolError)
    assert (found.code, found.param) == ("invalid_value", "item.content[0].type")


def test_system_message_is_text() -> None:
    assert created(TEXT, role="system").item == SystemMessage(ItemId(""), "What is this?")
