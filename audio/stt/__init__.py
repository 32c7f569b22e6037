"""Speech to text: frames in, partials out, words so far on request.

One `RecognitionStream` decodes one segment. Its decoder runs while the user speaks and stays open over pauses, so that
the transcript is available at any time; it is closed only when the turn is committed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NewType, Protocol

from audio.units import Pcm, Samples

SegmentId = NewType("SegmentId", int)
"""A span of microphone samples, named by the stream position of its first sample."""


@dataclass(frozen=True, slots=True)
class Punctuation:
    """What a recognizer that writes as people do expects behind the last word, as it hears it said.

    Attributes:
        ends: Probability that nothing more comes, or a mark that ends a sentence.
        goes_on: Probability of a mark behind which a sentence goes on: a comma, a dash, dots.
    """

    sentence_end: float
    continuation: float


UNKNOWN_LANGUAGE = "?"
"""Of words that are improbable in the only language that the model knows: which other it may be, nobody can tell."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript of one segment, so far.

    Attributes:
        segment: The segment it is of.
        until: It covers the segment's sound up to this stream position.
        text: Plain words; "" where nothing was understood as speech.
        rough: True where the engine itself says that the words are a guess (free dictation by pocketsphinx).
        closure: Of these words; None of an engine that does not tell.
        draft: Likely, but a little of the speech was not decoded yet. Only of who said that it will do.
        other_language: The words are improbable, and this language, another than was asked for, was detected: its code,
            or UNKNOWN_LANGUAGE; "" else.
    """

    segment: SegmentId
    until: Samples
    text: str
    low_confidence: bool = False
    punctuation: Punctuation | None = None
    is_draft: bool = False
    other_language: str = ""


class RecognitionStream(Protocol):
    """One segment being decoded."""

    segment: SegmentId

    def feed(self, pcm: Pcm) -> None:
        """Take the next samples of the segment (any length, gapless).

        Never blocks; the samples are copied. Raises SttError where the engine has died or its bounded
        lane is full.
        """
        ...

    def probability_dip(self) -> None:
        """What was fed last is less surely speech than before: it may end here, and words be asked for soon.

        For engines that take long to answer. Never blocks.
        """
        ...

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        """The words of everything fed so far; the decoder stays open. Raises SttError.

        Where `speech_end` is given, a stream position, what was fed after it is no speech, as far as is known: words
        that the engine has of the sound up to a little after it will do. `early`: they will be asked for again soon,
        and may lack the very last sound, if they come sooner for it. `draft`: they will be asked for again at once, and
        may lack more, perhaps a word.
        Safe to cancel, and to call again after more sound was fed. The caller brings the deadline.
        """
        ...

    def close(self) -> None:
        """No more sound will come and the words were used: the decoder may learn from them. Idempotent."""
        ...

    def cancel(self) -> None:
        """The segment was nothing: drop it, and whatever partials are under way. Idempotent."""
        ...


class Recognizer(Protocol):
    """An engine with one conversation's decoder state; not shared between conversations.

    Attributes:
        name: As in the configuration.
        detail: One line for the screen: model, threads, device.
    """

    name: str

    @property
    def detail(self) -> str: ...

    @property
    def works(self) -> bool:
        """Whether it can hear, as far as is known without asking it."""
        ...

    async def load(self) -> None:
        """Load, or load again after a death, and run once so that the first segment is as fast as the tenth.

        Raises EngineLoadError.
        """
        ...

    def open(self, segment: SegmentId, on_partial: Callable[[Transcript], None]) -> RecognitionStream:
        """Begin a segment. `on_partial` is called on the event loop, whenever the words so far have changed.

        Opening a second one while one is open cancels the first. Raises SttError where the engine is dead.
        """
        ...

    def reset(self) -> bool:
        """Forget the conversation, its speaker and its microphone: the next one may begin. False where it cannot."""
        ...

    async def aclose(self) -> None:
        """Stop the engine. Idempotent; bounded in time."""
        ...
