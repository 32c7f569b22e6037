"""Typed texts until the server has them."""

from hypothesis import given
from hypothesis import strategies as st

from web.remote.conversation.pending_text import MAX_WAITING, PendingText


def test_text_waits_until_arrival_and_is_owed_until_answered() -> None:
    typed = PendingText()
    assert typed.add_text("one")
    assert typed.add_text("two")
    assert typed.unsent == [("typed_1", "one"), ("typed_2", "two")]
    typed.sent("typed_1")
    assert typed.unsent == [("typed_2", "two")]
    typed.arrived("typed_1")
    typed.answered()
    assert typed.reply_due  # the second text has not arrived yet
    typed.sent("typed_2")
    typed.arrived("typed_2")
    typed.answered()
    assert not typed.reply_due
    assert not typed.connection_lost()


def test_lost_connection_reports_uncertain_texts_once() -> None:
    typed = PendingText()
    typed.add_text("one")
    assert not typed.connection_lost()
    typed.sent("typed_1")
    assert typed.connection_lost()
    assert not typed.connection_lost()
    assert typed.unsent == [("typed_1", "one")]


def test_waiting_texts_are_limited_and_counted_on_give_up() -> None:
    typed = PendingText()
    assert all(typed.add_text("x") for _ in range(MAX_WAITING))
    assert not typed.add_text("x")
    assert (typed.give_up(), typed.give_up(), typed.reply_due) == (MAX_WAITING, 0, False)


@given(st.lists(st.sampled_from(["add", "send", "half", "arrive", "answer", "lost"]), max_size=40))
def test_every_text_arrives_despite_lost_connections(course: list[str]) -> None:
    typed, words, there, sent = PendingText(), list[str](), dict[str, str](), dict[str, str]()
    for step in [*course, "lost", "send", "arrive"]:
        match step:
            case "add" if typed.add_text(f"text {len(words)}"):
                words.append(f"text {len(words)}")
            case "send":
                for name, text in typed.unsent:
                    typed.sent(name)
                    sent[name] = text
            case "half" if typed.unsent:
                typed.sent(typed.unsent[0][0])  # sent on a dead connection
            case "arrive":
                for name, text in sent.items():
                    assert name not in there  # never twice
                    there[name] = text
                    typed.arrived(name)
                sent.clear()
            case "answer":
                typed.answered()
            case "lost":
                typed.connection_lost()
                sent.clear()
    assert sorted(there.values()) == sorted(words)
    assert typed.unsent == []
