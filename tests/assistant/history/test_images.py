"""Images in the history: their place in the prompt, their tokens, and how many are kept."""

import pytest

from assistant.history.history import History
from assistant.history.items import MAX_IMAGE_CHARS, MAX_IMAGES, ItemId, SoundPart, TextPart, UserMessage
from assistant.history.prompt_limits import tokens_of
from assistant.storage.store_format import item_lines, parse_conversation
from llm.chat import MAX_IMAGE_TOKENS, MIN_IMAGE_TOKENS, Image, Message

PHOTO = Image("image/jpeg", "AAAA", 640, 480)


def message(item_id: str, *images: Image, text: str = "look") -> UserMessage:
    return UserMessage.of_parts(ItemId(item_id), (TextPart(text), *images))


def kept(history: History) -> list[int]:
    return [len(item.images) for item in history.items if isinstance(item, UserMessage)]


def test_images_are_part_of_their_message() -> None:
    history = History("Be brief.", 20)
    history.insert(message("a", PHOTO))
    history.insert(UserMessage(ItemId("b"), "and now", spoken=False))
    assert history.messages()[1:] == (Message("user", "look", images=(PHOTO,)), Message("user", "and now"))


def test_image_without_text_is_in_the_prompt_and_an_empty_recording_is_not() -> None:
    history = History("", 20)
    history.insert(UserMessage.of_parts(ItemId("a"), (PHOTO,)))
    history.insert(UserMessage.of_parts(ItemId("b"), (SoundPart(None),)))
    assert history.messages() == (Message("user", "", images=(PHOTO,)),)


@pytest.mark.parametrize(
    ("width", "height", "detail", "tokens"),
    [(10, 10, "auto", MIN_IMAGE_TOKENS), (640, 480, "auto", 409), (8000, 8000, "high", MAX_IMAGE_TOKENS),
     (8000, 8000, "low", MIN_IMAGE_TOKENS)],
)  # fmt: skip
def test_image_counts_by_its_size(width: int, height: int, detail: str, tokens: int) -> None:
    image = Image("image/png", "AAAA", width, height, detail)  # type: ignore[arg-type]
    assert tokens_of(message("a", image)) == tokens + tokens_of(UserMessage(ItemId("b"), "look", spoken=False))


def test_old_image_leaves_the_prompt_with_its_turn() -> None:
    history = History("", 20, max_tokens=2000)
    large = Image("image/png", "AAAA", 4000, 4000)
    for item_id in ("a", "b", "c"):
        history.insert(message(item_id, large, text=item_id))
    assert [one.content for one in history.messages()] == ["c"]
    assert kept(history) == [1, 1, 1]


def test_oldest_images_are_dropped_and_their_texts_stay() -> None:
    history = History("", 1000, max_tokens=1_000_000)
    history.insert(message("a", PHOTO, PHOTO))
    for number in range(MAX_IMAGES - 1):
        history.insert(message(f"b{number}", PHOTO))
    assert kept(history)[0] == 1
    first = history.items[0]
    assert isinstance(first, UserMessage)
    assert [part.data for part in first.parts if isinstance(part, Image)] == ["", "AAAA"]
    assert history.messages()[0] == Message("user", "look", images=(PHOTO,))


def test_size_of_all_images_is_limited() -> None:
    history = History("", 1000, max_tokens=1_000_000)
    third = Image("image/png", "A" * (MAX_IMAGE_CHARS // 3), 100, 100)
    for item_id in ("a", "b", "c", "d"):
        history.insert(message(item_id, third))
    assert kept(history) == [0, 1, 1, 1]


def test_transcript_replaces_a_message_in_its_place() -> None:
    history = History("", 20)
    for item_id in ("a", "b"):
        history.insert(UserMessage.of_parts(ItemId(item_id), (SoundPart(None),)))
    assert history.replace_message(UserMessage.of_parts(ItemId("a"), (SoundPart("one"),)))
    assert not history.replace_message(UserMessage.of_parts(ItemId("x"), (SoundPart("two"),)))
    assert [item.id for item in history.items] == ["a", "b"]
    assert history.messages() == (Message("user", "one"),)


def test_stored_conversation_has_the_words_and_no_image() -> None:
    content = item_lines([message("a", PHOTO)])
    assert b"AAAA" not in content
    assert parse_conversation(content).items == (UserMessage(ItemId("a"), "look", spoken=False),)


def test_representation_does_not_show_the_image() -> None:
    assert "AAAA" not in repr(message("a", PHOTO))
