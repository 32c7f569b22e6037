"""Words for homes in one language, the devices that a request may mean, and those that it means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assistant.home import Device, Kind

Words = tuple[str, ...]

MAX_ASKED = 3
"""Devices named when the assistant asks which one is meant."""


@dataclass(frozen=True, slots=True)
class HomeWords:
    """The words of one language for homes.

    Attributes:
        kinds: Maps a word to the kind of devices it means: "lamp" to light.
        sorts: Groups of words for the same sort of device: "tv", "television".
        plural: Words that mean all devices of their kind: "lights".
        every: Words that mean all devices: "everything".
        all: Words with which devices of the whole home are meant, not those of a room: "all lights".
        here: Word runs for the room in which somebody speaks: "in here".
        everywhere: Words for the whole home, which limit nothing.
        both: Words that count two devices: "both".
        small: Articles and prepositions, which are ignored.
        pronouns: Words that name no device: "it".
        floors: Groups of names for the same floor: "downstairs", "ground floor".
        compounds: Whether names and kinds are written as one word: "Küchenlicht".
    """

    kinds: Mapping[str, Kind]
    sorts: tuple[frozenset[str], ...]
    plural: frozenset[str]
    every: frozenset[str]
    all: frozenset[str]
    here: tuple[Words, ...]
    everywhere: frozenset[str]
    both: frozenset[str]
    small: frozenset[str]
    pronouns: frozenset[str]
    floors: tuple[tuple[Words, ...], ...]
    compounds: bool

    def names_nothing(self, folded_words: Words) -> bool:
        """Returns whether the words name no device: "everything", "both", "the house"."""
        return set(folded_words) <= self.every | self.everywhere | self.both | self.small


@dataclass(frozen=True, slots=True)
class Found:
    """The devices that are meant.

    Attributes:
        devices: One or several.
        by_name: Whether one device was named; else they are those of a place or kind.
        is_list: Whether several were named, or some excepted, so that only their names tell which they are.
    """

    devices: tuple[Device, ...]
    by_name: bool
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Unclear:
    """The words mean one device but fit several, or they are only similar to the name of one.

    Attributes:
        names: The names for the question.
        ids: The entity ids, in the same order; () if the names are rooms, one of which is meant by "here".
    """

    names: tuple[str, ...]
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """The devices that may be meant.

    Attributes:
        kinds: Their kinds.
        default: The kinds that are meant by a place alone.
        everything: The kinds that are meant by "everything"; None: as `default`.
        together: Whether "the light" means all lights if there are several; else the user is asked.
        only: Returns whether a device may be meant; None: each may.
        is_answer: Whether the assistant asked which device is meant, so that a number alone is enough.
        near: The area or floor that is meant if none is named; "" for none.
        chosen: Ids of the devices that the user chose where the words were unclear.
    """

    kinds: Sequence[Kind]
    default: Sequence[Kind] = ()
    everything: Sequence[Kind] | None = None
    together: bool = False
    only: Callable[[Device], bool] | None = None
    is_answer: bool = False
    near: str = ""
    chosen: frozenset[str] = frozenset()

    def allows(self, device: Device) -> bool:
        """Returns whether a device may be meant, wherever it is."""
        return device.kind in self.kinds and (self.only is None or self.only(device))
