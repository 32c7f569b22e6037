"""Holds whose voice a user turn is, where the assistant listens to some voices only. No I/O, no clock."""

from dataclasses import dataclass

from assistant.turns.events import VoiceJudged
from assistant.turns.settings import TurnSettings
from audio.units import Samples, samples_of_ms


@dataclass(slots=True)
class TurnVoice:
    """The verdicts on the voice of one turn. Without one, it is the user's own.

    Attributes:
        own_until: Until where it is certainly the user's own voice; None: nothing of it is.
        called: It contains the wake phrase, so it counts whoever speaks.
        heard_other: The last certain verdict is "other".
    """

    own_until: Samples | None = None
    called: bool = False
    heard_other: bool = False

    def add_verdict(self, event: VoiceJudged, onset: Samples, settings: TurnSettings) -> None:
        """Takes a verdict on the recent speech of a turn with this onset.

        Speech before that of another voice was the user's own, unless it was shorter than a word.
        """
        if event.verdict == "unsure" or settings.focus is None:
            return
        self.heard_other = event.verdict == "other"
        if not self.heard_other:
            self.own_until = event.position
        elif self.own_until is None and event.since - onset >= samples_of_ms(settings.focus.min_own_ms):
            self.own_until = event.since

    @property
    def is_other(self) -> bool:
        """Whether all of the turn is certainly another voice's."""
        return self.heard_other and self.own_until is None and not self.called
