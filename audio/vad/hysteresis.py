"""Opens and closes a span of speech based on a score per step."""

from dataclasses import dataclass, replace

from audio.units import Samples
from audio.vad import THRESHOLDS


@dataclass(frozen=True, slots=True)
class HysteresisSettings:
    """Thresholds and durations of the hysteresis.

    Attributes:
        open_score: A step with at least this score counts towards opening.
        close_score: While open, a step with at least this score keeps it open.
        open_samples: Consecutive samples that must reach `open_score` to open.
        hold_samples: Consecutive samples below `close_score` that close.
    """

    open_score: float
    close_score: float
    open_samples: Samples
    hold_samples: Samples

    def at_threshold(self, threshold: float) -> "HysteresisSettings":
        """Returns these settings with another `open_score`, within `THRESHOLDS`, and `close_score` in proportion."""
        bounded = min(max(threshold, THRESHOLDS[0]), THRESHOLDS[1])
        if bounded == self.open_score:
            return self
        return replace(self, open_score=bounded, close_score=self.close_score * bounded / self.open_score)


class Hysteresis:
    """A state machine with two thresholds and two durations.

    Attributes:
        speaking: Whether it is open.
        began: Start of the first step of this run (while open, or while it may open).
        voiced_until: End of the last step that kept it open.
        fading: Open, but the last step scored below `close_score`.
    """

    def __init__(self, settings: HysteresisSettings) -> None:
        self._settings = settings
        self.reset()

    def set_scores(self, settings: HysteresisSettings) -> None:
        """Replaces the thresholds, from the next step on."""
        self._settings = settings

    def reset(self) -> None:
        """Resets to the closed state."""
        self.speaking = False
        self.began: Samples | None = None
        self.voiced_until = Samples(0)
        self.fading = False

    def step(self, score: float, start: Samples, end: Samples) -> None:
        """Processes the score of the span [start, end)."""
        if self.speaking:
            if score >= self._settings.close_score:
                self.voiced_until = end
            elif end - self.voiced_until >= self._settings.hold_samples:
                self.speaking, self.began = False, None
            self.fading = self.speaking and self.voiced_until < end
        elif score < self._settings.open_score:
            self.began = None
        else:
            if self.began is None:
                self.began = start
            self.voiced_until = end
            self.speaking = end - self.began >= self._settings.open_samples
