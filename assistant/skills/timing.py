"""Timer requests: sets, pauses, cancels and lists timers. The result is an effect; no timer runs here."""

from collections.abc import Callable

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
from assistant.skills.durations import duration_parts, duration_s, left_to_say
from assistant.skills.language import Language
from assistant.skills.sentences import Found

_LONGEST_S = 24 * 3600
_MOST_TIMERS = 20
# A longer list is hard to follow by ear.
_MOST_TOLD = 4
_Choice = Callable[[SkillContext], tuple[TimerState, ...] | str]


def set_timer(found: Found, language: Language) -> Reply:
    """Sets a timer."""
    name, seconds = found.values.get("name"), duration_s(found)
    if seconds is None:
        return lambda _context: language.say("timer_how_long")
    if seconds > _LONGEST_S:
        return lambda _context: language.say("timer_too_long")
    if seconds < 1:
        return lambda _context: language.say("timer_too_short")
    label = _label(language, name, float(seconds))
    effect = SetTimer(float(seconds), name, language.say("timer_done", timer=label))

    def reply(context: SkillContext) -> str | Deed:
        if len(context.running.timers) >= _MOST_TIMERS:
            return language.say("timers_enough", count=language.phrases.count(_MOST_TIMERS))
        return Deed(language.say("timer_set", timer=language.phrases.timer(name, effect.seconds)), effect)

    return reply


def cancel_timers(found: Found, language: Language) -> Reply:
    """Cancels the requested timers."""
    return _act(found, language, CancelTimers, "timer_cancelled")


def pause_timers(found: Found, language: Language) -> Reply:
    """Pauses the requested timers."""
    return _act(found, language, PauseTimers, "timer_paused")


def resume_timers(found: Found, language: Language) -> Reply:
    """Resumes the requested timers."""
    return _act(found, language, ResumeTimers, "timer_resumed")


def tell_time_left(found: Found, language: Language) -> Reply:
    """Returns the remaining time of the requested timers, or of all."""
    choose = _choice(found, language, or_all=True)

    def reply(context: SkillContext) -> str:
        chosen = choose(context)
        if isinstance(chosen, str):
            return chosen
        if len(chosen) == 1 == len(context.running.timers):
            return _one_left(language, chosen[0])
        told = [
            language.piece(
                "left_on_paused" if timer.paused else "left_on",
                left=_say_left(language, timer.left_s),
                timer=_label(language, timer.name, timer.length_s),
            )
            for timer in chosen[:_MOST_TOLD]
        ]
        sentence = language.say("timers_left", timers=language.phrases.join(told))
        more = len(chosen) - len(told)
        return f"{sentence} {language.say('and_more', count=language.phrases.count(more))}" if more else sentence

    return reply


def _one_left(language: Language, timer: TimerState) -> str:
    parts = duration_parts(left_to_say(timer.left_s)[0])
    units = parts[0][0] if len(parts) == 1 else len(parts)
    sentence = language.say("timer_left", of=units, left=_say_left(language, timer.left_s))
    return f"{sentence} {language.say('timer_stands')}" if timer.paused else sentence


def _say_left(language: Language, left_s: float) -> str:
    seconds, about = left_to_say(left_s)
    return language.phrases.duration(seconds, about=about)


def _act(found: Found, language: Language, effect: Callable[[tuple[int, ...]], TimerEffect], done: str) -> Reply:
    choose = _choice(found, language, or_all=False)

    def reply(context: SkillContext) -> str | Deed:
        chosen = choose(context)
        if isinstance(chosen, str):
            return chosen
        label = _label(language, chosen[0].name, chosen[0].length_s)
        text = language.say(done, of=len(chosen), timer=label, count=language.phrases.count(len(chosen)))
        return Deed(text, effect(tuple(timer.number for timer in chosen)))

    return reply


def _choice(found: Found, language: Language, *, or_all: bool) -> _Choice:
    """Selects the requested timers; returns a sentence if the request is ambiguous."""
    name, seconds = found.values.get("name"), duration_s(found)
    everything = "all" in found.values or (or_all and name is None and seconds is None)
    both = found.values.get("all") == "both" and not or_all

    def choose(context: SkillContext) -> tuple[TimerState, ...] | str:
        timers = context.running.timers
        if not timers:
            return language.say("no_timer")
        if everything and not (both and len(timers) > 2):
            return timers
        if seconds is not None and abs(seconds) > _LONGEST_S:
            return language.say("timer_too_long")
        if name is not None:
            timers = tuple(timer for timer in timers if _same(timer.name, name, language.phrases.plural_endings))
        elif seconds is not None:
            timers = tuple(timer for timer in timers if round(timer.length_s) == round(seconds))
        if not timers:
            return language.say("no_such_timer", timer=_label(language, name, float(seconds or 0)))
        if len(timers) > 1:
            labels = [
                language.piece("the_timer", timer=_label(language, timer.name, timer.length_s))
                for timer in timers[:_MOST_TOLD]
            ]
            count = language.phrases.count(len(timers))
            which = language.say("timers_which", count=count, timers=language.phrases.join(labels))
            return f"{which} {language.say('which_timer')}"
        return timers

    return choose


def _same(one: str | None, other: str, plural_endings: tuple[str, ...]) -> bool:
    """Returns whether two timer names are equal; "the egg timer" matches a timer for eggs."""
    if one is None:
        return False
    shorter, longer = sorted((one, other), key=len)
    return shorter == longer or any(shorter + ending == longer for ending in plural_endings)


def _label(language: Language, name: str | None, seconds: float) -> str:
    """Returns the name of a timer, or its length if it has no name."""
    return language.phrases.timer(name, None) if name is not None else language.phrases.timer(None, seconds)
