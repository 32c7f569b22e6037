"""The file of the user's timers: restart, crash, damage, and two programs at once."""

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from support.conversations.stored_timers import Conversing, Program, World, alarm, timer

from assistant.skills.answers import CancelTimers, PauseTimers, ResumeTimers, SetAlarm
from assistant.skills.timers.stored_timers import Pending, StoredTimer, Write
from assistant.skills.timers.timers import Alarm
from assistant.skills.timers.user_timers import HEARD_AFTER_S, RENEWED_EVERY_S
from assistant.storage.timer_file import VERSION, TimerFile, TimerFileError

EVERY_DAY = tuple(range(7))


def daily(hour: int) -> SetAlarm:
    """Returns an alarm that rings every day."""
    return replace(alarm(hour), weekdays=EVERY_DAY)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "timers.sqlite3"


def test_nothing_is_created_without_a_timer(path: Path) -> None:
    Program(World(), path).quit()
    assert not path.parent.exists()


def test_file_is_private(path: Path) -> None:
    one = Program(World(), path)
    one.converse().set(timer(60))
    one.exchange()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_timers_and_alarms_survive_a_restart(path: Path, world: World) -> None:
    first = Program(world, path)
    desk = first.converse()
    desk.set(timer(600, "pasta"))
    desk.set(timer(60, "tea"))
    desk.timers.apply(PauseTimers((2,)), world.now_s + 10)
    desk.set(alarm(13))
    desk.set(alarm(14, 30, "call Anna"))
    running = desk.timers.running(world.now_s)
    first.quit()
    world.wait(60)
    world.now_s = 5.0  # another boot
    second = Program(world, path).converse()
    again = second.timers.running(world.now_s)
    assert [(one.name, one.length_s, one.left_s, one.paused) for one in again.timers] == [
        ("tea", 60, 50, True),
        ("pasta", 600, pytest.approx(540), False),
    ]
    assert [one.local_time for one in again.alarms] == [one.local_time for one in running.alarms]
    assert [(one.local_time, one.about) for one in again.reminders] == [
        (one.local_time, one.about) for one in running.reminders
    ]
    world.wait(540)
    assert second.hear() == ("pasta done",)


def test_second_occurrence_of_a_repeated_hour_is_kept(path: Path, world: World) -> None:
    set_to = alarm(13)
    folded = type(set_to)(set_to.local_time.replace(fold=1), "second")
    first = Program(world, path)
    first.converse().set(folded)
    first.quit()
    (entry,) = Program(world, path).shared.timers.entries
    assert entry.set_to == folded
    assert isinstance(entry, Alarm)
    assert entry.set_to.local_time.fold == 1


def test_timer_that_rang_or_was_cancelled_is_gone_after_a_restart(path: Path, world: World) -> None:
    first = Program(world, path)
    desk = first.converse()
    desk.set(timer(10, "pasta"))
    desk.set(timer(20, "tea"))
    first.exchange()
    desk.timers.apply(CancelTimers((2,)), world.now_s)
    world.wait(10)
    assert desk.hear() == ("pasta done",)
    desk.answer()
    first.quit()
    world.wait(3600)
    assert Program(world, path).converse().hear() == ()


def test_timer_is_reported_on_the_next_start_after_a_kill(path: Path, world: World) -> None:
    first = Program(world, path)
    first.converse().set(timer(600, "pasta"))
    first.exchange()
    first.kill()
    world.wait(3600)
    second = Program(world, path).converse()
    assert second.hear() == ("While I was away, your timer for pasta went off at 12:10 PM.",)


def test_timer_rings_again_if_the_program_is_killed_during_the_announcement(path: Path, world: World) -> None:
    first = Program(world, path)
    desk = first.converse()
    desk.set(timer(10, "pasta"))
    world.wait(10)
    assert desk.hear() == ("pasta done",)
    first.kill()
    world.wait(5)
    second = Program(world, path)
    talk = second.converse()
    assert talk.hear() == ()  # the claim may be that of a program that still runs
    world.wait(20)
    second.exchange()
    assert talk.hear() == ("pasta done",)


def test_timer_waits_if_the_conversation_ends_before_the_announcement(path: Path, world: World) -> None:
    one = Program(world, path)
    desk = one.converse()
    desk.set(timer(10, "pasta"))
    one.exchange()
    world.wait(10)
    assert desk.frame() == ()  # the claim is made
    one.exchange()
    for _ in range(7):
        world.wait(1)
        one.exchange()
    assert one.converse().hear() == ("pasta done",)


# ---- two programs ----


def two_programs(world: World, path: Path) -> tuple[Program, Program, Conversing, Conversing]:
    """Returns two programs that know the timer for pasta, and a conversation of each."""
    talk, serve = Program(world, path), Program(world, path)
    desk, page = talk.converse(), serve.converse()
    desk.set(timer(600, "pasta"))
    talk.exchange()
    serve.exchange()
    return talk, serve, desk, page


def test_two_programs_see_the_same_timers_and_ring_once(path: Path, world: World) -> None:
    talk, serve = Program(world, path), Program(world, path)
    desk, page = talk.converse(), serve.converse()
    desk.set(timer(600, "pasta"))
    page.set(timer(300, "tea"))
    for program in (talk, serve, talk):
        program.exchange()
    assert desk.names == page.names == ["tea", "pasta"]
    heard: list[str] = []
    for _ in range(700):
        world.wait(1)
        heard += (*desk.frame(), *page.frame())
        talk.exchange()
        serve.exchange()
    assert heard == ["tea done", "pasta done"]


def test_timer_cancelled_in_one_program_is_gone_in_the_other(path: Path, world: World) -> None:
    _, serve, desk, page = two_programs(world, path)
    page.timers.apply(CancelTimers((1,)), world.now_s)
    serve.exchange()
    world.wait(600)
    assert desk.hear() == ()  # it had not read the change yet
    assert desk.names == []


def test_timer_paused_in_one_program_does_not_ring_in_the_other(path: Path, world: World) -> None:
    talk, serve, desk, page = two_programs(world, path)
    page.timers.apply(PauseTimers((1,)), world.now_s)
    serve.exchange()
    world.wait(600)
    assert desk.hear() == ()
    talk.exchange()
    assert desk.names == ["pasta"]
    page.timers.apply(ResumeTimers((1,)), world.now_s)
    serve.exchange()
    talk.exchange()
    world.wait(600)
    assert (*desk.hear(), *page.hear()) == ("pasta done",)


def test_change_that_is_read_while_the_timer_is_due_is_not_lost(path: Path, world: World) -> None:
    talk, serve, desk, page = two_programs(world, path)
    world.wait(599)
    page.timers.apply(PauseTimers((1,)), world.now_s)
    serve.exchange()
    world.wait(1)
    assert talk.file is not None
    pending = talk.shared.take_pending()
    assert desk.frame() == ()  # due while the file is being read
    rows = talk.file.exchange(pending).rows
    assert rows is not None
    talk.shared.adopt(rows, world.now_s)
    assert desk.hear() == ()
    assert desk.names == ["pasta"]
    (state,) = desk.timers.running(world.now_s).timers
    assert state.paused
    assert state.left_s == pytest.approx(1)


def test_wall_clock_step_keeps_a_timer_in_both_programs(path: Path, world: World) -> None:
    talk, serve, desk, page = two_programs(world, path)
    world.set_clock(-3600)
    for program in (talk, serve, talk, serve):
        program.exchange()
    for conversing in (desk, page):
        (state,) = conversing.timers.running(world.now_s).timers
        assert state.left_s == pytest.approx(600)


WRITER = """
    import sys, time
    from pathlib import Path
    from assistant.skills.timers.stored_timers import Pending, StoredTimer, Write
    from assistant.storage.timer_file import TimerFile
    path, name = Path(sys.argv[1]), sys.argv[2]
    file = TimerFile(path, time.time, timeout_s=20.0)
    claimed = 0
    for number in range(20):
        row = StoredTimer(f"{name} {number}", 60.0, name, 5.0, None, None, 0, "done")
        file.exchange(Pending((Write(row.key, row, is_new=True),)))
        shared = StoredTimer(f"shared {number}", 60.0, None, 5.0, None, None, 0, "done")
        claimed += file.exchange(Pending(claims=(shared,))).claimed[0]
    print(claimed)
"""


def test_two_processes_lose_no_change_and_claim_each_entry_once(path: Path) -> None:
    file = TimerFile(path, lambda: 0.0)
    rows = [StoredTimer(f"shared {number}", 60.0, None, 5.0, None, None, 0, "done") for number in range(20)]
    file.exchange(Pending(tuple(Write(row.key, row, is_new=True) for row in rows)))
    children = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), path, name], stdout=subprocess.PIPE, text=True)
        for name in ("talk", "serve")
    ]
    outputs = [child.communicate(timeout=60)[0] for child in children]
    assert sum(map(int, outputs)) == 20
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM timers").fetchone() == (60,)
    file.close()


# ---- a file that cannot be used ----


@pytest.mark.parametrize("content", [b"not a database" * 100, os.urandom(64)], ids=["text", "noise"])
def test_damaged_file_is_reported_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(TimerFileError, match="not a database") as failure:
        Program(World(), path)
    assert failure.value.lasting
    assert path.read_bytes() == content


def test_file_of_a_newer_version_is_reported_and_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()
    with pytest.raises(TimerFileError, match="newer version") as failure:
        Program(World(), path)
    assert failure.value.lasting


def test_locked_file_is_not_a_lasting_failure_and_loses_nothing(path: Path, world: World) -> None:
    one = Program(world, path)
    desk = one.converse()
    desk.set(timer(600, "pasta"))
    one.exchange()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    desk.set(timer(300, "tea"))
    assert one.file is not None
    pending = one.shared.take_pending()
    with pytest.raises(TimerFileError, match="locked") as failure:
        one.file.exchange(pending)
    assert not failure.value.lasting
    one.shared.put_back(pending)
    other.close()
    one.quit()
    assert Program(world, path).converse().names == ["tea", "pasta"]


@pytest.mark.parametrize(
    "values",
    [
        "'a', 60, 'x', NULL, NULL, NULL, 0, 'y', NULL, NULL",
        "'a', 60, 'x', NULL, NULL, 'noon', 0, 'y', NULL, NULL",
        "'a', 60, 'x', 9e999, NULL, NULL, 0, 'y', NULL, NULL",
        "'a', 60, 'x', 1e300, NULL, NULL, 0, 'y', NULL, NULL",
        "'a', 60, 'x', -1e300, NULL, NULL, 0, 'y', NULL, NULL",
        "'a', 60, x'00', 5.0, NULL, NULL, 0, 'y', NULL, NULL",
        "'a', 60, CAST(x'ff' AS TEXT), 5.0, NULL, NULL, 0, 'y', NULL, NULL",
        "'a', NULL, 'x', NULL, NULL, '0001-01-01T00:00:00', 1, 'y', NULL, NULL",
        "'a', NULL, 'x', NULL, NULL, '9999-12-31T23:00:00', 0, 'y', NULL, '0'",
        "'a', NULL, 'x', NULL, NULL, '2026-11-20T13:00:00', 0, 'y', NULL, '08'",
        "'a', NULL, 'x', NULL, NULL, '2026-11-20T13:00:00', 0, 'y', NULL, ''",
        "'a', 60, 'x', 5.0, NULL, NULL, 0, 'y', NULL, '0'",
        "NULL, 60, 'x', 5.0, NULL, NULL, 0, 'y', NULL, NULL",
    ],
)
def test_damaged_entry_is_set_aside_and_the_others_work(path: Path, world: World, values: str) -> None:
    first = Program(world, path)
    first.converse().set(timer(600, "pasta"))
    first.exchange()
    first.kill()
    with sqlite3.connect(path) as database:
        database.execute(f"INSERT INTO timers VALUES ({values}, '', NULL)")
    database.close()
    reading = TimerFile(path, world.wall_s)
    assert reading.exchange(Pending()).damaged == 1
    assert reading.exchange(Pending()).damaged == 0
    reading.close()
    again = Program(world, path)
    assert again.file is not None
    assert again.file.exchange(Pending()).damaged == 0
    desk = again.converse()
    assert desk.names == ["pasta"]
    world.wait(600)
    assert desk.hear() == ("pasta done",)
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM damaged").fetchone() == (1,)
    database.close()


def test_file_of_the_first_version_is_read(path: Path, world: World) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE timers (key TEXT PRIMARY KEY, length_s REAL, name TEXT, due_at REAL, left_s REAL, "
            "local_time TEXT, fold INTEGER NOT NULL, announcement TEXT NOT NULL, claimed_at REAL)"
        )
        database.execute("INSERT INTO timers VALUES ('a', NULL, NULL, NULL, NULL, '2026-11-20T13:00:00', 0, 'x', NULL)")
        database.execute("PRAGMA user_version = 1")
    database.close()
    desk = Program(world, path).converse()
    desk.set(daily(14))
    assert [one.weekdays for one in desk.timers.running(world.now_s).alarms] == [(), EVERY_DAY]
    world.wait(3600)
    assert desk.hear() == ("x",)


def test_file_of_the_second_version_is_read(path: Path, world: World) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE timers (key TEXT PRIMARY KEY, length_s REAL, name TEXT, due_at REAL, left_s REAL, "
            "local_time TEXT, fold INTEGER NOT NULL, announcement TEXT NOT NULL, claimed_at REAL, weekdays TEXT)"
        )
        database.execute(
            "INSERT INTO timers VALUES ('a', NULL, NULL, NULL, NULL, '2026-11-20T13:00:00', 0, 'x', NULL, '0123456')"
        )
        database.execute("PRAGMA user_version = 2")
    database.close()
    desk = Program(world, path).converse()
    assert [one.weekdays for one in desk.timers.running(world.now_s).alarms] == [EVERY_DAY]
    world.wait(3600)
    assert desk.hear() == ("x",)


def test_room_survives_a_restart(path: Path, world: World) -> None:
    first = Program(world, path)
    desk = first.converse()
    desk.timers.room = "Kitchen"
    desk.set(timer(600, "pasta"))
    desk.set(timer(60, "tea"))
    desk.timers.apply(PauseTimers((2,)), world.now_s + 10)
    desk.set(daily(13))
    first.quit()
    second = Program(world, path)
    second.exchange()
    assert [entry.room for entry in second.shared.timers.entries] == ["Kitchen"] * 3


def test_entry_is_set_aside_beside_those_of_the_first_version(path: Path) -> None:
    path.parent.mkdir()
    columns = (
        "key TEXT PRIMARY KEY, length_s REAL, name TEXT, due_at REAL, left_s REAL, local_time TEXT, "
        "fold INTEGER NOT NULL, announcement TEXT NOT NULL, claimed_at REAL"
    )
    with sqlite3.connect(path) as database:
        database.execute(f"CREATE TABLE timers ({columns})")
        database.execute("CREATE TABLE damaged AS SELECT * FROM timers WHERE false")
        database.execute("INSERT INTO timers VALUES ('a', NULL, NULL, NULL, NULL, 'never', 0, 'x', NULL)")
        database.execute("PRAGMA user_version = 1")
    database.close()
    file = TimerFile(path, World().wall_s)
    assert file.exchange(Pending()).damaged == 1
    file.close()


# ---- alarms that ring again ----


def test_repeating_alarm_rings_once_a_day_also_after_restarts(path: Path, world: World) -> None:
    first = Program(world, path)
    first.converse().set(daily(13))
    first.quit()
    for _ in range(3):
        program = Program(world, path)
        desk = program.converse()
        world.wait(3600)
        assert desk.hear() == ("alarm at 13",)
        desk.answer()
        program.exchange()
        assert [one.local_time.hour for one in desk.timers.running(world.now_s).alarms] == [13]
        assert desk.hear() == ()
        program.quit()
        world.wait(23 * 3600)


def test_repeating_alarm_rings_in_one_of_two_programs_and_stays_in_both(path: Path, world: World) -> None:
    one, other = Program(world, path), Program(world, path)
    desk, kitchen = one.converse(), other.converse()
    desk.set(daily(13))
    one.exchange()
    other.exchange()
    for _ in range(2):
        world.wait(3600)
        assert len(desk.hear() + kitchen.hear()) == 1
        desk.answer()
        kitchen.answer()
        for _ in range(3):
            world.wait(HEARD_AFTER_S)
            one.exchange()
            other.exchange()
            assert desk.hear() + kitchen.hear() == ()
        assert (
            desk.timers.running(world.now_s).alarms[0].local_time
            == kitchen.timers.running(world.now_s).alarms[0].local_time
        )
        world.wait(23 * 3600 - 3 * HEARD_AFTER_S)


def test_missed_repeating_alarm_is_said_once_and_its_next_time_is_set(path: Path, world: World) -> None:
    first = Program(world, path)
    first.converse().set(daily(13))
    first.quit()
    world.wait(72 * 3600)  # Monday at noon: three were missed
    again = Program(world, path)
    desk = again.converse()
    assert desk.hear() == ("While I was away, your alarm went off at 1 PM on Sunday.",)
    world.wait(HEARD_AFTER_S + 1)
    again.exchange()
    again.quit()
    world.wait(60)
    desk = Program(world, path).converse()
    assert desk.hear() == ()
    assert [one.local_time.isoformat() for one in desk.timers.running(world.now_s).alarms] == ["2026-11-23T13:00:00"]


def test_alarm_rings_again_after_a_kill_during_it(path: Path, world: World) -> None:
    first = Program(world, path)
    desk = first.converse()
    desk.set(daily(13))
    world.wait(3600)
    assert desk.hear() == ("alarm at 13",)
    first.kill()
    world.wait(30)
    assert Program(world, path).converse().hear() == ("alarm at 13",)


def test_ring_in_progress_rings_in_no_other_program(path: Path, world: World) -> None:
    one, other = Program(world, path), Program(world, path)
    desk, kitchen = one.converse(), other.converse()
    desk.set(timer(10, "pasta"))
    one.exchange()
    world.wait(10)
    assert desk.hear() == ("pasta done",)
    for _ in range(10):
        world.wait(RENEWED_EVERY_S)
        desk.frame()
        one.exchange()
        assert kitchen.hear() == ()
