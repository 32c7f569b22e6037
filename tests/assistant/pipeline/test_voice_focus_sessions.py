"""Whole conversations in which more than one person speaks, in virtual time."""

from dataclasses import dataclass
from itertools import pairwise

from support.conversations.simulation import Simulation, SimulationResult, Utterance
from support.conversations.voices import voice

from assistant.events import Problem, SpeechDiscarded
from assistant.speakers.focus import VoiceFocus
from assistant.turns.settings import FocusThresholds, TurnSettings
from assistant.turns.words.wake_phrase import WakePhrase, WakePhraseGate
from audio.speaker_embedding.embedder import Embedding
from audio.units import Pcm, ms_of_samples, samples_of_s


@dataclass
class Listener:
    """Knows who speaks by the time: each utterance has a person.

    Attributes:
        simulation: The conversation.
        people: The number of the person of each utterance.
    """

    simulation: Simulation
    people: list[int]

    async def embedding(self, _pcm: Pcm) -> Embedding | None:
        now_ms = ms_of_samples(self.simulation.session.context.position())
        begun = [said for said in self.simulation.utterances if said.start_ms < now_ms]
        return voice(self.people[len(begun) - 1])


def conversation(said: list[tuple[int, int, str, int]], *, focus: bool = True) -> Simulation:
    """Returns a conversation of utterances: start and end in ms, words, person."""
    utterances = [Utterance(start, end, words) for start, end, words, _ in said]
    assert all(before.end_ms < after.start_ms for before, after in pairwise(utterances))
    simulation = Simulation(utterances, length_ms=utterances[-1].end_ms + 5000, replies=["It is ten o'clock."] * 9)
    if focus:
        simulation.focus = VoiceFocus("first")
        simulation.speaker_embedder = Listener(simulation, [person for *_, person in said])
        simulation.turns = TurnSettings(focus=FocusThresholds())
    return simulation


def answered(result: SimulationResult) -> list[str]:
    records = [record for record in result.records if record.outcome in {"answered", "interrupted"}]
    return [record.words.user for record in records if record.words is not None]


QUESTION = (1000, 2500, "what time is it", 1)
TELEVISION = (7000, 9500, "and now the weather", 2)
SECOND = (12_000, 13_500, "and in London", 1)


def test_television_is_not_answered_and_own_questions_are() -> None:
    result = conversation([QUESTION, TELEVISION, SECOND]).run()
    assert answered(result) == ["what time is it", "and in London"]
    assert [record.outcome for record in result.records] == ["answered", "other voice", "answered"]
    discarded = [event for _, event in result.events if isinstance(event, SpeechDiscarded)]
    assert [event.reason for event in discarded] == ["other voice"]


def test_without_focus_television_is_answered() -> None:
    result = conversation([QUESTION, TELEVISION, SECOND], focus=False).run()
    assert answered(result) == ["what time is it", "and now the weather", "and in London"]


def test_short_words_of_another_voice_count_as_the_users() -> None:
    result = conversation([QUESTION, (7000, 7200, "yes", 2)]).run()
    assert answered(result) == ["what time is it", "yes"]


def test_turns_have_the_label_of_their_speaker() -> None:
    result = conversation([QUESTION, SECOND]).run()
    assert [record.speaker for record in result.records] == ["S1", "S1"]


def test_wake_phrase_of_another_voice_is_answered() -> None:
    calls = [(1000, 2500, "hey computer what time is it", 1), (7000, 9000, "hey computer and in London", 2)]
    simulation = conversation(calls)
    simulation.wake_phrase = WakePhraseGate(WakePhrase("hey computer"), samples_of_s(8))
    simulation.turns = TurnSettings(focus=FocusThresholds(waits_for_words=True))
    result = simulation.run()
    assert answered(result) == ["what time is it", "and in London"]
    assert [record.speaker for record in result.records] == ["S1", "S2"]


def test_user_is_heard_although_television_was_answered_first() -> None:
    tries = [(7000 + 5000 * number, 9000 + 5000 * number, "what time is it", 1) for number in range(5)]
    result = conversation([(1000, 2500, "and now the weather", 2), *tries]).run()
    assert [record.outcome for record in result.records] == ["answered", *["other voice"] * 4, "answered"]
    told = [event.text for _, event in result.events if isinstance(event, Problem)]
    assert ["is ignored" in told[0], "every voice counts" in told[1]] == [True, True]


def test_embeddings_are_in_no_record() -> None:
    result = conversation([QUESTION, TELEVISION]).run()
    entries = [entry for record in result.records for entry in record.turn_events if entry.startswith("voice ")]
    assert entries
    assert all(len(entry.split()) == 5 for entry in entries)


def test_focus_leaves_the_latency_of_own_turns_as_it_is() -> None:
    latencies = []
    for focus in (True, False):
        result = conversation([QUESTION, SECOND], focus=focus).run()
        latencies.append([record.response_latency_ms for record in result.records])
    assert latencies[0] == latencies[1]
