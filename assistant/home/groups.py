"""Finds the devices of several names: "the lamp and the fan", "all lights but the lamp". Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
        particles: Those of `switching` with which no name begins: "turn on the fan, oven off".
        negations: Words with which nothing is done: "not".
        verbs: Words with which an order begins: "turn".
        joint: The word "and".
    """

    joints: re.Pattern[str]
    exceptions: re.Pattern[str]
    switching: frozenset[str]
    particles: frozenset[str]
    negations: frozenset[str]
    verbs: frozenset[str]
    joint: str

    def ends_with_joint(self, text: str) -> bool:
        """Returns whether `text` ends between two names: "the lamp and"."""
        return not self.joints.split(f"{text} ")[-1].strip()

    def is_other_order(self, text: str) -> bool:
        """Returns whether there is another order in `text`: "the lamp off and the fan", "not the lamp"."""
        parts = [part.split() for part in self.joints.split(f" {text} ")]
        if self.is_refused(text) or not all(parts):
            return True
        firsts, lasts = [part[0] for part in parts[1:]], [part[-1] for part in parts]
        if not firsts:
            return False
        if parts[0][0] in self.particles:
            return True
        return not self.verbs.isdisjoint(firsts) or not self.switching.isdisjoint((*firsts, *lasts))

    def is_refused(self, text: str) -> bool:
        """Returns whether nothing is to be done: "not the lamp"."""
        return not self.negations.isdisjoint(text.split())

    def joins(self, text: str) -> bool:
        """Returns whether `text` begins with a word that joins it to what is before: "and", "except", "not"."""
        return bool(self.joints.match(text) or self.exceptions.match(text)) or self.is_refused(text.split(" ", 1)[0])


def group_words(data: Mapping[str, Any], verbs: frozenset[str]) -> GroupWords:
    """Returns the words of a language for `find_group`, from the file of the skill. `verbs`: see `GroupWords`."""
    names = ("switching", "particles", "negations")
    switching, particles, negations = (frozenset(data[name].split()) for name in names)
    joints, exceptions = _between(data["joints"]), _between(data["exceptions"])
    return GroupWords(joints, exceptions, switching, particles, negations, verbs, data["joints"][0])


def _between(runs: Sequence[str]) -> re.Pattern[str]:
    words = "|".join(re.escape(run) for run in sorted(runs, key=len, reverse=True))
    return re.compile(rf"(?:^|\s+)(?:{words})\s+", re.IGNORECASE)


def with_joints(index: HomeIndex, parts: Sequence[str], words: GroupWords) -> str:
    """Returns names that are divided by commas as names with "and" between them.

    A comma is none before "except", and none between a device and its place: "the light, in the kitchen".
    """
    text = parts[0]
    for part in parts[1:]:
        is_polite = not index.has_place(part) and not index.without_place(part)
        first, second = (
            all(index.place(name) is not None for name in words.joints.split(side)) for side in (text, part)
        )
        is_place = first != second and not index.has_place(part if first else text)
        is_joined = words.joins(f"{part} ") or is_place or is_polite
        text = f"{text} {part}" if is_joined else f"{text} {words.joint} {part}"
    return text


def find_group(index: HomeIndex, text: str, query: Query, words: GroupWords) -> Found | Unclear | None:
    """Returns the devices that one or several names mean; None if a part of the words means nothing in this home."""
    exception = words.exceptions.search(text)
    if exception is not None and index.named(text, query) is None:
        return _without(index, text[: exception.start()], text[exception.end() :], query, words)
    exact = index.named(text, query)
    if exact is None and words.is_other_order(text):
        return None
    parts = (exact,) if exact is not None else _parts(index, text, query, words)
    return None if parts is None else _joined([_chosen(index, part, query.chosen) for part in parts])


def _without(index: HomeIndex, text: str, excluded: str, query: Query, words: GroupWords) -> Found | Unclear | None:
    """Returns the devices without those that are excluded; all that may be meant are."""
    together = replace(query, together=True)
    base, rest = find_group(index, text, together, words), _parts(index, excluded, together, words)
    if not isinstance(base, Found) or rest is None:
        return base if isinstance(base, Unclear) else None
    if words.exceptions.search(excluded) or any(isinstance(part, Unclear) and len(part.names) == 1 for part in rest):
        return None  # a name that is only similar may be another device
    gone = {name for part in rest for name in _ids(part)}
    left = tuple(device for device in base.devices if device.id not in gone)
    return Found(left, by_name=False, is_list=True) if left else None


def _chosen(index: HomeIndex, part: Found | Unclear, ids: frozenset[str]) -> Found | Unclear:
    """Returns the devices that were chosen of those that are unclear; else the same."""
    if not isinstance(part, Unclear) or ids.isdisjoint(part.ids):
        return part
    return Found(tuple(device for device in index.state.devices if device.id in ids), by_name=len(ids) == 1)


def _ids(part: Found | Unclear) -> tuple[str, ...]:
    return part.ids if isinstance(part, Unclear) else tuple(device.id for device in part.devices)


def _joined(parts: Sequence[Found | Unclear]) -> Found | Unclear:
    """Returns the devices of all parts; the question about the first that is unclear."""
    unclear = next((part for part in parts if isinstance(part, Unclear)), None)
    if unclear is not None or len(parts) == 1:
        return unclear or parts[0]
    devices = {device.id: device for part in parts if isinstance(part, Found) for device in part.devices}
    is_list = all(isinstance(part, Found) and (part.by_name or part.is_list) for part in parts)
    return Found(tuple(devices.values()), by_name=False, is_list=is_list)


def _parts(index: HomeIndex, text: str, query: Query, words: GroupWords) -> tuple[Found | Unclear, ...] | None:
    """Returns what each name means; None if one means nothing."""
    is_joined = 1 < len(words.joints.split(text)) <= _MAX_PARTS
    first = index.fold(words.joints.split(text)[0])
    if is_joined and not index.words.both.isdisjoint(first[:1]) and index.words.plural.isdisjoint(first):
        text = text.partition(" ")[2]  # "both the lamp and the fan"
    if is_joined and (parts := _union(index, text, query, words)) is not None:
        return parts
    single = index.find(text, query)
    return None if single is None else (single,)


def _union(index: HomeIndex, text: str, query: Query, words: GroupWords) -> tuple[Found | Unclear, ...] | None:
    """Returns the parts of joined names. A first name is as long as possible: "salt and pepper lamp"."""
    for joint in reversed(list(words.joints.finditer(text))):
        before, after = text[: joint.start()], text[joint.end() :]
        single = index.named(before, query) or (index.find(before, query) if not words.joints.search(before) else None)
        first = _union(index, before, query, words) if single is None else (single,)
        if first is None:
            continue
        second = index.named(after, query) or index.find(_like(index, words.joints.split(before), after), query)
        if second is not None:
            return *first, second
    return None


def _like(index: HomeIndex, before: Sequence[str], after: str) -> str:
    """Returns a name that is only a place with the kind before: "the fans in the hall and the office"."""
    kinds = (kind for name in reversed(before) if (kind := index.without_place(name)))
    return f"{next(kinds, '')} {after}" if index.place(after) is not None else after
