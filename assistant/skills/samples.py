"""English example sentences for the command language model of an offline recognizer."""

import random
import re
from collections.abc import Callable, Iterator

from hassil.expression import (
    Alternative,
    Expression,
    Group,
    ListReference,
    Permutation,
    RuleReference,
    Sentence,
    Sequence,
    TextChunk,
)
from hassil.intents import TextSlotList, WildcardSlotList
from num2words import num2words

from assistant.skills.measures import UNITS, Dimension
from assistant.skills.sentences import SentenceTemplates

# Sentences from one template. The longest lists (cities, units, numbers) occur in five or more templates each.
_PER_TEMPLATE = 40
# Rare requests with many wordings get fewer sentences, so that they do not dominate.
_RARE_INTENTS = ("days_", "day_of", "alarm_", "timer_", "dice", "pick_", "fast", "slow")
_PER_RARE_TEMPLATE = 12
_TIME_UNITS = ("seconds", "minutes", "minutes", "hours", "second", "minute", "hour")  # not those that are only written
_HOURS = tuple(str(num2words(hour)) for hour in range(1, 13))
_MINUTES = tuple(str(num2words(minute)).replace("-", " ") for minute in range(5, 60, 5))
_DAYS = tuple(str(num2words(day)).replace("-", " ") for day in range(1, 31))
# After this many draws without a new sentence, a template counts as exhausted.
_MAX_FRUITLESS_DRAWS = 20
_WHOLE_NUMBERS = (*range(101), 106, 120, 144, 150, 180, 200, 212, 250, 300, 365, 500, 750, 1000, 1500, 2000)
_NUMBERS = (
    *(str(num2words(number)).replace("-", " ").replace(",", "") for number in _WHOLE_NUMBERS),
    *("a hundred", "three point five", "one point five", "two and a half", "zero point two five", "minus ten"),
)
# Lists and slots with a fixed value.
_FIXED_VALUES = {("number", "times"): "one", ("number", "q"): "three", ("this_year", "this_year"): "this year"}
# Words that people ask to spell.
_SPELLED_WORDS = (
    "necessary accommodate mississippi rhythm embarrass separate definitely restaurant receive because beautiful "
    "february wednesday tomorrow friend science weather knowledge language bicycle queue colonel schedule calendar "
    "neighbor psychology photograph elephant chocolate vegetable"
).split()
# Placeholder for any name. Names are not sampled. In one of three variants of the sample, a clip of a plain "set a
# timer for ten minutes" was recognized as a command only without them. That is one clip: measure before relying on it.
_NAME_PLACEHOLDER = "..."
# The most frequent polite openings. Combining every opening with every sentence would dominate the sample.
_ASKING = ("{} please", "hey {}", "tell me {}", "can you tell me {}", "do you know {}")
_ORDERING = ("please {}", "{} please", "hey {}", "can you {}", "could you {} please")
_FRAMES = dict.fromkeys(("time", "date", "weather"), _ASKING)
_FRAMES |= dict.fromkeys(("lights", "timer_set", "timer_cancel", "music", "repeat", "alarm_set"), _ORDERING)
_WRONG_ARTICLE = re.compile(r"\ban (?![aeiou]|hour)|\ba (?=[aeiou]|hour)")


def sample_sentences(sentences: SentenceTemplates, understood: Callable[[str], bool]) -> tuple[str, ...]:
    """Draws a few thousand distinct `understood` sentences from the templates; the result is deterministic."""
    rng = random.Random(0)  # noqa: S311 - a reproducible sample, no secret
    found: dict[str, None] = {}
    for intent in sentences.intents.intents.values():
        frames = _FRAMES.get(intent.name, ())
        max_sentences = _PER_RARE_TEMPLATE if intent.name.startswith(_RARE_INTENTS) else _PER_TEMPLATE
        for data in intent.data:
            for template in data.sentences:
                for sentence in _draw(template, sentences, rng, max_sentences):
                    found.update(dict.fromkeys(_variants(sentence, sentences.wording.contractions)))
                    if frames:
                        found[rng.choice(frames).format(sentence)] = None
    found.update(dict.fromkeys(_frequent_requests()))
    return tuple(sentence for sentence in found if understood(sentence))


def _frequent_requests() -> Iterator[str]:
    """Yields frequent requests that random draws may miss: timers, small sums, the spelling of difficult words."""
    for word in _SPELLED_WORDS:
        yield from (f"spell {word}", f"how do you spell {word}")
    for number in (*range(1, 21), 25, 30, 40, 45, 50, 60, 90):
        words = str(num2words(number)).replace("-", " ")
        for unit in ("second", "minute", "hour"):
            length = f"{words} {unit}" if number == 1 else f"{words} {unit}s"
            yield from (f"set a timer for {length}", f"set a {words} {unit} timer", f"start a timer for {length}")
            yield f"set timer for {length}"
    # Every verb with every unit: a command is accepted only if its form, apart from numbers, is in the sample.
    for verb in ("set", "start", "create", "make", "begin", "add", "give me", "set up", "put on"):
        yield f"{verb} timer"
        for unit in ("seconds", "minutes", "hours"):
            yield from (f"{verb} timer for ten {unit}", f"{verb} a timer for ten {unit}")
        for operation in ("plus", "minus", "times", "divided by"):
            for other in (2, 3, 5, 7, 9, 10, 12):
                yield f"what's {words} {operation} {num2words(other)}"
                yield f"what is {num2words(other)} {operation} {words}"


def _draw(template: Sentence, sentences: SentenceTemplates, rng: random.Random, max_sentences: int) -> Iterator[str]:
    drawn: set[str] = set()
    fruitless = 0
    while len(drawn) < max_sentences and fruitless < _MAX_FRUITLESS_DRAWS:
        walk = _RandomExpansion(sentences, rng, rng.choice(tuple(Dimension)))
        sentence = " ".join("".join(walk.words(template.expression)).split())
        if sentence in drawn or _NAME_PLACEHOLDER in sentence or _WRONG_ARTICLE.search(sentence):
            fruitless += 1
            continue
        fruitless = 0
        drawn.add(sentence)
        yield sentence


def _variants(sentence: str, contractions: dict[str, str]) -> Iterator[str]:
    """Yields `sentence` and its contracted forms."""
    yield sentence
    for short, full in contractions.items():
        if "'" in short and f"{full} " in f"{sentence} ":
            yield f" {sentence} ".replace(f" {full} ", f" {short} ").strip()


class _RandomExpansion:
    """A random expansion of a template. All its units have the same dimension."""

    def __init__(self, sentences: SentenceTemplates, rng: random.Random, dimension: Dimension) -> None:
        self._intents = sentences.intents
        self._rng = rng
        self._units = tuple(unit for unit in UNITS if unit.dimension is dimension)

    def words(self, expression: Expression) -> Iterator[str]:
        match expression:
            case TextChunk():
                yield expression.original_text
            case Alternative():
                yield from self.words(self._rng.choice(expression.items))
            case Permutation():
                for item in self._rng.sample(expression.items, len(expression.items)):
                    yield from self.words(item)
            case Sequence() | Group():
                for item in expression.items:
                    yield from self.words(item)
            case RuleReference():
                yield from self.words(self._intents.expansion_rules[expression.rule_name].expression)
            case ListReference():
                yield from self._list_value(expression)

    def _list_value(self, reference: ListReference) -> Iterator[str]:
        match reference.list_name, reference.slot_name:
            case slot if slot in _FIXED_VALUES:
                yield _FIXED_VALUES[slot]
            case "number", "h":
                yield self._rng.choice(_HOURS)
            case "number", "m":
                yield self._rng.choice(_MINUTES)
            case "number", "d" | "od":
                yield self._rng.choice(_DAYS)
            case "time_unit", _:
                yield self._rng.choice(_TIME_UNITS)
            case "number", _:
                yield self._rng.choice(_NUMBERS)
            case "unit", _:
                yield self._rng.choice(self._units).many.lower()
            case "one_unit", _:
                yield self._rng.choice(self._units).one.lower()
            case name, _:
                values = self._intents.slot_lists[name]
                if isinstance(values, WildcardSlotList):
                    yield _NAME_PLACEHOLDER
                    return
                assert isinstance(values, TextSlotList)
                yield from self.words(self._rng.choice(values.values).text_in)
