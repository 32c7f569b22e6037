"""The noise floor, and with it whether a frame is loud enough to be somebody's voice."""

from collections import deque

from audio.units import FRAME_MS
from audio.vad.level import SILENCE_DB

_WINDOW_FRAMES = 1500 // FRAME_MS
_STEADY_FRAMES = 300 // FRAME_MS
_START_FRAMES = 100 // FRAME_MS
_STEADY_SPREAD_DB = 3.0
_LOWEST_FLOOR_DB = -68.0


class NoiseGate:
    """Open while the level stands clear of the noise floor.

    The floor falls at once and rises in two ways: to the minimum of the last 1.5 s (speech dips to the room within
    that; a room that became louder does not), and, for noise that came as a step, to a level that held still
    within 3 dB for 300 ms, which voices do not and fans, hiss, hum and tones do.

    Attributes:
        floor_db: The noise floor now.
    """

    def __init__(self, margin_db: float) -> None:
        self._margin_db = margin_db
        self._levels_db: deque[float] = deque(maxlen=_WINDOW_FRAMES)
        self._recent_db: deque[float] = deque(maxlen=_STEADY_FRAMES)
        self.reset()

    def reset(self) -> None:
        """Forget everything heard."""
        self.floor_db = _LOWEST_FLOOR_DB
        self._levels_db.clear()
        self._recent_db.clear()

    @property
    def threshold_db(self) -> float:
        """What a level has to exceed."""
        return self.floor_db + self._margin_db

    def is_open(self, frame_db: float) -> bool:
        """Take the next frame's level and say whether it stands clear of the floor."""
        self._levels_db.append(frame_db)
        self._recent_db.append(frame_db)
        target_db = self._steady_db()
        if len(self._levels_db) == _WINDOW_FRAMES:
            target_db = max(target_db, min(self._levels_db))
        self.floor_db = max(min(self.floor_db, frame_db), target_db, _LOWEST_FLOOR_DB)
        return len(self._levels_db) >= _START_FRAMES and frame_db > self.threshold_db

    def _steady_db(self) -> float:
        # At the start of a stream nothing is known: 100 ms of a steady level must do as a first floor. A stream
        # that begins in the middle of a word varies by more.
        recent_db = self._recent_db
        if len(recent_db) < _START_FRAMES:
            return SILENCE_DB
        low_db = min(recent_db)
        return low_db if max(recent_db) - low_db <= _STEADY_SPREAD_DB else SILENCE_DB
