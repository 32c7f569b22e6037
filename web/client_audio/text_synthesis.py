"""Synthesizes written texts outside of a conversation: text in, sound out as it is synthesized."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from assistant.models.language_names import NAMES
from assistant.text.chunker import Chunker
from audio.errors import EngineLoadError, TtsError
from audio.tts import Voice
from audio.tts.speakable import speakable
from audio.units import Pcm

SPLIT_CHARS = 256
"""Characters that are split into sentences at once. 4096 take up to 30 ms."""

LOAD_TIMEOUT_S = 20.0
"""Time limit for loading a voice again that failed."""


class SynthesisError(Exception):
    """A voice that failed; the text is for the client."""


@dataclass(slots=True)
class TextSynthesis:
    """Synthesizes the sentences of one text.

    Attributes:
        voice: Returns the voice.
        normalize_text: Converts written to spoken text.
        speed: Factor on the voice's configured speed.
    """

    voice: Callable[[], Voice]
    normalize_text: Callable[[str], str]
    speed: float = 1.0
    _may_retry: bool = True

    async def sound(self, sentence: str) -> AsyncGenerator[Pcm]:
        """Yields the sound of a sentence. A voice that fails is loaded again once. Raises SynthesisError."""
        spoken = self.normalize_text(sentence)
        while True:
            begun = False
            try:
                async with aclosing(self.voice().speak(spoken, self.speed)) as chunks:
                    async for chunk in chunks:
                        begun = True
                        yield chunk.pcm
            except TtsError as error:
                if begun or not self._may_retry:
                    raise SynthesisError("the voice failed; try again in a moment") from error
                self._may_retry = False
                await self._reload()
            else:
                return

    async def _reload(self) -> None:
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                await self.voice().load()
        except (EngineLoadError, TimeoutError) as error:
            raise SynthesisError(
                "the voice cannot be loaded; the server's operator can run `repartee doctor`"
            ) from error


async def sentences_of(texts: AsyncIterable[str]) -> AsyncGenerator[str]:
    """Yields what is synthesized at once, each as soon as its text is complete. Other tasks run in between."""
    chunker = Chunker(notes="")
    async for text in texts:
        for start in range(0, len(text), SPLIT_CHARS):
            for chunk in chunker.feed(text[start : start + SPLIT_CHARS]):
                yield chunk.text
            await asyncio.sleep(0)
    for chunk in chunker.finish():
        yield chunk.text


async def single(text: str) -> AsyncGenerator[str]:
    """Yields one text."""
    yield text


def foreign_script(text: str, language: str) -> str:
    """Returns a part of a sentence if a voice can speak nothing of the text; of other texts it speaks what it can."""
    script = speakable(text, language)
    if not script.unspoken or any(map(str.isalnum, script.text)):
        return ""
    name = NAMES.get(language.partition("-")[0], language)
    return f"is in {' and '.join(script.unspoken)}, and the voice speaks {name}: send text in that language"
