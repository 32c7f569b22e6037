"""Answers of the language model that claim an alarm: heard only if a tool has set it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime

import pytest

from assistant.skills.answers import AlarmState, Running, TimerState
from assistant.skills.languages.language import LANGUAGES, load_language
from assistant.tools.timers.checked_chat import NOTE, CheckedChat
from assistant.tools.timers.timer_tools import FUNCTIONS, LIST, SET
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, Function, FunctionCall, Message, Token

NOT_SET = "I did not set anything."
WITH_TOOLS = ChatOptions(functions=FUNCTIONS)


CLIENT = Function("set_alarm", "Sets an alarm of the phone.", "{}")
OF_CLIENT = ChatOptions(functions=(CLIENT,))
SEVEN = Running(alarms=(AlarmState(1, datetime.fromisoformat("2026-11-21T07:00")),))
NOTHING = Running()
TEN_MINUTES = Running(timers=(TimerState(2, "pasta", 600.0, 541.0),))


class Answering:
    """A model that answers with these events."""

    name = "model"
    detail = "test"

    def __init__(self, *events: ChatEvent) -> None:
        self.events = events
        self.asked: Sequence[Message] = ()
        self.closed = False

    async def load(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.asked = messages
        try:
            for event in self.events:
                yield event
        finally:
            self.closed = True


def tokens(text: str) -> list[Token]:
    return [Token(piece if index == 0 else f" {piece}") for index, piece in enumerate(text.split(" "))]


def events_of(
    model: Answering,
    said: str,
    options: ChatOptions = PLAIN,
    *more: Message,
    language: str = "",
    running: Running = NOTHING,
    earlier: Sequence[Message] = (),
) -> list[ChatEvent]:
    async def all_events() -> list[ChatEvent]:
        truth = {"en": NOT_SET, "de": "Nichts ist gestellt."}
        chat = CheckedChat(model, lambda language: truth[language], "en", lambda: running)
        messages = (Message("system", "Be brief."), *earlier, Message("user", said, language=language), *more)
        return [event async for event in chat.stream(messages, options)]

    return asyncio.run(all_events())


def text_of(events: list[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


def test_claim_without_tool_is_replaced_by_the_truth() -> None:
    model = Answering(*tokens("Sure! I've set an alarm for 7 AM. Sleep well!"), Finished("stop"))
    events = events_of(model, "I need to get up at seven")
    assert text_of(events) == f"Sure!{NOT_SET}" or text_of(events) == f"Sure! {NOT_SET}"
    assert isinstance(events[-1], Finished)
    assert model.closed


def test_truth_is_in_the_language_of_the_last_words() -> None:
    model = Answering(*tokens("Dein Wecker ist gestellt."), Finished("stop"))
    assert text_of(events_of(model, "weck mich irgendwie", language="de")) == "Nichts ist gestellt."


def test_claim_at_the_end_of_the_answer_is_replaced() -> None:
    model = Answering(*tokens("Your alarm is set for 7 AM"), Finished("stop", 10, 5))
    events = events_of(model, "wake me somehow")
    assert text_of(events) == NOT_SET
    assert events[-1] == Finished("stop", 10, 5)


def test_claim_after_a_call_is_heard() -> None:
    call = FunctionCall("call_1", SET.name, "{}")
    used = (Message("assistant", "", calls=(call,)), Message("tool", "done", call_id="call_1"))
    model = Answering(*tokens("I've set an alarm for 7 AM."), Finished("stop"))
    assert text_of(events_of(model, "wake me", WITH_TOOLS, *used)) == "I've set an alarm for 7 AM."


def test_call_after_a_claim_is_made_and_the_claim_unheard() -> None:
    call = FunctionCall("call_1", SET.name, "{}")
    model = Answering(*tokens("I've set an alarm for 7 AM."), call, Finished("tool_calls"))
    events = events_of(model, "wake me", WITH_TOOLS)
    assert text_of(events) == ""
    assert call in events


def called(name: str, result: str) -> tuple[Message, Message]:
    call = FunctionCall("call_1", name, "{}")
    return Message("assistant", "", calls=(call,)), Message("tool", result, call_id="call_1")


@pytest.mark.parametrize("name", ["set_alarm", "calendar_create_event", "anything"])
def test_claim_after_a_call_of_the_client_is_heard(name: str) -> None:
    model = Answering(*tokens("I've set an alarm for 7 AM."), Finished("stop"))
    assert text_of(events_of(model, "wake me", OF_CLIENT, *called(name, "ok"))) == "I've set an alarm for 7 AM."


def test_claim_of_an_alarm_of_an_earlier_turn_is_heard() -> None:
    model = Answering(*tokens("Your alarm is set for seven."), Finished("stop"))
    earlier = (Message("user", "wake me at seven"), *called("set_alarm", "ok"), Message("assistant", "Done."))
    assert text_of(events_of(model, "is my alarm set", earlier=earlier)) == "Your alarm is set for seven."


def test_claim_after_a_failed_timer_tool_is_replaced() -> None:
    model = Answering(*tokens("I've set an alarm for 7 AM."), Finished("stop"))
    failed = called(SET.name, "not done: it has passed")
    assert text_of(events_of(model, "wake me", WITH_TOOLS, *failed)) == NOT_SET


@pytest.mark.parametrize("options", [WITH_TOOLS, PLAIN])
@pytest.mark.parametrize(
    ("text", "running"),
    [
        ("Your alarm is set for seven.", SEVEN),
        ("Your alarm is set for 7:00 AM.", SEVEN),
        ("Your ten minute timer is running.", TEN_MINUTES),
        ("The pasta timer is running, with nine minutes left.", TEN_MINUTES),
    ],
)
def test_claim_that_agrees_with_what_is_set_is_heard(options: ChatOptions, text: str, running: Running) -> None:
    model = Answering(*tokens(text), Finished("stop"))
    assert text_of(events_of(model, "is my alarm or timer set", options, running=running)) == text


@pytest.mark.parametrize(
    ("text", "running"),
    [
        ("Your alarm is set for eight.", SEVEN),
        ("Your timer is set.", SEVEN),
        ("I've cancelled your alarm.", SEVEN),
        ("Your 20 minute timer is running.", TEN_MINUTES),
        ("Your alarm is set for seven.", Running()),
    ],
)
def test_claim_that_disagrees_after_a_list_is_replaced(text: str, running: Running) -> None:
    model = Answering(*tokens(text), Finished("stop"))
    listed = called(LIST.name, "now: Friday 2026-11-20T22:43")
    assert text_of(events_of(model, "is my alarm or timer set", WITH_TOOLS, *listed, running=running)) == NOT_SET


def test_call_of_the_client_after_a_claim_is_made() -> None:
    call = FunctionCall("call_1", CLIENT.name, "{}")
    model = Answering(*tokens("Sure! I'll set an alarm for seven. Good night."), call, Finished("tool_calls"))
    events = events_of(model, "wake me", OF_CLIENT)
    assert call in events
    assert NOT_SET not in text_of(events)


def test_text_before_a_call_comes_before_it() -> None:
    call = FunctionCall("call_1", CLIENT.name, "{}")
    model = Answering(*tokens("I will look"), call, Finished("tool_calls"))
    assert events_of(model, "wake me", OF_CLIENT)[-2:] == [call, Finished("tool_calls")]
    assert text_of(events_of(model, "wake me", OF_CLIENT)) == "I will look"


def test_model_with_functions_of_the_client_is_told_nothing() -> None:
    model = Answering(*tokens("Let me look."), Finished("stop"))
    events_of(model, "set me an alarm somehow", OF_CLIENT)
    assert NOTE not in [message.content for message in model.asked]


def test_answer_about_an_alarm_is_passed_on_token_by_token() -> None:
    pieces = tokens("Maybe you would like to go to bed earlier then.")
    events = events_of(Answering(*pieces, Finished("stop")), "set me an alarm somehow")
    assert events == [*pieces, Finished("stop")]


def test_claim_with_tool_but_without_call_is_replaced() -> None:
    model = Answering(*tokens("I've set an alarm for 7 AM. Good night."), Finished("stop"))
    assert text_of(events_of(model, "wake me", WITH_TOOLS)) == NOT_SET


def test_model_without_tool_is_told_so_when_asked_for_timers() -> None:
    model = Answering(*tokens("I cannot do that."), Finished("stop"))
    events_of(model, "set me an alarm somehow")
    assert [message.content for message in model.asked] == ["Be brief.", NOTE, "set me an alarm somehow"]
    events_of(model, "set me an alarm somehow", WITH_TOOLS)
    assert len(model.asked) == 2
    events_of(model, "how high is the Eiffel Tower")
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Paris is the capital of France. It lies on the Seine. It is old. It is large.",
        "I've always liked Paris. I set out early. The train is late.",
        "Yes",
        "The quick brown fox jumps over the lazy dog and runs away from the hounds.",
    ],
)
def test_other_answer_is_passed_on_whole(text: str) -> None:
    model = Answering(*tokens(text), Finished("stop"))
    assert text_of(events_of(model, "tell me something")) == text


def test_ordinary_answer_is_passed_on_token_by_token() -> None:
    pieces = tokens("Paris is the capital of France.")
    events = events_of(Answering(*pieces, Finished("stop")), "what is the capital of France")
    assert events == [*pieces, Finished("stop")]


@pytest.mark.parametrize("code", LANGUAGES)
def test_truth_is_in_every_language(code: str) -> None:
    assert load_language(code).say("timer_not_set")
    assert load_language(code).say("timer_cannot")
