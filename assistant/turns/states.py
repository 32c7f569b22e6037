"""Whose the floor is, and every way in which it goes from one to the other. Pure.

When it does is decided in `assistant.turns.machine`. A turn and a reply are never there at once.

    nobody ──begin_turn──▶ a turn ──commit──▶ a reply ──finished──▶ nobody
                             ▲ │                │ ▲
             take, hand_over │ └── abandon      │ │ recite, request: of nobody's words
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
"""Waiting for somebody to stop speaking; then the oldest are forgotten."""


GOES_ON_AFTER_MS = 1000.0
"""Silence behind a voice without words before the reply that it cut goes on: who hums in the midst of a thought may
have more to say."""


class Phase(Enum):
    """Who is being waited for."""

    IDLE = auto()
    USER_SPEAKING = auto()
    AWAITING_TRANSCRIPT = auto()
    REPLYING = auto()


@dataclass(slots=True)
class TurnState:
    """Of one conversation.

    Attributes:
        approach: What may become a turn.
        turn: The one that is open.
        behind: What is said behind a turn whose words are still to come.
        reply: The one that is under way.
        used_until: Voice that began before this was answered already.
        cut_at: So, but what goes on behind it is another turn: a client said so, or one with words was too long there.
        beginning: Of what is said next, perhaps: used as well, but not answered.
        announcements: Waiting until nobody speaks.
        goes_on: The reply whose rest is to be said, and when, if nobody speaks: what cut it was nothing.
        answer_behind: A turn was taken down while a reply played, and is to be answered when that is over.
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
        """Who is being waited for."""
        if self.reply is not None:
            return Phase.REPLYING
        if self.turn is None:
            return Phase.IDLE
        return Phase.USER_SPEAKING if self.turn.endpoint is None else Phase.AWAITING_TRANSCRIPT

    def used(self, until: Samples) -> None:
        """Voice that began before this is answered, or was nothing."""
        self.used_until = max(self.used_until, until)

    def cut_here(self, at: Samples, settings: TurnSettings) -> None:
        """What was said up to here is one thing, and what goes on another, if the client may say so."""
        self.used(at)
        if settings.by_client:
            self.cut_at = self.used_until

    def segment_at(self, onset: Samples, settings: TurnSettings) -> SegmentId:
        """What is to be listened to, of speech that began there."""
        segment = SegmentId(max(self.used_until, onset - samples_of_ms(settings.pre_roll_ms), 0))
        before = self.prefix
        if before is None or self.used_until > before.until or not before.leads_to(onset):
            return segment
        return SegmentId(min(segment, before.segment + 1))  # a sample later: an id is used once

    def next_turn(self) -> int:
        """The number of a turn that begins."""
        self._turns_so_far += 1
        return self._turns_so_far

    # ---- a turn ----

    def onset(self, at: Samples, voicing: VadResult, settings: TurnSettings) -> Samples | None:
        """Where speech began that belongs to no turn yet; None where nobody speaks."""
        if not voicing.speaking or voicing.boundary >= self.used_until:
            return voicing.boundary if voicing.speaking else None
        cut = self._goes_on_behind_cut(settings) and voicing.possible_end is None
        return self.used_until if cut and at - self.used_until >= samples_of_ms(STILL_SPEAKS_MS) else None

    def _goes_on_behind_cut(self, settings: TurnSettings) -> bool:
        """Where speech was cut in two, what goes on behind the cut is the next turn."""
        return (settings.manual or self.cut_at == self.used_until) and not settings.held

    def waited(self, settings: TurnSettings) -> QueuedTurn | None:
        """What was said while the words of the turn before were still to come, and is a turn now."""
        return self.queued.next(rest_too=self._goes_on_behind_cut(settings), any_voice=settings.manual)

    def approached(self, at: Samples, onset: Samples, voicing: VadResult, settings: TurnSettings) -> Effects:
        """Somebody begins to speak, or something sounds like it: where a silence ends turns, a voice begins them."""
        discarded = self.heard_nothing()
        self.candidate = (self.candidate or SpeechCandidate(onset, at)).voice(at, onset, voicing)
        begins = self.candidate.is_somebody or settings.manual or settings.held
        return (*discarded, *(self.begin_turn(settings) if begins else ()))

    def receded(self, voice: SpeechCandidate, at: Samples, settings: TurnSettings) -> Effects:
        """A frame of silence behind what may become a turn."""
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
        """What may become a turn had no words, as far as is known."""
        if self.candidate is None or self.candidate.segment is None:
            return ()
        segment = self.candidate.segment
        self.candidate = replace(self.candidate, segment=None)
        return (DiscardSegment(segment, self._turns_so_far),)

    def begin_turn(self, settings: TurnSettings, *, vouched: bool = False) -> Effects:
        """Whoever may be speaking is; `vouched`: their words are known, and no detector need be sure."""
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
        """Somebody speaks, or has spoken up to `speech_end`, as far as is known."""
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
        """The reply that was to go on does so only behind the turn that begins, and if that is nothing."""
        cut, self.resume_pending = None if self.resume_pending is None else self.resume_pending[0], None
        return cut

    def configured(self, settings: TurnSettings) -> Effects:
        """Whether a turn that is not over is answered, as the client may have said otherwise since it began."""
        turn = self.turn
        answered = settings.answers and not settings.manual
        if turn is None or turn.endpoint is not None or turn.reply_owed or turn.answered == answered:
            return ()
        turn.answered = answered
        return turn.drop_attempts("went on")

    def answer_after_all(self, turn: UserTurn, at: Samples) -> Effects:
        """An answer is asked for while the turn's words are still to come: they are what it answers."""
        if turn.answered:
            return ()
        turn.answered = turn.reply_owed = True
        turn.vouched_for()
        attempt = turn.attempt
        if attempt is None or not attempt.ready:
            return ()
        return (prepared(attempt), *self.commit_if_ready(turn, at))

    def request_dropped(self, turn: UserTurn, at: Samples, settings: TurnSettings) -> Effects:
        """An answer to words that are still to come is not wanted after all: they are what they were without it."""
        turn.reply_owed, turn.answered = False, settings.answers and not settings.manual
        if turn.answered or turn.attempt is None or not turn.attempt.ready:
            return ()
        return (*turn.drop_attempts("cleared"), turn.begin_attempt(at, turn.speech_end, settings))

    def commit_if_ready(self, turn: UserTurn, at: Samples) -> Effects:
        """The turn is over: answer it, or take it down, if its words are known."""
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
        # Joined to what follows only if it is retracted; an apology has no words worth joining.
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
        """No more is to come of it: what is owed is answered."""
        return self._answer_earlier(turn, at, why) if turn.reply_owed else self.abandon(turn, at, why)

    def _answer_earlier(self, turn: UserTurn, at: Samples, why: AbandonReason) -> Effects:
        """Who seemed to go on did not, or is not understood: what they had said before is answered."""
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
        """The turn ends without an answer."""
        self.turn = None
        self.used(turn.speech_end)
        if turn.cut is not None and turn.answered and why in {"no words", "noise", "overheard", "backchannel"}:
            self.resume_pending = turn.cut, Samples(turn.speech_end + samples_of_ms(GOES_ON_AFTER_MS))
        return turn.nothing(at, why)

    # ---- a voice into a reply ----

    def take(self, reply: ActiveReply, challenge: Overlap, at: Samples, settings: TurnSettings) -> Effects:
        """Who speaks into the reply has the floor: their turn goes on if nothing was heard of it, else a new one."""
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
        # Who interrupts is told of before the reply that ends of it; a turn that goes on, behind what was taken back.
        return (effect, started) if isinstance(effect, RetractReply) else (started, effect)

    def hand_over(self, challenge: Overlap, settings: TurnSettings) -> Effects:
        """The reply is over; whoever spoke into it has the floor."""
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
        """What is said into the reply does not interrupt it, and is a turn behind it."""
        challenge.kept, challenge.turn = True, self.next_turn()
        return (TurnStarted(challenge.turn, challenge.onset),)

    def ask_aside(self, challenge: Overlap, at: Samples, settings: TurnSettings) -> Effects:
        """Whoever spoke into the reply is silent: was it addressed?"""
        aside = challenge.side_talk
        started: Effects = ()
        if aside is None:
            number = challenge.turn
            if number is None:
                number = challenge.turn = self.next_turn()
                started = (TurnStarted(number, challenge.onset),)
            aside = challenge.side_talk = UserTurn(number, challenge.segment, challenge.onset, challenge.speech_end)
            # What may not interrupt is only taken down: no answer to it is begun beside this reply.
            aside.answered = settings.answers and not challenge.kept
        return (*started, aside.begin_attempt(at, challenge.speech_end, settings))

    def taken_beside(
        self, reply: ActiveReply, challenge: Overlap, told: FinalTranscript | TranscriptFailed, settings: TurnSettings
    ) -> Effects:
        """Their words have come while the reply goes on: they are told now, and answered when it is over.

        Words that are lost are left to the turn that begins then.
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
        """Their words have come: who was addressed has the floor."""
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
        """Its words were asked for, and are none that interrupt. An echo begins nothing, nor does a plain "mhm"."""
        if not echo and not challenge.backchannel:
            self.prefix = PossiblePrefix(challenge.segment, challenge.speech_end)
        return self.forgive(reply, challenge.speech_end, at)

    def forgive(self, reply: ActiveReply, until: Samples, at: Samples, why: AbandonReason = "cleared") -> Effects:
        """The voice into the reply was nothing, or is to be."""
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
        """The reply ends here, and whoever speaks into it is not listened to; but for what is kept, see `set_aside`."""
        self.reply = None
        if why == "requested":
            self.announce_again(reply)
        challenge = reply.overlap
        forgiven: Effects = ()
        if challenge is not None and not challenge.kept:
            challenge.ducked = False  # the reply is over
            forgiven = self.forgive(reply, self.used_until, at, "requested" if why == "requested" else "cleared")
        return (*forgiven, InterruptReply(reply.reply, why))

    def set_aside(self, turn: UserTurn, at: Samples) -> tuple[Overlap, Effects]:
        """Another reply is asked for in the midst of a turn: what was said is listened to beside it, and answered then.

        The turn as such is over: it is another one that will be behind the reply.
        """
        self.turn = None
        dropped = turn.drop_attempts("requested")
        kept = Overlap(turn.segment, turn.onset, turn.speech_end, surest=turn.surest, kept=True)
        return kept, (*dropped, TurnDiscarded(turn.number, at, turn.speech_end, "requested"))

    def announce_again(self, reply: ActiveReply) -> None:
        """An announcement of which no word was heard is made again."""
        if reply.announcement is not None and not reply.words_heard:
            self.announcements.appendleft(reply.announcement)

    def failed(self, reply: ActiveReply) -> None:
        """It ended by itself, or got stuck: an announcement that was not heard is made once more."""
        made = reply.announcement
        if made is not None and not reply.audible and made.failures + 1 < MOST_FAILURES:
            reply.announcement = replace(made, failures=made.failures + 1)
            self.announce_again(reply)

    # ---- replies that nobody spoke for ----

    def asked(self, event: ReplyRequested) -> Effects:
        """A reply without anybody having spoken."""
        if event.origin == "announcement":
            self.announcements.append(Announcement(event.text))
            return ()  # with the next frame that finds nobody speaking
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
                self.announcements.remove(unheard)  # it is what is said again
            effects += self.recite(event.at, event.origin, event.text, announcement=unheard)
        if self.reply is not None:
            self.reply.overlap = kept
        return effects

    def resume(self, at: Samples) -> Effects:
        """Nobody speaks: the reply that was cut goes on, if it is to."""
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
        """Words of the assistant's own: nobody said anything that they answer."""
        answer = self._unspoken(at, announcement=announcement)
        if self.reply is not None:
            self.reply.resumed = origin == "resumed"
        return (PrepareReply(answer, text, is_literal=True), CommitTurn(answer, "", "", None, origin=origin))

    def answer_now(self, at: Samples) -> Effects:
        """The reply is over: what was taken down beside it is answered."""
        return self.request(at) if self.answer_behind else ()

    def request(self, at: Samples, *, audible: bool = False) -> Effects:
        """Answer the history as it stands; `audible`: the reply before it is still heard."""
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
