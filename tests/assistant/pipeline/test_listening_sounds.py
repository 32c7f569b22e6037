"""Listening sounds in a conversation: heard in a pause, part of no reply, and their echo is no word of the user."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.conversations.simulation import Simulation, SimulationResult, Utterance

from assistant.end_of_turn.estimator import PATIENT, EndOfTurnEstimate, EndOfTurnEvidence
from assistant.history.items import AssistantMessage, UserMessage
from assistant.pipeline.listening_sounds import GAIN_DB, ListeningSound
from assistant.replay.event_replay import DECISIONS, events_of, replay_events
from assistant.trace.record import TurnRecord
from assistant.trace_report.waterfall import waterfall
from assistant.turns.log.event_entries import parse_entries
from assistant.turns.settings import ListeningSoundThresholds, TurnSettings
from audio.level import rms_dbfs
from audio.units import REPLY_RATE_HZ, Pcm

SETTINGS = TurnSettings(speculate_after_ms=40, profile=PATIENT, listening_sounds=ListeningSoundThresholds())
ENDS_AT_1050_MS = replace(SETTINGS, profile=replace(PATIENT, unfinished_ms=1050, pausing_ms=1000))
STOPS = [Utterance(200, 1200, "i would like to")]
GOES_ON = [*STOPS, Utterance(2600, 3600, "order a pizza")]
GOES_ON_SOON = [*STOPS, Utterance(2000, 3000, "order a pizza")]
SAID = "i would like to order a pizza"
REPLY = "It is ordered. Anything else?"


def tone(length_ms: int) -> Pcm:
    at = np.arange(REPLY_RATE_HZ * length_ms // 1000)
    made: Pcm = np.rint(6000 * np.sin(at * (2 * np.pi * 200 / REPLY_RATE_HZ))).astype(np.int16)
    return made


class FinishedWith:
    """Estimates that the turn is finished if its words end with the last word."""

    def __init__(self, last_word: str) -> None:
        self.last_word = last_word

    def estimate(self, evidence: EndOfTurnEvidence) -> EndOfTurnEstimate:
        finished = (evidence.text or "").endswith(self.last_word)
        return EndOfTurnEstimate(0.98 if finished else 0.02, evidence.silence_ms, 650.0, "sound")


def simulation(
    parts: Sequence[Utterance] = GOES_ON,
    settings: TurnSettings = SETTINGS,
    *,
    sound_ms: int = 400,
    recognized: Sequence[Utterance] = (),
) -> Simulation:
    """`recognized`: further words of the recognizer, without speech."""
    made = Simulation(parts, replies=(REPLY,), turns=settings, end_of_turn=FinishedWith("pizza"))
    made.listening_sound = ListeningSound("Mm-hmm.", tone(sound_ms))
    made.recognizer.utterances = sorted([*parts, *recognized], key=lambda part: part.start_ms)
    return made


def without_sounds(settings: TurnSettings = SETTINGS) -> TurnSettings:
    return replace(settings, listening_sounds=None)


def texts(result: SimulationResult) -> list[str]:
    return [item.text for item in result.history.items if isinstance(item, UserMessage | AssistantMessage)]


def listening(record: TurnRecord) -> list[tuple[str, str]]:
    return [(event.name, event.detail) for event in record.events if event.name.startswith("listening")]


def sound_between(result: SimulationResult, begin_ms: float, end_ms: float) -> Pcm:
    return np.concatenate([pcm for at_ms, pcm in result.sound if begin_ms <= at_ms < end_ms])


def test_sound_is_heard_in_the_pause_and_belongs_to_no_reply() -> None:
    result, without = simulation().run(), simulation(settings=without_sounds()).run()
    [record], [expected] = result.records, without.records
    began_ms = result.sound_from_ms()
    assert began_ms == pytest.approx(1920, abs=25)
    assert rms_dbfs(sound_between(result, 1960, 2260)) == pytest.approx(rms_dbfs(tone(400)) + GAIN_DB, abs=0.5)
    assert not sound_between(result, 2400, 2600).any()
    assert texts(result) == texts(without) == [SAID, REPLY]
    assert record.outcome == "answered"
    assert (record.response_latency_ms, record.stages) == (expected.response_latency_ms, expected.stages)
    assert record.playout_start_ms == expected.playout_start_ms
    assert record.words == expected.words
    assert listening(record) == [("listening_sound", "")]
    assert listening(expected) == []


def test_sound_is_as_loud_as_replies_allow() -> None:
    quiet = simulation()
    quiet.skill_effects.gain_db = -10.0
    result = quiet.run()
    assert rms_dbfs(sound_between(result, 1960, 2260)) == pytest.approx(rms_dbfs(tone(400)) + GAIN_DB - 10, abs=0.5)


def test_sound_stops_when_the_user_goes_on() -> None:
    result = simulation(GOES_ON_SOON, sound_ms=800).run()
    [record] = result.records
    assert sound_between(result, 1960, 2000).any()
    assert not sound_between(result, 2080, 2200).any()
    [played, cut] = listening(record)
    assert played == ("listening_sound", "")
    assert cut[0] == "listening_sound_cut"
    assert 80 <= float(cut[1].removeprefix("after ").removesuffix(" ms")) <= 140
    assert texts(result) == [SAID, REPLY]


def test_reply_replaces_the_sound_and_is_not_delayed() -> None:
    """The user does not go on: the turn ends 1050 ms after the speech, in the middle of the sound."""
    settings = (ENDS_AT_1050_MS, without_sounds(ENDS_AT_1050_MS))
    result, without = results = [simulation(STOPS, each, sound_ms=900).run() for each in settings]
    record, expected = result.records[0], without.records[0]
    assert listening(record) == [("listening_sound", "")]
    assert record.response_latency_ms == expected.response_latency_ms
    assert record.playout_start_ms is not None
    begin_ms = record.playout_start_ms
    assert sound_between(result, begin_ms - 60, begin_ms - 20).any()
    reply, expected_reply = (sound_between(one, begin_ms + 20, begin_ms + 1000) for one in results)
    assert np.array_equal(reply, expected_reply)


def test_echo_of_the_sound_is_no_word_of_the_user() -> None:
    echo = Utterance(1950, 2300, "Mm-hmm.")
    result = simulation(recognized=[echo]).run()
    assert texts(result) == [SAID, REPLY]
    without = simulation(settings=without_sounds(), recognized=[echo]).run()
    assert texts(without)[0] == "i would like to Mm-hmm. order a pizza"


def test_echo_of_the_sound_begins_no_turn() -> None:
    """The sound ends with the turn, and its echo is detected as speech during the reply."""
    result = simulation([*STOPS, Utterance(2400, 2500, "Mhm.")], ENDS_AT_1050_MS, sound_ms=900).run()
    assert texts(result) == ["i would like to", REPLY]
    assert [record.outcome for record in result.records] == ["answered"]


def test_sound_of_another_turn_removes_no_words() -> None:
    result = simulation([*GOES_ON, Utterance(6200, 6700, "mhm pizza")]).run()
    assert texts(result) == [SAID, REPLY, "mhm pizza", REPLY]


def test_replay_makes_the_same_sounds() -> None:
    result = simulation().run()
    told = [entry for record in result.records for entry in record.turn_events]
    replayed = events_of(replay_events(parse_entries(told)))
    [record] = result.records
    decided = [(event.name, event.detail) for event in record.events if event.name in DECISIONS]
    assert ("listening_sound", "") in decided
    assert replayed[1] == decided


def test_trace_show_names_the_sounds() -> None:
    result = simulation(GOES_ON_SOON, sound_ms=800).run()
    shown = "\n".join(waterfall(json.loads(result.records[0].to_json())))
    assert "listening    a sound, " in shown
    assert "listening    it was cut after " in shown
