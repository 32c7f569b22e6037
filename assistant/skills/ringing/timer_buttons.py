"""Makes the effects of the buttons of timers, alarms and reminders, and the effect of snoozing. Pure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from assistant.skills.answers import (
    AddTime,
    CancelAlarms,
    CancelTimers,
    PauseTimers,
    ResumeTimers,
    Rung,
    Running,
    SetAlarm,
    SetTimer,
    TimerEffect,
)
from assistant.skills.languages.language import Language, base_language, load_language
from assistant.skills.ringing.shown_timers import TimerAction

SNOOZE_S = 300.0
"""Time after which what is snoozed rings again, if none is said."""

_MINUTE_S = 60.0


def button_effect(action: TimerAction, number: int, running: Running, now: datetime, tag: str) -> TimerEffect | None:
    """Returns the effect of a button; None if it only ends the ring, or if there is no such timer any more.

    `tag`: BCP 47 tag of the language in which an alarm that was snoozed says the time.
    """
    rung = next((rung for rung in running.ringing if rung.number == number), None)
    if rung is not None:
        seconds = {"snooze": SNOOZE_S, "add_minute": _MINUTE_S}.get(action)
        return None if seconds is None else snoozed(rung, seconds, now, load_language(base_language(tag) or "en"))
    is_timer = any(timer.number == number for timer in running.timers)
    match action:
        case "cancel" | "stop":
            return CancelTimers((number,)) if is_timer else CancelAlarms((number,))
        case "add_minute" if is_timer:
            return AddTime((number,), _MINUTE_S)
        case "pause" if is_timer:
            return PauseTimers((number,))
        case "resume" if is_timer:
            return ResumeTimers((number,))
    return None


def snoozed(rung: Rung, seconds: float, now: datetime, language: Language) -> SetTimer | SetAlarm:
    """Returns the effect that sets what rang again in `seconds`."""
    if isinstance(rung.set_to, SetTimer):
        return replace(rung.set_to, seconds=seconds, snoozes=rung.number)
    local_time = (now.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(now.tzinfo)
    announcement = rung.set_to.announcement
    if rung.set_to.about is None:
        announcement = language.say("alarm_rings", time=language.phrases.time_is(local_time.time()))
    return SetAlarm(local_time.replace(tzinfo=None), announcement, rung.set_to.about, snoozes=rung.number)
