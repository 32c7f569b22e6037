"""Queues speech that arrives while the transcript of the previous turn is pending. Pure.

The client or the maximum length can end a turn during speech, and a recognizer may take a second for the transcript.
"""

from collections import deque
from dataclasses import dataclass, field

from assistant.turns.settings import TurnSettings
from assistant.turns.speech_candidate import SpeechCandidate
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult

MOST_WAITING = 8
"""Limit on the queued turns. If a client ends more turns than that, the last ones are joined."""

STILL_SPEAKS_MS = 300.0
"""Minimum speech after a cut, in ms, that shows that the user continues. Every VAD reports an offset sooner."""


@dataclass(slots=True)
class QueuedTurn:
    """Speech that becomes a turn once the previous turn has its transcript.

    Attributes:
        segment: The segment to transcribe.
        voice: The detected speech; None if the client ended a turn in which nobody spoke.
        speech_end: The end of its last speech.
        goes_on: It is the rest of the speech that the end of the previous turn cut.
        submitted_at: Where the client ended it; None if it is open.
        owed: A reply to it was requested.
    """

    segment: SegmentId
    voice: SpeechCandidate | None
    speech_end: Samples
    goes_on: bool = False
    submitted_at: Samples | None = None
    owed: bool = False


@dataclass(slots=True)
class QueuedTurns:
    """Holds the queued turns of one conversation in order. The last one may still be open.

    Attributes:
        waiting: The queued turns, oldest first.
    """

    waiting: deque[QueuedTurn] = field(default_factory=deque)
    _cut: Samples = Samples(0)
    _rest: SpeechCandidate | None = None  # speech that continues across the cut

    def cut_here(self, at: Samples) -> None:
        """Notes that a turn ends here whose transcript is pending."""
        self._cut, self._rest = at, None

    def hear(self, at: Samples, voicing: VadResult, settings: TurnSettings) -> None:
        """Takes the VAD result of the next frame."""
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
        """Ends the open turn for the client. Without speech it adds an empty one."""
        if self.going_on is None and self._rest is not None:
            self._rest_is_over(at, settings)
        if self.going_on is None:
            self._add(QueuedTurn(SegmentId(at), None, at))
        self.waiting[-1].submitted_at = at
        self.cut_here(at)

    def cleared(self, at: Samples) -> None:
        """Drops the open turn for the client."""
        if self.going_on is not None:
            self.waiting.pop()
        self.cut_here(at)

    def asked(self) -> bool:
        """Requests a reply to the last turn with speech that the client ended.

        Returns:
            False if there is no such turn.
        """
        ended = [one for one in self.waiting if one.submitted_at is not None and one.voice is not None]
        if ended:
            ended[-1].owed = True
        return bool(ended)

    def next(self, *, rest_too: bool, any_voice: bool) -> QueuedTurn | None:
        """Removes and returns the next queued turn that counts as one; None if there is none.

        Args:
            rest_too: Include the rest of speech that was cut; otherwise it belongs to the previous turn.
            any_voice: Include speech that the VAD did not confirm.
        """
        while self.waiting:
            one = self.waiting.popleft()
            somebody = one.voice is not None and (any_voice or one.voice.is_somebody)
            if one.submitted_at is not None or (somebody and (rest_too or not one.goes_on)):
                return one
        return None

    @property
    def heard(self) -> bool:
        """Whether somebody has spoken since the last cut, or still speaks."""
        return self.going_on is not None or self._rest is not None

    @property
    def going_on(self) -> QueuedTurn | None:
        """The queued turn that is still open, or None."""
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
            self.waiting[-1].submitted_at = None  # join the new turn to the last one
            return
        self.waiting.append(one)
