"""Counts the turns that are in no trace, and tells whoever runs the server, without flooding its log."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from web.metrics import Metrics

_log = logging.getLogger(__name__)

SAY_EVERY_S = 60.0
"""Between two lines of the log about the same."""


@dataclass(slots=True)
class TraceLosses:
    """The turns of one server that are in no trace.

    Attributes:
        lost: How many so far.
    """

    metrics: Metrics
    folder: Path
    lost: int = 0
    _said: int = 0
    _why: str = ""
    _said_s: float | None = None
    _failing_said_s: float | None = None

    def count(self, turns: int, why: str) -> None:
        """So many turns are lost, and why."""
        self.metrics.trace_lost(turns)
        self.lost += turns
        self._why = why
        if self._said_s is None or asyncio.get_running_loop().time() - self._said_s >= SAY_EVERY_S:
            self._say()

    def failing(self, what: str) -> None:
        """Something is wrong with a trace, which costs no turn yet."""
        now_s = asyncio.get_running_loop().time()
        if self._failing_said_s is None or now_s - self._failing_said_s >= SAY_EVERY_S:
            self._failing_said_s = now_s
            _log.warning("%s", what)

    async def run(self) -> None:
        """Once a minute, says what was lost since the last line; cancelled, it says the rest."""
        try:
            while True:
                await asyncio.sleep(SAY_EVERY_S)
                self._say()
        finally:
            self._say()

    def _say(self) -> None:
        if new := self.lost - self._said:
            self._said, self._said_s = self.lost, asyncio.get_running_loop().time()
            turns = "1 turn is" if new == 1 else f"{new} turns are"
            so_far = "" if new == self.lost else f", {self.lost} since the start"
            what = (
                f"{turns} in no trace ({self._why}){so_far}: check trace.dir ({self.folder}) and the free space there"
            )
            _log.warning("%s", what)
