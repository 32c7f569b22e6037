"""Handles speech onsets that are not confirmed yet. No I/O, no clock.

A candidate begins a turn as soon as the speech is confirmed, or once a transcript shows that it has words. An action of
the client or the key confirms it, too.
"""

from dataclasses import replace

from assistant.turns.conversation import Conversation
from assistant.turns.effects import CloseSegment, Effects, OpenSegment, RequestTranscript, TurnStarted
from assistant.turns.events import FrameProcessed, InterimTranscript, VoiceJudged
from assistant.turns.handlers.replies import start_pending_reply
from assistant.turns.state.speech_candidate import SpeechCandidate
from assistant.turns.state.states import ConfirmingSpeech, Idle
from audio.stt import SegmentId
from audio.units import Samples
from audio.vad import VadResult


def on_frame(conversation: Conversation, state: ConfirmingSpeech, event: FrameProcessed) -> Effects:
    """Waits until the speech is confirmed or has been over for too long."""
    onset = conversation.unassigned_onset(event.position, event.vad)
    if onset is not None:
        return add_speech(conversation, event.position, onset, event.vad)
    if not state.candidate.is_over(event.position, conversation.settings.start):
        return _request_transcript(conversation, state, event.position)
    discarded = _discard_segment(conversation, state)
    conversation.state = Idle()
    return (*discarded, *start_pending_reply(conversation, event.position))


def add_speech(conversation: Conversation, position: Samples, onset: Samples, vad: VadResult) -> Effects:
    """Adds a frame with speech to the candidate, or begins one with it."""
    state, settings = conversation.state, conversation.settings
    discarded: Effects = ()
    speech = SpeechCandidate(onset, position)
    if isinstance(state, ConfirmingSpeech):
        discarded = _discard_segment(conversation, state)
        speech = state.candidate
    speech = speech.with_frame(position, onset, vad, settings.start)
    if conversation.turn_start_policy.begins_turn(speech, settings):
        return (*discarded, *begin_turn(conversation, speech))
    conversation.state = ConfirmingSpeech(speech)
    return discarded


def on_interim_transcript(conversation: Conversation, state: ConfirmingSpeech, event: InterimTranscript) -> Effects:
    """Begins a turn if the requested transcript has words in which the recognizer is confident."""
    words = event.transcript
    if not event.was_requested or words.segment != state.candidate.segment:
        return ()
    if words.text and (event.has_wake_phrase or not words.low_confidence):
        return begin_turn(conversation, state.candidate, confirmed_by_transcript=True)
    return _discard_segment(conversation, state)


def on_voice_judged(conversation: Conversation, state: ConfirmingSpeech, event: VoiceJudged) -> Effects:
    """Drops the candidate if it is another voice's."""
    conversation.other_voice.add_verdict(event, conversation.settings)
    ignored = event.verdict == "other" and conversation.settings.focus is not None
    if not ignored or not conversation.settings.ends_by_silence or event.until <= state.candidate.onset:
        return ()
    discarded = _discard_segment(conversation, state)
    conversation.mark_processed(event.position)
    conversation.other_voice.ignore(state.candidate.onset)
    conversation.state = Idle()
    return discarded


def begin_turn(
    conversation: Conversation, speech: SpeechCandidate, *, confirmed_by_transcript: bool = False
) -> Effects:
    """Begins the turn of a candidate.

    Args:
        conversation: The conversation.
        speech: The candidate.
        confirmed_by_transcript: The transcript confirms the speech, whatever the VAD reported.
    """
    if speech.segment is None:
        return begin_turn_at(conversation, conversation.segment_at(speech.onset), speech, speech.onset)
    turn = conversation.open_turn(conversation.next_turn_number(), speech.segment, speech.onset, speech.voiced_until)
    turn.peak_probability = 1.0 if confirmed_by_transcript else speech.peak_probability
    return (TurnStarted(turn.number, speech.onset),)


def begin_turn_at(
    conversation: Conversation,
    segment: SegmentId,
    speech: SpeechCandidate,
    speech_end: Samples,
    *,
    segment_end: Samples | None = None,
    queued_number: int | None = None,
) -> Effects:
    """Begins a turn for speech that lasted up to `speech_end`, as far as is known.

    `segment_end`: see `OpenSegment`. `queued_number`: its number, if `TurnQueued` has reported its start.
    """
    number = conversation.next_turn_number() if queued_number is None else queued_number
    turn = conversation.open_turn(number, segment, speech.onset, speech_end)
    turn.peak_probability = speech.peak_probability
    return (OpenSegment(segment, speech.onset, segment_end), TurnStarted(number, speech.onset))


def _request_transcript(conversation: Conversation, state: ConfirmingSpeech, position: Samples) -> Effects:
    """Requests the transcript of a candidate that has ended, once."""
    speech = state.candidate
    if speech.transcript_requested or not speech.may_request_transcript(position, conversation.settings.start):
        return ()
    segment = conversation.segment_at(speech.onset) if speech.segment is None else speech.segment
    state.candidate = replace(speech, transcript_requested=True, segment=segment)
    opened = (OpenSegment(segment, speech.onset),) if speech.segment is None else ()
    return (*opened, RequestTranscript(segment, speech.voiced_until))


def _discard_segment(conversation: Conversation, state: ConfirmingSpeech) -> Effects:
    """Discards the segment of the candidate, whose transcript has no words so far."""
    segment = state.candidate.segment
    if segment is None:
        return ()
    state.candidate = replace(state.candidate, segment=None)
    return (CloseSegment(segment, conversation.last_turn_number, used=False),)
