"""A user's timers with their file, in the test's own time: no event loop, no thread."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from zoneinfo import ZoneInfo

from assistant.skills.answers import SetAlarm, SetTimer
from assistant.skills.ringing.missed import missed_text
from assistant.skills.timers.user_timers import Missed, SharedTimers, UserTimers
from assistant.storage.timer_file import TimerFile

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))


@dataclass
class World:
    """The clocks of one machine.

    Attributes:
        now_s: Loop time of all processes.
        now: Wall clock.
    """

    now_s: float = 1000.0
    now: datetime = NOON
    keys: "count[int]" = field(default_factory=count)

    def wait(self, seconds: float) -> None:
        self.now_s += seconds
        self.now += timedelta(seconds=seconds)

    def wall_s(self) -> float:
        return self.now.timestamp()

    def set_clock(self, ahead_s: float) -> None:
        """Moves the wall clock only."""
        self.now += timedelta(seconds=ahead_s)


def say_missed(missed: Sequence[Missed], now: datetime) -> str:
    return missed_text("en", missed, now)


class Program:
    """One process with the user's timers. `path`: their file; None: the store answers nothing."""

    def __init__(self, world: World, path: Path | None = None) -> None:
        self.world = world
        self.shared = SharedTimers(lambda: world.now, say_missed, lambda: f"key {next(world.keys)}")
        self.file = None if path is None else TimerFile(path, world.wall_s, timeout_s=0.05)
        self.exchange()

    def exchange(self) -> None:
        """Does what the keeper does once a second."""
        self.shared.tick(self.world.now_s)
        if self.file is None:
            return
        pending = self.shared.take_pending()
        exchanged = self.file.exchange(pending)
        for row, permitted in zip(pending.claims, exchanged.claimed, strict=True):
            self.shared.on_claimed(row.key, permitted=permitted)
        if exchanged.rows is not None:
            self.shared.adopt(exchanged.rows, self.world.now_s)

    def converse(self, room: str = "") -> "Conversing":
        timers = self.shared.join()
        timers.room = room
        return Conversing(self, timers)

    def quit(self) -> None:
        self.shared.end()
        self.exchange()
        self.kill()

    def kill(self) -> None:
        assert self.file is not None
        self.file.close()


@dataclass
class Conversing:
    """An open conversation."""

    program: Program
    timers: UserTimers

    def set(self, effect: SetTimer | SetAlarm) -> None:
        self.timers.note_use(self.program.world.now_s)
        self.timers.apply(effect, self.program.world.now_s)

    def frame(self) -> tuple[str, ...]:
        """Processes a frame and returns what is announced."""
        return self.timers.due(self.program.world.now_s, self.program.world.now)

    def answer(self) -> None:
        """Stops what rings."""
        numbers = [one.number for one in self.timers.sounding()]
        self.timers.end_rings(numbers, self.program.world.now_s, answered=True)

    def hear(self) -> tuple[str, ...]:
        """Returns what is announced in a second."""
        heard = self.frame()
        self.program.exchange()
        return heard + self.frame()

    @property
    def names(self) -> list[str | None]:
        return [timer.name for timer in self.timers.running(self.program.world.now_s).timers]


def timer(seconds: float, name: str | None = None) -> SetTimer:
    return SetTimer(seconds, name, f"{name or seconds} done")


def alarm(hour: int, minute: int = 0, about: str | None = None) -> SetAlarm:
    return SetAlarm(NOON.replace(hour=hour, minute=minute, tzinfo=None), f"{about or 'alarm'} at {hour}", about)
