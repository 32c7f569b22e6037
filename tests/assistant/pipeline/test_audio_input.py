"""Tests of AudioInput: probability dips, recognizer recovery, language hints."""

from pathlib import Path

import pytest
from support.conversations.simulation import LoudnessVad, Simulation, Utterance

from assistant.config.loading import load_settings
from assistant.events import Problem
from assistant.models.language_hint import language_hint
from assistant.pipeline.engines import SessionSettings
from assistant.pipeline.reply_manager import NO_WORD_RECOGNIZED
from assistant.turns.settings import TurnSettings
from audio.frame import Frame
from audio.units import ms_of_samples
from audio.vad import VadResult


class Unsure(LoudnessVad):
    """A VAD whose speech probability falls step by step at the end of speech."""

    def __init__(self, course: tuple[float, ...]) -> None:
        super().__init__()
        self._course = course
        self._silent_frames = 0

    def process(self, frame: Frame) -> VadResult:
        voicing = super().process(frame)
        self._silent_frames = 0 if voicing.probability else self._silent_frames + 1
        shown = (1.0, *self._course)[min(self._silent_frames, len(self._course))]
        return VadResult(voicing.speaking, voicing.boundary, shown if voicing.speaking else 0.0)


@pytest.mark.parametrize(
    ("course", "dips_ms"),
    [((), [860]), ((0.9, 0.85), [860]), ((0.7,), [820, 860]), ((0.9, 0.4), [840]), ((0.7, 0.45), [820, 840])],
    ids=["steady", "slight fall", "early fall", "steep fall", "two falls"],
)
def test_recognizer_receives_probability_dips(course: tuple[float, ...], dips_ms: list[float]) -> None:
    utterances = [Utterance(1000, 1800, "a small coffee")]
    simulation = Simulation(utterances, length_ms=5000, turns=TurnSettings(pre_roll_ms=0), vad=Unsure(course))
    simulation.run()
    [stream] = simulation.recognizer.streams
    assert [ms_of_samples(at) for at in stream.dips] == pytest.approx(dips_ms, abs=1)


def test_recognizer_that_fails_at_a_dip_is_reloaded() -> None:
    simulation = Simulation(
        [Utterance(1000, 1800, "a small coffee"), Utterance(6000, 6800, "with milk")], length_ms=10_000
    )
    simulation.recognizer.fails_at_dip = True
    simulation.run()
    assert simulation.recognizer.loads >= 1, "the conversation goes on with a recognizer that was loaded again"


@pytest.mark.parametrize("words", ["share this test of order", ""], ids=["improbable words", "no words"])
def test_speech_in_another_language_gives_one_hint(words: str) -> None:
    utterances = [Utterance(1000, 3200, words), Utterance(8000, 10200, words)]
    settings = SessionSettings(language_hint=lambda code: f"is {code}?")
    simulation = Simulation(utterances, length_ms=14000, replies=("Yes.", "Yes."), settings=settings)
    simulation.recognizer.other_language = "de"
    result = simulation.run()
    problems = [(at_ms, event.text) for at_ms, event in result.events if isinstance(event, Problem)]
    hints = [(at_ms, what) for at_ms, what in problems if what != NO_WORD_RECOGNIZED]
    assert [what for _, what in hints] == ["is de?"]
    assert 3200 < hints[0][0] < 8000
    (told,) = [event for record in result.records for event in record.events if event.name == "language"]
    assert told.detail == "de"


def test_understood_speech_gives_no_language_hint() -> None:
    simulation = Simulation([Utterance(1000, 3200, "a small coffee")], settings=SessionSettings(language_hint=str))
    assert not any(isinstance(event, Problem) for _, event in simulation.run().events)


@pytest.mark.parametrize(
    ("overrides", "language", "hint"),
    [
        ((), "de", 'this sounded like German, but assistant.language is "en": to speak German, start with --set'),
        (
            (),
            "?",
            "if this was not English, start with --set assistant.language=de (de is German); download the model first: "
            "repartee models pull base",
        ),
        (
            ("stt.model=tiny.en",),
            "?",
            "if this was not English, start with --set assistant.language=de --set stt.model=tiny",
        ),
        (
            ("stt.model=base.en",),
            "?",
            "stt.model=base (de is German); download the model first: repartee models pull",
        ),
        (("assistant.language=fr", "stt.model=small"), "pt", "--set assistant.language=pt"),
    ],
    ids=["known language", "unknown language", "smallest model", "English-only model", "other configured language"],
)
def test_language_hint_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: tuple[str, ...], language: str, hint: str
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert hint in language_hint(load_settings(None, {}, overrides).settings, language)
