"""Separation of reasoning and answer."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clocks.stopwatch import slowness
from support.texts.text_cases import text_cases

from llm.answer_text.answer_filter import AnswerFilter
from llm.answer_text.reasoning_habit import MAX_PLAIN_ANSWERS, ReasoningHabit, begins_unmarked

MARKED = [
    "<think>\nThe user asks.\n</think>\n\nIt is four.",
    "\n<THINK>The user asks.</Think>It is four.",
    "<thinking>a</thinking> <think>b</think>It is four.",
    "<seed:think>The user asks.</seed:think>It is four.",
    "◁think▷The user asks.◁/think▷It is four.",
    "[THINK]The user asks.[/THINK]It is four.",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>It is four.",
    "<|channel|>final<|message|>It is four.",
    "analysisThe user asks. Keep it short.assistantfinalIt is four.",  # its first word is a single token
]
WORD = 8
PLAIN = [
    "It is four.",
    " It is <b>four</b>.",
    "[laughs] Four.",
    "Analysis says four.",
    "analysis of it says four.",
    "a",
    " ",
]


def filtered(text: str, habit: ReasoningHabit | None = None, *, size: int = 3, cut: bool = False) -> str:
    """Returns the filtered text of an answer that arrives in pieces."""
    answer_filter = AnswerFilter(habit or ReasoningHabit())
    pieces = [answer_filter.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join(pieces) + answer_filter.rest(cut=cut)


@text_cases("text", MARKED)
@pytest.mark.parametrize("size", [1, 3, WORD, 1000], ids=["1 character", "3 characters", "words", "whole text"])
def test_marked_reasoning_is_removed(text: str, size: int) -> None:
    assert filtered(text, size=WORD if text.startswith("analysis") else size) == "It is four."


@text_cases("text", PLAIN)
@pytest.mark.parametrize("size", [1, 1000], ids=["1 character", "whole text"])
def test_text_without_reasoning_is_unchanged(text: str, size: int) -> None:
    assert filtered(text, size=size) == text


def test_text_is_passed_on_at_once() -> None:
    answer_filter = AnswerFilter(ReasoningHabit())
    assert [answer_filter.feed(piece) for piece in ("It", " is", " four.")] == ["It", " is", " four."]
    assert not answer_filter.thinking


def test_unfinished_reasoning_is_removed() -> None:
    answer_filter = AnswerFilter(ReasoningHabit())
    assert answer_filter.feed("<think>The user asks") + answer_filter.rest(cut=True) == ""
    assert answer_filter.seen
    assert answer_filter.thinking


@pytest.mark.parametrize("size", [1, 1000], ids=["1 character", "whole text"])
def test_unmarked_reasoning_is_learned_from_first_answer(size: int) -> None:
    habit = ReasoningHabit()
    filtered("The user asks.\n</think>\n\nIt is four.", habit, size=size)
    assert filtered("The user asks.\n</think>\n\nIt is four.", habit, size=size) == "It is four."
    assert filtered("<think>The user asks.</think>It is four.", habit, size=size) == "It is four."
    assert filtered("The user asks and", habit, size=size, cut=True) == ""
    for _ in range(MAX_PLAIN_ANSWERS):
        assert habit.begins_unmarked
        assert filtered("It is four.", habit, size=size) == "It is four."
    assert not habit.begins_unmarked, "reasoning is over"


def test_first_answer_that_reads_like_thoughts_is_held() -> None:
    text = "Okay, the user asks.\n</think>\n\nIt is four."
    assert filtered(text, ReasoningHabit(), size=1) == "It is four."
    assert filtered("The user list is long.", ReasoningHabit(), size=1) == "The user list is long."
    assert filtered("The user list is long.", ReasoningHabit(known=True)) == "The user list is long."


@text_cases(
    ("model", "unmarked"),
    [
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", True),
        ("deepseek-r1:8b", True),
        ("/models/DeepSeek-R1-Distill-Llama-8B-Q4_K_M.gguf", True),
        ("Qwen/QwQ-32B-AWQ", True),
        ("Qwen/Qwen3-4B-Thinking-2507-FP8", True),
        ("qwen3-vl:8b-thinking", True),
        ("LGAI-EXAONE/EXAONE-Deep-7.8B", True),
        ("allenai/Olmo-3-7B-Think", True),
        ("Qwen/Qwen3-4B-Instruct-2507", False),
        ("qwen3-32b-non-thinking", False),
        ("qwen3-32b-nothinking", False),
        ("gemini-2.0-flash-thinking-exp", False),  # whose reasoning is never sent
        ("anthropic/claude-3.7-sonnet:thinking", False),
        ("deepseek-chat", False),
        ("gpt-oss:20b", False),
    ],
)
def test_models_with_unmarked_reasoning_are_known_by_name(model: str, *, unmarked: bool) -> None:
    assert begins_unmarked(model) is unmarked


def test_text_is_not_delayed_if_service_separates_reasoning() -> None:
    answer_filter = AnswerFilter(habit := ReasoningHabit(begins_unmarked=True))
    answer_filter.mark_separated()
    assert answer_filter.feed("It is") == "It is"
    assert not habit.begins_unmarked


def test_long_unmarked_reasoning_is_scanned_once() -> None:
    answer_filter = AnswerFilter(ReasoningHabit(begins_unmarked=True))
    began_s = time.thread_time()
    for _ in range(20_000):
        assert answer_filter.feed("word ") == ""
    assert time.thread_time() - began_s < 0.8 * slowness()
    assert answer_filter.feed("</think>It is four.") == "It is four."


@given(st.text(max_size=60), st.lists(st.sampled_from([*MARKED[:-1], *PLAIN, "</think>"]), max_size=3))
def test_piece_boundaries_do_not_matter(text: str, more: list[str]) -> None:
    whole = "".join([*more, text])
    assert filtered(whole, size=1) == filtered(whole, size=10_000)
