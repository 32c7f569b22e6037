"""Finds the time in a command to a home: "in ten minutes", "at half past seven", "for twenty minutes". Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assistant.skills.alarms.replies import names_time
from assistant.skills.dialog.words import dialog_words
from assistant.skills.home.faults import PACKAGE
from assistant.skills.languages.language import Language, read_skill, shared_files
from assistant.skills.languages.numerals import Numerals
from assistant.skills.languages.sentences import SentenceTemplates, TemplateMatch
from assistant.skills.timers.durations import duration_s

_MAX_PHRASE_WORDS = 10
_MAX_WORDS = 40
_MAX_WORDS_BEHIND = 4
"""Words of a time behind its last number or unit: "at seven on Monday morning"."""
_FRONT = 1
"""Words that may stand before a time that belongs to all commands of a sentence: "please in ten minutes …"."""
_DIGIT = re.compile(r"\d")
_MARKS = ".,?!;:¿¡"


@dataclass(frozen=True, slots=True)
class Timed:
    """A command with its time.

    Attributes:
        rest: The words without the time.
        time: The time, with the intent "schedule_in", "schedule_at" or "schedule_for".
        phrase: Its words.
        is_front: Whether it stands in front, and so belongs to all commands of the sentence.
    """

    rest: str
    time: TemplateMatch
    phrase: str
    is_front: bool


class TimePhrases:
    """The times of one language."""

    def __init__(self, language: Language) -> None:
        """Builds the templates, which blocks."""
        data = read_skill(PACKAGE, language.code)
        times = data["times"]
        rules = [{**shared, "intents": {}} for shared in shared_files(language.code)]
        self._templates = SentenceTemplates(language, [*rules, {"intents": times["intents"]}])
        self._cues = frozenset(times["cues"].split())
        self._anywhere = frozenset(times["units"].split())
        self._unplanned = frozenset(times["unplanned"].split())
        self._joints = frozenset(joint.split()[-1] for joint in dialog_words(language.code).joints)
        self._small = frozenset(data["words"]["small"].split())
        self._numerals: Numerals = language.numerals

    def find(self, phrase: str) -> TemplateMatch | None:
        """Returns the time that all of `phrase` is; None for other words."""
        match = self._templates.find(phrase)
        if match is None or not (names_time(match) or duration_s(match)):
            return None
        return match

    def is_time(self, text: str) -> bool:
        """Returns whether all of `text` is a time: "for ten minutes", "ten minutes"."""
        words = [word.lower().strip(_MARKS) for word in text.split()]
        is_span = len(words) > 1 and all(map(self._is_timely, words)) and not self._anywhere.isdisjoint(words[1:])
        return is_span or self.find(text) is not None

    def split(self, text: str) -> Iterator[Timed]:
        """Yields the ways in which a part of `text` is a time and the rest may be a command."""
        tokens = text.split()
        if len(tokens) > _MAX_WORDS:
            return
        plain = [token.lower().strip(_MARKS) for token in tokens]
        timely = [self._is_timely(word) for word in plain]
        for begin, word in enumerate(plain):
            if not (word in self._cues or timely[begin]):
                continue
            near = [index for index in range(begin, begin + _MAX_PHRASE_WORDS) if timely[index : index + 1] == [True]]
            if not near:
                continue
            last = min(near[-1] + _MAX_WORDS_BEHIND, begin + _MAX_PHRASE_WORDS, len(tokens) - 1)
            for end in range(last + 1, max(near[0], begin + 1), -1):
                phrase = " ".join(tokens[begin:end])
                match = self.find(phrase)
                rest = [*tokens[:begin], *tokens[end:]]
                is_joined = plain[begin - 1] in self._joints or (tokens[begin - 1][-1] == "," and phrase[-1] != ",")
                is_of_later = begin > _FRONT and is_joined and not self._small.issuperset(plain[end:])
                if match is not None and is_of_later:
                    break  # "turn on the kettle and in ten minutes the oven": the time is the oven's
                if match is not None and rest:
                    yield Timed(" ".join(rest), match, phrase, begin <= _FRONT)
                    break

    def mentioned(self, text: str) -> bool:
        """Returns whether a part of `text` is a time or a condition, be it one that cannot be planned."""
        plain = [token.lower().strip(_MARKS) for token in text.split()]
        counted = zip(map(self._is_timely, plain), (word in self._anywhere for word in plain[1:]), strict=False)
        return not self._unplanned.isdisjoint(plain) or any(map(all, counted)) or any(self.split(text))

    def _is_timely(self, word: str) -> bool:
        """Returns whether a word may be the number, or the unit, of a time."""
        if word in self._anywhere or _DIGIT.search(word) is not None:
            return True
        return self._numerals.number((word,), 0)[0] is not None
