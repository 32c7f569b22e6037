"""Queues speech that arrives while the transcript of the previous turn is pending. No I/O, no clock.

The client or the maximum length can end a turn during speech, or silence may end it for good, and a recognizer may take
a second for the transcript.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from assistant.turns.events import ReplyId
from assistant.turns.settings import TurnSettings
from assistant.turns.state.speech_candidate import SpeechCandidate
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult


@dataclass(slots=True)
class QueuedTurn:
    """Speech that becomes a turn once the previous turn has its transcript.

    Attributes:
        segment: The segment to transcribe.
        candidate: The detected speech; None if the client ended a turn in which nobody spoke.
        speech_end: The end of its last speech.
        continues_cut: It is the rest of the speech that the end of the previous turn cut.
        submitted_at: Where the client, or final silence, ended it; None if it is open.
        ended_by_silence: Silence ended it, not the client.
        reply_requested: A reply to it was requested.
        after_reply: The reply that it does not interrupt; None: it interrupts every reply.
        number: The number of the turn, if its start was reported; else None.
        end_reported: `TurnEnded` has reported its end.
    """

    segment: SegmentId
    candidate: SpeechCandidate | None
    speech_end: Samples
    continues_cut: bool = False
    submitted_at: Samples | None = None
    ended_by_silence: bool = False
    reply_requested: bool = False
    after_reply: ReplyId | None = None
    number: int | None = None
    end_reported: bool = False


@dataclass(slots=True)
class QueuedTurns:
    """Holds the queued turns of one conversation in order. The last one may still be open.

    Attributes:
        waiting: The queued turns, oldest first.
    """

    waiting: deque[QueuedTurn] = field(default_factory=deque)
    _cut: Samples = Samples(0)
    _rest: SpeechCandidate | None = None  # speech that continues across the cut

    def mark_cut(self, position: Samples) -> None:
        """Notes that a turn ends here whose transcript is pending."""
        self._cut, self._rest = position, None

    def add_frame(self, position: Samples, vad: VadResult, settings: TurnSettings) -> None:
        """Takes the VAD result of the next frame."""
        open_turn = self.open_turn
        if not vad.speaking:
            if open_turn is not None:
                open_turn.speech_end = _speech_end(open_turn, vad, settings)
                if settings.silence_is_final and position - open_turn.speech_end >= samples_of_ms(settings.hangover_ms):
                    self._end_by_silence(open_turn, position, settings)
            elif self._rest is not None:
                self._end_rest(vad.boundary, settings)
        elif vad.boundary < self._cut and open_turn is None:
            self._rest = (self._rest or SpeechCandidate(self._cut, position)).with_frame(
                position, self._cut, vad, settings.start
            )
            if settings.sound_decides and position - self._cut >= samples_of_ms(settings.start.min_continued_speech_ms):
                self._end_rest(position, settings)  # it begins a turn although it continues
        elif open_turn is None or open_turn.candidate is None:
            candidate = SpeechCandidate(vad.boundary, position).with_frame(position, vad.boundary, vad, settings.start)
            self._add_turn(QueuedTurn(self._segment(vad.boundary, settings), candidate, position), settings)
        else:
            speech = open_turn.candidate.with_frame(position, vad.boundary, vad, settings.start)
            if settings.sound_decides:  # pauses below the silence timeout belong to the turn
                speech = replace(speech, onset=open_turn.candidate.onset)
            open_turn.candidate, open_turn.speech_end = speech, position

    def commit(self, position: Samples, settings: TurnSettings, after_reply: ReplyId | None = None) -> None:
        """Ends the open turn for the client. Without speech it adds an empty one."""
        if self.open_turn is None and self._rest is not None:
            self._end_rest(position, settings)
        if self.open_turn is None:
            self._add_turn(QueuedTurn(SegmentId(position), None, position), settings)
        self.waiting[-1].submitted_at, self.waiting[-1].after_reply = position, after_reply
        self.mark_cut(position)

    def _end_by_silence(self, queued: QueuedTurn, position: Samples, settings: TurnSettings) -> None:
        """Ends the open turn, or drops it if the VAD did not confirm its speech and its start was not reported."""
        confirmed = queued.candidate is not None and queued.candidate.is_confirmed(settings.start)
        if settings.sound_decides or confirmed or queued.number is not None:
            queued.submitted_at, queued.ended_by_silence = position, True
        else:
            self.waiting.pop()
        self.mark_cut(queued.speech_end if settings.sound_decides else position)

    def clear(self, position: Samples) -> QueuedTurn | None:
        """Drops the open turn for the client, and returns it; None if there is none."""
        dropped = None if self.open_turn is None else self.waiting.pop()
        self.mark_cut(position)
        return dropped

    def request_reply(self) -> bool:
        """Requests a reply to the last turn with speech that the client ended.

        Returns:
            False if there is no such turn.
        """
        ended = [queued for queued in self.waiting if queued.submitted_at is not None and queued.candidate is not None]
        if ended:
            ended[-1].reply_requested = True
        return bool(ended)

    def next(self, settings: TurnSettings, *, include_rest: bool, include_unconfirmed: bool) -> QueuedTurn | None:
        """Removes and returns the next queued turn that counts as one; None if there is none.

        Args:
            settings: The current settings.
            include_rest: Include the rest of speech that was cut; otherwise it belongs to the previous turn.
            include_unconfirmed: Include speech that the VAD did not confirm.
        """
        while self.waiting:
            queued = self.waiting.popleft()
            counts = queued.candidate is not None and (
                include_unconfirmed or queued.candidate.is_confirmed(settings.start)
            )
            reported = queued.number is not None
            if reported or queued.submitted_at is not None or (counts and (include_rest or not queued.continues_cut)):
                return queued
        return None

    @property
    def has_speech(self) -> bool:
        """Whether somebody has spoken since the last cut, or still speaks."""
        return self.open_turn is not None or self._rest is not None

    @property
    def open_turn(self) -> QueuedTurn | None:
        """The queued turn that is still open, or None."""
        last = self.waiting[-1] if self.waiting else None
        return None if last is None or last.submitted_at is not None else last

    def _end_rest(self, end: Samples, settings: TurnSettings) -> None:
        rest, self._rest = self._rest, None
        if rest is not None and end - self._cut >= samples_of_ms(settings.start.min_continued_speech_ms):
            self._add_turn(QueuedTurn(self._segment(self._cut, settings), rest, end, continues_cut=True), settings)

    def _segment(self, onset: Samples, settings: TurnSettings) -> SegmentId:
        return SegmentId(max(self._cut, onset - samples_of_ms(settings.pre_roll_ms), 0))

    def _add_turn(self, queued: QueuedTurn, settings: TurnSettings) -> None:
        full = len(self.waiting) >= settings.start.max_queued_turns
        if full and not settings.sound_decides and not self.waiting[-1].end_reported:
            self.waiting[-1].submitted_at = None  # join the new turn to the last one
            return
        self.waiting.append(queued)


def _speech_end(queued: QueuedTurn, silence: VadResult, settings: TurnSettings) -> Samples:
    """Returns the end of the speech of an open turn before a silent frame."""
    onset = Samples(0) if queued.candidate is None else queued.candidate.onset
    if settings.sound_decides and silence.boundary > onset:
        return silence.boundary
    return max(silence.boundary, queued.speech_end)
