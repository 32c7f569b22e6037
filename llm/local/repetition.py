"""Stops the answer of a language model that repeats itself: the same words again and again, as small models do."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from llm.chat import REPETITION, ChatEvent, Finished, Token

MOST_TIMES = 2
"""Times that the same sentence may come in a row: songs and answers to "say it again" repeat one once."""

MIN_WORDS = 4
"""Words from which a repeated phrase counts as a sentence."""

MOST_TIMES_SHORT = 8
"""Times that fewer words may come in a row: "no, no, no", "ha ha ha", a chorus."""

MAX_WORDS = 40
"""Longest phrase whose repetition is detected, which may be several sentences."""

_KEPT_WORDS = MAX_WORDS * (MOST_TIMES + 1)

_WORDS_AND_CODE = re.compile(r"```|[^\W_]+(?:['’][^\W_]+)*")
_BETWEEN_WORDS = re.compile(r"[^\w'’`]")


async def until_repetition(answer: AsyncGenerator[ChatEvent]) -> AsyncGenerator[ChatEvent]:
    """Yields the events of an answer; ends it, with the finish reason REPETITION, once it repeats itself too often."""
    repetition = RepetitionDetector()
    async with aclosing(answer):
        async for event in answer:
            allowed = repetition.feed(event.text) if isinstance(event, Token) else None
            if isinstance(event, Token) and allowed is not None:
                yield Token(event.text[:allowed])
                yield Finished(REPETITION)
                return
            yield event


class RepetitionDetector:
    """Follows the text of one reply. Code between lines of ``` is not followed: it may repeat itself."""

    def __init__(self) -> None:
        """Begins with an empty reply."""
        self._words: list[str] = []
        self._starts: list[int] = []  # of each word, in characters from the beginning of the reply
        self._rest = ""  # what may be the beginning of a longer word, or of a mark of code
        self._read = 0  # characters before `_rest`
        self._in_code = False

    def feed(self, piece: str) -> int | None:
        """Adds the next piece of the text.

        Returns:
            None, or if the words so far repeat themselves too often, the number of characters of the piece before the
            last repetition.
        """
        text, piece_start = self._rest + piece, self._read + len(self._rest)
        end = max((match.end() for match in _BETWEEN_WORDS.finditer(text)), default=0)
        for match in _WORDS_AND_CODE.finditer(text, 0, end):
            if match[0] == "```":
                self._in_code = not self._in_code
            elif not self._in_code:
                self._words = [*self._words[1 - _KEPT_WORDS :], match[0].lower()]
                self._starts = [*self._starts[1 - _KEPT_WORDS :], self._read + match.start()]
                if (length := self._repeated_words()) is not None:
                    return max(0, self._starts[-length] - piece_start)
        self._rest = text[end:]
        self._read += end
        return None

    def _repeated_words(self) -> int | None:
        """Returns the length of the phrase that comes too often at the end; None: there is none."""
        words = self._words
        for length in range(1, MAX_WORDS + 1):
            most = MOST_TIMES if length >= MIN_WORDS else MOST_TIMES_SHORT
            phrase, repeated = words[-length:], length * (most + 1)
            if len(words) < repeated or words[-length - 1 : -length] != words[-1:]:
                continue
            comes_too_often = words[-repeated:] == phrase * (most + 1) and any(word.isalpha() for word in phrase)
            if comes_too_often and not _is_periodic(phrase):  # else it is a shorter phrase, which may come more often
                return length
        return None


def _is_periodic(phrase: list[str]) -> bool:
    lengths = (period for period in range(1, len(phrase) // 2 + 1) if len(phrase) % period == 0)
    return any(phrase == phrase[:period] * (len(phrase) // period) for period in lengths)
