"""Whole conversations with wake phrase, push-to-talk and other actions of the user, in virtual time."""

import asyncio
import json

import pytest
from support.clocks.virtual_time import run_virtual
from support.conversations.simulation import Simulation, SimulationResult, Utterance

from assistant.events import InterimWords, ReplyStopped, SpeechDiscarded, SpeechStarted, UserTurnCommitted
from assistant.history.items import AssistantMessage, UserMessage
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, InterruptedBy, TurnSettings
from assistant.turns.words.wake_phrase import WakePhrase, WakePhraseGate
from audio.stt import Transcript
from audio.units import Samples, samples_of_s

EAGER = TurnSettings(speculate_after_ms=100.0)
BY_NAME = TurnSettings(speculate_after_ms=100.0, interrupted_by=InterruptedBy.WAKE_PHRASE)
HELD = TurnSettings(speculate_after_ms=100.0, ends_turn=EndsTurn.PUSH_TO_TALK)


def listener(listen_s: float = 4.0) -> WakePhraseGate:
    return WakePhraseGate(WakePhrase("hey computer"), samples_of_s(listen_s))


def asked(simulation: Simulation) -> list[str]:
    """Returns the last message of every request to the model."""
    return [messages[-1].content for messages in simulation.model.asked]


def said(result: SimulationResult) -> list[str]:
    return [item.text for item in result.history.items if isinstance(item, UserMessage)]


def report_interim(simulation: Simulation, text: str) -> None:
    """Sets the interim words of the recognizer."""
    stream = simulation.recognizer.streams[-1]
    stream.on_interim(Transcript(stream.segment, Samples(stream.segment + stream.fed_samples), text))


# ---- the wake phrase ----


def test_only_addressed_speech_is_answered_and_other_only_counted() -> None:
    secret = Utterance(500, 1500, "the doctor said it is serious")
    simulation = Simulation(
        [secret, Utterance(3000, 4000, "hey computer what time is it")], wake_phrase=listener(), turns=EAGER
    )
    result = simulation.run()
    assert asked(simulation) == ["what time is it"]
    assert said(result) == ["what time is it"]
    (record,) = result.records
    assert (record.outcome, record.counters["overheard"]) == ("answered", 1)
    assert record.words is not None
    assert record.words.user == "what time is it"
    assert len(record.hearings) == 1
    voiced = [entry.split() for entry in record.turn_events if entry.startswith("frames") and entry.split()[3] == "1"]
    assert all(int(end) > 3000 * 16 for _, end, *_ in voiced), "the trace tells how somebody else spoke"
    assert record.turn_events_before > 0, "the gap is to be seen"
    assert "doctor" not in json.dumps(record.to_json())
    assert [event.reason for event in result.events_of(SpeechDiscarded) if isinstance(event, SpeechDiscarded)] == [
        "overheard"
    ]


def test_window_after_a_reply_needs_no_phrase_and_closes() -> None:
    simulation = Simulation(
        [
            Utterance(500, 1500, "hey computer what time is it"),
            Utterance(5500, 6000, "and the date"),
            Utterance(15000, 15500, "dinner is ready"),
        ],
        length_ms=17000,
        wake_phrase=listener(),
        turns=EAGER,
    )
    result = simulation.run()
    assert asked(simulation) == ["what time is it", "and the date"]
    assert [record.outcome for record in result.records] == ["answered", "answered"]


def test_phrase_alone_is_acknowledged_and_next_speech_is_answered() -> None:
    simulation = Simulation(
        [Utterance(500, 1200, "hey computer"), Utterance(3000, 3800, "what time is it")],
        wake_phrase=listener(0),
        turns=EAGER,
    )
    result = simulation.run()
    assert asked(simulation) == ["what time is it"]
    assert [event.reason for event in result.events_of(SpeechDiscarded) if isinstance(event, SpeechDiscarded)] == [
        "called"
    ]
    assert [record.outcome for record in result.records] == ["called", "answered"]


def test_side_talk_is_hidden_and_its_recognition_errors_are_silent() -> None:
    simulation = Simulation([Utterance(500, 1500, "the doctor said")], wake_phrase=listener(), turns=EAGER)
    simulation.at(1000, lambda: report_interim(simulation, "the doctor"))
    simulation.at(1400, lambda: setattr(simulation.recognizer, "raises_bug", True))
    result = simulation.run()
    assert result.events_of(InterimWords) == []
    assert (simulation.voice.spoken, result.records) == ([], [])


def test_only_words_after_the_phrase_are_shown() -> None:
    heard = "the doctor said it is serious. hey computer what time is it"
    simulation = Simulation([Utterance(500, 1500, heard)], wake_phrase=listener(), turns=EAGER)
    simulation.at(1300, lambda: report_interim(simulation, "the doctor said it is serious. hey computer"))
    simulation.at(1400, lambda: report_interim(simulation, heard))
    result = simulation.run()
    assert [event.text for event in result.events_of(InterimWords) if isinstance(event, InterimWords)] == [
        "hey computer",
        "what time is it",
    ]
    assert said(result) == ["what time is it"]
    assert [partial.words for partial in result.records[0].hearings[0].partials] == [2, 4]


@pytest.mark.parametrize("until_ms", [3500, 9000], ids=["ends during the reply", "ends after the reply"])
def test_side_talk_during_a_reply_is_in_no_record(until_ms: int) -> None:
    """The side talk may end before or after the reply."""
    simulation = Simulation(
        [Utterance(500, 1500, "hey computer tell me a story"), Utterance(3000, until_ms, "the doctor said")],
        length_ms=11000,
        replies=["Once upon a time there was a king who had three sons and a castle."],
        wake_phrase=listener(0),
        turns=BY_NAME,
    )
    (record,) = simulation.run().records
    voiced = [entry.split() for entry in record.turn_events if entry.startswith("frames") and entry.split()[3] == "1"]
    assert [end for _, end, *_ in voiced if int(end) > 1600 * 16] == []
    assert len(record.hearings) == 1


@pytest.mark.parametrize("cut_by", ["typing", "length"])
def test_side_talk_after_an_interruption_is_in_no_record(cut_by: str) -> None:
    """The user may type meanwhile, or the side talk may be longer than a turn may be."""
    longest_s = 60.0 if cut_by == "typing" else 2.0
    simulation = Simulation(
        [Utterance(500, 4500, "the doctor said it is serious"), Utterance(6000, 7000, "hey computer what time is it")],
        length_ms=11000,
        replies=["One two three four."] * 2,
        wake_phrase=listener(0),
        turns=TurnSettings(speculate_after_ms=100.0, max_turn_s=longest_s),
    )
    if cut_by == "typing":
        simulation.at(1500, lambda: simulation.session.type("what time is it"))
    records = simulation.run().records
    assert [record.outcome for record in records] == ["answered"] * len(records)
    told = [entry.split() for record in records for entry in record.turn_events if entry.startswith("frames")]
    voiced = [int(end) for _, end, _, speaking, *_ in told if speaking == "1"]
    assert min(voiced) > 6000 * 16, "the trace tells how somebody else spoke"


def test_aborted_conversation_contains_no_side_talk() -> None:
    simulation = Simulation([Utterance(500, 5500, "the doctor said")], wake_phrase=listener(), turns=EAGER)

    async def break_off() -> None:
        async with asyncio.timeout(3):
            await simulation.run_on_loop()

    with pytest.raises(TimeoutError):
        run_virtual(break_off())
    events = [event for _, event, _ in simulation.events_with_history]
    assert [type(event) for event in events] == [SpeechStarted], "and no record"


def test_speech_interrupts_within_the_window() -> None:
    simulation = Simulation(
        [Utterance(500, 1500, "hey computer tell me a story"), Utterance(3500, 4500, "stop it")],
        replies=["Once upon a time there was a king who had three sons and a castle.", "All right."],
        wake_phrase=listener(),
        turns=EAGER,
    )
    simulation.run()
    assert asked(simulation) == ["tell me a story", "stop it"]


@pytest.mark.parametrize("partial_ms", [3700, None], ids=["with interim transcript", "without interim transcript"])
@pytest.mark.parametrize(
    ("heard", "outcome"),
    [("stop it please", "answered"), ("hey computer stop", "interrupted")],
    ids=["without phrase", "with phrase"],
)
def test_only_the_phrase_interrupts_without_a_window(heard: str, outcome: str, partial_ms: int | None) -> None:
    simulation = Simulation(
        [Utterance(500, 1500, "hey computer tell me a story"), Utterance(3000, 4000, heard)],
        replies=["Once upon a time there was a king who had three sons and a castle.", "All right."],
        wake_phrase=listener(0),
        turns=BY_NAME,
    )
    if partial_ms is not None:
        simulation.at(partial_ms, lambda: report_interim(simulation, heard))
    result = simulation.run()
    assert result.records[0].outcome == outcome
    assert asked(simulation)[1:] == (["stop"] if outcome == "interrupted" else [])
    hearings = result.records[0].hearings
    assert len(hearings) == 1, "of a voice that was not meant for us nothing is kept"


# ---- push-to-talk ----


def held(simulation: Simulation, *spans: tuple[int, int]) -> None:
    for press_ms, release_ms in spans:
        simulation.at(press_ms, lambda: simulation.session.set_push_to_talk(pressed=True))
        simulation.at(release_ms, lambda: simulation.session.set_push_to_talk(pressed=False))


def test_turn_is_the_speech_while_the_key_was_held() -> None:
    simulation = Simulation(
        [
            Utterance(200, 700, "not for you"),
            Utterance(1500, 2500, "what time"),
            Utterance(3500, 4000, "is it"),
            Utterance(5000, 9000, "no"),
        ],
        length_ms=10000,
        turns=HELD,
        push_to_talk=PushToTalk(),
    )
    held(simulation, (1400, 4300))
    result = simulation.run()
    assert said(result) == ["what time is it"]
    (record,) = result.records
    assert record.speech_end_ms == pytest.approx(4300, abs=21), "the latency counts from the release"
    assert record.endpoint_ms == pytest.approx(4300, abs=21), "the pause of a second ended nothing, the release did"
    assert record.response_latency_ms is not None
    assert record.response_latency_ms < 60, "the reply was prepared before the release"


@pytest.mark.parametrize("begins_ms", [1780, 1860, 1940], ids="onset at {} ms".format)
def test_word_starting_just_before_the_release_is_kept(begins_ms: int) -> None:
    """A word of 250 ms; the key is released at 1960 ms, and the reply waits only for the end of the word."""
    utterances = [Utterance(1000, 1500, "lights"), Utterance(begins_ms, begins_ms + 250, "on")]
    simulation = Simulation(utterances, turns=HELD, push_to_talk=PushToTalk())
    simulation.recognizer.word_by_word = True
    held(simulation, (900, 1960))
    result = simulation.run()
    assert said(result) == ["lights on"]
    assert result.records[0].endpoint_ms == pytest.approx(begins_ms + 250, abs=41)


def test_speech_after_the_release_adds_at_most_a_word() -> None:
    utterances = [
        Utterance(1000, 1900, "what time is it"),
        Utterance(1900, 4900, "none of this is meant for anybody here"),
    ]
    simulation = Simulation(utterances, turns=HELD, push_to_talk=PushToTalk())
    simulation.recognizer.word_by_word = True
    held(simulation, (900, 1900))
    result = simulation.run()
    assert said(result) == ["what time is it none"]  # 375 ms each
    assert result.records[0].endpoint_ms == pytest.approx(2200, abs=41)


def test_touching_the_key_stops_a_reply_without_a_turn() -> None:
    simulation = Simulation(
        [Utterance(500, 1500, "tell me a story"), Utterance(4000, 4500, "not for you")],
        replies=["Once upon a time there was a king who had three sons and a castle."],
        turns=HELD,
        push_to_talk=PushToTalk(),
    )
    held(simulation, (400, 1600), (4100, 4160))
    result = simulation.run()
    assert [record.outcome for record in result.records] == ["interrupted", "cleared"]
    assert said(result) == ["tell me a story"]


def test_key_released_too_early_and_pressed_again_continues() -> None:
    simulation = Simulation(
        [Utterance(500, 1500, "what time"), Utterance(1700, 2500, "is it in paris")],
        turns=HELD,
        push_to_talk=PushToTalk(),
    )
    simulation.recognizer.delay_ms = 300
    held(simulation, (400, 1500), (1600, 2600))
    result = simulation.run()
    assert said(result) == ["what time is it in paris"]
    assert simulation.model.asked[-1][-1].content == "what time is it in paris"


def test_held_key_without_speech_is_no_turn() -> None:
    simulation = Simulation([Utterance(5000, 5500, "later")], turns=HELD, push_to_talk=PushToTalk())
    held(simulation, (500, 2000))
    result = simulation.run()
    assert result.records == []
    assert said(result) == []
    assert result.events_of(SpeechStarted) == []


def test_end_of_the_microphone_ends_the_held_turn() -> None:
    simulation = Simulation(
        [Utterance(500, 1500, "what time is it")], length_ms=2000, turns=HELD, push_to_talk=PushToTalk()
    )
    simulation.at(400, lambda: simulation.session.set_push_to_talk(pressed=True))
    result = simulation.run()
    assert said(result) == ["what time is it"]
    assert [record.outcome for record in result.records] == ["answered"]


# ---- other actions of the user ----


def test_last_reply_is_repeated_without_a_request() -> None:
    simulation = Simulation([Utterance(500, 1500, "what time is it")], length_ms=9000)
    again: list[bool] = []
    simulation.at(100, lambda: again.append(simulation.session.repeat()))
    simulation.at(5000, lambda: again.append(simulation.session.repeat()))
    result = simulation.run()
    assert again == [False, True]
    assert len(simulation.model.asked) == 1
    assert simulation.voice.spoken == ["It is ten o'clock.", "Anything else?"] * 2
    last = result.records[-1]
    assert (last.outcome, last.response_latency_ms, last.no_latency_reason) == ("answered", None, "repeated")
    texts = [item.text for item in result.history.items if isinstance(item, AssistantMessage)]
    assert texts == ["It is ten o'clock. Anything else?"] * 2


def test_playing_reply_restarts_when_repeated() -> None:
    simulation = Simulation([Utterance(500, 1500, "what time is it")], length_ms=9000)
    simulation.at(2600, lambda: [simulation.session.repeat()])
    result = simulation.run()
    (cut,) = result.events_of(ReplyStopped)
    assert isinstance(cut, ReplyStopped)
    assert cut.reason == "requested"
    assert [record.outcome for record in result.records] == ["interrupted", "answered"]
    assert len(simulation.model.asked) == 1


def test_typed_text_is_answered_without_latency() -> None:
    simulation = Simulation([])
    simulation.at(500, lambda: simulation.session.type("  what time is it "))
    simulation.at(600, lambda: simulation.session.type("   "))
    result = simulation.run()
    assert result.history.items[0] == UserMessage(result.history.items[0].id, "what time is it", False)
    (record,) = result.records
    assert (record.outcome, record.response_latency_ms, record.no_latency_reason) == ("answered", None, "requested")


@pytest.mark.parametrize("typed_ms", [700, 1100, 1900, 2500], ids="typed at {} ms".format)
def test_text_typed_during_speech_is_answered_first(typed_ms: int) -> None:
    simulation = Simulation(
        [Utterance(500, 2600, "what time is it in london now")], 12_000, replies=["Blue. As ever.", "It is ten."]
    )
    simulation.recognizer.word_by_word = True
    simulation.at(typed_ms, lambda: simulation.session.type("and the sky"))
    result = simulation.run()
    assert said(result) == ["and the sky", "what time is it in london now"]
    assert asked(simulation) == ["and the sky", "what time is it in london now"]
    assert result.chunks == ["Blue.", "As ever.", "It is ten."]
    sound_ms = result.sound_from_ms()
    assert sound_ms is not None
    assert sound_ms == pytest.approx(typed_ms + 160, abs=40), "it does not wait"
    outcomes = [record.outcome for record in result.records]
    assert outcomes == ["requested", "answered", "answered"]
    assert result.records[-1].speech_end_ms == pytest.approx(2600, abs=21)


def test_side_talk_while_typing_is_discarded() -> None:
    """The window that the reply opens does not apply to speech that began before it."""
    simulation = Simulation(
        [Utterance(500, 2600, "did you see the match")],
        wake_phrase=WakePhraseGate(WakePhrase("hey computer"), samples_of_s(8.0)),
    )
    simulation.at(1500, lambda: simulation.session.type("and the sky"))
    result = simulation.run()
    assert said(result) == ["and the sky"]
    assert len(simulation.model.asked) == 1


def test_text_typed_before_a_transcript_keeps_the_order() -> None:
    simulation = Simulation([Utterance(500, 1500, "what time is it")], replies=["Ten.", "Blue."])
    simulation.recognizer.delay_ms = 800
    simulation.at(2100, lambda: simulation.session.type("and the sky"))
    result = simulation.run()
    assert said(result) == ["what time is it", "and the sky"]
    assert asked(simulation)[-1] == "and the sky"
    taken = [event.origin for event in result.events_of(UserTurnCommitted) if isinstance(event, UserTurnCommitted)]
    assert taken == ["spoken", "requested"]
