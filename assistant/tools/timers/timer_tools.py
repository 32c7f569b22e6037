"""Tools with which the language model lists, sets, changes and cancels timers, alarms and reminders."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar, get_args

from assistant.skills.effects import ConversationTimers
from assistant.skills.ringing.requested_changes import (
    MAX_TEXT_CHARS,
    EntryKind,
    RefusedChangeError,
    RequestedChange,
    Situation,
    TimerOrder,
    add_seconds,
    after_seconds,
    cancel,
    listed,
    move,
    order,
    rename,
    set_alarm,
    set_timer,
)
from assistant.tools import ToolError
from llm.chat import Function

T = TypeVar("T", bound=str)

MAX_CANCELLED = 60
"""Ids in one call: all that can be set."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_AT = {"type": "string", "description": "Local time such as 2026-11-21T07:00"}


def _function(name: str, description: str, properties: Mapping[str, Any], required: tuple[str, ...]) -> Function:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Function(name, description, json.dumps(schema))


LIST = _function("timers_list", "Lists the user's timers, alarms and reminders with their ids, and the time.", {}, ())
SET = _function(
    "timers_set",
    "Sets a timer, alarm or reminder. Nothing is set without this call.",
    {
        "kind": {"type": "string", "enum": list(get_args(EntryKind))},
        "seconds": {"type": "number", "description": "From now; a timer needs it"},
        "at": _AT,
        "text": {"type": "string", "description": "Name of a timer, or what to remind of; not of an alarm"},
        "weekdays": {"type": "array", "items": {"type": "string", "enum": list(WEEKDAYS)}},
    },
    ("kind",),
)
CHANGE = _function(
    "timers_change",
    "Changes a timer, alarm or reminder: exactly one of add_seconds, at, text and action.",
    {
        "id": {"type": "integer", "description": "From timers_list"},
        "add_seconds": {"type": "number", "description": "Negative: less, or earlier"},
        "at": {**_AT, "description": f"{_AT['description']}; of a repeating alarm: the time on all its days"},
        "text": {"type": "string", "description": "Another name or text"},
        "action": {"type": "string", "enum": list(get_args(TimerOrder))},
    },
    ("id",),
)
CANCEL = _function(
    "timers_cancel",
    "Cancels timers, alarms and reminders.",
    {"ids": {"type": "array", "items": {"type": "integer"}, "description": "From timers_list"}},
    ("ids",),
)
FUNCTIONS = (LIST, SET, CHANGE, CANCEL)


class TimerTools:
    """Implements `Tools`. A result says what is set now, so that what the model says is true."""

    functions = FUNCTIONS

    def __init__(
        self, timers: ConversationTimers, local_now: Callable[[], datetime], language: Callable[[], str]
    ) -> None:
        """Changes nothing yet.

        Args:
            timers: Those of the conversation, or of its user.
            local_now: Returns the local time with its time zone.
            language: Returns the BCP 47 tag of the turn's language.
        """
        self._timers = timers
        self._local_now = local_now
        self._language = language

    async def call(self, name: str, arguments: str) -> str:
        """See `Tools`."""
        function = next((function for function in FUNCTIONS if function.name == name), None)
        if function is None:
            raise ToolError("there is no tool of that name")
        given = _Arguments(function, json.loads(arguments))
        now_s = asyncio.get_running_loop().time()
        situation = Situation(self._timers.running(now_s), self._local_now(), self._language())
        if name == LIST.name:
            return listed(situation)
        try:
            change = _change(name, given, situation)
        except RefusedChangeError as error:
            raise ToolError(f"not done: {error}") from None
        made = self._timers.change(change.effect, now_s)
        if not (made.added or made.replaced):
            raise ToolError("not done: it has rung or was cancelled meanwhile")
        after = Situation(self._timers.running(now_s), situation.now, situation.tag)
        return f"done: {change.text}\n{listed(after)}"

    def subscribe(self, report_problem: Callable[[str], None]) -> Callable[[], None]:
        """See `Tools`."""
        return lambda: None


def _change(name: str, given: "_Arguments", situation: Situation) -> RequestedChange:
    if name == CANCEL.name:
        return cancel(situation, given.ids())
    if name == SET.name:
        return _set(given, situation)
    number = given.integer("id")
    if len(given.names) != 2:
        raise RefusedChangeError("give exactly one of add_seconds, at, text and action")
    if "add_seconds" in given.names:
        return add_seconds(situation, number, given.number("add_seconds"))
    if "at" in given.names:
        return move(situation, number, given.local_time())
    if "text" in given.names:
        return rename(situation, number, given.text())
    return order(situation, number, given.choice("action", get_args(TimerOrder)))


def _set(given: "_Arguments", situation: Situation) -> RequestedChange:
    kind = given.choice("kind", get_args(EntryKind))
    text = given.text() if "text" in given.names else None
    if kind == "timer":
        if "seconds" not in given.names or "at" in given.names:
            raise RefusedChangeError("a timer needs seconds")
        return set_timer(situation, given.number("seconds"), text)
    if ("seconds" in given.names) == ("at" in given.names):
        raise RefusedChangeError(f"{'an alarm' if kind == 'alarm' else 'a reminder'} needs either seconds or at")
    if kind == "alarm" and text is not None:
        raise RefusedChangeError("an alarm has no text: set a reminder, or leave text out")
    if kind == "reminder" and text is None:
        raise RefusedChangeError("a reminder needs text")
    in_seconds = "seconds" in given.names
    local_time = after_seconds(situation, given.number("seconds")) if in_seconds else given.local_time()
    return set_alarm(situation, local_time, text, given.weekdays())


class _Arguments:
    """The arguments of a call, checked against the function's schema. Methods raise ToolError."""

    def __init__(self, function: Function, given: Mapping[str, Any]) -> None:
        schema = json.loads(function.parameters)
        self._given = {name: value for name, value in given.items() if value is not None}
        if unknown := self._given.keys() - schema["properties"].keys():
            raise ToolError(f"not done: there is no argument {min(unknown)}"[:100])
        if missing := set(schema["required"]) - self._given.keys():
            raise ToolError(f"not done: {min(missing)} is missing")

    @property
    def names(self) -> frozenset[str]:
        """The arguments that are given."""
        return frozenset(self._given)

    def number(self, name: str) -> float:
        """Returns a finite number."""
        value = self._given[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ToolError(f"not done: {name} must be a number")
        return float(value)

    def integer(self, name: str) -> int:
        """Returns a whole number."""
        value = self.number(name)
        if value != int(value):
            raise ToolError(f"not done: {name} must be a whole number")
        return int(value)

    def text(self) -> str:
        """Returns the text, in one line."""
        value = self._given["text"]
        plain = " ".join(value.split()) if isinstance(value, str) else ""
        if not 0 < len(plain) <= MAX_TEXT_CHARS:
            raise ToolError(f"not done: text must have 1 to {MAX_TEXT_CHARS} characters")
        return plain

    def choice(self, name: str, values: tuple[T, ...]) -> T:
        """Returns one of `values`."""
        value = self._given.get(name)
        if value not in values:
            raise ToolError(f"not done: {name} must be one of {', '.join(values)}")
        return values[values.index(value)]

    def local_time(self) -> datetime:
        """Returns the local time, without a time zone, to the minute."""
        try:
            moment = datetime.fromisoformat(self._given["at"])
        except (TypeError, ValueError):
            raise ToolError("not done: at must be a local time such as 2026-11-21T07:00") from None
        if moment.tzinfo is not None:
            raise ToolError("not done: at must be a local time without an offset")
        return moment.replace(second=0, microsecond=0)

    def weekdays(self) -> tuple[int, ...]:
        """Returns the weekdays, from 0 for Monday; () if none are given."""
        value = self._given.get("weekdays", [])
        if not isinstance(value, list) or any(day not in WEEKDAYS for day in value):
            raise ToolError(f"not done: weekdays must be a list of {', '.join(WEEKDAYS)}")
        return tuple(WEEKDAYS.index(day) for day in value)

    def ids(self) -> tuple[int, ...]:
        """Returns the ids."""
        value = self._given["ids"]
        valid = isinstance(value, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in value)
        if not valid or not 0 < len(value) <= MAX_CANCELLED:
            raise ToolError(f"not done: ids must be a list of 1 to {MAX_CANCELLED} ids from timers_list")
        return tuple(value)
