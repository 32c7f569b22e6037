"""Decides which of several satellites answers that have heard the same wake word. Pure: no clock, no I/O.

    state    event                                                   next state, and who yields
    closed   a satellite hears the word                              open: it leads
    open     the leader hears it again                               open
    open     another hears it, louder by `LOUDER_DB` or more         open: it leads, and the former leader yields
    open     another hears it, not so                                open: it yields
    open     a satellite hears the word `WINDOW_S` after the first   open: a new contest, which it leads
    open     the leader has left                                     closed

Who has yielded never leads in the same contest, so one satellite is left, whatever the order. Nobody waits: the first
one goes on at once, and yields only if a louder one follows within the window.
"""

from dataclasses import dataclass, field
from typing import NewType

SatelliteId = NewType("SatelliteId", int)

WINDOW_S = 0.35
"""Time after the first detection, in seconds, in which others are of the same word, also if another person has said it.
A detector answers in steps of 80 ms, up to 0.1 s apart for one word; a wireless network adds up to 0.2 s; sound needs
30 ms for 10 m. A question takes longer."""

LOUDER_DB = 3.0
"""Difference of levels, in dB, that is not chance: half the power. Below it, the first one answers."""


@dataclass(slots=True)
class WakeContest:
    """The satellites of one user that have heard a wake word within the window."""

    _began_s: float | None = None
    _leader: SatelliteId = SatelliteId(0)
    _level_dbfs: float = 0.0
    _yielded: set[SatelliteId] = field(default_factory=set)

    @property
    def leader(self) -> SatelliteId | None:
        """The satellite that answers; None if no contest is open."""
        return None if self._began_s is None else self._leader

    def hear(self, satellite: SatelliteId, level_dbfs: float, now_s: float) -> SatelliteId | None:
        """Notes that a satellite has heard the word. Returns the satellite that yields; None if none does."""
        if self._began_s is None or now_s - self._began_s > WINDOW_S:
            self._began_s, self._leader, self._level_dbfs, self._yielded = now_s, satellite, level_dbfs, set()
            return None
        if satellite == self._leader:
            self._level_dbfs = max(self._level_dbfs, level_dbfs)
            return None
        if satellite in self._yielded or level_dbfs < self._level_dbfs + LOUDER_DB:
            self._yielded.add(satellite)
            return satellite
        before, self._leader, self._level_dbfs = self._leader, satellite, level_dbfs
        self._yielded.add(before)
        return before

    def leave(self, satellite: SatelliteId) -> None:
        """Notes that a satellite has left."""
        if satellite == self._leader:
            self._began_s = None
