"""Timers shared by the conversations of a program: which one announces, what was missed, steps of the wall clock."""

from datetime import timedelta

import pytest
from support.conversations.stored_timers import Program, World, alarm, timer

from assistant.skills.answers import CancelTimers, PauseTimers, Running
from assistant.skills.timers.user_timers import AWAY_S, CLAIM_TIMEOUT_S, RENEWED_EVERY_S


def program() -> Program:
    """A program whose store has failed, so that nothing needs permission."""
    started = Program(World())
    started.shared.store_failed()
    return started


def test_timer_rings_once_in_the_conversation_where_the_user_spoke_last() -> None:
    one = program()
    kitchen, desk = one.converse(), one.converse()
    kitchen.set(timer(10, "pasta"))
    kitchen.frame()
    one.world.wait(5)
    desk.timers.note_use(one.world.now_s)
    desk.frame()
    one.world.wait(4.9)
    assert (kitchen.frame(), desk.frame()) == ((), ())
    one.world.wait(0.1)
    assert kitchen.frame() == ()
    assert desk.frame() == ("pasta done",)
    assert (kitchen.frame(), desk.frame()) == ((), ())


def test_timer_rings_elsewhere_if_that_conversation_has_lost_its_client() -> None:
    one = program()
    kitchen, desk = one.converse(), one.converse()
    kitchen.set(timer(10, "pasta"))
    one.world.wait(5)
    desk.timers.note_use(one.world.now_s)
    desk.frame()
    one.world.wait(5)
    assert kitchen.frame() == ("pasta done",)


def test_timer_rings_in_the_room_where_it_was_set() -> None:
    one = program()
    kitchen, desk = one.converse("Kitchen"), one.converse("Office")
    kitchen.set(timer(10, "pasta"))
    one.world.wait(5)
    desk.timers.note_use(one.world.now_s)
    one.world.wait(4.9)
    kitchen.frame()
    one.world.wait(0.1)
    assert (desk.frame(), kitchen.frame()) == ((), ("pasta done",))
    assert [ring.sentence for ring in kitchen.timers.sounding()] == ["pasta done"]


def test_newest_conversation_of_the_room_rings() -> None:
    one = program()
    first, second = one.converse("Kitchen"), one.converse("kitchen")
    first.set(timer(10, "pasta"))
    one.world.wait(5)
    second.timers.note_use(one.world.now_s)
    one.world.wait(4.9)
    second.frame()
    one.world.wait(0.1)
    assert first.frame() == ()
    assert second.frame() == ("pasta done",)


def test_ring_in_another_room_names_the_room() -> None:
    one = program()
    kitchen, desk = one.converse("Kitchen"), one.converse("Office")
    kitchen.set(timer(10, "pasta"))
    kitchen.frame()
    one.world.wait(10)
    assert desk.frame() == ("Kitchen: pasta done",)
    assert [ring.sentence for ring in desk.timers.sounding()] == ["Kitchen: pasta done"]


def test_ring_moves_to_another_room_if_its_room_loses_the_client() -> None:
    one = program()
    kitchen, desk = one.converse("Kitchen"), one.converse("")
    kitchen.set(timer(10, "pasta"))
    one.world.wait(9.9)
    kitchen.frame()
    one.world.wait(0.1)
    assert (desk.frame(), kitchen.frame()) == ((), ("pasta done",))
    one.world.wait(AWAY_S + 0.1)
    assert desk.frame() == ("Kitchen: pasta done",)


def test_snoozed_alarm_keeps_its_sentence() -> None:
    one = program()
    kitchen, desk = one.converse("Kitchen"), one.converse("Office")
    kitchen.set(timer(10, "pasta"))
    one.world.wait(10)
    desk.frame()
    (rung,) = desk.timers.running(one.world.now_s).ringing
    assert rung.set_to.announcement == "pasta done"


def test_conversations_see_the_same_timers() -> None:
    one = program()
    kitchen, desk = one.converse(), one.converse()
    kitchen.set(timer(10, "pasta"))
    assert desk.names == ["pasta"]
    (number,) = (state.number for state in desk.timers.running(one.world.now_s).timers)
    desk.timers.apply(CancelTimers((number,)), one.world.now_s)
    assert kitchen.names == []


def test_retracted_effect_does_not_undo_that_of_another_conversation() -> None:
    one = program()
    kitchen, desk = one.converse(), one.converse()
    kitchen.set(timer(10, "pasta"))
    desk.set(timer(20, "tea"))
    kitchen.timers.undo()
    assert desk.names == ["tea"]
    desk.timers.undo()
    desk.timers.undo()
    assert desk.timers.running(one.world.now_s) == Running()


def test_what_was_due_without_a_conversation_is_reported_as_missed() -> None:
    one = program()
    one.converse().set(timer(300, "pasta"))
    one.converse().set(alarm(13))
    one.converse().set(alarm(14, 30, "call Anna"))
    one.world.wait(3 * 3600)
    assert one.converse().frame() == (
        "While I was away, your timer for pasta went off at 12:05 PM, your alarm went off at 1 PM, and at "
        "2:30 PM I was to remind you: call Anna.",
    )


def test_what_is_late_by_seconds_rings() -> None:
    one = program()
    one.converse().set(timer(300, "pasta"))
    one.world.wait(320)
    assert one.converse().frame() == ("pasta done",)


def test_many_missed_timers_are_counted() -> None:
    one = program()
    for name in "one two three four five six".split():
        one.converse().set(timer(300, name))
    one.world.wait(24 * 3600)
    (said,) = one.converse().frame()
    assert said.startswith("While I was away, your timer for three went off at 12:05 PM on Friday, your")
    assert said.endswith("And 2 more.")


def test_timer_rings_without_permission_if_the_store_is_silent() -> None:
    one = Program(World())
    desk = one.converse()
    desk.set(timer(10, "pasta"))
    one.world.wait(10)
    assert desk.frame() == ()
    one.world.wait(CLAIM_TIMEOUT_S + 0.1)
    assert desk.frame() == ("pasta done",)
    desk.answer()
    assert not desk.timers.any_set


def test_timer_stays_in_the_store_until_its_ring_is_answered() -> None:
    one = Program(World())
    desk = one.converse()
    desk.set(timer(10, "pasta"))
    (key,) = one.shared.take_pending().writes
    one.world.wait(10)
    desk.frame()
    (claim,) = one.shared.take_pending().claims
    assert claim == key.row
    one.shared.on_claimed(claim.key, permitted=True)
    assert desk.frame() == ("pasta done",)
    assert not one.shared.has_pending
    one.world.wait(RENEWED_EVERY_S)
    one.shared.tick(one.world.now_s)
    assert one.shared.take_pending().renewed == (claim.key,)
    desk.answer()
    (write,) = one.shared.take_pending().writes
    assert (write.key, write.row) == (claim.key, None)


@pytest.mark.parametrize("ahead_s", [-7200.0, 7200.0], ids="{} s".format)
def test_step_of_the_wall_clock_moves_alarms_and_not_timers(ahead_s: float) -> None:
    one = program()
    desk = one.converse()
    desk.set(timer(3600, "pasta"))
    desk.set(alarm(13))
    one.world.set_clock(ahead_s)
    one.shared.tick(one.world.now_s)
    one.world.wait(1800)
    early = desk.frame()
    one.world.wait(1800)
    then = desk.frame()
    one.world.wait(7200)
    late = desk.frame()
    alarm_rings = [text for texts in (early, then, late) for text in texts if "alarm" in text]
    assert len(alarm_rings) == 1
    assert (early if ahead_s > 0 else late) != ()
    assert "pasta done" in then


def test_step_of_the_wall_clock_is_stored() -> None:
    one = Program(World())
    desk = one.converse()
    desk.set(timer(3600, "pasta"))
    desk.set(timer(60, "paused"))
    desk.timers.apply(PauseTimers((2,)), one.world.now_s)
    one.shared.take_pending()
    one.world.set_clock(7200)
    one.shared.tick(one.world.now_s)
    (write,) = one.shared.take_pending().writes
    assert write.row is not None
    assert write.row.due_at == (one.world.now + timedelta(hours=1)).timestamp()
    one.shared.tick(one.world.now_s)
    assert not one.shared.has_pending


def test_snoozable_is_what_rang_last() -> None:
    one = program()
    desk = one.converse()
    desk.set(timer(10, "pasta"))
    one.world.wait(10)
    desk.frame()
    rung = desk.timers.running(one.world.now_s).rung
    assert rung is not None
    assert rung.set_to == timer(10, "pasta")
    one.world.wait(601)
    assert desk.timers.running(one.world.now_s).rung is None
