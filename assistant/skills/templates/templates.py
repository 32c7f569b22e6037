"""The sentence templates of a language, sorted by their first word. hassil parses them; `expressions.py` matches."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

import hassil.expression as parsed
from hassil.intents import IntentData, Intents, SlotList, TextSlotList, WildcardSlotList

from assistant.skills.templates.expressions import (
    Expression,
    FreeSlot,
    InOrder,
    ListSlot,
    Literal,
    OneOf,
    Reading,
    Rule,
    Slots,
    ValueList,
)

_EMPTY = frozenset(("",))


@dataclass(frozen=True, slots=True)
class Parse:
    """A way in which a template matches a whole text.

    Attributes:
        intent: Name of the intent.
        metadata: What the file says beside the template.
        slots: The slots, in order.
        text: The text, with a space at its end.
    """

    intent: str
    metadata: Mapping[str, Any]
    slots: Slots
    text: str


class _Template:
    """A template. Its expression is made when it is first needed: most are never needed in a conversation."""

    def __init__(
        self, intent: str, data: IntentData, sentence: parsed.Sentence, first: frozenset[str] | None, maker: "_Maker"
    ) -> None:
        """Makes no expression yet.

        Args:
            intent: Name of its intent.
            data: Its block in the file.
            sentence: What hassil has read.
            first: Words with one of which the text begins; None if any may.
            maker: Makes the expression.
        """
        self.intent = intent
        self.data = data
        self.first = first
        self._sentence = sentence
        self._maker = maker

    @cached_property
    def expression(self) -> Expression:
        """The expression that it matches."""
        return self._maker.made(self._sentence.expression)

    @cached_property
    def _clauses(self) -> tuple[frozenset[str], ...]:
        return tuple(self._sentence.get_required_clauses(self._maker.rules))

    def may_match(self, reading: Reading) -> bool:
        """Returns whether the text has the words that it must have."""
        keywords = self.data.required_keywords
        if keywords and keywords.isdisjoint(reading.words):
            return False
        return all(any(part in reading.folded for part in clause) for clause in self._clauses)


class Templates:
    """Templates, in their order."""

    def __init__(self, templates: Iterable[_Template]) -> None:
        self._templates = tuple(templates)
        self._by_first: dict[str, list[int]] = {}
        self._any_first: list[int] = []
        for place, template in enumerate(self._templates):
            if template.first is None:
                self._any_first.append(place)
            for word in template.first or ():
                self._by_first.setdefault(word, []).append(place)

    @property
    def first_words(self) -> frozenset[str]:
        """The words with which templates begin, apart from those that begin with any words."""
        return frozenset(self._by_first)

    def of_intents(self, accepts: Callable[[str], bool]) -> "Templates":
        """Returns the templates of some intents."""
        return Templates(template for template in self._templates if accepts(template.intent))

    def parses(self, text: str) -> Iterator[Parse]:
        """Yields every way in which a template matches all of `text`."""
        reading = Reading(text)
        for place in sorted((*self._by_first.get(reading.first, ()), *self._any_first)):
            template = self._templates[place]
            if not template.may_match(reading):
                continue
            for end in template.expression.ends(reading, 0):
                if end >= reading.least_end:
                    for slots in template.expression.parses(reading, 0, end):
                        yield Parse(template.intent, template.data.metadata or {}, slots, reading.text)


def templates_of(intents: Intents) -> Templates:
    """Makes the templates that hassil has read. It blocks."""
    return Templates(_templates(intents))


def _templates(intents: Intents) -> Iterator[_Template]:
    maker = _Maker(intents.slot_lists, intents.expansion_rules)
    for intent in intents.intents.values():
        for data in intent.data:
            for sentence in data.sentences:
                first = _or_any(maker.first(sentence.expression, ends_word=True))
                yield _Template(intent.name, data, sentence, first, maker)


class _Maker:
    """Makes expressions of what hassil has parsed."""

    def __init__(self, lists: Mapping[str, SlotList], rules: dict[str, parsed.Sentence]) -> None:
        self.rules = rules
        self._lists = lists
        self._made: dict[str, Rule] = {}
        self._known_first: dict[tuple[str, bool], frozenset[str] | None] = {}
        self._value_lists: dict[str, tuple[ValueList, frozenset[str] | None]] = {}

    def made(self, expression: parsed.Expression) -> Expression:
        """Returns an expression."""
        match expression:
            case parsed.TextChunk(text=text):
                return Literal(" ".join(text.lower().split()), text[:1].isspace(), text[-1:].isspace())
            case parsed.Permutation(items=items):
                orders = permutations([self.made(item) for item in items])
                return OneOf(tuple(InOrder(order) for order in orders))
            case parsed.Alternative(items=items):
                return OneOf(tuple(self.made(item) for item in items))
            case parsed.Group(items=items):
                made = tuple(self.made(item) for item in items)
                used = tuple(item for item in made if item != Literal(""))
                return used[0] if len(used) == 1 else InOrder(used)
            case parsed.RuleReference(rule_name=name):
                return self._rule(name)
            case parsed.ListReference(list_name=name, slot_name=slot):
                return FreeSlot(slot) if self._is_free(name) else ListSlot(slot, self._values(name)[0])
        raise ValueError(f"a template has a {type(expression).__name__}")

    def _rule(self, name: str) -> Expression:
        if name not in self._made:
            rule = self._made[name] = Rule()
            if name in self.rules:
                rule.body = self.made(self.rules[name].expression)
        return self._made[name]

    def _is_free(self, name: str) -> bool:
        return isinstance(self._lists.get(name), WildcardSlotList)

    def _values(self, name: str) -> tuple[ValueList, frozenset[str] | None]:
        if name not in self._value_lists:
            slot_list = self._lists.get(name)
            values = slot_list.values if isinstance(slot_list, TextSlotList) else []
            first = [self.first(value.text_in, ends_word=True) for value in values]
            made = [
                (self.made(value.text_in), value.value_out, _or_any(words))
                for value, words in zip(values, first, strict=True)
            ]
            self._value_lists[name] = ValueList(made), _union(_or_any(words) for words in first)
        return self._value_lists[name]

    # ---- the first word ----

    def first(self, expression: parsed.Expression, *, ends_word: bool) -> frozenset[str] | None:
        """Returns the words with which a text may begin; None for any, with "" if the expression may be empty.

        `ends_word`: whether a word ends where the expression ends.
        """
        match expression:
            case parsed.TextChunk(text=text):
                return _first_of_words(text, ends_word)
            case parsed.Alternative(items=items):
                return _union(self.first(item, ends_word=ends_word) for item in items)
            case parsed.Sequence(items=items):
                return self._first_of_sequence(items, ends_word)
            case parsed.RuleReference(rule_name=name) if name in self.rules:
                return self._first_of_rule(name, ends_word)
            case parsed.ListReference(list_name=name) if not self._is_free(name):
                return self._values(name)[1]
        return None

    def _first_of_rule(self, name: str, ends_word: bool) -> frozenset[str] | None:
        key = (name, ends_word)
        if key not in self._known_first:
            self._known_first[key] = None  # for a rule that names itself
            self._known_first[key] = self.first(self.rules[name].expression, ends_word=ends_word)
        return self._known_first[key]

    def _first_of_sequence(self, items: list[parsed.Expression], ends_word: bool) -> frozenset[str] | None:
        words: set[str] = set()
        for place, item in enumerate(items):
            first = self.first(item, ends_word=self._begins_word(items[place + 1 :], ends_word))
            if first is None:
                return None
            words |= first - _EMPTY
            if "" not in first:
                return frozenset(words)
        return frozenset((*words, ""))

    def _begins_word(self, items: list[parsed.Expression], ends_word: bool) -> bool:
        """Returns whether a word certainly ends before these items."""
        for place, item in enumerate(items):
            rest = items[place + 1 :]
            match item:
                case parsed.TextChunk(text=""):
                    continue
                case parsed.TextChunk(text=text):
                    return text[0].isspace()
                case parsed.ListReference():
                    return True  # a slot has whole words
                case parsed.Alternative(items=options):
                    return all(self._begins_word([option, *rest], ends_word) for option in options)
                case parsed.Sequence(items=inside):
                    return self._begins_word([*inside, *rest], ends_word)
                case _:
                    return False
        return ends_word


def _first_of_words(text: str, ends_word: bool) -> frozenset[str] | None:
    words = text.lower().split()
    is_whole = len(words) > 1 or text[-1:].isspace() or ends_word
    return frozenset(words[:1] or ("",)) if is_whole or not words else None


def _or_any(first: frozenset[str] | None) -> frozenset[str] | None:
    return None if first is None or "" in first else first


def _union(several: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    words: set[str] = set()
    for some in several:
        if some is None:
            return None
        words |= some
    return frozenset(words)
