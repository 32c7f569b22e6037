"""Tracks speech onsets that are not confirmed yet. Pure.

Short noises (a train, a dish) also open the VAD, but with a low probability. For a voice the probability is high about
30 ms later (docs/vad.md). The candidate waits for that without added latency: the audio is kept meanwhile. If it ends
unconfirmed, as a short "quit" may, its transcript decides.
"""

from dataclasses import dataclass

from assistant.turns.user_turn import CERTAIN_SPEECH, speech_probability
from audio.stt import SegmentId
from audio.units import FRAME_MS, Samples, samples_of_ms
from audio.vad import VadResult

CONFIRM_AFTER_MS = 400.0
"""Amount of low-probability speech, in ms, that confirms a candidate."""

MAX_GAP_MS = 400.0
"""Longest silence in ms between two unconfirmed onsets that are joined. The first word of a turn may be soft."""

REQUEST_AFTER_MS = 160.0
"""Silence in ms after a candidate before its transcript is requested. The VAD may report only the beginning of a short
word, and the recognizer needs its end."""

TRANSCRIPT_TIMEOUT_MS = 800.0
"""Longest wait in ms for the transcript of an unconfirmed candidate. `tiny.en` takes about 500 ms on two cores,
including a second request after a low-confidence result."""

MAX_SPAN_MS = 2000.0
"""Longest span in ms of joined onsets. The audio kept for recognizers covers a few seconds."""

MAX_PREFIX_DISTANCE_MS = 1000.0
"""Longest distance in ms from the start of a possible prefix to the speech that continues it."""


@dataclass(frozen=True, slots=True)
class SpeechCandidate:
    """Speech onset that is not confirmed yet.

    Attributes:
        onset: Where it began.
        voiced_until: The end of the last frame with speech.
        speech_ms: The amount of speech.
        peak_probability: The highest speech probability of its frames.
        transcript_requested: It has ended, and its transcript was requested.
        segment: The segment that is transcribed for it; None if there is none.
    """

    onset: Samples
    voiced_until: Samples
    speech_ms: float = 0.0
    peak_probability: float = 0.0
    transcript_requested: bool = False
    segment: SegmentId | None = None

    def with_frame(self, at: Samples, onset: Samples, vad: VadResult) -> "SpeechCandidate":
        """Returns the candidate after another frame with speech, whose onset is `onset`.

        It is a new candidate if the gap or the whole span is too long.
        """
        joined = self.is_confirmed or at - self.onset <= samples_of_ms(MAX_SPAN_MS)
        joined = joined and onset - self.voiced_until < samples_of_ms(MAX_GAP_MS)
        before = self if joined else SpeechCandidate(onset, at)
        return SpeechCandidate(
            before.onset, at, before.speech_ms + FRAME_MS, max(before.peak_probability, speech_probability(vad))
        )

    @property
    def is_confirmed(self) -> bool:
        """Whether it is confirmed as speech."""
        return self.peak_probability >= CERTAIN_SPEECH or self.speech_ms >= CONFIRM_AFTER_MS

    def may_request_transcript(self, at: Samples) -> bool:
        """Whether the silence is long enough to request the transcript."""
        return at - self.voiced_until >= samples_of_ms(REQUEST_AFTER_MS)

    def is_over(self, at: Samples) -> bool:
        """Whether the silence is so long that the candidate is dropped."""
        return at - self.voiced_until >= samples_of_ms(MAX_GAP_MS if self.segment is None else TRANSCRIPT_TIMEOUT_MS)


@dataclass(frozen=True, slots=True)
class PossiblePrefix:
    """Speech during a reply that was not understood. The speech right after it may begin with it.

    Attributes:
        segment: The segment that contains it.
        until: Its end.
    """

    segment: SegmentId
    until: Samples

    def is_continued_by(self, onset: Samples) -> bool:
        """Returns whether speech with this onset continues it. The limits are those of joined candidates."""
        near = onset - self.until < samples_of_ms(MAX_GAP_MS)
        return near and onset - self.segment <= samples_of_ms(MAX_PREFIX_DISTANCE_MS)
