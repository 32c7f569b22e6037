"""The model on this machine stands in for an endpoint that is gone: spoken once, shown once, and in the trace."""

import logging
import random

import pytest
from support.conversations.simulation import WORD_MS, ScriptedModel, Simulation, SimulationResult, Utterance
from support.engines.scripted_tools import CallingModel, ScriptedTools, calls, looked_up

from assistant.history.cut_to_heard import SpokenTranscript
from assistant.history.history import History
from assistant.history.items import AssistantMessage
from assistant.pipeline.engines import SessionSettings
from assistant.setup.derived_settings import FALLBACK_NOTICES
from assistant.turns.events import ReplyId
from assistant.turns.settings import TurnSettings
from audio.tts import WordMark
from audio.units import reply_samples_of_ms
from llm.errors import LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router

TURNS = 6
EVERY_MS = 12_000
NOTICE = FALLBACK_NOTICES["en"]
GONE = LlmUnreachable("cloud", "refuses connections", spoken="", retryable=True)


def run_turns(*, gone_in: int, back_in: int) -> tuple[SimulationResult, list[ScriptedModel]]:
    """The endpoint is gone in the turns from `gone_in` to before `back_in`."""
    utterances = [Utterance(turn * EVERY_MS + 200, turn * EVERY_MS + 900, "how tall is it") for turn in range(TURNS)]
    simulation = Simulation(
        utterances,
        length_ms=TURNS * EVERY_MS,
        turns=TurnSettings(hangover_ms=240),
        settings=SessionSettings(fallback_notice=NOTICE),
    )
    models = [
        ScriptedModel(["From the cloud."], first_token_ms=100, name="cloud"),
        ScriptedModel(["From this machine."], first_token_ms=50, name="here"),
    ]
    routing = Routing(
        [Endpoint("cloud"), Endpoint("here", tier=10, fallback=True)],
        "latency",
        HedgeBudget(0.1),
        random.Random(1).random,
    )
    simulation.model = Router(models, routing, first_token_timeout_s=8.0)  # type: ignore[assignment]
    simulation.at((gone_in - 1) * EVERY_MS, lambda: setattr(models[0], "replies", [GONE]))
    simulation.at((back_in - 1) * EVERY_MS, lambda: setattr(models[0], "replies", ["From the cloud."]))
    return simulation.run(), models


def test_notice_is_given_once_in_all_places(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        result, _ = run_turns(gone_in=2, back_in=5)
    by = [record.engines["answered_by"] for record in result.records]
    assert by == ["cloud", *["here"] * 3, *by[4:]]
    assert by[-1] == "cloud"
    said = [text for text in result.chunks if "smaller one" in text]
    assert len(said) == 1
    assert result.problems == [
        "no other llm endpoint can answer, so here on this machine does: check the network, and `repartee endpoints`"
    ]
    assert [any(event.name == "fallback" for event in record.events) for record in result.records] == [
        answered == "here" for answered in by
    ]
    logged = [record.getMessage() for record in caplog.records]
    assert len([text for text in logged if "on this machine does" in text]) == 1
    assert len([text for text in logged if "'cloud' answers again" in text]) == 1


def test_notice_is_not_part_of_the_history() -> None:
    result, models = run_turns(gone_in=2, back_in=5)
    answers = [item.text for item in result.history.items if isinstance(item, AssistantMessage)]
    assert answers[:4] == ["From the cloud.", *["From this machine."] * 3]
    assert all(item.complete for item in result.history.items if isinstance(item, AssistantMessage))
    sent = [message.content for model in models for messages in model.asked for message in messages]
    assert "From this machine." in sent
    assert not [text for text in sent if "smaller one" in text]
    (words,) = [record.words for record in result.records if record.words and "smaller" in record.words.assistant]
    assert words.assistant == f"{NOTICE} From this machine."  # it was heard


@pytest.mark.parametrize(
    ("heard_ms", "answer"), [(1000, ""), (15 * WORD_MS, ""), (16 * WORD_MS + 100, "From"), (9000, "From this machine.")]
)
def test_history_has_no_word_of_a_notice_that_is_interrupted(heard_ms: int, answer: str) -> None:
    transcript = SpokenTranscript()
    transcript.begin_chunk(NOTICE, is_notice=True)
    transcript.add_audio(reply_samples_of_ms(15 * WORD_MS), marks_of(NOTICE))
    transcript.begin_chunk("From this machine.")
    transcript.add_audio(reply_samples_of_ms(3 * WORD_MS), marks_of("From this machine."))
    history = History("", 20)
    reply_id = ReplyId(1, 1)
    item = history.add_reply(reply_id, transcript)
    heard = history.set_heard(reply_id, reply_samples_of_ms(heard_ms), complete=heard_ms == 9000)
    assert history.find(item) == AssistantMessage(item, answer, complete=heard_ms == 9000)
    assert heard.startswith(NOTICE[: heard_ms // 100])
    assert [message.content for message in history.messages()] == [answer] * bool(answer)
    assert history.truncate(item, reply_samples_of_ms(heard_ms)) == answer
    assert history.truncate(item, reply_samples_of_ms(1000)) == ""


def marks_of(text: str) -> tuple[WordMark, ...]:
    marks, at = [], 0
    for number, word in enumerate(text.split()):
        at = text.index(word, at) + len(word)
        start, end = number * WORD_MS, (number + 1) * WORD_MS
        marks.append(WordMark(at - len(word), at, reply_samples_of_ms(start), reply_samples_of_ms(end)))
    return tuple(marks)


def test_written_notice_is_not_part_of_the_history() -> None:
    transcript = SpokenTranscript()
    transcript.add_shown_text(f"{NOTICE}\n\n", is_notice=True)
    transcript.add_shown_text("From this")
    transcript.add_shown_text(" machine.")
    assert transcript.answer_heard(0) == transcript.answer == "From this machine."
    assert transcript.text_heard(0) == f"{NOTICE}\n\nFrom this machine."


def test_fallback_is_never_asked_beside_an_endpoint_that_answers() -> None:
    result, models = run_turns(gone_in=TURNS + 1, back_in=TURNS + 1)
    assert {record.engines["answered_by"] for record in result.records} == {"cloud"}
    assert models[1].asked == []
    assert result.problems == []


def test_notice_is_said_once_in_a_reply_that_calls_tools() -> None:
    simulation = Simulation(
        [Utterance(200, 900, "what is the weather")],
        length_ms=EVERY_MS,
        turns=TurnSettings(hangover_ms=240),
        settings=SessionSettings(fallback_notice=NOTICE),
        tools=ScriptedTools(),
    )
    here = CallingModel(
        (), rule=lambda messages, _options: "It is sunny." if looked_up(messages) else calls(), name="here"
    )
    routing = Routing(
        [Endpoint("cloud"), Endpoint("here", tier=10, fallback=True)],
        "latency",
        HedgeBudget(0.1),
        random.Random(1).random,
    )
    models = [ScriptedModel([GONE], name="cloud"), here]
    simulation.model = Router(models, routing, first_token_timeout_s=8.0)  # type: ignore[assignment]
    result = simulation.run()
    assert len(here.asked) >= 2  # before and after the call
    assert not [message for asked in here.asked for message in asked if "smaller one" in message.content]
    assert [text for text in result.chunks if "smaller one" in text or "sunny" in text] == [
        "so a smaller one on this machine answers.",
        "It is sunny.",
    ]
