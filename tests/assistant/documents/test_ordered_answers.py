"""The order of answers to parallel requests."""

from hypothesis import given
from hypothesis import strategies as st

from assistant.documents.ordered_answers import MAX_ANSWER_CHARS, AnswerEnded, AnswerText, OrderedAnswers


def test_first_part_is_passed_on_as_it_arrives() -> None:
    answers = OrderedAnswers(2)
    answers.add_text(0, "It")
    assert list(answers.take()) == [AnswerText(0, "It")]
    answers.add_text(0, " is.")
    answers.end(0)
    assert list(answers.take()) == [AnswerText(0, " is."), AnswerEnded(0)]


def test_later_part_waits_for_the_earlier_one() -> None:
    answers = OrderedAnswers(2)
    answers.add_text(1, "Two.")
    answers.end(1)
    assert list(answers.take()) == []
    answers.end(0, "No.")
    assert list(answers.take()) == [AnswerEnded(0, "failed", "No."), AnswerText(1, "Two."), AnswerEnded(1)]
    assert answers.complete


def test_failure_after_the_beginning_is_a_break() -> None:
    answers = OrderedAnswers(1)
    answers.add_text(0, "It")
    list(answers.take())
    assert not answers.restart(0)
    answers.end(0, "No.")
    assert list(answers.take()) == [AnswerEnded(0, "broken", "No.")]
    assert answers.text_of(0) is None


def test_answer_that_was_not_passed_on_may_start_again() -> None:
    answers = OrderedAnswers(2)
    answers.add_text(1, "Half")
    assert answers.restart(1)
    answers.add_text(1, " Whole.")
    answers.end(1)
    assert answers.text_of(1) == "Whole."


def test_failed_answer_that_was_not_passed_on_is_dropped() -> None:
    answers = OrderedAnswers(2)
    answers.add_text(1, "Half")
    answers.end(1, "No.")
    answers.end(0)
    assert list(answers.take()) == [AnswerEnded(0), AnswerEnded(1, "failed", "No.")]


def test_blank_answer_is_blank_and_long_one_is_cut() -> None:
    answers = OrderedAnswers(2)
    answers.add_text(0, " \n")
    assert answers.is_blank(0)
    answers.add_text(1, "x" * (MAX_ANSWER_CHARS + 5))
    answers.add_text(1, "y")
    answers.end(1)
    assert answers.text_of(1) == "x" * MAX_ANSWER_CHARS


@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abe")), max_size=40))
def test_events_come_in_the_order_of_the_parts_and_once(count: int, steps: list[tuple[int, str]]) -> None:
    answers, taken = OrderedAnswers(count), []
    said: dict[int, str] = {}
    ended: set[int] = set()
    for part, what in steps:
        if part >= count or part in ended:
            continue
        if what == "e":
            answers.end(part)
            ended.add(part)
        else:
            answers.add_text(part, what)
            said[part] = said.get(part, "") + what
        taken += list(answers.take())
    for part in range(count):
        answers.end(part)
    taken += list(answers.take())
    assert answers.complete
    assert [event.part for event in taken] == sorted(event.part for event in taken)
    assert [event.part for event in taken if isinstance(event, AnswerEnded)] == list(range(count))
    for part in range(count):
        text = "".join(event.text for event in taken if isinstance(event, AnswerText) and event.part == part)
        assert text == said.get(part, "")
