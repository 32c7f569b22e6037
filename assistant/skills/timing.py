"""Timers: what is set, paused, cancelled, and left. What becomes of it is an effect; nothing runs here."""

from collections.abc import Callable
from fractions import Fraction

from assistant.skills import (
    CancelTimers,
    Deed,
    PauseTimers,
    Reply,
    ResumeTimers,
    SetTimer,
    SkillContext,
    TimerEffect,
    TimerState,
)
from assistant.skills.durations import duration_s, join, say_before_timer, say_duration, say_left
from assistant.skills.say import say_number
from assistant.skills.sentences import Found

_LONGEST_S = 24 * 3600
_MOST_TIMERS = 20
# More than this many at once is a list nobody can follow by ear.
_MOST_TOLD = 4
_NONE = "There is no timer."
_Choice = Callable[[SkillContext], tuple[TimerState, ...] | str]


def set_timer(found: Found) -> Reply:
    """A new timer."""
    name, seconds = found.values.get("name"), duration_s(found)
    if seconds is None:
        return lambda _context: "For how long? Say, for example: set a timer for ten minutes."
    if seconds > _LONGEST_S:
        return lambda _context: "That is too long: a timer runs for twenty-four hours at most."
    if seconds < 1:
        return lambda _context: "That is too short: a timer runs for one second at least."
    label = _label(name, float(seconds))
    effect = SetTimer(float(seconds), name, f"Your {label} is done.")

    def reply(context: SkillContext) -> str | Deed:
        if len(context.running.timers) >= _MOST_TIMERS:
            return f"You have {say_number(Fraction(_MOST_TIMERS))} timers already. Please cancel one first."
        length = say_before_timer(effect.seconds)
        if name is None or length is None:
            return Deed(f"Your {label} is set.", effect)
        return Deed(f"Your {length} {label} is set.", effect)

    return reply


def cancel_timers(found: Found) -> Reply:
    """Forget the timers that were meant."""
    return _act(found, CancelTimers, "cancelled")


def pause_timers(found: Found) -> Reply:
    """Hold the timers that were meant."""
    return _act(found, PauseTimers, "paused")


def resume_timers(found: Found) -> Reply:
    """Let the timers that were meant go on."""
    return _act(found, ResumeTimers, "running again")


def tell_time_left(found: Found) -> Reply:
    """What is left on the timers that were meant; on all if none was."""
    choose = _choice(found, or_all=True)

    def reply(context: SkillContext) -> str:
        chosen = choose(context)
        if isinstance(chosen, str):
            return chosen
        if len(chosen) == 1 == len(context.running.timers):
            left = say_left(chosen[0].left_s)
            verb = "is" if left.startswith("one ") and " and " not in left else "are"
            paused = ". The timer is paused" if chosen[0].paused else ""
            return f"{left[0].upper()}{left[1:]} {verb} left{paused}."
        told = [
            f"{say_left(timer.left_s)} on the {_label(timer.name, timer.length_s)}{', paused' if timer.paused else ''}"
            for timer in chosen[:_MOST_TOLD]
        ]
        more = len(chosen) - len(told)
        return f"You have {join(told)}{f'. And {say_number(Fraction(more))} more' if more else ''}."

    return reply


def _act(found: Found, effect: Callable[[tuple[int, ...]], TimerEffect], done: str) -> Reply:
    choose = _choice(found, or_all=False)

    def reply(context: SkillContext) -> str | Deed:
        chosen = choose(context)
        if isinstance(chosen, str):
            return chosen
        numbers = effect(tuple(timer.number for timer in chosen))
        if len(chosen) == 1:
            return Deed(f"Your {_label(chosen[0].name, chosen[0].length_s)} is {done}.", numbers)
        count = "Both" if len(chosen) == 2 else f"All {say_number(Fraction(len(chosen)))}"
        return Deed(f"{count} timers are {done}.", numbers)

    return reply


def _choice(found: Found, *, or_all: bool) -> _Choice:
    """Which timers are meant, or the sentence that says why that is not clear."""
    name, seconds = found.values.get("name"), duration_s(found)
    everything = "all" in found.values or (or_all and name is None and seconds is None)

    def choose(context: SkillContext) -> tuple[TimerState, ...] | str:
        timers = context.running.timers
        if not timers:
            return _NONE
        if everything:
            return timers
        if name is not None:
            timers = tuple(timer for timer in timers if _same(timer.name, name))
        elif seconds is not None:
            timers = tuple(timer for timer in timers if round(timer.length_s) == round(seconds))
        if not timers:
            asked = f"timer for {name}" if name is not None else _label(None, float(seconds or 0))
            return f"There is no {asked}."
        if len(timers) > 1:
            labels = [f"the {_label(timer.name, timer.length_s)}" for timer in timers[:_MOST_TOLD]]
            return f"You have {say_number(Fraction(len(timers)))} timers: {join(labels)}. Which one do you mean?"
        return timers

    return choose


def _same(one: str | None, other: str) -> bool:
    """ "the egg timer" is that for eggs."""
    return one is not None and one.removesuffix("s") == other.removesuffix("s")


def _label(name: str | None, seconds: float) -> str:
    """ "ten minute timer", "timer for eggs", "timer for one minute and thirty seconds"."""
    if name is not None:
        return f"timer for {name}"
    length = say_before_timer(seconds)
    return f"{length} timer" if length is not None else f"timer for {say_duration(seconds)}"
