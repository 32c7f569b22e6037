"""Finds the devices that somebody means by a few words, as a recognizer writes them. Pure.

Words are compared without case, accents, articles and plural endings, and with a small distance of letters. A place
("in the kitchen", "downstairs") limits the devices; a kind ("lights") selects among them; other words must be part of a
device's name.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from assistant.home import Device, HomeState, Kind
from assistant.home.likeness import CLOSE, MAX_LONGER, MIN_FUZZY_CHARS, likeness
from assistant.home.query import Found, HomeWords, Query, Unclear, Words

_JOINERS = frozenset(("and", "und", "et", "y", "plus", "mas", "slash"))
"""Words that names also write as "&", "+" or "/", or leave out."""
_SINGLE_ROMAN = re.compile(r"(?<=\w )[IVX]$")
_ROMAN_VALUES = {"I": "1", "V": "5", "X": "10"}


@dataclass(frozen=True, slots=True)
class _Named:
    """A device and the words of one of its names.

    Attributes:
        device: The device.
        words: The words of the name.
        parts: The same, and each two neighbours as one word: "Wi-Fi" is "wifi".
        joined: The same as one word.
        beside: The words of its area and floor.
        has_kind: Whether the name says what kind the device is.
    """

    device: Device
    words: Words
    parts: Words
    joined: str
    beside: Words
    has_kind: bool


@dataclass(slots=True)
class HomeIndex:
    """The devices of a home by the words of one language."""

    state: HomeState
    words: HomeWords
    fold: Callable[[str], Words]
    _named: list[_Named] = field(init=False)
    _vocabulary: dict[int, set[str]] = field(default_factory=dict)  # all words of names and places, by length
    _places: dict[Words, str] = field(init=False)  # all names of an area or floor, and the name in the home

    def __post_init__(self) -> None:
        plain = self._plain
        aliases = self.state.place_aliases
        places = {
            place: tuple(word for name in (place, *aliases.get(place, ())) for word in plain(name))
            for place in {place for device in self.state.devices for place in (device.area, device.floor)}
        }
        self._named = [
            self._name(device, name, (*places[device.area], *places[device.floor]))
            for device in self.state.devices
            for name in _written_names(device)
        ]
        for word in {word for named in self._named for word in (*named.parts, *named.beside)}:
            self._vocabulary.setdefault(len(word), set()).add(word)
        self._places = {}
        for floor in self.state.floors:
            own = plain(floor)
            names = next((group for group in self.words.floors if own in group), (own,))
            for name in (*names, *map(plain, aliases.get(floor, ()))):
                self._places.setdefault(name, floor)
        for area in self.state.areas:
            self._places[plain(area)] = area
        for area in self.state.areas:
            for alias in aliases.get(area, ()):
                self._places.setdefault(plain(alias), area)
        self._places.pop((), None)

    def find(self, text: str, query: Query) -> Found | Unclear | None:
        """Returns what `text` means, such as "the kitchen light"; None if nothing in this home."""
        folded_words, is_here = self._without_here(self.fold(text))
        words = self._significant(folded_words)
        every = any(word in self.words.every for word in words)
        words = tuple(word for word in words if word not in self.words.every)
        allowed = [named for named in self._named if query.allows(named.device)]
        if query.is_answer and not any("1" in named.words for named in allowed):
            words = tuple(word for word in words if word != "1")  # "the bedroom one"
        is_wide = self._means_all(folded_words)
        near = "" if every or is_wide else query.near
        if not every and (exact := _same_name(words, allowed)):
            return _one_of(_nearest(exact, near))
        place, rest = self._place(words)
        if place is None and is_here and query.near:
            place = query.near
        meant = {kind for word in rest if (kind := self._kind(word)) is not None}
        others = tuple(word for word in rest if self._kind(word) is None and word not in self.words.everywhere)
        here = [named for named in allowed if place is None or _is_in(named.device, place)]
        every = every or (not others and bool(rest) and not meant)  # "turn off the house"
        if not others and (place is not None or meant or every):
            kinds = meant & set(query.kinds) if meant else set((query.everything if every else ()) or query.default)
            asked = [named for named in here if named.device.kind in kinds]
            in_room = [named for named in asked if place is None and near and _is_in(named.device, near)]
            group = self._of_sort(rest, in_room or asked)
            is_single = place is None and not (in_room or every or is_wide or query.together)
            if group:
                is_single = is_single and not any(word in self.words.plural for word in rest)
                return _of_group(group, is_single=is_single, is_answer=query.is_answer and not (every or is_wide))
        if every or not words:
            return None
        if not query.is_answer and all(word.isdecimal() or len(word) == 1 for word in words):
            partly = _devices(self._best_by_part(words, meant, allowed))
            return Unclear(_names(partly), _ids(partly)) if partly else None  # "the three": the 3D printer?
        named = self._by_part(rest, meant, here) if others else []
        if not named and place is not None:
            named = self._by_part(words, meant, allowed)
        return _one_of(_nearest(named, near)) if named else None

    def named(self, text: str, query: Query) -> Found | Unclear | None:
        """Returns the devices whose whole name `text` is; None for other words."""
        allowed = [named for named in self._named if query.allows(named.device)]
        exact = _same_name(self._plain(text), allowed)
        return _one_of(_nearest(exact, query.near)) if exact else None

    def place(self, text: str) -> str | None:
        """Returns the name of the area or floor that is all of `text`; None for other words."""
        place, rest = self._place(self._plain(text))
        return None if rest else place

    def room(self, name: str) -> str:
        """Returns the area or floor that has this very name, apart from its spelling; "" for none."""
        joined = "".join(self._plain(name))
        return next((place for names, place in self._places.items() if joined and "".join(names) == joined), "")

    def without_place(self, text: str) -> str:
        """Returns the words of `text` that name no area or floor."""
        return " ".join(self._place(self._plain(text))[1])

    # ---- words ----

    def _plain(self, text: str) -> Words:
        return self._significant(self.fold(text))

    def _means_all(self, folded_words: Words) -> bool:
        return any(word in self.words.all or word in self.words.everywhere for word in folded_words)

    def _without_here(self, folded_words: Words) -> tuple[Words, bool]:
        """Returns the words without those for the room of the user, and whether there were such."""
        for run in self.words.here:
            for index in range(len(folded_words) - len(run) + 1):
                if folded_words[index : index + len(run)] == run:
                    return folded_words[:index] + folded_words[index + len(run) :], True
        return folded_words, False

    def _significant(self, folded_words: Words) -> Words:
        """Returns the words without articles and prepositions, compounds in parts."""
        words = tuple(
            word
            for word, before in zip(folded_words, ("", *folded_words), strict=False)
            if word not in self.words.small or (len(word) == 1 and before.isdecimal())  # "lamp 1a"
        )
        if not self.words.compounds:
            return words
        return tuple(part for word in words for part in self._parts(word))

    def _parts(self, word: str) -> Words:
        """Splits "kuechenlicht" into "kuechen" and "licht"."""
        if word in self.words.kinds:
            return (word,)
        for kind in sorted(self.words.kinds, key=len, reverse=True):
            if word.endswith(kind) and len(word) - len(kind) >= 3:
                return word[: -len(kind)], kind
        return (word,)

    def _kind(self, word: str) -> Kind | None:
        kind = self.words.kinds.get(word)
        if kind is None and len(word) > MIN_FUZZY_CHARS:
            kind = next((k for known, k in self.words.kinds.items() if likeness(word, known) >= 0.85), None)
        return kind

    def _of_sort(self, words: Words, among: Sequence[_Named]) -> tuple[Device, ...]:
        """Returns the devices of the sort that is named, such as the TV among the players; all if none is named."""
        sort_words = {word for sort in self.words.sorts if sort & set(words) for word in sort}
        matches = [named for named in among if sort_words & {*named.words, named.device.attributes.get("device_class")}]
        return _devices(matches or among)

    def _name(self, device: Device, name: str, beside: Words) -> _Named:
        words = self._plain(name)
        return _Named(device, words, _parts(words), _joined(words), beside, any(map(self._kind, words)))

    def _alike(self, word: str) -> dict[str, float]:
        """Returns the words of names and places that may be `word`, and how alike they are."""
        lengths = range(len(word) - MAX_LONGER, len(word) + MAX_LONGER + 1)
        others = (other for length in lengths for other in self._vocabulary.get(length, ()))
        return {other: alike for other in others if (alike := likeness(word, other)) >= CLOSE}

    def _place(self, words: Words) -> tuple[str | None, Words]:
        """Returns the place among the words, and the other words."""
        best: tuple[float, int, str, Words] | None = None
        for names, place in self._places.items():
            joined = "".join(names)
            for length in range(max(1, len(names) - 1), len(names) + 2):
                for index in range(len(words) - length + 1):
                    window = words[index : index + length]
                    alike = likeness("".join(window), joined)
                    key = (alike, len(joined))
                    if alike >= CLOSE and (best is None or key > best[:2]):
                        best = (*key, place, words[:index] + words[index + length :])
        return (None, words) if best is None else (best[2], best[3])

    def _by_part(self, words: Words, meant: set[Kind], among: Sequence[_Named]) -> list[_Named]:
        """Returns the devices whose name, area and kind explain all words: the best of them, several if equal."""
        for way in (words, *_joined_ways(words)):
            if matches := self._best_by_part(way, meant, among):
                return matches
        return []

    def _best_by_part(self, words: Words, meant: set[Kind], among: Iterable[_Named]) -> list[_Named]:
        alike = {word: self._alike(word) for word in words}
        kinds = {word: self._kind(word) for word in words}
        best, matches = 0.0, []
        for named in among:
            if meant and named.device.kind not in meant and not named.has_kind:
                continue
            score = self._score(named, alike, kinds)
            if score > best + 1e-6:
                best, matches = score, [named]
            elif score and score > best - 1e-6:
                matches.append(named)
        return matches

    def _score(
        self, named: _Named, alike: Mapping[str, Mapping[str, float]], kinds: Mapping[str, Kind | None]
    ) -> float:
        """Returns how well a device's name fits the words; 0 if a word is not explained."""
        score = 0.0
        for word, others in alike.items():
            own = max((others.get(part, 0.0) for part in named.parts), default=0.0)
            if not own and kinds[word] != named.device.kind and not any(part in others for part in named.beside):
                return 0.0
            score += own
        return score and score - 0.01 * len(named.words)  # the name with the fewest other words


def _written_names(device: Device) -> tuple[str, ...]:
    """Returns the names of a device. A single Roman numeral at the end may be a letter, too: "Lamp V"."""
    names = (device.name, *device.aliases)
    as_numbers = (_SINGLE_ROMAN.sub(lambda match: _ROMAN_VALUES[match[0]], name) for name in names)
    return tuple(dict.fromkeys((*names, *as_numbers)))


def _parts(words: Words) -> Words:
    return (*words, *(first + second for first, second in pairwise(words)))


def _joined_ways(words: Words) -> Iterable[Words]:
    """Yields the words with two neighbours as one word: "wi fi router" as "wifi router"."""
    for index in range(len(words) - 1):
        if not (words[index] + words[index + 1]).isdecimal():
            yield (*words[:index], words[index] + words[index + 1], *words[index + 2 :])


def _joined(words: Words) -> str:
    return "".join(word for word in words if word not in _JOINERS)


def _same_name(words: Words, among: Sequence[_Named]) -> list[_Named]:
    """Returns the devices whose whole name these words are: exactly, else the most alike."""
    joined = _joined(words)
    if not joined:
        return []
    if exact := [named for named in among if named.joined == joined]:
        return exact
    best, matches = 0.88, []
    for named in among:
        if abs(len(named.joined) - len(joined)) > MAX_LONGER:
            continue
        alike = likeness(joined, named.joined)
        if alike > best + 1e-6:
            best, matches = alike, [named]
        elif matches and alike > best - 1e-6:
            matches.append(named)
    return matches


def _one_of(named: Sequence[_Named]) -> Found | Unclear:
    devices = _devices(named)
    return Found(devices, by_name=True) if len(devices) == 1 else Unclear(_names(devices), _ids(devices))


def _of_group(group: tuple[Device, ...], *, is_single: bool, is_answer: bool) -> Found | Unclear:
    """Returns the devices of a place or kind. One is meant by "the light", and by the answer to a question."""
    if len(group) > 1 and (is_single or is_answer):
        return Unclear(_names(group), _ids(group))
    return Found(group, by_name=is_single)


def _is_in(device: Device, place: str) -> bool:
    return place in (device.area, device.floor)


def _nearest(named: Sequence[_Named], near: str) -> Sequence[_Named]:
    """Returns those in this place; all if none is."""
    return [candidate for candidate in named if near and _is_in(candidate.device, near)] or named


def _ids(devices: Sequence[Device]) -> tuple[str, ...]:
    return tuple(device.id for device in devices)


def _devices(named: Iterable[_Named]) -> tuple[Device, ...]:
    """Returns the devices, each once: a device has several names."""
    return tuple({candidate.device.id: candidate.device for candidate in named}.values())


def _names(devices: Sequence[Device]) -> tuple[str, ...]:
    """Returns the names of devices, with the area where two have the same name."""
    names = [device.name for device in devices]
    return tuple(
        f"{device.name} ({device.area})" if names.count(device.name) > 1 and device.area else device.name
        for device in devices
    )
