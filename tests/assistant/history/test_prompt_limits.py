"""Tests of prompt truncation: whole turns, many at a time, rarely; by a share, or not at all, if a client says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from assistant.history.prompt_limits import HistoryLimits, first_kept, tokens_of
from llm.chat import FunctionCall


def turn(number: int, words: str = "four byte words here", answer: str = "and as many back") -> list[Item]:
    return [
        UserMessage(ItemId(f"u{number}"), words, spoken=True),
        AssistantMessage(ItemId(f"a{number}"), answer),
    ]


def turns(count: int) -> list[Item]:
    return [item for number in range(count) for item in turn(number)]


def test_nothing_is_cut_below_the_limits() -> None:
    assert first_kept(turns(20), HistoryLimits(20, 10_000)) == 0
    assert first_kept([], HistoryLimits(1, 1)) == 0


def test_one_turn_too_many_cuts_the_older_half() -> None:
    items = turns(21)
    assert items[first_kept(items, HistoryLimits(20, 10_000))].id == "u11"


def test_one_token_too_many_cuts_half_of_the_tokens() -> None:
    items = turns(30)
    each = sum(tokens_of(item) for item in turn(0))
    kept = items[first_kept(items, HistoryLimits(1000, 30 * each - 1)) :]
    assert isinstance(kept[0], UserMessage)
    assert sum(map(tokens_of, kept)) == 14 * each


def test_newest_turn_stays_even_if_too_long() -> None:
    items = [*turns(3), *turn(3, "word " * 1000)]
    assert items[first_kept(items, HistoryLimits(20, 100))].id == "u3"


def test_continued_turn_stays_whole() -> None:
    more = UserMessage(ItemId("more"), "and more", spoken=True, continues=True)
    items = [*turns(2), more, *turn(2)]
    assert items[first_kept(items, HistoryLimits(1, 10_000))].id == "u2"


@pytest.mark.parametrize(
    ("item", "tokens"),
    [
        pytest.param(UserMessage(ItemId("i"), "abcd", spoken=True), 5, id="4 letters"),
        pytest.param(UserMessage(ItemId("i"), "abcde", spoken=True), 6, id="5 letters"),
        pytest.param(UserMessage(ItemId("i"), "", spoken=True), 0, id="empty"),
        pytest.param(UserMessage(ItemId("i"), "\udc80", spoken=True), 5, id="lone surrogate"),
        pytest.param(SystemMessage(ItemId("i"), "ä" * 4), 6, id="non-ASCII letters"),
        pytest.param(FunctionCallItem(ItemId("i"), "c", "abcd", "{}{}"), 6, id="function call"),
        pytest.param(FunctionOutput(ItemId("i"), "c", "abcdefgh"), 6, id="function output"),
        pytest.param(
            AssistantMessage(ItemId("i"), "abcd", tool_uses=(ToolUse(FunctionCall("c", "ab", "{}"), "abcd", 0),)),
            15,
            id="answer with a call",
        ),
    ],
)
def test_tokens_are_estimated(item: Item, tokens: int) -> None:
    assert tokens_of(item) == tokens


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=60),
    st.integers(1, 30),
    st.integers(100, 3000),
)
def test_kept_items_fit_the_limits_and_begin_with_a_turn(parts: list[tuple[bool, int]], most: int, tokens: int) -> None:
    items: list[Item] = []
    for number, (said, length) in enumerate(parts):
        item_id = ItemId(f"i{number}")
        items.append(
            UserMessage(item_id, "x" * length, spoken=True) if said else AssistantMessage(item_id, "x" * length)
        )
    first = first_kept(items, HistoryLimits(most, tokens))
    kept = items[first:]
    begins = [item for item in kept if isinstance(item, UserMessage)]
    assert len(begins) <= most
    assert first == 0 or isinstance(kept[0], UserMessage)
    assert sum(map(tokens_of, kept)) <= tokens or len(begins) <= 1


def test_beginning_of_the_prompt_rarely_changes() -> None:
    conversation = History("Be brief.", max_turns=20, max_tokens=2000)
    moves, beginning = 0, None
    for number in range(200):
        conversation.add_user_text(f"question {number} of a long evening")
        _, first, *rest = conversation.messages()
        moves += beginning is not None and first != beginning
        beginning = first
        assert len(rest) < 20
    assert moves == 17, "every eleventh turn"


def grown(history: History, turns: int) -> History:
    for number in range(turns):
        history.add_user_text(f"question {number:3} " + "x" * 68)  # 24 tokens
    return history


def contents(history: History) -> list[str]:
    return [message.content[:12] for message in history.messages() if message.role == "user"]


def test_share_of_the_own_limit_is_kept() -> None:
    plain = grown(History("", 1000, 1000), 45)
    assert len(contents(plain)) < 40
    high, low = History("", 1000, 1000), History("", 1000, 1000)
    high.own_max_tokens, high.kept = 500, 0.8
    low.own_max_tokens, low.kept = 500, 0.2
    sizes = [len(contents(grown(history, 21))) for history in (high, low)]
    assert 14 <= sizes[0] <= 17
    assert 3 <= sizes[1] <= 5


def test_own_limit_cannot_exceed_that_of_the_server() -> None:
    history = History("", 1000, 500)
    history.own_max_tokens = 100_000
    assert history.limits.tokens == 500


def test_nothing_leaves_a_prompt_that_is_not_truncated() -> None:
    history = History("", 5, 500)
    history.truncates = False
    assert history.excess("hello") is None
    grown(history, 30)
    assert len(contents(history)) == 30
    assert history.excess("hello") == "756 tokens; allowed: 500"
    assert history.summary_due() is None
    history.truncates = True
    assert history.excess("hello") is None


def test_system_messages_do_not_count() -> None:
    history = History("", 5, 500)
    history.truncates = False
    history.insert(SystemMessage(ItemId("s"), "y" * 4000))
    assert history.excess("hello") is None
