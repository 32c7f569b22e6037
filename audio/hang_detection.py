"""Tells a hung engine from one that is late because the machine is busy. No I/O, no clock.

An engine is hung when it makes no progress although it could: it computes far longer than its largest step needs, or
it neither computes nor waits for a processor. Time does not count while other programs keep the processors.
"""

from dataclasses import dataclass

STEP_S = 1.0
"""Interval of the observations, in seconds. A longer gap counts as this long: the program itself was stopped."""

BLOCKED_S = 30.0
"""Time without progress, processor time or wish for a processor after which an engine is hung, in seconds. Steps of the
engines wait for nothing but memory that is read from a disk again, which uses processor time as well."""

UNKNOWN_S = 120.0
"""The same where the system does not tell the processor time of a thread (macOS, Windows), in seconds: a step that
takes 3 s may be forty times slower."""

SPIN_S = 15.0
"""Processor time beyond the need of a step, in seconds: for memory that is allocated, loaded or swapped."""

SPIN_FACTOR = 10.0
"""Multiple of the measured need of the largest step. The same step takes three times the processor time where cores
share their units and caches with others (two processes on a core), and longer at a lower clock rate."""

IDLE_SHARE = 0.01
"""Share of a processor below which an engine does not compute: a helper thread that looks every few milliseconds
whether there is work uses less."""


@dataclass(frozen=True, slots=True)
class EngineSample:
    """The state of an engine at one moment.

    Attributes:
        at_s: The moment, by any steady clock, in seconds.
        progress: Number of steps that it has begun or finished.
        processor_s: Processor time that its threads have used, in seconds; None: unknown.
        starved: Whether one of its threads could run and waits for a processor, or runs.
    """

    at_s: float
    progress: int
    processor_s: float | None
    starved: bool = False


class HangDetector:
    """Decides from samples whether an engine hangs. Give it samples only while somebody waits for the engine."""

    def __init__(self, need_s: float = 0.0, step_s: float = STEP_S) -> None:
        """Creates it.

        Args:
            need_s: Processor time that the largest step usually needs, in seconds.
            step_s: Interval of the observations, in seconds.
        """
        self.need_s = need_s
        self._step_s = step_s
        self._last: EngineSample | None = None
        self._used_s = 0.0  # processor time since the last progress
        self._idle_s = 0.0  # since a thread last used or wanted a processor

    @property
    def spin_limit_s(self) -> float:
        """Processor time without progress from which the engine is hung, in seconds."""
        return SPIN_S + SPIN_FACTOR * self.need_s

    def observe(self, sample: EngineSample) -> str:
        """Returns why the engine is hung, as a clause; "" if it is not."""
        last, self._last = self._last, sample
        if last is None or sample.progress != last.progress:
            self._used_s = self._idle_s = 0.0
            return ""
        passed_s = min(max(0.0, sample.at_s - last.at_s), self._step_s)
        if sample.processor_s is None or last.processor_s is None:
            self._idle_s += passed_s
            return "" if self._idle_s < UNKNOWN_S else f"it has made nothing for {UNKNOWN_S:g} s"
        used_s = max(0.0, sample.processor_s - last.processor_s)
        self._used_s += used_s
        self._idle_s = 0.0 if sample.starved else max(0.0, self._idle_s + passed_s - used_s / IDLE_SHARE)
        if self._used_s >= self.spin_limit_s:
            return f"it has computed for {self._used_s:.0f} s of processor time without a result"
        if self._idle_s >= BLOCKED_S:
            return f"it has neither computed nor waited for a processor for {BLOCKED_S:g} s"
        return ""
