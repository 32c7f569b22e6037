"""Changes of what is set: more or less time, another time, a new start, snoozing, everything cancelled."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

from assistant.skills.alarms.replies import (
    find_clock,
    find_day,
    names_time,
    not_past,
    say_moment,
    set_alarm,
    shifted,
)
from assistant.skills.answers import (
    AddTime,
    AlarmState,
    AnswerWithEffect,
    Asking,
    CancelAlarms,
    CancelTimers,
    MoveAlarm,
    RenameTimers,
    Reply,
    RestartTimers,
    SetAlarm,
    SetTimer,
    Several,
    SkillContext,
    SkillEffect,
    TimerState,
)
from assistant.skills.dialog.memory import WhichEntry
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.ringing.timer_buttons import SNOOZE_S, snoozed
from assistant.skills.timers.durations import duration_s
from assistant.skills.timers.replies import is_same_name, tell_time_left, timer_label, timer_labels

_MAX_S = 24 * 3600
_MAX_NAME_WORDS = 3
"""Words of a new name. What is longer is another request: "call it a day and tell me …"."""

_MAX_SNOOZE_S = 24 * 3600
_Change = Callable[[tuple[TimerState, ...], SkillContext], str | AnswerWithEffect]


def add_time(match: TemplateMatch, language: Language) -> Reply | None:
    """Gives timers more time, or less."""
    spoken_seconds = duration_s(match)
    if spoken_seconds is None:
        return None
    seconds = float(-spoken_seconds if match.intent == "timer_shorten" else spoken_seconds)

    def change(timers: tuple[TimerState, ...], _context: SkillContext) -> str | AnswerWithEffect:
        left_s = timers[0].left_s + seconds
        if left_s > _MAX_S:
            return language.say("timer_too_long")
        if left_s < 1:
            left = language.phrases.duration(math.ceil(timers[0].left_s))
            return language.say("timer_less_left", left=left)
        left = language.phrases.duration(left_s)
        return AnswerWithEffect(
            language.say("timer_has_left", left=left), AddTime(tuple(timer.number for timer in timers), seconds)
        )

    return _changing(match, language, change)


def restart_timers(match: TemplateMatch, language: Language) -> Reply:
    """Lets timers run again from their beginning."""

    def change(timers: tuple[TimerState, ...], _context: SkillContext) -> str | AnswerWithEffect:
        text = language.say("timer_set", timer=language.phrases.timer(timers[0].name, timers[0].length_s))
        return AnswerWithEffect(text, RestartTimers(tuple(timer.number for timer in timers)))

    return _changing(match, language, change)


def change_length(match: TemplateMatch, language: Language) -> Reply | None:
    """Gives a timer another length: it begins again."""
    spoken_seconds = duration_s(match)
    if spoken_seconds is None:
        return None
    seconds = float(spoken_seconds)

    def change(timers: tuple[TimerState, ...], _context: SkillContext) -> str | AnswerWithEffect:
        if not 1 <= seconds <= _MAX_S:
            return language.say("timer_too_long" if seconds > 1 else "timer_too_short")
        name = timers[0].name
        done = language.say("timer_done", timer=timer_label(language, name, seconds))
        effect = Several((CancelTimers((timers[0].number,)), SetTimer(seconds, name, done)))
        return AnswerWithEffect(language.say("timer_set", timer=language.phrases.timer(name, seconds)), effect)

    return _changing(match, language, change)


def rename_timer(match: TemplateMatch, language: Language) -> Reply | None:
    """Gives a timer a name, or another one."""
    new_name = match.values["new_name"]
    if len(new_name.split()) > _MAX_NAME_WORDS:
        return None

    def change(timers: tuple[TimerState, ...], _context: SkillContext) -> str | AnswerWithEffect:
        label = timer_label(language, new_name, 0.0)
        done = language.say("timer_done", timer=label)
        effect = RenameTimers(tuple(timer.number for timer in timers), new_name, done)
        return AnswerWithEffect(language.say("timer_renamed", timer=label), effect)

    return _changing(match, language, change)


def count_timers(match: TemplateMatch, language: Language) -> Reply:
    """Tells how many timers there are, and how long each still runs."""
    tell = tell_time_left(replace(match, values={}, numbers={}), language)  # of all

    def reply(context: SkillContext) -> str:
        count = len(context.running.timers)
        told = tell(context)
        assert isinstance(told, str), "all timers are told"
        return told if count < 2 else f"{language.say('timers_count', count=language.phrases.count(count))} {told}"

    return reply


def _changing(match: TemplateMatch, language: Language, change: _Change) -> Reply:
    """Returns the reply that changes the named timer, or the only one; asks which one if there are several."""
    name, everything = match.values.get("name"), "all" in match.values

    def reply(context: SkillContext) -> str | AnswerWithEffect | Asking:
        timers = context.running.timers
        if not timers:
            rung = context.running.rung
            again = isinstance(rung.set_to, SetTimer) if rung is not None else False
            if rung is not None and again and match.intent == "timer_restart":
                assert isinstance(rung.set_to, SetTimer)
                effect = replace(rung.set_to, snoozes=rung.number)
                label = language.phrases.timer(effect.name, effect.seconds)
                return AnswerWithEffect(language.say("timer_set", timer=label), effect)
            return language.say("no_timer")
        if name is not None:
            timers = tuple(timer for timer in timers if is_same_name(timer.name, name, language.phrases.plural_endings))
        if not timers:
            return language.say("no_such_timer", timer=timer_label(language, name, 0.0))
        if len(timers) == 1 or everything:
            return change(timers, context)
        labels = [language.piece("the_timer", timer=label) for label in timer_labels(language, timers)]
        count = language.phrases.count(len(timers))
        before = language.say("timers_which", count=count, timers=language.phrases.join(labels))
        question = WhichEntry(match, tuple(timer.number for timer in timers))
        return Asking(language.say("which_timer"), question, before)

    return reply


def move_alarm(match: TemplateMatch, language: Language) -> Reply | None:
    """Sets an alarm or reminder to another time. Without any alarm, sets one."""
    clock, day = find_clock(match) if names_time(match) else None, find_day(match)
    if clock is None and (names_time(match) or not day.is_named):
        return None
    reply = _of_alarm(match, language, lambda state, context: _moved(language, state, match, context))
    if match.intent != "alarm_move" or "oh" in match.numbers or clock is None:
        return reply
    return lambda context: (reply if context.running.alarms else _setting(match, language))(context)


def _setting(match: TemplateMatch, language: Language) -> Reply:
    return set_alarm(replace(match, intent="alarm_set"), language)


def shift_alarm(match: TemplateMatch, language: Language) -> Reply | None:
    """Lets an alarm or reminder ring later or earlier by a length of time."""
    spoken_seconds = duration_s(match)
    if spoken_seconds is None:
        return None
    after = timedelta(seconds=float(spoken_seconds) * int(match.values["shift"]))

    def change(state: AlarmState, context: SkillContext) -> str | AnswerWithEffect:
        return _changed(language, state, *shifted(state, after, context.now), context)

    return _of_alarm(match, language, change)


def _of_alarm(
    match: TemplateMatch, language: Language, change: Callable[[AlarmState, SkillContext], str | AnswerWithEffect]
) -> Reply:
    """Returns the reply that changes the alarm or reminder that is meant; asks which one if there are several."""
    is_alarm = match.intent.startswith("alarm")
    old_hour, old_minute, task = match.numbers.get("oh"), match.numbers.get("om", 0), match.values.get("task")

    def reply(context: SkillContext) -> str | AnswerWithEffect | Asking:
        states: Sequence[AlarmState] = context.running.alarms if is_alarm else context.running.reminders
        any_set = bool(states)
        if old_hour is not None:
            in_24_hours = not 1 <= old_hour <= 12 or match.words["oh"].startswith("0")
            hours = {int(old_hour)} if in_24_hours else {int(old_hour) % 12, int(old_hour) % 12 + 12}
            states = [
                state for state in states if state.local_time.hour in hours and state.local_time.minute == old_minute
            ]
        if task is not None:
            states = [state for state in states if task.casefold() in (state.about or "").casefold()]
        if not states:
            missing = ("no_alarm", "no_alarm_then") if is_alarm else ("no_reminder", "no_such_reminder")
            return language.say(missing[any_set])
        if len(states) > 1:
            told = [say_moment(language, state.local_time, context.now, state.weekdays) for state in states]
            before = language.say(
                "alarms" if is_alarm else "reminders", of=len(states), count=language.phrases.count(len(states)),
                moments=language.phrases.join(told), reminders=language.phrases.join(told),
            )  # fmt: skip
            question = WhichEntry(match, tuple(state.number for state in states))
            return Asking(language.say("which_alarm" if is_alarm else "which_reminder"), question, before)
        return change(states[0], context)

    return reply


def _moved(
    language: Language, state: AlarmState, match: TemplateMatch, context: SkillContext
) -> str | AnswerWithEffect:
    if not names_time(match):  # "move it to Friday": at the same time
        time = {"h": Fraction(state.local_time.hour), "m": Fraction(state.local_time.minute)}
        words = {**match.words, "h": f"0{state.local_time.hour}"}
        match = replace(match, numbers={**match.numbers, **time}, words=words)
    clock = find_clock(match)
    assert clock is not None, "checked before"
    named_day = clock.day is not None or bool(clock.weekdays)
    if not named_day and clock.half is None and not clock.is_24_hour and 1 <= clock.hour <= 12:
        clock = replace(clock, half="am" if state.local_time.hour < 12 else "pm")  # seven in the morning becomes eight
    local_time = clock.next(context.now, wake_up=False)
    if local_time is None:
        return language.say("alarm_has_passed")
    if not named_day:
        same_day = local_time.replace(
            year=state.local_time.year, month=state.local_time.month, day=state.local_time.day
        )
        local_time = same_day if same_day > context.now.replace(tzinfo=None) else local_time
    return _changed(language, state, local_time, clock.rings_again_on(local_time) or state.weekdays, context)


def _changed(
    language: Language, state: AlarmState, local_time: datetime, weekdays: tuple[int, ...], context: SkillContext
) -> str | AnswerWithEffect:
    local_time = not_past(local_time, context.now)
    if local_time.replace(tzinfo=context.now.tzinfo).timestamp() <= context.now.timestamp():
        return language.say("alarm_has_passed")
    moment = say_moment(language, local_time, context.now, weekdays)
    if state.about is None:
        announcement = language.say("alarm_rings", time=language.phrases.time_is(local_time.time()))
        text = language.say("alarm_set", moment=moment)
    else:
        announcement = language.say("reminder_rings", about=state.about)
        text = language.say("reminder_set", moment=moment, about=state.about)
    return AnswerWithEffect(
        text, MoveAlarm(state.number, SetAlarm(local_time, announcement, state.about, weekdays=weekdays))
    )


def snooze(match: TemplateMatch, language: Language) -> Reply:
    """Sets what rang last again: a timer for a length of time, an alarm or reminder for a time of the wall clock."""
    spoken_seconds = duration_s(match)
    seconds = float(SNOOZE_S if spoken_seconds is None else spoken_seconds)
    if not 1 <= seconds <= _MAX_SNOOZE_S:
        return lambda _context: language.say("snooze_bounds")

    def reply(context: SkillContext) -> str | AnswerWithEffect:
        rung = context.running.rung
        if rung is None:
            return language.say("nothing_rang")
        text = language.say("snoozed", duration=language.phrases.duration(seconds))
        return AnswerWithEffect(text, snoozed(rung, seconds, context.now, language))

    return reply


def cancel_everything(match: TemplateMatch, language: Language) -> Reply:
    """Cancels all timers, alarms and reminders, or all of two kinds."""
    slots = ("kinds", "more_kinds", "last_kinds")
    kinds = {match.values[slot] for slot in slots if slot in match.values} or {"t", "a", "r", "p"}

    def reply(context: SkillContext) -> str | AnswerWithEffect:
        running = context.running
        timers = tuple(timer.number for timer in running.timers) if "t" in kinds else ()
        alarms = tuple(alarm.number for alarm in running.alarms) if "a" in kinds else ()
        reminders = tuple(reminder.number for reminder in running.reminders) if "r" in kinds else ()
        planned = tuple(command.number for command in running.planned) if "p" in kinds else ()
        count = len(timers) + len(alarms) + len(reminders) + len(planned)
        if not count:
            return language.say("nothing_set")
        effects: list[SkillEffect] = [CancelTimers(timers)] if timers else []
        others = (*alarms, *reminders, *planned)
        effects += [CancelAlarms(others)] if others else []
        effect = effects[0] if len(effects) == 1 else Several(tuple(effects))
        return AnswerWithEffect(language.say("all_cancelled", of=count, count=language.phrases.count(count)), effect)

    return reply
