"""Bounds the work of one sentence by its phonemes, into which letters expand very differently. Pure."""

from collections.abc import Sequence

MAX_PHONEMES = 300
"""Most phonemes that are synthesized at once: 25 s of sound. A sentence of 200 letters has 230 phonemes.

Memory grows with the square of their number: 1,319 phonemes take 1 GB with a medium voice.
"""

FEW_PHONEMES = 60
"""Most phonemes that are synthesized at once on a machine that is too slow: 5 s of sound."""

_PAUSES = frozenset(",.;:!?")


def bounded(sentence: Sequence[str], most: int = MAX_PHONEMES) -> list[list[str]]:
    """Returns a sentence in parts of at most `most` phonemes: cut after a pause, else between words."""
    parts, start = [], 0
    while start < len(sentence):
        end = _cut(sentence, start, most)
        parts.append(list(sentence[start:end]))
        start = end
    return parts


def _cut(sentence: Sequence[str], start: int, most: int) -> int:
    end = start + most
    if end >= len(sentence):
        return len(sentence)
    for is_place in (_PAUSES.__contains__, str.isspace):
        # Only in the second half, so that the parts are few.
        place = next((index for index in range(end, start + most // 2, -1) if is_place(sentence[index - 1])), None)
        if place is not None:
            return place
    return end
