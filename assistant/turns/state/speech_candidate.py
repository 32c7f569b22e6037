"""Tracks speech onsets that are not confirmed yet. Pure.

Short noises (a train, a dish) also open the VAD, but with a low probability. For a voice the probability is high about
30 ms later (docs/lab/vad.md). The candidate waits for that without added latency, because the audio is kept. Speech no
louder than the background, as other voices of the room are, has to be certain for longer. If a candidate ends
unconfirmed, as a short "quit" may, its transcript decides.
"""

from dataclasses import dataclass

from assistant.turns.settings import TurnStartThresholds
from assistant.turns.state.user_turn import speech_probability
from audio.stt import SegmentId
from audio.units import FRAME_MS, Samples, samples_of_ms
from audio.vad import VadResult


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
        certain_ms: The amount of certain speech.
        is_background: It is so far no louder than the background.
    """

    onset: Samples
    voiced_until: Samples
    speech_ms: float = 0.0
    peak_probability: float = 0.0
    transcript_requested: bool = False
    segment: SegmentId | None = None
    certain_ms: float = 0.0
    is_background: bool = False

    def with_frame(
        self, position: Samples, onset: Samples, vad: VadResult, thresholds: TurnStartThresholds
    ) -> "SpeechCandidate":
        """Returns the candidate after another frame with speech, whose onset is `onset`.

        It is a new candidate if the gap or the whole span is too long.
        """
        joined = self.is_confirmed(thresholds) or position - self.onset <= samples_of_ms(thresholds.max_span_ms)
        joined = joined and onset - self.voiced_until < samples_of_ms(thresholds.max_gap_ms)
        before = self if joined else SpeechCandidate(onset, position)
        probability = speech_probability(vad)
        return SpeechCandidate(
            before.onset,
            position,
            before.speech_ms + FRAME_MS,
            max(before.peak_probability, probability),
            certain_ms=before.certain_ms + FRAME_MS * (probability >= thresholds.certain_speech),
            is_background=vad.background_level,
        )

    def is_confirmed(self, thresholds: TurnStartThresholds) -> bool:
        """Returns whether it is confirmed as speech."""
        if self.is_background and thresholds.background_certain_ms > 0:
            least_ms = max(thresholds.background_certain_ms, thresholds.background_certain_share * self.speech_ms)
            return self.certain_ms >= least_ms
        certain = self.peak_probability >= thresholds.certain_speech
        return certain or self.speech_ms >= thresholds.confirm_after_ms

    def may_request_transcript(self, position: Samples, thresholds: TurnStartThresholds) -> bool:
        """Returns whether the silence is long enough to request the transcript."""
        return position - self.voiced_until >= samples_of_ms(thresholds.request_after_ms)

    def is_over(self, position: Samples, thresholds: TurnStartThresholds) -> bool:
        """Returns whether the silence is so long that the candidate is dropped."""
        wait_ms = thresholds.max_gap_ms if self.segment is None else thresholds.max_transcript_wait_ms
        return position - self.voiced_until >= samples_of_ms(wait_ms)
