"""Replies in which a language model repeats itself."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from llm.chat import REPETITION, ChatEvent, Finished, Token
from llm.local.repetition import RepetitionDetector, until_repetition

SENTENCE = "I'm sorry, I can't help you with that. "


def read(text: str, size: int = 3) -> str:
    """Returns the text up to the piece at which the detector stops it."""
    detector, kept = RepetitionDetector(), ""
    for at in range(0, len(text), size):
        piece = text[at : at + size]
        allowed = detector.feed(piece)
        kept += piece[:allowed]
        if allowed is not None:
            return kept
    return kept


@pytest.mark.parametrize("size", [1, 3, 40, 1000])
@pytest.mark.parametrize(
    "loop",
    [
        SENTENCE,
        "First we go left. Then we go right. ",
        "and the cat sat on the mat, ",
        "Das ist nicht möglich, leider. ",
    ],
)
def test_sentence_is_not_said_a_third_time(loop: str, size: int) -> None:
    kept = read("Of course. " + loop * 20, size)
    assert kept.count(loop.strip()) == 2


def test_single_word_is_stopped_after_eight_times() -> None:
    assert read("very " * 50).count("very") == 8


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE * 2 + "But I know somebody who can.",
        "And so it goes, on and on and on and on and on.",
        "No, no, no, no, no. Please don't do that.",
        "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily, life is but a dream.",
        "Happy birthday to you. Happy birthday to you. Happy birthday, dear Ann. Happy birthday to you.",
        "One. " + "0 0 0 0 1 " * 10,
        "Here it is:\n```\n" + "print('one two three four')\n" * 10 + "```\nDone.",
        "| a | b |\n|---|---|\n" + "| one | 1 |\n" * 3,
    ],
)
def test_usual_repetition_is_kept(text: str) -> None:
    assert read(text) == text
    assert read(text, 1) == text


def test_request_ends_with_the_repetition() -> None:
    closed = False

    async def answer() -> AsyncGenerator[ChatEvent]:
        nonlocal closed
        try:
            for _ in range(20):
                for word in SENTENCE.split(" "):
                    yield Token(f"{word} ")
            yield Finished("length")
        finally:
            closed = True

    async def events() -> list[ChatEvent]:
        return [event async for event in until_repetition(answer())]

    found = asyncio.run(events())
    assert closed
    assert found[-1] == Finished(REPETITION)
    assert "".join(event.text for event in found if isinstance(event, Token)).count("with that.") == 2
