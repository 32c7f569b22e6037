"""Writes recognized segments as subtitles: SRT and WebVTT. Pure."""

from collections.abc import Iterable
from typing import Protocol


class Cue(Protocol):
    """A text and when it is said, in samples of 16 kHz."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def text(self) -> str: ...


def srt(cues: Iterable[Cue]) -> str:
    """Returns a SubRip file."""
    spoken = [cue for cue in cues if cue.text]
    blocks = [
        f"{number}\n{_time(cue.start, ',')} --> {_time(cue.end, ',')}\n{cue.text}\n"
        for number, cue in enumerate(spoken, 1)
    ]
    return "\n".join(blocks)


def vtt(cues: Iterable[Cue]) -> str:
    """Returns a WebVTT file."""
    blocks = [f"{_time(cue.start, '.')} --> {_time(cue.end, '.')}\n{_escaped(cue.text)}\n" for cue in cues if cue.text]
    return "\n".join(["WEBVTT\n", *blocks])


def _time(sample: int, separator: str) -> str:
    ms = sample // 16
    seconds, minutes, hours = ms // 1000 % 60, ms // 60_000 % 60, ms // 3_600_000
    return f"{hours:02}:{minutes:02}:{seconds:02}{separator}{ms % 1000:03}"


def _escaped(text: str) -> str:
    """Escapes what WebVTT would read as markup or as an arrow."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
