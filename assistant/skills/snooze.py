"""Snoozing: what rang last rings again later."""

from dataclasses import replace
from datetime import UTC, timedelta

from assistant.skills import AnswerWithEffect, Reply, SetAlarm, SetTimer, SkillContext
from assistant.skills.durations import duration_s
from assistant.skills.language import Language
from assistant.skills.sentences import TemplateMatch

_SNOOZE_S = 300
_MAX_S = 24 * 3600


def snooze(found: TemplateMatch, language: Language) -> Reply:
    """Sets what rang last again: a timer for a length of time, an alarm or reminder for a time of the wall clock."""
    said = duration_s(found)
    seconds = float(_SNOOZE_S if said is None else said)
    if not 1 <= seconds <= _MAX_S:
        return lambda _context: language.say("snooze_bounds")

    def reply(context: SkillContext) -> str | AnswerWithEffect:
        rung = context.running.rung
        if rung is None:
            return language.say("nothing_rang")
        text = language.say("snoozed", duration=language.phrases.duration(seconds))
        if isinstance(rung.set_to, SetTimer):
            return AnswerWithEffect(text, replace(rung.set_to, seconds=seconds, snoozes=rung.number))
        at = (context.now.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(context.now.tzinfo)
        announcement = rung.set_to.announcement
        if rung.set_to.about is None:
            announcement = language.say("alarm_rings", time=language.phrases.time_is(at.time()))
        local = at.replace(tzinfo=None)
        return AnswerWithEffect(text, SetAlarm(local, announcement, rung.set_to.about, snoozes=rung.number))

    return reply
