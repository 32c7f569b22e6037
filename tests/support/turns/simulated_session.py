"""Simulates the session around turn taking and the recognizer's adapter, and checks each of their effects.

The property tests and the golden conversations share it. Transcripts arrive late, fail or are drafts; replies are
played, stay silent or never end. Everything is determined by the lists that are passed in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, SessionEffects
from assistant.replay.event_replay import PlaybackReports
from assistant.replay.world import World
from assistant.turns.effects import (
    CloseSegment,
    CommitTurn,
    CommitWithoutReply,
    DropAttempt,
    DuckReply,
    EndOfTurn,
    EndSegment,
    HoldPlayback,
    InterruptReply,
    OpenSegment,
    PrepareReply,
    ReleasePlayback,
    RequestTranscript,
    ResumeReply,
    RetractReply,
    TurnDiscarded,
    TurnEnded,
    TurnQueued,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import (
    FinalTranscript,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    KeyPressed,
    PlaybackProgress,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    ReportedEvent,
    TranscriptFailed,
)
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.state.states import Phase
from assistant.turns.words.backchannel import plain_words
from audio.frame import Frame
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms

LOUD = np.full(FRAME_SAMPLES, 5000, np.int16)

Ignored = Literal["", "overheard", "called", "backchannel"]


@dataclass
class EffectChecks(World):
    """Checks that the effects of turn taking are consistent with each other and with the events.

    Attributes:
        live: The attempts that have not ended: asked, prepared or committed.
        ended: The attempts that have ended.
        open_segment: The segment that is transcribed now.
        onset: The onset of its speech.
        segment_turn: The turn that it belongs to, as far as reported; else 0.
        outcome: How each turn ended.
        heard_words: How many words of each reply were heard.
        audible_at: When each reply became audible.
        ducked: Whether the reply is ducked.
        held: The reply whose sound is held.
        confirmed: Turn and plain words of all transcripts other than drafts.
        requested: The transcripts that were requested and neither arrived nor were dropped.
        queued_turns: The turns whose start was reported before their segment opened.
        ended_turns: The turns whose end was reported, in order.
    """

    live: dict[ReplyId, str] = field(default_factory=dict, kw_only=True)
    ended: set[ReplyId] = field(default_factory=set, kw_only=True)
    open_segment: SegmentId | None = field(default=None, kw_only=True)
    onset: Samples = field(default=Samples(0), kw_only=True)
    segment_turn: int = field(default=0, kw_only=True)
    outcome: dict[int, str] = field(default_factory=dict, kw_only=True)
    heard_words: dict[ReplyId, int] = field(default_factory=dict, kw_only=True)
    audible_at: dict[ReplyId, Samples] = field(default_factory=dict, kw_only=True)
    ducked: bool = field(default=False, kw_only=True)
    held: ReplyId | None = field(default=None, kw_only=True)
    confirmed: set[tuple[int, str]] = field(default_factory=set, kw_only=True)
    requested: set[ReplyId] = field(default_factory=set, kw_only=True)
    queued_turns: list[int] = field(default_factory=list, kw_only=True)
    ended_turns: list[int] = field(default_factory=list, kw_only=True)

    def handle(self, event: ReportedEvent) -> SessionEffects:
        """Passes an event to the adapter, and performs and checks the effects."""
        self.note(event)
        effects = super().handle(event)
        self.check_state()
        return effects

    def note(self, event: ReportedEvent) -> None:
        """Notes what an event says, before the machine handles it."""
        if isinstance(event, FinalTranscript | TranscriptFailed):
            self.requested.discard(event.reply_id)
        match event:
            case FinalTranscript(reply_id=reply_id, transcript=transcript) if not transcript.is_draft:
                self.confirmed.add((reply_id.turn, plain_words(transcript.text)))
            case PlaybackProgress(reply_id=reply_id) if self.live.get(reply_id) == "committed":
                self.heard_words[reply_id] = max(event.words_heard, self.heard_words.get(reply_id, 0))
                if event.audible:
                    self.audible_at.setdefault(reply_id, event.position)
            case ReplyEnded(reply_id=reply_id) if self.live.get(reply_id) == "committed":
                self.end_reply(reply_id, "answered")
                self.held = None
            case InputCommitted(after_current_reply=True) | ReplyRequested(after_current_reply=True):
                # The current reply is sent completely and played to its end.
                if self.turns.replying is not None:
                    self.end_reply(self.turns.replying, "answered")
                    self.ducked, self.held = False, None
            case _:
                pass

    def check_state(self) -> None:
        """Checks that the state of the machine agrees with its effects."""
        phase = self.turns.phase
        committed = [reply_id for reply_id, how in self.live.items() if how == "committed"]
        assert committed == ([] if self.turns.replying is None else [self.turns.replying])
        assert (phase is Phase.REPLYING) == bool(committed)
        assert phase is Phase.REPLYING or not self.turns.has_overlap, "an overlap without a reply"
        if phase in {Phase.USER_SPEAKING, Phase.AWAITING_TRANSCRIPT} or self.turns.has_overlap:
            assert self.open_segment is not None, "speech without a segment"
        else:
            assert not self.requested, "the transcript of no speech is awaited"
        if phase is Phase.AWAITING_TRANSCRIPT:
            assert self.requested, "a finished turn waits for a transcript that nobody requested"
        if phase is not Phase.REPLYING:
            assert not self.ducked
            assert self.held is None
        pending = self.turns.pending_turn_has_reply_request or self.turns.pending_turn_lacks_reply_request
        assert phase is Phase.AWAITING_TRANSCRIPT or not pending

    def perform(self, effect: SessionEffect) -> None:  # noqa: C901 - one case for each kind of effect
        """Performs an effect, after checking that it fits those before."""
        match effect:
            case OpenSegment():
                assert self.open_segment is None, "two open segments"
                assert effect.segment <= effect.onset
                self.open_segment, self.onset, self.segment_turn = effect.segment, effect.onset, 0
            case EndSegment():
                assert self.open_segment == effect.segment
                assert effect.segment <= effect.end
                assert self.segment_turn not in self.ended_turns, "ended the segment of a turn twice"
            case CloseSegment():
                assert self.open_segment == effect.segment, "closed a segment that was not open"
                self.open_segment = None
            case RequestTranscript():
                assert self.open_segment == effect.segment
            case TurnStarted():
                self.segment_turn = effect.turn
                assert self.open_segment is not None
                assert effect.turn not in self.outcome, "started a turn that is over"
            case TurnQueued():
                assert effect.turn not in self.outcome, "started a turn that is over"
                assert effect.turn > max(self.queued_turns, default=0), "turns were reported out of order"
                self.queued_turns.append(effect.turn)
            case TurnEnded():
                assert effect.turn not in self.outcome, "ended a turn that is over"
                assert effect.turn > max(self.ended_turns, default=0), "a turn's end was reported late or twice"
                self.ended_turns.append(effect.turn)
            case RecognizerRequest():
                assert effect.reply_id not in self.live
                assert effect.reply_id not in self.ended, "used an id twice"
                assert self.open_segment == effect.segment
                asked = [reply_id for reply_id in self.live if self.live[reply_id] != "committed"]
                assert len(asked) <= 1, "more than an attempt and its recheck"
                self.live[effect.reply_id] = "asked"
                self.requested.add(effect.reply_id)
            case PrepareReply():
                assert effect.reply_id not in self.ended, "used an id twice"
                assert self.live.setdefault(effect.reply_id, "asked") == "asked"
                self.live[effect.reply_id] = "prepared"
            case EndOfTurn():
                assert effect.turn not in self.outcome, "ended a turn that is over"
            case CommitTurn():
                assert self.live[effect.reply_id] == "prepared", "committed a reply that was not prepared"
                assert "committed" not in self.live.values(), "committed two replies"
                said = effect.reply_id.turn, plain_words(effect.new_text)
                assert not effect.new_text or said in self.confirmed, "committed a draft"
                self.live[effect.reply_id] = "committed"
            case DropAttempt():
                assert self.live.pop(effect.reply_id) in {"asked", "prepared"}
                self.ended.add(effect.reply_id)
                self.requested.discard(effect.reply_id)
            case RetractReply():
                assert self.live.pop(effect.reply_id) == "committed"
                words_heard = self.heard_words.get(effect.reply_id, 0)
                assert words_heard == 0 or self.is_early(effect.reply_id), "retracted a reply that was heard for long"
                self.ended.add(effect.reply_id)
                self.ducked, self.held = False, None
            case InterruptReply():
                assert self.live[effect.reply_id] == "committed"
                self.end_reply(effect.reply_id, "interrupted")
                self.ducked, self.held = False, None
            case HoldPlayback():
                assert self.live[effect.reply_id] == "committed"
                assert self.held is None
                audible = effect.reply_id in self.audible_at
                assert not audible or self.is_early(effect.reply_id), "held a reply that was heard for long"
                self.held = effect.reply_id
            case ReleasePlayback():
                assert self.held == effect.reply_id
                self.held = None
            case DuckReply():
                assert self.live[effect.reply_id] == "committed"
                assert not self.ducked
                self.ducked = True
            case UnduckReply():
                assert self.ducked
                self.ducked = False
            case TurnDiscarded():
                self.end_turn(effect.turn, "nothing")
            case CommitWithoutReply():
                for reply_id in [reply_id for reply_id in self.live if reply_id.turn == effect.turn]:
                    assert self.live.pop(reply_id) == "asked", "prepared a reply for an unanswered turn"
                    self.ended.add(reply_id)
                self.end_turn(effect.turn, "taken down")
            case ResumeReply():
                assert effect.reply_id in self.ended

    def is_early(self, reply_id: ReplyId) -> bool:
        """Returns whether the last speech, or now where there is none, is within a second of the reply's onset."""
        early = samples_of_ms(self.turns.settings.overlap.early_ms)
        since = self.onset if self.open_segment is not None else self.now
        return since - self.audible_at[reply_id] < early

    def end_reply(self, reply_id: ReplyId, how: str) -> None:
        del self.live[reply_id]
        self.ended.add(reply_id)
        self.end_turn(reply_id.turn, how)

    def end_turn(self, turn: int, how: str) -> None:
        assert turn not in self.outcome, "a turn ended twice"
        self.outcome[turn] = how


@dataclass
class SimulatedSession(EffectChecks):
    """Performs the effects as a session does, with delays, failures and losses.

    Attributes:
        stt_delays_ms: Delays of transcripts; None: recognition fails.
        reply_lengths_ms: Lengths of replies; None: no sound and no end.
        texts: Texts of transcripts.
        ignored: Why transcripts are not answered.
        key: The push-to-talk key; frames pass only while it is down. None without push-to-talk.
        low_confidence: Whether transcripts have low confidence.
        observe: Called with each event and its effects, after they are performed.
    """

    stt_delays_ms: list[float | None]
    reply_lengths_ms: list[float | None]
    texts: list[str]
    ignored: list[Ignored] = field(default_factory=lambda: [""])
    key: PushToTalk | None = None
    low_confidence: list[bool] = field(default_factory=lambda: [False])
    observe: Callable[[ReportedEvent, SessionEffects], None] = lambda _event, _effects: None
    _requests_answered: int = 0

    # ---- time and the key ----

    def advance_to(self, position: int) -> None:
        """Passes on the events that are due up to this position. Of late playback reports, some never arrive."""
        for event in self.take_due(position + 1):
            self.now = max(self.now, event.position)
            match event:
                case PlaybackProgress(reply_id=reply_id) if (
                    self.live.get(reply_id) != "committed" and not event.words_heard % 2
                ):
                    pass
                case _:
                    self.handle(replace(event, position=self.now))
        self.now = Samples(position)

    def is_speech(self, start: Samples, *, voiced: bool) -> bool:
        """Returns whether a frame counts as speech, after the push-to-talk key."""
        return voiced and (self.key is None or self.key.mute_or_pass(Frame(start, LOUD)).pcm is LOUD)

    def press(self) -> None:
        if self.key is not None and self.key.press(self.now):
            self.handle(KeyPressed(self.now))

    def process_key(self) -> None:
        """Performs what is due for the key after a frame."""
        if self.key is None:
            return
        match self.key.take_action(self.now, self.onset if self.turns.phase is Phase.USER_SPEAKING else None):
            case "submit":
                self.handle(InputCommitted(self.now))
            case "clear":
                self.handle(InputCleared(self.now))

    # ---- events and effects ----

    def handle(self, event: ReportedEvent) -> SessionEffects:
        effects = super().handle(event)
        self.observe(event, effects)
        return effects

    def perform(self, effect: SessionEffect) -> None:
        super().perform(effect)
        match effect:
            case RecognizerRequest():
                self._transcribe(effect)
            case RequestTranscript():
                self._answer_request(effect)
            case CommitTurn():
                self._play(effect.reply_id)
            case ResumeReply():
                self.schedule(ReplyRequested(self.now, "resumed", "the rest"))
            case _:
                pass

    def _transcribe(self, effect: RecognizerRequest) -> None:
        place = _place_of(effect.reply_id)
        delay_ms = self.stt_delays_ms[place % len(self.stt_delays_ms)]
        if delay_ms is None:
            self.schedule(TranscriptFailed(self.after(50), effect.reply_id, effect.segment))
            return
        ignored = self.ignored[place % len(self.ignored)]
        text = "" if ignored in {"overheard", "called"} else self.texts[place % len(self.texts)]
        low_confidence = self.low_confidence[place % len(self.low_confidence)]
        draft = effect.draft and bool(text) and delay_ms % 3 == 0

        words = Transcript(effect.segment, self.now, text, low_confidence, is_draft=draft)
        self.schedule(FinalTranscript(self.after(delay_ms), effect.reply_id, words, ignored))

    def _answer_request(self, effect: RequestTranscript) -> None:
        """Answers each request differently: sometimes with low confidence, sometimes with the wake phrase."""
        segment = effect.segment
        self._requests_answered += 1
        which = self._requests_answered + segment
        delay_ms = self.stt_delays_ms[which % len(self.stt_delays_ms)]
        text = "" if delay_ms is None else self.texts[which % len(self.texts)]
        words, called = Transcript(segment, self.now, text, which % 3 == 0), bool(text) and which % 5 == 0
        answer = InterimTranscript(self.after(delay_ms or 50), words, called, was_requested=True)
        if effect.first_word:
            words = replace(words, text="", low_confidence=False)
            answer = replace(answer, transcript=words, has_wake_phrase=False, ignorable=(which % 3) / 2)
        self.schedule(answer)

    def _play(self, reply_id: ReplyId) -> None:
        length_ms = self.reply_lengths_ms[_place_of(reply_id) % len(self.reply_lengths_ms)]
        if length_ms is not None:
            reports = tuple((samples_of_ms(ms), ms // 300, True) for ms in range(0, int(length_ms), 100))
            self.schedule_playback(reply_id, PlaybackReports(reports, samples_of_ms(length_ms)), self.after(30))

    def after(self, ms: float) -> Samples:
        return Samples(self.now + samples_of_ms(ms))


def _place_of(reply_id: ReplyId) -> int:
    """Returns a number by which the reply picks its delay, text and length."""
    return reply_id.turn * 7 + reply_id.attempt
