"""Removes characters that are invisible or not spoken."""

import re

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffd"
    "\ufe00-\ufe0f\ufff9-\ufffc\ue000-\uf8ff\ud800-\udfff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_LINE_ENDS = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_SPACES = re.compile("[\t\r\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_ARROWS = re.compile("[\u2192\u21d2\u27f6\u279c\u2794\u27a1]")
_BULLETS = re.compile("[\u2022\u25cf\u25aa\u25e6\u2023\u2219\u25cb\u25a0]")
_EMOJI = re.compile(
    "[\u20e3\u2190\u2191\u2193-\u21ff\u2300-\u23ff\u25a1-\u25a9\u25ab-\u25ca\u25cc-\u25e5\u25e7-\u25ff"
    "\u2600-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001fbff]"
)


def visible(text: str) -> str:
    """Removes characters that are invisible or not spoken, and turns every space into a plain one."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", _INVISIBLE.sub("", text))
    text = _BULLETS.sub("•", _ARROWS.sub("\u2192", _SPACES.sub(" ", text)))
    # The arrow kept above lies between two ranges of `_EMOJI`.
    return _EMOJI.sub("", text)
