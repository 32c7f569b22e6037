"""Handles the events of a conversation in which nobody speaks and no reply plays. No I/O, no clock."""

from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects, TurnDiscarded
from assistant.turns.events import (
    FellAsleep,
    FrameProcessed,
    InputCleared,
    InputCommitted,
    KeyPressed,
    ReplyCancelled,
    VoiceJudged,
)
from assistant.turns.handlers import confirming_speech
from assistant.turns.handlers.replies import prompt_silent_user, start_pending_reply
from assistant.turns.state.speech_candidate import SpeechCandidate
from assistant.turns.state.states import Idle, UserSpeaking
from audio.stt import SegmentId
from audio.units import samples_of_ms


def on_frame(conversation: Conversation, _state: Idle, event: FrameProcessed) -> Effects:
    """Waits for speech. Until it begins, replies that no user speech caused may start."""
    onset = conversation.unassigned_onset(event.position, event.vad)
    if onset is not None:
        return confirming_speech.add_speech(conversation, event.position, onset, event.vad)
    return start_pending_reply(conversation, event.position) or prompt_silent_user(conversation, event.position)


def on_voice_judged(conversation: Conversation, _state: Idle, event: VoiceJudged) -> Effects:
    """Begins a turn if the user's own voice began within speech of another voice that is ignored."""
    other = conversation.other_voice
    onset = other.own_onset(event, conversation.settings)
    earliest = other.ignored_from or 0
    other.add_verdict(event, conversation.settings)
    if onset is None or not conversation.settings.ends_by_silence:
        return ()
    segment = SegmentId(max(earliest, onset - samples_of_ms(conversation.settings.pre_roll_ms)))
    speech = SpeechCandidate(onset, event.position, peak_probability=1.0)
    begun = confirming_speech.begin_turn_at(conversation, segment, speech, event.position)
    if isinstance(conversation.state, UserSpeaking) and event.verdict == "own":
        conversation.state.turn.voice.add_verdict(event, onset, conversation.settings)
    return begun


def on_fell_asleep(conversation: Conversation, _state: Idle, _event: FellAsleep) -> Effects:
    """Ends the wait for a silent user: they have not been heard since, so their silence is unknown."""
    conversation.reply_heard_at = None
    return ()


def on_input_committed(conversation: Conversation, _state: object, event: InputCommitted) -> Effects:
    """Reports a turn in which nobody spoke. It also applies while a reply plays without an overlap."""
    conversation.cut_speech(event.position)
    conversation.key_pressed_at = None
    if conversation.settings.ends_by_key:
        return ()
    return (TurnDiscarded(conversation.next_turn_number(), event.position, event.position, "no words", submitted=True),)


def on_input_cleared(conversation: Conversation, _state: object, event: InputCleared) -> Effects:
    """Ignores the speech so far. It also applies while a transcript is pending and while a reply plays."""
    conversation.cut_speech(event.position)
    conversation.key_pressed_at = None
    return ()


def on_key_pressed(conversation: Conversation, state: Idle, event: KeyPressed) -> Effects:
    """Keeps pending replies from starting while the key is down."""
    if conversation.settings.ends_by_key:
        conversation.key_pressed_at = event.position
    return on_reply_cancelled(conversation, state, ReplyCancelled(event.position))


def on_reply_cancelled(conversation: Conversation, _state: object, _event: ReplyCancelled) -> Effects:
    """Cancels the rest of an interrupted reply. It also applies while the user speaks."""
    conversation.resume_pending = None
    return ()
