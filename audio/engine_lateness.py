"""Keeps the level of degradation of the engines in this process, and logs each change once."""

import logging
import threading
import time
from collections.abc import Callable

from audio.degradation import Degradation, DegradationPolicy
from audio.machine_load import LoadReader, MachineLoadReader

log = logging.getLogger(__name__)


class EngineLateness:
    """Takes the waits and times of all engines. Thread-safe: engines record in their own threads."""

    def __init__(self, reader: LoadReader | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Creates it without lateness. `reader`: reads the load of the machine for the log; None: from /proc."""
        self._policy = DegradationPolicy()
        self._reader = reader or MachineLoadReader()
        self._clock = clock
        self._lock = threading.Lock()

    @property
    def level(self) -> Degradation:
        """The parts that are left out now."""
        return self._policy.level

    @property
    def cause(self) -> str:
        """The reason for late engines, as a clause: other programs, or more conversations than they can serve."""
        load = self._reader.read()
        if load is not None and load.busy:
            return f"this machine is busy: {load.text}"
        return "the engines have more to do than this machine can compute"

    def record_wait(self, wait_s: float) -> None:
        """Records how long a request has waited for an engine, in seconds."""
        with self._lock:
            before = self._policy.level
            self._policy.record_wait(wait_s, self._clock())
        self._log_change(before)

    def record_job(self, took_s: float, sound_s: float) -> None:
        """Records how long an engine computed for a length of sound, in seconds."""
        with self._lock:
            before = self._policy.level
            self._policy.record_job(took_s, sound_s, self._clock())
        self._log_change(before)

    def record_decode(self, took_s: float, speech_s: float) -> None:
        """Records how long a recognizer decoded a length of speech, in seconds."""
        with self._lock:
            before = self._policy.level
            self._policy.record_decode(took_s, speech_s, self._clock())
        self._log_change(before)

    def _log_change(self, before: Degradation) -> None:
        level = self._policy.level
        if level == before:
            return
        if level > before:
            log.warning("engines are late (%s): %s", self.cause, level.text)
        else:
            log.info("engines are less late: %s", level.text)
