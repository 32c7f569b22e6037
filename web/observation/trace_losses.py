"""Counts turns that are missing from traces and logs them at most once a minute."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from web.observation.metrics import Metrics

_log = logging.getLogger(__name__)

LOG_EVERY_S = 60.0
"""Shortest time between two log lines about the same problem."""


@dataclass(slots=True)
class TraceLosses:
    """Counts the turns of one server that are missing from traces.

    Attributes:
        lost: Turns lost so far.
    """

    metrics: Metrics
    folder: Path
    lost: int = 0
    _logged: int = 0
    _why: str = ""
    _last_logged_s: float | None = None
    _failing_said_s: float | None = None

    def count(self, turns: int, why: str) -> None:
        """Counts lost turns, with the reason."""
        self.metrics.trace_lost(turns)
        self.lost += turns
        self._why = why
        if self._last_logged_s is None or asyncio.get_running_loop().time() - self._last_logged_s >= LOG_EVERY_S:
            self._log_losses()

    def failing(self, what: str) -> None:
        """Logs a problem with a trace that has not lost a turn yet."""
        now_s = asyncio.get_running_loop().time()
        if self._failing_said_s is None or now_s - self._failing_said_s >= LOG_EVERY_S:
            self._failing_said_s = now_s
            _log.warning("%s", what)

    async def run(self) -> None:
        """Logs once a minute what was lost since the last line, and the rest when cancelled."""
        try:
            while True:
                await asyncio.sleep(LOG_EVERY_S)
                self._log_losses()
        finally:
            self._log_losses()

    def _log_losses(self) -> None:
        if new := self.lost - self._logged:
            self._logged, self._last_logged_s = self.lost, asyncio.get_running_loop().time()
            turns = "1 turn is" if new == 1 else f"{new} turns are"
            so_far = "" if new == self.lost else f", {self.lost} in total"
            remedy = f"check trace.dir ({self.folder}) and the free space there"
            _log.warning("%s", f"{turns} missing from the trace ({self._why}){so_far}: {remedy}")
