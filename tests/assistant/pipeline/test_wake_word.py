"""A conversation that sleeps until its wake word is heard, in virtual time."""

import pytest
from support.conversations.simulation import LoudnessVad, Simulation, Utterance

from assistant.events import SpeechStarted, UserTurnCommitted, WakeWordHeard
from assistant.skills.answers import SetTimer
from assistant.turns.settings import InterruptedBy, TurnSettings
from assistant.turns.words.wake_phrase import WakePhrase, WakePhraseGate
from audio.frame import Frame
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.wake import WakeWordDetection
from audio.wake.gate import WakeWordGate
from audio.wake.listener import WakeWordListener

TIME = "what time is it"
DETECTED_AFTER_MS = 100
PASTA = SetTimer(2.0, "pasta", "Your pasta timer is done.")


class ScriptedDetector:
    """Detects a wake word at the end of each utterance that consists of it."""

    def __init__(self, ends_ms: list[int]) -> None:
        self._ends = [samples_of_ms(end_ms) for end_ms in ends_ms]

    def process(self, frame: Frame) -> WakeWordDetection | None:
        for end in self._ends:
            if frame.start <= end + samples_of_ms(DETECTED_AFTER_MS) < frame.end:
                return WakeWordDetection("okay_nabu", Samples(end))
        return None


class BrokenDetector:
    """Fails at each frame."""

    def process(self, frame: Frame) -> WakeWordDetection | None:
        raise RuntimeError("the network is broken")


def sleeping(
    *utterances: Utterance, length_ms: int = 8000, listen_s: float = 8.0, called_ms: tuple[int, ...] = ()
) -> Simulation:
    """Returns a conversation; an utterance "okay nabu" is its wake word."""
    turns = TurnSettings(interrupted_by=InterruptedBy.VOICE if listen_s else InterruptedBy.WAKE_PHRASE)
    simulation = Simulation(utterances, length_ms=length_ms, turns=turns)
    simulation.recognizer.word_by_word = True
    words = [utterance.end_ms for utterance in utterances if utterance.words == "okay nabu"]
    simulation.wake_phrase = WakePhraseGate(
        window=samples_of_s(listen_s), by_sound={"okay_nabu": WakePhrase("okay nabu")}
    )
    gate = WakeWordGate(samples_of_s(max(listen_s, 5.0)), samples_of_s(listen_s))
    simulation.wake_word = WakeWordListener(ScriptedDetector([*words, *called_ms]), gate)
    return simulation


def texts(simulation: Simulation) -> list[str]:
    return [
        event.text for event in simulation.run().events_of(UserTurnCommitted) if isinstance(event, UserTurnCommitted)
    ]


def test_speech_to_others_is_not_even_recognized() -> None:
    simulation = sleeping(Utterance(1000, 2000, "we could go to the beach"))
    result = simulation.run()
    assert simulation.recognizer.streams == []
    assert result.events_of(SpeechStarted) == []
    assert simulation.model.asked == []


def test_question_without_pause_after_the_word_is_whole() -> None:
    simulation = sleeping(Utterance(1000, 1500, "okay nabu"), Utterance(1500, 2500, TIME))
    assert texts(simulation) == [TIME]


def test_question_after_a_pause_is_answered() -> None:
    simulation = sleeping(Utterance(1000, 1500, "okay nabu"), Utterance(4000, 5000, TIME))
    result = simulation.run()
    assert [event.word for event in result.events_of(WakeWordHeard) if isinstance(event, WakeWordHeard)] == [
        "okay_nabu"
    ]
    assert result.chunks


def test_question_after_a_long_pause_is_not_heard() -> None:
    assert texts(sleeping(Utterance(1000, 1500, "okay nabu"), Utterance(11_000, 12_000, TIME), length_ms=14_000)) == []


def test_next_question_needs_no_word_within_the_window() -> None:
    next_one = Utterance(9000, 10_000, "and in Rome")
    simulation = sleeping(Utterance(1000, 1500, "okay nabu"), Utterance(1500, 2500, TIME), next_one, length_ms=14_000)
    assert texts(simulation) == [TIME, "and in Rome"]


def test_speech_after_the_window_is_not_heard() -> None:
    late = Utterance(15_000, 16_000, "we could go to the beach")
    simulation = sleeping(Utterance(1000, 1500, "okay nabu"), Utterance(1500, 2500, TIME), late, length_ms=18_000)
    assert texts(simulation) == [TIME]


def test_word_said_while_awake_is_removed_from_the_words() -> None:
    again = Utterance(6500, 7500, "okay nabu and in Rome")
    simulation = sleeping(
        Utterance(1000, 1500, "okay nabu"), Utterance(1500, 2500, TIME), again, length_ms=12_000, called_ms=(7000,)
    )
    assert texts(simulation) == [TIME, "and in Rome"]


@pytest.mark.parametrize("listen_s", [0.0, 8.0])
def test_word_interrupts_a_reply(listen_s: float) -> None:
    simulation = sleeping(
        Utterance(1000, 1500, "okay nabu"),
        Utterance(1500, 2500, TIME),
        Utterance(6000, 6600, "okay nabu"),
        Utterance(6600, 7500, "stop talking now"),
        length_ms=12_000,
        listen_s=listen_s,
    )
    simulation.model.replies = (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen " * 2,
        "Yes.",
    )
    result = simulation.run()
    assert result.records[0].outcome == "interrupted"


def test_reply_that_says_the_word_is_not_interrupted() -> None:
    simulation = sleeping(
        Utterance(1000, 1500, "okay nabu"), Utterance(1500, 2500, TIME), length_ms=12_000, called_ms=(4500,)
    )
    simulation.model.replies = ("You wake me with the words Okay Nabu and then you ask me what you want to know.",)
    result = simulation.run()
    assert [record.outcome for record in result.records] == ["answered"]
    assert len(result.events_of(WakeWordHeard)) == 1


def test_typed_text_is_answered_while_asleep() -> None:
    simulation = sleeping(length_ms=8000)
    simulation.at(3000, lambda: simulation.session.type("what time is it"))
    assert simulation.run().chunks


def test_unanswered_noise_lets_the_conversation_sleep() -> None:
    simulation = sleeping(Utterance(1000, 1500, "okay nabu"), Utterance(3000, 4000, ""), length_ms=20_000)
    simulation.run()
    assert simulation.wake_word is not None
    assert not simulation.wake_word.awake


def test_word_alone_does_not_cancel_an_answer_in_preparation() -> None:
    simulation = sleeping(
        Utterance(1000, 1500, "okay nabu"),
        Utterance(1500, 2500, TIME),
        length_ms=14_000,
        called_ms=(4000,),
    )
    simulation.model.first_token_ms = 3000
    result = simulation.run()
    assert result.chunks
    assert "answered" in [record.outcome for record in result.records]


def test_speech_that_begins_at_the_end_of_the_window_is_heard() -> None:
    # Awake up to 9500 ms: 8 s after the word.
    simulation = sleeping(Utterance(1000, 1500, "okay nabu"), Utterance(9440, 10_440, TIME), length_ms=14_000)
    simulation.vad = LoudnessVad(probability=0.6)
    assert texts(simulation) == [TIME]


@pytest.mark.parametrize("listen_s", [0.0, 8.0])
def test_ring_of_a_sleeping_conversation_is_stopped_by_voice(listen_s: float) -> None:
    simulation = sleeping(Utterance(6000, 6600, "stop"), length_ms=12_000, listen_s=listen_s)
    simulation.at(0, lambda: simulation.skill_effects.timers.apply(PASTA, 1000.0))
    result = simulation.run()
    assert result.chunks[0] == PASTA.announcement
    assert not simulation.skill_effects.timers.any_set


def test_speech_before_a_ring_is_not_heard() -> None:
    simulation = sleeping(Utterance(500, 1900, "we could go to the beach"), length_ms=5000)
    simulation.at(0, lambda: simulation.skill_effects.timers.apply(PASTA, 1000.0))
    assert simulation.run().events_of(SpeechStarted) == []


def test_detector_that_fails_lets_the_conversation_sleep_on() -> None:
    simulation = sleeping(Utterance(3000, 4000, TIME))
    assert simulation.wake_word is not None
    failures: list[Exception] = []
    simulation.wake_word.detector, simulation.wake_word.on_failure = BrokenDetector(), failures.append
    simulation.run()
    assert simulation.recognizer.streams == []
    assert len(failures) == 1
