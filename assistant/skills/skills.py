"""Finds the answer to a user's words that needs no language model. Entry point of all skills."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Protocol

from assistant.home import HomePort
from assistant.skills import Reply, SkillAnswer, SkillContext
from assistant.skills.alarms import cancel_alarms, set_alarm, set_alarm_in, tell_alarms
from assistant.skills.arithmetic import ARITHMETIC, calculate
from assistant.skills.calculation.expressions import calculate_expression, expression_in
from assistant.skills.calculation.tips import PERCENTAGES, calculate_percent, calculate_tip, split_sum
from assistant.skills.chance import flip_coin, pick_number, roll_dice
from assistant.skills.clock import (
    date_of_other_day,
    load_zones,
    tell_date,
    tell_month,
    tell_time,
    tell_year,
    time_elsewhere,
)
from assistant.skills.conversion import CONVERSION, convert_units
from assistant.skills.days import date_ahead, days_between, days_since, days_until, tell_weekday, tell_whether
from assistant.skills.dialog.answers import Utterance, answer_to_question, name_chosen
from assistant.skills.dialog.memory import OpenQuestion, Subject
from assistant.skills.dialog.references import refer
from assistant.skills.dialog.refusals import refusal
from assistant.skills.dialog.requests import spoken_answer
from assistant.skills.dialog.several import answer_several, joint_pattern
from assistant.skills.dialog.words import DialogWords, dialog_words
from assistant.skills.language import Language, base_language, load_language
from assistant.skills.lists.replies import LIST_REPLIES
from assistant.skills.lists.sentences import ListWords, list_words
from assistant.skills.reminders import (
    cancel_reminders,
    set_incomplete_reminder,
    set_reminder,
    set_reminder_in,
    tell_reminders,
)
from assistant.skills.ringing.ring_answers import only_stops_ring
from assistant.skills.ringing.timer_changes import (
    add_time,
    cancel_everything,
    change_length,
    count_timers,
    move_alarm,
    restart_timers,
)
from assistant.skills.sentences import SentenceTemplates, TemplateMatch
from assistant.skills.snooze import snooze
from assistant.skills.spelling import spelling_of
from assistant.skills.timing import cancel_timers, pause_timers, resume_timers, set_timer, tell_time_left
from assistant.skills.voice import change_voice, set_volume

# Turns a match into a reply, or into None if the words are only partly understood.
_Binder = Callable[[TemplateMatch], Reply | None]

_BRACKETS = frozenset("()")
_MAX_REQUEST_CHARS = 1000
"""A longer text is no request to a skill: the longest sentence of a skill has 500 characters."""
_MAX_REPEATED_WORDS = 3
"""A longer answer to a question that is not understood is another request."""


@dataclass(frozen=True, slots=True)
class Match:
    """The skill that understood the words, and its reply to a context.

    Attributes:
        skill: Name of the skill.
        reply: Returns the answer.
        missing: Whether the answer only says that no skill can do this.
        open_ended: Whether the sentence ends with free words, so that it may go on: "remind me at five to call".
        at_home: Whether only a user of the home may ask this.
        found: The template that matched, to refer to; None for none.
    """

    skill: str
    reply: Reply
    missing: bool = False
    open_ended: bool = False
    at_home: bool = False
    found: TemplateMatch | None = None


class ServiceSkill(Protocol):
    """A skill that uses a service outside of this program: a home, the weather."""

    def load(self, code: str) -> None:
        """Builds the tables of a language, which blocks. Raises OSError if the sentence files are missing."""
        ...

    def match(self, text: str, code: str) -> Match | None:
        """Returns the reply if the skill understands all of `text`. `code`: a language that was loaded."""
        ...

    def follow_up(self, text: str, context: SkillContext, code: str) -> Match | None:
        """Returns the reply if `text` answers the question of the skill, or refers to what it was asked last.

        Both are in `context.memory`.
        """
        ...

    @property
    def home(self) -> HomePort | None:
        """The home that it uses; None for another service."""
        ...

    @property
    def version(self) -> object:
        """Changes when the same words may be understood differently."""
        ...

    def refresh(self) -> None:
        """Reads again what may have changed, in the background. Called when the user begins to speak."""
        ...

    async def aclose(self) -> None:
        """Ends the connections."""
        ...


def no_model_answer(text: str, language: str = "en") -> str:
    """Returns the spoken answer to `text` if no skill understands it and there is no language model.

    The answer is in English if the language is not supported. Raises OSError if the installation is incomplete.
    """
    speaking = load_language(base_language(language) or "en")
    return speaking.say("no_model" if text.strip() else "no_words")


@dataclass(frozen=True, slots=True)
class _Tables:
    """The matching data of one language."""

    language: Language
    sentences: SentenceTemplates
    binders: Mapping[str, tuple[str, _Binder]]
    words: DialogWords
    joint: re.Pattern[str]
    lists: ListWords

    def find(self, text: str) -> TemplateMatch | None:
        """See `Requests`."""
        return self.lists.find(text) or self.sentences.find(text)

    def reply_to(self, found: TemplateMatch, context: SkillContext) -> SkillAnswer | None:
        """See `Requests`."""
        skill, bind = self.binders[found.intent]
        reply = bind(found)
        return None if reply is None else spoken_answer(reply(context), skill, found)

    def utterance(self, text: str) -> Utterance:
        """Returns what the user says after a question, or after a request."""
        matches, in_list = tuple(self.sentences.find_dialog(text)), tuple(self.lists.find_follow_ups(text))
        if in_list and self.find(text) is not None:
            in_list = ()  # a request of its own: "take a note"
        by_position = tuple(one for one in in_list if "nth" in one.values)  # "the last one" means a list, too
        return Utterance(text, self.sentences.dialog_words(text), (*by_position, *(matches or in_list)))

    def match(self, text: str) -> Match | None:
        spelling = spelling_of(self.sentences.recognized_words(text), self.language.spelling)
        if spelling is not None:
            return Match("spelling", _fixed_reply(spelling))
        wording = self.sentences.wording
        expression = expression_in(text, wording.expression_frame, wording.thousands, wording.decimal)
        if expression is not None:
            reply = calculate_expression(expression, self.language)
            return None if reply is None else Match("arithmetic", reply)
        found = self.find(text)
        if found is None:
            return None
        if found.intent in ARITHMETIC and not _BRACKETS.isdisjoint(text):
            return None  # brackets change the order of operations, which no template supports
        if found.answer is not None:
            return Match(found.intent, _fixed_reply(found.answer), found.missing, found.open_ended)
        skill, bind = self.binders[found.intent]
        reply = bind(found)
        return None if reply is None else Match(skill, reply, open_ended=found.open_ended, found=found)


class Skills:
    """All skills. After `load`, they use neither I/O nor a clock, except for the services."""

    name = "skills"

    def __init__(self, services: Sequence[ServiceSkill] = ()) -> None:
        """`services`: asked in this order for what no other skill can do; public for the tools that use them, too."""
        self.services = services
        self._tables: dict[str, _Tables] = {}
        # The same words are matched twice in a row: by the router, then by the answer.
        self._latest: tuple[tuple[object, ...], Match | None] | None = None

    @property
    def home(self) -> HomePort | None:
        """The home; None without one."""
        return next((service.home for service in self.services if service.home is not None), None)

    @property
    def has_services(self) -> bool:
        """Whether there is a service."""
        return bool(self.services)

    def refresh(self) -> None:
        """Has the services read again what may have changed."""
        for service in self.services:
            service.refresh()

    async def aclose(self) -> None:
        """Ends the connections of the services."""
        for service in self.services:
            await service.aclose()

    def load(self, language: str = "en") -> None:
        """Builds the tables of a language and matches once, which blocks for about 100 ms.

        A second call returns immediately. Does nothing for an unsupported language. Raises OSError if the sentence
        files are missing.
        """
        code = base_language(language)
        if code is None or code in self._tables:
            return
        speaking = load_language(code)
        sentences = SentenceTemplates(speaking)
        zones = load_zones(sentences.zone_names())
        words = dialog_words(code)
        binders = {**_reply_binders(speaking, zones), **_effect_binders(speaking)}
        tables = _Tables(speaking, sentences, binders, words, joint_pattern(words.joints), list_words(code))
        for text in sentences.wording.warm_up:
            tables.match(text)
        for service in self.services:
            service.load(code)
        self._tables[code] = tables

    def match(self, text: str, language: str = "en") -> Match | None:
        """Returns the skill that understands all of `text`; None if no skill does or the language is unsupported.

        Raises RuntimeError before `load` of that language.
        """
        code = base_language(language)
        if code is None or len(text) > _MAX_REQUEST_CHARS:
            return None
        key = (code, text, *(service.version for service in self.services))
        latest = self._latest  # read once, because another thread may replace it
        if latest is not None and latest[0] == key:
            return latest[1]
        match = self._tables_of(code).match(text)
        if match is None or match.missing:
            match = next((m for service in self.services if (m := service.match(text, code)) is not None), match)
        self._latest = (key, match)
        return match

    def answer(self, text: str, context: SkillContext) -> SkillAnswer | None:
        """Returns the answer to `text` in the language of the context; None if a language model should answer.

        An answer to an open question comes first, then what refers to the last request, then a request of its own,
        then several requests. Raises RuntimeError before `load` of that language.
        """
        code = base_language(context.language)
        if code is None or len(text) > _MAX_REQUEST_CHARS:
            return None
        answer = self._answer_one(text, context, code)
        if answer is not None and not answer.missing:
            return answer
        joint = self._tables_of(code).joint
        return answer_several(text, context, joint, lambda part, then: self._answer_one(part, then, code)) or answer

    def _answer_one(self, text: str, context: SkillContext, code: str) -> SkillAnswer | None:
        """Returns the answer to one request."""
        tables, memory = self._tables_of(code), context.memory
        if context.running.ringing and self._only_stops_ring(text, code):
            return SkillAnswer(tables.language.say("ring_stopped"), "timers")
        question, subjects = memory.heard_question(context.last_reply, code), memory.subjects_in(code)
        if question is not None or subjects:
            answer = _answer_in_dialog(tables, text, context, question, subjects)
            if answer is not None:
                return answer
        match = self.match(text, code)
        if (match is None or match.missing) and (question is not None or subjects):
            named = text if question is None else name_chosen(question, tables.utterance(text), tables.language)
            found = (service.follow_up(named, context, code) for service in self.services)
            match = next((follow_up for follow_up in found if follow_up is not None), match)
        if match is not None and match.at_home and not context.at_home:
            match = tables.match(text)
        if match is None:
            return None
        return spoken_answer(match.reply(context), match.skill, match.found, missing=match.missing)

    def _only_stops_ring(self, text: str, code: str) -> bool:
        match, words = self.match(text, code), len(self._tables_of(code).sentences.recognized_words(text))
        if match is None or match.missing:
            return only_stops_ring(words, None, None)
        return only_stops_ring(words, match.skill, match.found)

    def refusal(self, text: str, context: SkillContext) -> SkillAnswer:
        """Returns the answer to `text` if no skill understands it and there is no language model.

        A short answer to an open question is asked for once more. Raises OSError if the installation is incomplete.
        """
        code = base_language(context.language) or "en"
        self.load(code)
        tables, memory = self._tables_of(code), context.memory
        text = text[:_MAX_REQUEST_CHARS]
        words = tables.sentences.dialog_words(text)
        question, asked = memory.heard_question(context.last_reply, code), memory.question_text
        if question is not None and asked and context.last_reply != asked and 0 < len(words) <= _MAX_REPEATED_WORDS:
            return SkillAnswer(asked, "dialog", question=question, question_text=asked)
        return refusal(text, words, tables.words, tables.language, again=memory.refused)

    def _tables_of(self, code: str) -> _Tables:
        tables = self._tables.get(code)
        if tables is None:
            raise RuntimeError(f'the skills have no tables of "{code}" yet; call load("{code}") first')
        return tables


def _answer_in_dialog(
    tables: _Tables, text: str, context: SkillContext, question: OpenQuestion | None, subjects: Sequence[Subject]
) -> SkillAnswer | None:
    """Returns the answer to words that answer the open question, or refer to a last subject; None if they do not."""
    said = tables.utterance(text)
    answer = None if question is None else answer_to_question(question, said, context, tables)
    if answer is None and subjects:
        answer = refer(subjects, said.matches, context, tables)
    return answer


def _reply_binders(language: Language, zones: dict[str, tzinfo]) -> dict[str, tuple[str, _Binder]]:
    """Maps each intent without an effect to the skill's name and the function that creates its reply."""
    without_match: dict[str, tuple[str, Callable[[Language, SkillContext], str]]] = {
        "time": ("time", tell_time),
        "date": ("date", tell_date),
        "year": ("date", tell_year),
        "month": ("date", tell_month),
        "alarm_list": ("alarms", tell_alarms),
        "reminder_list": ("reminders", tell_reminders),
        "coin": ("chance", flip_coin),
    }
    with_match: dict[str, tuple[str, Callable[[TemplateMatch, Language], Reply | None]]] = {
        "date_of_other_day": ("date", date_of_other_day),
        "days_until": ("days", days_until),
        "days_since": ("days", days_since),
        "days_between": ("days", days_between),
        "day_of_date": ("days", tell_weekday),
        "weekday_is": ("days", tell_whether),
        "date_ahead": ("date", date_ahead),
        "tip": ("tip", calculate_tip),
        "split_sum": ("tip", split_sum),
        **dict.fromkeys(PERCENTAGES, ("arithmetic", calculate_percent)),
        "timer_left": ("timers", tell_time_left),
        "timer_count": ("timers", count_timers),
        "dice": ("chance", roll_dice),
        "pick_number": ("chance", pick_number),
        **dict.fromkeys(ARITHMETIC, ("arithmetic", calculate)),
        **dict.fromkeys(CONVERSION, ("conversion", convert_units)),
    }
    return {
        "time_in_city": ("time", lambda found: time_elsewhere(found, language, zones)),
        # "say that one more time" is understood, "say that five more times" is not
        "repeat": ("repeat", lambda found: _repeat(language) if found.numbers.get("times", 1) == 1 else None),
        **{intent: (skill, _ignoring_match(tell, language)) for intent, (skill, tell) in without_match.items()},
        **{intent: (skill, _with_language(language, bind)) for intent, (skill, bind) in with_match.items()},
    }


def _effect_binders(language: Language) -> dict[str, tuple[str, _Binder]]:
    """Maps each intent with an effect to the skill's name and the function that creates its reply."""
    with_match: dict[str, tuple[str, Callable[[TemplateMatch, Language], Reply | None]]] = {
        "timer_set": ("timers", set_timer),
        "timer_cancel": ("timers", cancel_timers),
        "timer_pause": ("timers", pause_timers),
        "timer_resume": ("timers", resume_timers),
        "timer_restart": ("timers", restart_timers),
        "timer_extend": ("timers", add_time),
        "timer_shorten": ("timers", add_time),
        "timer_length": ("timers", change_length),
        "alarm_move": ("alarms", move_alarm),
        "reminder_move": ("reminders", move_alarm),
        "alarm_cancel_kinds": ("timers", cancel_everything),
        "alarm_set": ("alarms", set_alarm),
        "alarm_wake": ("alarms", set_alarm),
        "alarm_in": ("alarms", set_alarm_in),
        "alarm_cancel": ("alarms", cancel_alarms),
        "reminder_set": ("reminders", set_reminder),
        "reminder_in": ("reminders", set_reminder_in),
        "reminder_open": ("reminders", set_incomplete_reminder),
        "reminder_cancel": ("reminders", cancel_reminders),
        "snooze": ("snooze", snooze),
        **LIST_REPLIES,
        "louder": ("voice", change_voice),
        "quieter": ("voice", change_voice),
        "faster": ("voice", change_voice),
        "slower": ("voice", change_voice),
        "volume_set": ("voice", set_volume),
    }
    return {intent: (skill, _with_language(language, bind)) for intent, (skill, bind) in with_match.items()}


def _with_language(language: Language, bind: Callable[[TemplateMatch, Language], Reply | None]) -> _Binder:
    return lambda found: bind(found, language)


def _ignoring_match(tell: Callable[[Language, SkillContext], str], language: Language) -> _Binder:
    return lambda _found: lambda context: tell(language, context)


def _repeat(language: Language) -> Reply:
    return lambda context: context.last_reply or language.say("nothing_said")


def _fixed_reply(text: str) -> Reply:
    return lambda _context: text
