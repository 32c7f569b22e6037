"""Expressions of sentence templates: where they may end in a text, and with which slots they span a part of it.

hassil tries every way in which each item may match, and throws most away when a later item fails. Here the possible
ends are computed first, once for each rule and place in the text, and only ways that reach the end are followed. A rule
that several templates name is read once for all of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from hassil.util import normalize_text, remove_punctuation

Ends = tuple[int, ...]

_WORD_ENDS = (" ", "'")
"""A word also ends with its apostrophe: "l'" in "l'alarme"."""


@dataclass(frozen=True, slots=True)
class SlotValue:
    """The value of one slot.

    Attributes:
        name: The slot.
        value: What the list says; the words of a free slot.
        text: The words.
        is_free: Whether the slot takes any words.
        end: Where the words end in the text.
    """

    name: str
    value: Any
    text: str
    is_free: bool
    end: int


Slots = tuple[SlotValue, ...]


class Reading:
    """A text without punctuation, its words separated by one space, and what is known of it."""

    def __init__(self, text: str) -> None:
        plain = remove_punctuation(normalize_text(text.lower())).strip()
        self.text = f"{plain} "
        self.folded = self.text.casefold()  # as hassil folds required words: "heissen" for "heißen"
        self.words = frozenset(plain.split())
        self.first = plain.partition(" ")[0]
        letters = [index for index, char in enumerate(plain) if char.isalnum()]
        self.least_end = letters[-1] + 1 if letters else 0
        """Position from which only signs are left."""
        self.word_ends = tuple(index for index, char in enumerate(self.text) if char == " ")
        self.known: dict[tuple[object, ...], Ends] = {}

    def begin(self, position: int) -> int:
        """Returns where the next word begins."""
        return position + self.text.startswith(" ", position)

    def is_between_words(self, position: int) -> bool:
        """Returns whether a word may begin or end here."""
        return self.text.startswith(" ", position) or not position or self.text.startswith(" ", position - 1)


class Expression(Protocol):
    """A part of a template."""

    def ends(self, reading: Reading, begin: int) -> Ends:
        """Returns where the expression may end that begins here, the preferred end first."""
        ...

    def parses(self, reading: Reading, begin: int, end: int) -> Iterator[Slots]:
        """Yields the slots of every way to span this part of the text. `end`: one of `ends`."""
        ...


@dataclass(frozen=True, slots=True)
class Literal:
    """Words as they are.

    Attributes:
        words: The words.
        is_spaced_before: Whether a word begins there. The space itself may be taken already, after an option.
        is_spaced_after: Whether a word ends there.
    """

    words: str
    is_spaced_before: bool = False
    is_spaced_after: bool = False

    def ends(self, reading: Reading, begin: int) -> Ends:
        """See `Expression`."""
        text = reading.text
        if self.is_spaced_before or self.words:
            if text.startswith(" ", begin):
                begin += 1
            elif self.is_spaced_before and begin and not text.startswith(_WORD_ENDS, begin - 1):
                return ()
        if not self.words:
            return (begin,)
        if not text.startswith(self.words, begin):
            return ()
        end = begin + len(self.words)
        if not self.is_spaced_after:
            return (end,)
        return (end + 1,) if text.startswith(" ", end) else ()

    def parses(self, reading: Reading, begin: int, end: int) -> Iterator[Slots]:
        """See `Expression`."""
        yield ()


@dataclass(frozen=True, slots=True, eq=False)
class InOrder:
    """All items, one after the other."""

    items: tuple[Expression, ...]

    def ends(self, reading: Reading, begin: int) -> Ends:
        """See `Expression`."""
        return self._ends_from(reading, 0, begin)

    def _ends_from(self, reading: Reading, place: int, begin: int) -> Ends:
        if place == len(self.items):
            return (begin,)
        reached = self.items[place].ends(reading, begin)
        for later in range(place + 1, len(self.items)):
            if len(reached) != 1:
                return _merged(self._known_ends(reading, later, middle) for middle in reached)
            reached = self.items[later].ends(reading, reached[0])
        return reached

    def _known_ends(self, reading: Reading, place: int, begin: int) -> Ends:
        key = (self, place, begin)
        if key not in reading.known:
            reading.known[key] = self._ends_from(reading, place, begin)
        return reading.known[key]

    def parses(self, reading: Reading, begin: int, end: int) -> Iterator[Slots]:
        """See `Expression`."""
        return self._parses_from(reading, 0, begin, end)

    def _parses_from(self, reading: Reading, place: int, begin: int, end: int) -> Iterator[Slots]:
        if place == len(self.items):
            yield ()
            return
        item = self.items[place]
        for middle in item.ends(reading, begin):
            if end not in self._known_ends(reading, place + 1, middle):
                continue
            for slots in item.parses(reading, begin, middle):
                for others in self._parses_from(reading, place + 1, middle, end):
                    yield slots + others


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """One of the items."""

    items: tuple[Expression, ...]

    def ends(self, reading: Reading, begin: int) -> Ends:
        """See `Expression`."""
        return _merged(item.ends(reading, begin) for item in self.items)

    def parses(self, reading: Reading, begin: int, end: int) -> Iterator[Slots]:
        """See `Expression`."""
        for item in self.items:
            if end in item.ends(reading, begin):
                yield from item.parses(reading, begin, end)


@dataclass(slots=True, eq=False)
class Rule:
    """A named expression, which several templates share. `body` is set when all rules are made."""

    body: Expression = field(default_factory=lambda: Literal(""))

    def ends(self, reading: Reading, begin: int) -> Ends:
        """See `Expression`."""
        key = (self, begin)
        if key not in reading.known:
            reading.known[key] = ()  # a rule that names itself ends nowhere
            reading.known[key] = self.body.ends(reading, begin)
        return reading.known[key]

    def parses(self, reading: Reading, begin: int, end: int) -> Iterator[Slots]:
        """See `Expression`."""
        return self.body.parses(reading, begin, end)


class ValueList:
    """The values of a list, those of each first word together."""

    def __init__(self, values: Iterable[tuple[Expression, Any, frozenset[str] | None]]) -> None:
        """`values`: expression, value, and first words of each; None for any."""
        self._by_first: dict[str, list[tuple[int, Expression, Any]]] = {}
        self._any_first: list[tuple[int, Expression, Any]] = []
        for place, (expression, value, first) in enumerate(values):
            if first is None:
                self._any_first.append((place, expression, value))
            for word in first or ():
                self._by_first.setdefault(word, []).append((place, expression, value))

    def candidates(self, reading: Reading, begin: int) -> list[tuple[int, Expression, Any]]:
        """Returns place, expression and value of those that may begin here."""
        candidates = self._by_first.get(reading.text[begin : reading.text.find(" ", begin)], [])
        return sorted((*candidates, *self._any_first), key=lambda value: value[0]) if self._any_first else candidates

    def ends(self, reading: Reading, begin: int) -> Ends:
        """Returns where a value may end that begins here. It has whole words."""
        key = (self, begin)
        if key not in reading.known:
            ends = _merged(expression.ends(reading, begin) for _, expression, _ in self.candidates(reading, begin))
            reading.known[key] = tuple(end for end in ends if end > begin and reading.is_between_words(end))
        return reading.known[key]


@dataclass(frozen=True, slots=True, eq=False)
class ListSlot:
    """A slot for a value of a list."""

    name: str
    values: ValueList

    def ends(self, reading: Reading, begin: int) -> Ends:
        """See `Expression`."""
        if not reading.is_between_words(begin):
            return ()
        return self.values.ends(reading, reading.begin(begin))

    def parses(self, reading: Reading, begin: int, end: int) -> Iterator[Slots]:
        """See `Expression`."""
        start = reading.begin(begin)
        text = reading.text[start:end].strip()
        for _, expression, value in self.values.candidates(reading, start):
            if end in expression.ends(reading, start):
                slot = SlotValue(self.name, text if value is None else value, text, False, end)
                for inner in expression.parses(reading, start, end):
                    yield (*inner, slot)


@dataclass(frozen=True, slots=True, eq=False)
class FreeSlot:
    """A slot for any words, as few as possible first."""

    name: str

    def ends(self, reading: Reading, begin: int) -> Ends:
        """See `Expression`."""
        if not reading.is_between_words(begin):
            return ()
        start = reading.begin(begin)
        return tuple(end for end in reading.word_ends if end > start)

    def parses(self, reading: Reading, begin: int, end: int) -> Iterator[Slots]:
        """See `Expression`."""
        words = reading.text[reading.begin(begin) : end].strip()
        yield (SlotValue(self.name, words, words, True, end),)


def _merged(several: Iterable[Ends]) -> Ends:
    return tuple(dict.fromkeys(end for ends in several for end in ends))
