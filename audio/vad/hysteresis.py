"""When a stretch of speech opens and closes, from a score per step."""

from dataclasses import dataclass

from audio.units import Samples


@dataclass(frozen=True, slots=True)
class HysteresisSettings:
    """When speech opens and closes.

    Attributes:
        open_score: A step from this score on counts towards opening.
        close_score: While open, a step from this score on keeps it open.
        open_samples: So much in a row opens.
        hold_samples: So much in a row below `close_score` closes.
    """

    open_score: float
    close_score: float
    open_samples: Samples
    hold_samples: Samples


class Hysteresis:
    """Two thresholds and two lengths.

    Attributes:
        speaking: Open now.
        began: Start of the first step of this run (while open, or while it may open).
        voiced_until: End of the last step that kept it open.
        fading: Open, but the last step did not keep it so.
    """

    def __init__(self, settings: HysteresisSettings) -> None:
        self._settings = settings
        self.reset()

    def reset(self) -> None:
        """Closed, nothing heard."""
        self.speaking = False
        self.began: Samples | None = None
        self.voiced_until = Samples(0)
        self.fading = False

    def step(self, score: float, start: Samples, end: Samples) -> None:
        """Take the score of [start, end)."""
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
