"""Tests of the history and of the prompt made from it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from assistant.history.cut_to_heard import SpokenTranscript
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


def add_user_message(conversation: History, text: str, *, continues: bool = False) -> Item:
    return conversation.add_user_text(text, continues=continues)


def typed(name: str, text: str) -> UserMessage:
    return UserMessage(ItemId(name), text, spoken=False)


def test_message_contains_only_heard_words() -> None:
    conversation = History("Be brief.", max_turns=5)
    add_user_message(conversation, "what time is it")
    item = conversation.add_reply(FIRST, spoken("It is ten o'clock."))
    assert conversation.set_heard(FIRST, ReplySamples(250), complete=True) == "It is"
    assert conversation.find(item) == AssistantMessage(item, "It is", complete=False)
    assert conversation.messages("and now") == (
        SYSTEM,
        Message("user", "what time is it"),
        Message("assistant", "It is"),
        Message("user", "and now"),
    )


def test_message_heard_to_the_end_is_complete() -> None:
    conversation = History("", max_turns=5)
    item = conversation.add_reply(FIRST, spoken("Hello."))
    conversation.set_heard(FIRST, ReplySamples(100), complete=True)
    assert conversation.find(item) == AssistantMessage(item, "Hello.")


def test_client_may_truncate_a_message_further() -> None:
    conversation = History("", max_turns=5)
    item = conversation.add_reply(FIRST, spoken("It is ten o'clock."))
    conversation.set_heard(FIRST, ReplySamples(400), complete=True)
    assert conversation.truncate(item, ReplySamples(100)) == "It"
    assert conversation.messages() == (Message("assistant", "It"),)
    assert conversation.truncate(item, ReplySamples(300)) == "It", "what was not heard once never was"
    assert conversation.length(item) == 100
    assert conversation.truncate(ItemId("item_99"), ReplySamples(100)) is None


def test_messages_does_not_change_the_history() -> None:
    conversation = History("", max_turns=5)
    assert conversation.messages("hello") == conversation.messages("hello") == (Message("user", "hello"),)


def test_continued_user_messages_are_joined() -> None:
    conversation = History("Be brief.", max_turns=5)
    add_user_message(conversation, "a small coffee")
    conversation.add_reply(FIRST, SpokenTranscript())
    conversation.retract(FIRST)
    joined = (SYSTEM, Message("user", "a small coffee with milk"))
    assert conversation.messages("with milk", continues=True) == joined
    add_user_message(conversation, "with milk", continues=True)
    assert conversation.messages() == joined
    assert [type(item) for item in conversation.items] == [UserMessage, UserMessage]


def test_words_before_and_after_a_withdrawn_reply_are_one_user_message() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "a small coffee")
    item = conversation.add_reply(FIRST, spoken("It is."))
    assert conversation.withdraw(FIRST, ReplySamples(100), ()) == "It"
    joined = (Message("user", "a small coffee with milk"),)
    assert conversation.messages("with milk", continues=True) == joined
    add_user_message(conversation, "with milk", continues=True)
    assert conversation.messages() == joined
    assert conversation.find(item) == AssistantMessage(item, "It", complete=False, withdrawn=True), "it was heard"
    conversation.truncate(item, ReplySamples(0))
    assert conversation.messages() == joined


def test_reply_withdrawn_before_a_whole_word_is_forgotten() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "a small coffee")
    conversation.add_reply(FIRST, spoken("It is."))
    assert conversation.withdraw(FIRST, ReplySamples(0), ()) == ""
    assert [type(item) for item in conversation.items] == [UserMessage]


def test_withdrawn_reply_whose_turn_does_not_continue_is_in_the_prompt_again() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "a small coffee")
    item = conversation.add_reply(FIRST, spoken("It is."))
    conversation.withdraw(FIRST, ReplySamples(100), ())
    assert conversation.restore_withdrawn(FIRST.turn) == "It"
    assert conversation.find(item) == AssistantMessage(item, "It", complete=False)
    assert conversation.messages() == (Message("user", "a small coffee"), Message("assistant", "It"))
    assert conversation.restore_withdrawn(FIRST.turn) is None


def test_reply_withdrawn_during_a_notice_is_forgotten() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "a small coffee")
    transcript = SpokenTranscript()
    transcript.begin_chunk("Wait.", is_notice=True)
    transcript.add_audio(100, ())
    conversation.add_reply(FIRST, transcript)
    assert conversation.withdraw(FIRST, ReplySamples(100), ()) == ""
    assert [type(item) for item in conversation.items] == [UserMessage]


def test_unheard_reply_gives_no_assistant_message() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "hello")
    conversation.add_reply(FIRST, spoken("Hello there."))
    conversation.set_heard(FIRST, ReplySamples(0), complete=True)
    assert conversation.messages("are you there") == (Message("user", "hello"), Message("user", "are you there"))


def test_greeting_has_no_user_message() -> None:
    conversation = History("", max_turns=5)
    conversation.add_reply(FIRST, spoken("Hello."))
    conversation.set_heard(FIRST, ReplySamples(100), complete=True)
    assert conversation.messages("hi") == (Message("assistant", "Hello."), Message("user", "hi"))


def test_old_turns_leave_the_prompt_whole() -> None:
    conversation = History("Be brief.", max_turns=2)
    for turn in range(1, 5):
        add_user_message(conversation, f"turn {turn}")
        add_user_message(conversation, "and more", continues=True)
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
    ids=["system messages", "long system messages", "user messages", "long user messages"],
)
@pytest.mark.parametrize("after", [None, ItemId("root")], ids=["at the end", "at the beginning"])
def test_history_is_bounded_and_reports_removed_items(
    client: Callable[[int], Item], most: int, after: ItemId | None
) -> None:
    told: list[ItemId] = []
    conversation = History("", max_turns=1, max_tokens=2000, on_removed=told.append)
    for number in range(1200):
        conversation.insert(client(number), after)
        assert conversation.find(ItemId(f"i{number}")) is not None, "the newest stays"
        assert len(conversation.items) <= most
    kept = [item.id for item in conversation.items]
    assert sorted([*told, *kept]) == sorted(f"i{number}" for number in range(1200))
    assert len(kept) >= most // 2


def test_items_outside_the_prompt_stay_in_the_history() -> None:
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


def test_call_and_output_are_in_the_prompt_together() -> None:
    conversation = History("", max_turns=4)
    add_user_message(conversation, "weather?")
    conversation.add_function_call(CALLED)
    for number in range(4):
        add_user_message(conversation, f"hello {number}")
    before = conversation.messages()
    conversation.insert(FunctionOutput(ItemId("r"), "call_1", "sunny"))
    pair = (Message("assistant", "", (CALLED,)), Message("tool", "sunny", call_id="call_1"))
    assert conversation.messages() == (*before, *pair), "prompts grow at their end"
    add_user_message(conversation, "thanks")
    assert conversation.messages()[-3:-1] == pair
    for number in range(2):
        add_user_message(conversation, f"bye {number}")
        assert all(message.calls for message in conversation.messages() if message.role == "assistant")
    assert [message.role for message in conversation.messages()] == ["user", "user"]


def test_call_before_the_cut_is_added_to_its_output() -> None:
    conversation = History("", max_turns=2)
    add_user_message(conversation, "weather?")
    conversation.add_function_call(CALLED)
    add_user_message(conversation, "hello")
    add_user_message(conversation, "are you there")
    conversation.insert(FunctionOutput(ItemId("r"), "call_1", "sunny"))
    assert [message.role for message in conversation.messages()] == ["user", "assistant", "tool"]
    conversation.delete(ItemId("r"))
    assert [message.role for message in conversation.messages()] == ["user"]


def test_instructions_of_one_request_replace_the_others() -> None:
    conversation = History("Be brief.", max_turns=5)
    assert conversation.messages("hi", instructions="Sing.")[0] == Message("system", "Sing.")
    assert conversation.messages("hi", instructions="") == (Message("user", "hi"),)


def test_items_are_inserted_at_the_given_place() -> None:
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


def test_announced_id_is_taken() -> None:
    conversation = History("", max_turns=5)
    promised = conversation.announce_user_item()
    assert [conversation.is_taken(ItemId(name)) for name in (promised, "root", "mine")] == [True, True, False]
    conversation.add_user_text("hello")
    assert conversation.is_taken(promised)
    conversation.delete(promised)
    assert not conversation.is_taken(promised), "a deleted item may be inserted again"


def test_id_chosen_by_a_client_is_not_assigned_again() -> None:
    conversation = History("", max_turns=5)
    conversation.insert(typed("item_1", "mine"))
    assert conversation.reserve() == "item_2"


def test_signed_parallel_calls_stay_together() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "weather?")
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


def test_call_directly_precedes_its_output() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "weather?")
    call = FunctionCall("call_1", "weather", "{}", CallExtra("near", '{"signature":"x"}'))
    called = conversation.add_function_call(call)
    assert conversation.find(called.id) == FunctionCallItem(called.id, "call_1", "weather", "{}", call.extra)
    assert conversation.messages() == (Message("user", "weather?"),)
    add_user_message(conversation, "hello?")
    conversation.insert(FunctionOutput(ItemId("r"), "call_1", "sunny"))
    assert conversation.messages() == (
        Message("user", "weather?"),
        Message("assistant", "", (call,)),
        Message("tool", "sunny", call_id="call_1"),
        Message("user", "hello?"),
    )


LOOKED_UP = ToolUse(FunctionCall("call_1", "weather", "{}"), "sunny", 4)


def test_tool_call_stays_with_its_reply() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "weather?")
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


def test_client_call_gets_an_unused_call_id() -> None:
    """Some services number the calls of each response from zero, so that ids repeat."""
    conversation = History("", max_turns=5)
    conversation.add_reply(FIRST, SpokenTranscript())
    conversation.add_tool_call(FIRST, LOOKED_UP)
    assert conversation.add_function_call(replace(LOOKED_UP.call, name="set_lamp")).call_id != LOOKED_UP.call.call_id


def test_question_that_is_answered_elsewhere_is_removed_with_its_parts() -> None:
    conversation = History("Be brief.", max_turns=5)
    kept = [add_user_message(conversation, "hello"), typed("typed", "look")]
    conversation.insert(kept[1])
    parts = [add_user_message(conversation, "what time"), add_user_message(conversation, "is it", continues=True)]
    reply = conversation.add_reply(FIRST, spoken("It is ten."))
    assert conversation.remove_question(FIRST) == tuple(part.id for part in parts)
    assert [item.id for item in conversation.items] == [*(item.id for item in kept), reply]


def test_tool_call_outlives_a_retracted_reply() -> None:
    conversation = History("", max_turns=5)
    add_user_message(conversation, "milk on the list")
    item = conversation.add_reply(FIRST, spoken("Done."))
    conversation.add_tool_call(FIRST, LOOKED_UP)
    conversation.retract(FIRST)
    assert conversation.find(item) == AssistantMessage(item, "", complete=False, tool_uses=(LOOKED_UP,))
    assert conversation.truncate(item, ReplySamples(100)) is None
    add_user_message(conversation, "and eggs", continues=True)
    assert [message.role for message in conversation.messages()] == ["user", "assistant", "tool", "user"]


def test_tool_call_of_a_removed_reply_is_ignored() -> None:
    conversation = History("", max_turns=5)
    conversation.add_reply(FIRST, SpokenTranscript())
    conversation.retract(FIRST)
    conversation.add_tool_call(FIRST, LOOKED_UP)
    assert conversation.items == ()


def test_too_many_tokens_cut_the_older_half_of_the_prompt() -> None:
    conversation = History("", max_turns=100, max_tokens=100)
    for number in range(9):
        add_user_message(conversation, f"{number}" * 40)  # 14 tokens each
    assert [message.content[0] for message in conversation.messages()] == ["5", "6", "7", "8"]
