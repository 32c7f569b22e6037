"""Timer requests: sets, pauses, cancels and lists timers. The result is an effect; no timer runs here."""

from collections.abc import Callable, Sequence

from assistant.skills.answers import (
    AnswerWithEffect,
    Asking,
    CancelTimers,
    PauseTimers,
    Reply,
    ResumeTimers,
    SetTimer,
    SkillContext,
    TimerEffect,
    TimerState,
)
from assistant.skills.dialog.memory import MissingSlot, WhichEntry
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.timers.durations import duration_parts, duration_s, rounded_time_left

_MAX_S = 24 * 3600
_MAX_TIMERS = 20
# A longer list is hard to follow by ear.
_MAX_LISTED = 4
_TimerSelector = Callable[[SkillContext], tuple[TimerState, ...] | str | Asking]


def set_timer(match: TemplateMatch, language: Language) -> Reply:
    """Sets a timer."""
    name, seconds = match.values.get("name"), duration_s(match)
    if seconds is None:
        return lambda _context: Asking(language.say("timer_how_long"), MissingSlot(match, "duration"))
    if seconds > _MAX_S:
        return lambda _context: language.say("timer_too_long")
    if seconds < 1:
        return lambda _context: language.say("timer_too_short")
    label = timer_label(language, name, float(seconds))
    effect = SetTimer(float(seconds), name, language.say("timer_done", timer=label))

    def reply(context: SkillContext) -> str | AnswerWithEffect:
        if len(context.running.timers) >= _MAX_TIMERS:
            return language.say("timers_enough", count=language.phrases.count(_MAX_TIMERS))
        return AnswerWithEffect(language.say("timer_set", timer=language.phrases.timer(name, effect.seconds)), effect)

    return reply


def cancel_timers(match: TemplateMatch, language: Language) -> Reply:
    """Cancels the requested timers."""
    return _change_timers(match, language, CancelTimers, "timer_cancelled")


def pause_timers(match: TemplateMatch, language: Language) -> Reply:
    """Pauses the requested timers."""
    return _change_timers(match, language, PauseTimers, "timer_paused")


def resume_timers(match: TemplateMatch, language: Language) -> Reply:
    """Resumes the requested timers."""
    return _change_timers(match, language, ResumeTimers, "timer_resumed")


def tell_time_left(match: TemplateMatch, language: Language) -> Reply:
    """Returns the remaining time of the requested timers, or of all."""
    choose = _timer_selector(match, language, or_all=True)

    def reply(context: SkillContext) -> str | Asking:
        chosen = choose(context)
        if isinstance(chosen, str | Asking):
            return chosen
        if len(chosen) == 1 == len(context.running.timers):
            return _time_left_sentence(language, chosen[0], named="name" in match.values)
        spoken = [
            language.piece(
                "left_on_paused" if timer.paused else "left_on",
                left=_say_left(language, timer.left_s),
                timer=timer_label(language, timer.name, timer.length_s),
            )
            for timer in chosen[:_MAX_LISTED]
        ]
        sentence = language.say("timers_left", timers=language.phrases.join(spoken))
        more = len(chosen) - len(spoken)
        return f"{sentence} {language.say('and_more', count=language.phrases.count(more))}" if more else sentence

    return reply


def _time_left_sentence(language: Language, timer: TimerState, *, named: bool) -> str:
    """Says how long the only timer still runs, with its name. `named`: whether the question names it."""
    parts = duration_parts(rounded_time_left(timer.left_s)[0])
    units = parts[0][0] if len(parts) == 1 else len(parts)
    left = _say_left(language, timer.left_s)
    if timer.name is None or named:
        sentence = language.say("timer_left", of=units, left=left)
    else:
        label = timer_label(language, timer.name, timer.length_s)
        sentence = language.say("timer_left_on", of=units, left=left, timer=label)
    return f"{sentence} {language.say('timer_stands')}" if timer.paused else sentence


def _say_left(language: Language, left_s: float) -> str:
    seconds, about = rounded_time_left(left_s)
    return language.phrases.duration(seconds, about=about)


def _change_timers(
    match: TemplateMatch, language: Language, effect: Callable[[tuple[int, ...]], TimerEffect], done: str
) -> Reply:
    choose = _timer_selector(match, language, or_all=False)

    def reply(context: SkillContext) -> str | AnswerWithEffect | Asking:
        chosen = choose(context)
        if isinstance(chosen, str | Asking):
            return chosen
        label = timer_label(language, chosen[0].name, chosen[0].length_s)
        text = language.say(done, of=len(chosen), timer=label, count=language.phrases.count(len(chosen)))
        return AnswerWithEffect(text, effect(tuple(timer.number for timer in chosen)))

    return reply


def _timer_selector(match: TemplateMatch, language: Language, *, or_all: bool) -> _TimerSelector:
    """Selects the requested timers; returns a sentence if there is none, and a question if the request is ambiguous."""
    name, seconds = match.values.get("name"), duration_s(match)
    everything = "all" in match.values or (or_all and name is None and seconds is None)
    both = match.values.get("all") == "both" and not or_all

    def choose(context: SkillContext) -> tuple[TimerState, ...] | str | Asking:
        timers = context.running.timers
        if not timers:
            return language.say("no_timer")
        if everything and not (both and len(timers) > 2):
            return timers
        if seconds is not None and abs(seconds) > _MAX_S:
            return language.say("timer_too_long")
        if name is not None:
            timers = tuple(timer for timer in timers if is_same_name(timer.name, name, language.phrases.plural_endings))
        elif seconds is not None:
            timers = tuple(timer for timer in timers if round(timer.length_s) == round(seconds))
        if not timers:
            return language.say("no_such_timer", timer=timer_label(language, name, float(seconds or 0)))
        if len(timers) > 1:
            labels = [
                language.piece("the_timer", timer=label) for label in timer_labels(language, timers[:_MAX_LISTED])
            ]
            count = language.phrases.count(len(timers))
            which = language.say("timers_which", count=count, timers=language.phrases.join(labels))
            question = WhichEntry(match, tuple(timer.number for timer in timers))
            return Asking(language.say("which_timer"), question, which)
        return timers

    return choose


def is_same_name(name: str | None, other: str, plural_endings: tuple[str, ...]) -> bool:
    """Returns whether two timer names are equal; "the egg timer" matches a timer for eggs."""
    if name is None:
        return False
    shorter, longer = sorted((name, other), key=len)
    return shorter == longer or any(shorter + ending == longer for ending in plural_endings)


def timer_labels(language: Language, timers: Sequence[TimerState]) -> list[str]:
    """Returns a label for each timer. Equal labels are told apart by the time that is left."""
    labels = [timer_label(language, timer.name, timer.length_s) for timer in timers]
    return [
        label
        if labels.count(label) == 1
        else language.piece("left_of", timer=label, left=_say_left(language, timer.left_s))
        for label, timer in zip(labels, timers, strict=True)
    ]


def timer_label(language: Language, name: str | None, seconds: float) -> str:
    """Returns the name of a timer, or its length if it has no name."""
    return language.phrases.timer(name, None) if name is not None else language.phrases.timer(None, seconds)
