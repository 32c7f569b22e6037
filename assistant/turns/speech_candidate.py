"""Voice into the silence that may be none: a detector is to be sure of it before a turn begins. Pure.

Noise opens a detector for an instant, too: a train that comes in, a dish that is put down. Of it the detector is not
sure, of a voice it is, some 30 ms later (docs/vad.md). Nothing waits for that: what was said meanwhile is kept, and an
answer waits for the end. Where it ends before the detector was sure, as a short "quit" may, its words are to tell.
"""

from dataclasses import dataclass

from assistant.turns.user_turn import SURELY_VOICE, certainty
from audio.stt import SegmentId
from audio.units import FRAME_MS, Samples, samples_of_ms
from audio.vad import VadResult

UNSURE_UNTIL_MS = 400.0
"""Voice of which the detector is not sure, but reports so much, is a turn all the same."""

GAP_MS = 400.0
"""A silence up to this between two such voices belongs to them, as it would in a turn: a first word may be soft."""

ASKED_AFTER_MS = 160.0
"""Silence behind such a voice in which its words are asked for: of a short word a detector may know the beginning only,
and a recognizer understands none without its end."""

WORDS_WITHIN_MS = 800.0
"""Words of a voice of which nobody was sure come within this, or in vain: asked for once more where they are a guess,
`tiny.en` takes some 500 on two cores."""

LONGEST_MS = 2000.0
"""Of those that are joined; recognizers hear no further back than some seconds."""

BEGINNING_MS = 1000.0
"""So far before a voice its beginning may lie that was not understood: a soft word, what is heard before it, a gap."""


@dataclass(frozen=True, slots=True)
class SpeechCandidate:
    """What may become a turn.

    Attributes:
        onset: Where it began.
        voiced_until: The end of the last frame with a voice in it.
        voiced_ms: How much voice was reported.
        surest: As of a turn.
        asked: It has ended, as far as is known, and its words were asked for.
        segment: That is listened to for them, until they are known.
    """

    onset: Samples
    voiced_until: Samples
    voiced_ms: float = 0.0
    surest: float = 0.0
    asked: bool = False
    segment: SegmentId | None = None

    def voice(self, at: Samples, onset: Samples, voicing: VadResult) -> "SpeechCandidate":
        """Another frame with a voice in it, which began at `onset`."""
        joined = self.is_somebody or at - self.onset <= samples_of_ms(LONGEST_MS)
        joined = joined and onset - self.voiced_until < samples_of_ms(GAP_MS)
        before = self if joined else SpeechCandidate(onset, at)
        return SpeechCandidate(before.onset, at, before.voiced_ms + FRAME_MS, max(before.surest, certainty(voicing)))

    @property
    def is_somebody(self) -> bool:
        """Enough of it was heard."""
        return self.surest >= SURELY_VOICE or self.voiced_ms >= UNSURE_UNTIL_MS

    def may_be_over(self, at: Samples) -> bool:
        """A frame of silence: all of its words have been heard."""
        return at - self.voiced_until >= samples_of_ms(ASKED_AFTER_MS)

    def is_over(self, at: Samples) -> bool:
        """A frame of silence: it was nothing."""
        return at - self.voiced_until >= samples_of_ms(GAP_MS if self.segment is None else WORDS_WITHIN_MS)


@dataclass(frozen=True, slots=True)
class PossiblePrefix:
    """A voice into a reply that had no words, or a guess: what comes right behind it may begin with it.

    Attributes:
        segment: In which it was heard.
        until: Its end.
    """

    segment: SegmentId
    until: Samples

    def leads_to(self, onset: Samples) -> bool:
        """A voice that begins there goes on with it, as two into a silence would be one."""
        near = onset - self.until < samples_of_ms(GAP_MS)
        return near and onset - self.segment <= samples_of_ms(BEGINNING_MS)
