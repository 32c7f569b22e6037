"""Decides what user speech during a reply is: an interruption, or a backchannel, echo or noise. Pure.

`backchannel.py` classifies the words. An echo of the reply has no words here, because the pipeline removes them.
`side_talk.py` handles speech that may interrupt only if it is addressed to the assistant.
"""

from dataclasses import dataclass

from assistant.turns.effects import OverlapEvidence
from assistant.turns.events import InterimTranscript
from assistant.turns.settings import TurnSettings
from assistant.turns.state.overlap import Overlap
from assistant.turns.words.addressee import is_side_talk
from audio.units import Samples
from audio.vad import VadResult


@dataclass(frozen=True, slots=True)
class OverlapDecision:
    """The decision on an overlap.

    Attributes:
        interrupts: It is speech for the assistant, and the reply ends. Otherwise it is a backchannel, speech to others,
            echo or noise, and the reply continues.
        evidence: The evidence that decided.
    """

    interrupts: bool
    evidence: OverlapEvidence


_BY_SPEECH = OverlapDecision(interrupts=True, evidence="speech")
_BY_LONG_SPEECH = OverlapDecision(interrupts=True, evidence="long speech")
_WITHOUT_WORDS = OverlapDecision(interrupts=True, evidence="no words in time")
_BY_FIRST_WORD = OverlapDecision(interrupts=True, evidence="first word")
_BY_WORDS = OverlapDecision(interrupts=True, evidence="words")


@dataclass(frozen=True, slots=True)
class OverlapPolicy:
    """Words interrupt, except backchannels and words to others. Less than enough speech waits for its transcript.

    Without words, enough certain speech interrupts if it is early or if words cannot be had in time.
    """

    def decide(
        self, overlap: Overlap, evidence: VadResult | InterimTranscript, position: Samples, settings: TurnSettings
    ) -> OverlapDecision | None:
        """Returns what the overlap is, after it has taken this frame or transcript; None: it is not decided yet."""
        if isinstance(evidence, InterimTranscript):
            return self._by_words(overlap, evidence, settings)
        if evidence.speaking:
            return self._by_speech(overlap, evidence, position, settings)
        if overlap.awaits_transcript(position, settings):
            return None
        requested = overlap.transcript_requested_at is not None
        return OverlapDecision(interrupts=False, evidence="no words in time" if requested else "silence")

    def _by_speech(
        self, overlap: Overlap, vad: VadResult, position: Samples, settings: TurnSettings
    ) -> OverlapDecision | None:
        thresholds = settings.overlap
        # Speech no louder than the background must be long. Not with a high `interrupt_after_ms`, the setting for open
        # loudspeakers: there the background contains the reply's own echo.
        background = vad.background_level and settings.interrupt_after_ms < thresholds.echo_interrupt_after_ms
        too_short = background and overlap.speech_ms < thresholds.background_speech_ms
        if too_short or not overlap.has_enough_speech(settings) or overlap.awaits_words(position, settings):
            return None
        if not overlap.words_decide(settings):
            return _BY_SPEECH
        return _WITHOUT_WORDS if overlap.words_are_late(position, settings) else _BY_LONG_SPEECH

    def _by_words(self, overlap: Overlap, event: InterimTranscript, settings: TurnSettings) -> OverlapDecision | None:
        if event.ignorable is not None:
            return _BY_FIRST_WORD if event.ignorable <= settings.overlap.max_ignorable else None
        words, called = event.transcript, event.has_wake_phrase
        # A recognizer may report a word for a cough, but with low confidence.
        begins = overlap.may_become_backchannel and overlap.pause is None and overlap.words_decide(settings)
        if words.text and not overlap.backchannel and not begins and (called or not words.low_confidence):
            return _BY_WORDS
        if not event.was_requested or overlap.transcript_requested_at is None:
            return None
        return OverlapDecision(interrupts=False, evidence=_reason_to_ignore(overlap, event))


def _reason_to_ignore(overlap: Overlap, event: InterimTranscript) -> OverlapEvidence:
    if event.is_echo:
        return "echo"
    if not event.transcript.text:
        return "no words"
    if not overlap.backchannel:
        return "unsure words"
    return "words to others" if is_side_talk(event.transcript.text) else "backchannel"
