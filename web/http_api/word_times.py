"""Words of a transcript with their times, from the recognizer's tokens."""

import re

from audio.stt import Recognizer, TokenRecognizer
from audio.units import s_of_samples
from web.wire.items.items import JsonObject

_EDGE = re.compile(r"^[^\w]+|[^\w]+$")
"""Punctuation around a word, which OpenAI's service leaves out."""


def timed_words(recognizer: Recognizer, text: str, start: int) -> tuple[JsonObject, ...]:
    """Returns the words of a recent transcript with their times in s; none if the recognizer has not kept them.

    `start`: first sample of the segment.
    """
    tokens = recognizer.tokens_of(text) if isinstance(recognizer, TokenRecognizer) else None
    words: list[tuple[str, float, float]] = []
    for token in tokens or ():
        if token.start_s is None or token.end_s is None:
            return ()  # a model on a cluster, or times were not requested
        if not words or token.text.startswith(" "):
            words.append((token.text, token.start_s, token.end_s))
        elif _EDGE.sub("", token.text):
            before, start_s, _ = words[-1]
            words[-1] = before + token.text, start_s, token.end_s
    offset_s = s_of_samples(start)
    return tuple(
        {"word": word, "start": round(offset_s + start_s, 3), "end": round(offset_s + end_s, 3)}
        for said, start_s, end_s in words
        if (word := _EDGE.sub("", said))
    )
