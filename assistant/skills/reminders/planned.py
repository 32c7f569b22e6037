"""Commands to a home that are planned: lists and cancels them."""

from collections.abc import Callable
from datetime import datetime

from assistant.skills.alarms.replies import say_moment
from assistant.skills.answers import AlarmState, AnswerWithEffect, Asking, CancelAlarms, Reply, SkillContext
from assistant.skills.dialog.memory import WhichEntry
from assistant.skills.dialog.slots import request
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch

CANCEL = "planned_cancel"
_MAX_LISTED = 4
_SAME_TIME_S = 60.0
_HALF_DAY_S = 43200.0


def tell_planned(language: Language, context: SkillContext) -> str:
    """Lists the commands that are planned."""
    commands = context.running.planned
    return _list(language, commands, context.now) if commands else language.say("planned_none")


def cancel_requested(match: TemplateMatch, language: Language) -> Reply:
    """Cancels the planned commands that a request means: all, or the only one."""

    def reply(context: SkillContext) -> str | AnswerWithEffect | Asking:
        commands = context.running.planned
        if not commands:
            return language.say("planned_none")
        return _cancel(language, commands, context.now, everything="all" in match.values)

    return reply


def cancel_planned(
    targets: frozenset[str],
    what: str,
    language: Language,
    *,
    services: frozenset[str] = frozenset(),
    time_of: Callable[[SkillContext], datetime | None] = lambda _context: None,
) -> Reply:
    """Cancels the command that is planned for one of these devices; asks which one if there are several.

    Args:
        targets: Ids of the devices.
        what: What the user calls them.
        language: Gives the sentences.
        services: What the command does, if the user says it; empty: anything.
        time_of: Returns its time, if the user says it. A time at which nothing is planned is ignored.
    """

    def reply(context: SkillContext) -> str | AnswerWithEffect | Asking:
        commands = tuple(
            command
            for command in context.running.planned
            if command.targets & targets and (not services or command.services & services)
        )
        if not commands:
            return language.say("planned_none_for", what=what)
        commands = _at(commands, time_of(context)) or commands
        return _cancel(language, commands, context.now, everything=False)

    return reply


def _at(commands: tuple[AlarmState, ...], local_time: datetime | None) -> tuple[AlarmState, ...]:
    """Returns the commands at this time, or else those with the same clock face: eleven may be in the evening."""
    if local_time is None:
        return ()
    distances = [abs((command.local_time - local_time).total_seconds()) for command in commands]
    exact = tuple(command for command, distance in zip(commands, distances, strict=True) if distance < _SAME_TIME_S)
    alike = (min(distance % _HALF_DAY_S, -distance % _HALF_DAY_S) for distance in distances)
    return exact or tuple(command for command, distance in zip(commands, alike, strict=True) if distance < _SAME_TIME_S)


def _cancel(
    language: Language, commands: tuple[AlarmState, ...], now: datetime, *, everything: bool
) -> str | AnswerWithEffect | Asking:
    numbers = tuple(command.number for command in commands)
    if len(commands) > 1 and not everything:
        question = WhichEntry(request(CANCEL), numbers)
        return Asking(language.say("which_reminder"), question, _list(language, commands, now))
    count = language.phrases.count(len(commands))
    text = language.say("planned_cancelled", of=len(commands), about=commands[0].about or "", count=count)
    return AnswerWithEffect(text, CancelAlarms(numbers))


def _list(language: Language, commands: tuple[AlarmState, ...], now: datetime) -> str:
    told = [
        language.piece(
            "the_reminder",
            moment=say_moment(language, command.local_time, now, command.weekdays),
            about=command.about or "",
        )
        for command in commands[:_MAX_LISTED]
    ]
    more = len(commands) - len(told)
    sentence = language.say("planned_list", of=len(commands), commands=language.phrases.join(told))
    return f"{sentence} {language.say('and_more', count=language.phrases.count(more))}" if more else sentence
