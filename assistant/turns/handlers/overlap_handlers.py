"""Handles the frames and transcripts of user speech during a reply. No I/O, no clock.

`overlap_policy.py` decides what such speech is, where speech may interrupt the reply.
"""

from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects, OverlapDecided
from assistant.turns.events import InterimTranscript, VoiceJudged
from assistant.turns.handlers.interruption import defer_overlap, dismiss_overlap, interrupt_or_retract
from assistant.turns.handlers.side_talk import request_transcript_after_pause
from assistant.turns.policies.overlap_policy import OverlapDecision
from assistant.turns.settings import InterruptedBy, TurnSettings
from assistant.turns.state.overlap import Overlap
from assistant.turns.state.states import Replying
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult


def start_overlap(
    conversation: Conversation,
    state: Replying,
    position: Samples,
    segment: SegmentId,
    vad: VadResult,
    *,
    segment_end: Samples | None = None,
) -> Effects:
    """Starts an overlap. If the reply is not audible yet, it is retracted; if it has just begun, it is held.

    `segment_end`: see `OpenSegment`.
    """
    settings = conversation.settings
    presumed_other = settings.voice_interrupts and conversation.other_voice.is_presumed(vad.boundary, settings)
    conversation.other_voice.ignored_from = None
    effects = state.start_overlap(
        position, vad, segment, settings, segment_end=segment_end, presumed_other=presumed_other
    )
    if settings.sound_decides and settings.interrupted_by is InterruptedBy.CLIENT and state.overlap is not None:
        effects += defer_overlap(conversation, state.overlap)  # a turn after the reply, from its first frame on
    if not settings.voice_interrupts:
        return (*state.release(), *effects)
    if state.audible or state.overlap is None or presumed_other:
        return effects
    return (*effects, *interrupt_or_retract(conversation, state, state.overlap, position))


def on_frame(
    conversation: Conversation, state: Replying, overlap: Overlap, position: Samples, vad: VadResult
) -> Effects:
    """Handles a frame of an overlap. If it ends neither the overlap nor the reply, the caller checks its progress."""
    settings = conversation.settings
    if overlap.pause is not None and vad.speaking:
        overlap.early = overlap.early and state.is_early(vad.boundary, settings)
    overlap.add_frame(position, vad)
    if overlap.is_deferred:
        return _on_deferred(conversation, state, overlap, position, vad)
    if not settings.voice_interrupts:
        return (
            *state.release(),
            *state.stop_ducking(),
            *_on_uninterruptible(conversation, state, overlap, position, vad),
        )
    overlap.count_speech(vad, settings)
    if vad.speaking and _waits_for_verdict(overlap, position, settings):
        waits_for_words = settings.focus is not None and settings.focus.waits_for_words
        return overlap.request_words_so_far(position, settings) if waits_for_words else ()
    return _decide(conversation, state, overlap, position, vad)


def _decide(
    conversation: Conversation, state: Replying, overlap: Overlap, position: Samples, vad: VadResult
) -> Effects:
    """Decides the overlap if it can be decided. Until then, the reply may be held or ducked."""
    settings = conversation.settings
    decision = conversation.overlap_policy.decide(overlap, vad, position, settings)
    if decision is not None:
        reported = _report(decision, state, settings)
        if decision.interrupts:
            return (*reported, *interrupt_or_retract(conversation, state, overlap, position))
        return (*reported, *dismiss_overlap(conversation, state, vad.boundary, position))
    held = state.update_overlap_hold(overlap, position, vad, settings)
    if not vad.speaking:
        return (*held, *overlap.request_transcript(position, settings))
    overlap.update_status(settings)
    return (*held, *state.duck(position, settings), *overlap.request_words_so_far(position, settings))


def _waits_for_verdict(overlap: Overlap, position: Samples, settings: TurnSettings) -> bool:
    """Returns whether speech neither ducks nor interrupts, because it is another voice's or is presumed to be."""
    if settings.focus is None or position - overlap.onset >= samples_of_ms(settings.focus.max_presumed_ms):
        overlap.presumed_other = False  # no verdict came in time
    return overlap.presumed_other or overlap.judged_other


def on_voice_judged(conversation: Conversation, state: Replying, event: VoiceJudged) -> Effects:
    """Dismisses an overlap of another voice. The user's own voice within ignored speech begins an overlap."""
    settings, overlap, other = conversation.settings, state.overlap, conversation.other_voice
    onset, earliest = other.own_onset(event, settings) if overlap is None else None, other.ignored_from or Samples(0)
    other.add_verdict(event, settings, during_reply=state.audible)
    if onset is not None and settings.voice_interrupts:
        segment = SegmentId(max(earliest, onset - samples_of_ms(settings.pre_roll_ms)))
        return start_overlap(conversation, state, event.position, segment, VadResult(True, onset, 1.0))
    if overlap is None or settings.focus is None or event.until <= overlap.onset:
        return ()
    if event.verdict != "other":
        overlap.presumed_other = False
        overlap.judged_other &= event.verdict != "own" and other.not_others < settings.focus.max_own_windows
        return ()
    if overlap.is_deferred or overlap.side_talk is not None or not settings.voice_interrupts:
        return ()
    if settings.focus.waits_for_words:
        overlap.judged_other = True
        return (*state.release(), *state.stop_ducking())
    return _ignore(conversation, state, overlap, event.position)


def _ignore(conversation: Conversation, state: Replying, overlap: Overlap, position: Samples) -> Effects:
    """Dismisses the overlap of another voice, which may go on."""
    reported = _report(OverlapDecision(interrupts=False, evidence="other voice"), state, conversation.settings)
    dismissed = dismiss_overlap(conversation, state, position, position, "other voice")
    conversation.other_voice.ignore(overlap.onset)
    return (*reported, *dismissed)


def _report(decision: OverlapDecision, state: Replying, settings: TurnSettings) -> Effects:
    """Reports what decided the overlap, where words decide."""
    if settings.overlap.words_after_ms <= 0:
        return ()
    return (OverlapDecided(state.reply_id, decision.interrupts, decision.evidence),)


def _on_uninterruptible(
    conversation: Conversation, state: Replying, overlap: Overlap, position: Samples, vad: VadResult
) -> Effects:
    """Handles an overlap with a reply that speech may not interrupt."""
    settings = conversation.settings
    if not settings.ends_by_silence:
        return ()  # the overlap is kept, since the client or the key may still commit it
    if settings.interrupted_by is InterruptedBy.WAKE_PHRASE or overlap.side_talk is not None:
        return request_transcript_after_pause(conversation, overlap, position, vad)
    if not vad.speaking:
        return dismiss_overlap(conversation, state, vad.boundary, position)
    if settings.interrupted_by is not InterruptedBy.CLIENT:
        return ()
    overlap.count_speech(vad, settings)
    return defer_overlap(conversation, overlap) if overlap.has_enough_speech(settings) else ()


def _on_deferred(
    conversation: Conversation, state: Replying, overlap: Overlap, position: Samples, vad: VadResult
) -> Effects:
    """Handles speech that becomes a turn after the reply. Only a new onset can interrupt the reply."""
    settings = conversation.settings
    is_new_onset = vad.speaking and vad.boundary >= conversation.processed_until
    if not is_new_onset or not settings.voice_interrupts:
        overlap.speech_ms = 0.0
        unducked = state.stop_ducking()
        if settings.ends_by_silence and settings.interrupted_by is InterruptedBy.CLIENT:
            return (*unducked, *request_transcript_after_pause(conversation, overlap, position, vad))
        return unducked
    overlap.count_speech(vad, settings)
    if overlap.has_enough_speech(settings) or not state.audible:
        return interrupt_or_retract(conversation, state, overlap, position)
    return state.duck(position, settings)


def on_interim_transcript(conversation: Conversation, state: Replying, event: InterimTranscript) -> Effects:
    """Takes the words of the overlap so far. The wake phrase interrupts in every mode."""
    overlap, words, called = state.overlap, event.transcript, event.has_wake_phrase
    if overlap is None or overlap.is_deferred or words.segment != overlap.segment:
        return ()
    may_interrupt = conversation.settings.voice_interrupts or called
    if not may_interrupt or not (words.text or event.was_requested):
        return ()
    overlap.add_transcript(event, conversation.settings)
    if overlap.judged_other and event.was_requested and not called:
        return _ignore(conversation, state, overlap, event.position)
    is_over = event.was_requested and overlap.pause is not None  # too short for a verdict
    if not called and (overlap.judged_other or (overlap.presumed_other and not is_over)):
        return ()
    return _decide_by_words(conversation, state, overlap, event)


def _decide_by_words(
    conversation: Conversation, state: Replying, overlap: Overlap, event: InterimTranscript
) -> Effects:
    """Decides the overlap by its words, if they suffice."""
    decision = conversation.overlap_policy.decide(overlap, event, event.position, conversation.settings)
    if decision is None:
        return ()
    reported = _report(decision, state, conversation.settings)
    if not decision.interrupts:
        return (*reported, *dismiss_overlap(conversation, state, overlap.speech_end, event.position))
    if event.has_wake_phrase or event.was_requested:
        overlap.peak_probability = 1.0  # the transcript confirms the speech, whatever the VAD reported
    return (*reported, *interrupt_or_retract(conversation, state, overlap, event.position))
