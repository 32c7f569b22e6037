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
        unsure: Verdicts "unsure" in a row on it.
        other_until: Until where it is another voice's, where words are waited for.
        other_from: Where another voice began after the user's own; None if the user goes on.
    """

    own_until: Samples | None = None
    called: bool = False
    heard_other: bool = False
    unsure: int = 0
    other_until: Samples | None = None
    other_from: Samples | None = None

    def add_verdict(self, event: VoiceJudged, onset: Samples, settings: TurnSettings) -> None:
        """Takes a verdict on the recent speech of a turn with this onset.

        Speech before that of another voice was the user's own, unless it was shorter than a word. A late verdict on
        speech before the turn says nothing about it. Several unsure verdicts in a row make it the user's own.
        """
        if settings.focus is None or event.until <= onset:
            return
        self.unsure = self.unsure + 1 if event.verdict == "unsure" else 0
        if event.verdict == "unsure":
            if self.unsure >= settings.focus.unsure_windows:
                self.heard_other, self.own_until, self.other_from = False, event.until, None
            return
        self.heard_other = event.verdict == "other"
        if not self.heard_other:
            self.own_until, self.other_from = event.until, None
            return
        if self.own_until is None and event.since - onset >= samples_of_ms(settings.focus.min_own_ms):
            self.own_until = event.since
        if self.own_until is not None and self.other_from is None:
            self.other_from = max(event.since, self.own_until)

    @property
    def is_other(self) -> bool:
        """Whether all of the turn is certainly another voice's."""
        return self.heard_other and self.own_until is None and not self.called
