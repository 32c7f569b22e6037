"""Tools of the model for timers, alarms and reminders: what they do, what they refuse, what their results say."""

import asyncio
import json
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from support.texts.text_cases import text_cases

from assistant.home import SERVERS_HOME, PlannedCalls, ServiceCall
from assistant.skills.answers import SetAlarm
from assistant.skills.timers.timers import MAX_TIMERS, Timers
from assistant.tools import ToolError
from assistant.tools.timers.timer_tools import CANCEL, CHANGE, FUNCTIONS, LIST, SET, TimerTools

NOW = datetime(2026, 11, 20, 22, 43, 10, tzinfo=ZoneInfo("Europe/Berlin"))  # a Friday


class Caller:
    """Calls the tools of one conversation."""

    def __init__(self, language: str = "en", now: datetime = NOW) -> None:
        self.timers, self.language = Timers(), language
        self.tools = TimerTools(self.timers, lambda: now, lambda: self.language)

    def call(self, name: str, **arguments: Any) -> str:
        return asyncio.run(self.tools.call(name, json.dumps(arguments)))

    def refused(self, name: str, **arguments: Any) -> str:
        with pytest.raises(ToolError) as refused:
            self.call(name, **arguments)
        return str(refused.value)


def test_schemas_allow_no_other_arguments() -> None:
    for function in FUNCTIONS:
        schema = json.loads(function.parameters)
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])


def test_list_of_nothing_tells_the_time() -> None:
    assert Caller().call(LIST.name) == "now: Friday 2026-11-20T22:43\nnothing is set"


@text_cases(
    ("arguments", "first", "listed"),
    [
        (
            {"kind": "timer", "seconds": 600, "text": "pasta"},
            "done: Your 10 minute timer for pasta is set.",
            "1 | timer | pasta | 600 s left of 600 s | running",
        ),
        (
            {"kind": "alarm", "at": "2026-11-21T07:00"},
            "done: Your alarm is set for 7 AM tomorrow.",
            "1 | alarm | - | Saturday 2026-11-21T07:00 | once",
        ),
        (
            {"kind": "alarm", "at": "2026-11-20T07:00", "weekdays": ["monday", "friday"]},
            "done: Your alarm is set for 7 AM every Monday and Friday.",
            "1 | alarm | - | Monday 2026-11-23T07:00 | every Monday, Friday",
        ),
        (
            {"kind": "reminder", "seconds": 7 * 86400, "text": "pay the rent"},
            "done: I'll remind you at 10:43 PM on Friday, November 27: pay the rent.",
            "1 | reminder | pay the rent | Friday 2026-11-27T22:43 | once",
        ),
    ],
    columns=(1,),
)
def test_set_entry_is_listed_as_the_result_says(arguments: dict[str, Any], first: str, listed: str) -> None:
    caller = Caller()
    result = caller.call(SET.name, **arguments)
    assert result.splitlines() == [first, "now: Friday 2026-11-20T22:43", listed]


def test_announcement_is_in_the_language_of_the_conversation() -> None:
    caller = Caller("de-AT")
    assert caller.call(SET.name, kind="alarm", at="2026-11-21T07:00").startswith("done: Der Wecker klingelt morgen")
    (entry,) = caller.timers.entries
    assert entry.set_to.announcement == "Es ist 7 Uhr. Das ist dein Wecker."


@text_cases(
    ("arguments", "text"),
    [
        ({"add_seconds": 300}, "Now 15 minutes are left."),
        ({"add_seconds": -120}, "Now 8 minutes are left."),
        ({"text": "eggs"}, "It's your timer for eggs now."),
        ({"action": "pause"}, "Your timer for pasta is paused."),
        ({"action": "restart"}, "Your timer for pasta is set."),
    ],
    columns=(1,),
)
def test_timer_is_changed(arguments: dict[str, Any], text: str) -> None:
    caller = Caller()
    caller.call(SET.name, kind="timer", seconds=600, text="pasta")
    if "action" in arguments and arguments["action"] == "restart":
        caller.call(CHANGE.name, id=1, add_seconds=-60)
    result = asyncio.run(change_at_once(caller, arguments))
    assert result.splitlines()[0].startswith(f"done: {text[:5]}")


async def change_at_once(caller: Caller, arguments: dict[str, Any]) -> str:
    return await caller.tools.call(CHANGE.name, json.dumps({"id": 1, **arguments}))


def test_alarm_is_moved_and_shifted() -> None:
    caller = Caller()
    caller.call(SET.name, kind="alarm", at="2026-11-21T07:00")
    assert "8 AM tomorrow" in caller.call(CHANGE.name, id=1, at="2026-11-21T08:00")
    assert "7:30 AM tomorrow" in caller.call(CHANGE.name, id=1, add_seconds=-1800)


def test_cancelled_entries_are_gone() -> None:
    caller = Caller()
    caller.call(SET.name, kind="timer", seconds=600)
    caller.call(SET.name, kind="alarm", at="2026-11-21T07:00")
    assert caller.call(CANCEL.name, ids=[1, 2]).startswith("done: All 2 are cancelled.")
    assert caller.timers.entries == ()


@text_cases(
    ("name", "arguments", "reason"),
    [
        (SET.name, {}, "kind is missing"),
        (SET.name, {"kind": "timer"}, "a timer needs seconds"),
        (SET.name, {"kind": "timer", "seconds": 0}, "a timer runs for 1 to 86400 seconds"),
        (SET.name, {"kind": "timer", "seconds": 1e9}, "a timer runs for 1 to 86400 seconds"),
        (SET.name, {"kind": "timer", "seconds": "ten"}, "seconds must be a number"),
        (SET.name, {"kind": "timer", "seconds": True}, "seconds must be a number"),
        (SET.name, {"kind": "clock", "seconds": 1}, "kind must be one of timer, alarm, reminder"),
        (SET.name, {"kind": "alarm", "at": "2026-11-21T07:00", "text": "work"}, "an alarm has no text"),
        (SET.name, {"kind": "alarm"}, "an alarm needs either seconds or at"),
        (SET.name, {"kind": "alarm", "at": "2026-11-20T07:00"}, "2026-11-20T07:00 has passed"),
        (SET.name, {"kind": "alarm", "at": "2030-11-20T07:00"}, "it must be within a year"),
        (SET.name, {"kind": "alarm", "at": "tomorrow"}, "at must be a local time"),
        (SET.name, {"kind": "alarm", "at": "2026-11-21T07:00Z"}, "at must be a local time without an offset"),
        (SET.name, {"kind": "alarm", "at": "2026-11-21T07:00", "weekdays": ["fri"]}, "weekdays must be a list of"),
        (SET.name, {"kind": "reminder", "seconds": 60}, "a reminder needs text"),
        (SET.name, {"kind": "timer", "seconds": 60, "loud": 1}, "there is no argument loud"),
        (CHANGE.name, {"id": 1}, "give exactly one of"),
        (CHANGE.name, {"id": 1, "add_seconds": 1, "text": "a"}, "give exactly one of"),
        (CHANGE.name, {"id": 9, "add_seconds": 1}, "there is no id 9"),
        (CHANGE.name, {"id": 1.5, "add_seconds": 1}, "id must be a whole number"),
        (CHANGE.name, {"id": 1, "add_seconds": -3600}, "only 600 seconds are left"),
        (CHANGE.name, {"id": 1, "at": "2026-11-21T07:00"}, "a timer has no time of day"),
        (CHANGE.name, {"id": 1, "text": " "}, "text must have 1 to 200 characters"),
        (CHANGE.name, {"id": 2, "action": "pause"}, "only a timer can pause"),
        (CHANGE.name, {"id": 2, "text": "work"}, "an alarm has no name"),
        (CANCEL.name, {"ids": []}, "ids must be a list"),
        (CANCEL.name, {"ids": [1, 9]}, "there is no id 9"),
    ],
    columns=(2,),
)
def test_impossible_change_is_refused(name: str, arguments: dict[str, Any], reason: str) -> None:
    caller = Caller()
    caller.call(SET.name, kind="timer", seconds=600)
    caller.call(SET.name, kind="alarm", at="2026-11-21T07:00")
    before = caller.timers.entries
    assert reason in caller.refused(name, **arguments)
    assert caller.timers.entries == before


def test_more_timers_than_allowed_are_refused() -> None:
    caller = Caller()
    for _ in range(MAX_TIMERS):
        caller.call(SET.name, kind="timer", seconds=600)
    assert "already" in caller.refused(SET.name, kind="timer", seconds=600)


def test_hour_later_when_the_clocks_change_is_elapsed_time() -> None:
    caller = Caller(now=datetime(2026, 3, 28, 22, tzinfo=ZoneInfo("Europe/Berlin")))
    caller.call(SET.name, kind="alarm", at="2026-03-29T01:30")
    assert "Sunday 2026-03-29T03:30" in caller.call(CHANGE.name, id=1, add_seconds=3600)


def test_result_and_announcement_are_in_the_language_of_the_turn() -> None:
    caller = Caller("en")
    caller.call(SET.name, kind="alarm", at="2026-11-21T07:00")
    caller.language = "de"
    assert caller.call(SET.name, kind="alarm", at="2026-11-21T08:00").startswith("done: Der Wecker klingelt morgen")
    assert [entry.set_to.announcement for entry in caller.timers.entries] == [
        "It's 7 AM. This is your alarm.",
        "Es ist 8 Uhr. Das ist dein Wecker.",
    ]


def test_repeating_alarm_is_not_moved_to_a_day_on_which_it_does_not_ring() -> None:
    caller = Caller()
    caller.call(SET.name, kind="alarm", at="2026-11-20T07:00", weekdays=["monday", "friday"])
    assert "it rings every Monday, Friday" in caller.refused(CHANGE.name, id=1, at="2026-11-21T08:00")
    assert "every Monday and Friday" in caller.call(CHANGE.name, id=1, at="2026-11-23T08:00")


def test_repeating_alarm_is_shifted_on_the_wall_clock() -> None:
    caller = Caller(now=datetime(2026, 3, 28, 22, tzinfo=ZoneInfo("Europe/Berlin")))
    caller.call(SET.name, kind="alarm", at="2026-03-29T01:30", weekdays=["sunday"])
    assert "T03:30 | every Sunday" in caller.call(CHANGE.name, id=1, add_seconds=7200)


def test_planned_home_command_is_listed_and_cancelled_but_not_changed() -> None:
    caller = Caller()
    calls = PlannedCalls((ServiceCall("light", "turn_off", ("light.a",)),), SERVERS_HOME)
    local_time = NOW.replace(hour=23, tzinfo=None)
    caller.timers.change(SetAlarm(local_time, "failed", "Lamp off", planned=calls), 0.0)
    assert "1 | home command | Lamp off | Friday 2026-11-20T23:43 | once" in caller.call(LIST.name)
    assert "home command" in caller.refused(CHANGE.name, id=1, at="2026-11-21T07:00")
    assert caller.timers.any_set
    caller.call(CANCEL.name, ids=[1])
    assert not caller.timers.any_set
