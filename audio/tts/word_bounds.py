"""Bounds the sound of one word: a key, a hash or encoded data is a word of any length. Pure."""

import re

MAX_WORD_S = 20.0
"""Longest sound of one word, in seconds: 300 letters, or 50 digits. Spelled, a hash of 64 digits takes 18 s."""

_LETTER_S = 1 / 15
_SPELLED_S = 0.4
"""Predicted sound of a letter, and of a digit or sign, whose name is spoken, in seconds."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)
"""Letters of scripts that put no blanks between words."""

_WORD = re.compile(rf"[^\s{_UNSPACED}]+")


def bounded_words(text: str, before_s: float = 0.0) -> tuple[str, float]:
    """Replaces the rest of words that are too long by blanks.

    Args:
        text: The text, or a part of it.
        before_s: Predicted sound of the beginning of its first word in the part before, in seconds; 0: a new word.

    Returns:
        The text, of the same length, and the predicted sound of the word with which it ends, in seconds.
    """
    kept, last_s = list(text), 0.0
    for word in _WORD.finditer(text):
        sound_s = before_s if word.start() == 0 else 0.0
        for index in range(word.start(), word.end()):
            sound_s += _LETTER_S if text[index].isalpha() else _SPELLED_S
            if sound_s > MAX_WORD_S + 1e-6:
                kept[index] = " "
        last_s = sound_s if word.end() == len(text) else 0.0
    return "".join(kept), last_s
