"""What hears a conversation: the recognizer, the sound it may still need, and its recovery.

The recognizer may die, hang or break its promises at any moment. Then it is loaded again while the conversation goes
on, and what is being said meanwhile is not lost as long as it is in the ring.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from assistant.pipeline.engine_recovery import EngineRecovery, reason_of
from audio.errors import SttError
from audio.frame import Frame
from audio.ring import Ring
from audio.stt import RecognitionStream, Recognizer, SegmentId, Transcript
from audio.time_limit import time_limit
from audio.units import Samples, samples_of_s

RING_S = 5.0
"""Sound kept for segments that begin in the past: the pre-roll, a late detection, a restarted recognizer."""


@dataclass(slots=True)
class RecognizerFeed:
    """The open segment and who listens to it.

    Attributes:
        transcriber: The recognizer.
        restarting: Loads it again.
        timeout_s: Longest wait for words.
        on_partial: Words so far of the open segment.
        complain: Told what goes wrong, in one sentence.
    """

    transcriber: Recognizer
    restarting: EngineRecovery
    timeout_s: float
    on_partial: Callable[[Transcript], None]
    report_problem: Callable[[str], None]
    _ring: Ring = field(default_factory=lambda: Ring(samples_of_s(RING_S)))
    _at: Samples = Samples(0)
    _segment: SegmentId | None = None  # the open one; `_hearing` is None where the recognizer lost it
    _hearing: RecognitionStream | None = None
    _lost: SegmentId | None = None  # complained of

    def hear(self, frame: Frame) -> None:
        """A frame went by."""
        self._at = frame.end
        self._ring.write(frame.start, frame.pcm)
        if self._hearing is not None:
            try:
                self._hearing.feed(frame.pcm)
            except Exception as error:  # noqa: BLE001 - see reason_of
                self._failed(error)

    def probability_dip(self) -> None:
        """The frame that went by last is less surely speech than the one before it."""
        if self._hearing is not None:
            try:
                self._hearing.probability_dip()
            except Exception as error:  # noqa: BLE001 - see reason_of
                self._failed(error)

    def open(self, segment: SegmentId) -> None:
        """Listen to a segment from its beginning, which lies in the past."""
        self._segment = segment
        self._listen(segment)

    async def transcript(
        self, segment: SegmentId, speech_end: Samples, *, early: bool, draft: bool = False
    ) -> Transcript | None:
        """The words so far, see `RecognitionStream.transcript`; None where they are lost, which is complained of.

        Within the time limit.
        """
        try:
            async with time_limit(self.timeout_s):
                await self.restarting.works.wait()
                if self._hearing is not None and self._hearing.segment == segment:
                    return await self._hearing.transcript(speech_end, early=early, draft=draft)
        except Exception as error:  # noqa: BLE001 - see reason_of
            self._failed(error)
        else:
            if self.restarting.failed:
                self._failed(SttError("it could not be restarted"))
            else:
                self._too_late(segment)
        return None

    def _too_late(self, segment: SegmentId) -> None:
        """The recognizer works, and what it would have to hear is gone: no reason to load it once more."""
        if self._lost != segment:
            self._lost = segment
            name = self.transcriber.name
            self.report_problem(
                f"{name} came back too late for what is being said: it began more than {RING_S:g} s before"
            )

    def end(self, segment: SegmentId, *, used: bool) -> None:
        """The segment is over; `used`: its words were, so the recognizer may learn from them."""
        if segment == self._segment:
            self._segment = None
            self._let_go(used=used)

    def close(self) -> None:
        """Nothing more will be heard."""
        self._segment = None
        self._let_go(used=False)
        self.restarting.close()

    def _listen(self, segment: SegmentId) -> None:
        self._let_go(used=False)
        try:
            self._hearing = self.transcriber.open(segment, self._partial)
            self._hearing.feed(self._ring.read(Samples(segment), self._at))
        except Exception as error:  # noqa: BLE001 - see reason_of
            self._failed(error)

    def _partial(self, words: Transcript) -> None:
        if self._hearing is not None and self._hearing.segment == words.segment:
            self.on_partial(words)  # else of a segment that is over

    def _let_go(self, *, used: bool) -> None:
        hearing, self._hearing = self._hearing, None
        if hearing is None:
            return
        try:
            if used:
                hearing.close()
            else:
                hearing.cancel()
        except Exception as error:  # noqa: BLE001 - see reason_of
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        if self.restarting.works.is_set():
            reason = reason_of(error) or f"no answer within {self.timeout_s:g} s"
            self.report_problem(f"speech recognition failed: {reason}; {self.transcriber.name} is being restarted")
            self.restarting.restart(self._listen_again)
        self._let_go(used=False)

    def _listen_again(self) -> None:
        if self._segment is not None and self._ring.oldest <= self._segment:
            self._listen(self._segment)  # nothing of what is being said is lost
