"""Timers of the whole program: after a kill, a quit and a restart, and with two programs at once."""

import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from support.programs.talk_app import App, talking
from support.sound.virtual_card import VirtualCard, virtual_card

pytestmark = [
    pytest.mark.slow,
    pytest.mark.calm,
    pytest.mark.timeout(300),
]


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as one:
        yield one


def timers_file(folder: Path) -> Path:
    return folder / "data" / "repartee" / "timers.sqlite3"


def until_stored(app: App, folder: Path, count: int) -> None:
    app.eventually(lambda: timers_file(folder).exists() and stored(folder) == count)


def stored(folder: Path) -> int:
    with closing(sqlite3.connect(timers_file(folder))) as database:
        try:
            (count,) = database.execute("SELECT count(*) FROM timers").fetchone()
        except sqlite3.OperationalError:  # no table yet
            return 0
    return int(count)


def test_timer_survives_a_kill_and_is_reported_on_the_next_start(card: VirtualCard, tmp_path: Path) -> None:
    with talking(tmp_path, card.environ, recognizer=()) as app:
        app.until("ready:")
        app.say("set a ten minute timer for the pasta")
        app.until("repartee: Your 10 minute timer for pasta is set.")
        until_stored(app, tmp_path, 1)
        app.process.kill()
        app.process.wait()
    with talking(tmp_path, card.environ, recognizer=()) as app:
        app.until("ready:")
        app.say("what timers do I have")
        app.until("repartee: ")
        app.until(" are left on the timer for pasta.")
        app.process.kill()
        app.process.wait()
    with closing(sqlite3.connect(timers_file(tmp_path))) as database, database:
        database.execute("UPDATE timers SET due_at = due_at - 3600")  # an hour later
    with talking(tmp_path, card.environ, recognizer=()) as app:
        app.until("repartee: While I was away,")
        app.until("repartee: your timer for pasta went off at ")
        until_stored(app, tmp_path, 0)
        app.say("/quit")
        assert app.ends_within_s(2.5) == 0
    assert not [line for line in app.lines if line.startswith("problem ")]


@pytest.mark.thorough
def test_two_programs_share_timers_and_ring_once(card: VirtualCard, tmp_path: Path) -> None:
    with (
        talking(tmp_path, card.environ, recognizer=()) as one,
        talking(tmp_path, card.environ, recognizer=()) as other,
    ):
        one.until("ready:")
        other.until("ready:")
        one.say("set a timer for nine seconds")
        one.until("repartee: Your 9 second timer is set.")
        until_stored(one, tmp_path, 1)
        other.eventually(lambda: asks_and_hears_of_a_timer(other))
        one.eventually(lambda: rings(one) + rings(other) == 1)
        assert stored(tmp_path) == 1  # until the ring is answered, for a restart
        ringing, silent = (one, other) if rings(one) else (other, one)
        ringing.say("stop")
        until_stored(one, tmp_path, 0)
        silent.say("what timers do I have")
        silent.until("There is no timer.")
        for app in (one, other):
            app.say("/quit")
            app.process.wait(timeout=30)
    assert rings(one) + rings(other) == 1


@pytest.mark.thorough
def test_ringing_timer_rings_again_after_a_kill_and_a_restart(card: VirtualCard, tmp_path: Path) -> None:
    with talking(tmp_path, card.environ, recognizer=()) as app:
        app.until("ready:")
        app.say("set a timer for two seconds")
        app.until("timer is done")
        app.process.kill()
        app.process.wait()
    assert stored(tmp_path) == 1
    with talking(tmp_path, card.environ, recognizer=()) as app:
        app.until("timer is done", within_s=40)  # the claim of the killed program expires first
        app.say("stop")
        until_stored(app, tmp_path, 0)


def rings(app: App) -> int:
    return sum("timer is done" in line for line in app.lines)


def asks_and_hears_of_a_timer(app: App) -> bool:
    before = sum(line.startswith("repartee: ") for line in app.lines)
    app.say("how much time is left")
    app.until("repartee: ", count=before + 1)
    return any(" left." in line for line in app.lines)


def test_timers_are_not_stored_if_the_setting_is_off(card: VirtualCard, tmp_path: Path) -> None:
    with talking(tmp_path, card.environ, "--set", "skills.store_timers=false", recognizer=()) as app:
        app.until("ready:")
        app.say("set a timer for two seconds")
        app.until("repartee: Your 2 second timer is set.")
        app.until("repartee: Your 2 second timer is done.")
        app.say("/quit")
        assert app.ends_within_s(2.5) == 0
    assert not timers_file(tmp_path).exists()
