"""Tests of the evidence that reaches the end-of-turn estimate."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from support.conversations.simulation import ScriptedRecognizer, ScriptedStream, Simulation, Utterance

from assistant.end_of_turn.dictation.dictation_rules import NOTHING, Dictation, DictationRules
from assistant.end_of_turn.estimator import (
    BALANCED,
    EAGER,
    EndOfTurnEstimate,
    EndOfTurnEstimator,
    EndOfTurnEvidence,
    EndOfTurnProfile,
)
from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.pipeline.end_of_turn_evidence import EvidenceCollector
from assistant.pipeline.engines import SessionSettings
from assistant.trace.record import TurnRecord
from assistant.turns.settings import RecheckThresholds, TurnSettings
from audio.end_of_turn.prosody import ProsodyTrack
from audio.end_of_turn.prosody_features import prosody_at
from audio.frame import Frame
from audio.stt import Punctuation, SegmentId, Transcript
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples
from audio.vad import VadResult

FIXED_400 = TurnSettings(speculate_after_ms=100, profile=EndOfTurnProfile(400, 400, 400, 0.0))
"""The reply starts late, so that the user can resume before hearing it."""


@dataclass
class RecordingEstimator:
    """An estimator that stores the evidence and always returns a probability of 0.5."""

    seen: list[EndOfTurnEvidence] = field(default_factory=list)

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        self.seen.append(evidence)
        return EndOfTurnEstimate(0.5, evidence.silence_ms, 650.0, "")


def simulation_of(estimator: EndOfTurnEstimator, *utterances: Utterance, turns: TurnSettings = FIXED_400) -> Simulation:
    """Returns a conversation that lasts 4 s longer than the utterances."""
    reply = "It is ten o'clock and all is well."
    return Simulation(utterances, utterances[-1].end_ms + 4000, (reply,), turns, end_of_turn=estimator)


def pause_stats_of(*utterances: Utterance, greeting: str = "") -> list[SpeakerPauseStats]:
    """Returns the pause statistics of the estimates, without repetitions."""
    asked = RecordingEstimator()
    simulation = simulation_of(asked, *utterances)
    simulation.voice.first_chunk_ms = 500.0 if greeting else 10.0
    simulation.settings = SessionSettings(greeting=greeting)
    simulation.run()
    habits = [evidence.pause_stats for evidence in asked.seen]
    return [found for at, found in enumerate(habits) if at == 0 or found != habits[at - 1]]


def test_next_conversation_begins_with_the_counts_of_the_last() -> None:
    asked, said = RecordingEstimator(), (Utterance(1000, 1800, "a small coffee"), Utterance(2140, 2700, "with milk"))
    first = simulation_of(asked, *said)
    first.run()
    counts = first.session.pause_stats.counts
    assert counts.pauses > 0
    assert counts.turns > 0
    second = simulation_of(asked, *said)

    def restore() -> None:
        second.session.pause_stats = second.session.pause_stats.with_counts(counts)

    second.at(100, restore)
    asked.seen.clear()
    second.run()
    assert asked.seen[0].pause_stats == SpeakerPauseStats().with_counts(counts)
    assert second.session.pause_stats.counts.turns > counts.turns


def test_pause_is_counted_in_the_next_silence_of_the_turn() -> None:
    first, second = pause_stats_of(Utterance(1000, 1800, "a small coffee"), Utterance(2140, 2700, "with milk"))
    assert first == SpeakerPauseStats()
    assert (second.pauses, second.turns, second.paused) == (1, 0, True)
    assert not second.long_pause


def test_continuing_after_commit_counts_as_a_pause() -> None:
    first, second = pause_stats_of(Utterance(1000, 1800, "a small coffee"), Utterance(2300, 2900, "with milk"))
    assert first == SpeakerPauseStats()
    assert (second.pauses, second.turns, second.paused) == (1, 0, True), "what was taken for an end was none"


def test_continuing_at_reply_onset_counts_as_a_pause() -> None:
    first, second = pause_stats_of(Utterance(1000, 1800, "a small coffee"), Utterance(2700, 3400, "with milk"))
    assert first == SpeakerPauseStats()
    assert (second.pauses, second.turns, second.paused, second.recent) == (1, 0, True, ())
    assert second.long_pause, "from the end of their words to the next ones"


def test_cough_during_reply_does_not_shorten_the_pause() -> None:
    coughs = Utterance(2400, 2440, "")
    second = pause_stats_of(Utterance(1000, 1800, "a small coffee"), coughs, Utterance(2700, 3400, "with milk"))[-1]
    assert (second.pauses, second.long_pause) == (1, True)


def test_noise_that_interrupts_a_reply_does_not_count_as_a_pause() -> None:
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(2140, 2700, "with milk")]
    last = Utterance(9000, 9800, "thank you")
    assert pause_stats_of(*utterances, Utterance(4400, 4700, ""), last)[-1] == pause_stats_of(*utterances, last)[-1]


def test_later_interruption_does_not_count_as_a_pause() -> None:
    first, second = pause_stats_of(Utterance(1000, 1800, "a small coffee"), Utterance(3300, 4000, "with milk"))
    assert first == SpeakerPauseStats()
    assert second == SpeakerPauseStats().with_turn()


def test_speech_before_the_greeting_does_not_count_as_a_pause() -> None:
    (only,) = pause_stats_of(Utterance(100, 900, "a small coffee"), greeting="Welcome.")
    assert only == SpeakerPauseStats(), "no turn had ended before"


def test_new_turn_starts_without_pauses() -> None:
    first, second = pause_stats_of(Utterance(1000, 1800, "a small coffee"), Utterance(6000, 6800, "thank you"))
    assert first == SpeakerPauseStats()
    assert second == SpeakerPauseStats().with_turn()


@dataclass
class SmartTurnStub:
    """Replaces Smart Turn and records how much audio it gets."""

    heard_ms: list[float] = field(default_factory=list)

    async def probability(self, pcm: Pcm) -> float:
        self.heard_ms.append(len(pcm) * 1000 / MIC_RATE_HZ)
        return 0.5


@pytest.mark.parametrize(
    ("pause_ms", "asked"),
    [(40, 1), (80, 1), (240, 2), (400, 2)],
    ids=["40 ms pause", "80 ms pause", "240 ms pause", "400 ms pause"],
)
def test_smart_turn_is_asked_once_per_long_silence(pause_ms: int, asked: int) -> None:
    listening = SmartTurnStub()
    utterances = Utterance(1000, 1800, "a small coffee"), Utterance(1800 + pause_ms, 2800, "with milk")
    simulation = simulation_of(RecordingEstimator(), *utterances, turns=replace(FIXED_400, speculate_after_ms=40))
    simulation.audio_end_of_turn = listening
    simulation.run()
    assert len(listening.heard_ms) == asked


def one_second_of_voice() -> Pcm:
    """Returns ten harmonics of a tone that rises from 100 to 200 Hz."""
    phase = 2 * np.pi * np.cumsum(np.linspace(100, 200, MIC_RATE_HZ)) / MIC_RATE_HZ
    return np.asarray(3000 * sum(np.sin(number * phase) / number for number in range(1, 11)), np.int16)


def test_pitch_is_tracked_only_during_a_turn() -> None:
    asked = RecordingEstimator()
    collector = EvidenceCollector(asked, None, lambda _text: False, True, lambda _segment, _estimate: None, pytest.fail)
    plain, voice, at, edge = ProsodyTrack(), one_second_of_voice(), Samples(0), Samples(0)

    def hear(ms: int, *, speaking: bool) -> None:
        nonlocal at, edge
        edge = at
        for _ in range(0, ms, 20):
            pcm = voice[at % MIC_RATE_HZ :][:FRAME_SAMPLES]  # also without user speech: a radio
            frame, voicing = Frame(at, pcm), VadResult(speaking, edge, float(speaking))
            collector.process(frame, voicing)
            plain.push_frame(frame, voicing)
            at = frame.end

    hear(3000, speaking=False)
    assert not collector._prosody.pitch.any()
    hear(20, speaking=True)
    onset = edge
    collector.start_segment(onset)
    hear(980, speaking=True)
    hear(500, speaking=False)  # a pause within the turn
    hear(600, speaking=True)
    hear(100, speaking=False)
    ended = edge
    collector.start_estimation(SegmentId(0), ended)
    assert not asked.seen, "what was begun at the silence is waited for, and goes first"
    hear(20, speaking=False)
    assert [evidence.prosody for evidence in asked.seen] == [prosody_at(plain, onset, ended)]
    collector.end_segment(turn=True)
    hear(8000, speaking=False)
    assert plain.pitch.all()
    assert not collector._prosody.pitch.any()


QUESTION = Utterance(1000, 1800, "what time is it")


@dataclass
class Slow(ScriptedRecognizer):
    """Records when transcripts are requested."""

    order: list[str] = field(default_factory=list)

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> "SlowStream":
        return SlowStream(segment, self, on_interim)


@dataclass
class SlowStream(ScriptedStream):
    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        assert isinstance(self.recognizer, Slow)
        self.recognizer.order.append("asked")
        return await super().transcript(speech_end, early=early, draft=draft)


@dataclass
class OrderRecorder:
    """Records when it is asked."""

    order: list[str]

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        self.order.append("judged" if evidence.text is None else "judged with words")
        return EndOfTurnEstimate(0.5, evidence.silence_ms, 650.0, "")


@pytest.mark.parametrize("delay_ms", [0.0, 60.0], ids=["immediate transcript", "transcript after 60 ms"])
def test_recognizer_decodes_while_the_silence_is_estimated(delay_ms: float) -> None:
    order: list[str] = []
    simulation = simulation_of(OrderRecorder(order), QUESTION)
    simulation.recognizer = Slow([QUESTION], delay_ms=delay_ms, order=order)
    simulation.run()
    # Once, with the next frame and the transcript available by then.
    assert order == (["asked", "judged", "judged with words"] if delay_ms else ["asked", "judged with words"])


def test_silence_is_estimated_once_and_without_the_draft() -> None:
    order: list[str] = []
    turns = TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=160))
    simulation = simulation_of(OrderRecorder(order), QUESTION, turns=turns)
    simulation.recognizer = Slow([QUESTION], delay_ms=40.0, order=order, draft_missing_words=1)
    simulation.run()
    # The draft, which is available at once, and the transcript after it.
    assert order[:4] == ["asked", "asked", "judged", "judged with words"]


QUIET = VadResult(False, Samples(30 * FRAME_SAMPLES), 0.0)


def voiced_frame(number: int) -> Frame:
    return Frame(Samples(number * FRAME_SAMPLES), one_second_of_voice()[:FRAME_SAMPLES])


def speak_and_pause(collector: EvidenceCollector) -> None:
    """Speaks for 32 frames, the last two of which belong to the silence that is estimated."""
    collector.start_segment(Samples(0))
    for number in range(32):
        collector.process(voiced_frame(number), VadResult(True, Samples(0), 1.0))
    collector.start_estimation(SegmentId(0), Samples(30 * FRAME_SAMPLES))


@pytest.mark.parametrize("reads", [True, False], ids=["known language", "unknown language"])
def test_expected_punctuation_counts_only_in_known_languages(reads: bool) -> None:
    reading, punctuation = RecordingEstimator(), Punctuation(sentence_end=0.75, continuation=0.125)
    collector = EvidenceCollector(
        reading, None, lambda _text: False, reads, lambda _segment, _estimate: None, pytest.fail
    )
    speak_and_pause(collector)
    transcripts = [(None, None), ("a table for two", punctuation), ("a table for two, please", None)]
    for frame, (text, expected) in enumerate(transcripts, 32):
        if text is not None:
            collector.add_transcript(SegmentId(0), text, expected)
        assert len(reading.seen) == frame - 32, "the request that is begun with them goes first"
        collector.process(voiced_frame(frame), QUIET)
    known = [("a table for two", punctuation), ("a table for two, please", None)] if reads else [(None, None)] * 2
    assert [(seen.text, seen.punctuation) for seen in reading.seen] == [(None, None), *known]


def dictation_after(question: str, text: str, region: str = "") -> Dictation:
    """Returns the dictation of the last estimate, with this text after this question."""
    reading = RecordingEstimator()
    collector = EvidenceCollector(
        reading,
        None,
        lambda _text: False,
        False,
        lambda _segment, _estimate: None,
        pytest.fail,
        DictationRules("en", region),
    )
    collector.on_reply_heard(question)
    speak_and_pause(collector)
    collector.add_transcript(SegmentId(0), text)
    collector.process(voiced_frame(32), QUIET)
    return reading.seen[-1].dictation


def test_last_question_and_region_decide_what_is_dictated() -> None:
    assert dictation_after("How many guests?", "five") == Dictation("number", "complete")
    assert dictation_after("It is late.", "hello") == NOTHING
    number = "612 345 678"
    assert dictation_after("What is your phone number?", number) == Dictation("phone number", "incomplete")
    assert dictation_after("What is your phone number?", number, "ES") == Dictation("phone number", "complete")


LATER = """
import sys, wave
import numpy
from assistant.pipeline.end_of_turn_evidence import EvidenceCollector, warm_up_estimator
from assistant.end_of_turn.estimator import fitted_turn_end
from audio.frame import Frame
from audio.stt import SegmentId
from audio.units import FRAME_SAMPLES, Samples
from audio.vad import VadResult

with wave.open(sys.argv[1]) as file:
    sound = numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16)
warm_up_estimator(fitted_turn_end())
loaded, estimates = set(sys.modules), []
judge = EvidenceCollector(fitted_turn_end(), None, lambda _: False, True, lambda *told: estimates.append(told), print)
judge.start_segment(Samples(0))
for start in range(0, sound.size - FRAME_SAMPLES, FRAME_SAMPLES):
    result = VadResult(start % (25 * FRAME_SAMPLES) != FRAME_SAMPLES, Samples(0), 1.0)
    judge.process(Frame(Samples(start), sound[start : start + FRAME_SAMPLES]), result)
    if start % (25 * FRAME_SAMPLES) == 0:
        judge.start_estimation(SegmentId(start), Samples(start))
        judge.add_transcript(SegmentId(start), "a table for two")
print(len(estimates) > 10, *sorted(set(sys.modules) - loaded))
"""


def test_judge_once_loads_every_module_in_advance() -> None:
    """numpy loads a module with its first median, which must not happen on the event loop during a turn."""
    root = Path(__file__).parents[3]
    recording = root / "tests" / "recordings" / "Montreal-Forced-Al_mfa-internalsil.wav"
    done = subprocess.run(
        [sys.executable, "-c", LATER, str(recording)], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True"]


@dataclass
class ConstantEstimator:
    """An estimator with a constant probability that passes on how often the speaker pauses and what they dictate."""

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        pausing = evidence.pause_stats.pausing
        return EndOfTurnEstimate(0.3, evidence.silence_ms, 650.0, "", pausing, evidence.dictation)


BEGINS_MS = [1000 + 8000 * number for number in range(4)]


def turns_with_pauses(profile: EndOfTurnProfile) -> list[TurnRecord]:
    """Returns the records of four turns, each with a pause of 600 ms."""
    utterances = [
        said
        for begin in BEGINS_MS
        for said in (
            Utterance(begin, begin + 800, "a small coffee"),
            Utterance(begin + 1400, begin + 2000, "with milk"),
        )
    ]
    turns = TurnSettings(speculate_after_ms=100, profile=profile)
    return simulation_of(ConstantEstimator(), *utterances, turns=turns).run().records


def interrupted_turns(profile: EndOfTurnProfile) -> list[bool]:
    """Returns for each of the four turns whether the assistant interrupted the user."""
    cut = [
        record.speech_start_ms
        for record in turns_with_pauses(profile)
        if any(event.name in ("interrupt", "retracted") for event in record.events)
    ]
    return [any(start is not None and begin - 100 <= start < begin + 8000 for start in cut) for begin in BEGINS_MS]


def test_interrupted_speaker_gets_a_longer_silence_timeout() -> None:
    assert interrupted_turns(BALANCED) == [True, False, False, False]
    assert interrupted_turns(replace(BALANCED, pausing_ms=0)) == [True] * 4
    assert interrupted_turns(EAGER) == [True] * 4, "who chose to be answered soon is"


def test_trace_says_that_a_speaker_pauses_often() -> None:
    told = [
        event.detail for record in turns_with_pauses(BALANCED) for event in record.events if event.name == "estimate"
    ]
    assert not told[0].endswith("of their turns")
    assert "0.300 at 120 ms by habits, who pauses in 47 % of their turns" in told


def test_unfinished_phone_number_is_not_answered_in_a_pause() -> None:
    says = Utterance(1000, 2000, "five five five"), Utterance(3000, 5000, "one two one two three four five")
    turns = TurnSettings(speculate_after_ms=100, profile=BALANCED)
    result = simulation_of(ConstantEstimator(), *says, turns=turns).run()
    told = [event.detail for record in result.records for event in record.events if event.name == "estimate"]
    assert len(result.records) == 1, "the pause of one second is within the number"
    assert any(detail.endswith("dictates digits: incomplete") for detail in told)
    assert any(detail.endswith("dictates digits: complete") for detail in told)
