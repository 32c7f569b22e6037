"""Finds what a command that is cancelled would do: "cancel oven off", "cancel turning on the oven". Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence

_SERVICES = {
    "on": frozenset(("turn_on", "open_cover", "unlock", "media_play")),
    "off": frozenset(("turn_off", "close_cover", "lock", "media_pause")),
}
"""The services of a command that is called so."""


class CancelledWords:
    """The words of a language for what a command does, around the name of its device."""

    def __init__(self, phrases: Mapping[str, Sequence[str]]) -> None:
        """`phrases`: those for "on" and "off"."""
        self._patterns = {state: _around(own) for state, own in phrases.items()}

    def readings(self, target: str) -> Iterator[tuple[str, frozenset[str]]]:
        """Yields the ways to read a target: the name of the device, and the services of the command; empty for any."""
        for state, pattern in self._patterns.items():
            match = pattern.fullmatch(target)
            if match is not None:
                yield match["before"] or match["behind"], _SERVICES[state]
        yield target, frozenset()


def _around(phrases: Sequence[str]) -> re.Pattern[str]:
    words = "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))
    return re.compile(rf"(?:{words})\s+(?P<behind>.+)|(?P<before>.+?)\s+(?:{words})", re.IGNORECASE)
