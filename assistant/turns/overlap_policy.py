"""Decides what user speech during a reply is: an interruption, or a backchannel, echo or noise. Pure.

`backchannel.py` classifies the words. An echo of the reply has no words here, because the pipeline removes them.
`side_talk.py` handles speech that may interrupt only if it is addressed to the assistant.
"""

from dataclasses import dataclass
from enum import Enum, auto

from assistant.turns.events import InterimTranscript
from assistant.turns.overlap import Overlap
from assistant.turns.settings import TurnSettings
from audio.units import Samples
from audio.vad import VadResult


class OverlapClass(Enum):
    """The class of an overlap.

    - INTERRUPTION: speech for the assistant. The reply ends.
    - NO_INTERRUPTION: a backchannel, echo or noise. The reply continues.
    - UNDECIDED: more speech or the transcript decides.
    """

    INTERRUPTION = auto()
    NO_INTERRUPTION = auto()
    UNDECIDED = auto()


@dataclass(frozen=True, slots=True)
class OverlapPolicy:
    """Words interrupt, except backchannels and words to others. Less than enough speech waits for its transcript.

    Without words, enough certain speech interrupts if it is early or if words cannot be had in time.
    """

    def classify(
        self, overlap: Overlap, evidence: VadResult | InterimTranscript, at: Samples, settings: TurnSettings
    ) -> OverlapClass:
        """Returns what the overlap is, after the overlap has taken this frame or transcript."""
        if isinstance(evidence, InterimTranscript):
            return self._by_words(overlap, evidence, settings)
        if evidence.speaking:
            return self._by_speech(overlap, evidence, at, settings)
        waits = overlap.awaits_transcript(at, settings)
        return OverlapClass.UNDECIDED if waits else OverlapClass.NO_INTERRUPTION

    def _by_speech(self, overlap: Overlap, vad: VadResult, at: Samples, settings: TurnSettings) -> OverlapClass:
        thresholds = settings.overlap
        # Speech no louder than the background must be long. Not with a high `interrupt_after_ms`, the setting for open
        # loudspeakers: there the background contains the reply's own echo.
        background = vad.background_level and settings.interrupt_after_ms < thresholds.echo_interrupt_after_ms
        too_short = background and overlap.speech_ms < thresholds.background_speech_ms
        enough = overlap.has_enough_speech(settings) and not too_short and not overlap.awaits_words(at, settings)
        return OverlapClass.INTERRUPTION if enough else OverlapClass.UNDECIDED

    def _by_words(self, overlap: Overlap, event: InterimTranscript, settings: TurnSettings) -> OverlapClass:
        words, called = event.transcript, event.has_wake_phrase
        # A recognizer may report a word for a cough, but with low confidence.
        begins = overlap.may_become_backchannel and overlap.pause is None and overlap.words_decide(settings)
        if words.text and not overlap.backchannel and not begins and (called or not words.low_confidence):
            return OverlapClass.INTERRUPTION
        is_last = event.was_requested and overlap.transcript_requested_at is not None
        return OverlapClass.NO_INTERRUPTION if is_last else OverlapClass.UNDECIDED
