"""Property tests: invariants of turn taking under any order of events."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.turns.simulated_session import EffectChecks, Ignored, SimulatedSession
from support.turns.turn_scene import words

from assistant.end_of_turn.estimator import BALANCED, EndOfTurnEstimate
from assistant.pipeline.transcript_requests import TranscriptRequests
from assistant.turns.events import (
    DraftTranscript,
    EndOfTurnScored,
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
)
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, InterruptedBy, OverlapThresholds, RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples
from audio.vad import VadResult

ENDS_TURN = {
    "silence": EndsTurn.AUTO,
    "client": EndsTurn.AUTO,
    "manual": EndsTurn.CLIENT,
    "held": EndsTurn.PUSH_TO_TALK,
}
"""The party that ends turns, by the kind of conversation. With a client, turns may end by silence."""


def request(at: Samples) -> ReportedEvent:
    return ReplyRequested(at, "requested")


def repeat(at: Samples) -> ReportedEvent:
    return ReplyRequested(at, "repeated", "It is ten o'clock.")


def cancel_all(at: Samples) -> ReportedEvent:
    return ReplyCancelled(at, including_request=True)


CLIENT: list[Callable[[Samples], ReportedEvent]] = [
    request,
    repeat,
    InputCommitted,
    KeyPressed,
    InputCleared,
    ReplyCancelled,
    cancel_all,
]


def frames_of(stretches: list[tuple[int, int]], sure: list[float]) -> list[float]:
    """Returns the speech probability of each frame. Speech stretches take their values from `sure` in sequence."""
    course = zip(stretches, cycle(sure), strict=False)
    return [frame for (voiced, silent), voice in course for frame in [voice] * voiced + [0.0] * silent]


SILENT_FRAMES = 4000
"""80 s after everything that is scripted: longer than every deadline."""

SCRIPTED_FRAMES = 801
"""The client, the timers and the key do nothing at this frame or later."""

COMMITTED_FRAMES = 100
"""Frames from the last speech to the commit of a client that ends all turns."""

SETTLED_FRAMES = 150
"""3 s in which nothing is open: longer than every wait in silence."""


def simulated_frames(session: SimulatedSession, count: int, last_scripted: int) -> Iterator[int]:
    """Yields the numbers of the frames to simulate: all until the session is settled, then those with due events."""
    number, settled = -1, 0
    while (number := number + 1) < count:
        yield number
        settled = settled + 1 if number > last_scripted and session.is_settled else 0
        if settled == SETTLED_FRAMES:
            if not session.is_waiting:
                return
            number, settled = max(number, session.next_due // FRAME_SAMPLES - 1), 0


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
    "interrupted_by": InterruptedBy.NOTHING,
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
    "words_after_ms": 0.0,
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
    interrupted_by=st.sampled_from(InterruptedBy),
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
    words_after_ms=st.sampled_from([0.0, 200.0]),
)
def test_invariants_hold_for_any_session(
    stretches: list[tuple[int, int]],
    hangover_ms: int,
    speculate_ms: int | None,
    stt_delays_ms: list[float | None],
    reply_lengths_ms: list[float | None],
    texts: list[str],
    client: list[tuple[int, Callable[[Samples], ReportedEvent]]],
    rings: list[int],
    max_turn_s: float,
    ends: str,
    answers: bool,
    interrupted_by: InterruptedBy,
    hold: int,
    settle_ms: float,
    voids: list[Ignored],
    partials: list[tuple[int, str, bool]],
    keys: list[tuple[int, int]],
    mutes: list[tuple[int, int]],
    stirs: list[tuple[int, int]],
    sure: list[float],
    interrupt_after_ms: float,
    murmurs: bool,
    words_after_ms: float,
) -> None:
    """No reply without commit, no second reply, no late transcript used, no turn lost, never stuck."""
    config = TurnSettings(
        hangover_ms,
        speculate_ms,
        interrupt_after_ms,
        max_turn_s=max_turn_s,
        ends_turn=ENDS_TURN[ends],
        interrupted_by=interrupted_by,
        answers=answers,
        has_client=ends in {"client", "manual"},
        rechecks=RecheckThresholds(settle_ms=settle_ms),
        overlap=OverlapThresholds(words_after_ms=words_after_ms, first_word_until_ms=2 * words_after_ms),
    )
    lengths_ms = [length and float(length) for length in reply_lengths_ms]
    session = SimulatedSession(
        TranscriptRequests(TurnTaking(config)),
        stt_delays_ms,
        lengths_ms,
        texts,
        voids,
        PushToTalk() if ends == "held" else None,
    )
    pressed, released = {first for first, _ in keys}, {first + length for first, length in keys}
    scripted = frames_of(stretches, sure)
    frames = scripted + [0.0] * SILENT_FRAMES
    edge, began, voiced_before = Samples(0), Samples(0), False
    held = hold  # silent frames after which the VAD reports the offset
    for number in simulated_frames(session, len(frames), max(len(scripted) + COMMITTED_FRAMES, SCRIPTED_FRAMES)):
        spoken = frames[number]
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
                draft = replace(words(text, session.open_segment), until=end, is_draft=True)
                session.handle(DraftTranscript(end, draft, 1.0))
        if session.key is not None and number in released:
            session.key.release(end)
        if number in pressed:
            session.press()
        if ends == "manual" and number == len(scripted) + COMMITTED_FRAMES:
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
ignored = st.sampled_from(["", "", "overheard", "called", "backchannel"])

events = st.one_of(
    st.builds(FrameProcessed, positions, results),
    st.builds(FinalTranscript, positions, replies, transcripts, ignored),
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
    st.builds(ReplyRequested, positions, origins, st.just("x")),
    st.builds(InputCommitted, positions),
    st.builds(KeyPressed, positions),
    st.builds(InputCleared, positions),
    st.builds(ReplyCancelled, positions, st.booleans()),
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
)


@given(st.lists(st.tuples(events, st.none() | any_settings), max_size=60), any_settings)
def test_no_order_of_events_raises(
    steps: list[tuple[ReportedEvent, TurnSettings | None]], config: TurnSettings
) -> None:
    """Events for replies and segments that exist or do not, with changes of settings. The effects stay consistent."""
    checks = EffectChecks(TranscriptRequests(TurnTaking(config)))
    for event, changed in steps:
        checks.turns.settings = checks.turns.settings if changed is None else changed
        checks.handle(event)
