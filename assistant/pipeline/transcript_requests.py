"""Decides when the recognizer is asked for the transcript of an attempt, and when it is asked again.

No I/O, no clock. Turn taking only requests transcripts of an attempt (`Transcribe`) and takes them as they come. This
module knows how a recognizer works: it answers sooner from audio that it has decoded already, but then the last word
may be missing.

    Transcribe ─▶ request of a draft ─▶ draft ─▶ early request ─▶ transcript ─▶ settled request ─▶ transcript
                                        a reply is prepared       it may restart               the turn may be committed

An attempt that began before the silence has its draft already; its first request is the early one.

The recognizer is asked again ("recheck")

- at once, if the transcript is a draft,
- `recheck_ms` after each early request, to notice other words sooner,
- when the silence has lasted `settle_ms`, or at once if the transcript arrives later than that,
- at once, if the turn is over.

A settled transcript is not requested again. Thresholds: `assistant.turns.settings.RecheckThresholds`.
"""

from dataclasses import dataclass

from assistant.turns.effects import CommitTurn, CommitWithoutReply, DirectEffect, DropAttempt, EndOfTurn, Transcribe
from assistant.turns.events import (
    Event,
    FinalTranscript,
    FrameProcessed,
    ReplyId,
    ReportedEvent,
    TranscriptExpected,
    TranscriptFailed,
)
from assistant.turns.state.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.stt import SegmentId
from audio.units import Samples, ms_of_samples


@dataclass(frozen=True, slots=True)
class RecognizerRequest:
    """Asks the recognizer for the transcript of the segment. `FinalTranscript` or `TranscriptFailed` answers it.

    Attributes:
        reply_id: The id of the transcript, and of the attempt that it may begin.
        segment: The segment.
        speech_end: The end of the speech.
        early: The transcript may still change; it is requested again later.
        draft: A draft is sufficient; see `Transcript`.
    """

    reply_id: ReplyId
    segment: SegmentId
    speech_end: Samples
    early: bool = False
    draft: bool = False


SessionEffect = RecognizerRequest | DirectEffect
SessionEffects = tuple[SessionEffect, ...]


@dataclass(slots=True)
class _Transcription:
    """The requests for the transcript of one attempt.

    Attributes:
        attempt: The id of the attempt.
        segment: The segment that is transcribed.
        speech_end: The end of the speech, as far as is known.
        requested_after_ms: The length of the silence at the last request, not counting that after a draft.
        last: The id of the last request.
        settled: The last request is for the settled transcript.
        pending: The last request is not answered yet.
        lost: The recognizer failed, so the attempt has no words.
    """

    attempt: ReplyId
    segment: SegmentId
    speech_end: Samples
    requested_after_ms: float
    last: ReplyId
    settled: bool
    pending: bool = True
    lost: bool = False

    def awaits(self, transcript: ReplyId) -> bool:
        """Returns whether this transcript answers the last request."""
        return self.pending and self.last == transcript


@dataclass(slots=True)
class TranscriptRequests:
    """Stands between a session and its turn-taking machine, and requests the transcripts that the machine awaits.

    Attributes:
        turns: The machine. All events go through `handle` of this class; everything else is read from the machine.
    """

    turns: TurnTaking
    _transcription: _Transcription | None = None  # that of the current attempt

    @property
    def pending(self) -> bool:
        """Whether the recognizer has been asked and has not answered yet."""
        return self._turn_is_over or (self._transcription is not None and self._transcription.pending)

    def handle(self, event: ReportedEvent) -> SessionEffects:
        """Takes the next event, in order of time.

        Returns:
            The effects, to be performed at once and in order.
        """
        transcription = self._transcription
        if transcription is None:
            return self._pass_on(event)
        match event:
            case FrameProcessed():
                return self._request_in_pause(transcription, event) + self._pass_on(event)
            case FinalTranscript(reply_id=reply_id) | TranscriptFailed(reply_id=reply_id) if transcription.awaits(
                reply_id
            ):
                return self._take(transcription, event)
            case _:
                return self._pass_on(event)

    # ---- when to ask ----

    def _request_in_pause(self, transcription: _Transcription, frame: FrameProcessed) -> SessionEffects:
        """Asks again if the pause has lasted long enough: repeatedly before `settle_ms`, and once after it."""
        speech_end, settings = self.turns.speech_end_before(frame), self.turns.settings
        if speech_end is None:
            return ()
        transcription.speech_end = speech_end
        if transcription.settled or transcription.pending or not settings.attempts_in_pauses:
            return ()
        thresholds, silence_ms = settings.rechecks, ms_of_samples(frame.position - speech_end)
        due_ms = transcription.requested_after_ms + thresholds.recheck_ms
        if due_ms > thresholds.settle_ms - thresholds.min_recheck_lead_ms:
            due_ms = thresholds.settle_ms
        if silence_ms < due_ms:
            return ()
        transcription.requested_after_ms = silence_ms
        return self._request_again(transcription, frame.position, settled=silence_ms >= thresholds.settle_ms)

    def _take(self, transcription: _Transcription, event: FinalTranscript | TranscriptFailed) -> SessionEffects:
        """Passes on the transcript, and asks again at once if it is a draft or later than `settle_ms`."""
        effects = self._pass_on(event)
        if self._transcription is not transcription:
            return effects  # the attempt has ended
        transcription.pending = False
        if transcription.attempt == event.reply_id:  # the attempt has these words, not those before
            transcription.lost = isinstance(event, TranscriptFailed)
            if isinstance(event, FinalTranscript) and event.transcript.is_draft:
                return (*effects, *self._request_again(transcription, event.position, settled=False))
        settle_ms = self.turns.settings.rechecks.settle_ms
        if ms_of_samples(event.position - transcription.speech_end) < settle_ms and not self._turn_is_over:
            return effects
        return (*effects, *self._request_settled(transcription, event.position))

    @property
    def _turn_is_over(self) -> bool:
        return self.turns.phase is Phase.AWAITING_TRANSCRIPT

    def _request_settled(self, transcription: _Transcription, position: Samples) -> SessionEffects:
        """Asks for the settled transcript, unless it is known or requested, or the recognizer has failed."""
        if transcription.settled or transcription.pending or transcription.lost:
            return ()
        transcription.requested_after_ms = ms_of_samples(position - transcription.speech_end)
        return self._request_again(transcription, position, settled=True)

    # ---- requests ----

    def _begin(self, request: Transcribe, position: Samples) -> SessionEffects:
        """Makes the first request for an attempt."""
        silence_ms = ms_of_samples(position - request.speech_end)
        settled = request.accepts == "settled" or silence_ms >= self.turns.settings.rechecks.settle_ms
        if request.has_draft:
            self._transcription = transcription = _Transcription(
                request.reply_id,
                request.segment,
                request.speech_end,
                silence_ms,
                request.reply_id,
                settled=False,
                pending=False,
            )
            return self._request_again(transcription, position, settled=settled)
        self._transcription = transcription = _Transcription(
            request.reply_id, request.segment, request.speech_end, silence_ms, request.reply_id, settled
        )
        return self._request(transcription, position, draft=request.accepts == "draft" and not settled)

    def _request_again(self, transcription: _Transcription, position: Samples, *, settled: bool) -> SessionEffects:
        last = transcription.last
        transcription.last = ReplyId(last.turn, last.attempt + 1)
        transcription.settled, transcription.pending = settled, True
        return self._request(transcription, position)

    def _request(self, transcription: _Transcription, position: Samples, *, draft: bool = False) -> SessionEffects:
        request = RecognizerRequest(
            transcription.last,
            transcription.segment,
            transcription.speech_end,
            early=not transcription.settled,
            draft=draft,
        )
        return (request, *self._pass_on(TranscriptExpected(position, transcription.last, transcription.settled)))

    # ---- turn taking ----

    def _pass_on(self, event: Event) -> SessionEffects:
        """Passes an event to turn taking. Returns its effects, with the requests that follow from them."""
        effects: SessionEffects = ()
        for effect in self.turns.handle(event):
            transcription = self._transcription
            if isinstance(effect, Transcribe):
                effects += self._begin(effect, event.position)
                continue
            effects += (effect,)
            if transcription is None:
                continue
            match effect:
                case DropAttempt(reply_id) if reply_id == transcription.attempt:
                    effects += self._on_dropped(transcription, effect)
                case DropAttempt(reply_id) if reply_id == transcription.last:
                    transcription.pending = False  # it had the same words
                case EndOfTurn():
                    effects += self._request_settled(transcription, event.position)
                case CommitTurn(reply_id) if reply_id == transcription.attempt:
                    self._transcription = None
                case CommitWithoutReply(turn) if turn == transcription.attempt.turn:
                    self._transcription = None
                case _:
                    pass
        return effects

    def _on_dropped(self, transcription: _Transcription, dropped: DropAttempt) -> SessionEffects:
        """Ends the transcription of a dropped attempt, or goes on with the attempt that has replaced it."""
        if dropped.reason == "other words":
            transcription.attempt, transcription.pending = transcription.last, False
            return ()
        self._transcription = None
        rechecked = transcription.pending and transcription.last != transcription.attempt
        return (DropAttempt(transcription.last, dropped.reason),) if rechecked else ()
