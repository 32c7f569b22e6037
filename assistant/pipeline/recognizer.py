"""Feeds the recognizer with speech segments and reloads it after a failure.

The recognizer may crash or hang at any moment. It is then reloaded while the conversation goes on. The current segment
is transcribed again if its audio is still in the ring buffer.
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
"""Audio kept for segments that begin in the past: pre-roll, late VAD onset, reloaded recognizer."""


@dataclass(slots=True)
class RecognizerFeed:
    """Feeds the open speech segment to the recognizer.

    Attributes:
        transcriber: The recognizer.
        restarting: Reloads it.
        timeout_s: Longest wait for a transcript.
        on_partial: Receives interim transcripts of the open segment.
        report_problem: Receives problem descriptions, one sentence each.
    """

    transcriber: Recognizer
    restarting: EngineRecovery
    timeout_s: float
    on_partial: Callable[[Transcript], None]
    report_problem: Callable[[str], None]
    _ring: Ring = field(default_factory=lambda: Ring(samples_of_s(RING_S)))
    _at: Samples = Samples(0)
    _segment: SegmentId | None = None  # the open one; `_stream` is None if the recognizer lost it
    _hearing: RecognitionStream | None = None
    _lost: SegmentId | None = None  # the segment whose loss was reported

    def hear(self, frame: Frame) -> None:
        """Adds a frame to the ring buffer and to the open segment."""
        self._at = frame.end
        self._ring.write(frame.start, frame.pcm)
        if self._hearing is not None:
            try:
                self._hearing.feed(frame.pcm)
            except Exception as error:  # noqa: BLE001 - see reason_of
                self._failed(error)

    def probability_dip(self) -> None:
        """Tells the recognizer that the speech probability has fallen, so that an early decode may pay."""
        if self._hearing is not None:
            try:
                self._hearing.probability_dip()
            except Exception as error:  # noqa: BLE001 - see reason_of
                self._failed(error)

    def open(self, segment: SegmentId) -> None:
        """Opens a segment and feeds it from its beginning, which lies in the past."""
        self._segment = segment
        self._listen(segment)

    async def transcript(
        self, segment: SegmentId, speech_end: Samples, *, early: bool, draft: bool = False
    ) -> Transcript | None:
        """Returns the transcript so far (see `RecognitionStream.transcript`), or None if it was lost, which is
        reported.

        Waits at most `timeout_s`.
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
        """Reports that the recognizer works again but the audio is gone, which is no reason to reload it again."""
        if self._lost != segment:
            self._lost = segment
            name = self.transcriber.name
            self.report_problem(
                f"{name} came back too late for what is being said: it began more than {RING_S:g} s before"
            )

    def end(self, segment: SegmentId, *, used: bool) -> None:
        """Closes the segment. `used`: its transcript became part of a turn, so the recognizer may adapt to it."""
        if segment == self._segment:
            self._segment = None
            self._let_go(used=used)

    def close(self) -> None:
        """Closes the open segment and cancels a reload."""
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
            self.on_partial(words)  # else the segment is closed

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
            self._listen(self._segment)  # its audio is still complete
