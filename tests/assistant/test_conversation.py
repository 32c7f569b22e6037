"""The history: nothing is remembered that was not heard."""

from assistant.conversation import Conversation
from assistant.script import Script
from assistant.turn_events import ReplyId
from audio.tts import WordMark
from audio.units import ReplySamples
from llm.chat import Message

SYSTEM = Message("system", "Be brief.")


def spoken(text: str) -> Script:
    script = Script()
    script.begin_unit(text)
    at = 0
    for number, word in enumerate(text.split()):
        start = text.index(word, at)
        at = start + len(word)
        script.add(100, (WordMark(start, at, ReplySamples(number * 100), ReplySamples(number * 100 + 100)),))
    return script


def test_an_answer_is_remembered_as_far_as_it_was_heard() -> None:
    conversation = Conversation("Be brief.", max_turns=5)
    conversation.commit(ReplyId(1, 1), "what time is it")
    assert conversation.heard(ReplyId(1, 1), spoken("It is ten o'clock."), ReplySamples(250)) == "It is"
    assert conversation.messages("and now") == (
        SYSTEM,
        Message("user", "what time is it"),
        Message("assistant", "It is"),
        Message("user", "and now"),
    )


def test_asking_for_messages_remembers_nothing() -> None:
    conversation = Conversation("", max_turns=5)
    assert conversation.messages("hello") == conversation.messages("hello") == (Message("user", "hello"),)


def test_a_retracted_turn_leaves_no_trace() -> None:
    conversation = Conversation("Be brief.", max_turns=5)
    conversation.commit(ReplyId(1, 1), "a small coffee")
    conversation.retract(ReplyId(1, 1))
    assert conversation.messages("a small coffee with milk") == (SYSTEM, Message("user", "a small coffee with milk"))


def test_nothing_heard_means_no_assistant_message() -> None:
    conversation = Conversation("", max_turns=5)
    conversation.commit(ReplyId(1, 1), "hello")
    conversation.heard(ReplyId(1, 1), spoken("Hello there."), ReplySamples(0))
    assert conversation.messages("are you there") == (Message("user", "hello"), Message("user", "are you there"))


def test_a_greeting_has_no_user_message() -> None:
    conversation = Conversation("", max_turns=5)
    conversation.commit(ReplyId(1, 1), "")
    conversation.heard(ReplyId(1, 1), spoken("Hello."), ReplySamples(100))
    assert conversation.messages("hi") == (Message("assistant", "Hello."), Message("user", "hi"))


def test_old_turns_are_forgotten() -> None:
    conversation = Conversation("Be brief.", max_turns=2)
    for turn in range(1, 5):
        conversation.commit(ReplyId(turn, 1), f"turn {turn}")
    assert conversation.messages("now") == (
        SYSTEM,
        Message("user", "turn 3"),
        Message("user", "turn 4"),
        Message("user", "now"),
    )
