"""Finds what takes a request back in the same breath: "turn on the oven, never mind". Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_BREAK = r"(?:\s*[,;:.!?…–—-]+\s+)"
_END = r"(?=\s*[,;:.!…–—-]|\s*$)"
"""End of the words that take back. A question mark makes "no" a question tag: "the oven, no?"."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A text with a request that is taken back.

    Attributes:
        request: The request.
        later: The words behind; "" for none.
        words: The words that take it back.
        is_correction: Whether the words only count with others behind them: "no, the lamp".
    """

    request: str
    later: str
    words: str
    is_correction: bool

    @property
    def repeats(self) -> bool:
        """Whether the words only repeat the request: "stop the radio, stop"."""
        return f" {self.words.lower()} " in f" {self.request.lower()} "


@dataclass(frozen=True, slots=True)
class TakenBackWords:
    """The words of a language that take a request back."""

    _dismissal: re.Pattern[str]
    _correction: re.Pattern[str]

    def split(self, text: str) -> TakenBack | None:
        """Returns the request in `text` that is taken back last; None without one."""
        for pattern in (self._dismissal, self._correction):
            match = next(reversed(list(pattern.finditer(text))), None)
            if match is None or not text[: match.start()].strip():
                continue
            later = text[match.end() :].strip(" ,;:.!?…–—-")
            # ", no," with words behind it corrects, with none it takes back.
            is_correction = pattern is self._correction or bool(later and self._correction.match(text, match.start()))
            if is_correction and not later:
                continue
            words = match["behind_pause"] or match.groupdict().get("alone") or ""
            return TakenBack(text[: match.start()], later, words, is_correction)
        return None


def taken_back_words(data: Mapping[str, Any]) -> TakenBackWords:
    """Returns the words of a language, from the file of the dialogs."""
    around = f"(?:{_one_of(data['around'])})"
    before, after = rf"(?:{around}[\s,.!]+)*", rf"(?:[\s,]+{around}(?!\w))*"
    dismissals, stops = _one_of(data["dismissals"]), _one_of([*data["dismissals"], *data["stops"]])
    dismissal = rf"(?:{_BREAK}{before}(?P<behind_pause>{stops})|\s+{before}(?P<alone>{dismissals})){after}{_END}"
    correction = rf"{_BREAK}{before}(?P<behind_pause>{_one_of(data['corrections'])})(?!\w)"
    return TakenBackWords(re.compile(dismissal, re.IGNORECASE), re.compile(correction, re.IGNORECASE))


def _one_of(phrases: Sequence[str]) -> str:
    """Returns a pattern for any of these phrases, the longest first. Apostrophes may be straight or curved."""
    ordered = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace("'", "['’]") for phrase in ordered)
