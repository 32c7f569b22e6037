"""Adds the sound of an item's content parts to its JSON object."""

from collections.abc import Mapping
from types import MappingProxyType

from audio.units import Pcm
from web.wire.items.items import JsonObject
from web.wire.items.reply_sound import encoded_sound
from web.wire.values.session_config import SessionConfig

NO_SOUNDS: Mapping[int, tuple[Pcm, int]] = MappingProxyType({})


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
