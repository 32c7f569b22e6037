"""Decides when a user turn starts, ends, continues or interrupts a reply.

`TurnTaking.handle(event) -> effects`. No I/O, no clock, no await: every event carries its time as a position on the
sample clock. The session performs the effects in the given order.

    IDLE ──speech──▶ USER_SPEAKING ──silence──▶ AWAITING_TRANSCRIPT ──transcript──▶ REPLYING ──played──▶ IDLE
                          ▲                              │                             │
                          └────── user continues ────────┴───────── interruption ──────┘

`TRANSITIONS` has the handler of each event in each state. Before it, `_effects_before` applies new settings, confirms a
speech candidate or starts a queued turn. Between IDLE and USER_SPEAKING, `ConfirmingSpeech` waits until the onset is
certain; its phase is IDLE. The handlers of a state are in the file of its name in `handlers/`; those of speech during a
reply are in `overlap_handlers.py` and `side_talk.py`, and `requests.py` handles requests in every state. A handler
returns the effects and sets `Conversation.state`. What it decides is in four `policies/`: `turn_start_policy.py`,
`turn_end_policy.py`, `listening_sound_policy.py` and `overlap_policy.py`.

An attempt starts at a silence, or shortly before one that is foreseen. Its transcript is requested, and its reply is
prepared but held back. A later transcript with other words replaces it. Only `CommitTurn` lets the reply play, once the
end of turn is decided and the transcript will not change any more. Until then the attempt can be dropped: nothing of it
was heard or written to the history.

What happens if the user continues:

    before the commit                     Drop       the attempt is dropped; the turn continues
    after it, less than a word was heard  Retract    the reply is cancelled; the turn continues, with all its words
    after a word or more was heard        Interrupt  the reply is cut at that word; a new turn starts

A reply that is requested during speech (by typed text) starts at once. The speech is still transcribed and becomes a
turn after the reply.
"""

from collections.abc import Callable, Mapping
from typing import Any

from assistant.turns.conversation import Conversation
from assistant.turns.effects import Effects
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
    Event,
    FellAsleep,
    FinalTranscript,
    FrameProcessed,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    KeyPressed,
    PlaybackProgress,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    TranscriptExpected,
    TranscriptFailed,
    VoiceJudged,
)
from assistant.turns.handlers import (
    awaiting_transcript,
    confirming_speech,
    idle,
    overlap_handlers,
    replying,
    side_talk,
    user_speaking,
)
from assistant.turns.handlers.commit import on_transcript_expected
from assistant.turns.handlers.queued_turn_start import start_queued_turn
from assistant.turns.handlers.requests import on_reply_requested
from assistant.turns.settings import TurnSettings
from assistant.turns.state.announcements import Announcement
from assistant.turns.state.states import (
    AwaitingTranscript,
    ConfirmingSpeech,
    Idle,
    Phase,
    Replying,
    State,
    UserSpeaking,
)
from assistant.turns.state.user_turn import Answering, UserTurn
from audio.units import Samples

Handler = Callable[[Conversation, Any, Any], Effects]
"""Takes the conversation, its state and an event. The table guarantees the classes of the state and the event."""

TRANSITIONS: Mapping[type[State], Mapping[type[Event], Handler]] = {
    Idle: {
        FrameProcessed: idle.on_frame,  # → ConfirmingSpeech, UserSpeaking; Replying
        ReplyRequested: on_reply_requested,  # → Replying
        InputCommitted: idle.on_input_committed,
        KeyPressed: idle.on_key_pressed,
        InputCleared: idle.on_input_cleared,
        ReplyCancelled: idle.on_reply_cancelled,
        VoiceJudged: idle.on_voice_judged,  # → UserSpeaking
        FellAsleep: idle.on_fell_asleep,
    },
    # The other events first make the candidate a turn; see `_CONFIRMING_EVENTS`.
    ConfirmingSpeech: {
        FrameProcessed: confirming_speech.on_frame,  # → UserSpeaking; Idle, Replying
        InterimTranscript: confirming_speech.on_interim_transcript,  # → UserSpeaking
        VoiceJudged: confirming_speech.on_voice_judged,  # → Idle
    },
    UserSpeaking: {
        FrameProcessed: user_speaking.on_frame,  # → AwaitingTranscript; Replying, Idle
        InterimTranscript: user_speaking.on_interim_transcript,
        DraftTranscript: user_speaking.on_draft_transcript,
        EndOfTurnScored: user_speaking.on_end_of_turn_scored,
        TranscriptExpected: on_transcript_expected,
        FinalTranscript: user_speaking.on_transcript,
        TranscriptFailed: user_speaking.on_transcript,
        ReplyRequested: on_reply_requested,  # → Replying
        InputCommitted: user_speaking.on_input_committed,  # → AwaitingTranscript; Replying
        KeyPressed: user_speaking.on_key_pressed,
        InputCleared: user_speaking.on_input_cleared,  # → Idle; Replying
        ReplyCancelled: idle.on_reply_cancelled,
        VoiceJudged: user_speaking.on_voice_judged,  # → Idle, AwaitingTranscript; Replying
    },
    AwaitingTranscript: {
        FrameProcessed: awaiting_transcript.on_frame,  # → UserSpeaking; Idle, Replying
        InterimTranscript: awaiting_transcript.on_interim_transcript,
        TranscriptExpected: on_transcript_expected,
        FinalTranscript: awaiting_transcript.on_transcript,  # → Replying; Idle
        TranscriptFailed: awaiting_transcript.on_transcript,  # → Replying; Idle
        ReplyRequested: on_reply_requested,  # → Replying
        InputCommitted: awaiting_transcript.on_input_committed,
        KeyPressed: awaiting_transcript.on_key_pressed,  # → UserSpeaking
        InputCleared: awaiting_transcript.on_input_cleared,
        ReplyCancelled: awaiting_transcript.on_reply_cancelled,
        VoiceJudged: awaiting_transcript.on_voice_judged,  # → Idle; Replying
    },
    Replying: {
        FrameProcessed: replying.on_frame,  # → UserSpeaking; Idle
        InterimTranscript: overlap_handlers.on_interim_transcript,  # → UserSpeaking
        TranscriptExpected: on_transcript_expected,
        # Only of speech beside the reply; the transcript of the turn itself came before the state.
        FinalTranscript: side_talk.on_transcript,  # → UserSpeaking
        TranscriptFailed: side_talk.on_transcript,
        PlaybackProgress: replying.on_playback_progress,
        ReplyEnded: replying.on_reply_ended,  # → Idle; UserSpeaking, ConfirmingSpeech, Replying
        ReplyRequested: on_reply_requested,  # → Replying
        InputCommitted: replying.on_input_committed,  # → AwaitingTranscript
        KeyPressed: replying.on_key_pressed,  # → Idle, UserSpeaking
        InputCleared: replying.on_input_cleared,
        ReplyCancelled: replying.on_reply_cancelled,  # → Idle, UserSpeaking
        VoiceJudged: overlap_handlers.on_voice_judged,  # → UserSpeaking
    },
}
"""The handler of each event in each state. Other events have no effect.

The comments name the states that may follow; those after the semicolon are rare.
"""

_CONFIRMING_EVENTS = (ReplyRequested, InputCommitted, KeyPressed, InputCleared, ReplyCancelled)
"""Events that make a speech candidate a turn: actions of the client or the key, and requested replies."""

_PHASES: Mapping[type[State], Phase] = {
    Idle: Phase.IDLE,
    ConfirmingSpeech: Phase.IDLE,
    UserSpeaking: Phase.USER_SPEAKING,
    AwaitingTranscript: Phase.AWAITING_TRANSCRIPT,
    Replying: Phase.REPLYING,
}


class TurnTaking:
    """The turn-taking state machine of one conversation. It accepts events in any order and never raises."""

    def __init__(self, settings: TurnSettings) -> None:
        self._conversation = Conversation(settings)

    @property
    def settings(self) -> TurnSettings:
        """The settings, from the next event on. They may change at any time."""
        return self._conversation.settings

    @settings.setter
    def settings(self, settings: TurnSettings) -> None:
        self._conversation.settings = settings

    def handle(self, event: Event) -> Effects:
        """Takes the next event, in order of time.

        Returns:
            The effects, to be performed at once and in order.
        """
        conversation, effects = self._conversation, self._effects_before(event)
        state = conversation.state
        handler = TRANSITIONS[type(state)].get(type(event))
        return effects if handler is None else effects + handler(conversation, state, event)

    def _effects_before(self, event: Event) -> Effects:
        """Does what precedes the event: new settings, a turn that the event confirms, or a queued turn."""
        conversation, state = self._conversation, self._conversation.state
        effects: Effects = ()
        if isinstance(state, UserSpeaking):
            effects = self._apply_settings(state.turn)
        elif isinstance(state, ConfirmingSpeech) and isinstance(event, _CONFIRMING_EVENTS):
            effects = confirming_speech.begin_turn(conversation, state.candidate)
        if conversation.queued.waiting and isinstance(event, FrameProcessed | InputCommitted):
            effects += start_queued_turn(conversation, event.position)
        return effects

    def _apply_settings(self, turn: UserTurn) -> Effects:
        """Updates whether the open turn is answered, since the client may have changed the settings."""
        if not self._answering_changes(turn):
            return ()
        turn.answering = Answering.of(due=False, automatic=self.settings.answers_at_end)
        return turn.drop_attempt("went on")

    def _answering_changes(self, turn: UserTurn) -> bool:
        """Returns whether the open turn is answered by the former settings only, or by the new ones only."""
        return not turn.reply_due and turn.will_be_answered != self.settings.answers_at_end

    def continue_after(self, last_turn_number: int) -> None:
        """Counts the next turn from this number on: the conversation began in another process."""
        self._conversation.last_turn_number = max(self._conversation.last_turn_number, last_turn_number)

    def take_unheard_announcements(self) -> tuple[Announcement, ...]:
        """Removes and returns the announcements that were to be said at once and ended before a word was heard."""
        return self._conversation.announcements.take_returned()

    # ---- what others read ----

    @property
    def last_turn_number(self) -> int:
        """The number of the last turn; 0 before the first."""
        return self._conversation.last_turn_number

    @property
    def phase(self) -> Phase:
        """The phase of the conversation."""
        return _PHASES[type(self._conversation.state)]

    @property
    def confirms_speech(self) -> bool:
        """Whether a speech onset is not confirmed yet; the phase is IDLE."""
        return isinstance(self._conversation.state, ConfirmingSpeech)

    @property
    def replying(self) -> ReplyId | None:
        """The id of the active reply, or None."""
        state = self._conversation.state
        return state.reply_id if isinstance(state, Replying) else None

    @property
    def has_overlap(self) -> bool:
        """Whether there is an overlap with the active reply."""
        state = self._conversation.state
        return isinstance(state, Replying) and state.overlap is not None

    @property
    def reply_awaits_sound(self) -> bool:
        """Whether a reply is due or begun, and nothing of it has been played yet."""
        state = self._conversation.state
        return isinstance(state, AwaitingTranscript) or (isinstance(state, Replying) and not state.audible)

    def speech_end_before(self, frame: FrameProcessed) -> Samples | None:
        """Returns the end of the speech before the pause to which the next frame belongs.

        None: there is no attempt, or the frame continues the speech, or it ends the turn during speech.
        """
        state, settings, vad = self._conversation.state, self.settings, frame.vad
        if not isinstance(state, UserSpeaking) or state.turn.attempt is None or self._answering_changes(state.turn):
            return None
        if not vad.speaking:
            return state.turn.speech_end_before(vad)
        too_long = not settings.ends_by_client and state.turn.is_too_long(frame.position, settings)
        return None if too_long else vad.possible_end

    @property
    def awaited_turn(self) -> int | None:
        """The turn that has ended and whose transcript is awaited, or None."""
        state = self._conversation.state
        return state.turn.number if isinstance(state, AwaitingTranscript) else None

    @property
    def pending_turn_lacks_reply_request(self) -> bool:
        """Whether a finished turn waits for its transcript and no reply to it was requested."""
        state = self._conversation.state
        return isinstance(state, AwaitingTranscript) and not state.turn.will_be_answered

    @property
    def pending_turn_has_reply_request(self) -> bool:
        """Whether a finished turn waits for its transcript and a reply to it was requested."""
        state = self._conversation.state
        return isinstance(state, AwaitingTranscript) and state.turn.reply_due

    @property
    def resume_pending(self) -> bool:
        """Whether the rest of a falsely interrupted reply will be said soon."""
        return self._conversation.resume_pending is not None

    @property
    def silence_may_wait(self) -> bool:
        """Whether silent frames may come up to 160 ms late: nobody speaks, and no reply is about to begin."""
        conversation, state = self._conversation, self._conversation.state
        if conversation.queued.waiting or conversation.announcements.waiting or self.resume_pending:
            return False
        if isinstance(state, Replying):
            return state.overlap is None and not state.can_hold_playback
        return isinstance(state, Idle) and not conversation.answer_after_reply

    @property
    def silence_may_be_skipped(self) -> bool:
        """Whether silence changes nothing, however long: nobody speaks, and a silent user is not to be prompted."""
        prompts = self.settings.idle_timeout_ms is not None and self._conversation.reply_heard_at is not None
        return isinstance(self._conversation.state, Idle) and self.silence_may_wait and not prompts
