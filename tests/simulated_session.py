"""Simulates the session around the turn-taking machine: it performs the effects and checks each of them.

The property tests and the golden conversations share it. Transcripts arrive late, fail or are drafts; replies are
played, stay silent or never end. Everything is determined by the lists that are passed in.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

import numpy as np

from assistant.turns.backchannel import plain_words
from assistant.turns.events import (
    CloseSegment,
    CommitTurn,
    DiscardSegment,
    DropAttempt,
    DuckReply,
    Effect,
    Effects,
    EndOfTurn,
    Event,
    FinalTranscript,
    HoldPlayback,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    InterruptReply,
    KeyPressed,
    OpenSegment,
    PlaybackProgress,
    PrepareReply,
    RecordTurn,
    ReleasePlayback,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    RequestTranscript,
    ResumeReply,
    RetractReply,
    Transcribe,
    TranscriptFailed,
    TurnDiscarded,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.states import Phase
from audio.frame import Frame
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms

LOUD = np.full(FRAME_SAMPLES, 5000, np.int16)

Ignored = Literal["", "overheard", "called", "backchannel"]


@dataclass
class SimulatedSession:
    """Performs the effects as a session does, with delays, failures and losses. Checks each effect.

    Attributes:
        turns: The machine.
        stt_delays_ms: Delays of transcripts; None: recognition fails.
        reply_lengths_ms: Lengths of replies; None: no sound and no end.
        texts: Texts of transcripts.
        voids: Why transcripts are not answered.
        key: The push-to-talk key; frames pass only while it is down. None without push-to-talk.
        low_confidence: Whether transcripts have low confidence.
        observe: Called with each event and its effects, after they are performed.
    """

    turns: TurnTaking
    stt_delays_ms: list[float | None]
    reply_lengths_ms: list[float | None]
    texts: list[str]
    voids: list[Ignored] = field(default_factory=lambda: [""])
    key: PushToTalk | None = None
    low_confidence: list[bool] = field(default_factory=lambda: [False])
    observe: Callable[[Event, Effects], None] = lambda _event, _effects: None
    onset: Samples = Samples(0)
    now: Samples = Samples(0)
    due: list[tuple[int, int, Callable[[], Event | None]]] = field(default_factory=list)
    order: "count[int]" = field(default_factory=count)
    live: dict[ReplyId, str] = field(default_factory=dict)  # attempt -> asked | prepared | committed
    ended: set[ReplyId] = field(default_factory=set)
    open_segment: SegmentId | None = None
    asked_segment: dict[ReplyId, SegmentId] = field(default_factory=dict)
    outcome: dict[int, list[str]] = field(default_factory=dict)
    heard_words: dict[ReplyId, int] = field(default_factory=dict)
    ducked: bool = False
    held: ReplyId | None = None
    heard: set[ReplyId] = field(default_factory=set)
    requests_answered: int = 0
    confirmed: set[tuple[int, str]] = field(
        default_factory=set
    )  # turn and plain words of transcripts other than drafts

    # ---- time and the key ----

    def schedule(self, ms: float, event: Callable[[], Event | None]) -> None:
        heapq.heappush(self.due, (self.now + samples_of_ms(ms), next(self.order), event))

    def is_speech(self, start: Samples, *, voiced: bool) -> bool:
        """Returns whether a frame counts as speech, after the push-to-talk key."""
        return voiced and (self.key is None or self.key.mute_or_pass(Frame(start, LOUD)).pcm is LOUD)

    def press(self) -> None:
        if self.key is not None and self.key.press(self.now):
            self.tell(KeyPressed(self.now))

    def process_key(self) -> None:
        """Performs what is due for the key after a frame."""
        if self.key is None:
            return
        match self.key.take_action(self.now, self.onset if self.turns.phase is Phase.USER_SPEAKING else None):
            case "submit":
                self.tell(InputCommitted(self.now))
            case "clear":
                self.tell(InputCleared(self.now))

    def advance_to(self, position: int) -> None:
        while self.due and self.due[0][0] <= position:
            when, _, event = heapq.heappop(self.due)
            self.now = Samples(max(self.now, when))
            told = event()
            if told is not None:
                self.tell(told)
        self.now = Samples(position)

    # ---- events and effects ----

    def tell(self, event: Event) -> None:
        if isinstance(event, InputCommitted | ReplyRequested) and event.after_current_reply:
            self.let_reply_play_out()
        effects = self.turns.handle(event)
        for effect in effects:
            self.perform(effect)
        self.observe(event, effects)

    def let_reply_play_out(self) -> None:
        """Notes that the current reply is sent completely and played to its end, as a session does."""
        reply = self.turns.replying
        if reply is not None:
            del self.live[reply]
            self.ended.add(reply)
            self.held, self.ducked = None, False
            self.end(reply.turn, "answered")

    def perform(self, effect: Effect) -> None:  # noqa: C901 - one case for each kind of effect
        match effect:
            case OpenSegment():
                assert self.open_segment is None, "two open segments"
                assert effect.segment <= effect.onset
                self.open_segment, self.onset = effect.segment, effect.onset
            case CloseSegment() | DiscardSegment():
                assert self.open_segment == effect.segment, "closed a segment that was not open"
                self.open_segment = None
            case RequestTranscript():
                assert self.open_segment == effect.segment
                self.answer_request(effect.segment)
            case TurnStarted():
                assert self.open_segment is not None
                assert effect.turn not in self.outcome, "started a turn that is over"
            case Transcribe():
                assert effect.reply not in self.live
                assert effect.reply not in self.ended
                assert self.open_segment == effect.segment
                asked = [reply for reply in self.live if self.live[reply] != "committed"]
                assert len(asked) <= 1, "more than an attempt and its recheck"
                self.live[effect.reply] = "asked"
                self.asked_segment[effect.reply] = effect.segment
                self.ask(effect)
            case PrepareReply():
                assert self.live.setdefault(effect.reply, "asked") == "asked"
                self.live[effect.reply] = "prepared"
            case EndOfTurn():
                pass
            case CommitTurn():
                assert self.live[effect.reply] == "prepared", "committed a reply that was not prepared"
                assert "committed" not in self.live.values(), "committed two replies"
                said = effect.reply.turn, plain_words(effect.new_text)
                assert not effect.new_text or said in self.confirmed, "committed a draft"
                self.live[effect.reply] = "committed"
                self.play(effect.reply)
            case DropAttempt():
                assert self.live.pop(effect.reply) in {"asked", "prepared"}
                self.ended.add(effect.reply)
            case RetractReply():
                assert self.live.pop(effect.reply) == "committed"
                assert self.heard_words.get(effect.reply, 0) == 0, "retracted a reply of which words were heard"
                self.ended.add(effect.reply)
                self.ducked, self.held = False, None
            case InterruptReply():
                assert self.live.pop(effect.reply) == "committed"
                self.ended.add(effect.reply)
                self.end(effect.reply.turn, "interrupted")
                self.ducked, self.held = False, None
            case HoldPlayback():
                assert self.live[effect.reply] == "committed"
                assert self.held is None
                assert effect.reply not in self.heard, "held a reply that is audible"
                self.held = effect.reply
            case ReleasePlayback():
                assert self.held == effect.reply
                self.held = None
            case DuckReply():
                assert self.live[effect.reply] == "committed"
                assert not self.ducked
                self.ducked = True
            case UnduckReply():
                assert self.ducked
                self.ducked = False
            case TurnDiscarded():
                self.end(effect.turn, "nothing")
            case RecordTurn():
                for reply in [reply for reply in self.live if reply.turn == effect.turn]:
                    assert self.live.pop(reply) == "asked", "prepared a reply for a recorded turn"
                    self.ended.add(reply)
                self.end(effect.turn, "taken down")
            case ResumeReply():
                assert effect.reply in self.ended
                self.schedule(0, lambda: ReplyRequested(self.now, "resumed", "the rest"))

    def end(self, turn: int, how: str) -> None:
        assert turn not in self.outcome, "a turn ended twice"
        self.outcome[turn] = [how]

    # ---- the recognizer ----

    def ask(self, asked: Transcribe) -> None:
        turn = self._turn_of(asked.reply)
        delay_ms = self.stt_delays_ms[turn % len(self.stt_delays_ms)]
        void = self.voids[turn % len(self.voids)]
        text = "" if void in {"overheard", "called"} else self.texts[turn % len(self.texts)]
        low_confidence = self.low_confidence[turn % len(self.low_confidence)]
        if delay_ms is None:
            self.schedule(50, lambda: TranscriptFailed(self.now, asked.reply, asked.segment))
        else:
            draft = asked.draft and bool(text) and delay_ms % 3 == 0

            def come() -> Event:
                if not draft:
                    self.confirmed.add((asked.reply.turn, plain_words(text)))
                words = Transcript(asked.segment, self.now, text, low_confidence, is_draft=draft)
                return FinalTranscript(self.now, asked.reply, words, void)

            self.schedule(delay_ms, come)

    def answer_request(self, segment: SegmentId) -> None:
        """Answers each request differently: sometimes with low confidence, sometimes with the wake phrase."""
        self.requests_answered += 1
        which = self.requests_answered + segment
        delay_ms = self.stt_delays_ms[which % len(self.stt_delays_ms)]
        text = "" if delay_ms is None else self.texts[which % len(self.texts)]
        words, called = Transcript(segment, self.now, text, which % 3 == 0), bool(text) and which % 5 == 0
        self.schedule(
            delay_ms or 50, lambda: InterimTranscript(self.now, words, has_wake_phrase=called, was_requested=True)
        )

    # ---- the speaker ----

    def play(self, reply: ReplyId) -> None:
        length_ms = self.reply_lengths_ms[self._turn_of(reply) % len(self.reply_lengths_ms)]
        if length_ms is None:
            return
        for ms in range(0, int(length_ms), 100):
            self.schedule(30 + ms, lambda ms=ms: self._playing(reply, ms // 300))  # type: ignore[misc]
        self.schedule(30 + length_ms, lambda: self._ended(reply))

    def _playing(self, reply: ReplyId, heard: int) -> Event | None:
        if self.live.get(reply) != "committed":
            return (
                PlaybackProgress(self.now, reply, heard, audible=True) if heard % 2 else None
            )  # late reports do occur
        self.heard_words[reply] = heard
        self.heard.add(reply)
        return PlaybackProgress(self.now, reply, heard, audible=True)

    def _ended(self, reply: ReplyId) -> Event:
        if self.live.get(reply) == "committed":
            del self.live[reply]
            self.ended.add(reply)
            self.held = None
            self.end(reply.turn, "answered")
        return ReplyEnded(self.now, reply)

    def _turn_of(self, reply: ReplyId) -> int:
        return reply.turn * 7 + reply.attempt
