"""References to what was done last: "it", "and of 90", "make it ten", "and in Paris?", "half that", "again".

A table gives each reference its rule. A rule changes the last request and has it answered again. Pure.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from assistant.skills.answers import (
    AddTime,
    AnswerWithEffect,
    CancelAlarms,
    CancelTimers,
    SetAlarm,
    SetTimer,
    SkillAnswer,
    SkillContext,
    TimerState,
    joined_effect,
)
from assistant.skills.arithmetic.replies import ARITHMETIC, result_of
from assistant.skills.conversion.replies import CONVERSION
from assistant.skills.dialog.memory import (
    AlarmSet,
    EntriesNamed,
    FactsNamed,
    ListNamed,
    RequestAnswered,
    Subject,
    TimerSet,
)
from assistant.skills.dialog.picking import named_entries
from assistant.skills.dialog.requests import Requests, spoken_answer
from assistant.skills.dialog.slots import (
    Entry,
    Kind,
    entries_of,
    has_moment,
    kind_of,
    only,
    request,
    with_duration,
    with_moment,
    with_seconds,
    without_entries,
)
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.lists.splitting import ITEM_BREAK
from assistant.skills.timers.durations import duration_s

_Rule = Callable[[Subject, TemplateMatch, SkillContext, Requests], SkillAnswer | None]

_MAX_TIMER_S = 24 * 3600
_REPEATED = frozenset({"coin", "dice", "pick_number", "louder", "quieter", "faster", "slower"})
_ACTIONS = frozenset({"cancel", "pause", "resume", "left"})
_TIMES = frozenset({"time", "time_in_city"})
_DATES = frozenset({"date", "date_of_other_day"})


def refer(
    subjects: Sequence[Subject], matches: Sequence[TemplateMatch], context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    """Returns the answer to words that refer to the latest subject that they fit; None if they refer to none."""
    rules = [(rule, match) for match in matches if (rule := _RULES.get(match.intent)) is not None]
    answers = (rule(subject, match, context, requests) for subject in subjects for rule, match in rules)
    return next((answer for answer in answers if answer is not None), None)


# ---- timers, alarms and reminders ----


def _kind(subject: Subject) -> Kind | None:
    if isinstance(subject, TimerSet):
        return "timer"
    if isinstance(subject, AlarmSet) and subject.is_planned:
        return "planned"
    if isinstance(subject, AlarmSet):
        return "alarm" if subject.about is None else "reminder"
    return kind_of(subject.match) if isinstance(subject, EntriesNamed) else None


def _entries(subject: Subject, kind: Kind, context: SkillContext) -> tuple[Entry, ...]:
    """Returns the entries that "it" means and that are still set."""
    current = entries_of(context.running, kind)
    if isinstance(subject, EntriesNamed):
        return tuple(entry for entry in current if entry.number in subject.numbers) if subject.numbers else current
    alike: list[Entry] = []
    if isinstance(subject, TimerSet):
        alike += [t for t in context.running.timers if (t.name, t.length_s) == (subject.name, subject.length_s)]
    elif isinstance(subject, AlarmSet):
        alarms = (*context.running.alarms, *context.running.reminders, *context.running.planned)
        alike += [a for a in alarms if (a.local_time, a.about) == (subject.local_time, subject.about)]
    return tuple(sorted(alike, key=lambda entry: entry.number)[-1:])


def _order(action: str) -> _Rule:
    """Returns the rule that does `action` with the entries: "cancel it"."""

    def rule(subject: Subject, _found: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
        if isinstance(subject, ListNamed) and action == "cancel":
            return _remove_named(subject, context, requests)
        kind = _kind(subject)
        if kind is None or (kind != "timer" and action != "cancel"):
            return None
        meant = only(context.running, (entry.number for entry in _entries(subject, kind, context)))
        return requests.reply_to(request(f"{kind}_{action}"), replace(context, running=meant))

    return rule


def _other(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    """Does the same, or what the words say, with the entries that the last request did not mean: "the other one"."""
    kind = _kind(subject)
    if kind is None or isinstance(subject, ListNamed | FactsNamed):
        return None
    action = match.values.get("action") or subject.match.intent.partition("_")[2]
    if action not in _ACTIONS or (kind != "timer" and action != "cancel"):
        return None
    current = entries_of(context.running, kind)
    others = tuple(entry for entry in current if entry not in _meant(subject, current, context, requests))
    if not others:
        return None
    numbers, asked = tuple(entry.number for entry in others), request(f"{kind}_{action}")
    answer = requests.reply_to(asked, replace(context, running=only(context.running, numbers)))
    if answer is None or answer.question is not None:
        return answer
    return replace(answer, subjects=(EntriesNamed(asked, numbers),))


def _meant(subject: Subject, current: Sequence[Entry], context: SkillContext, requests: Requests) -> tuple[Entry, ...]:
    """Returns the entries that the last request meant and that are still set."""
    if not isinstance(subject, EntriesNamed):
        return _entries(subject, "timer" if isinstance(subject, TimerSet) else "alarm", context)
    if subject.numbers:
        return tuple(entry for entry in current if entry.number in subject.numbers)
    name = subject.match.values.get("name", "").casefold().split()
    length_s = duration_s(subject.match)
    timed = tuple(entry for entry in current if isinstance(entry, TimerState) and entry.length_s == length_s)
    return named_entries(current, name, requests.language.phrases.plural_endings) or timed


def _base(subject: Subject, entry: Entry | None) -> TemplateMatch | None:
    """Returns the request that had set the entry, or one like it."""
    if isinstance(subject, TimerSet | AlarmSet) and kind_of(subject.match) is not None:
        return subject.match
    if isinstance(entry, TimerState):
        return request("timer_set", **({} if entry.name is None else {"name": entry.name}))
    if entry is None:
        return None
    return request("alarm_set") if entry.about is None else request("reminder_set", task=entry.about)


def _replaced(
    subject: Subject,
    change: Callable[[TemplateMatch, Entry | None], TemplateMatch | None],
    context: SkillContext,
    requests: Requests,
) -> SkillAnswer | None:
    """Sets the last entry anew, with another duration or time, in place of the one before."""
    kind = _kind(subject)
    if kind is None or kind == "planned":
        return None
    entries = _entries(subject, kind, context)
    if len(entries) > 1:
        return None
    entry = entries[0] if entries else None
    base = _base(subject, entry)
    changed = None if base is None else change(base, entry)
    if changed is None:
        return None
    numbers = tuple(entry.number for entry in entries)
    others = without_entries(context.running, numbers)
    answer = requests.reply_to(changed, replace(context, running=others))
    if answer is None or not isinstance(answer.effect, SetTimer | SetAlarm) or not numbers:
        return answer
    cancel = CancelTimers(numbers) if kind == "timer" else CancelAlarms(numbers)
    return replace(answer, effect=joined_effect(cancel, answer.effect))


def _change(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    if isinstance(subject, RequestAnswered):
        return _with_last_number(subject.match, match, context, requests)
    if "bare" in match.numbers and _kind(subject) != "timer":
        return None  # "make it eight" is a time for an alarm: see `_move`
    return _replaced(subject, lambda base, _entry: with_duration(base, match), context, requests)


def _with_last_number(
    asked: TemplateMatch, match: TemplateMatch, context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    """Answers a calculation again with another last number: "no, eight"."""
    if "bare" not in match.numbers or asked.intent not in ARITHMETIC | CONVERSION or not asked.numbers:
        return None
    last = max(asked.numbers)
    return requests.reply_to(replace(asked, numbers={**asked.numbers, last: match.numbers["bare"]}), context)


def _move(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    if _kind(subject) == "timer":
        return None

    def change(base: TemplateMatch, entry: Entry | None) -> TemplateMatch | None:
        changed = with_moment(base, match)
        if has_moment(changed) or entry is None or isinstance(entry, TimerState):
            return changed
        time = {
            "h": Fraction(entry.local_time.hour),
            "m": Fraction(entry.local_time.minute),
        }  # "move it to Friday": at the same time
        words = {**changed.words, "h": f"0{entry.local_time.hour}"}
        return replace(changed, numbers={**changed.numbers, **time}, words=words)

    return _replaced(subject, change, context, requests)


def _extend(sign: int) -> _Rule:
    """Returns the rule that lets the last timer run longer (1) or shorter (-1)."""

    def rule(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
        seconds = duration_s(match)
        if _kind(subject) != "timer" or seconds is None or context.running.rung is not None:
            return None  # after a ring, "five more minutes" sets it again
        entries = _entries(subject, "timer", context)
        if len(entries) != 1 or not isinstance(timer := entries[0], TimerState):
            return None
        language, more = requests.language, float(seconds)
        left_s = timer.left_s + sign * more
        if left_s < 1:
            left = language.phrases.duration(math.ceil(timer.left_s))
            return SkillAnswer(language.say("timer_less_left", left=left), "timers")
        if left_s > _MAX_TIMER_S:
            return SkillAnswer(language.say("timer_too_long"), "timers")
        text = language.say("snoozed" if sign > 0 else "timer_shorter", duration=language.phrases.duration(more))
        effect = AddTime((timer.number,), sign * more)
        return spoken_answer(AnswerWithEffect(text, effect), "timers", request("timer_extend"))

    return rule


def _another(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    """Sets another entry of the same kind: "start one for five minutes"."""
    kind = _kind(subject)
    name = {slot: value for slot, value in match.values.items() if slot == "name"}
    is_bare = "bare" in match.numbers  # "another for twenty": in the unit of before
    if kind == "timer" and (is_bare or duration_s(match) is not None):
        unit = {slot: value for slot, value in _unit_of(subject).items() if is_bare}
        return requests.reply_to(with_duration(request("timer_set", **name, **unit), match), context)
    if kind == "alarm" and not name and not is_bare:
        in_time = duration_s(match) is not None
        base = request("alarm_set")
        return requests.reply_to(with_duration(base, match) if in_time else with_moment(base, match), context)
    return None


def _unit_of(subject: Subject) -> dict[str, str]:
    values = subject.match.values if isinstance(subject, TimerSet) else {}
    return {slot: value for slot, value in values.items() if slot == "ua"}


def _shift(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    """Lets the last alarm or reminder ring later or earlier; a timer run longer or shorter: "ten minutes later"."""
    kind = _kind(subject)
    if kind is None or isinstance(subject, ListNamed):
        return None
    if kind == "timer":
        return _extend(int(match.values["shift"]))(subject, match, context, requests)
    return _of_entries(subject, replace(match, intent=f"{kind}_shift"), context, requests)


def _rename(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    """Names the last timer: "call it pasta"."""
    if _kind(subject) != "timer":
        return None
    return _of_entries(subject, replace(match, intent="timer_rename"), context, requests)


def _of_entries(
    subject: Subject, asked: TemplateMatch, context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    """Answers a request about the entries that "it" means."""
    kind = kind_of(asked)
    assert kind is not None, "the intent names it"
    meant = only(context.running, (entry.number for entry in _entries(subject, kind, context)))
    return requests.reply_to(asked, replace(context, running=meant))


# ---- lists ----


def _remove_named(subject: ListNamed, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    """Removes the items that were named last, or clears the list that was told."""
    if not subject.texts:
        return requests.reply_to(request("list_clear", list=subject.name), context)
    items = ITEM_BREAK.join(subject.texts)
    return requests.reply_to(request("list_remove", list=subject.name, items=items), context)


def _in_list(intent: str) -> _Rule:
    """Returns the rule that does `intent` with the list named last: "add butter too"."""

    def rule(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
        is_latest = context.memory.subjects[:1] == (subject,)
        if not isinstance(subject, ListNamed) or not (is_latest or intent == "list_add"):
            return None
        return requests.reply_to(replace(match, intent=intent, values={**match.values, "list": subject.name}), context)

    return rule


def _add_more(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    """Adds items that follow the last turn: "and cheese". A request of its own is none."""
    is_latest = context.memory.subjects[:1] == (subject,)
    if not is_latest or requests.find(match.values["items"]) is not None:
        return None
    return _in_list("list_add")(subject, match, context, requests)


def _add_it(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    """Adds what was asked for last: "is milk on the list?" "add it"."""
    if not isinstance(subject, ListNamed) or not subject.texts:
        return None
    items = ITEM_BREAK.join(subject.texts)
    return _in_list("list_add")(subject, replace(match, values={"items": items}), context, requests)


def _remove_it(
    subject: Subject, _found: TemplateMatch, context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    return _remove_named(subject, context, requests) if isinstance(subject, ListNamed) else None


# ---- facts about the user ----


def _forget_named(
    subject: Subject, _found: TemplateMatch, context: SkillContext, requests: Requests
) -> SkillAnswer | None:
    """Forgets what was remembered or told last: "forget that"."""
    if not isinstance(subject, FactsNamed) or context.memory.subjects[:1] != (subject,):
        return None
    return requests.reply_to(request("memory_forget", items=ITEM_BREAK.join(subject.texts)), context)


# ---- calculations ----

_OF = {"percent": "b", "share": "a", "square": "a", "cube": "a", "square_root": "a", "cube_root": "a"}
"""The number after "of", by intent."""


def _of(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    if not isinstance(subject, RequestAnswered) or (slot := _OF.get(subject.match.intent)) is None:
        return None
    numbers = {slot: match.numbers["b"]} if "b" in match.numbers else {}
    if "a" in match.numbers and subject.match.intent == "percent":
        numbers["a"] = match.numbers["a"]
    elif "a" in match.numbers:
        return None
    return requests.reply_to(replace(subject.match, numbers={**subject.match.numbers, **numbers}), context)


def _operate(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    """Continues a calculation with its result: "plus five", "half that"."""
    share = Fraction(match.values["share"]) if "share" in match.values else None
    if share is not None and isinstance(subject, TimerSet):
        seconds = Fraction(subject.length_s) * share
        return _replaced(subject, lambda base, _entry: with_seconds(base, seconds), context, requests)
    if not isinstance(subject, RequestAnswered) or (value := result_of(subject.match)) is None:
        return None
    if share is not None:
        return requests.reply_to(replace(request("share", share=str(share)), numbers={"a": value}), context)
    operators = {"over": "divided", "times": "times", "plus": "plus", "minus": "minus"}
    slot = next((slot for slot in operators if slot in match.numbers), "b")
    operator = operators.get(slot) or match.values["f"]
    numbers = {"a": value, "b": match.numbers[slot]}
    return requests.reply_to(replace(request("chain", f=operator), numbers=numbers), context)


def _unit(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    if not isinstance(subject, RequestAnswered) or subject.match.intent not in CONVERSION:
        return None
    asked = replace(subject.match, values={**subject.match.values, "to": match.values["to"]})
    return requests.reply_to(asked, context)


# ---- clock, calendar, chance ----


def _city(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    if not isinstance(subject, RequestAnswered) or subject.match.intent not in _TIMES:
        return None
    return requests.reply_to(replace(match, intent="time_in_city"), context)


def _day(subject: Subject, match: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    if (
        not isinstance(subject, RequestAnswered)
        or subject.match.intent not in _DATES
        or "other_day" not in match.values
    ):
        return None
    return requests.reply_to(replace(match, intent="date_of_other_day"), context)


def _again(subject: Subject, _found: TemplateMatch, context: SkillContext, requests: Requests) -> SkillAnswer | None:
    if not isinstance(subject, RequestAnswered) or subject.match.intent not in _REPEATED:
        return None
    return requests.reply_to(subject.match, context)


_RULES: dict[str, _Rule] = {
    "dialog_cancel": _order("cancel"),
    "dialog_pause": _order("pause"),
    "dialog_resume": _order("resume"),
    "dialog_left": _order("left"),
    "dialog_change": _change,
    "dialog_move": _move,
    "dialog_longer": _extend(1),
    "dialog_shorter": _extend(-1),
    "dialog_shift": _shift,
    "dialog_rename": _rename,
    "dialog_one": _another,
    "dialog_other": _other,
    "dialog_of": _of,
    "dialog_share": _operate,
    "dialog_operator": _operate,
    "dialog_unit": _unit,
    "dialog_city": _city,
    "dialog_day": _day,
    "dialog_again": _again,
    "dialog_fact_forget": _forget_named,
    "dialog_list_add": _in_list("list_add"),
    "dialog_list_remove": _in_list("list_remove"),
    "dialog_list_and": _add_more,
    "dialog_list_add_it": _add_it,
    "dialog_list_it": _remove_it,
    "dialog_list_nth": _in_list("list_remove"),
    "dialog_list_has": _in_list("list_has"),
    "dialog_list_read": _in_list("list_read"),
}
