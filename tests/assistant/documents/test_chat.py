"""A conversation that begins with a reading, in virtual time."""

from collections.abc import Sequence

from support.conversations.simulation import ScriptedModel, Simulation, SimulationResult, Utterance
from support.engines.scripted_parts import PartModel, reading_of
from support.engines.scripted_tools import ScriptedTools

from assistant.documents.chat import ReadingChat
from assistant.documents.reading import Reading
from assistant.events import ReplyStopped, UserTurnCommitted
from assistant.skills.answers import ChangeVolume, SkillEffect
from assistant.turns.settings import TurnSettings
from llm.chat import Message

REQUEST = "Read a.txt to me."


def conversation(
    reading: Reading, parts: PartModel, utterances: Sequence[Utterance] = (), length_ms: int = 12_000
) -> tuple[Simulation, ReadingChat]:
    """Returns a conversation in which the reading is asked for at 100 ms."""
    turns = TurnSettings(hangover_ms=400, speculate_after_ms=100)
    piece = Simulation(utterances, length_ms, ("It says more.",), turns=turns)
    chat = ReadingChat(reading, parts, piece.model, 6000)
    piece.at(100, lambda: piece.session.type(chat.request))
    simulated_model: object = chat
    assert isinstance(piece.model, ScriptedModel)
    piece.model = simulated_model  # type: ignore[assignment]
    return piece, chat


def asked_at_ms(result: SimulationResult, parts: PartModel) -> list[float]:
    return [(time_s - 1000.0) * 1000 for time_s, _ in parts.asked]


def test_first_summary_is_heard_before_the_last_part_is_asked() -> None:
    parts = PartModel(delay_s=lambda _number, _before: 1.5)
    piece, _ = conversation(reading_of(6, max_parallel=2), parts, length_ms=20_000)
    result = piece.run()
    sound_ms = result.sound_from_ms()
    assert sound_ms is not None
    assert sound_ms < 250
    summary_ms = next(at for at, event in result.events if getattr(event, "text", "") == "Sum 1.")
    assert summary_ms < asked_at_ms(result, parts)[-1]
    (record,) = result.records
    assert record.outcome == "answered"
    assert record.words is not None
    assert record.words.assistant.endswith("Part 6. Sum 6.")


def test_trace_has_the_times_of_each_part() -> None:
    piece, _ = conversation(reading_of(3), PartModel(delay_s=lambda number, _: 0.1 * number))
    (record,) = piece.run().records
    parts = [event.detail for event in record.events if event.name == "part"]
    assert parts[1] == "attempt 1: part 2 by near: answered after 220 ms, first token after 200 ms, 6 characters"
    spans = {span.name: span for span in record.spans}
    assert spans["part 3"].stage == "llm_first_token"
    assert round(spans["part 3"].end_ms - spans["part 3"].start_ms) == 300
    (answer,) = record.answers
    assert (answer.by, answer.prompt_tokens) == ("near", 300)


def test_question_after_the_reading_comes_with_the_text_and_the_summaries() -> None:
    asks = (Utterance(6000, 7000, "tell me more about the second"),)
    piece, _ = conversation(reading_of(2), PartModel(), asks)
    model = piece.model
    inner: ScriptedModel = model._model  # type: ignore[attr-defined]
    result = piece.run()
    messages = inner.asked[-1]
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert "This is word 2 of the text." in messages[1].content
    assert messages[1].content.endswith(REQUEST)
    assert "Sum 2." in messages[2].content
    assert messages[3].content == "tell me more about the second"
    assert result.chunks[-1] == "It says more."


def test_question_interrupts_the_reading_and_cancels_the_rest() -> None:
    parts = PartModel(delay_s=lambda number, _: 0.1 if number < 3 else 60.0)
    asks = (Utterance(1500, 2600, "what was the first part about"),)
    piece, _ = conversation(reading_of(5), parts, asks, length_ms=8000)
    result = piece.run()
    assert any(isinstance(event, ReplyStopped) for _, event in result.events)
    assert parts.running == 0
    assert parts.cancelled == 3
    assert result.chunks[-1] == "It says more."


def test_noise_during_the_reading_lets_it_continue() -> None:
    parts = PartModel(delay_s=lambda number, _: 0.1 if number < 3 else 4.0)
    piece, _ = conversation(reading_of(4), parts, (Utterance(1500, 2300, ""),), length_ms=16_000)
    result = piece.run()
    heard = " ".join(result.chunks)
    assert heard.endswith("Sum 4.")
    assert heard.count("Sum 1.") == 1
    assert [number for _, number in parts.asked].count(1) == 1


def test_documents_reach_no_tool() -> None:
    """The command leaves the tools out of the conversation; the reading itself never offers one."""
    tools, parts = ScriptedTools(), PartModel()
    piece, _ = conversation(reading_of(2), parts)
    piece.tools = tools
    piece.run()
    assert tools.called == []
    assert all(options.functions == () for options in parts.options)


def test_request_is_what_the_user_typed() -> None:
    piece, chat = conversation(reading_of(1), PartModel())
    assert chat.request == REQUEST
    result = piece.run()
    (committed,) = [event for _, event in result.events if isinstance(event, UserTurnCommitted)]
    assert committed.origin == "requested"


def test_skills_work_after_the_reading_but_not_on_the_request() -> None:
    chat = ReadingChat(reading_of(1), PartModel(), ScriptedModel(("Yes.",)), 6000)
    seen: list[Sequence[Message]] = []

    def effect_of(messages: Sequence[Message]) -> SkillEffect | None:
        seen.append(messages)
        return ChangeVolume(3.0)

    request = (Message("user", chat.request),)
    assert chat.effect_of(request, effect_of) is None
    louder = (*request, Message("assistant", "Sum 1."), Message("user", "louder"))
    assert chat.effect_of(louder, effect_of) == ChangeVolume(3.0)
    assert chat.effect_of(louder, effect_of) is not None
    assert seen[0] is seen[1]
    assert seen[0][-1].content == "louder"
