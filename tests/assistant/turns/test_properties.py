"""Property tests: invariants of turn taking under any order of events."""

from dataclasses import dataclass, field, replace
from itertools import cycle
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.turns.random_conversations import ENDS_TURN, Performance, Recording, Script
from support.turns.simulated_session import EffectChecks, Ignored, SimulatedSession

from assistant.end_of_turn.estimator import BALANCED, EndOfTurnEstimate
from assistant.pipeline.transcript_requests import TranscriptRequests
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
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
    ReportedEvent,
    TranscriptFailed,
    VoiceJudged,
)
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import (
    EndsTurn,
    FocusThresholds,
    InterruptedBy,
    OverlapThresholds,
    RecheckThresholds,
    TurnSettings,
)
from assistant.turns.state.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.stt import SegmentId, Transcript
from audio.units import Samples
from audio.vad import VadResult

CLIENT_ACTS = ["request", "repeat", "commit", "key", "clear", "cancel", "cancel all"]
VERDICTS = ["own", "other", "unsure"]
COMMITTED_FRAMES = 100
"""Frames from the last speech to the commit of a client that ends all turns."""

SCRIPTED_FRAMES = 801
"""Number of frames in which the script may act."""

SILENT_FRAMES = 4000
"""80 s after everything that is scripted: longer than every deadline."""

Spans = list[tuple[int, int]]
"""First frames and lengths."""


def frames_in(spans: Spans) -> set[int]:
    return {first + place for first, length in spans for place in range(length)}


@dataclass(frozen=True)
class Drawn:
    """The parts of a random conversation. By default a client ends all turns, none is answered, and none has words.

    Attributes:
        stretches: Frames of speech and of silence, in turns.
        sure: The speech probabilities of the stretches.
        acts: What the client does, or which words arrive, in a frame.
        mutes: Spans in which the microphone is muted.
        stirs: Spans of silence with a possible onset.
        murmurs: Whether all speech is at the background level.
        sound_decides: Whether a client has chosen a fixed silence.
        focus: Thresholds of a focus on some voices; None: verdicts on voices change nothing.
    """

    stretches: Spans
    acts: list[tuple[int, str]] = field(default_factory=list)
    stt_delays_ms: list[float | None] = field(default_factory=lambda: [80.0])
    reply_lengths_ms: list[float | None] = field(default_factory=lambda: [None])
    texts: list[str] = field(default_factory=lambda: [""])
    ignored: list[Ignored] = field(default_factory=lambda: [""])
    ends: str = "manual"
    hangover_ms: float = 100
    speculate_after_ms: float | None = None
    settle_ms: float = 0.0
    interrupt_after_ms: float = 300.0
    words_after_ms: float = 0.0
    max_turn_s: float = 1.0
    answers: bool = False
    interrupted_by: InterruptedBy = InterruptedBy.NOTHING
    hold: int = 0
    keys: Spans = field(default_factory=list)
    mutes: Spans = field(default_factory=list)
    stirs: Spans = field(default_factory=list)
    sure: list[float] = field(default_factory=lambda: [1.0])
    murmurs: bool = False
    sound_decides: bool = False
    focus: FocusThresholds | None = None

    def performance(self) -> Performance:
        """Returns the conversation, to be performed."""
        muted, speech = frames_in(self.mutes), list[float]()
        for (voiced, silent), probability in zip(self.stretches, cycle(self.sure), strict=False):
            speech += [probability] * voiced + [0.0] * silent
        acts: dict[int, list[str]] = {}
        for frame, act in self.acts:
            acts.setdefault(frame, []).append(act)
        if self.ends == "manual":
            acts.setdefault(len(speech) + COMMITTED_FRAMES, []).append("commit")  # otherwise the turn stays open
        length = max(len(speech) + COMMITTED_FRAMES, SCRIPTED_FRAMES)
        speech = [0.0 if frame in muted else probability for frame, probability in enumerate(speech)]
        marks = ["quiet" if self.murmurs and probability else "" for probability in speech]
        silence = length - len(speech)
        keys = {first for first, _ in self.keys}, {first + length for first, length in self.keys}
        script = Script(
            self.ends,
            {0: self.settings()},
            speech + [0.0] * silence,
            marks + [""] * silence,
            self.hold,
            frames_in(self.stirs),
            keys,
            acts,
        )
        session = SimulatedSession(
            TranscriptRequests(TurnTaking(script.settings[0])),
            self.stt_delays_ms,
            self.reply_lengths_ms,
            self.texts,
            self.ignored,
            PushToTalk() if self.ends == "held" else None,
        )
        return Performance(Random(0), script, session, Recording(session.turns), SILENT_FRAMES)

    def settings(self) -> TurnSettings:
        return TurnSettings(
            self.hangover_ms,
            self.speculate_after_ms,
            self.interrupt_after_ms,
            max_turn_s=self.max_turn_s,
            ends_turn=ENDS_TURN[self.ends],
            interrupted_by=self.interrupted_by,
            answers=self.answers,
            has_client=self.ends in {"client", "manual"},
            silence_is_final=self.sound_decides and self.ends == "client",
            sound_decides=self.sound_decides and self.ends == "client",
            focus=self.focus,
            rechecks=RecheckThresholds(settle_ms=self.settle_ms),
            overlap=OverlapThresholds(words_after_ms=self.words_after_ms, first_word_until_ms=2 * self.words_after_ms),
        )


def spans(most: int, longest: int) -> st.SearchStrategy[Spans]:
    return st.lists(st.tuples(st.integers(0, 600), st.integers(1, longest)), max_size=most)


conversations = st.builds(
    Drawn,
    stretches=st.lists(st.tuples(st.integers(1, 150), st.integers(1, 150)), max_size=12),
    acts=st.lists(
        st.tuples(
            st.integers(0, 600),
            st.sampled_from([*CLIENT_ACTS, "announce", "mhm", "interim", "called", "draft", "scored", *VERDICTS]),
        ),
        max_size=10,
    ),
    stt_delays_ms=st.lists(
        st.none() | st.sampled_from([0.0, 5.0, 80.0, 700.0, 4000.0, 60_000.0]), min_size=1, max_size=4
    ),
    reply_lengths_ms=st.lists(st.none() | st.integers(0, 4000).map(float), min_size=1, max_size=4),
    texts=st.lists(st.sampled_from(["", "yes", "what time is it"]), min_size=1, max_size=4),
    ignored=st.lists(st.sampled_from(["", "", "overheard", "called"]), min_size=1, max_size=4),
    ends=st.sampled_from(list(ENDS_TURN)),
    hangover_ms=st.integers(100, 1500),
    speculate_after_ms=st.none() | st.integers(60, 1500),
    settle_ms=st.sampled_from([0.0, 60.0, 200.0]),
    interrupt_after_ms=st.sampled_from([40.0, 300.0]),
    words_after_ms=st.sampled_from([0.0, 200.0]),
    max_turn_s=st.sampled_from([1.0, 30.0]),
    answers=st.booleans(),
    interrupted_by=st.sampled_from(InterruptedBy),
    hold=st.integers(0, 5),
    keys=spans(4, 200),
    mutes=spans(2, 200),
    stirs=spans(6, 20),
    sure=st.lists(st.sampled_from([1.0, 0.6]), min_size=1, max_size=4),
    murmurs=st.booleans(),
    sound_decides=st.booleans(),
    focus=st.sampled_from([None, FocusThresholds(), FocusThresholds(waits_for_words=True)]),
)


@settings(max_examples=examples(60))
@example(  # committed in the frame in which the previous turn is given up
    Drawn([*[(1, 1)] * 3, (94, 150), (150, 150)], [(150, "commit")], [60_000.0])
)
@example(  # committed twice; the transcript arrives in a speech frame while a turn is queued
    Drawn([(1, 1)] * 3, [(0, "commit")] * 2)
)
@given(conversations)
def test_invariants_hold_for_any_session(drawn: Drawn) -> None:
    """No reply without commit, no second reply, no late transcript used, no turn lost, never stuck."""
    performance = drawn.performance()
    performance.perform()
    session = performance.session
    assert session.turns.phase is Phase.IDLE, "stuck"
    assert session.open_segment is None, "a segment was left open"
    assert not session.live, "an attempt was left open"
    assert not session.ducked, "left ducked"
    assert session.held is None, "left held"
    turns = {reply_id.turn for reply_id in session.ended} | set(session.outcome)
    turns |= {*session.queued_turns, *session.ended_turns}
    assert turns == set(session.outcome), "a turn was lost"


positions = st.integers(0, 10**6).map(Samples)
replies = st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4))
segments = st.integers(0, 3).map(lambda number: SegmentId(number * 1000))
transcripts = st.builds(
    Transcript,
    segments,
    positions,
    st.sampled_from(["", "a", "mhm", "stop it"]),
    st.booleans(),
    is_draft=st.booleans(),
)
origins = st.sampled_from(["greeting", "announcement", "requested", "repeated", "resumed"])
results = st.builds(
    VadResult,
    st.booleans(),
    positions,
    st.floats(0, 1),
    st.none() | positions,
    possible_onset=st.booleans(),
    above_noise=st.booleans(),
    background_level=st.booleans(),
)
estimates = st.builds(EndOfTurnEstimate, st.floats(0, 1), st.floats(0, 900), st.floats(1, 900), st.just("sound"))
reasons = st.sampled_from(["", "", "overheard", "called", "backchannel"])

events = st.one_of(
    st.builds(FrameProcessed, positions, results),
    st.builds(FinalTranscript, positions, replies, transcripts, reasons),
    st.builds(TranscriptFailed, positions, replies, segments),
    st.builds(
        InterimTranscript,
        positions,
        transcripts,
        st.booleans(),
        was_requested=st.booleans(),
        is_echo=st.booleans(),
        ignorable=st.sampled_from([None, None, 0.01, 0.9]),
    ),
    st.builds(DraftTranscript, positions, transcripts, st.floats(0, 1)),
    st.builds(EndOfTurnScored, positions, segments, estimates),
    st.builds(PlaybackProgress, positions, replies, st.integers(0, 5), st.booleans()),
    st.builds(ReplyEnded, positions, replies),
    st.builds(ReplyRequested, positions, origins, st.just("x"), st.just(False), st.booleans()),
    st.builds(InputCommitted, positions),
    st.builds(KeyPressed, positions),
    st.builds(InputCleared, positions),
    st.builds(FellAsleep, positions),
    st.builds(ReplyCancelled, positions, st.booleans()),
    st.builds(VoiceJudged, positions, positions, positions, st.sampled_from(VERDICTS)),
)

any_settings = st.builds(
    TurnSettings,
    hangover_ms=st.sampled_from([60.0, 400.0]),
    speculate_after_ms=st.sampled_from([None, 40.0]),
    rechecks=st.builds(RecheckThresholds, settle_ms=st.sampled_from([0.0, 160.0])),
    overlap=st.builds(
        OverlapThresholds,
        words_after_ms=st.sampled_from([0.0, 200.0]),
        first_word_until_ms=st.sampled_from([0.0, 400.0]),
    ),
    interrupt_after_ms=st.sampled_from([40.0, 300.0]),
    max_turn_s=st.sampled_from([1.0, 30.0]),
    stuck_after_s=st.sampled_from([2.0, 10.0]),
    profile=st.sampled_from([None, BALANCED]),
    ends_turn=st.sampled_from(EndsTurn),
    interrupted_by=st.sampled_from(InterruptedBy),
    answers=st.booleans(),
    has_client=st.booleans(),
    silence_is_final=st.booleans(),
    focus=st.sampled_from([None, FocusThresholds(), FocusThresholds(waits_for_words=True)]),
).map(lambda settings: replace(settings, sound_decides=settings.silence_is_final))


@given(st.lists(st.tuples(events, st.none() | any_settings), max_size=60), any_settings)
def test_no_order_of_events_raises(
    steps: list[tuple[ReportedEvent, TurnSettings | None]], config: TurnSettings
) -> None:
    """Events for replies and segments that exist or do not, with changes of settings. The effects stay consistent."""
    checks = EffectChecks(TranscriptRequests(TurnTaking(config)))
    for event, changed in steps:
        checks.turns.settings = checks.turns.settings if changed is None else changed
        checks.handle(event)


@given(st.lists(st.tuples(events, st.none() | any_settings), max_size=60), any_settings)
def test_verdicts_change_nothing_without_focus(
    steps: list[tuple[ReportedEvent, TurnSettings | None]], config: TurnSettings
) -> None:
    """A conversation with verdicts on voices has the effects of the same one without them."""
    with_verdicts, without = (TurnTaking(replace(config, focus=None)) for _ in range(2))
    for event, changed in steps:
        if changed is not None:
            with_verdicts.settings = without.settings = replace(changed, focus=None)
        effects = with_verdicts.handle(event)
        if not isinstance(event, VoiceJudged):
            assert effects == without.handle(event)
