"""Matches words against the sentence templates (YAML, hassil) and returns the intent with its values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hassil.intents import Intents, TextSlotList

from assistant.skills.languages.duration_words import (
    contains_24_hour_time,
    duration_words_of,
    keep_number_signs,
    with_24_hour_times,
    with_durations,
)
from assistant.skills.languages.language import Language, read_yaml, shared_files
from assistant.skills.languages.numerals import NumberedWords, find_numbers
from assistant.skills.languages.words import Wording, plain_words, without_frame, wording_of
from assistant.skills.templates.templates import Parse, Templates, templates_of

_DIALOG = "dialog_"
"""Prefix of the intents of answers to a question, and of references to the last request."""
_FREE = ("target", "named", "more", "place")
"""Slots for the words of a service: devices, rooms, places. The service says whether they fit."""
_MAX_FREE_WORDS = 16
"""Words for devices: several names in one request."""
_MAX_PLACE_WORDS = 8
# {number} in a template matches the index of a number, not its value. Number ranges in hassil would need an entry per
# number and cannot match most decimals. No template has more numbers than this.
MAX_NUMBERS = 6
_MAX_NAME_WORDS = 3
_ONE = "one"
"""Slot for "one" in "the second one", which is a number to `numerals.py`."""
_INSIDE_NAMES = frozenset(("and", "und", "et", "y", "e"))
"""Words that a name has only inside: "macaroni and cheese"."""
_MAX_DIALOG_WORDS = 14  # a longer sentence is a request of its own
_TASK = "task"
"""Slot for what to remind of."""
_MAX_TASK_WORDS = 12
_DAY_SLOTS = {"day": 1, "at_weekday": 1, "every_weekday": 2, "every": 2, "also_weekday": 3}
"""Slots for the day, those first that belong to fewer words: "every Monday" is no task that ends with "every"."""
_BEFORE_TASK = ("d'", "de ", "que ", "qué ")
"""Words that introduce the task in French and Spanish: "rappelle-moi d'appeler Anna"."""
# Prefixes of intents with durations and times of day.
_TIMED = ("timer_", "alarm_", "reminder_", "snooze", "schedule_")


@dataclass(frozen=True, slots=True)
class TemplateMatch:
    """A template that matches the whole sentence.

    Attributes:
        intent: Name of the intent in the YAML file.
        values: Values of the text slots, by slot.
        words: The spoken words of each value and number, by slot.
        numbers: Values of the number slots, by slot.
        answer: The fixed answer of the template; None if there is none.
        missing: Whether the answer only says that no skill can do this.
        open_ended: Whether the sentence ends with free words, so that more of them may follow.
    """

    intent: str
    values: dict[str, str]
    words: dict[str, str]
    numbers: dict[str, Fraction]
    answer: str | None
    missing: bool
    open_ended: bool = False


def load_intents(language: Language, files: Iterable[Mapping[str, Any]]) -> Intents:
    """Parses the templates of skills' files in a language."""
    merged: dict[str, dict[str, object]] = {"intents": {}, "expansion_rules": {}, "lists": {}}
    for file in files:
        for kind, own in merged.items():
            own.update(file.get(kind) or {})
    intents = Intents.from_dict({**merged, "language": language.code})
    intents.slot_lists["unit"] = TextSlotList.from_strings(language.units, allow_template=False, name="unit")
    singulars = (unit.one.lower() for unit in language.unit_names.values())
    intents.slot_lists["one_unit"] = TextSlotList.from_strings(singulars, allow_template=False, name="one_unit")
    places = ((str(place), place) for place in range(MAX_NUMBERS))
    intents.slot_lists["number"] = TextSlotList.from_tuples(places, allow_template=False, name="number")
    return intents


class SentenceTemplates:
    """The compiled templates of a language. Only the constructor blocks."""

    def __init__(self, language: Language, files: Iterable[Mapping[str, Any]] | None = None) -> None:
        """`files`: of the skills whose templates these are; None for skills that share their sentences."""
        loaded = load_intents(language, shared_files(language.code) if files is None else files)
        dialog = {name: intent for name, intent in loaded.intents.items() if name.startswith(_DIALOG)}
        self.intents = replace(loaded, intents={n: intent for n, intent in loaded.intents.items() if n not in dialog})
        every = templates_of(loaded)
        self._requests = every.of_intents(lambda name: name not in dialog)
        self._dialog = every.of_intents(lambda name: name in dialog)
        self._timed = self._requests.of_intents(lambda name: name.startswith(_TIMED))
        self.wording = wording_of(read_yaml(language.code, "wording"))
        self._numerals = language.numerals
        self._duration_words = duration_words_of(read_yaml(language.code, "durations"))
        self._without_contractions = replace(self.wording, contractions={})
        # "the first timer" selects one of several; elsewhere "first" is dropped
        selecting = tuple(pair for pair in self.wording.shortened if not pair[0].startswith(" "))
        self._dialog_wording = replace(self.wording, shortened=selecting)

    def find(self, text: str) -> TemplateMatch | None:
        """Returns the template that matches all of `text`, with or without its polite phrases.

        If none matches, durations and times of day are rewritten into the form of the templates and matched again.
        """
        match = self._find(text)
        return None if match is None else _with_capitals(match, text)

    @property
    def first_words(self) -> frozenset[str]:
        """The words with which requests begin, apart from those that begin with free words."""
        return self._requests.first_words

    def find_all(self, text: str) -> Iterator[TemplateMatch]:
        """Yields every way in which a template matches all of `text`, without rewriting it."""
        words = plain_words(text, self.wording)
        return self._match_all((words, without_frame(words, self.wording)), self._requests)

    def dialog_words(self, text: str) -> tuple[str, ...]:
        """Returns the words of `text` as an answer to a question, without polite phrases."""
        return without_frame(plain_words(text, self._dialog_wording), self._dialog_wording)

    def find_dialog(self, text: str) -> Iterator[TemplateMatch]:
        """Yields every way in which all of `text` answers a question, or refers to the last request."""
        wording = self._dialog_wording
        words = plain_words(text, wording)
        if not 0 < len(words) <= _MAX_DIALOG_WORDS:
            return
        timed = plain_words(keep_number_signs(text.lower()), wording)
        rewritten = (form(timed, self._duration_words, self._numerals) for form in (with_24_hour_times, with_durations))
        tried = (words, *rewritten)
        every = (*tried, *(without_frame(words, wording) for words in tried))
        for match in self._match_all(every, self._dialog):
            if match.numbers.get(_ONE, 1) == 1:  # "the second one", not "the second two"
                yield match

    def _match_all(self, tried: Iterable[tuple[str, ...]], templates: Templates) -> Iterator[TemplateMatch]:
        for words in dict.fromkeys(tried):
            numbered = find_numbers(words, self._numerals)
            if not words or len(numbered.numbers) > MAX_NUMBERS:
                continue
            for parse in templates.parses(" ".join(numbered.words)):
                if _names_are_plausible(parse, self.wording):
                    yield _template_match(parse, numbered)

    def _find(self, text: str) -> TemplateMatch | None:
        words = plain_words(text, self.wording)
        # "0700 hours" is not a duration, although a template would match it as one.
        if contains_24_hour_time(words, self._duration_words) and (match := self._match_timed(text, words)) is not None:
            return match
        bare = without_frame(words, self.wording)
        match = self._match(words, self._requests) or (self._match(bare, self._requests) if bare != words else None)
        return match or self._match_timed(text, words)

    def _match_timed(self, text: str, words: tuple[str, ...]) -> TemplateMatch | None:
        timed = plain_words(keep_number_signs(text.lower()), self.wording)
        tried = {words}
        for in_form in (with_24_hour_times, with_durations):
            other = in_form(timed, self._duration_words, self._numerals)
            if other not in tried:
                tried.add(other)
                if (match := self._match(without_frame(other, self.wording), self._timed)) is not None:
                    return match
        return None

    def recognized_words(self, text: str) -> tuple[str, ...]:
        """Returns the words of `text` with contractions unchanged, without polite phrases."""
        return without_frame(plain_words(text, self._without_contractions), self._without_contractions)

    def _match(self, words: tuple[str, ...], templates: Templates) -> TemplateMatch | None:
        numbered = find_numbers(words, self._numerals)
        if not words or len(numbered.numbers) > MAX_NUMBERS:
            return None
        best: TemplateMatch | None = None
        for parse in templates.parses(" ".join(numbered.words)):
            if not _names_are_plausible(parse, self.wording):
                continue
            match = _template_match(parse, numbered)
            if _TASK not in match.values:
                return match
            if best is None or _preference(match) > _preference(best):
                best = match
        return best


def _names_are_plausible(parse: Parse, wording: Wording) -> bool:
    """Returns whether the text in each name slot can be a name."""
    free = [(slot.name, slot.text.split()) for slot in parse.slots if slot.is_free]
    for name, words in free:
        if name == _TASK:
            if not (0 < len(words) <= _MAX_TASK_WORDS and any(map(str.isalpha, "".join(words)))):
                return False
        elif name in _FREE:
            if not 0 < len(words) <= (_MAX_PLACE_WORDS if name == "place" else _MAX_FREE_WORDS):
                return False
        elif not (
            0 < len(words) <= _MAX_NAME_WORDS
            and all(word.replace("'", "").isalpha() for word in words)
            and wording.not_in_names.isdisjoint((*words[:1], *words[-1:], *(set(words[1:-1]) - _INSIDE_NAMES)))
        ):
            return False
    return True


def _template_match(parse: Parse, numbered: NumberedWords) -> TemplateMatch:
    values: dict[str, str] = {}
    words: dict[str, str] = {}
    numbers: dict[str, Fraction] = {}
    for slot in parse.slots:
        if isinstance(slot.value, int):
            numbers[slot.name], words[slot.name] = numbered.numbers[slot.value], numbered.number_words[slot.value]
        else:
            values[slot.name], words[slot.name] = str(slot.value).strip(), slot.text
    if _TASK in values:
        values[_TASK] = _task(values[_TASK], numbered)
    values |= {slot: _as_said(values[slot], numbered) for slot in _FREE if slot in values}
    answer = str(parse.metadata["answer"]) if "answer" in parse.metadata else None
    open_ended = any(slot.name == _TASK and slot.end >= len(parse.text) - 1 for slot in parse.slots)
    return TemplateMatch(
        *(parse.intent, values, words, numbers, answer, bool(parse.metadata.get("missing")), open_ended),
    )


def _task(matched: str, numbered: NumberedWords) -> str:
    """Returns what to remind of, with the numbers as they were said."""
    for word in _BEFORE_TASK:
        matched = matched.removeprefix(word)
    return _as_said(matched, numbered)


def _as_said(matched: str, numbered: NumberedWords) -> str:
    """Returns matched words with the numbers as they were said."""
    indexes = ((word, numbered.index_of(word)) for word in matched.split())
    return " ".join(word if index is None else numbered.number_words[index] for word, index in indexes)


def _preference(match: TemplateMatch) -> tuple[bool, int, bool, int]:
    """Ranks matches of a reminder: one with a time first, then one with a day, then one with the time before the task.

    A task after the time is as short as possible, so that the time keeps all its words. One before the time is as long
    as possible: "meet Bob at five" in "remind me to meet Bob at five at four". With a weekday it is short, so that
    the "on" in "on Monday" is no part of it.
    """
    length = len(match.values[_TASK])
    shortest = match.open_ended or not {"at_weekday", "every_weekday"}.isdisjoint(match.values)
    days = max((rank for slot, rank in _DAY_SLOTS.items() if slot in match.values), default=0)
    return match.intent != "reminder_open", days, match.open_ended, -length if shortest else length


def _with_capitals(match: TemplateMatch, text: str) -> TemplateMatch:
    """Returns the match with its task as it is written in `text`, unless punctuation or a contraction differs."""
    task = match.values.get(_TASK)
    if task is None or (position := text.lower().find(task)) < 0 or len(text.lower()) != len(text):
        return match
    return replace(match, values={**match.values, _TASK: text[position : position + len(task)]})
