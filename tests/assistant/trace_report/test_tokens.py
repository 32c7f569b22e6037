"""Tests token counts of single turns and of many."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from support.conversations.simulation import ScriptedModel, Simulation, Utterance
from support.conversations.trace_samples import TIME, demo_records

from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import Tally
from assistant.trace_report.reading import Record
from assistant.trace_report.text import as_json, sentences
from assistant.trace_report.tokens import NONE, Tokens, TokenTally, tokens_of
from assistant.turns.settings import TurnSettings
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, Message

SLOW = TurnSettings(hangover_ms=400, speculate_after_ms=100)


class CountingModel(ScriptedModel):
    """Reports its tokens at the end: 100 prompt tokens, 80 of them cached, 7 completion tokens."""

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        async for event in super().stream(messages, options):
            yield Finished("stop", 100, 7, cached_tokens=80) if isinstance(event, Finished) else event


def answer(attempt: int = 1, **numbers: Any) -> dict[str, Any]:
    fields = {"prompt_tokens": None, "completion_tokens": None, "cached_tokens": None, "pieces": 0, "dropped": False}
    return {"attempt": attempt, **fields, **numbers}


def record(*answers: dict[str, Any], networked: Sequence[int] = (1, 2, 3)) -> Record:
    return {"answers": list(answers), "spans": [{"attempt": each, "name": "llm_network"} for each in networked]}


def records_with_tokens(utterances: list[Utterance], **more: Any) -> list[Record]:
    simulation = Simulation(utterances, **more)
    simulation.model = CountingModel(simulation.replies)
    return [json.loads(made.to_json()) for made in simulation.run().records]


def test_record_holds_token_counts_of_answer() -> None:
    (made,) = records_with_tokens([TIME])
    *_, heard = made["answers"]
    assert (heard["prompt_tokens"], heard["completion_tokens"], heard["cached_tokens"]) == (100, 7, 80)
    assert heard["reason"] == "stop"
    assert heard["by"] == "scripted model"
    # "It is ten o'clock. Anything else?": six words of 200 ms.
    assert heard["pieces"] == 6
    assert heard["sound_ms"] == pytest.approx(1200)
    assert 20 <= heard["voice_ms"] <= 40
    assert heard["first_token_ms"] - heard["asked_ms"] == pytest.approx(100, abs=1)
    assert not heard["dropped"]


def test_dropped_attempt_keeps_known_counts() -> None:
    utterances = [Utterance(1000, 1800, "a small coffee"), Utterance(2140, 2700, "with milk")]
    (made,) = records_with_tokens(
        utterances, turns=SLOW, replies=("It is ten o'clock and all is well in town, and elsewhere, too.",)
    )
    dropped, *_, heard = made["answers"]
    assert dropped["dropped"]
    assert dropped["reason"] is None
    assert dropped["prompt_tokens"] is None
    assert dropped["pieces"] > 0
    assert dropped["ended_ms"] < heard["asked_ms"] + 1
    tokens = tokens_of(made)
    assert tokens.wasted == dropped["pieces"]
    assert tokens.uncounted == 1
    assert tokens.prompt == 100


def test_tokens_of_dropped_attempts_are_wasted() -> None:
    tokens = tokens_of(
        record(
            answer(1, prompt_tokens=90, completion_tokens=5, pieces=4, dropped=True),
            answer(2, prompt_tokens=100, completion_tokens=20, cached_tokens=90),
        )
    )
    assert tokens == Tokens(prompt=190, completion=25, cached=90, cached_of=100, wasted=95, uncounted=0)


def test_source_without_counts_or_connection_is_no_model() -> None:
    assert tokens_of(record(answer(1, pieces=3), networked=())) == NONE
    assert tokens_of(record(answer(1, pieces=3))) == Tokens(completion=3, uncounted=1)


def test_old_records_have_no_tokens() -> None:
    assert {tokens_of(each) for each in demo_records()} == {NONE}
    tally = Tally()
    for each in demo_records():
        tally.add_turn(each["conversation"], facts_of(each))
    assert tally.figures().tokens is None
    assert tally.figures().voices["espeak-ng"].real_time is None
    assert not any(line.startswith("tokens") for line in sentences(tally.figures()))


def test_minutes_are_summed_over_conversations() -> None:
    first, second = TokenTally(), TokenTally()
    first.add_turn("a", Tokens(prompt=100), 20_000)
    first.add_turn("a", Tokens(prompt=100), 30_000)
    first.add_turn("b", Tokens(completion=40), 15_000)
    second.add_turn("c", Tokens(prompt=60), 15_000)
    first.merge(second)
    found = first.figures()
    assert found is not None
    assert found.per_minute == 300
    assert found.cached_share is None


def test_report_shows_tokens() -> None:
    tally = Tally()
    for number in range(2):
        for each in records_with_tokens([TIME]):
            tally.add_turn(f"c{number}", facts_of(each))
    figures = tally.figures()
    text = "\n".join(sentences(figures))
    assert figures.tokens is not None
    assert f"tokens            {figures.tokens.prompt:,} in prompts, {figures.tokens.completion:,} in answers, " in text
    assert "80.0% of the prompts were cached by their service" in text
    assert json.loads(as_json(figures))["tokens"]["cached_share"] == 0.8


def test_tts_real_time_factor_is_work_per_sound() -> None:
    tally = Tally()
    (made,) = records_with_tokens([TIME])
    tally.add_turn("c", facts_of(made))
    (voice,) = tally.figures().voices.values()
    sound_ms = sum(each["sound_ms"] for each in made["answers"])
    voice_ms = sum(each["voice_ms"] for each in made["answers"])
    assert voice.real_time == pytest.approx(voice_ms / sound_ms, abs=1e-3)


def test_recognizer_real_time_factor_counts_every_attempt() -> None:
    tally = Tally()
    (made,) = records_with_tokens(
        [Utterance(1000, 1800, "a small coffee"), Utterance(2040, 2600, "with milk")], turns=SLOW
    )
    tally.add_turn("c", facts_of(made))
    (recognizer,) = tally.figures().recognizers.values()
    waits_ms = [span["end_ms"] - span["start_ms"] for span in made["spans"] if span["name"] == "stt"]
    assert len(waits_ms) == 2
    speech_ms = made["speech_end_ms"] - made["speech_start_ms"]
    assert recognizer.real_time == pytest.approx(sum(waits_ms) / speech_ms, abs=1e-3)
