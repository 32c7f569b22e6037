"""Texts of known models, cut at every character: the answer passes, and calls are found."""

import json
import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clocks.stopwatch import slowness
from support.texts.text_cases import text_cases

from llm.answer_text.answer_filter import AnswerFilter
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.chat import Function

LOOK = Function("look", "", '{"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}}')

ANSWERS = [
    ("<|channel>thought\nplan<channel|>Blue.", "Blue."),
    ("<|channel>thought\n<channel|>Blue.", "Blue."),
    ("<|channel>thought<channel|>Blue.<turn|>", "Blue."),
    ("<think></think>\n\nBlue.", "Blue."),
    ("<think>\n\n</think>\n\nBlue.<|im_end|>", "Blue."),
    ("<|START_THINKING|>plan<|END_THINKING|><|START_RESPONSE|>Blue.<|END_RESPONSE|>", "Blue."),
    ("<|begin_of_thought|>plan<|end_of_thought|>\n<|begin_of_solution|>Blue.<|end_of_solution|>", "Blue."),
    ("<mm:think>plan</mm:think>Blue.", "Blue."),
    ("<unused94>thought\nplan<unused95>Blue.", "Blue."),
    ("<think>plan</think><answer>Blue.</answer>", "Blue."),
    ("thought\nHello.", "Hello."),
    ("thoughtHello.", "Hello."),
    ("thought[] Hello", "Hello"),
    ("thought\n\nÜber Berlin.", "Über Berlin."),
    ("thoughtÜber Berlin.", "Über Berlin."),
    ("assistant\n\nHello.", "Hello."),
    ("model\nHello.", "Hello."),
    ("Thought is free.", "Thought is free."),
    ("thought is free.", "thought is free."),
    ("thoughtful words.", "thoughtful words."),
    ("Final answer: four.", "Final answer: four."),
    ("The tag <think> marks thoughts. It is read.", "The tag <think> marks thoughts. It is read."),
    ("Write <think> and </think> around it. Done.", "Write <think> and </think> around it. Done."),
    ("Put it on a line:\n<think>\nThen go on.", "Put it on a line:\n<think>\nThen go on."),
    ("One.\n<think>two</think>\nThree.", "One.\n\nThree."),
    *(
        (f"Blue.{mark}", "Blue.")
        for mark in (
            "<end_of_turn> <turn|> <｜end▁of▁sentence｜> [/INST] <|im_end|> </s> <|eot_id|> <|endoftext|> <|eom_id|>"
            " <|END_OF_TURN_TOKEN|> <|return|> <|end|> <eos> <|end_of_text|> <|user|> <｜User｜> <|unheard_of|> [INST]"
        ).split()
    ),
    ("Blue.<|im_end|>\n<|im_start|>user\nAnd red?<|im_end|>", "Blue."),
    ("Blue.<end_of_turn>\n<start_of_turn>user\nAnd red?", "Blue."),
    ("Blue. [/INST] I will ask more.", "Blue. "),
    ("<|start_header_id|>assistant<|end_header_id|>\n\nBlue.<|eot_id|>", "Blue."),
    ("<|im_start|>assistant\nBlue.<|im_end|>", "Blue."),
    ("<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>Blue.<|return|>", "Blue."),
    ("analysisWe plan.assistantfinalBlue.", "Blue."),
    ("analysis\nplan\nassistantfinal\nBlue.", "Blue."),
    ("assistantanalysisWe plan.assistantfinalBlue.", "Blue."),
    ("commentaryI'll look.", "I'll look."),
    ("assistantcommentary\nI'll look.", "I'll look."),
    ("analysis of the text: it rhymes.", "analysis of the text: it rhymes."),
    ("a blue one", "a blue one"),
    ("a", "a"),
    ("Press [ENTER] or [CTRL], then fill in [YOUR_NAME].", "Press [ENTER] or [CTRL], then fill in [YOUR_NAME]."),
    ("If a < b and b > c, then a <b> c [1].", "If a < b and b > c, then a <b> c [1]."),
    ("Stop with `<|im_end|>` or `</s>`.", "Stop with `<|im_end|>` or `</s>`."),
    ("```html\n<think>\n<|im_end|>\n```\nDone.", "```html\n<think>\n<|im_end|>\n```\nDone."),
    ("Use `ls` now.<|im_end|>", "Use `ls` now."),
    ("```py\nprint(1)<|im_end|>", "```py\nprint(1)"),
    ('{"name": "Ann", "age": 3}', '{"name": "Ann", "age": 3}'),
    ('[{"type": "circle", "r": 3}]', '[{"type": "circle", "r": 3}]'),
    ('```json\n{"name": "Ann"}\n```', '```json\n{"name": "Ann"}\n```'),
    ("<s> Blue.</s>", "Blue."),
    ("It is <s>old</s> new.", "It is <s>old</s> new."),
]

CALLS = [
    '[TOOL_CALLS]look{"q":"x"}',
    '[TOOL_CALLS]look[ARGS]{"q":"x"}</s>',
    '[TOOL_CALLS]look[CALL_ID]abc123XYZ[ARGS]{"q":"x"}',
    '[TOOL_CALLS] [{"name": "look", "arguments": {"q": "x"}}]',
    '{"name":"look","parameters":{"q":"x"}}',
    '{"name":"look","parameters":{"q":"x"}}<|eom_id|>',
    '{"type": "function", "function": {"name": "look", "arguments": "{\\"q\\": \\"x\\"}"}}',
    '[{"name": "look", "arguments": {"q": "x"}}]',
    '```json\n{"name": "look", "arguments": {"q": "x"}}\n```',
    '<function=look>{"q":"x"}</function>',
    '<function=look>{"q":"x"}',
    '<tool_call>\n{"name": "look", "arguments": {"q": "x"}}\n</tool_call>',
    '<tool_call>\n{"name": "look", "arguments": {"q": "x"}',
    "<tool_call>\n<function=look>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>look\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
    '<function_calls><invoke name="look"><parameter name="q">x</parameter></invoke></function_calls>',
    '<|python_tag|>{"name": "look", "parameters": {"q": "x"}}<|eom_id|>',
    '<|python_tag|>look.call(q="x")<|eom_id|>',
    '<|channel|>commentary to=functions.look <|message|>{"q":"x"}<|call|>',
    '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"q":"x"}<|call|>',
    '<|start|>assistant to=functions.look<|channel|>commentary json<|message|>{"q":"x"}<|call|>',
    "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>commentary to=functions.look"
    ' <|constrain|>json<|message|>{"q":"x"}<|call|>',
    'commentary to=functions.look json{"q":"x"}',
    '<think>plan</think>\n<tool_call>{"name": "look", "arguments": {"q": "x"}}</tool_call>',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{"q":"x"}\n```<｜tool▁call▁end｜>'
    "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{"q":"x"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"q":"x"}'
    "<|tool_call_end|><|tool_calls_section_end|>",
    '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "look", "parameters": {"q": "x"}}]<|END_ACTION|>',
    '<|tool_call>call:look{q:<|"|>x<|"|>}<tool_call|>',
    '```tool_code\nprint(look(q="x"))\n```',
    '[look(q="x")]',
    '<|python_start|>[look(q="x")]<|python_end|>',
    '<|tool_call|>[{"name": "look", "arguments": {"q": "x"}}]',
]
"""The same call in the formats of known models."""

TEXT_AND_CALLS = [
    ('I\'ll look.\n<tool_call>{"name": "look", "arguments": {"q": "x"}}</tool_call>', "I'll look.\n"),
    ('I\'ll look. <tool_call>{"name": "look", "arguments": {"q": "x"}}</tool_call>', "I'll look. "),
    ('I\'ll look.[TOOL_CALLS]look{"q": "x"}', "I'll look."),
    ('I\'ll look.\n\n{"name": "look", "parameters": {"q": "x"}}', "I'll look.\n\n"),
    (
        "<|channel|>commentary<|message|>I'll look.<|end|><|start|>assistant<|channel|>commentary to=functions.look"
        ' <|constrain|>json<|message|>{"q": "x"}<|call|>',
        "I'll look.",
    ),
]

NOT_CALLS = [
    ("Write <tool_call> before it. Then go on.", "Write <tool_call> before it. Then go on."),
    ('Use `{"name": "look", "parameters": {}}` for it.', 'Use `{"name": "look", "parameters": {}}` for it.'),
    ("look(out) is what they say.", "look(out) is what they say."),
]


def read(
    text: str, cuts: Sequence[int] = (), habit: ReasoningHabit | None = None, functions: Sequence[Function] = (LOOK,)
) -> tuple[str, list[tuple[str, str]]]:
    """Returns the answer and the calls in a text that arrives in pieces, cut at these places."""
    answer = AnswerFilter(habit or ReasoningHabit(), functions)
    places = sorted({0, *cuts, len(text)})
    passed = [answer.feed(text[begin:end]) for begin, end in pairwise(places)]
    said = "".join(passed) + answer.rest(cut=False)
    return said, [(call.name, call.arguments) for call in answer.calls]


def in_all_ways(text: str) -> set[tuple[str, str]]:
    """Returns the different results for a text that is cut at each place, everywhere, and nowhere."""
    ways = [[], list(range(1, len(text))), *([cut] for cut in range(1, len(text)))]
    return {(said, json.dumps(calls)) for said, calls in (read(text, cuts) for cuts in ways)}


@text_cases(("text", "expected"), ANSWERS)
def test_only_the_answer_passes(text: str, expected: str) -> None:
    assert in_all_ways(text) == {(expected, "[]")}


@text_cases("text", CALLS)
def test_written_call_is_found_and_never_passes(text: str) -> None:
    (result,) = in_all_ways(text)
    said, ((name, arguments),) = result[0], json.loads(result[1])
    assert (said, name, json.loads(arguments)) == ("", "look", {"q": "x"})


@text_cases(("text", "expected"), TEXT_AND_CALLS)
def test_text_before_a_written_call_passes(text: str, expected: str) -> None:
    (result,) = in_all_ways(text)
    said, ((name, arguments),) = result[0], json.loads(result[1])
    assert (said, name, json.loads(arguments)) == (expected, "look", {"q": "x"})


@text_cases(("text", "expected"), NOT_CALLS)
def test_text_about_calls_is_no_call(text: str, expected: str) -> None:
    assert in_all_ways(text) == {(expected, "[]")}


@given(
    st.sampled_from([*(text for text, _ in (*ANSWERS, *TEXT_AND_CALLS, *NOT_CALLS)), *CALLS]),
    st.sets(st.integers(0, 200)),
)
def test_cuts_do_not_matter(text: str, cuts: set[int]) -> None:
    assert read(text, [cut for cut in cuts if cut < len(text)]) == read(text)


@pytest.mark.parametrize("token", ["\u200b", " ", "<", "[", "`", "word ", "<|x|>", '{"', "thought"])
def test_many_tokens_take_linear_time(token: str) -> None:
    answer = AnswerFilter(ReasoningHabit(), (LOOK,))
    began_s = time.thread_time()
    for _ in range(8_000):
        answer.feed(token)
    answer.rest(cut=False)
    assert time.thread_time() - began_s < 0.6 * slowness()
