"""Answers of the language model that claim an alarm: heard only if a tool has set it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from assistant.skills.languages.language import LANGUAGES, load_language
from assistant.tools.timers.checked_chat import NOTE, CheckedChat
from assistant.tools.timers.timer_tools import FUNCTIONS, SET
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, FunctionCall, Message, Token

NOT_SET = "I did not set anything."
WITH_TOOLS = ChatOptions(functions=FUNCTIONS)


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
    model: Answering, said: str, options: ChatOptions = PLAIN, *more: Message, language: str = ""
) -> list[ChatEvent]:
    async def all_events() -> list[ChatEvent]:
        chat = CheckedChat(model, lambda language: {"en": NOT_SET, "de": "Nichts ist gestellt."}[language], "en")
        messages = (Message("system", "Be brief."), Message("user", said, language=language), *more)
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
