"""Estimates the noise floor and decides whether a frame is loud enough to be speech."""

from collections import deque

from audio.units import FRAME_MS
from audio.vad.level import SILENCE_DB

_WINDOW_FRAMES = 1500 // FRAME_MS
_STEADY_FRAMES = 300 // FRAME_MS
_START_FRAMES = 100 // FRAME_MS
_STEADY_SPREAD_DB = 3.0
_MIN_FLOOR_DB = -68.0


class NoiseGate:
    """A noise gate: open while the level exceeds the noise floor by a margin.

    The floor falls at once. It rises to the minimum of the last 1.5 s: speech has pauses within that time, a louder
    room has none. It also rises to a level that stays within 3 dB for 300 ms, as fans, hiss, hum and tones do and
    voices do not.

    Attributes:
        floor_db: The current noise floor, dBFS.
    """

    def __init__(self, margin_db: float) -> None:
        self._margin_db = margin_db
        self._levels_db: deque[float] = deque(maxlen=_WINDOW_FRAMES)
        self._recent_db: deque[float] = deque(maxlen=_STEADY_FRAMES)
        self.reset()

    def reset(self) -> None:
        """Resets all state."""
        self.floor_db = _MIN_FLOOR_DB
        self._levels_db.clear()
        self._recent_db.clear()

    @property
    def threshold_db(self) -> float:
        """The level that a frame must exceed, dBFS."""
        return self.floor_db + self._margin_db

    def is_open(self, frame_db: float) -> bool:
        """Updates the floor with the next frame's level and returns whether it exceeds the threshold."""
        self._levels_db.append(frame_db)
        self._recent_db.append(frame_db)
        target_db = self._steady_db()
        if len(self._levels_db) == _WINDOW_FRAMES:
            target_db = max(target_db, min(self._levels_db))
        self.floor_db = max(min(self.floor_db, frame_db), target_db, _MIN_FLOOR_DB)
        return len(self._levels_db) >= _START_FRAMES and frame_db > self.threshold_db

    def _steady_db(self) -> float:
        # At the start of a stream, 100 ms of a steady level are enough for the first floor. A stream that begins in the
        # middle of a word varies by more.
        recent_db = self._recent_db
        if len(recent_db) < _START_FRAMES:
            return SILENCE_DB
        low_db = min(recent_db)
        return low_db if max(recent_db) - low_db <= _STEADY_SPREAD_DB else SILENCE_DB
