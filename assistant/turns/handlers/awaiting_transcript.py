"""Handles the events of a user turn that has ended and whose transcript is pending. No I/O, no clock."""

from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects
from assistant.turns.events import (
    FinalTranscript,
    FrameProcessed,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    KeyPressed,
    ReplyCancelled,
    TranscriptFailed,
    VoiceJudged,
)
from assistant.turns.handlers import idle, user_speaking
from assistant.turns.handlers.commit import commit_if_ready, give_up, ignore_other_voice, withdraw_request
from assistant.turns.handlers.queued_turn_start import clear_queued, commit_queued, queue_frame
from assistant.turns.state.states import AwaitingTranscript, EndedBy, UserSpeaking
from audio.units import samples_of_s


def on_frame(conversation: Conversation, state: AwaitingTranscript, event: FrameProcessed) -> Effects:
    """Waits for the transcript. Speech reopens the turn, unless it has ended for good; then it is queued."""
    turn, settings = state.turn, conversation.settings
    queued: Effects = ()
    turn.add_frame(event.vad, is_later=state.is_final)
    if event.vad.speaking and not state.is_final:
        conversation.state = UserSpeaking(turn)
        return user_speaking.on_speech(conversation, turn, event.position, event.vad)
    if not state.is_final and settings.voice_interrupts:
        turn.resume_guard.add_frame(event.position, event.vad, settings)
    if state.is_final and not conversation.settings.ends_by_key:
        queued = queue_frame(conversation, event.position, event.vad)
    if event.position - state.ended_at < samples_of_s(settings.transcript_limit_s):
        return queued
    return (*queued, *give_up(conversation, turn, event.position, "stuck"))


def on_transcript(
    conversation: Conversation, state: AwaitingTranscript, event: FinalTranscript | TranscriptFailed
) -> Effects:
    """Commits the turn, if this is the transcript that it waits for."""
    settings, turn = conversation.settings, state.turn
    reject_noise = settings.ends_by_silence and turn.will_be_answered
    effects = turn.on_transcript(event, settings, reject_noise=reject_noise, forced=state.is_forced)
    return () if effects is None else (*effects, *commit_if_ready(conversation, state, event.position))


def on_interim_transcript(_conversation: Conversation, state: AwaitingTranscript, event: InterimTranscript) -> Effects:
    """Takes the words so far: the wake phrase shows that they are speech."""
    if event.has_wake_phrase and state.turn.segment == event.transcript.segment:
        state.turn.mark_certain()
        state.turn.voice.called = True
    return ()


def on_voice_judged(conversation: Conversation, state: AwaitingTranscript, event: VoiceJudged) -> Effects:
    """Ignores the turn if it is another voice's. Speech after the turn says nothing about its voice."""
    turn, focus = state.turn, conversation.settings.focus
    conversation.other_voice.add_verdict(event, conversation.settings)
    if event.since >= turn.speech_end:
        return ()
    turn.voice.add_verdict(event, turn.onset, conversation.settings)
    if focus is None or focus.waits_for_words or not turn.voice.is_other or turn.submitted:
        return ()
    return ignore_other_voice(conversation, turn, event.position)


def on_input_committed(conversation: Conversation, state: AwaitingTranscript, event: InputCommitted) -> Effects:
    """Ends the next turn, if the client has ended this one already. Otherwise this turn cannot be reopened any more."""
    queued = conversation.queued
    ends_next = state.ended_by is EndedBy.COMMAND or (state.is_final and (queued.has_speech or state.turn.end_reported))
    if ends_next and not conversation.settings.ends_by_key:
        return commit_queued(conversation, event.position)
    conversation.cut_speech(event.position)
    conversation.key_pressed_at = None
    state.turn.mark_certain()
    state.turn.submitted = True
    if state.ended_by in {EndedBy.SILENCE, EndedBy.FINAL_SILENCE}:
        state.ended_by = EndedBy.COMMAND
    queued.mark_cut(event.position)
    return user_speaking.end_segment(conversation, state.turn, event.position)


def on_input_cleared(conversation: Conversation, state: AwaitingTranscript, event: InputCleared) -> Effects:
    """Discards the speech after the turn."""
    if state.is_final and not conversation.settings.ends_by_key:
        return clear_queued(conversation, event.position)
    return idle.on_input_cleared(conversation, state, event)


def on_key_pressed(conversation: Conversation, state: AwaitingTranscript, event: KeyPressed) -> Effects:
    """Reopens a turn that was released just before."""
    if not conversation.settings.ends_by_key:
        return on_reply_cancelled(conversation, state, ReplyCancelled(event.position))
    conversation.key_pressed_at = event.position
    conversation.state = UserSpeaking(state.turn)
    return state.turn.drop_attempt("went on")


def on_reply_cancelled(conversation: Conversation, state: AwaitingTranscript, event: ReplyCancelled) -> Effects:
    """Withdraws the request for a reply to this turn, if that is wanted."""
    conversation.resume_pending = None
    if not (event.including_request and state.turn.reply_due):
        return ()
    return withdraw_request(conversation, state)
