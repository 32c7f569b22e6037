"""Replays recorded conversations: the decisions and their samples are the same, whatever was said and requested."""

import asyncio
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from support.conversations.simulation import LoudnessVad, ScriptedRecognizer, ScriptedStream, Simulation, Utterance
from support.examples import examples

from assistant.end_of_turn.estimator import (
    BALANCED,
    EAGER,
    PATIENT,
    EndOfTurnEstimate,
    EndOfTurnProfile,
    fitted_turn_end,
)
from assistant.pipeline.transcript_requests import SessionEffect, SessionEffects, TranscriptRequests
from assistant.replay.event_replay import DECISIONS, Step, events_of, index_recording, replay_events
from assistant.replay.turns import conversation_of
from assistant.trace.record import TurnRecord
from assistant.turns.effects import CommitTurn, CommitWithoutReply, PrepareReply
from assistant.turns.events import EndOfTurnScored, FinalTranscript, ReportedEvent
from assistant.turns.log.event_entries import LoggedEvent, parse_entries
from assistant.turns.settings import InterruptedBy, RecheckThresholds, TurnSettings
from audio.frame import Frame
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Pcm, Samples, samples_of_ms
from audio.vad import VadResult

REPLY = "It is ten o'clock and all is well in town, and in the country, too."
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
"""Without the explain phase, which traces every line and takes five times as long."""

Decision = tuple[Samples, SessionEffect]


class UnsureVad(LoudnessVad):
    """Has realistic probabilities that fall before the offset."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def process(self, frame: Frame) -> VadResult:
        found = super().process(frame)
        loud = bool(frame.pcm[0])
        probability = self._random.uniform(0.5, 1.0) if loud else self._random.uniform(0.0, 0.5)
        fading = Samples(max(self._loud_until, self._edge)) if found.speaking and not loud else None
        return replace(found, probability=probability, possible_end=fading)


class TalkativeStream(ScriptedStream):
    """Reports interim transcripts while somebody speaks: first the listener's "mhm", then words of low confidence."""

    def feed(self, pcm: Pcm) -> None:
        ScriptedStream.feed(self, pcm)
        if self.fed_samples // 320 % 10 == 9:
            text = "Mhm." if self.fed_samples < samples_of_ms(700) else self.text()
            until = Samples(self.segment + self.fed_samples)
            self.on_interim(Transcript(self.segment, until, text, low_confidence=self.fed_samples < samples_of_ms(500)))


class TalkativeRecognizer(ScriptedRecognizer):
    """Its streams report interim transcripts."""

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> ScriptedStream:
        self.streams.append(TalkativeStream(segment, self, on_interim))
        return self.streams[-1]


class DelayedSmartTurn:
    """Answers after a delay."""

    async def probability(self, pcm: Pcm) -> float:
        await asyncio.sleep(0.05)  # between two requests
        return float(len(pcm) % 97) / 97


@contextmanager
def recorded_decisions() -> Iterator[list[Decision]]:
    """Records the decisions of turn taking and their samples."""
    found: list[Decision] = []
    handle_event = TranscriptRequests.handle

    def handle(self: TranscriptRequests, event: ReportedEvent) -> SessionEffects:
        effects = handle_event(self, event)
        found.extend((event.position, effect) for effect in effects)
        return effects

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TranscriptRequests, "handle", handle)
        yield found


def without_words(effect: SessionEffect) -> SessionEffect:
    """Replaces words, which a trace does not hold, by whether there were any."""
    if isinstance(effect, PrepareReply | CommitTurn | CommitWithoutReply):
        return replace(effect, text=str(bool(effect.text)), new_text=str(bool(effect.new_text)))
    return effect


def decisions_of(steps: Sequence[Step]) -> list[Decision]:
    found: list[Decision] = []
    for told, effects in steps:
        if not isinstance(told, TurnSettings):
            found += [(told.position, effect) for effect in effects]
    return found


def check_replay(records: Sequence[TurnRecord], overheard_then: list[Decision]) -> list[Step]:
    steps = replay_events(parse_entries([entry for record in records for entry in record.turn_events]))
    again = [(at, without_words(effect)) for at, effect in decisions_of(steps)]
    then = [(at, without_words(effect)) for at, effect in overheard_then]
    assert again == then[: len(again)]
    # What is not in the trace came after the end of the last turn.
    assert all(at >= max((at for at, _ in again), default=Samples(0)) for at, _ in then[len(again) :])
    found = events_of(steps)
    for record in records:
        told = [(event.name, event.detail) for event in record.events if event.name in DECISIONS]
        assert told == found.get(record.turn, [])[: len(told)]
    return steps


SETTINGS = st.builds(
    TurnSettings,
    hangover_ms=st.sampled_from([200.0, 400.0, 700.0]),
    speculate_after_ms=st.sampled_from([None, 40.0, 100.0]),
    rechecks=st.builds(RecheckThresholds, settle_ms=st.sampled_from([60.0, 160.0])),
    interrupt_after_ms=st.sampled_from([60.0, 90.0, 300.0]),
    max_turn_s=st.sampled_from([2.0, 60.0]),
    stuck_after_s=st.sampled_from([2.0, 10.0]),
    profile=st.sampled_from([None, EAGER, BALANCED, PATIENT]),
    answers=st.sampled_from([True, True, False]),
    interrupted_by=st.sampled_from([InterruptedBy.VOICE, InterruptedBy.VOICE, *InterruptedBy]),
    has_client=st.booleans(),
)


@st.composite
def speech(draw: st.DrawFn) -> list[Utterance]:
    at, said = 400, []
    for number in range(draw(st.integers(1, 5))):
        at += draw(st.sampled_from([60, 120, 240, 400, 620, 1500, 3000]))
        long = draw(st.sampled_from([100, 300, 700, 2500]))
        said.append(
            Utterance(at, at + long, draw(st.sampled_from(["", "what time is it", "mhm", "...", f"word {number}"])))
        )
        at += long
    return said


@pytest.mark.slow
@pytest.mark.timeout(200)
@settings(max_examples=examples(8), phases=PHASES)
@given(
    speech(),
    SETTINGS,
    st.integers(0, 9),
    st.sampled_from([5.0, 60.0, 300.0]),
    st.lists(
        st.tuples(
            st.integers(0, 4000), st.sampled_from(["request_reply", "end_user_turn", "clear_input", "cancel_reply"])
        ),
        max_size=2,
    ),
)
def test_replay_gives_same_decisions(
    says: list[Utterance], turns: TurnSettings, seed: int, words_ms: float, cues: list[tuple[int, str]]
) -> None:
    simulation = Simulation(says, says[-1].end_ms + 2000, (REPLY, "Monday."), turns, vad=UnsureVad(seed))
    simulation.recognizer = TalkativeRecognizer(says, words_ms, draft_missing_words=(None, 0, 1)[seed % 3])
    for ms, what in cues:
        simulation.at(ms, lambda what=what: getattr(simulation.session, what)())  # type: ignore[misc]
    with recorded_decisions() as then:
        result = simulation.run()
    check_replay(result.records, then)


def judged(utterances: list[Utterance], turns: TurnSettings, seed: int = 1) -> Simulation:
    """Returns a conversation with EOT estimates, including Smart Turn's."""
    simulation = Simulation(
        utterances,
        utterances[-1].end_ms + 2000,
        (REPLY, "Monday."),
        turns,
        vad=UnsureVad(seed),
        end_of_turn=fitted_turn_end(),
        audio_end_of_turn=DelayedSmartTurn(),
    )
    simulation.recognizer = TalkativeRecognizer(utterances, 40.0)
    return simulation


# A cough into the rest of a reply that another cough had cut: no words are simulated for it.
COUGHS = [Utterance(460, 560, "what time is it"), Utterance(960, 1260, ""), Utterance(2760, 2860, "")]

# Speech that pauses as the reply ends into which it was spoken: a turn that begins in silence.
INTO_THE_END = [Utterance(460, 560, "what time is it"), Utterance(3560, 3660, ""), Utterance(3720, 3820, "")]

# A transcript request that was dropped before its result: no EOT estimate is simulated with it.
GOES_ON = [Utterance(460, 560, ""), Utterance(620, 720, "what time is it"), Utterance(840, 940, "")]
# Speech that continues when its turn reaches the maximum length: the frames before that are not batched.
ON_AND_ON = [Utterance(520, 3020, "")]
SLOW_TO_SETTLE = TurnSettings(speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=160), profile=BALANCED)
BRIEF = TurnSettings(200.0, 40.0, 60.0, max_turn_s=2.0, stuck_after_s=2.0)


@pytest.mark.slow
@pytest.mark.timeout(200)
@settings(max_examples=examples(6), phases=PHASES)
@example(COUGHS, BRIEF, 0)
@example(INTO_THE_END, replace(BRIEF, interrupted_by=InterruptedBy.WAKE_PHRASE), 0)
@example(GOES_ON, BRIEF, 0)
@example(ON_AND_ON, replace(BRIEF, speculate_after_ms=None, profile=EndOfTurnProfile(160, 400, 400, 0.3)), 0)
@given(speech(), SETTINGS, st.integers(0, 9))
def test_replay_with_end_of_turn_estimates_gives_same_decisions(
    says: list[Utterance], turns: TurnSettings, seed: int
) -> None:
    with recorded_decisions() as then:
        result = judged(says, turns, seed).run()
    check_replay(result.records, then)
    if not result.records:
        return
    # Turn by turn, too, nothing is simulated, and every latency is the recorded one.
    conversation = conversation_of([json.loads(record.to_json()) for record in result.records])
    assert (conversation.left_out, conversation.disagree) == (0, ())
    for (found,) in conversation.replayed([lambda recorded: recorded]):
        assert found.same
        assert found.was == found.now
        assert found.assumed <= {"silence after the end", "hold", "fixed silence"}, (
            "which a conversation that ends in mid-turn has not"
        )
        if found.was.latency_ms is not None:
            assert found.was.latency_ms == conversation.records[found.turn]["response_latency_ms"]


def test_requests_and_estimates_are_found_by_silence() -> None:
    utterances = [Utterance(1000, 1800, "what time is it")]
    result = judged(utterances, SLOW_TO_SETTLE).run()
    found = index_recording(parse_entries([entry for record in result.records for entry in record.turn_events]))
    (silence,) = {ask.silence for ask in found.requests.values()}
    assert silence == samples_of_ms(1800)
    assert [ask.ordinal for ask in found.requests_in(silence)] == [0, 1, 2]
    assert all(ask.answer is not None and ask.delay > 0 for ask in found.requests_in(silence))
    sources = [judgement.source for judgement in found.estimates_in(silence)]
    assert sources.count("listener") == 1
    assert [source for source in sources if source != "listener"] == ["asked", "words"] * 3


def as_judged_before(told: Iterable[LoggedEvent]) -> list[LoggedEvent]:
    """Returns the same trace with a silence scored immediately after its request and after its transcript."""
    found = index_recording(told)
    old: list[LoggedEvent] = []
    for place, (item, _) in enumerate(found.steps):
        if isinstance(item, EndOfTurnScored):
            if found.estimates[place].source == "listener":
                old.append(replace(item, position=Samples(item.position - FRAME_SAMPLES)))
            continue
        if isinstance(item, FinalTranscript):
            old.append(EndOfTurnScored(item.position, SegmentId(0), EndOfTurnEstimate(0.5, 0.0, 650.0, "")))
        old.append(item)
        if place in found.requests:
            old.append(
                EndOfTurnScored(found.requests[place].position, SegmentId(0), EndOfTurnEstimate(0.5, 0.0, 650.0, ""))
            )
    return old


def test_older_trace_with_immediate_estimates_is_read_alike() -> None:
    utterances = [Utterance(1000, 1800, "what time is it")]
    result = judged(utterances, SLOW_TO_SETTLE).run()
    told = as_judged_before(parse_entries([entry for record in result.records for entry in record.turn_events]))
    found = index_recording(told)
    (silence,) = {ask.silence for ask in found.requests.values()}
    sources = [judgement.source for judgement in found.estimates_in(silence)]
    assert sorted(sources) == ["asked"] * 3 + ["listener"] + ["words"] * 3
