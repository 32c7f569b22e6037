"""Finds the devices that somebody means by a few words, as a recognizer writes them. Pure.

Words are compared without case, accents, articles and plural endings, and with a small distance of letters. A place
("in the kitchen", "downstairs") limits the devices; a kind ("lights") selects among them; other words must be part of a
device's name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assistant.home import Device, HomeState, Kind
from assistant.home.device_names import (
    GUARDED,
    NamedDevice,
    joined_ways,
    joined_words,
    parts_of,
    same_name,
    with_name,
    written_names,
)
from assistant.home.likeness import CLOSE, MAX_LONGER, MIN_FUZZY_CHARS, SURE, is_sure, likeness
from assistant.home.query import Found, HomeWords, Query, Unclear, Words


@dataclass(frozen=True, slots=True)
class _Said:
    """The words for devices in their roles.

    Attributes:
        words: All that are compared.
        rest: Those without the place and the count.
        others: Those of `rest` that are no kind.
        meant: The kinds that are named.
        exact: The devices whose whole name the words are.
        is_certain: Whether they are certainly this name.
        place: The area or floor; None if none is said.
        near: The area or floor of the user; "" if it does not count.
        count: How many devices there are; 0: not said.
        every: Whether all devices are meant.
        is_wide: Whether the whole home is meant.
        is_here: Whether the room of the user is meant.
    """

    words: Words
    rest: Words
    others: Words
    meant: set[Kind]
    exact: Sequence[NamedDevice]
    is_certain: bool
    place: str | None
    near: str
    count: int
    every: bool
    is_wide: bool
    is_here: bool


@dataclass(slots=True)
class HomeIndex:
    """The devices of a home by the words of one language."""

    state: HomeState
    words: HomeWords
    fold: Callable[[str], Words]
    _named: list[NamedDevice] = field(init=False)
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
            for name in written_names(device)
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
        allowed = [named for named in self._named if query.allows(named.device)]
        said = self._said(self.fold(text), query, allowed)
        if said.exact:
            return _one_of(_nearest(said.exact, said.near), is_certain=said.is_certain)
        if said.is_here and said.place is None:
            return self._ask_room(allowed)
        here = [named for named in allowed if said.place is None or _is_in(named.device, said.place)]
        return self._of_kinds(said, query, here) or self._of_names(said, query, here, allowed)

    def _said(self, all_words: Words, query: Query, allowed: Sequence[NamedDevice]) -> _Said:
        """Returns the words in their roles."""
        folded_words, is_here = self._without_here(all_words)
        words = self._significant(folded_words)
        every = any(word in self.words.every for word in words)
        words = tuple(word for word in words if word not in self.words.every)
        if query.is_answer and not any("1" in named.words for named in allowed):
            words = tuple(word for word in words if word != "1")  # "the bedroom one"
        is_wide = self._means_all(folded_words)
        near = "" if every or is_wide else query.near
        exact, is_certain = ([], True) if every or is_here else self._same_name(words, allowed)
        if is_here:
            both_ways = (self._significant(all_words), words)  # "the room lamp"; "the desk lamp here"
            exact = next(filter(None, (with_name(joined_words(way), allowed) for way in both_ways)), [])
        place, rest = self._place(words, SURE if GUARDED.issuperset(query.kinds) else CLOSE)
        if is_here and place is None and query.near:
            place = query.near
        count, rest = self._counted(rest)
        meant = {kind for word in rest if (kind := self._kind(word)) is not None}
        others = tuple(word for word in rest if self._kind(word) is None and word not in self.words.everywhere)
        every = every or (not others and bool(rest) and not meant and not count)  # "turn off the house"
        return _Said(words, rest, others, meant, exact, is_certain, place, near, count, every, is_wide, is_here)

    def _same_name(self, words: Words, allowed: Sequence[NamedDevice]) -> tuple[list[NamedDevice], bool]:
        """Returns the devices with this name; none for the plural of several in a place: "the kitchen lights"."""
        exact, is_certain = same_name(words, allowed)
        place, rest = self._place(words) if self.words.plural.intersection(words) else (None, ())
        meant = {self._kind(word) for word in rest}
        if place is not None and None not in meant and not with_name(joined_words(words), exact):
            several = {
                named.device.id for named in allowed if _is_in(named.device, place) and named.device.kind in meant
            }
            exact = exact if len(several) < 2 else []
        return exact, is_certain

    def _of_kinds(self, said: _Said, query: Query, here: Sequence[NamedDevice]) -> Found | Unclear | None:
        """Returns the devices of a place, of a kind, or of the whole home; None if other words are said, too."""
        if said.others or not (said.place is not None or said.meant or said.every):
            return None
        kinds = (
            said.meant & set(query.kinds) if said.meant else set(_everything(query) if said.every else query.default)
        )
        asked = [named for named in here if named.device.kind in kinds]
        in_room = [named for named in asked if said.place is None and said.near and _is_in(named.device, said.near)]
        group = self._of_sort(said.rest, in_room or asked)
        if not group or said.count:
            return _counted_group(group, said.count) if group else None
        is_wide = said.every or said.is_wide
        is_single = said.place is None and not (in_room or is_wide or query.together)
        is_several = is_wide or any(word in self.words.plural for word in said.rest)
        is_single = (is_single or query.everything == ()) and not is_several
        return _of_group(group, is_single=is_single, is_answer=query.is_answer and not is_wide)

    def _of_names(
        self, said: _Said, query: Query, here: Sequence[NamedDevice], allowed: Sequence[NamedDevice]
    ) -> Found | Unclear | None:
        """Returns the devices whose names have the words."""
        words, count = said.words, said.count
        if not words or (said.every and not (count and said.others)):
            return None
        if not query.is_answer and not count and all(word.isdecimal() or len(word) == 1 for word in words):
            partly = _devices(self._best_by_part(words, said.meant, allowed)[0])
            return Unclear(_names(partly), _ids(partly)) if partly else None  # "the three": the 3D printer?
        named, is_certain = self._by_part(said.rest, said.meant, here) if said.others else ([], True)
        if not named and said.place is not None and not count:
            named, is_certain = self._by_part(words, said.meant, allowed)
        if named and count:
            return _counted_group(_devices(_nearest(named, said.near)), count if is_certain else 0)
        return _one_of(_nearest(named, said.near), is_certain=is_certain) if named else None

    def _ask_room(self, allowed: Sequence[NamedDevice]) -> Unclear | None:
        """Returns the question for the room that "here" is, if it is not known; None without rooms."""
        rooms = tuple(dict.fromkeys(named.device.area for named in allowed if named.device.area))
        return Unclear(rooms) if rooms else None

    def _counted(self, words: Words) -> tuple[int, Words]:
        """Returns how many devices the words count, and the other words; 0 if they count none: "lamp two"."""
        if any(word in self.words.both for word in words):
            return 2, tuple(word for word in words if word not in self.words.both)
        if len(words) > 1 and words[0].isdecimal() and any(word in self.words.plural for word in words[1:]):
            return int(words[0]), words[1:]
        return 0, words

    def named(self, text: str, query: Query) -> Found | Unclear | None:
        """Returns the devices whose whole name `text` is; None for other words."""
        allowed = [named for named in self._named if query.allows(named.device)]
        exact, is_certain = self._same_name(self._plain(text), allowed)
        return _one_of(_nearest(exact, query.near), is_certain=is_certain) if exact else None

    def place(self, text: str) -> str | None:
        """Returns the name of the area or floor that is all of `text`; None for other words."""
        place, rest = self._place(self._plain(text))
        return None if rest else place

    def with_room(self, text: str, room: str) -> str:
        """Returns the words of `text` with the name of a room instead of "here"."""
        words = text.split()
        spans = [(start, end) for start in range(len(words)) for end in range(len(words), start, -1)]
        here = next((span for span in spans if self.fold(" ".join(words[slice(*span)])) in self.words.here), (0, 0))
        return ", ".join(filter(None, (" ".join((*words[: here[0]], *words[here[1] :])), room)))

    def room(self, name: str) -> str:
        """Returns the area or floor that has this very name, apart from its spelling; "" for none."""
        joined = "".join(self._plain(name))
        return next((place for names, place in self._places.items() if joined and "".join(names) == joined), "")

    def without_place(self, text: str) -> str:
        """Returns the words of `text` that name no area or floor."""
        return " ".join(self._place(self._plain(text))[1])

    def has_place(self, text: str) -> bool:
        """Returns whether `text` names an area or floor."""
        return self._place(self._plain(text))[0] is not None

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
            alike = ((kind, likeness(word, known)) for known, kind in self.words.kinds.items())
            kind = next((kind for kind, like in alike if like >= (SURE if kind in GUARDED else 0.85)), None)
        return kind

    def _of_sort(self, words: Words, among: Sequence[NamedDevice]) -> tuple[Device, ...]:
        """Returns the devices of the sort that is named, such as the TV among the players; all if none is named."""
        sort_words = {word for sort in self.words.sorts if sort & set(words) for word in sort}
        matches = [named for named in among if sort_words & {*named.words, named.device.attributes.get("device_class")}]
        return _devices(matches or among)

    def _name(self, device: Device, name: str, beside: Words) -> NamedDevice:
        words = self._plain(name)
        return NamedDevice(device, words, parts_of(words), joined_words(words), beside, any(map(self._kind, words)))

    def _alike(self, word: str) -> dict[str, float]:
        """Returns the words of names and places that may be `word`, and how alike they are."""
        lengths = range(len(word) - MAX_LONGER, len(word) + MAX_LONGER + 1)
        others = (other for length in lengths for other in self._vocabulary.get(length, ()))
        return {other: alike for other in others if (alike := likeness(word, other)) >= CLOSE}

    def _place(self, words: Words, closest: float = CLOSE) -> tuple[str | None, Words]:
        """Returns the place among the words, which is at least so alike, and the other words."""
        best: tuple[float, int, str, Words] | None = None
        for names, place in self._places.items():
            joined = "".join(names)
            for length in range(max(1, len(names) - 1), len(names) + 2):
                for index in range(len(words) - length + 1):
                    window = words[index : index + length]
                    together = "".join(window)
                    alike = likeness(together, joined)
                    key = (alike, len(joined))
                    if alike >= closest and is_sure(together, alike) and (best is None or key > best[:2]):
                        best = (*key, place, words[:index] + words[index + length :])
        return (None, words) if best is None else (best[2], best[3])

    def _by_part(self, words: Words, meant: set[Kind], among: Sequence[NamedDevice]) -> tuple[list[NamedDevice], bool]:
        """Returns the devices whose name, area and kind explain all words: the best of them, several if equal.

        The second value is whether the words are certainly theirs.
        """
        for way, joined in ((words, ""), *joined_ways(words)):
            matches, is_certain = self._best_by_part(way, meant, among)
            if matches:
                return matches, is_certain and all(named.has_joined(joined) for named in matches)
        return [], True

    def _best_by_part(
        self, words: Words, meant: set[Kind], among: Iterable[NamedDevice]
    ) -> tuple[list[NamedDevice], bool]:
        alike = {word: self._alike(word) for word in words}
        kinds = {word: self._kind(word) for word in words}
        best, matches, unsure = 0.0, [], set[int]()
        for named in among:
            if meant and named.device.kind not in meant and not named.has_kind:
                continue
            score, is_certain = self._score(named, alike, kinds)
            if not is_certain:
                unsure.add(id(named))
            if score > best + 1e-6:
                best, matches = score, [named]
            elif score and score > best - 1e-6:
                matches.append(named)
        return matches, not any(id(named) in unsure for named in matches)

    def _score(
        self, named: NamedDevice, alike: Mapping[str, Mapping[str, float]], kinds: Mapping[str, Kind | None]
    ) -> tuple[float, bool]:
        """Returns how well a device's name fits the words, 0 if a word is not explained, and whether it is certain.

        A word that is only similar does not mean a part of a name: "a dime" is not "Movie time".
        """
        score, is_certain, is_guarded = 0.0, True, named.device.kind in GUARDED
        for word, others in alike.items():
            own = max((others.get(part, 0.0) for part in named.parts), default=0.0)
            if kinds[word] != named.device.kind:
                beside = max((others.get(part, 0.0) for part in named.beside), default=0.0)
                if is_sure(word, beside, is_guarded=is_guarded):
                    pass
                elif not own:
                    return 0.0, True
                else:
                    is_certain = is_certain and is_sure(word, own, is_guarded=is_guarded)
            score += own
        if not is_certain and not self._is_whole(named, alike):
            return 0.0, True
        return score and score - 0.01 * len(named.words), is_certain  # the name with the fewest other words

    def _is_whole(self, named: NamedDevice, alike: Mapping[str, Mapping[str, float]]) -> bool:
        """Returns whether the words are all of a name, apart from its kind."""
        said = {part for others in alike.values() for part in others if part in named.parts}
        return all(self._kind(word) is not None or any(word in part for part in said) for word in named.words)


def _everything(query: Query) -> Sequence[Kind]:
    return query.default if query.everything is None else query.everything


def _one_of(named: Sequence[NamedDevice], *, is_certain: bool) -> Found | Unclear:
    devices = _devices(named)
    return Found(devices, by_name=True) if len(devices) == 1 and is_certain else Unclear(_names(devices), _ids(devices))


def _counted_group(group: tuple[Device, ...], count: int) -> Found | Unclear:
    """Returns the devices if there are as many as the user says; else asks which."""
    return Found(group, by_name=False, is_list=True) if len(group) == count else Unclear(_names(group), _ids(group))


def _of_group(group: tuple[Device, ...], *, is_single: bool, is_answer: bool) -> Found | Unclear:
    """Returns the devices of a place or kind. One is meant by "the light", and by the answer to a question."""
    if len(group) > 1 and (is_single or is_answer):
        return Unclear(_names(group), _ids(group))
    return Found(group, by_name=is_single)


def _is_in(device: Device, place: str) -> bool:
    return place in (device.area, device.floor)


def _nearest(named: Sequence[NamedDevice], near: str) -> Sequence[NamedDevice]:
    """Returns those in this place; all if none is."""
    return [candidate for candidate in named if near and _is_in(candidate.device, near)] or named


def _ids(devices: Sequence[Device]) -> tuple[str, ...]:
    return tuple(device.id for device in devices)


def _devices(named: Iterable[NamedDevice]) -> tuple[Device, ...]:
    """Returns the devices, each once: a device has several names."""
    return tuple({candidate.device.id: candidate.device for candidate in named}.values())


def _names(devices: Sequence[Device]) -> tuple[str, ...]:
    """Returns the names of devices, with the area where two have the same name."""
    names = [device.name for device in devices]
    return tuple(
        f"{device.name} ({device.area})" if names.count(device.name) > 1 and device.area else device.name
        for device in devices
    )
