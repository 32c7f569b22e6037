"""Several requests in one sentence: "set a timer for ten minutes and tell me the time".

A sentence is split only where every part is understood, so that "salt and pepper" stays whole. Pure.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from assistant.home import PlannedCalls
from assistant.skills.answers import (
    AlarmState,
    CancelAlarms,
    CancelAll,
    CancelTimers,
    MoveAlarm,
    SetAlarm,
    SetTimer,
    SkillAnswer,
    SkillContext,
    SkillEffect,
    TimerState,
    each_effect,
    joined_effect,
    list_effects,
    timer_effects,
)
from assistant.skills.dialog.memory import Memory, Remember
from assistant.skills.dialog.slots import without_entries
from assistant.skills.languages.language import base_language
from assistant.skills.lists.items import RemoveItems, changed

_MAX_CUTS = 5
"""Longer lists of requests are rare, and each place to split costs two matches."""
_MAX_VERB_WORDS = 3
"""Words at the beginning that a later part may share: "set alarms for six and seven"."""

_DETERMINERS = frozenset("a an the ein eine einen der die das den un une le la les una el los las".split())
"""Words that end no verb: "pon un" of "pon un temporizador" is none that "y para mí" could share."""

_NEW = 10**9
"""Number, for the parts that follow, of the first entry that the sentence sets. Larger than the numbers in use."""

Answer = Callable[[str, SkillContext], SkillAnswer | None]
"""Returns the answer to one request in a context; None if it is not understood."""


def joint_pattern(joints: Sequence[str]) -> re.Pattern[str]:
    """Returns a pattern for what stands between two requests: punctuation, a joint such as "and then", or both."""
    words = "|".join(re.escape(joint) for joint in joints)
    return re.compile(rf"(?:[,;.?!]\s+(?:(?:{words})\s+)?|\s+(?:{words})\s+)", re.IGNORECASE)


def answer_several(
    text: str, context: SkillContext, joint: re.Pattern[str], answer: Answer, *, elides: bool = True
) -> SkillAnswer | None:
    """Returns one answer to all requests in `text`; None if it is not several, or a part is not understood.

    `elides`: whether a part may lack the verb that an earlier part has.
    """
    answers = _split(text, context, joint, answer, elides=elides)
    if answers is None or sum(answer.question is not None for answer in answers) > 1:
        return None
    effects = _without_undone([effect for answer in answers for effect in each_effect(answer.effect)])
    return None if effects is None else replace(_joined(answers), effect=joined_effect(*effects))


def _split(
    text: str, context: SkillContext, joint: re.Pattern[str], answer: Answer, new: int = _NEW, *, elides: bool = True
) -> tuple[SkillAnswer, ...] | None:
    """Returns the answers to the parts. `new`: number of the next entry that a part sets."""
    cuts = list(joint.finditer(text))
    if len(cuts) > _MAX_CUTS:
        return None
    for cut in reversed(cuts):  # the first part is as long as possible
        before, after = text[: cut.start()], text[cut.end() :]
        first = _understood(answer(before, context)) if before.strip() and after.strip() else None
        if first is None:
            continue
        later, next_new = _context_after(context, first, new)
        words = before.split()
        rest = _understood(answer(after, later))
        if elides and not first.excepts:
            alone = replace(later, memory=Memory())
            if _is_planned(first) and (rest is None or not _is_planned(rest)):
                # "Turn off the oven at seven and the fan at eight": eight is a time, too, and no speed.
                rest = elided(words, after, alone, partial(_planned_answer, answer)) or rest
            if rest is None:
                rest = elided(words, after, alone, answer)
        if rest is not None:
            return first, rest
        if (more := _split(after, later, joint, answer, next_new, elides=elides)) is not None:
            return first, *more
    return None


def _is_planned(answer: SkillAnswer) -> bool:
    """Returns whether an answer orders something of the home for later."""
    return any(isinstance(effect, SetAlarm) and effect.planned is not None for effect in each_effect(answer.effect))


def _planned_answer(answer: Answer, text: str, context: SkillContext) -> SkillAnswer | None:
    answered = answer(text, context)
    return None if answered is None or not _is_planned(answered) else answered


def elided(words: Sequence[str], after: str, context: SkillContext, answer: Answer) -> SkillAnswer | None:
    """Returns the answer to a part that shares its first words with the part before: "set alarms for six and seven".

    With a verb of its own it is about no earlier alarm. More shared words must make a request that lacks nothing.
    """
    for count in range(1, min(_MAX_VERB_WORDS, len(words) - 1) + 1):
        verb = words[:count]
        if verb[-1].lower() in _DETERMINERS:
            continue
        answered = _understood(answer(" ".join((*verb, after)), context))
        if answered is not None and (count < _MAX_VERB_WORDS or answered.question is None):
            return answered
    return None


def _understood(answer: SkillAnswer | None) -> SkillAnswer | None:
    return None if answer is None or answer.missing or answer.failed else answer


def _context_after(context: SkillContext, answer: SkillAnswer, new: int) -> tuple[SkillContext, int]:
    """Returns the context of the next part: "it" is what this part was about, and what it sets or cancels counts."""
    memory = Remember(subjects=answer.subjects, language=base_language(context.language) or "en")
    running = context.running
    for effect in timer_effects(answer.effect):
        match effect:
            case CancelTimers(numbers) | CancelAlarms(numbers) | CancelAll(numbers):
                running = without_entries(running, numbers)
            case SetTimer(seconds, name):
                running = replace(running, timers=(*running.timers, TimerState(new, name, seconds, seconds)))
                new += 1
            case SetAlarm(local_time, about=about, planned=PlannedCalls() as calls):
                command = AlarmState(new, local_time, about, effect.weekdays, calls.targets, calls.services)
                running = replace(running, planned=(*running.planned, command))
                new += 1
            case SetAlarm(local_time, about=None):
                alarm = AlarmState(new, local_time, weekdays=effect.weekdays)
                running = replace(running, alarms=(*running.alarms, alarm))
                new += 1
            case SetAlarm(local_time, about=about):
                reminder = AlarmState(new, local_time, about, effect.weekdays)
                running = replace(running, reminders=(*running.reminders, reminder))
                new += 1
    lists = context.lists
    for change in list_effects(answer.effect):
        lists = changed(lists, change)
    return replace(context, memory=context.memory.after(memory, 0.0), running=running, lists=lists), new


def _without_undone(effects: Sequence[SkillEffect]) -> list[SkillEffect] | None:
    """Removes what the same sentence sets and cancels; None if it changes what it sets in another way."""
    kept: dict[int, SkillEffect] = {}
    new = _NEW
    for index, effect in enumerate(effects):
        numbers: tuple[int, ...] = (effect.number,) if isinstance(effect, MoveAlarm) else getattr(effect, "numbers", ())
        undone = [number for number in numbers if number >= _NEW]
        if isinstance(effect, RemoveItems) and "" in effect.keys:
            return None
        if undone and not isinstance(effect, CancelTimers | CancelAlarms | CancelAll):
            return None
        for number in undone:
            del kept[number]
        if isinstance(effect, SetTimer | SetAlarm):
            kept[new] = effect
            new += 1
        elif len(undone) == len(numbers) and undone:
            continue
        elif isinstance(effect, CancelTimers | CancelAlarms | CancelAll):
            kept[index] = replace(effect, numbers=tuple(number for number in numbers if number < _NEW))
        else:
            kept[index] = effect
    return list(kept.values())


def _joined(answers: Sequence[SkillAnswer]) -> SkillAnswer:
    """Returns one answer: the effects in order, a question last."""
    if any(answer.lookup is not None for answer in answers):
        return replace(_spoken(answers), text="", lookup=_lookup(answers))
    return _spoken(answers)


def _lookup(answers: Sequence[SkillAnswer]) -> Callable[[], Awaitable[SkillAnswer]]:
    async def look_up() -> SkillAnswer:
        return _spoken([answer if answer.lookup is None else await answer.lookup() for answer in answers])

    return look_up


def _spoken(answers: Sequence[SkillAnswer]) -> SkillAnswer:
    ordered = sorted(answers, key=lambda answer: answer.question is not None)
    return replace(
        ordered[-1],
        text=" ".join(answer.text for answer in ordered),
        skill=answers[0].skill,
        effect=joined_effect(*(answer.effect for answer in answers)),
        failed=any(answer.failed for answer in answers),
        lookup=None,
        subjects=tuple(subject for answer in answers for subject in answer.subjects),
    )
