"""Planned commands are made once, on time, by one process, and told if they fail."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from support.conversations.stored_timers import NOON, Conversing, Program, World
from support.services.quiet_home import QuietHome, home_with

from assistant.home import CLIENTS_HOME, SERVERS_HOME, Device, HomeFault, PlannedCalls, ServiceCall
from assistant.skills.answers import FAULT, CancelAlarms, HomeAction, SetAlarm
from assistant.skills.effects import SkillEffects
from assistant.skills.home.due_commands import DueCommands
from assistant.skills.ringing.shown_timers import shown_timers
from assistant.skills.timers.stored_timers import planned_of, text_of
from assistant.skills.timers.timers import Timers

LAMP = Device("light.lamp", "Lamp", "on", "light")
OFF = ServiceCall("light", "turn_off", ("light.lamp",))
RED = ServiceCall("light", "turn_on", ("light.lamp",), (("brightness_pct", 30), ("rgb_color", (255, 0, 0))))


def planned(minutes: float, home: str = SERVERS_HOME, weekdays: tuple[int, ...] = ()) -> SetAlarm:
    local_time = (NOON + timedelta(minutes=minutes)).replace(tzinfo=None)
    failed = f"Lamp off: that did not work. {FAULT}"
    return SetAlarm(local_time, failed, "Lamp off", weekdays=weekdays, planned=PlannedCalls((OFF,), home))


@dataclass
class ActingHome(QuietHome):
    """A home that notes its calls."""

    made: list[ServiceCall] = field(default_factory=list)
    answers: HomeFault | None = None

    def act(
        self, calls: Sequence[ServiceCall], _after: "asyncio.Task[HomeFault | None] | None" = None
    ) -> "asyncio.Task[HomeFault | None]":
        self.made += calls
        return asyncio.get_running_loop().create_task(self._answer())

    async def _answer(self) -> HomeFault | None:
        return self.answers


def acting_home(key: str = SERVERS_HOME) -> ActingHome:
    home = ActingHome(home_with(LAMP).state)
    home.key = key
    return home


class Machine(Program):
    """A process with a home."""

    def __init__(self, world: World, path: Path | None, home: ActingHome | None = None) -> None:
        super().__init__(world, path)
        self.commands = DueCommands(self.shared, lambda: world.now, "en", lambda: world.now_s)
        if home is not None:
            self.shared.homes.add_home(home)

    async def turn(self, seconds: float = 0.0) -> None:
        """Does what the keeper does, until nothing is left to do."""
        self.world.wait(seconds)
        for _ in range(3):
            self.exchange()
            due = self.shared.due_calls
            self.exchange()
            for alarm in self.shared.take_due_calls(due):
                self.commands.make(alarm)
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "timers.sqlite3"


def set_in(machine: Program, command: SetAlarm) -> Conversing:
    desk = machine.converse()
    desk.set(command)
    machine.exchange()
    return desk


async def test_command_is_made_once_and_rings_nowhere(path: Path, world: World) -> None:
    home = acting_home()
    machine = Machine(world, path, home)
    desk = set_in(machine, planned(10))
    await machine.turn(599)
    assert home.made == []
    await machine.turn(1)
    await machine.turn(60)
    assert home.made == [OFF]
    assert (desk.hear(), desk.timers.any_set) == ((), False)


async def test_command_is_made_without_a_conversation_after_a_restart(path: Path, world: World) -> None:
    first = Machine(world, path, acting_home())
    set_in(first, planned(10))
    first.quit()
    home = acting_home()
    second = Machine(world, path, home)
    await second.turn(600)
    assert home.made == [OFF]
    third = Machine(world, path, home)
    await third.turn(60)
    assert home.made == [OFF]


async def test_one_of_two_processes_makes_the_command(path: Path, world: World) -> None:
    homes = acting_home(), acting_home()
    machines = [Machine(world, path, home) for home in homes]
    set_in(machines[0], planned(10))
    await machines[1].turn()
    world.wait(600)
    for machine in (*machines, *machines):
        await machine.turn()
    assert sum(len(home.made) for home in homes) == 1


async def test_process_without_the_home_leaves_the_command_to_another(path: Path, world: World) -> None:
    home = acting_home()
    without, machine = Machine(world, path), Machine(world, path, home)
    set_in(without, planned(10))
    await without.turn(601)
    await machine.turn()
    assert home.made == [OFF]
    await without.turn(200)
    assert (home.made, without.shared.failures) == ([OFF], [])


async def test_command_waits_for_the_client_that_has_the_home(path: Path, world: World) -> None:
    machine = Machine(world, path, acting_home())
    set_in(machine, planned(10, CLIENTS_HOME))
    await machine.turn(630)
    client = acting_home(CLIENTS_HOME)
    machine.shared.homes.add_home(client)
    await machine.turn()
    assert client.made == [OFF]


async def test_command_whose_home_stays_away_is_reported_as_not_done(path: Path, world: World) -> None:
    machine = Machine(world, path)
    desk = set_in(machine, planned(10))
    await machine.turn(600)
    assert desk.hear() == ()
    await machine.turn(121)
    assert desk.hear() == ("Lamp off: that did not work. I can't reach your home.",)
    assert (desk.hear(), desk.timers.any_set) == ((), False)


async def test_command_of_a_time_without_the_program_is_not_made_late(path: Path, world: World) -> None:
    first = Machine(world, path, acting_home())
    set_in(first, planned(10))
    first.quit()
    world.wait(3600)
    home = acting_home()
    second = Machine(world, path, home)
    await second.turn()
    assert home.made == []
    assert second.converse().hear() == ("Lamp off: that did not work. I could not do it in time.",)


async def test_failure_of_the_home_is_told_in_a_conversation(path: Path, world: World) -> None:
    home = acting_home()
    home.answers = "refused"
    machine = Machine(world, path, home)
    desk = set_in(machine, planned(10))
    await machine.turn(600)
    assert desk.hear() == ("Lamp off: that did not work. Your home refuses that.",)


async def test_daily_command_is_made_each_day(path: Path, world: World) -> None:
    home = acting_home()
    machine = Machine(world, path, home)
    set_in(machine, planned(10, weekdays=tuple(range(7))))
    for day in range(3):
        await machine.turn(600 if day == 0 else 86400)
    assert home.made == [OFF] * 3


async def test_cancelled_command_is_not_made(path: Path, world: World) -> None:
    home = acting_home()
    machine = Machine(world, path, home)
    desk = set_in(machine, planned(10))
    (command,) = desk.timers.running(world.now_s).planned
    desk.timers.apply(CancelAlarms((command.number,)), world.now_s)
    await machine.turn(700)
    assert home.made == []


async def test_command_without_an_answer_of_the_disk_is_reported(world: World) -> None:
    home = acting_home()
    machine = Machine(world, None, home)
    desk = set_in(machine, planned(10))
    await machine.turn(600)
    await machine.turn(110)
    assert (home.made, desk.hear()) == ([], ())
    await machine.turn(11)
    assert (home.made, desk.hear()) == ([], ("Lamp off: that did not work. I could not do it in time.",))


async def test_one_of_two_processes_makes_the_command_behind_a_slow_disk(path: Path, world: World) -> None:
    homes = acting_home(), acting_home()
    machines = [Machine(world, path, home) for home in homes]
    set_in(machines[0], planned(10))
    await machines[1].turn()
    for seconds in (600, 3, 60):
        world.wait(seconds)
        for machine in machines:
            machine.shared.tick(world.now_s)
            assert machine.shared.due_calls == ()
    for machine in (*machines, *machines):
        await machine.turn()
    assert sum(len(home.made) for home in homes) == 1


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0])
@pytest.mark.parametrize("restarts", [False, True])
async def test_command_after_a_while_ignores_a_step_of_the_clock(
    path: Path, world: World, ahead_s: float, *, restarts: bool
) -> None:
    home = acting_home()
    machine = Machine(world, path, home)
    desk = set_in(machine, replace(planned(10), after_s=600.0))
    await machine.turn(300)
    world.set_clock(ahead_s)
    await machine.turn()
    (command,) = desk.timers.running(world.now_s).planned
    assert command.local_time == (world.now + timedelta(minutes=5)).replace(tzinfo=None)
    if restarts:
        machine.quit()
        machine = Machine(world, path, home)
    await machine.turn(299)
    assert home.made == []
    await machine.turn(1)
    assert home.made == [OFF]


def test_command_after_a_while_of_one_conversation_ignores_a_step_of_the_clock() -> None:
    timers = Timers()
    timers.change(replace(planned(10), after_s=600.0), 0.0)
    later = NOON + timedelta(hours=1)
    assert timers.take_commands(599.0, later) == ()
    assert [command.set_to.about for command in timers.take_commands(600.0, later)] == ["Lamp off"]


async def test_conversation_with_timers_of_its_own_makes_its_commands() -> None:
    home, now = acting_home(), NOON
    effects = SkillEffects(lambda _messages: None, lambda: now, Timers(), home=home)
    home.answers = "broken"
    effects.do(planned(10), 0.0)
    assert effects.due(599.0) == ()
    now = NOON + timedelta(minutes=10)
    assert (effects.due(600.0), home.made) == ((), [OFF])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert effects.due(601.0) == ("Lamp off: that did not work. Your home answers with an error.",)


def test_calls_survive_the_store() -> None:
    calls = PlannedCalls((OFF, RED), CLIENTS_HOME)
    assert planned_of(text_of(calls)) == calls


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"calls": [], "home": "x"}', '{"calls": [[1]], "home": "x"}', "[" * 100_000, "1"]
)
def test_damaged_calls_are_none(text: str) -> None:
    assert planned_of(text) is None


async def test_order_before_its_time_is_said_is_taken_back() -> None:
    """Somebody pauses in "turn off the lamp … in ten minutes", and the lamp is off already."""
    home = acting_home()
    effects = SkillEffects(lambda _messages: None, lambda: NOON, Timers(), home=home)
    on = replace(OFF, service="turn_on")
    retract = effects.do(HomeAction((OFF,), (on,)), 0.0)
    retract()
    effects.do(planned(10), 0.1)
    assert home.made == [OFF, on]
    assert [command.about for command in effects.timers.running(0.1).planned] == ["Lamp off"]


def test_planned_command_is_on_the_screen() -> None:
    timers = Timers()
    timers.change(planned(10), 0.0)
    (shown,) = shown_timers(timers.running(0.0), NOON)
    assert (shown.kind, shown.name, shown.left_s) == ("reminder", "Lamp off", 600.0)


def test_retracted_turn_plans_nothing() -> None:
    effects = SkillEffects(lambda _messages: None, lambda: NOON, Timers())
    effects.do(planned(10), 0.0)()
    assert not effects.timers.any_set
