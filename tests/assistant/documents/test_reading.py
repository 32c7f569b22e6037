"""Parts asked in parallel and told in order, in virtual time."""

import asyncio
from contextlib import aclosing

import pytest
from support.clocks.virtual_time import run_virtual
from support.engines.scripted_parts import PartModel, reading_of, unreachable

from assistant.config.endpoint_settings import EndpointSection
from assistant.config.llm_settings import LlmSection
from assistant.config.settings import DEFAULTS, Settings
from assistant.config.tool_settings import DocumentsSection
from assistant.documents import Part, SplitDocument
from assistant.documents import reading as module
from assistant.documents.fan_out import MAX_FAILURES
from assistant.documents.reading import Reading, limits_of
from llm.chat import ChatEvent, ChatModel, Finished, PartAnswered, Token
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router

NEAR = EndpointSection(name="near", url="http://127.0.0.1:1/v1", model="m", price_in_per_million=2.0)
FAR = EndpointSection(name="far", url="http://127.0.0.1:2/v1", model="m", price_out_per_million=8.0)
HERE = EndpointSection(name="here", kind="local", model="m")


async def reply(reading: Reading, model: ChatModel, heard: str = "") -> list[tuple[float, ChatEvent]]:
    """Returns the events of the reply, with the seconds since its beginning."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with aclosing(reading.reply(model, heard)) as events:
        return [(loop.time() - began_s, event) async for event in events]


def told(reading: Reading, model: ChatModel, heard: str = "") -> list[str]:
    """Returns the paragraphs of the reply."""
    events = run_virtual(reply(reading, model, heard))
    text = "".join(event.text for _, event in events if isinstance(event, Token))
    return [paragraph for paragraph in text.split("\n\n") if paragraph]


def at_s(events: list[tuple[float, ChatEvent]], text: str) -> float:
    return next(time_s for time_s, event in events if isinstance(event, Token) and event.text.rstrip().endswith(text))


def test_summaries_are_told_in_order_though_later_parts_answer_first() -> None:
    model = PartModel(delay_s=lambda number, _: 1.0 / number)
    assert told(reading_of(3), model) == [
        "a.txt, in 3 parts.",
        "Part 1.",
        "Sum 1.",
        "Part 2.",
        "Sum 2.",
        "Part 3.",
        "Sum 3.",
    ]


def test_first_summary_is_heard_before_the_last_request() -> None:
    model = PartModel(delay_s=lambda _number, _before: 0.5)
    events = run_virtual(reply(reading_of(6, max_parallel=2), model))
    assert at_s(events, "a.txt, in 6 parts.") == 0.0
    first_s = at_s(events, "Sum")
    assert first_s == pytest.approx(0.5)
    began_s = model.asked[0][0]
    assert [number for time_s, number in model.asked if time_s - began_s <= first_s] == [1, 2]
    assert at_s(events, " 6.") == pytest.approx(3 * 0.52, abs=0.01)


@pytest.mark.parametrize("max_parallel", [1, 3, 8])
def test_number_of_parallel_requests_is_bounded(max_parallel: int) -> None:
    model = PartModel()
    events = run_virtual(reply(reading_of(12, max_parallel=max_parallel), model))
    assert model.most_running == max_parallel
    assert len(model.asked) == 12
    assert at_s(events, " 12.") == pytest.approx(0.12 * -(-12 // max_parallel), abs=0.01)
    assert model.running == model.cancelled == 0


def test_slow_part_delays_only_what_follows_it() -> None:
    model = PartModel(delay_s=lambda number, _: 3.0 if number == 2 else 0.1)
    events = run_virtual(reply(reading_of(4), model))
    assert at_s(events, " 1.") < 0.2
    assert at_s(events, " 4.") == pytest.approx(3.02, abs=0.01)
    ended = [event.number for _, event in events if isinstance(event, PartAnswered)]
    assert ended == [1, 3, 4, 2]


def test_parts_are_asked_without_functions() -> None:
    model = PartModel()
    run_virtual(reply(reading_of(2), model))
    assert [options.functions for options in model.options] == [(), ()]


def test_left_out_parts_are_said_and_not_asked() -> None:
    model = PartModel()
    paragraphs = told(reading_of(3, 3, max_parts=3), model)
    assert paragraphs[:2] == [
        "a.txt, in 3 parts.",
        "I leave out part 3 of a.txt and parts 2 to 3 of b.txt, because of the limits in the settings.",
    ]
    assert sorted(number for _, number in model.asked) == [1, 2, 4]


def test_reading_without_any_part_says_what_is_left_out() -> None:
    assert told(reading_of(2, max_parts=0), PartModel()) == [
        "I leave out a.txt, because of the limits in the settings."
    ]


def test_each_document_is_named() -> None:
    assert told(reading_of(1, 2), PartModel()) == [
        "a.txt.",
        "Sum 1.",
        "b.txt, in 2 parts.",
        "Part 1.",
        "Sum 2.",
        "Part 2.",
        "Sum 3.",
    ]


def test_failed_part_is_asked_once_more() -> None:
    model = PartModel(fails=lambda number, before: unreachable() if number == 2 and not before else None)
    reading = reading_of(3)
    assert told(reading, model)[-3:] == ["Sum 2.", "Part 3.", "Sum 3."]
    assert [number for _, number in model.asked].count(2) == 2
    assert reading.missing == []
    (again,) = [part for part in reading.ended if part.requests == 2]
    assert not again.failed


def test_router_asks_the_failed_parts_elsewhere() -> None:
    broken, works = (
        PartModel(name="broken", fails=lambda _number, _before: unreachable("broken")),
        PartModel(name="near"),
    )
    routing = Routing((Endpoint("broken"), Endpoint("near")), "ordered", HedgeBudget(0.0), lambda: 0.5)
    router = Router((broken, works), routing, first_token_timeout_s=8.0)
    reading = reading_of(6)
    assert told(reading, router)[-2:] == ["Part 6.", "Sum 6."]
    assert reading.missing == []
    assert {part.by for part in reading.ended} == {"near"}
    assert sorted(number for _, number in works.asked) == [1, 2, 3, 4, 5, 6]


def test_part_that_fails_again_is_named() -> None:
    model = PartModel(fails=lambda number, _: unreachable() if number in {2, 3} else None)
    reading = reading_of(4)
    assert told(reading, model) == [
        "a.txt, in 4 parts.",
        "Part 1.",
        "Sum 1.",
        "I could not summarize parts 2 to 3 of a.txt: I cannot reach my language model.",
        "Part 4.",
        "Sum 4.",
    ]
    assert [part.number for part in reading.missing] == [2, 3]
    assert [number for _, number in model.asked].count(2) == 2


def test_last_part_that_fails_is_named() -> None:
    model = PartModel(fails=lambda number, _: unreachable() if number == 2 else None)
    assert "part 2 of a.txt" in told(reading_of(2), model)[-1]


def test_summary_that_breaks_off_is_named_and_not_repeated() -> None:
    model = PartModel(fails=lambda number, _: unreachable() if number == 1 else None, breaks=True)
    paragraphs = told(reading_of(2), model)
    assert paragraphs[2:4] == ["Sum", "The summary of part 1 of a.txt breaks off there."]
    assert [number for _, number in model.asked].count(1) == 1


def test_later_summary_that_breaks_off_is_asked_again() -> None:
    model = PartModel(
        delay_s=lambda number, before: 1.0 if number == 1 else 0.1,
        fails=lambda number, before: unreachable() if number == 2 and not before else None,
        breaks=True,
    )
    assert told(reading_of(2), model)[-2:] == ["Part 2.", "Sum 2."]


def test_nothing_more_is_asked_if_no_endpoint_answers() -> None:
    model = PartModel(fails=lambda _number, _before: unreachable())
    paragraphs = told(reading_of(30, max_parallel=1), model)
    assert len(model.asked) == 2 * MAX_FAILURES
    assert paragraphs == ["a.txt, in 30 parts.", "I could not summarize a.txt: I cannot reach my language model."]


def test_empty_answer_is_a_failure() -> None:
    class Silent(PartModel):
        async def stream(self, messages, options=None):  # type: ignore[no-untyped-def]
            yield Token(" ")
            yield Finished("stop")

    assert "My language model gave no answer." in told(reading_of(1), Silent())[-1]


def test_defect_of_a_client_fails_only_its_part() -> None:
    def broken(number: int, _before: int) -> None:
        if number == 1:
            raise KeyError("a defect")

    paragraphs = told(reading_of(2), PartModel(fails=broken))
    assert "An internal error happened." in paragraphs[1]
    assert paragraphs[-1] == "Sum 2."


def test_tokens_are_summed() -> None:
    events = run_virtual(reply(reading_of(3), PartModel()))
    assert events[-1][1] == Finished("stop", 300, 15)


def test_closing_the_reply_cancels_the_requests() -> None:
    model = PartModel(delay_s=lambda number, _: 0.1 * number)

    async def main() -> None:
        async with aclosing(reading_of(8).reply(model)) as events:
            async for event in events:
                if isinstance(event, Token) and " 1." in event.text:
                    break

    run_virtual(main())
    assert model.running == 0
    assert 0 < model.cancelled <= 4


def test_interrupted_reading_continues_after_what_was_heard() -> None:
    reading, model = reading_of(4), PartModel(delay_s=lambda number, _: 10.0 if number > 2 else 0.1)

    async def interrupted() -> None:
        async with aclosing(reading.reply(model)) as events:
            async for event in events:
                if isinstance(event, Token) and " 2." in event.text:
                    break

    run_virtual(interrupted())
    model.delay_s = lambda _number, _before: 0.1
    assert told(reading, model, "a.txt, in 4 parts. Part 1. Sum 1. Part 2.") == [
        "Part 2.",
        "Sum 2.",
        "Part 3.",
        "Sum 3.",
        "Part 4.",
        "Sum 4.",
    ]
    assert [number for _, number in model.asked].count(1) == 1


def test_language_of_the_conversation_is_used() -> None:
    assert told(reading_of(2, language="de-AT"), PartModel())[0] == "a.txt, in 2 Teilen."


def test_limits_come_from_the_settings_and_the_dearest_endpoint() -> None:
    documents = DocumentsSection(max_parts=7, max_price=0.5, part_chars=500)
    settings = Settings(llm=LlmSection(endpoints=(NEAR, FAR)), documents=documents)
    limits = limits_of(settings)
    assert (limits.max_parts, limits.max_price) == (7, 0.5)
    assert (limits.price_in_per_million, limits.price_out_per_million) == (2.0, 8.0)


def test_model_on_this_machine_is_asked_one_part_at_a_time() -> None:
    documents = [SplitDocument("a.txt", (Part(0, "a.txt", 1, 1, "", "Text."),))]
    alone = Settings(llm=LlmSection(endpoints=(HERE,)))
    both = Settings(llm=LlmSection(endpoints=(HERE, NEAR)))
    assert module.reading_of(documents, alone).max_parallel == 1
    assert module.reading_of(documents, Settings()).max_parallel == 1
    assert module.reading_of(documents, both).max_parallel == DEFAULTS.documents.max_parallel
    assert len(module.reading_of(documents, alone, max_parts=1).selection.asked) == 1
    assert module.context_chars_of(alone) == module.LOCAL_CONTEXT_CHARS
    assert module.context_chars_of(both) == module.CONTEXT_CHARS
