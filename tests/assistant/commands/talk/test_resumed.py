"""Summary of a resumed conversation."""

from datetime import UTC

import pytest

from assistant.commands.talk.resumed import MAX_CHARS, resumed
from assistant.commands.talk.view import View
from assistant.history.items import AssistantMessage, Item, ItemId, SystemMessage, UserMessage

BEGAN = "2026-01-31T09:30:00+00:00"


def exchange(number: int, *, continues: bool = False) -> list[Item]:
    said = UserMessage(ItemId(f"item_{2 * number}"), f"question {number}", spoken=True, continues=continues)
    return [said, AssistantMessage(ItemId(f"item_{2 * number + 1}"), f"Answer {number}.")]


def test_last_turns_are_shown_and_all_are_counted() -> None:
    items = [item for number in range(7) for item in exchange(number)]
    past = resumed("20260131-093000", BEGAN, items, UTC)
    assert past.heading == "20260131-093000, started 2026-01-31 09:30, 7 turns; the last 3:"
    assert [text for _, text in past.last] == [
        text for number in (4, 5, 6) for text in (f"question {number}", f"Answer {number}.")
    ]
    assert [who for who, _ in past.last] == ["you", "repartee"] * 3


@pytest.mark.parametrize(
    ("items", "began_at", "heading"),
    [
        pytest.param(exchange(0), BEGAN, "one, started 2026-01-31 09:30, 1 turn:", id="one turn"),
        pytest.param([*exchange(0), *exchange(1, continues=True)], "", "one, 1 turn:", id="went on"),
        pytest.param(exchange(0), "", "one, 1 turn:", id="no first line"),
        pytest.param(exchange(0), "yesterday", "one, 1 turn:", id="no date"),
        pytest.param([], BEGAN, "one, started 2026-01-31 09:30, it is empty", id="empty"),
        pytest.param([SystemMessage(ItemId("a"), "be kind")], "", "one, it is empty", id="system only"),
        pytest.param([AssistantMessage(ItemId("a"), "Hello.")], "", "one, no user turn:", id="a greeting only"),
    ],
)  # fmt: skip
def test_heading_has_name_start_and_length(items: list[Item], began_at: str, heading: str) -> None:
    assert resumed("one", began_at, items, UTC).heading == heading


def test_long_texts_are_shortened_and_printable() -> None:
    said = UserMessage(ItemId("a"), "\x1b[2Jlong\n" + "x" * 5000, spoken=False)
    ((_, text),) = resumed("one", BEGAN, [said], UTC).last
    assert len(text) <= MAX_CHARS + 2
    assert text.endswith("…")
    assert "\x1b" not in text
    assert "\n" not in text


def test_long_turn_does_not_fill_the_screen() -> None:
    items = [item for number in range(50) for item in exchange(number, continues=number > 0)]
    assert len(resumed("one", BEGAN, items, UTC).last) == 12


def test_screen_shows_the_past_before_new_words() -> None:
    view = View()
    view.resumed(resumed("one", BEGAN, exchange(0), UTC), "14:10:07")
    view.typed("and now")
    assert [(entry.who, entry.text, entry.mark) for entry in view.entries] == [
        ("resumed", "one, started 2026-01-31 09:30, 1 turn:", ""),
        ("you", "question 0", "earlier"),
        ("repartee", "Answer 0.", "earlier"),
        ("you", "and now", "typed"),
    ]
