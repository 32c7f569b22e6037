"""A summary in place of old turns: when it is due, what it covers, and when it enters the prompt."""

from assistant.history.history import History
from assistant.history.items import AssistantMessage, ItemId, SystemMessage, UserMessage
from assistant.history.summary import SUMMARIZE_FROM, SummaryRequest, items_to_summarize
from llm.chat import Message

TURNS = 20


def history_of(turns: int, max_tokens: int = 100_000) -> History:
    history = History("Be brief.", TURNS, max_tokens)
    for number in range(turns):
        add_turn(history, number)
    return history


def add_turn(history: History, number: int) -> None:
    history.add_user_text(f"question {number}")
    history.insert(AssistantMessage(ItemId(f"a{number}"), f"answer {number}"))


def due(history: History) -> SummaryRequest:
    request = history.summary_due()
    assert request is not None
    return request


def test_nothing_is_due_before_the_prompt_is_nearly_full() -> None:
    nearly = int(TURNS * SUMMARIZE_FROM)
    assert history_of(nearly).summary_due() is None
    assert history_of(nearly + 1).summary_due() is not None
    assert history_of(0).summary_due() is None


def test_tokens_count_as_well_as_turns() -> None:
    assert history_of(6, max_tokens=100).summary_due() is not None


def test_request_has_the_words_of_the_oldest_turns() -> None:
    request = due(history_of(13))
    system, user = request.messages
    assert system.role == "system"
    assert user.content.startswith("User: question 0\nAssistant: answer 0\n")
    assert "question 12" not in user.content
    assert request.covers == {item.id for item in request.items}


def test_summary_replaces_its_turns_only_when_it_is_applied() -> None:
    history = history_of(13)
    request, before = due(history), history.messages()
    history.offer_summary(request, " They talked\nabout questions. ")
    assert history.messages() == before
    assert history.summary_due() is None  # one waits
    assert history.apply_summary() == len(request.items)
    assert history.apply_summary() == 0
    messages = history.messages("next")
    assert messages[:2] == (
        Message("system", "Be brief."),
        Message("system", "Summary of the earlier conversation: They talked about questions."),
    )
    assert messages[2] == before[1 + len(request.items)]
    assert messages[-1] == Message("user", "next")
    assert len(history.items) == 26  # a client may still ask for them


def test_next_summary_contains_the_one_before() -> None:
    history = history_of(13)
    first = due(history)
    history.offer_summary(first, "Number seven matters.")
    history.apply_summary()
    for number in range(13, 23):
        add_turn(history, number)
    second = due(history)
    assert second.messages[1].content.startswith("Summary of what came before: Number seven matters.\nUser: question ")
    assert second.covers > first.covers
    history.offer_summary(second, "Seven still matters.")
    history.apply_summary()
    assert [message.content for message in history.messages()][1].endswith("Seven still matters.")


def test_summary_of_changed_or_deleted_items_is_not_used() -> None:
    history = history_of(13)
    request = due(history)
    history.delete(ItemId("a2"))
    history.offer_summary(request, "Too late.")
    assert history.apply_summary() == 0
    request = due(history)
    history.offer_summary(request, "In time.")
    history.delete(ItemId("a1"))
    assert history.apply_summary() == 0
    history.offer_summary(due(history), "Applied.")
    history.apply_summary()
    history.delete(ItemId("a0"))  # a client that deletes words wants them gone
    assert "Applied." not in str(history.messages())


def test_blank_summary_is_not_used() -> None:
    history = history_of(13)
    history.offer_summary(due(history), " \n")
    assert history.apply_summary() == 0


def test_system_messages_are_never_summarized() -> None:
    history = history_of(13)
    history.insert(SystemMessage(ItemId("s"), "Speak like a pirate."), ItemId("a0"))
    request = due(history)
    assert "pirate" not in request.messages[1].content
    history.offer_summary(request, "They talked.")
    history.apply_summary()
    assert Message("system", "Speak like a pirate.") in history.messages()


def test_newest_turn_is_never_summarized() -> None:
    history = History("", TURNS, 100)
    history.add_user_text("word " * 200)
    assert history.summary_due() is None
    assert items_to_summarize([UserMessage(ItemId("u"), "word " * 200, spoken=True)], history.limits) == ()


def test_prompt_grows_only_at_its_end_between_summaries() -> None:
    history = history_of(0)
    before: tuple[Message, ...] = ()
    cuts = 0
    for number in range(60):
        asked = history.messages(f"question {number}")
        if asked[: len(before)] != before:
            cuts += 1
        before = asked
        applied = history.apply_summary()
        add_turn(history, number)
        assert applied == 0 or number > TURNS * SUMMARIZE_FROM
        if (request := history.summary_due()) is not None:
            history.offer_summary(request, f"Summary at {number}.")
    assert 0 < cuts <= 10
