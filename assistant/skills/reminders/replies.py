"""Reminders: "remind me to call Anna at five". A reminder is an alarm that says what it is about."""

from dataclasses import replace
from datetime import datetime, timedelta

from assistant.skills.alarms.replies import find_clock, find_day, names_time, not_past, say_moment
from assistant.skills.answers import AlarmState, AnswerWithEffect, Asking, CancelAlarms, Reply, SetAlarm, SkillContext
from assistant.skills.dialog.memory import MissingSlot, WhichEntry
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.timers.durations import duration_s, later

_MAX_REMINDERS = 20
_MAX_S = 366 * 86400
_MAX_LISTED = 4


def set_reminder(match: TemplateMatch, language: Language) -> Reply | None:
    """Sets a reminder for a time of day. Asks for what is missing: what to remind of, or when."""
    if "task" not in match.values:
        return lambda _context: Asking(language.say("reminder_of_what"), MissingSlot(match, "task"))
    if not names_time(match):
        return lambda _context: Asking(language.say("reminder_when"), MissingSlot(match, "moment"))
    clock = find_clock(match)
    if language.phrases.other_repeat.search(match.values["task"].casefold()):
        return None  # "every other Monday" is understood only in part
    if clock is None:
        return lambda _context: language.say("no_time_of_day")

    def reply(context: SkillContext) -> str | AnswerWithEffect:
        local_time = clock.next(context.now, wake_up=False, by_day=True)
        if local_time is None:
            return language.say("alarm_has_passed")
        return _set(
            language, not_past(local_time, context.now), match.values["task"], context, clock.rings_again_on(local_time)
        )

    return reply


def set_reminder_in(match: TemplateMatch, language: Language) -> Reply:
    """Sets a reminder after a length of time. Asks what to remind of, if that is missing."""
    if "task" not in match.values:
        return lambda _context: Asking(language.say("reminder_of_what"), MissingSlot(match, "task"))
    seconds = duration_s(match)
    assert seconds is not None, "the template has a duration"
    if not 1 <= seconds <= _MAX_S:
        return lambda _context: language.say("reminder_bounds")
    after = timedelta(seconds=float(seconds))

    def reply(context: SkillContext) -> str | AnswerWithEffect:
        local_time = later(context.now, after)
        return _set(language, local_time, match.values["task"], context)

    return reply


def set_incomplete_reminder(match: TemplateMatch, language: Language) -> Reply | None:
    """Asks what to remind of, or when."""
    if duration_s(match) is None:
        return set_reminder(replace(match, intent="reminder_set"), language)
    return set_reminder_in(replace(match, intent="reminder_in"), language)


def cancel_reminders(match: TemplateMatch, language: Language) -> Reply:
    """Cancels the requested reminders."""
    task, everything, day = match.values.get("task"), "all" in match.values, find_day(match)

    def reply(context: SkillContext) -> str | AnswerWithEffect | Asking:
        reminders = context.running.reminders
        if not reminders:
            return language.say("no_reminder")
        if task is not None:
            reminders = tuple(
                reminder for reminder in reminders if task.casefold() in (reminder.about or "").casefold()
            )
        if day.is_named:
            reminders = tuple(reminder for reminder in reminders if day.names(reminder, context.now))
        if not reminders:
            return language.say("no_such_reminder")
        if len(reminders) > 1 and not everything:
            question = WhichEntry(match, tuple(reminder.number for reminder in reminders))
            return Asking(language.say("which_reminder"), question, _list(language, reminders, context.now))
        count = language.phrases.count(len(reminders))
        text = language.say("reminder_cancelled", of=len(reminders), about=reminders[0].about or "", count=count)
        return AnswerWithEffect(text, CancelAlarms(tuple(reminder.number for reminder in reminders)))

    return reply


def tell_reminders(language: Language, context: SkillContext) -> str:
    """Lists the reminders that are set."""
    reminders = context.running.reminders
    return _list(language, reminders, context.now) if reminders else language.say("no_reminder")


def _set(
    language: Language, local_time: datetime, task: str, context: SkillContext, weekdays: tuple[int, ...] = ()
) -> str | AnswerWithEffect:
    if len(context.running.reminders) >= _MAX_REMINDERS:
        return language.say("reminders_enough", count=language.phrases.count(_MAX_REMINDERS))
    text = language.say("reminder_set", moment=say_moment(language, local_time, context.now, weekdays), about=task)
    return AnswerWithEffect(
        text, SetAlarm(local_time, language.say("reminder_rings", about=task), task, weekdays=weekdays)
    )


def _list(language: Language, reminders: tuple[AlarmState, ...], now: datetime) -> str:
    told = [
        language.piece(
            "the_reminder",
            moment=say_moment(language, reminder.local_time, now, reminder.weekdays),
            about=reminder.about or "",
        )
        for reminder in reminders[:_MAX_LISTED]
    ]
    answer = "reminders" if len(reminders) <= _MAX_LISTED else "reminders_first"
    count = language.phrases.count(len(reminders))
    return language.say(answer, of=len(reminders), count=count, reminders=language.phrases.join(told))
