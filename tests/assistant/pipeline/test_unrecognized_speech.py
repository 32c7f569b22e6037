"""Clear speech without a recognized word, in virtual time: the user is told, and a likely guess is answered."""

from dataclasses import replace

import pytest
from support.conversations.simulation import LoudnessVad, Simulation, SimulationResult, Utterance

from assistant.events import ReplyStarted, UserTurnCommitted
from assistant.pipeline.engines import SessionSettings
from assistant.pipeline.reply_manager import NO_WORD_RECOGNIZED
from assistant.pipeline.reply_source import GUESSED, UNRECOGNIZED
from audio.frame import Frame
from audio.vad import VadResult

TIME = Utterance(1000, 1600, "what time is it")
LONG, SHORT = Utterance(1000, 3400, "l a b n"), Utterance(1000, 1700, "l a")
CERTAIN, UNCLEAR = 1.0, 0.6


def heard(utterance: Utterance, probability: float = CERTAIN, language: str = "en") -> SimulationResult:
    """Returns what becomes of speech in which the recognizer finds no words at all."""
    simulation = Simulation([utterance], vad=LoudnessVad(probability=probability))
    simulation.recognizer.deaf = True
    simulation.settings = SessionSettings(language=language)
    return simulation.run()


def test_certain_speech_without_words_is_told_aloud() -> None:
    result = heard(LONG)
    (record,) = result.records
    assert result.chunks == ["Sorry, I heard you, but I understood no word.", "Please say it again."]
    assert (record.outcome, record.error) == ("failed", NO_WORD_RECOGNIZED)


def test_apology_is_in_the_language_of_the_conversation() -> None:
    assert "kein Wort verstanden" in " ".join(heard(LONG, language="de").chunks)


def test_short_speech_without_words_is_ignored() -> None:
    result = heard(SHORT)
    assert (result.chunks, result.problems, result.records[0].outcome) == ([], [], "no words")


def test_unclear_speech_without_words_is_ignored() -> None:
    result = heard(LONG, UNCLEAR)
    assert (result.chunks, result.problems, result.records[0].outcome) == ([], [], "no words")


class SometimesCertainVad(LoudnessVad):
    """Is certain of seven frames in ten."""

    frames = 0

    def process(self, frame: Frame) -> VadResult:
        self.frames += 1
        result = super().process(frame)
        return replace(result, probability=0.6) if result.speaking and self.frames % 10 >= 7 else result


@pytest.mark.parametrize("in_call", [False, True])
def test_clear_speech_without_words_is_shown_and_told_in_a_call(in_call: bool) -> None:
    simulation = Simulation([LONG], vad=SometimesCertainVad())
    simulation.recognizer.deaf = True
    simulation.settings = SessionSettings(in_call=in_call)
    result = simulation.run()
    (record,) = result.records
    if in_call:
        assert " ".join(result.chunks) == UNRECOGNIZED
    else:
        assert (result.chunks, result.problems, record.outcome) == ([], [UNRECOGNIZED], "no words")
        assert [event.detail for event in record.events if event.name == "error"] == [NO_WORD_RECOGNIZED]


def test_words_taken_for_noise_are_answered_as_a_guess() -> None:
    simulation = Simulation([LONG])
    simulation.recognizer.takes_for_noise = True
    result = simulation.run()
    (record,) = result.records
    (committed,) = (event for _, event in result.events if isinstance(event, UserTurnCommitted))
    assert (committed.text, committed.low_confidence) == ("l a b n", True)
    assert result.chunks
    assert result.problems == [GUESSED]
    assert (record.outcome, record.rough) == ("answered", True)
    assert "guessed" in [event.name for event in record.events]


def test_words_taken_for_noise_are_dropped_without_certain_speech() -> None:
    simulation = Simulation([LONG], vad=LoudnessVad(probability=UNCLEAR))
    simulation.recognizer.takes_for_noise = True
    assert simulation.run().chunks == []


def test_guess_does_not_keep_a_reply_from_resuming() -> None:
    noise = Utterance(3400, 6200, "a b c")
    simulation = Simulation([TIME, noise], length_ms=16_000, replies=("It is ten o'clock. " * 6,))
    simulation.at(2500, lambda: setattr(simulation.recognizer, "takes_for_noise", True))
    result = simulation.run()
    assert result.problems == []
    assert len(simulation.model.asked) == 1
    assert len(result.events_of(ReplyStarted)) > 1  # the rest of the reply
