"""Long text of a model is processed in pieces, whatever it consists of."""

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest
from support.clocks.stopwatch import slowness
from support.services.llm_server import DONE, event

from assistant.text.chunker import Chunker
from llm.chat import Function, Token
from llm.openai.stream import OpenAIStream
from llm.text_pieces import PIECE_CHARS, MoreText
from llm.token_deadlines import TokenDeadlines, with_deadlines

CHARS = 20_000
PIECE_S = 0.05
"""Limit of the processor time of a piece; it takes up to 5 ms."""

FUNCTION = Function("f", "d", '{"type": "object", "properties": {}}')
TEXTS = {
    "words": "word ",
    "zero-width": "\u200b",
    "angle brackets": "<",
    "half marks": "<|",
    "ends": "<|end|>",
    "thoughts": "<think>a</think>",
    "thoughts without end": "<think>",
    "calls": '<tool_call>{"name":"f","arguments":{}}</tool_call>',
    "call without end": '{"name":',
    "fences": "```\n",
    "links": "[a](",
    "rows": "|c|d|\n",
    "quotations": "> ",
    "list": "1. ",
    "line breaks": "\n",
    "dots": ".",
}


@pytest.mark.parametrize("repeated", TEXTS.values(), ids=TEXTS)
def test_long_text_in_one_event_is_processed_in_pieces(repeated: str) -> None:
    stream, chunker = OpenAIStream("near", functions=(FUNCTION,)), Chunker()
    pauses, longest_s, began_s = 0, 0.0, time.thread_time()
    for said in stream.feed(event("Hi " + repeated * (CHARS // len(repeated)))):
        if isinstance(said, Token):
            chunker.feed(said.text)
        if isinstance(said, MoreText):
            now_s = time.thread_time()
            longest_s, began_s, pauses = max(longest_s, now_s - began_s), now_s, pauses + 1
    assert pauses >= CHARS // PIECE_CHARS - 1
    assert longest_s < PIECE_S * max(1.0, slowness())


def test_each_piece_of_words_has_one_pause() -> None:
    said = list(OpenAIStream("near").feed(event("words " * PIECE_CHARS)))
    assert len([one for one in said if isinstance(one, MoreText)]) == 6


def test_other_tasks_run_between_pieces_of_thoughts() -> None:
    async def main() -> int:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async def body() -> AsyncGenerator[bytes]:
            yield event("<think>" + "blah " * (CHARS // 5) + "</think>Hi.")
            yield event(finish="stop") + DONE

        deadlines = TokenDeadlines("near", "m", 10.0, 10.0)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(others())
            said = [one async for one in with_deadlines(lambda: (body(), OpenAIStream("near")), deadlines)]
            task.cancel()
        assert [one.text for one in said if isinstance(one, Token)] == ["Hi."]
        return turns

    assert asyncio.run(main()) >= CHARS // PIECE_CHARS - 1
