"""Several requests in one sentence: "set a timer for ten minutes and tell me the time".

A sentence is split only where every part is understood, so that "salt and pepper" stays whole. Pure.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from assistant.skills import (
    CancelAlarms,
    CancelAll,
    CancelTimers,
    SkillAnswer,
    SkillContext,
    joined_effect,
    timer_effects,
)
from assistant.skills.dialog.memory import Remember
from assistant.skills.dialog.slots import without_entries

_MAX_CUTS = 5
"""Longer lists of requests are rare, and each place to split costs two matches."""
_MAX_VERB_WORDS = 2

Answer = Callable[[str, SkillContext], SkillAnswer | None]
"""Returns the answer to one request in a context; None if it is not understood."""


def joint_pattern(joints: Sequence[str]) -> re.Pattern[str]:
    """Returns a pattern for what stands between two requests: punctuation, a joint such as "and then", or both.

    A digit after it begins no request: "two hours and 30 minutes".
    """
    words = "|".join(re.escape(joint) for joint in joints)
    return re.compile(rf"(?:[,;.?!]\s+(?:(?:{words})\s+)?|\s+(?:{words})\s+)(?!\d)", re.IGNORECASE)


def answer_several(text: str, context: SkillContext, joint: re.Pattern[str], answer: Answer) -> SkillAnswer | None:
    """Returns one answer to all requests in `text`; None if it is not several, or a part is not understood."""
    answers = _split(text, context, joint, answer)
    if answers is None or sum(one.question is not None for one in answers) > 1:
        return None
    return _joined(answers)


def _split(text: str, context: SkillContext, joint: re.Pattern[str], answer: Answer) -> tuple[SkillAnswer, ...] | None:
    cuts = list(joint.finditer(text))
    if len(cuts) > _MAX_CUTS:
        return None
    for cut in reversed(cuts):  # the first part is as long as possible
        before, after = text[: cut.start()], text[cut.end() :]
        first = _understood(answer(before, context)) if before.strip() and after.strip() else None
        if first is None:
            continue
        later = _context_after(context, first)
        verb = before.split()
        elided = (" ".join((*verb[:count], after)) for count in range(1, min(_MAX_VERB_WORDS, len(verb) - 1) + 1))
        rest = next((one for said in (after, *elided) if (one := _understood(answer(said, later))) is not None), None)
        if rest is not None:
            return first, rest
        if (more := _split(after, later, joint, answer)) is not None:
            return first, *more
    return None


def _understood(answer: SkillAnswer | None) -> SkillAnswer | None:
    return None if answer is None or answer.missing or answer.failed else answer


def _context_after(context: SkillContext, answer: SkillAnswer) -> SkillContext:
    """Returns the context of the next part: "it" is what this part was about, and what it cancels is gone."""
    said = Remember(subjects=answer.subjects, language=context.memory.language)
    gone = [
        number
        for effect in timer_effects(answer.effect)
        if isinstance(effect, CancelTimers | CancelAlarms | CancelAll)
        for number in effect.numbers
    ]
    return replace(context, memory=context.memory.after(said, 0.0), running=without_entries(context.running, gone))


def _joined(answers: Sequence[SkillAnswer]) -> SkillAnswer:
    """Returns one answer: the effects in order, a question last."""
    if any(one.lookup is not None for one in answers):
        return replace(_spoken(answers), text="", lookup=_lookup(answers))
    return _spoken(answers)


def _lookup(answers: Sequence[SkillAnswer]) -> Callable[[], Awaitable[SkillAnswer]]:
    async def look_up() -> SkillAnswer:
        return _spoken([one if one.lookup is None else await one.lookup() for one in answers])

    return look_up


def _spoken(answers: Sequence[SkillAnswer]) -> SkillAnswer:
    ordered = sorted(answers, key=lambda one: one.question is not None)
    return replace(
        ordered[-1],
        text=" ".join(one.text for one in ordered),
        skill=answers[0].skill,
        effect=joined_effect(*(one.effect for one in answers)),
        failed=any(one.failed for one in answers),
        lookup=None,
        subjects=tuple(subject for one in answers for subject in one.subjects),
    )
