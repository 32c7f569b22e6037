"""All skills behind one question: what is the answer to these words, if it needs no language model?"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from importlib.resources import files

from assistant.skills import Answer, ChangeVolume, Deed, Reply, SkillContext
from assistant.skills.alarms import cancel_alarms, set_alarm, set_alarm_in, tell_alarms
from assistant.skills.arithmetic import ARITHMETIC, calculate
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
from assistant.skills.days import days_between, days_since, days_until, tell_weekday
from assistant.skills.samples import sample_sentences
from assistant.skills.sentences import Found, Sentences
from assistant.skills.spelling import spelling_of
from assistant.skills.timing import cancel_timers, pause_timers, resume_timers, set_timer, tell_time_left

# What was found becomes a reply, or None where the words turn out to be half understood.
_Binder = Callable[[Found], Reply | None]

UNDERSTOOD = "understood.txt"

_SPEED_IS_SET = "I can't change my pace while we talk. It is set in config.toml, under tts.speed."

_WARM_UP = (
    "what time is it in london",
    "what is twenty five plus three point five",
    "how many feet are in a mile",
    "please turn on the light in the kitchen",
    "set a timer for five minutes",
    "set an alarm for seven thirty",
    "how many days are there until christmas",
    "tell me a story about a dragon",
)


@dataclass(frozen=True, slots=True)
class Match:
    """Words that were understood: who answers, waiting for the context."""

    skill: str
    reply: Reply


def no_model_answer(text: str) -> str:
    """What to say to `text` when no skill understands it and there is no language model. For the ear."""
    if not text.strip():
        return "I didn't hear any words."
    return "I have no language model connected. You can add one in config.toml, under llm.endpoints."


def understood_sentences() -> tuple[str, ...]:
    """Some thousands of sentences that the skills understand, lower case and without digits.

    `python -m assistant.skills` writes them anew. Raises OSError if the installation lacks the file.
    """
    return tuple((files("assistant.skills") / UNDERSTOOD).read_text(encoding="utf-8").splitlines())


class Skills:
    """The skills. After `load` everything is memory and arithmetic: no I/O, no clock."""

    def __init__(self) -> None:
        self._sentences: Sentences | None = None
        self._binders: dict[str, tuple[str, _Binder]] = {}
        # The same words are asked for twice in a row: by the router, then by the answer.
        self._latest: tuple[str, Match | None] | None = None

    def load(self) -> None:
        """Build the tables and match once; blocks for some 100 ms, the second time not at all.

        Raises OSError if the installation lacks its sentence files.
        """
        if self._sentences is not None:
            return
        sentences = Sentences()
        self._binders = _binders(load_zones(sentences.zone_names()))
        self._sentences = sentences
        context = SkillContext(datetime(2000, 1, 1, tzinfo=UTC))
        for text in _WARM_UP:
            self.answer(text, context)

    def match(self, text: str) -> Match | None:
        """Who answers `text`, or None if no skill understood all of it. Raises RuntimeError before `load`."""
        if self._sentences is None:
            raise RuntimeError("Skills.match needs the sentence tables; call load() first")
        latest = self._latest  # read once: another thread may replace it
        if latest is not None and latest[0] == text:
            return latest[1]
        spelling = spelling_of(self._sentences.heard(text))
        found = self._sentences.find(text) if spelling is None else None
        match = Match("spelling", _always(spelling)) if spelling else None if found is None else self._bind(found)
        self._latest = (text, match)
        return match

    def answer(self, text: str, context: SkillContext) -> Answer | None:
        """The answer to `text`, or None: a language model's turn. Raises RuntimeError before `load`."""
        if context.language.partition("-")[0].lower() != "en":
            return None
        match = self.match(text)
        if match is None:
            return None
        said = match.reply(context)
        return Answer(said.text, match.skill, said.effect) if isinstance(said, Deed) else Answer(said, match.skill)

    def sample(self) -> tuple[str, ...]:
        """A sample of what is understood, lower case and without digits, the same at every call.

        Blocks for some seconds: `understood_sentences` reads what was sampled when the templates last changed.
        Raises RuntimeError before `load`.
        """
        if self._sentences is None:
            raise RuntimeError("Skills.sample needs the sentence tables; call load() first")
        return sample_sentences(self._sentences, lambda text: self.match(text) is not None)

    def _bind(self, found: Found) -> Match | None:
        if found.answer is not None:
            return Match(found.intent, _always(found.answer))
        skill, bind = self._binders[found.intent]
        reply = bind(found)
        return None if reply is None else Match(skill, reply)


def _binders(zones: dict[str, tzinfo]) -> dict[str, tuple[str, _Binder]]:
    """Per intent without a fixed answer: the skill's name, and what makes a reply of what was found."""
    return {
        "time": ("time", lambda _found: tell_time),
        "time_in_city": ("time", lambda found: time_elsewhere(found, zones)),
        "date": ("date", lambda _found: tell_date),
        "date_of_other_day": ("date", date_of_other_day),
        "year": ("date", lambda _found: tell_year),
        "month": ("date", lambda _found: tell_month),
        # "say that one more time" is understood, "say that five more times" is not
        "repeat": ("repeat", lambda found: _repeat if found.numbers.get("times", 1) == 1 else None),
        "days_until": ("days", days_until),
        "days_since": ("days", days_since),
        "days_between": ("days", days_between),
        "day_of_date": ("days", tell_weekday),
        "timer_set": ("timers", set_timer),
        "timer_cancel": ("timers", cancel_timers),
        "timer_pause": ("timers", pause_timers),
        "timer_resume": ("timers", resume_timers),
        "timer_left": ("timers", tell_time_left),
        "alarm_set": ("alarms", set_alarm),
        "alarm_wake": ("alarms", set_alarm),
        "alarm_in": ("alarms", set_alarm_in),
        "alarm_cancel": ("alarms", cancel_alarms),
        "alarm_list": ("alarms", lambda _found: tell_alarms),
        "coin": ("chance", lambda _found: flip_coin),
        "dice": ("chance", roll_dice),
        "pick_number": ("chance", pick_number),
        "louder": ("voice", lambda found: _change_volume(found, 1)),
        "quieter": ("voice", lambda found: _change_volume(found, -1)),
        "faster": ("voice", lambda _found: _always(_SPEED_IS_SET)),
        "slower": ("voice", lambda _found: _always(_SPEED_IS_SET)),
        **dict.fromkeys(ARITHMETIC, ("arithmetic", calculate)),
        **dict.fromkeys(CONVERSION, ("conversion", convert_units)),
    }


def _repeat(context: SkillContext) -> str:
    return context.last_reply or "I haven't said anything yet."


def _change_volume(found: Found, sign: int) -> Reply:
    step_db = {"little": 3.0, "much": 10.0}.get(found.values.get("how_much", ""), 6.0)
    return lambda _context: Deed("Louder." if sign > 0 else "Quieter.", ChangeVolume(sign * step_db))


def _always(text: str) -> Reply:
    return lambda _context: text
