"""A recognizer of its own package: it hears one question in all speech.

To use it: `pip install ./examples/recognizer`, then `repartee serve --set stt.engine=one-question`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from audio.engines.recognizer import RecognizerEngine, RecognizerRequest
from audio.stt import SharedRecognizer
from declarations.settings import KeyInfo

if TYPE_CHECKING:
    from audio.units import Pcm


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """A recognizer that hears one question."""

    words: Annotated[str, KeyInfo("The question that it hears.")] = "what time is it"


class OneQuestion:
    """Implements `SegmentEngine`: the words are known when there is any sound."""

    def __init__(self, words: str) -> None:
        self._words = words

    def words(self, pcm: "Pcm") -> str:
        """Returns the question."""
        return self._words if pcm.any() else ""


def make(request: RecognizerRequest) -> SharedRecognizer:
    """Returns the recognizer, not loaded yet."""
    from audio.stt.segment_recognizer import SegmentRecognizer  # on use: the declaration below is read at every start

    assert isinstance(request.settings, QuestionSettings)
    words = request.settings.words
    return SegmentRecognizer("one-question", lambda: OneQuestion(words), detail=f'hears "{words}"')


ENGINE = RecognizerEngine(name="one-question", make=make, about="hears one question", settings=QuestionSettings)
