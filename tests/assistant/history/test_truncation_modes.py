"""Truncation of a long conversation by a client: by a share, or not at all."""

from assistant.history.history import History
from assistant.history.items import ItemId, SystemMessage


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
