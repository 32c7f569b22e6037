"""Spaces the reloads of an engine that fails again and again. No I/O, no clock."""

from dataclasses import dataclass

from audio.errors import EngineLoadError

STABLE_S = 60.0
"""An engine that works for so long, in seconds, is loaded again at once when it fails."""

FIRST_S = 1.0
"""Wait before the second reload in a row, in seconds. It doubles with each further one."""

LONGEST_S = 60.0
"""The longest wait, in seconds."""


@dataclass(slots=True)
class RestartBackoff:
    """Decides when an engine may be loaded again. `now_s`: by any steady clock, in seconds.

    Attributes:
        name: The engine's name, for the message.
    """

    name: str
    _loaded_s: float | None = None
    _wait_s: float = 0.0

    def check(self, now_s: float) -> None:
        """Raises EngineLoadError if it is too early to load the engine."""
        if self._loaded_s is None:
            return
        left_s = self._loaded_s + self._wait_s - now_s
        if left_s > 0:
            raise EngineLoadError(f"{self.name} fails again and again; the next attempt is in {left_s:.0f} s")

    def record_load(self, now_s: float) -> None:
        """Records that the engine is being loaded."""
        if self._loaded_s is None or now_s - self._loaded_s > max(STABLE_S, 2 * self._wait_s):
            self._wait_s = 0.0
        else:
            self._wait_s = min(LONGEST_S, 2 * self._wait_s or FIRST_S)
        self._loaded_s = now_s
