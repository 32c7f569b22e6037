"""Handles the events of an open user turn: the user speaks or pauses. No I/O, no clock."""

from assistant.end_of_turn.estimator import silence_timeout_ms
from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects, EndOfTurn, EndSegment, PlayListeningSound, RequestTranscript
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
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
from assistant.turns.handlers import idle
from assistant.turns.handlers.commit import commit_if_ready, give_up, ignore_other_voice
from assistant.turns.state.resume_guard import ResumeGuard
from assistant.turns.state.states import AwaitingTranscript, EndedBy, UserSpeaking
from assistant.turns.state.user_turn import UserTurn
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult


def on_frame(conversation: Conversation, state: UserSpeaking, event: FrameProcessed) -> Effects:
    """Makes attempts in pauses, and ends the turn when the policy says so."""
    state.turn.add_frame(event.vad)
    if state.turn.voice.other_from is not None and conversation.settings.focus is not None:
        return _on_other_voice(conversation, state.turn, event.position, state.turn.voice.other_from)
    if event.vad.speaking:
        return on_speech(conversation, state.turn, event.position, event.vad)
    return _on_silence(conversation, state.turn, event.position, event.vad)


def on_speech(conversation: Conversation, turn: UserTurn, position: Samples, vad: VadResult) -> Effects:
    """Handles a frame with speech. A turn that is too long ends during speech."""
    settings = conversation.settings
    stopped = turn.end_pause() if vad.possible_end is None else ()
    ended_by = conversation.turn_end_policy.ended_by(turn, position, vad, settings)
    if ended_by is not None:
        turn.speech_end, turn.resume_guard = position, ResumeGuard()
        dropped = turn.drop_attempt("went on")
        conversation.state = AwaitingTranscript(turn, position, ended_by)
        conversation.queued.mark_cut(position)
        ended = (*end_segment(conversation, turn, position), *turn.report_end(settings))
        return (*stopped, *dropped, *ended, turn.begin_attempt(position, "settled"), EndOfTurn(turn.number))
    if vad.possible_end is not None:
        turn.speech_end = vad.possible_end
        return turn.speculate(position, settings)
    turn.speech_end, turn.silence_timeout_ms = position, None
    return (*stopped, *turn.on_speech_continues(position, settings))


def _on_silence(conversation: Conversation, turn: UserTurn, position: Samples, vad: VadResult) -> Effects:
    settings = conversation.settings
    turn.speech_end = turn.speech_end_before(vad)
    ended_by = conversation.turn_end_policy.ended_by(turn, position, vad, settings)
    if ended_by is EndedBy.MAX_LENGTH:
        return end_turn(conversation, turn, position, ended_by)
    effects = turn.speculate(position, settings)
    if ended_by is None:
        return effects + _attend_pause(conversation, turn, position, vad)
    return effects + _end_by_silence(conversation, turn, position, ended_by)


def _end_by_silence(conversation: Conversation, turn: UserTurn, position: Samples, ended_by: EndedBy) -> Effects:
    """Ends the turn after the silence timeout."""
    effects: Effects = ()
    if turn.attempt is None:
        effects += (turn.begin_attempt(turn.speech_end),)
    elif turn.attempt.foreseen_until is not None:
        effects += (turn.confirm_foreseen(turn.attempt),)
    conversation.state = state = AwaitingTranscript(turn, position, ended_by)
    if ended_by is EndedBy.FINAL_SILENCE:
        sound_decides = conversation.settings.sound_decides
        conversation.queued.mark_cut(turn.speech_end if sound_decides else position)
        effects += (*end_segment(conversation, turn, position), *turn.report_end(conversation.settings))
    return (*effects, EndOfTurn(turn.number), *commit_if_ready(conversation, state, position))


def _attend_pause(conversation: Conversation, turn: UserTurn, position: Samples, vad: VadResult) -> Effects:
    """Plays a listening sound, if it is due."""
    policy, last_at = conversation.listening_sound_policy, conversation.listening_sound_at
    if not policy.is_due(turn, position, vad, last_at, conversation.settings):
        return ()
    conversation.listening_sound_at, turn.pause_attended = position, True
    return (PlayListeningSound(turn.number),)


def end_turn(conversation: Conversation, turn: UserTurn, position: Samples, ended_by: EndedBy) -> Effects:
    """Ends the turn at once, even if speech continues."""
    turn.resume_guard = ResumeGuard()
    conversation.state = state = AwaitingTranscript(turn, position, ended_by)
    reported = turn.report_end(conversation.settings)
    if conversation.settings.ends_by_key and turn.attempt is not None and turn.attempt.settled:
        # Reuse the settled attempt.
        return (*reported, EndOfTurn(turn.number), *commit_if_ready(conversation, state, position))
    dropped = turn.drop_attempt("went on")
    return (*reported, *dropped, turn.begin_attempt(turn.speech_end, "settled"), EndOfTurn(turn.number))


def end_segment(conversation: Conversation, turn: UserTurn, position: Samples) -> Effects:
    """Ends the audio of a turn that cannot be reopened, once: only pressing the push-to-talk key again reopens one."""
    if conversation.settings.ends_by_key or turn.end_reported:
        return ()
    return (EndSegment(turn.segment, Samples(max(turn.segment, position))),)


def on_end_of_turn_scored(conversation: Conversation, state: UserSpeaking, event: EndOfTurnScored) -> Effects:
    """Sets the silence timeout of the current silence."""
    profile = conversation.settings.profile
    if profile is not None and state.turn.segment == event.segment:
        state.turn.silence_timeout_ms = silence_timeout_ms(event.estimate, profile)
        state.turn.evidence_logit = event.estimate.evidence_logit
        state.turn.sounds_unfinished = event.estimate.sounds_unfinished
    return ()


def on_transcript(
    conversation: Conversation, state: UserSpeaking, event: FinalTranscript | TranscriptFailed
) -> Effects:
    """Takes the transcript of an attempt, made in a pause."""
    settings, turn = conversation.settings, state.turn
    reject_noise = settings.ends_by_silence and turn.will_be_answered
    effects = turn.on_transcript(event, settings, reject_noise=reject_noise)
    if effects is None or not isinstance(event, FinalTranscript):
        return effects or ()
    return (*effects, *_ignore_without_phrase(conversation, turn, event.position))


def on_interim_transcript(conversation: Conversation, state: UserSpeaking, event: InterimTranscript) -> Effects:
    """Takes the words so far: the wake phrase shows that they are speech. Without it, another voice is ignored."""
    turn, words = state.turn, event.transcript
    if turn.segment != words.segment:
        return ()
    if event.has_wake_phrase:
        turn.mark_certain()
        turn.voice.called = True
        return ()
    covers = event.was_requested or (turn.voice.other_until is not None and words.until >= turn.voice.other_until)
    return _ignore_without_phrase(conversation, turn, event.position) if covers else ()


def _ignore_without_phrase(conversation: Conversation, turn: UserTurn, position: Samples) -> Effects:
    """Ignores a turn that is another voice's, once its words are known and lack the wake phrase."""
    focus = conversation.settings.focus
    waits = focus is not None and focus.waits_for_words and conversation.settings.ends_by_silence
    if not waits or not turn.voice.is_other or turn.submitted:
        return ()
    return ignore_other_voice(conversation, turn, position)


def on_voice_judged(conversation: Conversation, state: UserSpeaking, event: VoiceJudged) -> Effects:
    """Ignores a turn of another voice. A turn of the user's own ends where another voice goes on; see `on_frame`."""
    turn, settings = state.turn, conversation.settings
    conversation.other_voice.add_verdict(event, settings)
    if settings.focus is None or not settings.ends_by_silence or turn.voice.called or event.until <= turn.onset:
        return ()
    turn.voice.add_verdict(event, turn.onset, settings)
    if not turn.voice.is_other or event.verdict != "other":
        return ()
    if not settings.focus.waits_for_words:
        return ignore_other_voice(conversation, turn, event.position)
    turn.voice.other_until = event.until
    if turn.attempt is not None:  # its transcript comes
        return ()
    return (RequestTranscript(turn.segment, event.position, so_far=True),)


def _on_other_voice(conversation: Conversation, turn: UserTurn, position: Samples, since: Samples) -> Effects:
    """Ends the turn where the user's own speech ended, if the user does not go on. The other voice is in no turn."""
    focus = conversation.settings.focus
    pauses = 1 if conversation.other_voice.others else 2  # the next verdict may be that the user goes on
    if focus is None or position - since < samples_of_ms(pauses * focus.own_pause_ms):
        return ()
    turn.speech_end = max(turn.onset, min(since, turn.speech_end))
    conversation.other_voice.ignore(turn.speech_end)
    conversation.queued.mark_cut(position)
    ended = end_segment(conversation, turn, turn.speech_end)
    return (*turn.end_pause(), *ended, *end_turn(conversation, turn, position, EndedBy.OTHER_VOICE))


def on_draft_transcript(conversation: Conversation, state: UserSpeaking, event: DraftTranscript) -> Effects:
    """Takes the words of a decode made while the user speaks."""
    turn = state.turn
    return turn.foresee(event, conversation.settings) if turn.segment == event.transcript.segment else ()


def on_input_committed(conversation: Conversation, state: UserSpeaking, event: InputCommitted) -> Effects:
    """Ends the turn for the client or the key."""
    conversation.cut_speech(event.position)
    conversation.key_pressed_at = None
    state.turn.mark_certain()
    state.turn.submitted = True
    ended = end_segment(conversation, state.turn, event.position)
    effects = end_turn(conversation, state.turn, event.position, EndedBy.COMMAND)
    conversation.queued.mark_cut(event.position)
    return (*ended, *effects)


def on_input_cleared(conversation: Conversation, state: UserSpeaking, event: InputCleared) -> Effects:
    """Discards the turn."""
    idle.on_input_cleared(conversation, state, event)
    return give_up(conversation, state.turn, event.position, "cleared")


def on_key_pressed(conversation: Conversation, state: UserSpeaking, event: KeyPressed) -> Effects:
    """Notes that the key is down."""
    if conversation.settings.ends_by_key:
        conversation.key_pressed_at = event.position
    return idle.on_reply_cancelled(conversation, state, ReplyCancelled(event.position))
