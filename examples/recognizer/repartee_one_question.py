"""A recognizer of its own package: it hears one question in all speech.

To use it: `pip install ./examples/recognizer`, then `repartee serve --set stt.engine=one-question`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from audio.engines.recognizer import RecognizerEngine, RecognizerRequest
from audio.stt import FirstWord, SegmentId, SharedRecognizer, Transcript
from declarations.settings import KeyInfo

if TYPE_CHECKING:
    from audio.units import Pcm, Samples


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """A recognizer that hears one question."""

    words: Annotated[str, KeyInfo("The question that it hears.")] = "what time is it"


class QuestionStream:
    """Implements `RecognitionStream`: the words are known when there is any sound."""

    def __init__(self, words: str, segment: SegmentId) -> None:
        self.segment = segment
        self._words = words
        self._samples = 0

    def feed(self, pcm: "Pcm") -> None:
        """Counts the samples."""
        self._samples += len(pcm)

    def probability_dip(self) -> None:
        """Needs no hint: it is fast."""

    async def transcript(
        self, speech_end: "Samples | None" = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        """Returns the question."""
        from audio.units import Samples  # on use: the declaration below is read at every start

        return Transcript(self.segment, Samples(self.segment + self._samples), self._words if self._samples else "")

    async def first_word(self) -> FirstWord | None:
        """Returns None: it does not tell."""

    def close(self) -> None:
        """Ends the segment."""

    def cancel(self) -> None:
        """Discards the segment."""


class QuestionRecognizer:
    """Implements `SharedRecognizer` and `Recognizer`: without state, conversations share it."""

    name = "one-question"
    works = True
    multilingual = False

    def __init__(self, words: str) -> None:
        self._words = words
        self.detail = f'hears "{words}"'

    def transcriber(self, *, background: bool = False, language: str = "") -> "QuestionRecognizer":
        """Returns itself."""
        return self

    async def load(self) -> None:
        """Loads nothing."""

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> QuestionStream:
        """Opens a segment."""
        return QuestionStream(self._words, segment)

    def reset(self) -> bool:
        """Has nothing to reset."""
        return True

    async def aclose(self) -> None:
        """Closes nothing."""


def make(request: RecognizerRequest) -> SharedRecognizer:
    """Returns the recognizer, not loaded yet."""
    assert isinstance(request.settings, QuestionSettings)
    return QuestionRecognizer(request.settings.words)


ENGINE = RecognizerEngine(name="one-question", make=make, about="hears one question", settings=QuestionSettings)
