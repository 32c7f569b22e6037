"""Snoozing: what rang last rings again later."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from assistant.skills import AnswerWithEffect, Reply, Rung, SetAlarm, SetTimer, SkillContext
from assistant.skills.durations import duration_s
from assistant.skills.language import Language
from assistant.skills.sentences import TemplateMatch

SNOOZE_S = 300.0
"""Time after which what is snoozed rings again, if none is said."""

_MAX_S = 24 * 3600


def snooze(found: TemplateMatch, language: Language) -> Reply:
    """Sets what rang last again: a timer for a length of time, an alarm or reminder for a time of the wall clock."""
    said = duration_s(found)
    seconds = float(SNOOZE_S if said is None else said)
    if not 1 <= seconds <= _MAX_S:
        return lambda _context: language.say("snooze_bounds")

    def reply(context: SkillContext) -> str | AnswerWithEffect:
        rung = context.running.rung
        if rung is None:
            return language.say("nothing_rang")
        text = language.say("snoozed", duration=language.phrases.duration(seconds))
        return AnswerWithEffect(text, snoozed(rung, seconds, context.now, language))

    return reply


def snoozed(rung: Rung, seconds: float, now: datetime, language: Language) -> SetTimer | SetAlarm:
    """Returns the effect that sets what rang again in `seconds`."""
    if isinstance(rung.set_to, SetTimer):
        return replace(rung.set_to, seconds=seconds, snoozes=rung.number)
    at = (now.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(now.tzinfo)
    announcement = rung.set_to.announcement
    if rung.set_to.about is None:
        announcement = language.say("alarm_rings", time=language.phrases.time_is(at.time()))
    return SetAlarm(at.replace(tzinfo=None), announcement, rung.set_to.about, snoozes=rung.number)
