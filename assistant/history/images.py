"""Limits the images that a history keeps. No I/O."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.history.items import ContentPart, Item, UserMessage
from llm.chat import Image

MAX_IMAGES = 20
"""Images of one history; also the most that Bedrock takes in a request."""

MAX_IMAGE_CHARS = 8_000_000
"""Characters of their base64 text, 6 MB of image files. One request sends all of it to the LLM service."""


def with_newest_images(items: Sequence[Item]) -> list[Item]:
    """Returns the items, in order, with their newest images. Older images keep their place, without data."""
    count, chars = 0, 0
    kept: list[Item] = []
    for item in reversed(items):
        if not isinstance(item, UserMessage) or not item.images:
            kept.append(item)
            continue
        parts: list[ContentPart] = []
        for part in reversed(item.parts):
            if not isinstance(part, Image) or not part.data:
                parts.append(part)
                continue
            count, chars = count + 1, chars + len(part.data)
            within = count <= MAX_IMAGES and chars <= MAX_IMAGE_CHARS
            parts.append(part if within else replace(part, data=""))
        kept.append(replace(item, parts=tuple(reversed(parts))))
    return kept[::-1]
