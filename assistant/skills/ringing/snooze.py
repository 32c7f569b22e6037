"""Snoozing: what rang last rings again later."""

from assistant.skills.answers import AnswerWithEffect, Reply, SkillContext
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.ringing.timer_buttons import SNOOZE_S, snoozed
from assistant.skills.timers.durations import duration_s

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
