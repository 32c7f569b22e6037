"""Feeds the recognizer with speech segments and reloads it after a failure.

The recognizer may crash or hang at any moment. It is then reloaded while the conversation continues. The current
segment is transcribed again if its audio is still in the ring buffer.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from assistant.pipeline.engine_recovery import EngineRecovery, reason_of
from assistant.pipeline.missing_engines import NoRecognizer
from assistant.support.notice import notice
from audio.errors import BusyError, LateError, SttError
from audio.frame import Frame
from audio.ring import Ring
from audio.stt import FirstWord, RecognitionStream, Recognizer, SegmentId, Transcript
from audio.time_limit import engine_time_limit, time_limit
from audio.units import Pcm, Samples, samples_of_ms, samples_of_s

MIN_CUT = samples_of_ms(100)
"""Least audio, in samples, after the end of a segment for which that is recognized again without it."""

RING_S = 30.0
"""Audio kept for segments that begin in the past, in seconds (1 MB): pre-roll, late VAD onset, reloaded recognizer,
turns that wait for the transcripts of earlier ones."""


@dataclass(slots=True)
class RecognizerFeed:
    """Feeds the open speech segment to the recognizer.

    Attributes:
        recognizer: The recognizer.
        recovery: Reloads it.
        timeout_s: Longest wait for the first word, and for the transcript of a recognizer that does not watch itself.
        on_interim: Receives interim transcripts of the open segment.
        report_problem: Receives problem descriptions, one sentence each.
        is_busy: Whether the last transcript was refused, because other conversations wait for theirs.
    """

    recognizer: Recognizer
    recovery: EngineRecovery
    timeout_s: float
    on_interim: Callable[[Transcript], None]
    report_problem: Callable[[str], None]
    is_busy: bool = False
    _ring: Ring = field(default_factory=lambda: Ring(samples_of_s(RING_S)))
    _position: Samples = Samples(0)
    _segment: SegmentId | None = None  # the open segment
    _end: Samples | None = None  # the end of its audio, if later audio belongs to the next turns
    _stream: RecognitionStream | None = None  # the recognizer's work on it; None after a failure
    _lost_segment: SegmentId | None = None  # the segment whose loss was reported
    _absence_reported: bool = False  # the user was told that there is no recognizer

    def feed(self, frame: Frame) -> None:
        """Adds a frame to the ring buffer and to the open segment."""
        self._position = frame.end
        self._ring.write(frame.start, frame.pcm)
        if self._stream is not None and not self._has_ended:
            try:
                self._stream.feed(frame.pcm)
            except Exception as error:  # noqa: BLE001 - see reason_of
                self._failed(error)

    def pass_silence(self, start: Samples, silence: Pcm) -> None:
        """Adds silence to the ring buffer. No segment is open."""
        self._position = Samples(start + len(silence))
        self._ring.write(start, silence)

    def probability_dip(self) -> None:
        """Tells the recognizer that the speech may be over, so that it can start to decode early."""
        if self._stream is not None and not self._has_ended:
            try:
                self._stream.probability_dip()
            except Exception as error:  # noqa: BLE001 - see reason_of
                self._failed(error)

    def open(self, segment: SegmentId, end: Samples | None = None) -> None:
        """Opens a segment and feeds it from its beginning, which lies in the past, up to its end, if that is known."""
        self._segment, self._end = segment, end
        if self._ring.oldest > segment and not isinstance(self.recognizer, NoRecognizer):
            name = self.recognizer.name
            self.report_problem(notice("words_lost_late", name=name))
        self._start_stream(segment)
        if isinstance(self.recognizer, NoRecognizer) and not self._absence_reported:
            self._absence_reported = True
            self.report_problem(notice("typed_text_only", reason=self.recognizer.why))

    def end_segment(self, segment: SegmentId, end: Samples) -> None:
        """Ends the audio of the open segment, also if it has to be transcribed again: later audio is not its own.

        If it has heard more already, as of another voice that goes on, it hears the segment again up to the end.
        """
        if segment == self._segment:
            self._end = end
            if self._position - end >= MIN_CUT and self._stream is not None and self._ring.oldest <= segment:
                self._start_stream(segment)

    @property
    def _has_ended(self) -> bool:
        return self._end is not None and self._position > self._end

    async def transcript(
        self, segment: SegmentId, speech_end: Samples, *, early: bool, draft: bool = False
    ) -> Transcript | None:
        """Returns the transcript so far, or None if it was lost; see `RecognitionStream.transcript`.

        Waits as long as the recognizer works, for one that does not watch itself `timeout_s`. A lost transcript is
        reported to the user.
        """
        self.is_busy = False
        try:
            async with engine_time_limit(self.recognizer, self.timeout_s):
                await self.recovery.works.wait()
                if self._stream is not None and self._stream.segment == segment:
                    return await self._stream.transcript(speech_end, early=early, draft=draft)
        except BusyError as error:
            self.is_busy = True
            self.report_problem(notice("recognizer_busy", count=error.ahead))
        except LateError as error:
            self.report_problem(notice("words_lost", reason=error))
        except Exception as error:  # noqa: BLE001 - see reason_of
            self._failed(error)
        else:
            if self.recovery.failed:
                self._failed(SttError("it could not be restarted"))
            else:
                self._report_lost_audio(segment)
        return None

    async def first_word(self, segment: SegmentId) -> FirstWord | None:
        """Returns what the first word may be; None if that is not known, or not within `timeout_s`."""
        try:
            async with time_limit(self.timeout_s):
                if self._stream is not None and self._stream.segment == segment:
                    return await self._stream.first_word()
        except TimeoutError:  # too late to be of use, which says nothing about the recognizer
            return None
        except Exception as error:  # noqa: BLE001 - see reason_of
            self._failed(error)
        return None

    def _report_lost_audio(self, segment: SegmentId) -> None:
        """Reports that the recognizer works again but the audio is gone, which is no reason to reload it again."""
        if self._lost_segment != segment:
            self._lost_segment = segment
            name = self.recognizer.name
            self.report_problem(notice("words_lost_restart", name=name))

    def close_segment(self, segment: SegmentId, *, used: bool) -> None:
        """Closes the segment. `used`: its transcript became part of a turn, so the recognizer may adapt to it."""
        if segment == self._segment:
            self._segment = None
            self._end_stream(used=used)

    def close(self) -> None:
        """Closes the open segment and cancels a reload."""
        self._segment = None
        self._end_stream(used=False)
        self.recovery.close()

    def _start_stream(self, segment: SegmentId) -> None:
        self._end_stream(used=False)
        try:
            self._stream = self.recognizer.open(segment, self._interim_transcript)
            end = self._position if self._end is None else min(self._end, self._position)
            self._stream.feed(self._ring.read(Samples(segment), end))
        except Exception as error:  # noqa: BLE001 - see reason_of
            self._failed(error)

    def _interim_transcript(self, transcript: Transcript) -> None:
        if self._stream is not None and self._stream.segment == transcript.segment:
            self.on_interim(transcript)  # else the segment is closed

    def _end_stream(self, *, used: bool) -> None:
        stream, self._stream = self._stream, None
        if stream is None:
            return
        try:
            if used:
                stream.close()
            else:
                stream.cancel()
        except Exception as error:  # noqa: BLE001 - see reason_of
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        if self.recovery.works.is_set():
            reason = reason_of(error) or f"no answer within {self.timeout_s:g} s"
            self.report_problem(notice("recognizer_failed", reason=reason, name=self.recognizer.name))
            self.recovery.restart(self._restart_stream)
        self._end_stream(used=False)

    def _restart_stream(self) -> None:
        if self._segment is not None and self._ring.oldest <= self._segment:
            self._start_stream(self._segment)  # its audio is still complete
