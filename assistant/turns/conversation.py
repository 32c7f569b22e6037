"""Holds what outlasts the states of a conversation, and what several of them share. No I/O, no clock."""

from dataclasses import dataclass, field

from assistant.turns.events import ReplyId
from assistant.turns.policies.listening_sound_policy import ListeningSoundPolicy
from assistant.turns.policies.overlap_policy import OverlapPolicy
from assistant.turns.policies.turn_end_policy import TurnEndPolicy
from assistant.turns.policies.turn_start_policy import TurnStartPolicy
from assistant.turns.settings import TurnSettings
from assistant.turns.state.announcements import Announcements
from assistant.turns.state.other_voice import OtherVoice
from assistant.turns.state.queued_turns import QueuedTurn, QueuedTurns
from assistant.turns.state.states import Idle, Replying, State, UserSpeaking
from assistant.turns.state.user_turn import Answering, UserTurn
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult


@dataclass(slots=True)
class Conversation:
    """One conversation: its state, and what it remembers in every state.

    Attributes:
        settings: The current settings.
        state: The current state.
        turn_start_policy: Decides when a turn starts.
        turn_end_policy: Decides when a turn ends.
        listening_sound_policy: Decides whether a listening sound is played in a pause.
        overlap_policy: Decides what speech during a reply is.
        queued: Speech that followed a turn whose transcript is pending.
        processed_until: Speech that began before this position is processed already.
        cut_at: Position at which the client or the maximum length cut the speech. Speech that continues after it is
            the next turn.
        announcements: Announcements that wait until nobody speaks.
        resume_pending: The falsely interrupted reply, and when its rest is said if nobody speaks.
        answer_after_reply: A turn was committed unanswered during a reply; it is answered after that reply.
        key_pressed_at: When the push-to-talk key went down; None while it is up.
        listening_sound_at: When the last listening sound began; None before the first.
        reply_heard_at: Where the last reply ended, if it was heard and nothing has followed; None otherwise.
        last_turn_number: The number of the last turn; 0 before the first.
        other_voice: What is known of voices that the assistant does not listen to.
    """

    settings: TurnSettings
    state: State = field(default_factory=Idle)
    turn_start_policy: TurnStartPolicy = field(default_factory=TurnStartPolicy)
    turn_end_policy: TurnEndPolicy = field(default_factory=TurnEndPolicy)
    listening_sound_policy: ListeningSoundPolicy = field(default_factory=ListeningSoundPolicy)
    overlap_policy: OverlapPolicy = field(default_factory=OverlapPolicy)
    queued: QueuedTurns = field(default_factory=QueuedTurns)
    processed_until: Samples = Samples(0)
    cut_at: Samples | None = None
    announcements: Announcements = field(default_factory=Announcements)
    resume_pending: tuple[ReplyId, Samples] | None = None
    answer_after_reply: bool = False
    key_pressed_at: Samples | None = None
    listening_sound_at: Samples | None = None
    reply_heard_at: Samples | None = None
    last_turn_number: int = 0
    other_voice: OtherVoice = field(default_factory=OtherVoice)

    # ---- speech ----

    def mark_processed(self, until: Samples) -> None:
        """Marks speech that began before this position as processed."""
        self.processed_until = max(self.processed_until, until)

    def cut_speech(self, position: Samples) -> None:
        """Marks speech as processed. If a client takes part, speech that continues is the next turn."""
        self.mark_processed(position)
        if self.other_voice.ignored_from is not None:
            self.other_voice.ignored_from = self.processed_until
        if self.settings.has_client:
            self.cut_at = self.processed_until

    def segment_at(self, onset: Samples) -> SegmentId:
        """Returns the segment for speech with this onset: it includes the pre-roll, but no processed speech."""
        return SegmentId(max(self.processed_until, onset - samples_of_ms(self.settings.pre_roll_ms), 0))

    def unassigned_onset(self, position: Samples, vad: VadResult) -> Samples | None:
        """Returns the onset of speech that belongs to no turn yet, or None.

        Speech that continues well beyond a cut has its onset at the cut.
        """
        if not vad.speaking:
            return None
        if vad.boundary >= self.processed_until:
            return vad.boundary
        if vad.possible_end is not None or not self._cut_starts_next_turn():
            return None
        continues = position - self.processed_until >= samples_of_ms(self.settings.start.min_continued_speech_ms)
        return self.processed_until if continues else None

    def _cut_starts_next_turn(self) -> bool:
        """Returns whether speech that continues after a cut is the next turn."""
        if self.settings.ends_by_key:
            return False
        return self.settings.ends_by_client or self.cut_at == self.processed_until

    # ---- turns ----

    def next_turn_number(self) -> int:
        """Returns the number of the next turn, counting from 1."""
        self.last_turn_number += 1
        self.reply_heard_at = None
        return self.last_turn_number

    def next_queued_turn(self) -> QueuedTurn | None:
        """Removes and returns the next queued turn, or None."""
        return self.queued.next(
            self.settings,
            include_rest=self._cut_starts_next_turn(),
            include_unconfirmed=self.settings.ends_by_client,
        )

    def open_turn(self, number: int, segment: SegmentId, onset: Samples, speech_end: Samples) -> UserTurn:
        """Opens a user turn: the user is speaking."""
        turn = UserTurn(number, segment, onset, speech_end, resumable_reply=self.take_resume_pending())
        turn.answering = Answering.of(due=False, automatic=self.settings.answers_at_end)
        self.state = UserSpeaking(turn)
        self.other_voice.ignored_from = None
        return turn

    def take_resume_pending(self) -> ReplyId | None:
        """Removes and returns the reply that was about to resume. It resumes only if the new turn is discarded."""
        pending, self.resume_pending = self.resume_pending, None
        return None if pending is None else pending[0]

    def take_answer_after_reply(self) -> bool:
        """Returns whether a turn that was committed during a reply is to be answered, and forgets it."""
        due, self.answer_after_reply = self.answer_after_reply, False
        return due

    # ---- announcements ----

    def repeat_unheard_announcement(self, reply: Replying) -> None:
        """Queues the announcement of a reply again if no complete word of it was heard."""
        if reply.announcement is not None and not reply.words_heard:
            self.announcements.repeat(reply.announcement)

    def repeat_failed_announcement(self, reply: Replying) -> None:
        """Queues an announcement again, up to the limit, after a reply ended without any sound."""
        if reply.announcement is not None and not reply.audible and not reply.words_heard:
            self.announcements.repeat_failed(reply.announcement, self.settings.replies)
