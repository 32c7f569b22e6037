"""Property tests: invariants of turn taking under any order of events."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any, Literal

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from turn_scene import words

from assistant.turns.backchannel import plain_words
from assistant.turns.events import (
    CloseSegment,
    CommitTurn,
    DiscardSegment,
    DropAttempt,
    DuckReply,
    Effect,
    EndOfTurn,
    Event,
    FinalTranscript,
    FrameProcessed,
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
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    RequestTranscript,
    RetractReply,
    Transcribe,
    TranscriptFailed,
    TurnDiscarded,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import TurnSettings
from assistant.turns.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.frame import Frame
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult

LOUD = np.full(FRAME_SAMPLES, 5000, np.int16)


@dataclass
class SimulatedSession:
    """Performs the effects as a session does, with delays, failures and losses. Checks each effect."""

    turns: TurnTaking
    stt_delays_ms: list[float | None]  # None: fails
    reply_lengths_ms: list[float | None]  # None: no sound and no end
    texts: list[str]
    voids: list[Literal["", "overheard", "called"]] = field(default_factory=lambda: [""])
    key: PushToTalk | None = None  # with a key, frames pass only while it is down
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

    def schedule(self, ms: float, event: Callable[[], Event | None]) -> None:
        heapq.heappush(self.due, (self.now + samples_of_ms(ms), next(self.order), event))

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

    def advance_to(self, position: int) -> None:
        while self.due and self.due[0][0] <= position:
            when, _, event = heapq.heappop(self.due)
            self.now = Samples(max(self.now, when))
            told = event()
            if told is not None:
                self.handle(told)
        self.now = Samples(position)

    def handle(self, event: Event) -> None:
        for effect in self.turns.handle(event):
            self.perform(effect)

    def perform(self, effect: Effect) -> None:  # noqa: C901
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

    def end(self, turn: int, how: str) -> None:
        assert turn not in self.outcome, "a turn ended twice"
        self.outcome[turn] = [how]

    def ask(self, asked: Transcribe) -> None:
        delay_ms = self.stt_delays_ms[self._turn_of(asked.reply) % len(self.stt_delays_ms)]
        void = self.voids[self._turn_of(asked.reply) % len(self.voids)]
        text = "" if void else self.texts[self._turn_of(asked.reply) % len(self.texts)]
        if delay_ms is None:
            self.schedule(50, lambda: TranscriptFailed(self.now, asked.reply, asked.segment))
        else:
            draft = asked.draft and bool(text) and delay_ms % 3 == 0

            def come() -> Event:
                if not draft:
                    self.confirmed.add((asked.reply.turn, plain_words(text)))
                return FinalTranscript(
                    self.now, asked.reply, Transcript(asked.segment, self.now, text, is_draft=draft), void
                )

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


def request(at: Samples) -> Event:
    return ReplyRequested(at, "requested")


def repeat(at: Samples) -> Event:
    return ReplyRequested(at, "repeated", "It is ten o'clock.")


def cancel_all(at: Samples) -> Event:
    return ReplyCancelled(at, including_request=True)


CLIENT: list[Callable[[Samples], Event]] = [
    request,
    repeat,
    InputCommitted,
    KeyPressed,
    InputCleared,
    ReplyCancelled,
    cancel_all,
]


def frames_of(stretches: list[tuple[int, int]], sure: list[float]) -> list[float]:
    """Returns the speech probability of each frame. Speech stretches take their values from `sure` in turn."""
    course = zip(stretches, cycle(sure), strict=False)
    return [frame for (voiced, silent), voice in course for frame in [voice] * voiced + [0.0] * silent]


stretches = st.lists(st.tuples(st.integers(1, 150), st.integers(1, 150)), max_size=12)


hangovers = st.integers(100, 1500)


COMMITTED: dict[str, Any] = {
    "hangover_ms": 100,
    "speculate_ms": None,
    "reply_lengths_ms": [None],
    "texts": [""],
    "rings": [],
    "max_turn_s": 1.0,
    "ends": "manual",
    "answers": False,
    "interruptible": False,
    "by_name": False,
    "hold": 0,
    "settle_ms": 0.0,
    "voids": [""],
    "partials": [],
    "keys": [],
    "mutes": [],
    "stirs": [],
    "sure": [1.0],
    "interrupt_after_ms": 300.0,
    "murmurs": False,
}
"""Parameters: the client ends turns, no turn is answered, and no transcript has words."""


@settings(max_examples=300)
@example(  # committed in the frame in which the previous turn is given up
    **{
        **COMMITTED,
        "stretches": [*[(1, 1)] * 3, (94, 150), (150, 150)],
        "client": [(150, InputCommitted)],
        "stt_delays_ms": [60_000.0],
    }
)
@example(  # committed twice; the transcript arrives in a speech frame while a turn is queued
    **{**COMMITTED, "stretches": [(1, 1)] * 3, "client": [(0, InputCommitted)] * 2, "stt_delays_ms": [80.0]}
)
@given(
    stretches=stretches,
    hangover_ms=hangovers,
    speculate_ms=st.none() | st.integers(60, 1500),
    stt_delays_ms=st.lists(
        st.none() | st.sampled_from([0.0, 5.0, 80.0, 700.0, 4000.0, 60_000.0]), min_size=1, max_size=4
    ),
    reply_lengths_ms=st.lists(st.none() | st.integers(0, 4000), min_size=1, max_size=4),
    texts=st.lists(st.sampled_from(["", "yes", "what time is it"]), min_size=1, max_size=4),
    client=st.lists(st.tuples(st.integers(0, 600), st.sampled_from(CLIENT)), max_size=6),
    rings=st.lists(st.integers(0, 600), max_size=2),
    max_turn_s=st.sampled_from([1.0, 30.0]),
    ends=st.sampled_from(["silence", "client", "manual", "held"]),
    answers=st.booleans(),
    interruptible=st.booleans(),
    by_name=st.booleans(),
    hold=st.integers(0, 5),
    settle_ms=st.sampled_from([0.0, 60.0, 200.0]),
    voids=st.lists(st.sampled_from(["", "", "overheard", "called"]), min_size=1, max_size=4),
    partials=st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["mhm", "stop it"]), st.booleans()), max_size=4),
    keys=st.lists(st.tuples(st.integers(0, 600), st.integers(1, 200)), max_size=4),
    mutes=st.lists(st.tuples(st.integers(0, 600), st.integers(1, 200)), max_size=2),
    stirs=st.lists(st.tuples(st.integers(0, 600), st.integers(1, 20)), max_size=6),
    sure=st.lists(st.sampled_from([1.0, 0.6]), min_size=1, max_size=4),
    interrupt_after_ms=st.sampled_from([40.0, 300.0]),
    murmurs=st.booleans(),
)
def test_invariants_hold_for_any_session(
    stretches: list[tuple[int, int]],
    hangover_ms: int,
    speculate_ms: int | None,
    stt_delays_ms: list[float | None],
    reply_lengths_ms: list[float | None],
    texts: list[str],
    client: list[tuple[int, Callable[[Samples], Event]]],
    rings: list[int],
    max_turn_s: float,
    ends: str,
    answers: bool,
    interruptible: bool,
    by_name: bool,
    hold: int,
    settle_ms: float,
    voids: list[Literal["", "overheard", "called"]],
    partials: list[tuple[int, str, bool]],
    keys: list[tuple[int, int]],
    mutes: list[tuple[int, int]],
    stirs: list[tuple[int, int]],
    sure: list[float],
    interrupt_after_ms: float,
    murmurs: bool,
) -> None:
    """No reply without commit, no second reply, no late transcript used, no turn lost, never stuck."""
    config = TurnSettings(
        hangover_ms,
        speculate_ms,
        settle_ms,
        interrupt_after_ms,
        max_turn_s=max_turn_s,
        manual=ends == "manual",
        held=ends == "held",
        answers=answers,
        interruptible=interruptible,
        by_client=ends in {"client", "manual"},
        by_name=by_name,
    )
    lengths_ms = [length and float(length) for length in reply_lengths_ms]
    session = SimulatedSession(
        TurnTaking(config), stt_delays_ms, lengths_ms, texts, voids, PushToTalk() if ends == "held" else None
    )
    pressed, released = {first for first, _ in keys}, {first + length for first, length in keys}
    frames = frames_of(stretches, sure) + [0.0] * 4000  # 80 s: longer than every deadline
    edge, began, voiced_before = Samples(0), Samples(0), False
    held = hold  # silent frames after which the VAD reports the offset
    for number, spoken in enumerate(frames):
        muted = any(first <= number < first + length for first, length in mutes)
        voiced = session.is_speech(Samples(number * FRAME_SAMPLES), voiced=spoken > 0 and not muted)
        if voiced != voiced_before:
            edge, voiced_before = Samples(number * FRAME_SAMPLES), voiced
            began = edge if voiced and held >= hold else began
        held = 0 if voiced else held + 1
        end = Samples((number + 1) * FRAME_SAMPLES)
        session.advance_to(end)
        if voiced or held > hold:
            stirring = not voiced and any(first <= number < first + length for first, length in stirs)
            since, murmur = began if voiced else edge, voiced and murmurs
            session.handle(
                FrameProcessed(
                    end, VadResult(voiced, since, voiced * spoken, possible_onset=stirring, background_level=murmur)
                )
            )
        else:
            session.handle(FrameProcessed(end, VadResult(True, began, 0.0, possible_end=edge)))
        session.process_key()
        for when, told in client:
            if number == when:
                session.handle(told(end))
        for when, text, called in partials:
            if number == when and session.open_segment is not None:
                session.handle(InterimTranscript(end, words(text, session.open_segment), called))
        if session.key is not None and number in released:
            session.key.release(end)
        if number in pressed:
            session.press()
        if ends == "manual" and number == len(frames) - 3900:
            session.handle(InputCommitted(end))  # otherwise the turn stays open
        if number in rings:
            session.handle(ReplyRequested(end, "announcement", "a timer rings"))
    assert session.turns.phase is Phase.IDLE, "stuck"
    assert session.open_segment is None, "a segment was left open"
    assert not session.live, "an attempt was left open"
    assert not session.ducked, "left ducked"
    assert session.held is None, "left held"
    turns = {reply.turn for reply in session.ended} | set(session.outcome)
    assert turns == set(session.outcome), "a turn was lost"


events = st.one_of(
    st.builds(
        FrameProcessed,
        st.integers(0, 10**6),
        st.builds(
            VadResult, st.booleans(), st.integers(0, 10**6), st.floats(0, 1), st.none(), st.booleans(), st.booleans()
        ),
    ),
    st.builds(
        FinalTranscript,
        st.integers(0, 10**6),
        st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4)),
        st.just(words("a")),
    ),
    st.builds(
        FinalTranscript,
        st.integers(0, 10**6),
        st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4)),
        st.just(words("")),
        st.sampled_from(["overheard", "called"]),
    ),
    st.builds(ReplyEnded, st.integers(0, 10**6), st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4))),
    st.builds(
        PlaybackProgress,
        st.integers(0, 10**6),
        st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4)),
        st.integers(0, 5),
        st.booleans(),
    ),
    st.builds(
        TranscriptFailed,
        st.integers(0, 10**6),
        st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4)),
        st.just(SegmentId(0)),
    ),
    st.builds(InterimTranscript, st.integers(0, 10**6), st.just(words("mhm")), st.booleans()),
    st.builds(
        ReplyRequested,
        st.integers(0, 10**6),
        st.sampled_from(["greeting", "announcement", "requested", "repeated", "resumed"]),
        st.just("x"),
    ),
    st.builds(InputCommitted, st.integers(0, 10**6)),
    st.builds(KeyPressed, st.integers(0, 10**6)),
    st.builds(InputCleared, st.integers(0, 10**6)),
    st.builds(ReplyCancelled, st.integers(0, 10**6), st.booleans()),
)


@given(
    st.lists(events, max_size=60),
    st.builds(TurnSettings, manual=st.booleans(), held=st.booleans(), answers=st.booleans()),
)
def test_no_order_of_events_raises(told: list[Event], config: TurnSettings) -> None:
    turns = TurnTaking(config)
    for event in told:
        turns.handle(event)
