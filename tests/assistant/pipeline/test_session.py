"""Tests of complete conversations in virtual time, with scripted users and engines."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import pytest
from support.clocks.virtual_time import run_virtual
from support.conversations.simulation import LoudnessVad, ScriptedMicrophone, Simulation, SimulationResult, Utterance

from assistant.events import ReplySent, ReplyStopped, SpeechStarted, TurnFinished, UserTurnCommitted
from assistant.history.items import AssistantMessage, ItemId, UserMessage
from assistant.pipeline.engines import SessionSettings
from assistant.pipeline.reply_production import MAX_HOLD_S, SHORTENED, UNSPEAKABLE
from assistant.pipeline.reply_source import RECOGNIZER_FAILED
from assistant.pipeline.session import Session
from assistant.skills.answers import ChangeVolume, SetTimer, SkillEffect
from assistant.trace.record import TurnRecord
from assistant.turns.events import ReplyId, ReplyRequested
from assistant.turns.settings import RecheckThresholds, TurnSettings
from audio.errors import AudioError
from audio.frame import Frame
from audio.units import Samples, samples_of_ms
from llm.chat import Message
from llm.errors import LlmError, LlmFiltered, LlmUnreachable
from llm.http.failure import SPOKEN_UNREACHABLE

TIME = Utterance(1000, 1800, "what time is it")
UNREACHABLE = LlmUnreachable("home", "home: refused", spoken="I can't reach my language model.", retryable=True)
FILTERED = LlmFiltered("home", "home: filtered", spoken="My language model declined to answer that.", retryable=False)


def stages_ms(result: SimulationResult, turn: int = 0) -> dict[str, float]:
    return {stage: round(share.ms, 3) for stage, share in result.records[turn].stages.items() if share.ms > 0.001}


def test_plain_turn_is_answered_with_a_complete_breakdown() -> None:
    result = Simulation([TIME]).run()
    (record,) = result.records
    assert record.outcome == "answered"
    assert (record.speech_start_ms, record.speech_end_ms, record.endpoint_ms) == pytest.approx((1000, 1800, 2200))
    stages = stages_ms(result)
    playout_ms = stages.pop("playout")
    # "It is ten o'clock." is known to be a sentence when " Anything" comes: 4 tokens of 20 ms after the first.
    assert stages == {
        "endpoint_wait": 400.0,
        "stt": 20.0,
        "llm_network": 10.0,
        "llm_first_token": 90.0,
        "first_sentence": 80.0,
        "tts": 10.0,
    }
    assert 10.0 <= playout_ms <= 20.0, "one block being played, and the rest of another"
    assert record.words is not None
    assert record.words.user == "what time is it"
    assert record.words.assistant == "It is ten o'clock. Anything else?"
    assert result.sound_from_ms() == pytest.approx(record.playout_start_ms, abs=2.0)


def test_ready_reply_is_held_while_the_user_may_resume() -> None:
    """The reply of the turn above is ready at 2410 ms."""
    plain = Simulation([TIME]).run()
    result = Simulation([TIME], vad=LoudnessVad(possible_onsets=[(2380, 2460)])).run()
    (record,) = result.records
    assert record.outcome == "answered"
    waited_ms = 2480 - 2410  # the next frame without speech arrives at 2480
    assert stages_ms(result)["endpoint_wait"] == 400.0 + waited_ms
    begins_ms, began_ms = result.sound_from_ms(), plain.sound_from_ms()
    assert began_ms is not None
    assert begins_ms == pytest.approx(began_ms + waited_ms, abs=10)
    assert [span.name for span in record.spans if round(span.end_ms) == 2480] == ["look"]


def test_hold_times_out_when_frames_stop() -> None:
    simulation = Simulation([TIME])
    simulation.at(2405, lambda: simulation.session._reply_manager.hold(ReplyId(1, 1)))  # and nothing releases it
    result = simulation.run()
    assert result.records[0].outcome == "answered"
    assert result.sound_from_ms() == pytest.approx(2410 + MAX_HOLD_S * 1000, abs=25)


@pytest.mark.parametrize("slower_ms", range(0, 161, 40), ids="{} ms later".format)
def test_frame_with_possible_onset_is_not_batched(slower_ms: int) -> None:
    """A possible onset 30 ms before the reply is ready, after a commit at 2220 ms, holds the reply."""
    ready_ms = 2410 + slower_ms
    possible_onsets = [(ready_ms - 30, ready_ms + 50)]
    simulation = Simulation([TIME], vad=LoudnessVad(possible_onsets=possible_onsets))
    simulation.model.first_token_ms += slower_ms
    (record,) = simulation.run().records
    assert [span.start_ms for span in record.spans if span.name == "look"] == [pytest.approx(ready_ms, abs=1)]


def test_reply_is_retracted_when_the_user_resumes_during_hold() -> None:
    more = Utterance(2460, 3200, "and the date")
    heard = Simulation([TIME, more]).run()
    assert heard.sound_from_ms(2400.0) == pytest.approx(2420, abs=15)
    result = Simulation([TIME, more], vad=LoudnessVad(possible_onsets=[(2380, 2460)])).run()
    assert result.sound_from_ms() == result.sound_from_ms(3600.0)
    (record,) = result.records
    assert record.words is not None
    assert record.words.user == "what time is it and the date"


class BatchingMicrophone(ScriptedMicrophone):
    """Records at which ms of loop time the session changed `batches_silence`."""

    def __init__(self, utterances: Sequence[Utterance], length_ms: int) -> None:
        self.changes: list[tuple[float, bool]] = []
        self._batches_silence = False
        super().__init__(utterances, length_ms)

    @property
    def batches_silence(self) -> bool:
        return self._batches_silence

    @batches_silence.setter
    def batches_silence(self, batches_silence: bool) -> None:
        if batches_silence != self._batches_silence:
            self.changes.append((asyncio.get_running_loop().time() * 1000, batches_silence))
        self._batches_silence = batches_silence


def test_silence_is_batched_only_while_idle_or_replying() -> None:
    utterances = [TIME, Utterance(3700, 3760, "mhm")]  # the second one overlaps the reply
    simulation = Simulation(utterances, length_ms=9000, replies=("It is ten o'clock. " * 6,))
    simulation.microphone = microphone = BatchingMicrophone(utterances, 9000)
    result = simulation.run()
    (record,) = result.records
    zero_ms = microphone.clock.to_loop_s(Samples(0)) * 1000
    changes = [(round(at_ms - zero_ms), batches) for at_ms, batches in microphone.changes]
    assert [batches for _, batches in changes] == [True, False, True, False, True]
    onset, audible, overlap_onset, overlap_end = (at_ms for at_ms, _ in changes[1:])
    assert onset == 1020  # the first frame of speech
    assert record.playout_start_ms is not None
    past_onset_ms = record.playout_start_ms + 1000  # until then it might have to be held
    assert past_onset_ms - 20 <= audible <= past_onset_ms + 40
    assert overlap_onset == 3720
    assert overlap_end >= 3820


def test_session_events_come_in_order() -> None:
    result = Simulation([TIME]).run()
    shown = [(type(event).__name__, at_ms) for at_ms, event in result.events]
    names = [name for name, _ in shown]
    assert [name for name in names if name != "WordsTimed"] == [
        "SpeechStarted",
        "UserTurnCommitted",
        "ReplyStarted",
        "ChunkSpoken",
        "ChunkSpoken",
        "ReplySent",
        "TurnFinished",
    ]
    item = ItemId("item_1")
    said = UserMessage(item, "what time is it", spoken=True)
    assert result.events_of(SpeechStarted) == [SpeechStarted(1, 1000.0, item)]
    (taken,) = result.events_of(UserTurnCommitted)
    assert taken == UserTurnCommitted(1, "what time is it", False, said, 1800.0, "spoken")
    assert result.chunks == ["It is ten o'clock.", "Anything else?"]
    assert result.events_of(ReplySent) == [
        ReplySent(ReplyId(1, 1), "It is ten o'clock. Anything else?", None, None, None, None)
    ]


def test_speculation_hides_work_behind_the_silence_timeout() -> None:
    simulation = Simulation([TIME], turns=TurnSettings(hangover_ms=400, speculate_after_ms=100))
    result = simulation.run()
    stages = stages_ms(result)
    playout_ms = stages.pop("playout")
    assert stages == {"endpoint_wait": 400.0}
    assert playout_ms <= 20.0
    assert result.records[0].stages["endpoint_wait"].slack_ms == pytest.approx(400 - 210, abs=1)
    assert simulation.model.asked == [(Message("system", "Be brief."), Message("user", "what time is it"))]


@pytest.mark.parametrize(
    ("lacks", "asked"),
    [(0, ["what time is it"]), (1, ["what time is", "what time is it"])],
    ids=["complete draft", "draft without the last word"],
)
def test_llm_request_starts_with_the_draft(lacks: int, asked: list[str]) -> None:
    """A decode takes 100 ms. A correct draft hides it; a wrong one gains nothing."""
    latencies = list[float]()
    for draft_missing_words in (None, lacks):
        turns = TurnSettings(hangover_ms=250, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=160))
        simulation = Simulation([TIME], turns=turns)
        simulation.recognizer.delay_ms, simulation.recognizer.draft_missing_words = 100, draft_missing_words
        result = simulation.run()
        (record,) = result.records
        assert record.response_latency_ms is not None
        latencies.append(record.response_latency_ms)
    assert [messages[-1].content for messages in simulation.model.asked] == asked
    assert [item.text for item in result.history.items if isinstance(item, UserMessage)] == ["what time is it"]
    without, with_draft = latencies
    assert with_draft == pytest.approx(without if lacks else without - 80, abs=25)


def test_dropped_attempt_is_neither_heard_nor_in_the_history() -> None:
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(2040, 2600, "with milk")]
    simulation = Simulation(utterances, turns=TurnSettings(hangover_ms=400, speculate_after_ms=100))
    result = simulation.run()
    (record,) = result.records
    assert record.attempts == 2
    assert [message.content for message in simulation.model.asked[-1]] == ["Be brief.", "a small coffee with milk"]
    assert simulation.model.cancelled == 1
    assert result.sound_from_ms() == pytest.approx(record.playout_start_ms, abs=2.0)
    assert {span.attempt for span in record.spans if span.dropped} == {1}
    assert record.response_latency_ms == pytest.approx(400, abs=25)


def test_speech_before_reply_onset_continues_the_turn() -> None:
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(2300, 2900, "with milk")]
    simulation = Simulation(utterances, length_ms=9000)
    result = simulation.run()
    (record,) = result.records
    assert [event.name for event in record.events].count("retracted") == 1
    assert [message.content for message in simulation.model.asked[-1]] == ["Be brief.", "a small coffee with milk"]
    assert result.sound_from_ms() == pytest.approx(record.playout_start_ms, abs=2.0)
    assert len(record.hearings) == 2


def test_speech_within_a_second_of_reply_onset_is_answered_once() -> None:
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(3100, 3700, "with milk")]
    simulation = Simulation(utterances, length_ms=9000, turns=TurnSettings(interrupt_after_ms=40))
    result = simulation.run()
    (record,) = result.records
    assert [event.name for event in record.events].count("retracted") == 1
    assert [message.content for message in simulation.model.asked[-1]] == ["Be brief.", "a small coffee with milk"]
    _, withdrawn, _, answer = result.history.items
    assert isinstance(withdrawn, AssistantMessage)
    assert withdrawn.withdrawn
    assert withdrawn.text, "its first words were heard"
    assert isinstance(answer, AssistantMessage)
    assert answer.complete
    assert [message.role for message in result.history.messages()] == ["system", "user", "assistant"]
    assert record.overlap_ms == pytest.approx(60, abs=30)


def test_possible_onset_in_first_second_holds_reply_without_lost_word() -> None:
    turns = TurnSettings(interrupt_after_ms=40)
    plain = Simulation([TIME], turns=turns).run()
    onset_ms = plain.sound_from_ms()
    assert onset_ms is not None
    possible = [(int(onset_ms) + 300, int(onset_ms) + 380)]
    held = Simulation([TIME], turns=turns, vad=LoudnessVad(possible_onsets=possible)).run()
    assert held.sound_from_ms() == onset_ms
    silent_ms = sum(pcm.size / 24 for at_ms, pcm in held.sound if onset_ms < at_ms < onset_ms + 1000 and not pcm.any())
    assert silent_ms == pytest.approx(80, abs=30)
    (record,) = held.records
    assert (record.outcome, record.overlap_ms) == ("answered", None)
    assert [event for _, event in held.events if isinstance(event, ReplyStopped)] == []


def test_noise_within_a_second_of_reply_onset_does_not_ask_again() -> None:
    text = "It is ten o'clock. And this goes on for quite a while longer."
    utterances = [TIME, Utterance(3100, 3500, "")]
    turns = TurnSettings(interrupt_after_ms=40)
    simulation = Simulation(utterances, length_ms=12_000, replies=(text,), turns=turns)
    result = simulation.run()
    assert [record.outcome for record in result.records] == ["interrupted", "answered"]
    assert len(simulation.model.asked) == 1
    assert spoken_text(result) == ["It is ten", text]
    answers = [item for item in result.history.items if isinstance(item, AssistantMessage)]
    assert [(answer.text[:5], answer.withdrawn) for answer in answers] == [("It is", False), ("It is", False)]
    assert [message.role for message in result.history.messages()] == ["system", "user", "assistant", "assistant"]


def test_interruption_cuts_history_at_the_last_whole_word() -> None:
    utterances = [TIME, Utterance(3500, 4300, "what is the date")]
    simulation = Simulation(
        utterances, length_ms=9000, replies=("It is ten o'clock and all is well in town.", "It is Monday.")
    )
    result = simulation.run()
    first, second = result.records
    assert (first.outcome, second.outcome) == ("interrupted", "answered")
    # Audible from about 2.6 s on, at five words a second; interrupted at 3.8 s.
    assert first.words is not None
    assert first.words.assistant == "It is ten o'clock and all"
    assert result.events_of(ReplyStopped) == [ReplyStopped(ReplyId(1, 1), "It is ten o'clock and all", 1290.0, "voice")]
    assert simulation.model.asked[1] == (
        Message("system", "Be brief."),
        Message("user", "what time is it"),
        Message("assistant", "It is ten o'clock and all"),
        Message("user", "what is the date"),
    )
    silent_from = second.speech_start_ms
    assert silent_from is not None
    after_cut = result.sound_from_ms(silent_from + 320)
    assert after_cut == pytest.approx(second.playout_start_ms, abs=2.0), "the old reply was silent after the cut"


STORY = "It is ten o'clock and all is well in town. And there is a long story behind that. Anything else?"


def interrupted_by(
    utterance: Utterance, trouble: Callable[[Simulation], None] = lambda _: None
) -> tuple[Simulation, SimulationResult]:
    """Speaks over a long reply that is audible from about 2.6 s on, at five words a second."""
    simulation = Simulation([TIME, utterance], length_ms=12_000, replies=(STORY, "Bye."))
    simulation.at(2900, lambda: trouble(simulation))
    return simulation, simulation.run()


def ducking(record: TurnRecord) -> list[str]:
    return [event.name for event in record.events if event.name in {"duck", "unduck", "interrupt"}]


def test_short_word_interrupts_once_transcribed() -> None:
    simulation, result = interrupted_by(Utterance(3700, 3860, "quit"))
    first, second = result.records
    assert (first.outcome, second.outcome) == ("interrupted", "answered")
    assert ducking(first) == ["duck", "interrupt"]
    _, started = [ms for ms, event in result.events if isinstance(event, SpeechStarted)]
    assert started == pytest.approx(4050, abs=21), "160 ms of silence, and the words take 20"
    assert simulation.model.asked[-1][-1] == Message("user", "quit")
    assert second.response_latency_ms == pytest.approx(540, abs=25), "400 of silence, 20 for words, 120 for an answer"


def test_echo_of_the_reply_does_not_interrupt_it() -> None:
    _, result = interrupted_by(Utterance(3000, 3160, "Is ten"))
    (record,) = result.records
    assert ducking(record) == ["duck", "unduck"]


def test_low_confidence_overlap_is_transcribed_again() -> None:
    _, result = interrupted_by(
        Utterance(3700, 3860, "quit"), lambda simulation: setattr(simulation.recognizer, "early_low_confidence", True)
    )
    first, _ = result.records
    assert ducking(first) == ["duck", "interrupt"]
    _, started = [ms for ms, event in result.events if isinstance(event, SpeechStarted)]
    assert started == pytest.approx(4070, abs=21)


def test_word_not_yet_played_is_not_an_echo() -> None:
    _, result = interrupted_by(Utterance(3700, 3860, "story"))
    first, _ = result.records
    assert ducking(first) == ["duck", "interrupt"]


@pytest.mark.parametrize(("said", "answers"), [("quit", 1), ("", 0)], ids=["with words", "without words"])
def test_uncertain_short_speech_is_answered_if_it_has_words(said: str, answers: int) -> None:
    simulation = Simulation([Utterance(1000, 1200, said)], replies=("Bye.",), vad=LoudnessVad(probability=0.6))
    result = simulation.run()
    assert [record.outcome for record in result.records] == ["answered"] * answers
    assert len(result.events_of(SpeechStarted)) == answers
    assert [messages[-1].content for messages in simulation.model.asked] == ["quit"] * answers
    assert all(record.response_latency_ms == pytest.approx(540, abs=25) for record in result.records)


@pytest.mark.parametrize(
    ("trouble", "swells_up_ms"),
    [("hangs", 4120), ("raises_bug", 3330)],
    ids=["hanging recognizer", "failing recognizer"],
)
def test_overlap_with_lost_transcript_does_not_stop_the_reply(trouble: str, swells_up_ms: float) -> None:
    _, result = interrupted_by(
        Utterance(3000, 3160, "quit"), lambda simulation: setattr(simulation.recognizer, trouble, True)
    )
    (record,) = result.records
    assert ducking(record) == ["duck", "unduck"]
    [unducked] = [event.at_ms for event in record.events if event.name == "unduck"]
    assert unducked == pytest.approx(swells_up_ms, abs=21)
    assert bool(result.problems) == (trouble == "raises_bug"), "a transcript that is no longer needed is not awaited"


def test_leaving_cancels_a_pending_overlap_transcription() -> None:
    simulation = Simulation([TIME, Utterance(3000, 3160, "quit")], length_ms=3600, replies=(STORY,))
    simulation.at(2900, lambda: setattr(simulation.recognizer, "delay_ms", 700.0))
    simulation.at(3500, lambda: simulation.session.announce_end())  # noqa: PLW0108 - there is no session yet
    result = simulation.run()
    assert [record.outcome for record in result.records] == ["interrupted"]
    assert not result.problems


def test_echo_after_the_reply_is_not_answered() -> None:
    simulation = Simulation(
        [TIME, Utterance(3420, 3580, "Thursday")], replies=("It is Monday. Until Thursday.", "Bye.")
    )
    simulation.vad = LoudnessVad(probability=0.74)
    result = simulation.run()
    assert [record.outcome for record in result.records] == ["answered"]


def spoken_text(result: SimulationResult) -> list[str]:
    return [item.text for item in result.history.items if isinstance(item, AssistantMessage)]


def test_reply_resumes_at_the_sentence_a_cough_interrupted() -> None:
    text = "It is ten o'clock. And this goes on for quite a while longer."
    simulation = Simulation([TIME, Utterance(3460, 3960, "")], length_ms=12_000, replies=(text,))
    simulation.at(9000, lambda: simulation.session.repeat())  # noqa: PLW0108 - there is no session yet
    result = simulation.run()
    first, cough, rest, _ = result.records
    assert (first.outcome, cough.outcome, rest.outcome) == ("interrupted", "no words", "answered")
    assert rest.no_latency_reason == "resumed"
    assert spoken_text(result) == [
        "It is ten o'clock. And this",
        "And this goes on for quite a while longer.",
        text,
    ]
    assert not any(item.unheard for item in result.history.items if isinstance(item, AssistantMessage))


SHORT_STORY = "It is ten o'clock. And this goes on for quite a while longer."


@pytest.mark.parametrize("said", ["Yeah.", "Mm hmm.", "Genau."])
def test_reply_resumes_after_a_backchannel(said: str) -> None:
    simulation = Simulation([TIME, Utterance(3460, 3960, said)], length_ms=12_000, replies=(SHORT_STORY, "No."))
    result = simulation.run()
    first, aside, rest = result.records
    assert (first.outcome, aside.outcome, rest.outcome) == ("interrupted", "backchannel", "answered")
    assert rest.no_latency_reason == "resumed"
    assert spoken_text(result) == ["It is ten o'clock. And this", "And this goes on for quite a while longer."]
    assert len(simulation.model.asked) == 1
    assert all(said not in getattr(item, "text", "") for item in result.history.items)


@pytest.mark.parametrize("said", ["Stop.", "Okay stop."])
def test_more_than_a_backchannel_is_answered(said: str) -> None:
    simulation = Simulation([TIME, Utterance(3400, 3900, said)], length_ms=12_000, replies=(SHORT_STORY, "Fine."))
    result = simulation.run()
    assert spoken_text(result)[-1] == "Fine."
    assert len(simulation.model.asked) == 2


@pytest.mark.parametrize("begins", [3400, 8000], ids=["during the reply", "after the reply"])
def test_backchannel_that_answers_a_question_is_a_turn(begins: int) -> None:
    text = "Shall I go on? And this goes on for quite a while longer." if begins < 4000 else "Ten. Shall I go on?"
    utterances = [TIME, Utterance(begins, begins + 500, "Yeah.")]
    simulation = Simulation(utterances, length_ms=14_000, replies=(text, "Fine."))
    result = simulation.run()
    assert spoken_text(result)[-1] == "Fine."
    assert len(simulation.model.asked) == 2


def test_repeat_says_the_last_reply() -> None:
    utterances = [TIME, Utterance(6000, 6600, "is it late")]
    simulation = Simulation(utterances, length_ms=13_000, replies=("It is ten o'clock. Yes.", "Yes."))
    simulation.at(10_000, lambda: simulation.session.repeat())  # noqa: PLW0108 - there is no session yet
    assert spoken_text(simulation.run()) == ["It is ten o'clock. Yes.", "Yes.", "Yes."]


def test_repeat_of_a_resumed_reply_says_all_of_it() -> None:
    text = "It is ten o'clock. And this goes on for quite a while longer."
    simulation = Simulation([TIME, Utterance(3400, 3900, "")], length_ms=14_000, replies=(text,))
    simulation.at(5600, lambda: simulation.session.repeat())  # noqa: PLW0108 - there is no session yet
    assert spoken_text(simulation.run())[-1] == text


def test_long_reply_interrupted_by_a_cough_resumes_completely() -> None:
    text = " ".join(f"This is sentence number {number}." for number in range(40))
    simulation = Simulation([TIME, Utterance(3400, 3900, "")], length_ms=90_000, replies=(text,))
    simulation.model.token_ms = 5
    result = simulation.run()
    assert [record.no_latency_reason for record in result.records][-1] == "resumed"
    cut, rest = spoken_text(result)
    assert rest.endswith("This is sentence number 39.")
    assert text.startswith(cut)
    assert text.endswith(rest)
    assert len(cut) + len(rest) >= len(text)


def test_incomplete_reply_interrupted_by_a_cough_is_requested_again() -> None:
    simulation = Simulation([TIME, Utterance(4000, 4500, "")], replies=("It is ten o'clock. " * 20, "Yes, ten."))
    simulation.model.token_ms = 100
    result = simulation.run()
    assert [record.outcome for record in result.records] == ["interrupted", "no words", "answered"]
    (_, again) = simulation.model.asked
    assert [message.role for message in again] == ["system", "user", "assistant"]
    assert spoken_text(result)[-1] == "Yes, ten."


LONG_STORY = "Half past ten. " + "And there is a long story behind that. " * 6


@pytest.mark.parametrize("token_ms", [20.0, 60.0], ids="{} ms per token".format)
def test_stopped_reply_does_not_resume_an_earlier_one(token_ms: float) -> None:
    """A cough interrupts the first reply. An announcement precedes its rest, and is interrupted too."""
    utterances = [
        TIME,
        Utterance(3800, 4300, ""),
        Utterance(5600, 6400, "tell me a story"),
        Utterance(9200, 9800, "no stop that"),
    ]
    text = "It is ten o'clock. And this goes on for quite a while longer."
    simulation = Simulation(utterances, length_ms=16_000, replies=(text, LONG_STORY, "Fine."))
    simulation.model.token_ms = token_ms
    announced = "The light did not turn on. Please look after it soon."
    simulation.at(
        4800, lambda: simulation.session.context.dispatch(ReplyRequested(Samples(76_800), "announcement", announced))
    )
    result = simulation.run()
    assert [record.no_latency_reason for record in result.records[2:]] == ["announcement", None, None]
    assert spoken_text(result)[-1] == "Fine."
    assert len(simulation.model.asked) == 3


def test_speech_longer_than_the_turn_limit_loses_no_word() -> None:
    told = [f"word{number}" for number in range(60)]
    simulation = Simulation([Utterance(1000, 13_000, " ".join(told))], 18_000, turns=TurnSettings(max_turn_s=5))
    simulation.recognizer.word_by_word = True
    simulation.recognizer.delay_ms = 200
    (record,) = simulation.run().records
    assert record.words is not None
    assert record.words.user.split() == told


def test_reply_heard_completely_does_not_resume() -> None:
    result = Simulation([TIME, Utterance(2950, 3450, "")], replies=("It is ten.",)).run()
    assert "resumed" not in [record.no_latency_reason for record in result.records]
    assert spoken_text(result) == ["It is ten."]


def loudness(result: SimulationResult, from_ms: float, to_ms: float) -> float:
    blocks = [float(abs(pcm.astype(float)).mean()) for at_ms, pcm in result.sound if from_ms <= at_ms < to_ms]
    return sum(blocks) / len(blocks)


def test_ducking_lowers_the_audio() -> None:
    result = Simulation([TIME, Utterance(3000, 3160, "")]).run()
    assert loudness(result, 3060, 3160) < 0.3 * loudness(result, 2800, 2980)
    assert loudness(result, 3400, 3500) == pytest.approx(loudness(result, 2800, 2980), rel=0.1)


def test_speech_without_words_is_not_answered() -> None:
    simulation = Simulation([Utterance(1000, 1500, "")])
    result = simulation.run()
    (record,) = result.records
    assert (record.outcome, record.response_latency_ms, record.no_latency_reason) == ("no words", None, "no words")
    assert simulation.model.asked == []
    assert result.sound_from_ms() is None


def test_recognizer_that_fails_during_speech_loses_nothing() -> None:
    simulation = Simulation([TIME])
    simulation.at(1500, lambda: setattr(simulation.recognizer, "dead", True))
    result = simulation.run()
    (record,) = result.records
    assert record.words is not None
    assert record.words.user == "what time is it"
    assert simulation.recognizer.loads == 1
    assert [event.name for event in record.events].count("error") == 1
    assert "the recognizer has died" in result.problems[0]
    assert "the recognizer has died" in next(event.detail for event in record.events if event.name == "error")


def test_recognizer_that_fails_in_a_long_turn_is_restarted_once() -> None:
    story = [
        Utterance(1000, 33_000, "once upon a time"),
        Utterance(33_160, 33_600, "there was"),
        Utterance(33_760, 34_200, "a king"),
    ]
    simulation = Simulation([*story, Utterance(39_000, 39_800, "what is the date")], length_ms=45_000)
    simulation.turns = TurnSettings(speculate_after_ms=60.0)  # a transcript is requested in every pause
    simulation.at(32_500, lambda: setattr(simulation.recognizer, "dead", True))
    result = simulation.run()
    first, second = result.records
    assert simulation.recognizer.loads == 1
    assert [what.partition(":")[0].partition(",")[0] for what in result.problems] == [
        "speech recognition failed",
        "your last words were lost while scripted recognizer restarted; please repeat them",
        "speech recognition failed",  # reported by the reply
    ]
    assert (first.error, second.error) == ("speech recognition failed", None)


def test_slow_recognizer_restart_gives_an_apology() -> None:
    simulation = Simulation([TIME, Utterance(12_000, 12_800, "what is the date")], length_ms=18_000)
    simulation.recognizer.load_s = 6.0
    simulation.at(1500, lambda: setattr(simulation.recognizer, "dead", True))
    result = simulation.run()
    first, second = result.records
    assert result.chunks[:2] == RECOGNIZER_FAILED.replace(". ", ".|").split("|")
    assert first.error == "speech recognition failed"
    assert second.error is None
    assert second.words is not None
    assert second.words.user == "what is the date"
    assert simulation.recognizer.loads == 1


def test_failed_recognizer_restart_is_repeated_in_the_next_turn() -> None:
    simulation = Simulation([TIME, Utterance(9000, 9800, "what is the date")], length_ms=15_000)
    simulation.recognizer.failing_loads = 2
    simulation.at(1500, lambda: setattr(simulation.recognizer, "dead", True))
    result = simulation.run()
    first, second = result.records
    assert first.error == "speech recognition failed"
    assert second.words is not None
    assert second.words.user == "what is the date"
    assert any("could not be restarted: its model has gone" in trouble for trouble in result.problems)


def test_hanging_recognizer_times_out() -> None:
    simulation = Simulation(
        [TIME, Utterance(9000, 9800, "what is the date")], length_ms=15_000, settings=SessionSettings(stt_timeout_s=1.0)
    )
    simulation.at(1500, lambda: setattr(simulation.recognizer, "hangs", True))
    first, second = simulation.run().records
    assert first.error == "speech recognition failed"
    assert first.stages["stt"].ms == pytest.approx(1000, abs=1)
    assert second.outcome == "answered"
    assert second.error is None


def test_unreachable_model_is_reported() -> None:
    result = Simulation([TIME], replies=(UNREACHABLE,)).run()
    (record,) = result.records
    assert result.chunks == ["I can't reach my language model."]
    assert record.error == "home: refused"
    assert record.outcome == "failed"
    assert record.counted_latency_ms is None
    assert record.response_latency_ms is not None


@pytest.mark.parametrize(
    ("reply", "units", "error"),
    [
        (
            ("It is ten o'clock. And then the", FILTERED),
            ["It is ten o'clock.", "Sorry, my answer breaks off there. My language model declined to answer that."],
            None,
        ),
        (("And then", FILTERED), ["My language model declined to answer that."], None),
        (FILTERED, ["My language model declined to answer that."], "home: filtered"),
    ],
    ids=["after a sentence", "within the first sentence", "before any text"],
)
def test_answer_stopped_by_a_filter_is_incomplete(
    reply: LlmError | tuple[str, LlmError], units: list[str], error: str | None
) -> None:
    result = Simulation([TIME], replies=(reply,)).run()
    (sent,) = result.events_of(ReplySent)
    assert isinstance(sent, ReplySent)
    assert (sent.error, sent.incomplete) == (error, None if error else "content_filter")
    assert result.chunks == units
    assert result.records[0].error == "home: filtered"


def test_empty_answer_is_reported_and_counts_as_model_time() -> None:
    result = Simulation([TIME], replies=("",)).run()
    assert stages_ms(result)["llm_first_token"] == pytest.approx(90, abs=1)
    assert result.chunks == ["My language model gave an empty answer."]
    assert result.records[0].error is not None
    assert "'scripted model' ended its answer without any text" in result.records[0].error


@pytest.mark.parametrize("clean_up_s", [0.0, 7200.0], ids=["cancelled at once", "hanging in its clean-up"])
def test_silent_model_ends_the_turn_as_stuck(clean_up_s: float) -> None:
    simulation = Simulation(
        [TIME, Utterance(14_000, 14_800, "hello")], length_ms=20_000, replies=(None, "Hello there.")
    )
    simulation.model.clean_up_s = clean_up_s
    result = simulation.run()
    first, second = result.records
    assert (first.outcome, first.response_latency_ms) == ("stuck", None)
    assert second.outcome == "answered"
    assert simulation.model.cancelled == 1
    assert result.problems[0] == first.error == "the reply by scripted model made no progress and was stopped"
    assert result.events_of(SpeechStarted)[0] == SpeechStarted(1, 1000.0, ItemId("item_1"))
    assert "llm_first_token" in [span.name for span in first.spans], "what was waited for is in the trace"


def test_catching_up_late_audio_does_not_make_a_reply_stuck() -> None:
    """Audio is six seconds late and caught up at twice its speed, while the model needs six seconds."""
    simulation = Simulation([TIME], length_ms=20_000, late_ms=[0] * 3 + [*range(6000, 0, -250)] + [0] * 13)
    simulation.model.first_token_ms += 6000
    (record,) = simulation.run().records
    assert record.outcome == "answered"


def test_failed_voice_shows_the_reply_and_is_restarted_once_and_awaited() -> None:
    simulation = Simulation([TIME, Utterance(4000, 4600, "hello")], length_ms=12_000)
    simulation.voice.fails, simulation.voice.load_s = True, 2.5
    result = simulation.run()
    first, second = result.records
    assert first.outcome == "failed"
    assert first.error == "the voice has died"
    assert "not spoken: It is ten o'clock." in result.problems[1]
    assert second.outcome == "answered"
    assert simulation.voice.loads == 1


def test_failed_vad_is_replaced_and_reported() -> None:
    simulation = Simulation([TIME, Utterance(6000, 6800, "what is the date")], length_ms=12_000)
    simulation.vad = LoudnessVad("fragile", fails_at_ms=4500)
    result = simulation.run()
    assert [record.outcome for record in result.records] == ["answered", "answered"]
    assert result.problems == ["speech detection failed (the detector's model is broken); spare is used instead"]
    fallback = "vad: spare, instead of a detector that failed: the detector's model is broken"
    assert result.records[1].fallbacks == (fallback,)
    assert result.records[1].engines["vad"] == "spare"


def test_greeting_is_spoken_and_has_no_latency() -> None:
    simulation = Simulation(
        [Utterance(3000, 3800, "what time is it")], settings=SessionSettings(greeting="Hello, I am here.")
    )
    result = simulation.run()
    first, second = result.records
    assert (first.outcome, first.response_latency_ms, first.no_latency_reason) == ("answered", None, "greeting")
    assert second.outcome == "answered"
    assert (first.attempts, second.attempts) == (1, 1), "an answer was begun"
    assert simulation.model.asked[0][1] == Message("assistant", "Hello, I am here.")


def test_trace_has_no_words_by_default() -> None:
    simulation = Simulation([TIME], keep_words=False)
    line = simulation.run().records[0].to_json()
    assert "time" not in line.replace('"no_latency_reason"', "")
    assert "clock." not in line


def test_many_turns_in_a_row_are_answered() -> None:
    utterances = [Utterance(1000 + 4000 * turn, 1600 + 4000 * turn, f"question number {turn}") for turn in range(20)]
    simulation = Simulation(utterances, length_ms=84_000, replies=("Yes.",))
    result = simulation.run()
    assert [record.turn for record in result.records] == list(range(1, 21))
    assert {record.outcome for record in result.records} == {"answered"}
    latencies = [record.response_latency_ms for record in result.records]
    assert max(filter(None, latencies)) - min(filter(None, latencies)) <= 20, "one playout block, no drift"


# ---- regressions ----


def test_voice_failure_during_retraction_leaves_no_error() -> None:
    for resumes_ms in range(2000, 2260, 20):
        utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(resumes_ms, 2700, "with milk")]
        simulation = Simulation(utterances, turns=TurnSettings(hangover_ms=500, speculate_after_ms=100))
        simulation.voice.fails = True
        (record,) = simulation.run().records
        assert record.outcome in {"answered", "failed"}, "as the failing attempt was dropped or committed"


class DyingMicrophone(ScriptedMicrophone):
    """A microphone that is unplugged after four seconds."""

    async def frames(self) -> AsyncGenerator[Frame]:
        async with aclosing(super().frames()) as frames:
            async for frame in frames:
                if frame.end > samples_of_ms(4000):
                    raise AudioError("unplugged")
                yield frame


def test_heard_words_are_kept_when_the_conversation_breaks_off() -> None:
    simulation = Simulation(
        [TIME], replies=("It is ten o'clock. " + "And this goes on for quite a while longer. " * 4,)
    )
    simulation.microphone = DyingMicrophone(simulation.utterances, simulation.length_ms)
    with pytest.raises(ExceptionGroup):
        simulation.run()
    heard = simulation.session.history.items[-1]
    assert isinstance(heard, AssistantMessage)
    assert heard.text == "It is ten o'clock. And this goes on"
    (finished,) = (event for _, event, _ in simulation.events_with_history if isinstance(event, TurnFinished))
    assert finished.record.outcome == "failed"
    assert finished.record.error == "the conversation ended with an error (ExceptionGroup)"
    assert finished.record.words is not None
    assert finished.record.words.assistant == heard.text


def test_leaving_during_speech_writes_a_record() -> None:
    simulation = Simulation([TIME, Utterance(5000, 7000, "this is what I say")], length_ms=6000)
    simulation.at(5500, lambda: simulation.session.announce_end())  # noqa: PLW0108 - there is no session yet
    assert [record.outcome for record in simulation.run().records] == ["answered", "cleared"]


def test_client_measurement_before_speech_end_is_ignored() -> None:
    simulation = Simulation([TIME])

    def measured() -> None:
        assert simulation.session.turns.replying is not None
        simulation.session.on_client_latency(simulation.session.turns.replying, -0.5, 0.0)

    simulation.at(2350, measured)
    (record,) = simulation.run().records
    assert record.response_latency_ms is not None
    assert record.response_latency_ms > 0


def test_microphone_that_ends_during_a_word_loses_no_turn() -> None:
    result = Simulation([Utterance(1000, 3000, "what time is it")], length_ms=2500).run()
    assert [record.outcome for record in result.records] == ["answered"]


def test_endless_last_reply_is_cut_and_recorded() -> None:
    result = Simulation([TIME], length_ms=3000, replies=("well " * 500 + "done.",)).run()
    (record,) = result.records
    assert record.outcome == "interrupted"
    assert record.words is not None
    assert record.words.assistant.startswith("well well")
    assert "cut off" in result.problems[-1]


def test_microphone_without_frames_ends_at_once() -> None:
    result = Simulation([], length_ms=0).run()
    assert result.records == []


def test_recognizer_bug_does_not_end_the_session_or_leak_words() -> None:
    simulation = Simulation([TIME, Utterance(8000, 8800, "what is the date")], length_ms=14_000)
    simulation.recognizer.raises_bug = True
    result = simulation.run()
    first, second = result.records
    assert first.error == "speech recognition failed"
    assert second.outcome == "answered"
    assert "internal error (RuntimeError)" in result.problems[0]
    assert not any("time is it" in trouble for trouble in result.problems)


def test_text_without_audio_is_shown_but_not_in_the_history() -> None:
    simulation = Simulation(
        [TIME, Utterance(8000, 8800, "hello")], length_ms=14_000, replies=("It is ten o'clock. Yes.",)
    )
    simulation.voice.silent = {"Yes."}
    result = simulation.run()
    first, _ = result.records
    assert first.outcome == "answered"
    assert first.words is not None
    assert first.words.assistant == "It is ten o'clock."
    assert "not spoken: Yes." in result.problems
    assert simulation.model.asked[1][2] == Message("assistant", "It is ten o'clock.")


def test_answer_without_audio_fails_and_is_reported() -> None:
    simulation = Simulation([TIME], replies=("Yes.",))
    simulation.voice.silent = {"Yes."}
    result = simulation.run()
    (record,) = result.records
    assert record.outcome == "failed"
    assert record.error is not None
    assert "not spoken: Yes." in result.problems


def test_reply_in_unknown_script_is_told_once_and_shown() -> None:
    simulation = Simulation([TIME], replies=("สวัสดีครับ. ลาก่อน.",), length_ms=12_000)
    simulation.voice.silent = {"สวัสดีครับ. ลาก่อน.", "สวัสดีครับ.", "ลาก่อน."}
    result = simulation.run()
    (record,) = result.records
    assert record.error == "the reply is in Thai; this voice speaks English"
    assert [text for text in simulation.voice.spoken if text.isascii()] == [UNSPEAKABLE]
    assert "not spoken: สวัสดีครับ. ลาก่อน." in result.problems


def test_endless_word_is_told_and_not_spoken_to_its_end() -> None:
    simulation = Simulation([TIME], replies=(f"The key is {'x' * 5000}. Anything else?",), length_ms=60_000)
    result = simulation.run()
    assert sum(text.count("x") for text in simulation.voice.spoken) == 300
    assert simulation.voice.spoken[-1] == "Anything else?"
    assert SHORTENED in result.problems


def test_name_in_unknown_script_is_told_and_the_rest_spoken() -> None:
    result = Simulation([TIME], replies=("He is called สมชาย by his friends.",)).run()
    (record,) = result.records
    assert record.outcome == "answered"
    assert "the reply is in Thai; this voice speaks English" in result.problems


def test_error_of_a_dropped_attempt_is_not_recorded_on_the_turn() -> None:
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(2300, 2900, "with milk")]
    simulation = Simulation(utterances, length_ms=9000, turns=TurnSettings(hangover_ms=700, speculate_after_ms=100))
    simulation.recognizer.raises_bug = True
    (record,) = simulation.run().records
    assert record.attempts == 2
    assert record.error is None


def test_speech_at_the_end_of_a_reply_starts_a_turn() -> None:
    result = Simulation([TIME, Utterance(3460, 4200, "hello")], replies=("It is ten o'clock.",)).run()
    assert [record.outcome for record in result.records] == ["answered", "answered"]
    assert len(result.events_of(SpeechStarted)) == 2


def test_cough_is_recorded_on_the_interrupted_turn() -> None:
    result = Simulation([TIME, Utterance(3000, 3160, ""), Utterance(6000, 6800, "hello")], length_ms=12_000).run()
    first, second = result.records
    assert [round(hearing.onset_ms) for hearing in first.hearings] == [1000, 3000]
    assert [round(hearing.onset_ms) for hearing in second.hearings] == [6000]


def test_dropped_attempt_keeps_its_spans() -> None:
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(1960, 2600, "with milk")]
    simulation = Simulation(utterances, turns=TurnSettings(hangover_ms=400, speculate_after_ms=100))
    (record,) = simulation.run().records
    (wasted,) = [span for span in record.spans if span.dropped and span.name == "llm_first_token"]
    assert wasted.end_ms == pytest.approx(1980, abs=25)


@pytest.mark.parametrize("fails", ["recognizer", "voice"])
def test_session_end_does_not_wait_for_a_restarting_engine(fails: str) -> None:
    simulation = Simulation([TIME], length_ms=3000)
    simulation.recognizer.load_s = simulation.voice.load_s = 25.0
    simulation.recognizer.dead, simulation.voice.fails = fails == "recognizer", fails == "voice"

    async def lasts_s() -> float:
        began_s = asyncio.get_running_loop().time()
        await simulation.run_on_loop()
        return asyncio.get_running_loop().time() - began_s

    assert run_virtual(lasts_s()) < 12, "only the apology is played to its end"


def test_spoken_text_is_not_listed_as_unspoken() -> None:
    simulation = Simulation([TIME], replies=("It is ten o'clock. And all is well. Good night to you.",))
    simulation.at(2450, lambda: setattr(simulation.voice, "fails", True))
    result = simulation.run()
    told = next(trouble for trouble in result.problems if trouble.startswith("not spoken"))
    assert told == "not spoken: And all is well."
    assert result.records[0].outcome == "answered"


# ---- side effects of replies ----


def timer_simulation(utterances: list[Utterance], **more: object) -> Simulation:
    """The second attempt sets a longer timer than the first."""
    simulation = Simulation(utterances, **more)  # type: ignore[arg-type]

    def effect_of(messages: Sequence[Message]) -> SkillEffect | None:
        words = messages[-1].content
        if words == "louder":
            return ChangeVolume(6.0)
        if not words.startswith("set a timer"):
            return None
        return SetTimer(8 if "eight" in words else 3, None, f"Ring: {words}.")

    simulation.skill_effects.effect_of = effect_of
    return simulation


def test_timer_rings_in_the_conversation() -> None:
    utterances = [Utterance(1000, 1800, "set a timer for three seconds")]
    result = timer_simulation(utterances, length_ms=9000, replies=("It is set.",)).run()
    first, second = result.records
    assert result.chunks == ["It is set.", "Ring: set a timer for three seconds."]
    assert (second.response_latency_ms, second.no_latency_reason) == (None, "ring")
    commit_ms = next(event.at_ms for event in first.events if event.name == "commit")
    assert second.playout_start_ms == pytest.approx(commit_ms + 3000, abs=60)


def test_thanks_within_a_second_of_a_confirmation_keep_the_timer() -> None:
    utterances = [Utterance(1000, 1800, "set a timer for three seconds"), Utterance(3100, 3500, "thanks")]
    simulation = timer_simulation(
        utterances,
        length_ms=9000,
        replies=("Your three second timer is set.", "You are welcome."),
        turns=TurnSettings(interrupt_after_ms=40),
    )
    result = simulation.run()
    assert [message.content for message in simulation.model.asked[-1]][-1] == "thanks"
    assert "Ring: set a timer for three seconds." in result.chunks
    assert result.records[0].outcome == "interrupted"
    assert not any(item.withdrawn for item in result.history.items if isinstance(item, AssistantMessage))


def test_timer_rings_after_a_voice_restart() -> None:
    simulation = timer_simulation([], length_ms=9000)
    simulation.at(100, lambda: simulation.skill_effects.timers.apply(SetTimer(3, None, "Ring."), 1000.1))
    simulation.at(2900, lambda: setattr(simulation.voice, "fails", True))
    result = simulation.run()
    assert result.records[0].error is not None
    assert result.chunks == ["Ring."]


@pytest.mark.parametrize(
    ("resumes_ms", "speculate_ms"), [(2300, None), (2040, 100)], ids=["retracted reply", "dropped attempt"]
)
def test_timer_of_an_unheard_reply_is_not_set(resumes_ms: int, speculate_ms: float | None) -> None:
    utterances = [Utterance(1000, 1800, "set a timer for"), Utterance(resumes_ms, resumes_ms + 600, "eight seconds")]
    turns = TurnSettings(hangover_ms=400, speculate_after_ms=speculate_ms)
    result = timer_simulation(utterances, length_ms=16_000, replies=("It is set.",), turns=turns).run()
    assert result.chunks == ["It is set.", "Ring: set a timer for eight seconds."]


def test_louder_takes_effect_with_its_reply() -> None:
    utterances = [TIME, Utterance(5000, 5800, "louder")]
    result = timer_simulation(utterances, length_ms=11_000, replies=("It is ten o'clock.", "Louder.")).run()
    first, second = (record.playout_start_ms for record in result.records)
    assert first is not None
    assert second is not None
    before, after = loudness(result, first + 50, first + 150), loudness(result, second + 20, second + 120)
    assert after == pytest.approx(2 * before, rel=0.1)


LONG_REPLY = "one two three four five six seven eight nine ten eleven twelve"


def requested_into_a_reply(*utterances: Utterance, cancelled: Callable[[Session], None] | None = None) -> Simulation:
    """Requests a reply during one that starts at 2.2 s, and optionally cancels 200 ms later."""
    simulation = Simulation([TIME, *utterances], length_ms=12_000, replies=(LONG_REPLY, "Two.", "Three."))
    simulation.at(2600, lambda: simulation.session.request_reply(after_reply=True))
    if cancelled is not None:
        simulation.at(2800, lambda: cancelled(simulation.session))
    simulation.run()
    return simulation


def test_request_waits_for_the_end_of_the_reply() -> None:
    assert len(requested_into_a_reply().model.asked) == 2


def test_pending_request_is_answered_with_the_next_speech() -> None:
    """Otherwise the speech would be answered twice."""
    assert len(requested_into_a_reply(Utterance(3200, 4000, "no wait")).model.asked) == 2


def test_pending_request_starts_when_the_reply_is_cancelled() -> None:
    assert len(requested_into_a_reply(cancelled=lambda session: session.cancel_reply()).model.asked) == 2
    assert (
        len(requested_into_a_reply(cancelled=lambda session: session.cancel_reply(including_request=True)).model.asked)
        == 1
    )


@pytest.mark.parametrize(
    ("replies", "heard"),
    [
        (
            [("It is ten o'clock. And", LlmUnreachable("home", "refused", spoken=SPOKEN_UNREACHABLE, retryable=True))],
            [
                "It is ten o'clock.",
                "Entschuldigung, meine Antwort bricht dort ab. Ich erreiche mein Sprachmodell gerade nicht.",
            ],
        ),
        (
            [LlmUnreachable("home", "refused", spoken=SPOKEN_UNREACHABLE, retryable=True)],
            ["Ich erreiche mein Sprachmodell gerade nicht."],
        ),
        ([""], ["Mein Sprachmodell hat eine leere Antwort gegeben."]),
    ],
    ids=["breaks off", "unreachable", "empty"],
)
def test_failure_is_told_in_the_language_of_the_conversation(
    replies: list[str | LlmError | tuple[str, LlmError] | None], heard: list[str]
) -> None:
    result = Simulation([TIME], replies=replies, settings=SessionSettings(language="de")).run()
    assert result.chunks == heard


def test_lost_words_are_regretted_in_the_language_of_the_conversation() -> None:
    simulation = Simulation([TIME], length_ms=12_000, settings=SessionSettings(language="fr"))
    simulation.recognizer.load_s = 6.0
    simulation.at(1500, lambda: setattr(simulation.recognizer, "dead", True))
    assert simulation.run().chunks[0].startswith("Désolé, je n'ai pas pu entendre.")
