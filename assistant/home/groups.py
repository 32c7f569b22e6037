"""Finds the devices of several names: "the lamp and the fan", "all lights but the lamp". Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assistant.home import Device
from assistant.home.names import HomeIndex
from assistant.home.query import Found, Query, Unclear

_MAX_PARTS = 5
"""Names in one request. Each way to divide the words costs a search."""


@dataclass(frozen=True, slots=True)
class GroupWords:
    """The words of a language between names.

    Attributes:
        joints: Match "and" between two names.
        exceptions: Match "except" before a name.
        switching: Words that say what is done: "on", "off".
        negations: Words with which nothing is done: "not".
        verbs: Words with which an order begins: "turn".
    """

    joints: re.Pattern[str]
    exceptions: re.Pattern[str]
    switching: frozenset[str]
    negations: frozenset[str]
    verbs: frozenset[str]

    def ends_with_joint(self, text: str) -> bool:
        """Returns whether `text` ends between two names: "the lamp and"."""
        return not self.joints.split(f"{text} ")[-1].strip()

    def is_other_order(self, text: str) -> bool:
        """Returns whether there is another order in `text`: "the lamp off and the fan", "not the lamp"."""
        parts = [part.split() for part in self.joints.split(f" {text} ")]
        if not self.negations.isdisjoint(text.split()) or not all(parts):
            return True
        firsts, lasts = [part[0] for part in parts[1:]], [part[-1] for part in parts]
        if not firsts:
            return False
        return not self.verbs.isdisjoint(firsts) or not self.switching.isdisjoint((*firsts, *lasts))


def group_words(data: Mapping[str, Any], verbs: frozenset[str]) -> GroupWords:
    """Returns the words of a language for `find_group`, from the file of the skill. `verbs`: see `GroupWords`."""
    switching, negations = (frozenset(data[name].split()) for name in ("switching", "negations"))
    return GroupWords(_between(data["joints"]), _between(data["exceptions"]), switching, negations, verbs)


def _between(runs: Sequence[str]) -> re.Pattern[str]:
    words = "|".join(re.escape(run) for run in sorted(runs, key=len, reverse=True))
    return re.compile(rf"(?:^|\s+)(?:{words})\s+", re.IGNORECASE)


def find_group(index: HomeIndex, text: str, query: Query, words: GroupWords) -> Found | Unclear | None:
    """Returns the devices that one or several names mean; None if a part of the words means nothing in this home."""
    exception = words.exceptions.search(text)
    if exception is not None and index.named(text, query) is None:
        return _without(index, text[: exception.start()], text[exception.end() :], query, words)
    exact = index.named(text, query)
    if exact is None and words.is_other_order(text):
        return None
    if not 1 < len(words.joints.split(text)) <= _MAX_PARTS:
        return index.find(text, query)
    return exact or _union(index, text, query, words) or index.find(text, query)


def _without(index: HomeIndex, text: str, excluded: str, query: Query, words: GroupWords) -> Found | Unclear | None:
    together = replace(query, together=True)
    base, rest = (find_group(index, part, together, words) for part in (text, excluded))
    if not isinstance(base, Found) or rest is None:
        return base if isinstance(base, Unclear) else None
    gone = set(rest.ids) if isinstance(rest, Unclear) else {device.id for device in rest.devices}
    left = tuple(device for device in base.devices if device.id not in gone)
    return Found(left, by_name=False) if left else None


def _union(index: HomeIndex, text: str, query: Query, words: GroupWords) -> Found | Unclear | None:
    """Returns the devices of names that are joined. A first name is as long as possible: "salt and pepper lamp"."""
    for joint in reversed(list(words.joints.finditer(text))):
        before, after = text[: joint.start()], text[joint.end() :]
        first = index.named(before, query) or (index.find(before, query) if not words.joints.search(before) else None)
        first = first or _union(index, before, query, words)
        if first is None:
            continue
        second = index.named(after, query) or index.find(_like(index, before, after), query)
        if second is None:
            continue
        unclear = next((part for part in (first, second) if isinstance(part, Unclear)), None)
        if unclear is not None:
            return unclear
        assert isinstance(first, Found)
        assert isinstance(second, Found)
        return Found(_each_once((*first.devices, *second.devices)), by_name=False)
    return None


def _like(index: HomeIndex, before: str, after: str) -> str:
    """Returns a name that is only a place with the kind before: "the fans in the hall and the office"."""
    return f"{index.without_place(before)} {after}" if index.place(after) is not None else after


def _each_once(devices: Sequence[Device]) -> tuple[Device, ...]:
    return tuple({device.id: device for device in devices}.values())
