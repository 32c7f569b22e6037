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
        heard_until: End of the speech of the last verdict "other"; None before the first, and after a verdict "own".
        ignored_from: Where speech began that is ignored as another voice's; None if nothing is.
        others: Verdicts "other" in a row.
        not_others: Verdicts in a row on ignored speech that are not "other".
        ignored_verdicts: Verdicts "other" on the ignored speech.
    """

    heard_until: Samples | None = None
    ignored_from: Samples | None = None
    others: int = 0
    not_others: int = 0
    ignored_verdicts: int = 0

    def add_verdict(self, event: VoiceJudged, settings: TurnSettings, *, during_reply: bool = False) -> None:
        """Takes a verdict on the recent speech. `during_reply`: one verdict may be on the echo of the reply."""
        is_other = event.verdict == "other"
        self.others = self.others + 1 if is_other else 0
        self.not_others = 0 if is_other else self.not_others + 1
        if event.verdict == "own":
            self.heard_until = None
        elif is_other:
            self.ignored_verdicts += 1
            needed = settings.focus.max_own_windows if during_reply and settings.focus is not None else 1
            if self.others >= needed:
                self.heard_until = max(event.until, self.heard_until or event.until)

    def is_presumed(self, onset: Samples, settings: TurnSettings) -> bool:
        """Returns whether speech with this onset is presumed to be another voice's, because that spoke just before."""
        if settings.focus is None or self.heard_until is None:
            return False
        return onset - self.heard_until < samples_of_ms(settings.focus.other_lasts_ms)

    def ignore(self, since: Samples) -> None:
        """Notes that speech which began here is ignored, also if it goes on. Call it after `add_verdict`."""
        self.ignored_from, self.not_others, self.ignored_verdicts = since, 0, 1

    def own_onset(self, event: VoiceJudged, settings: TurnSettings) -> Samples | None:
        """Returns where the user's own voice began within ignored speech; None if no speech is ignored.

        Call it before `add_verdict`. The speech that was judged before was another voice's, but for its end. If only
        one verdict says so, and none after it, that was wrong, and all of the speech is the user's.
        """
        if self.ignored_from is None or settings.focus is None or event.verdict == "other":
            return None
        if event.until <= self.ignored_from:
            return None
        if event.verdict == "unsure":
            if self.not_others + 1 < settings.focus.max_own_windows:
                return None
            if self.ignored_verdicts <= 1:
                return self.ignored_from
        before = Samples((self.heard_until or 0) - samples_of_ms(settings.focus.own_lead_ms))
        return max(self.ignored_from, event.since, before)
