"""Remembers speech of voices that the assistant does not listen to. No I/O, no clock.

`VoiceJudged` reports whose voice speech is. Speech that is not judged yet counts as the user's own.
"""

from dataclasses import dataclass

from assistant.turns.events import VoiceJudged
from assistant.turns.settings import TurnSettings
from audio.units import Samples, samples_of_ms


@dataclass(slots=True)
class OtherVoice:
    """Speech of other voices, such as a television, as far as it was judged.

    Attributes:
        heard_until: Position of the last verdict "other"; None before the first, and after a verdict "own".
        ignored_from: Where speech began that is ignored as another voice's; None if nothing is.
    """

    heard_until: Samples | None = None
    ignored_from: Samples | None = None

    def add_verdict(self, event: VoiceJudged) -> None:
        """Takes a verdict on the recent speech."""
        if event.verdict == "other":
            self.heard_until = event.position
        elif event.verdict == "own":
            self.heard_until = None

    def is_presumed(self, onset: Samples, settings: TurnSettings) -> bool:
        """Returns whether speech with this onset is presumed to be another voice's, because that spoke just before."""
        if settings.focus is None or self.heard_until is None:
            return False
        return onset - self.heard_until < samples_of_ms(settings.focus.other_lasts_ms)

    def ignore(self, since: Samples) -> None:
        """Notes that speech which began here is ignored, also if it goes on."""
        self.ignored_from = since

    def own_onset(self, event: VoiceJudged, settings: TurnSettings) -> Samples | None:
        """Returns where the user's own voice began within ignored speech; None if no speech is ignored.

        Call it before `add_verdict`. The speech that was judged before was another voice's, but for its end.
        """
        if self.ignored_from is None or settings.focus is None or event.verdict != "own":
            return None
        before = Samples((self.heard_until or 0) - samples_of_ms(settings.focus.own_lead_ms))
        return max(self.ignored_from, event.since, before)
