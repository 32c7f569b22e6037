"""Plans commands for later: "in ten minutes", "at half past seven", or for a while and back. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from assistant.home import Device, HomePort, PlannedCalls, ServiceCall
from assistant.skills.alarms.replies import find_clock, not_past, say_moment
from assistant.skills.answers import FAULT, HomeAction, SetAlarm, SkillAnswer, SkillContext, each_effect, joined_effect
from assistant.skills.dialog.memory import AlarmSet, ServiceAsked
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.timers.durations import duration_s, later
from assistant.skills.timers.timers import MAX_PLANNED

SKILL = "home"
_DAY_S = 86400
_MAX_S = 366 * _DAY_S
_FOR = "schedule_for"
_OPPOSITES = {
    "turn_on": "turn_off",
    "turn_off": "turn_on",
    "open_cover": "close_cover",
    "close_cover": "open_cover",
    "unlock": "lock",
    "media_pause": "media_play",
}
"""Services with the one that follows after a while. A lock is never opened by itself."""
_ENDING = frozenset({"turn_on", "open_cover", "unlock"})
"""Services whose opposite ends them: "on for ten minutes" is off afterwards, even if it is on already."""
_MAX_NAMED = 6
"""Names that are told. More are told in the user's words."""
_BEFORE = {later: first for first, later in _OPPOSITES.items()}
_DONE = {
    "turn_on": "home_on",
    "turn_off": "home_off",
    "open_cover": "home_open",
    "close_cover": "home_close",
    "lock": "home_lock",
    "media_play": "home_play",
}
"""The sentence that says that a service was called."""


def is_plannable(answer: SkillAnswer, time: TemplateMatch) -> bool:
    """Returns whether an answer orders something that can be done at this time."""
    actions = _actions(answer)
    if time.intent == _FOR:
        return bool(actions) and len(answer.subjects) == 1 and _opposite(actions) is not None
    return bool(actions)


def planned(
    answer: SkillAnswer, time: TemplateMatch, context: SkillContext, language: Language, home: HomePort
) -> SkillAnswer:
    """Returns the answer that plans what `answer` would do now.

    Args:
        answer: The answer without the time; `is_plannable`.
        time: The time.
        context: The context of the answer.
        language: Gives the sentences.
        home: The home of the devices.
    """
    if len(context.running.planned) >= MAX_PLANNED:
        return SkillAnswer(language.say("planned_enough", count=language.phrases.count(MAX_PLANNED)), SKILL)
    moment = _moment(time, context, language)
    if isinstance(moment, str):
        return SkillAnswer(moment, SKILL)
    local_time, weekdays = moment
    calls, done = tuple(call for action in _actions(answer) for call in action.calls), answer.text
    if time.intent == _FOR:
        opposite = _opposite(_actions(answer))
        assert opposite is not None, "it is plannable"
        devices = () if home.state is None else home.state.devices
        calls = _way_back(opposite, devices)
        if not calls:
            return replace(answer, text=f"{answer.text} {language.say('planned_nothing')}")
        done = _done(calls, _what(opposite, calls, devices, answer, language), language)
    about = done.rstrip(" .").replace(". ", ", ")
    failed = language.say("home_failed_late", what=about, fault=FAULT)
    seconds = duration_s(time)
    is_elapsed = seconds is not None and seconds % _DAY_S  # "in two days" is at the same time of day
    effect = SetAlarm(
        local_time,
        failed,
        about,
        weekdays=weekdays,
        planned=PlannedCalls(calls, home.key),
        after_s=float(seconds) if seconds is not None and is_elapsed else None,
    )
    text = _announced(time, done, effect, context.now, language)
    subject = AlarmSet(time, local_time, about, is_planned=True)
    if time.intent == _FOR:
        text = f"{answer.text} {text}"
        return replace(
            answer, text=text, effect=joined_effect(answer.effect, effect), subjects=(*answer.subjects, subject)
        )
    return replace(answer, text=text, effect=effect, subjects=(*answer.subjects, subject))


def time_said(time: TemplateMatch | None, language: Language, context: SkillContext) -> datetime | None:
    """Returns the local time that a user says for a planned command; None for none."""
    moment = None if time is None or time.intent == _FOR else _moment(time, context, language)
    return moment[0] if isinstance(moment, tuple) else None


def _actions(answer: SkillAnswer) -> list[HomeAction]:
    return [effect for effect in each_effect(answer.effect) if isinstance(effect, HomeAction)]


def _opposite(actions: Sequence[HomeAction]) -> tuple[ServiceCall, ...] | None:
    """Returns the calls that restore what these actions change; None if it cannot be restored."""
    calls = [call for action in actions for call in action.calls]
    if not calls or any(
        call.service not in _OPPOSITES or call.data or call.domain in {"scene", "script"} for call in calls
    ):
        return None
    return tuple(replace(call, service=_OPPOSITES[call.service]) for call in calls)


def _way_back(opposite: Sequence[ServiceCall], devices: Sequence[Device]) -> tuple[ServiceCall, ...]:
    """Returns those of the opposite calls that restore a state: what does not change now does not change later.

    If nothing changes, what is limited in time still ends: the oven that is on already is off after ten minutes.
    """
    states = {device.id: device for device in devices}

    def changes(target: str, service: str) -> bool:
        device = states.get(target)
        return device is not None and device.is_on == (service not in _ENDING)

    changed = [
        replace(call, targets=tuple(target for target in call.targets if changes(target, _BEFORE[call.service])))
        for call in opposite
    ]
    restored = tuple(call for call in changed if call.targets)
    return restored or tuple(call for call in opposite if _BEFORE[call.service] in _ENDING)


def _what(
    opposite: Sequence[ServiceCall],
    calls: Sequence[ServiceCall],
    devices: Sequence[Device],
    answer: SkillAnswer,
    language: Language,
) -> str:
    """Returns what is restored: the user's words; the names of the devices if it is only a part of what was meant."""
    targets = frozenset(target for call in calls for target in call.targets)
    names = [device.name for device in devices if device.id in targets]
    if tuple(opposite) == tuple(calls) or len(names) > _MAX_NAMED:
        asked = answer.subjects[0]
        return asked.name if isinstance(asked, ServiceAsked) else ""
    return language.phrases.join(names)


def _done(calls: Sequence[ServiceCall], what: str, language: Language) -> str:
    """Returns what is said about these calls: "Kitchen light off."."""
    return language.say(_DONE[calls[0].service], of=None, what=what)


def _moment(time: TemplateMatch, context: SkillContext, language: Language) -> tuple[datetime, tuple[int, ...]] | str:
    """Returns the local time and the weekdays on which it is done again; a sentence if there is no such time."""
    seconds = duration_s(time)
    if seconds is not None:
        if not 1 <= seconds <= _MAX_S:
            return language.say("planned_bounds")
        return later(context.now, timedelta(seconds=float(seconds))), ()
    clock = find_clock(time)
    if clock is None:
        return language.say("no_time_of_day")
    local_time = clock.next(context.now, wake_up=False)
    if local_time is None:
        return language.say("alarm_has_passed")
    return not_past(local_time, context.now), clock.rings_again_on(local_time)


def _announced(time: TemplateMatch, done: str, command: SetAlarm, now: datetime, language: Language) -> str:
    """Returns the sentence that says what happens when: "In 10 minutes: Kitchen light off."."""
    said = {"Done": done, "done": done[:1].lower() + done[1:]}  # behind a colon, or inside the sentence
    seconds = duration_s(time)
    if seconds is not None:
        return language.say("planned_in", of=None, duration=language.phrases.duration_behind_in(float(seconds)), **said)
    moment = say_moment(language, command.local_time, now, command.weekdays)
    return language.say("planned_at", of=None, moment=moment, **said)
