"""Every conversation is converted so that user and assistant alternate and the user begins."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import named_cases

from llm.chat import FunctionCall, Message
from llm.templates.role_alternation import NO_OUTPUT, alternating

SYSTEM, ASKED, ANSWERED = Message("system", "Be brief."), Message("user", "Where?"), Message("assistant", "Here.")
RANG = Message("assistant", "Your timer is up.")
CALL = Message("assistant", "", (FunctionCall("c1", "time", "{}"),))
RESULT = Message("tool", "noon", call_id="c1")


@named_cases(
    ("messages", "alternating_messages"),
    {
        "as it is": ([SYSTEM, ASKED], [SYSTEM, ASKED]),
        "a timer rang": (
            [SYSTEM, ASKED, ANSWERED, RANG, ASKED],
            [SYSTEM, ASKED, Message("assistant", "Here.\n\nYour timer is up."), ASKED],
        ),
        "a greeting": ([SYSTEM, ANSWERED, ASKED], [SYSTEM, Message("user", "…"), ANSWERED, ASKED]),
        "no system": ([RANG, ASKED], [Message("user", "…"), RANG, ASKED]),
        "no answer came": ([ASKED, ASKED], [Message("user", "Where?\n\nWhere?")]),
        "calls": ([ASKED, CALL, RESULT, CALL, RESULT, ANSWERED, RANG], None),
        "only instructions": ([SYSTEM], [SYSTEM, Message("user", "…")]),
        "nothing": ([], [Message("user", "…")]),
        "speaks again": ([SYSTEM, ASKED, ANSWERED], [SYSTEM, ASKED, ANSWERED, Message("user", "…")]),
        "speaks again as instructed": ([ASKED, ANSWERED, SYSTEM], [ASKED, ANSWERED, SYSTEM, Message("user", "…")]),
        "a result": ([ASKED, CALL, RESULT], [ASKED, CALL, RESULT]),
        "greets again": ([SYSTEM, RANG], [SYSTEM, Message("user", "…"), RANG, Message("user", "…")]),
        "a blank answer": (
            [SYSTEM, ASKED, Message("assistant", " "), ASKED],
            [SYSTEM, Message("user", "Where?\n\nWhere?")],
        ),
        "blank system and question": (
            [Message("system", "\n"), Message("user", ""), ANSWERED],
            [Message("user", "…"), ANSWERED, Message("user", "…")],
        ),
        "nothing but blanks": ([SYSTEM, Message("user", " ")], [SYSTEM, Message("user", "…")]),
        "a call that gave nothing": (
            [ASKED, CALL, Message("tool", "", call_id="c1")],
            [ASKED, CALL, Message("tool", NO_OUTPUT, call_id="c1")],
        ),
    },
)
def test_messages_alternate(messages: list[Message], alternating_messages: list[Message] | None) -> None:
    if alternating_messages is None:  # calls and their results stay separate
        alternating_messages = [*messages[:5], Message("assistant", "Here.\n\nYour timer is up."), Message("user", "…")]
    assert alternating(messages) == alternating_messages


MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.sampled_from(["Hi", "no"])),
    st.sampled_from([CALL, RESULT]),
)


@given(st.lists(MESSAGES, max_size=9), MESSAGES)
def test_appended_message_changes_only_the_end(messages: list[Message], added: Message) -> None:
    before, after = alternating([SYSTEM, *messages]), alternating([SYSTEM, *messages, added])
    if before[-1].content == "…":  # the placeholder is replaced by the added message
        before.pop()
    assert after[: len(before) - 1] == before[:-1]
    if len(before) > 1:
        assert after[len(before) - 1].content.startswith(before[-1].content)


@given(st.lists(MESSAGES, max_size=9))
def test_no_role_follows_itself(messages: list[Message]) -> None:
    said = [message for message in alternating(messages) if not message.calls and message.role != "tool"]
    turns = alternating(messages)
    assert all(one.role != other.role for one, other in pairwise(turns) if one in said and other in said)
    assert not turns or turns[0].role != "assistant"


@given(st.lists(st.one_of(MESSAGES, st.just(SYSTEM)), max_size=9))
def test_every_request_ends_with_the_user_or_a_tool_result(messages: list[Message]) -> None:
    said = [message for message in alternating(messages) if message.role != "system"]
    assert said[-1].role in {"user", "tool"}
    assert said[0].role != "assistant" or said[0].calls


BLANKS = st.sampled_from(["", " ", "\n\t", "\N{NO-BREAK SPACE}", "Hi"])


@given(
    st.lists(
        st.one_of(
            st.builds(Message, st.sampled_from(["system", "user", "assistant"]), BLANKS),
            st.builds(Message, st.just("tool"), BLANKS, call_id=st.just("c1")),
        ),
        max_size=6,
    )
)
def test_no_message_is_blank(messages: list[Message]) -> None:
    assert all(message.content.strip() for message in alternating(messages))
