"""Holds the state of a conversation and performs its transitions. Pure.

`assistant.turns.machine` decides when a transition happens. There is never a turn and a reply at the same time.

    idle ──begin_turn──▶ turn ──commit──▶ reply ──finished──▶ idle
                         ▲ │                │ ▲
         take, hand_over │ └── abandon      │ │ recite, request: replies without user speech
                         └──────────────────┘
"""

from collections import deque
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Literal

from assistant.turns.events import (
    AbandonReason,
    CloseSegment,
    CommitTurn,
    DiscardSegment,
    Effect,
    Effects,
    FinalTranscript,
    HoldPlayback,
    InterruptReply,
    OpenSegment,
    PrepareReply,
    RecordTurn,
    ReplyId,
    ReplyRequested,
    RequestTranscript,
    ResumeReply,
    RetractReply,
    TranscriptFailed,
    TurnDiscarded,
    TurnStarted,
)
from assistant.turns.overlap import MOST_FAILURES, ActiveReply, Announcement, Overlap
from assistant.turns.queued_turns import STILL_SPEAKS_MS, QueuedTurn, QueuedTurns
from assistant.turns.settings import TurnSettings
from assistant.turns.speech_candidate import PossiblePrefix, SpeechCandidate
from assistant.turns.user_turn import UserTurn, prepared
from audio.stt import SegmentId
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult

MOST_ANNOUNCEMENTS = 20
"""Limit on the waiting announcements. If there are more, the oldest are dropped."""


GOES_ON_AFTER_MS = 1000.0
"""Silence in ms after a false interruption before the reply resumes. A user who hums may be about to speak."""


class Phase(Enum):
    """What the conversation waits for."""

    IDLE = auto()
    USER_SPEAKING = auto()
    AWAITING_TRANSCRIPT = auto()
    REPLYING = auto()


@dataclass(slots=True)
class TurnState:
    """The state of one conversation.

    Attributes:
        candidate: Unconfirmed speech.
        turn: The open user turn.
        queued: Speech that followed a turn whose transcript is pending.
        reply: The active reply.
        used_until: Speech that began before this position is processed already.
        cut_at: Position at which the client or the maximum length cut the speech. Speech that continues after it is
            the next turn.
        prefix: Speech that was not understood and may be the beginning of the next turn.
        announcements: Announcements that wait until nobody speaks.
        resume_pending: The falsely interrupted reply, and when its rest is said if nobody speaks.
        answer_behind: A turn was recorded during a reply; it is answered after that reply.
    """

    candidate: SpeechCandidate | None = None
    turn: UserTurn | None = None
    queued: QueuedTurns = field(default_factory=QueuedTurns)
    reply: ActiveReply | None = None
    used_until: Samples = field(default=Samples(0))
    cut_at: Samples | None = None
    prefix: PossiblePrefix | None = None
    announcements: deque[Announcement] = field(default_factory=lambda: deque(maxlen=MOST_ANNOUNCEMENTS))
    resume_pending: tuple[ReplyId, Samples] | None = None
    answer_behind: bool = False
    _turns_so_far: int = 0

    @property
    def phase(self) -> Phase:
        """The phase, derived from the turn and the reply."""
        if self.reply is not None:
            return Phase.REPLYING
        if self.turn is None:
            return Phase.IDLE
        return Phase.USER_SPEAKING if self.turn.endpoint is None else Phase.AWAITING_TRANSCRIPT

    def used(self, until: Samples) -> None:
        """Marks speech that began before this position as processed."""
        self.used_until = max(self.used_until, until)

    def cut_here(self, at: Samples, settings: TurnSettings) -> None:
        """Marks speech as processed. If the client controls turns, speech that continues is the next turn."""
        self.used(at)
        if settings.by_client:
            self.cut_at = self.used_until

    def segment_at(self, onset: Samples, settings: TurnSettings) -> SegmentId:
        """Returns the segment for speech with this onset: with the pre-roll, and the possible prefix."""
        segment = SegmentId(max(self.used_until, onset - samples_of_ms(settings.pre_roll_ms), 0))
        before = self.prefix
        if before is None or self.used_until > before.until or not before.leads_to(onset):
            return segment
        return SegmentId(min(segment, before.segment + 1))  # one sample later, since segment ids are unique

    def next_turn(self) -> int:
        """Returns the number of the next turn, counting from 1."""
        self._turns_so_far += 1
        return self._turns_so_far

    # ---- the user turn ----

    def onset(self, at: Samples, voicing: VadResult, settings: TurnSettings) -> Samples | None:
        """Returns the onset of speech that belongs to no turn yet, or None.

        Speech that continues well beyond a cut has its onset at the cut.
        """
        if not voicing.speaking or voicing.boundary >= self.used_until:
            return voicing.boundary if voicing.speaking else None
        cut = self._goes_on_behind_cut(settings) and voicing.possible_end is None
        return self.used_until if cut and at - self.used_until >= samples_of_ms(STILL_SPEAKS_MS) else None

    def _goes_on_behind_cut(self, settings: TurnSettings) -> bool:
        """Returns whether speech that continues after a cut is the next turn."""
        return (settings.manual or self.cut_at == self.used_until) and not settings.held

    def waited(self, settings: TurnSettings) -> QueuedTurn | None:
        """Removes and returns the next queued turn, or None."""
        return self.queued.next(rest_too=self._goes_on_behind_cut(settings), any_voice=settings.manual)

    def approached(self, at: Samples, onset: Samples, voicing: VadResult, settings: TurnSettings) -> Effects:
        """Takes a speech frame while idle. A confirmed candidate begins a turn; in manual modes any speech does."""
        discarded = self.heard_nothing()
        self.candidate = (self.candidate or SpeechCandidate(onset, at)).voice(at, onset, voicing)
        begins = self.candidate.is_somebody or settings.manual or settings.held
        return (*discarded, *(self.begin_turn(settings) if begins else ()))

    def receded(self, voice: SpeechCandidate, at: Samples, settings: TurnSettings) -> Effects:
        """Takes a silent frame after a candidate: requests its transcript, or drops the candidate."""
        if voice.is_over(at):
            discarded, self.candidate = self.heard_nothing(), None
            return discarded
        if voice.asked or not voice.may_be_over(at):
            return ()
        segment = self.segment_at(voice.onset, settings) if voice.segment is None else voice.segment
        self.candidate = replace(voice, asked=True, segment=segment)
        opened = (OpenSegment(segment, voice.onset),) if voice.segment is None else ()
        return (*opened, RequestTranscript(segment, voice.voiced_until))

    def heard_nothing(self) -> Effects:
        """Discards the segment of the candidate, whose transcript has no words so far."""
        if self.candidate is None or self.candidate.segment is None:
            return ()
        segment = self.candidate.segment
        self.candidate = replace(self.candidate, segment=None)
        return (DiscardSegment(segment, self._turns_so_far),)

    def begin_turn(self, settings: TurnSettings, *, vouched: bool = False) -> Effects:
        """Begins the turn of the current candidate, if there is one.

        Args:
            settings: The current settings.
            vouched: The transcript confirms the speech, whatever the VAD reported.
        """
        if self.candidate is None:
            return ()
        voice, self.candidate = self.candidate, None
        if voice.segment is not None:
            turn = self._open(self.next_turn(), voice.segment, voice.onset, voice.voiced_until, settings)
            turn.surest = 1.0 if vouched else voice.surest
            return (TurnStarted(turn.number, voice.onset),)
        return self.begin_at(self.segment_at(voice.onset, settings), voice, voice.onset, settings)

    def begin_at(
        self, segment: SegmentId, voice: SpeechCandidate, speech_end: Samples, settings: TurnSettings
    ) -> Effects:
        """Begins a turn for speech that lasted up to `speech_end`, as far as is known."""
        turn = self._open(self.next_turn(), segment, voice.onset, speech_end, settings)
        turn.surest = voice.surest
        return (OpenSegment(segment, voice.onset), TurnStarted(turn.number, voice.onset))

    def _open(
        self, number: int, segment: SegmentId, onset: Samples, speech_end: Samples, settings: TurnSettings
    ) -> UserTurn:
        self.turn = turn = UserTurn(number, segment, onset, speech_end, cut=self._held_up())
        turn.answered = settings.answers and not settings.manual
        return turn

    def _held_up(self) -> ReplyId | None:
        """Removes and returns the reply that was about to resume. It resumes only if the new turn is discarded."""
        cut, self.resume_pending = None if self.resume_pending is None else self.resume_pending[0], None
        return cut

    def configured(self, settings: TurnSettings) -> Effects:
        """Updates whether the open turn is answered, since the client may have changed the settings."""
        turn = self.turn
        answered = settings.answers and not settings.manual
        if turn is None or turn.endpoint is not None or turn.reply_owed or turn.answered == answered:
            return ()
        turn.answered = answered
        return turn.drop_attempts("went on")

    def answer_after_all(self, turn: UserTurn, at: Samples) -> Effects:
        """Handles a request for a reply while the transcript is pending: the reply answers this turn."""
        if turn.answered:
            return ()
        turn.answered = turn.reply_owed = True
        turn.vouched_for()
        attempt = turn.attempt
        if attempt is None or not attempt.ready:
            return ()
        return (prepared(attempt), *self.commit_if_ready(turn, at))

    def request_dropped(self, turn: UserTurn, at: Samples, settings: TurnSettings) -> Effects:
        """Withdraws the request for a reply while the transcript is pending."""
        turn.reply_owed, turn.answered = False, settings.answers and not settings.manual
        if turn.answered or turn.attempt is None or not turn.attempt.ready:
            return ()
        return (*turn.drop_attempts("cleared"), turn.begin_attempt(at, turn.speech_end, settings))

    def commit_if_ready(self, turn: UserTurn, at: Samples) -> Effects:
        """Commits or records a finished turn once its transcript is known; discards it if there are no words."""
        attempt = turn.attempt
        if attempt is None or attempt.text is None or turn.recheck is not None:
            return ()
        if confirming := turn.confirm(at):
            return confirming
        if not attempt.text and not attempt.transcript_lost and not turn.reply_owed:
            return self.abandon(turn, at, attempt.ignored_because or "no words")
        self.turn = None
        self.used(turn.speech_end)
        if turn.overlong and attempt.text and not attempt.low_confidence:
            self.cut_at = self.used_until
        closed = CloseSegment(turn.segment, turn.number)
        if not turn.answered:
            return (
                RecordTurn(turn.number, attempt.text, attempt.new_text, turn.speech_end, attempt.low_confidence),
                closed,
            )
        # Used only after a retraction, to join the words. A reply to a lost transcript has no words to join.
        earlier = (attempt.text,) if attempt.text else turn.earlier
        self.reply = ActiveReply(
            attempt.reply,
            earlier,
            attempt.low_confidence,
            progress_at=at,
            attempts=turn.attempts,
            requested=turn.reply_owed,
            surest=turn.surest,
            again=bool(turn.earlier) and not attempt.new_text,
            forced=turn.forced,
            resume_guard=turn.resume_guard,
            held=turn.resume_guard.holds,
        )
        commit = CommitTurn(
            attempt.reply,
            attempt.text,
            attempt.new_text,
            turn.speech_end,
            attempt.low_confidence,
            submitted=turn.submitted,
        )
        return (commit, *((HoldPlayback(attempt.reply),) if turn.resume_guard.holds else ()), closed)

    def give_up(self, turn: UserTurn, at: Samples, why: AbandonReason) -> Effects:
        """Ends a turn that cannot complete. A reply that is owed is still given, to the earlier words."""
        return self._answer_earlier(turn, at, why) if turn.reply_owed else self.abandon(turn, at, why)

    def _answer_earlier(self, turn: UserTurn, at: Samples, why: AbandonReason) -> Effects:
        """Replies to the words before the retraction, since no more words were understood."""
        dropped = turn.drop_attempts(why)
        self.turn = None
        turn.attempts += 1
        answer, text = ReplyId(turn.number, turn.attempts), " ".join(turn.earlier)
        self.reply = ActiveReply(
            answer, turn.earlier, turn.earlier_rough, progress_at=at, attempts=turn.attempts, requested=True, again=True
        )
        commit = CommitTurn(answer, text, "", None, turn.earlier_rough, origin="requested", submitted=turn.submitted)
        return (*dropped, DiscardSegment(turn.segment, turn.number), PrepareReply(answer, text), commit)

    def abandon(self, turn: UserTurn, at: Samples, why: AbandonReason) -> Effects:
        """Ends the turn without a reply. A reply that it had falsely interrupted will resume."""
        self.turn = None
        self.used(turn.speech_end)
        if turn.cut is not None and turn.answered and why in {"no words", "noise", "overheard", "backchannel"}:
            self.resume_pending = turn.cut, Samples(turn.speech_end + samples_of_ms(GOES_ON_AFTER_MS))
        return turn.nothing(at, why)

    # ---- overlaps ----

    def take(self, reply: ActiveReply, challenge: Overlap, at: Samples, settings: TurnSettings) -> Effects:
        """Ends the reply in favor of the overlapping speech.

        If no complete word of the reply was heard, the reply is retracted and the turn continues. Otherwise the reply
        is interrupted and a new turn starts.
        """
        self.reply = None
        self.announce_again(reply)
        if challenge.turn is not None:
            return (InterruptReply(reply.reply), *self.hand_over(challenge, settings))
        held_up = self._held_up()
        if reply.words_heard == 0:
            effect: Effect = RetractReply(reply.reply)
            self.turn = turn = UserTurn(reply.reply.turn, challenge.segment, challenge.onset, at)
            turn.earlier, turn.earlier_rough = reply.earlier, reply.rough
            turn.reply_owed = bool(reply.earlier) or reply.requested
            turn.attempts, turn.surest = reply.attempts, reply.surest
            turn.cut = reply.reply if reply.resumed else held_up
        else:
            effect = InterruptReply(reply.reply, continues_turn=challenge.early and not reply.forced)
            self.turn = turn = UserTurn(self.next_turn(), challenge.segment, challenge.onset, at)
            turn.cut, turn.early = reply.reply, challenge.early
        turn.surest = max(turn.surest, challenge.surest)
        turn.reply_owed, self.answer_behind = turn.reply_owed or self.answer_behind, False
        turn.answered = settings.answers or turn.reply_owed
        started = TurnStarted(turn.number, challenge.onset)
        # An interrupting turn starts before its reply ends. A continued turn starts after the retraction.
        return (effect, started) if isinstance(effect, RetractReply) else (started, effect)

    def hand_over(self, challenge: Overlap, settings: TurnSettings) -> Effects:
        """Turns the overlap into a user turn after the reply has ended."""
        self.reply = None
        owed, self.answer_behind = self.answer_behind, False
        number, aside = challenge.turn, challenge.side_talk
        if aside is not None:
            self.turn, aside.speech_end, aside.cut = aside, challenge.speech_end, self._held_up()
            aside.surest = challenge.surest
            if not challenge.kept:
                return ()
            aside.reply_owed, aside.answered = owed, owed or settings.answers
            ready = aside.attempt is not None and aside.attempt.ready and aside.answered
            return (prepared(aside.attempt),) if ready and aside.attempt is not None else ()
        turn = self._open(
            number or self.next_turn(), challenge.segment, challenge.onset, challenge.speech_end, settings
        )
        turn.surest = challenge.surest
        turn.reply_owed, turn.answered = owed, owed or turn.answered
        return (TurnStarted(self._turns_so_far, challenge.onset),) if number is None else ()

    def keep(self, challenge: Overlap) -> Effects:
        """Keeps the overlap as a turn after the reply."""
        challenge.kept, challenge.turn = True, self.next_turn()
        return (TurnStarted(challenge.turn, challenge.onset),)

    def ask_aside(self, challenge: Overlap, at: Samples, settings: TurnSettings) -> Effects:
        """Requests the transcript of the overlap, to decide whether it is addressed to the assistant."""
        aside = challenge.side_talk
        started: Effects = ()
        if aside is None:
            number = challenge.turn
            if number is None:
                number = challenge.turn = self.next_turn()
                started = (TurnStarted(number, challenge.onset),)
            aside = challenge.side_talk = UserTurn(number, challenge.segment, challenge.onset, challenge.speech_end)
            # Speech that may not interrupt is only recorded: no reply to it is prepared during this reply.
            aside.answered = settings.answers and not challenge.kept
        return (*started, aside.begin_attempt(at, challenge.speech_end, settings))

    def taken_beside(
        self, reply: ActiveReply, challenge: Overlap, told: FinalTranscript | TranscriptFailed, settings: TurnSettings
    ) -> Effects:
        """Records a turn whose transcript arrived during the reply. It is answered after the reply.

        A lost transcript is handled by the turn that begins then.
        """
        aside = challenge.side_talk
        if aside is None:
            return ()
        aside.surest = challenge.surest
        effects = aside.told(told, doubted=settings.answers)
        attempt = aside.attempt
        if effects is None or attempt is None or attempt.transcript_lost:
            return effects or ()
        if not attempt.text:
            return (
                *effects,
                *self.forgive(reply, challenge.speech_end, told.at, attempt.ignored_because or "no words"),
            )
        self.used(challenge.speech_end)
        self.answer_behind = self.answer_behind or settings.answers
        words = RecordTurn(aside.number, attempt.text, attempt.new_text, challenge.speech_end, attempt.low_confidence)
        return (*effects, *reply.dismissed(), words, CloseSegment(aside.segment, aside.number))

    def answered_aside(
        self, reply: ActiveReply, told: FinalTranscript | TranscriptFailed, settings: TurnSettings
    ) -> Effects:
        """Takes the transcript of side talk: speech addressed to the assistant interrupts, other speech does not."""
        if reply.overlap is not None and reply.overlap.kept:
            return self.taken_beside(reply, reply.overlap, told, settings)
        aside = None if reply.overlap is None else reply.overlap.side_talk
        effects = None if aside is None else aside.told(told)
        if aside is None or aside.attempt is None or reply.overlap is None or effects is None:
            return ()
        if not aside.attempt.text and aside.attempt.ignored_because != "called":
            return self.forgive(reply, reply.overlap.speech_end, told.at, aside.attempt.ignored_because or "no words")
        reply.overlap.surest = 1.0  # addressed by name
        return (*self.take(reply, reply.overlap, told.at, settings), *effects)

    def not_understood(self, reply: ActiveReply, challenge: Overlap, at: Samples, *, echo: bool) -> Effects:
        """Dismisses an overlap whose transcript does not interrupt.

        Unless it was an echo or a backchannel, it may be the prefix of the next speech.
        """
        if not echo and not challenge.backchannel:
            self.prefix = PossiblePrefix(challenge.segment, challenge.speech_end)
        return self.forgive(reply, challenge.speech_end, at)

    def forgive(self, reply: ActiveReply, until: Samples, at: Samples, why: AbandonReason = "cleared") -> Effects:
        """Dismisses the overlap without an interruption. Speech before `until` counts as processed."""
        challenge = reply.overlap
        self.used(until)
        if challenge is None:
            return ()
        if challenge.side_talk is not None:
            return (*reply.dismissed(), *challenge.side_talk.nothing(at, why))
        discarded = (*reply.dismissed(), DiscardSegment(challenge.segment, reply.reply.turn))
        nothing = () if challenge.turn is None else (TurnDiscarded(challenge.turn, at, challenge.speech_end, why),)
        return (*discarded, *nothing)

    def cut(self, reply: ActiveReply, at: Samples, why: Literal["requested", "client"]) -> Effects:
        """Ends the reply and drops the overlap, unless it is kept as a turn; see `set_aside`."""
        self.reply = None
        if why == "requested":
            self.announce_again(reply)
        challenge = reply.overlap
        forgiven: Effects = ()
        if challenge is not None and not challenge.kept:
            challenge.ducked = False  # no effect needed, since the reply is over
            forgiven = self.forgive(reply, self.used_until, at, "requested" if why == "requested" else "cleared")
        return (*forgiven, InterruptReply(reply.reply, why))

    def set_aside(self, turn: UserTurn, at: Samples) -> tuple[Overlap, Effects]:
        """Turns the open turn into an overlap of the reply that was requested during it.

        The turn itself ends. Its speech is still transcribed and becomes another turn after the reply.
        """
        self.turn = None
        dropped = turn.drop_attempts("requested")
        kept = Overlap(turn.segment, turn.onset, turn.speech_end, surest=turn.surest, kept=True)
        return kept, (*dropped, TurnDiscarded(turn.number, at, turn.speech_end, "requested"))

    def announce_again(self, reply: ActiveReply) -> None:
        """Queues the announcement of the reply again if no complete word of it was heard."""
        if reply.announcement is not None and not reply.words_heard:
            self.announcements.appendleft(reply.announcement)

    def failed(self, reply: ActiveReply) -> None:
        """Queues an announcement again, up to the limit, after a reply ended without any sound."""
        made = reply.announcement
        if made is not None and not reply.audible and made.failures + 1 < MOST_FAILURES:
            reply.announcement = replace(made, failures=made.failures + 1)
            self.announce_again(reply)

    # ---- replies without user speech ----

    def asked(self, event: ReplyRequested) -> Effects:
        """Handles a request for a reply that no user speech caused; see `ReplyRequested`."""
        if event.origin == "announcement":
            self.announcements.append(Announcement(event.text))
            return ()  # starts with the next frame in which nobody speaks
        if event.origin == "greeting":
            return self.recite(event.at, event.origin, event.text) if self.phase is Phase.IDLE else ()
        turn, reply = self.turn, self.reply
        self.resume_pending = None
        if event.behind and reply is not None and reply.overlap is None:
            self.reply = None
            return self.request(event.at, audible=True)
        if turn is not None and turn.endpoint is not None and event.origin == "requested":
            return () if self.queued.asked() else self.answer_after_all(turn, event.at)
        if turn is not None and (turn.endpoint is not None or turn.reply_owed) and event.origin == "repeated":
            return ()
        unheard = None if reply is None or reply.words_heard else reply.announcement
        effects = self.cut(reply, event.at, "requested") if reply is not None else ()
        kept = reply.overlap if reply is not None and reply.overlap is not None and reply.overlap.kept else None
        if turn is not None:
            kept, set_aside = self.set_aside(turn, event.at)
            effects += set_aside
        self.used(event.at)
        if event.origin == "requested":
            effects += self.request(event.at)
        else:
            if unheard is not None:
                self.announcements.remove(unheard)  # the repetition says it
            effects += self.recite(event.at, event.origin, event.text, announcement=unheard)
        if self.reply is not None:
            self.reply.overlap = kept
        return effects

    def resume(self, at: Samples) -> Effects:
        """Requests the rest of a falsely interrupted reply, once it is due."""
        if self.resume_pending is None or at < self.resume_pending[1]:
            return ()
        (cut, _), self.resume_pending = self.resume_pending, None
        return (ResumeReply(cut),)

    def recite(
        self,
        at: Samples,
        origin: Literal["greeting", "announcement", "repeated", "resumed"],
        text: str,
        *,
        announcement: Announcement | None = None,
    ) -> Effects:
        """Starts a reply that says this text literally."""
        answer = self._unspoken(at, announcement=announcement)
        if self.reply is not None:
            self.reply.resumed = origin == "resumed"
        return (PrepareReply(answer, text, is_literal=True), CommitTurn(answer, "", "", None, origin=origin))

    def answer_now(self, at: Samples) -> Effects:
        """Answers a turn that was recorded during the reply, which has ended."""
        return self.request(at) if self.answer_behind else ()

    def request(self, at: Samples, *, audible: bool = False) -> Effects:
        """Starts a reply to the history as it is.

        Args:
            at: The current position.
            audible: The previous reply is still playing, so the user hears the new one as its continuation.
        """
        self.answer_behind = False
        answer = self._unspoken(at, requested=True)
        if self.reply is not None and audible:
            self.reply.audible_at = at
        return (PrepareReply(answer, ""), CommitTurn(answer, "", "", None, origin="requested"))

    def _unspoken(self, at: Samples, *, announcement: Announcement | None = None, requested: bool = False) -> ReplyId:
        answer = ReplyId(self.next_turn(), 1)
        self.reply = ActiveReply(
            answer, (), rough=False, progress_at=at, announcement=announcement, requested=requested
        )
        return answer
