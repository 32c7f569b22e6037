"""The history: nothing is remembered that was not heard."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from assistant.history.history import History
from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SystemMessage,
    ToolUse,
    UserMessage,
)
from assistant.history.spoken_transcript import SpokenTranscript
from assistant.turns.events import ReplyId
from audio.tts import WordMark
from audio.units import ReplySamples
from llm.chat import CallExtra, FunctionCall, Message

CALLED = FunctionCall("call_1", "weather", "{}")
SYSTEM = Message("system", "Be brief.")
FIRST = ReplyId(1, 1)


def spoken(text: str) -> SpokenTranscript:
    script = SpokenTranscript()
    script.begin_chunk(text)
    at = 0
    for number, word in enumerate(text.split()):
        start = text.index(word, at)
        at = start + len(word)
        script.add_audio(100, (WordMark(start, at, ReplySamples(number * 100), ReplySamples(number * 100 + 100)),))
    return script


def say(conversation: History, text: str, *, continues: bool = False) -> Item:
    return conversation.add_user_text(conversation.reserve(), text, continues=continues)


def typed(name: str, text: str) -> UserMessage:
    return UserMessage(ItemId(name), text, spoken=False)


def test_an_answer_is_remembered_as_far_as_it_was_heard() -> None:
    conversation = History("Be brief.", max_turns=5)
    say(conversation, "what time is it")
    item = conversation.add_reply(FIRST, spoken("It is ten o'clock."))
    assert conversation.set_heard(FIRST, ReplySamples(250), complete=True) == "It is"
    assert conversation.find(item) == AssistantMessage(item, "It is", complete=False)
    assert conversation.messages("and now") == (
        SYSTEM,
        Message("user", "what time is it"),
        Message("assistant", "It is"),
        Message("user", "and now"),
    )


def test_an_answer_that_was_heard_whole_is_complete() -> None:
    conversation = History("", max_turns=5)
    item = conversation.add_reply(FIRST, spoken("Hello."))
    conversation.set_heard(FIRST, ReplySamples(100), complete=True)
    assert conversation.find(item) == AssistantMessage(item, "Hello.")


def test_a_client_that_heard_less_cuts_further() -> None:
    conversation = History("", max_turns=5)
    item = conversation.add_reply(FIRST, spoken("It is ten o'clock."))
    conversation.set_heard(FIRST, ReplySamples(400), complete=True)
    assert conversation.truncate(item, ReplySamples(100)) == "It"
    assert conversation.messages() == (Message("assistant", "It"),)
    assert conversation.truncate(item, ReplySamples(300)) == "It", "what was not heard once never was"
    assert conversation.length(item) == 100
    assert conversation.truncate(ItemId("item_99"), ReplySamples(100)) is None


def test_asking_for_messages_remembers_nothing() -> None:
    conversation = History("", max_turns=5)
    assert conversation.messages("hello") == conversation.messages("hello") == (Message("user", "hello"),)


def test_a_person_who_goes_on_is_one_message() -> None:
    conversation = History("Be brief.", max_turns=5)
    say(conversation, "a small coffee")
    conversation.add_reply(FIRST, SpokenTranscript())
    conversation.retract(FIRST)
    joined = (SYSTEM, Message("user", "a small coffee with milk"))
    assert conversation.messages("with milk", continues=True) == joined
    say(conversation, "with milk", continues=True)
    assert conversation.messages() == joined
    assert [type(item) for item in conversation.items] == [UserMessage, UserMessage]


def test_nothing_heard_means_no_assistant_message() -> None:
    conversation = History("", max_turns=5)
    say(conversation, "hello")
    conversation.add_reply(FIRST, spoken("Hello there."))
    conversation.set_heard(FIRST, ReplySamples(0), complete=True)
    assert conversation.messages("are you there") == (Message("user", "hello"), Message("user", "are you there"))


def test_a_greeting_has_no_user_message() -> None:
    conversation = History("", max_turns=5)
    conversation.add_reply(FIRST, spoken("Hello."))
    conversation.set_heard(FIRST, ReplySamples(100), complete=True)
    assert conversation.messages("hi") == (Message("assistant", "Hello."), Message("user", "hi"))


def test_old_turns_are_forgotten_whole() -> None:
    conversation = History("Be brief.", max_turns=2)
    for turn in range(1, 5):
        say(conversation, f"turn {turn}")
        say(conversation, "and more", continues=True)
        conversation.add_reply(ReplyId(turn, 1), spoken("Yes."))
        conversation.set_heard(ReplyId(turn, 1), ReplySamples(100), complete=True)
    assert conversation.messages() == (
        SYSTEM,
        Message("user", "turn 3 and more"),
        Message("assistant", "Yes."),
        Message("user", "turn 4 and more"),
        Message("assistant", "Yes."),
    )


@pytest.mark.parametrize(
    ("client", "most"),
    [
        (lambda number: SystemMessage(ItemId(f"i{number}"), "note"), 1000),
        (lambda number: SystemMessage(ItemId(f"i{number}"), "note " * 100), 127),  # 129 tokens each
        (lambda number: UserMessage(ItemId(f"i{number}"), "words", spoken=False), 1000),
        (lambda number: UserMessage(ItemId(f"i{number}"), "words " * 10_000, spoken=False), 33),  # 15,004 tokens each
    ],
)
@pytest.mark.parametrize("after", [None, ItemId("root")])
def test_a_client_that_adds_without_end_is_bounded_and_told(
    client: Callable[[int], Item], most: int, after: ItemId | None
) -> None:
    told: list[ItemId] = []
    conversation = History("", max_turns=1, max_tokens=2000, on_removed=told.append)
    for number in range(3000):
        conversation.insert(client(number), after)
        assert conversation.find(ItemId(f"i{number}")) is not None, "the newest stays"
        assert len(conversation.items) <= most
    kept = [item.id for item in conversation.items]
    assert sorted([*told, *kept]) == sorted(f"i{number}" for number in range(3000))
    assert len(kept) >= most // 2


def test_what_the_model_does_not_see_any_more_is_remembered() -> None:
    conversation = History("", max_turns=20, max_tokens=2000)
    conversation.insert(SystemMessage(ItemId("seed"), "s" * 9600))
    conversation.add_function_call(CALLED)
    for number in range(30):
        conversation.insert(typed(f"u{number}", f"question {number}"))
    assert [message.content for message in conversation.messages()] == [
        "s" * 9600,
        *(f"question {number}" for number in range(11, 30)),
    ]
    assert len(conversation.items) == 32
    assert conversation.insert(typed("late", "seen all the same"), after=ItemId("u3"))
    assert conversation.messages()[1] == Message("user", "seen all the same")


def test_a_call_and_what_it_returned_are_seen_together_or_not_at_all() -> None:
    conversation = History("", max_turns=4)
    say(conversation, "weather?")
    conversation.add_function_call(CALLED)
    for number in range(4):
        say(conversation, f"hello {number}")
    before = conversation.messages()
    conversation.insert(FunctionOutput(ItemId("r"), "call_1", "sunny"))
    pair = (Message("assistant", "", (CALLED,)), Message("tool", "sunny", call_id="call_1"))
    assert conversation.messages() == (*before, *pair), "prompts grow at their end"
    say(conversation, "thanks")
    assert conversation.messages()[-3:-1] == pair
    for number in range(2):
        say(conversation, f"bye {number}")
        assert all(message.calls for message in conversation.messages() if message.role == "assistant")
    assert [message.role for message in conversation.messages()] == ["user", "user"]


def test_a_call_that_stands_before_a_cut_is_seen_with_what_it_returned_behind_it() -> None:
    conversation = History("", max_turns=2)
    say(conversation, "weather?")
    conversation.add_function_call(CALLED)
    say(conversation, "hello")
    say(conversation, "are you there")
    conversation.insert(FunctionOutput(ItemId("r"), "call_1", "sunny"))
    assert [message.role for message in conversation.messages()] == ["user", "assistant", "tool"]
    conversation.delete(ItemId("r"))
    assert [message.role for message in conversation.messages()] == ["user"]


def test_one_time_instructions_replace_the_others() -> None:
    conversation = History("Be brief.", max_turns=5)
    assert conversation.messages("hi", instructions="Sing.")[0] == Message("system", "Sing.")
    assert conversation.messages("hi", instructions="") == (Message("user", "hi"),)


def test_a_client_puts_items_where_it_wants_them() -> None:
    conversation = History("", max_turns=5)
    assert conversation.insert(typed("a", "one"))
    assert conversation.insert(typed("c", "three"))
    assert conversation.insert(typed("b", "two"), after=ItemId("a"))
    assert conversation.insert(SystemMessage(ItemId("first"), "Count."), after=ItemId("root"))
    assert not conversation.insert(typed("d", "four"), after=ItemId("nowhere"))
    assert [item.id for item in conversation.items] == ["first", "a", "b", "c"]
    assert conversation.delete(ItemId("b"))
    assert not conversation.delete(ItemId("b"))
    assert [message.content for message in conversation.messages()] == ["Count.", "one", "three"]


def test_an_id_is_taken_as_soon_as_it_was_promised() -> None:
    conversation = History("", max_turns=5)
    promised = conversation.reserve_announced()
    assert [conversation.is_taken(ItemId(name)) for name in (promised, "root", "mine")] == [True, True, False]
    conversation.add_user_text(promised, "hello")
    assert conversation.is_taken(promised)
    conversation.delete(promised)
    assert not conversation.is_taken(promised), "whoever deletes it may put it in anew"


def test_an_id_that_a_client_took_is_not_given_again() -> None:
    conversation = History("", max_turns=5)
    conversation.insert(typed("item_1", "mine"))
    assert conversation.reserve() == "item_2"


def test_a_clients_calls_of_which_the_first_is_signed_go_back_as_they_came() -> None:
    conversation = History("", max_turns=5)
    say(conversation, "weather?")
    first, second = FunctionCall("a", "weather", "{}", CallExtra("near", "{}")), FunctionCall("b", "weather", "{}")
    conversation.add_function_call(first)
    conversation.add_function_call(second)
    conversation.insert(FunctionOutput(ItemId("r"), "b", "rainy"))
    assert [message.calls for message in conversation.messages()] == [(), (second,), ()]
    conversation.insert(FunctionOutput(ItemId("s"), "a", "sunny"))
    assert conversation.messages() == (
        Message("user", "weather?"),
        Message("assistant", "", (first, second)),
        Message("tool", "sunny", call_id="a"),
        Message("tool", "rainy", call_id="b"),
    )


def test_a_call_stands_right_before_what_it_returned_and_only_once_it_has() -> None:
    conversation = History("", max_turns=5)
    say(conversation, "weather?")
    call = FunctionCall("call_1", "weather", "{}", CallExtra("near", '{"signature":"x"}'))
    called = conversation.add_function_call(call)
    assert conversation.find(called.id) == FunctionCallItem(called.id, "call_1", "weather", "{}", call.extra)
    assert conversation.messages() == (Message("user", "weather?"),)
    say(conversation, "hello?")
    conversation.insert(FunctionOutput(ItemId("r"), "call_1", "sunny"))
    assert conversation.messages() == (
        Message("user", "weather?"),
        Message("assistant", "", (call,)),
        Message("tool", "sunny", call_id="call_1"),
        Message("user", "hello?"),
    )


LOOKED_UP = ToolUse(FunctionCall("call_1", "weather", "{}"), "sunny", 4)


def test_a_tool_stays_with_the_reply_that_used_it() -> None:
    conversation = History("", max_turns=5)
    say(conversation, "weather?")
    item = conversation.add_reply(FIRST, spoken("Wait it is sunny."))
    conversation.add_tool_call(FIRST, LOOKED_UP)
    conversation.set_heard(FIRST, ReplySamples(250), complete=True)
    assert conversation.find(item) == AssistantMessage(item, "Wait it", complete=False, tool_uses=(LOOKED_UP,))
    assert conversation.messages() == (
        Message("user", "weather?"),
        Message("assistant", "Wait", (LOOKED_UP.call,)),
        Message("tool", "sunny", call_id="call_1"),
        Message("assistant", "it"),
    )
    assert conversation.delete(item)
    assert conversation.messages() == (Message("user", "weather?"),)


def test_a_clients_call_is_not_called_as_one_of_our_own_was() -> None:
    """A service that counts the calls of each answer anew gives both the same id."""
    conversation = History("", max_turns=5)
    conversation.add_reply(FIRST, SpokenTranscript())
    conversation.add_tool_call(FIRST, LOOKED_UP)
    assert conversation.add_function_call(replace(LOOKED_UP.call, name="set_lamp")).call_id != LOOKED_UP.call.call_id


def test_what_a_tool_has_done_outlives_a_retracted_reply() -> None:
    conversation = History("", max_turns=5)
    say(conversation, "milk on the list")
    item = conversation.add_reply(FIRST, spoken("Done."))
    conversation.add_tool_call(FIRST, LOOKED_UP)
    conversation.retract(FIRST)
    assert conversation.find(item) == AssistantMessage(item, "", complete=False, tool_uses=(LOOKED_UP,))
    assert conversation.truncate(item, ReplySamples(100)) is None
    say(conversation, "and eggs", continues=True)
    assert [message.role for message in conversation.messages()] == ["user", "assistant", "tool", "user"]


def test_a_tool_of_a_reply_that_is_gone_is_forgotten() -> None:
    conversation = History("", max_turns=5)
    conversation.add_reply(FIRST, SpokenTranscript())
    conversation.retract(FIRST)
    conversation.add_tool_call(FIRST, LOOKED_UP)
    assert conversation.items == ()


def test_a_history_of_too_many_tokens_loses_its_older_half() -> None:
    conversation = History("", max_turns=100, max_tokens=100)
    for number in range(9):
        say(conversation, f"{number}" * 40)  # 14 tokens each
    assert [message.content[0] for message in conversation.messages()] == ["5", "6", "7", "8"]
