"""Admits conversations by the measured load: updates the policy every second and names the reason of a refusal."""

import asyncio
from collections import deque
from collections.abc import Callable

from audio.machine_load import LoadReader
from web.limits.admission_policy import SILENT_AFTER_S, AdmissionPolicy, AdmissionSettings
from web.limits.session_limits import CloseNotice, busy
from web.observation.load_estimate import LoadEstimate

UPDATE_EVERY_S = 1.0
"""Interval of the updates. Each takes about 0.5 ms."""
MAX_SETTLING = 1000
"""Beginnings that are remembered: as many as `server.max_sessions` may be."""


class Admission:
    """Decides whether the load permits one more conversation. Asking changes nothing."""

    def __init__(
        self,
        load: LoadEstimate,
        clock: Callable[[], float],
        settings: AdmissionSettings | None = None,
        machine: LoadReader | None = None,
    ) -> None:
        """Begins without measurements, so that only the number of beginnings limits.

        Args:
            load: The estimate of the load.
            clock: Returns the time in seconds.
            settings: The limits.
            machine: Reads how busy other programs keep the machine; None: unknown.
        """
        self._load = load
        self._clock = clock
        self._machine = machine
        self._settings = settings or AdmissionSettings()
        self._policy = AdmissionPolicy(self._settings)
        self._begun_s: deque[float] = deque(maxlen=MAX_SETTLING)

    def refusal(self, sessions: int) -> CloseNotice | None:
        """Returns why one more conversation does not fit beside `sessions` others; None: it does."""
        if sessions < self._settings.always_admitted:
            return None
        reason = self._policy.reason
        if reason is not None:
            return busy(reason, self._settings.retry_after_s)
        return self._settling(sessions)

    def began(self) -> None:
        """Counts a conversation that begins: its load is not in the figures yet."""
        self._begun_s.append(self._clock())

    def ended(self, lasted_s: float) -> None:
        """Counts a conversation that ends, or is silent: one that was short leaves its place to another."""
        now_s = self._clock()
        if self._begun_s and lasted_s < self._settings.settling_s:
            began_s = min(self._begun_s, key=lambda time_s: abs(time_s - (now_s - lasted_s)))
            self._begun_s.remove(began_s)

    def update(self) -> None:
        """Compares the current load with the limits."""
        self._policy.update(self._load.figures(), None if self._machine is None else self._machine.read())

    async def run(self) -> None:
        """Updates until cancelled."""
        while True:
            await asyncio.sleep(UPDATE_EVERY_S)
            self.update()

    def _settling(self, sessions: int) -> CloseNotice | None:
        settings, now_s = self._settings, self._clock()
        recent_s = [begun_s for begun_s in self._begun_s if now_s - begun_s < settings.settling_s]
        settled = max(0, sessions - len(recent_s))
        most = max(settings.settling_sessions, int(settled * settings.settling_share))
        if len(recent_s) < most:
            return None
        reason = f"{len(recent_s)} conversations began within {settings.settling_s:g} s; their load is not known yet"
        may_be_silent = now_s - recent_s[-1] < SILENT_AFTER_S
        return busy(reason, SILENT_AFTER_S if may_be_silent else settings.settling_s - (now_s - recent_s[-most]))
