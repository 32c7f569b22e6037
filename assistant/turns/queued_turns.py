"""What is said while the words of the turn before are still to come: it is a turn of its own behind that. Pure.

A client, or its length, ends a turn in the midst of speech, and a recognizer may take a second for its words.
"""

from collections import deque
from dataclasses import dataclass, field

from assistant.turns.settings import TurnSettings
from assistant.turns.speech_candidate import SpeechCandidate
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult

MOST_WAITING = 8
"""Turns behind one whose words are still to come; a client that ends more than that has its last ones joined."""

STILL_SPEAKS_MS = 300.0
"""Voice behind a cut that a client made in speech: no detector takes as long to find that it has ended."""


@dataclass(slots=True)
class QueuedTurn:
    """What may become a turn.

    Attributes:
        segment: Where recognizers are to listen from.
        voice: What is known of it; None where a client ended a turn in which nobody spoke.
        speech_end: Of the newest voice in it.
        goes_on: It is the rest of the voice that the end of the turn before cut.
        submitted_at: The client ended it there.
        owed: An answer to it was asked for.
    """

    segment: SegmentId
    voice: SpeechCandidate | None
    speech_end: Samples
    goes_on: bool = False
    submitted_at: Samples | None = None
    owed: bool = False


@dataclass(slots=True)
class QueuedTurns:
    """Of one conversation, in order; the last one may still be going on.

    Attributes:
        waiting: What was said.
    """

    waiting: deque[QueuedTurn] = field(default_factory=deque)
    _cut: Samples = Samples(0)
    _rest: SpeechCandidate | None = None  # of the voice that was cut, while it goes on

    def cut_here(self, at: Samples) -> None:
        """A turn ends here whose words are still to come."""
        self._cut, self._rest = at, None

    def hear(self, at: Samples, voicing: VadResult, settings: TurnSettings) -> None:
        """A frame behind it."""
        going_on = self.going_on
        if not voicing.speaking:
            if going_on is not None:
                going_on.speech_end = max(voicing.boundary, going_on.speech_end)
            elif self._rest is not None:
                self._rest_is_over(voicing.boundary, settings)
        elif voicing.boundary < self._cut:
            self._rest = (self._rest or SpeechCandidate(self._cut, at)).voice(at, self._cut, voicing)
        elif going_on is None or going_on.voice is None:
            heard = SpeechCandidate(voicing.boundary, at).voice(at, voicing.boundary, voicing)
            self._add(QueuedTurn(self._segment(voicing.boundary, settings), heard, at))
        else:
            going_on.voice, going_on.speech_end = going_on.voice.voice(at, voicing.boundary, voicing), at

    def submitted(self, at: Samples, settings: TurnSettings) -> None:
        """The client ends what was said so far, or a turn in which nobody spoke."""
        if self.going_on is None and self._rest is not None:
            self._rest_is_over(at, settings)
        if self.going_on is None:
            self._add(QueuedTurn(SegmentId(at), None, at))
        self.waiting[-1].submitted_at = at
        self.cut_here(at)

    def cleared(self, at: Samples) -> None:
        """The client forgets what was said since it ended a turn last."""
        if self.going_on is not None:
            self.waiting.pop()
        self.cut_here(at)

    def asked(self) -> bool:
        """An answer is asked for: to the last that the client ended, if there was a voice in it."""
        ended = [one for one in self.waiting if one.submitted_at is not None and one.voice is not None]
        if ended:
            ended[-1].owed = True
        return bool(ended)

    def next(self, *, rest_too: bool, any_voice: bool) -> QueuedTurn | None:
        """What is a turn now.

        Args:
            rest_too: Also what goes on of the voice that was cut; else it was part of the turn before.
            any_voice: Also what may be none.
        """
        while self.waiting:
            one = self.waiting.popleft()
            somebody = one.voice is not None and (any_voice or one.voice.is_somebody)
            if one.submitted_at is not None or (somebody and (rest_too or not one.goes_on)):
                return one
        return None

    @property
    def heard(self) -> bool:
        """Somebody spoke behind the last end, or goes on speaking."""
        return self.going_on is not None or self._rest is not None

    @property
    def going_on(self) -> QueuedTurn | None:
        """What nobody has ended yet."""
        last = self.waiting[-1] if self.waiting else None
        return None if last is None or last.submitted_at is not None else last

    def _rest_is_over(self, end: Samples, settings: TurnSettings) -> None:
        rest, self._rest = self._rest, None
        if rest is not None and end - self._cut >= samples_of_ms(STILL_SPEAKS_MS):
            self._add(QueuedTurn(self._segment(self._cut, settings), rest, end, goes_on=True))

    def _segment(self, onset: Samples, settings: TurnSettings) -> SegmentId:
        return SegmentId(max(self._cut, onset - samples_of_ms(settings.pre_roll_ms), 0))

    def _add(self, one: QueuedTurn) -> None:
        if len(self.waiting) >= MOST_WAITING:
            self.waiting[-1].submitted_at = None  # the last two are one
            return
        self.waiting.append(one)
