"""Interfaces of speech to text: audio in, interim transcripts out, transcripts on request.

A `RecognitionStream` decodes one speech segment. Its decoder runs while the user speaks and stays open over pauses, so
that a transcript is available at any time. It is closed only when the turn is committed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NewType, Protocol, runtime_checkable

if TYPE_CHECKING:  # declarations of engines import this at every start, without numpy
    from audio.languages.conversation_language import ConversationLanguage
    from audio.units import Pcm, Samples

MAX_TURN_S = 60.0
"""Longest turn of the user, in seconds: longer ones are a radio, noise or a forgotten key."""

SegmentId = NewType("SegmentId", int)
"""A speech segment, identified by the stream position of its first sample."""


@dataclass(frozen=True, slots=True)
class Punctuation:
    """The punctuation that a recognizer expects after the last word, based on how the words sound.

    Attributes:
        sentence_end: Probability that the text ends here or that a mark ends the sentence.
        continuation: Probability of a mark within a sentence: a comma, a dash, an ellipsis.
    """

    sentence_end: float
    continuation: float


UNKNOWN_LANGUAGE = "?"
"""Marks words that are improbable in the only language the model knows; the other language cannot be determined."""


@dataclass(frozen=True, slots=True)
class FirstWord:
    """The likely beginnings of the first word of a segment.

    Attributes:
        beginnings: Likely beginnings of the word, as the engine splits words, with their probabilities. "": no word.
    """

    beginnings: tuple[tuple[str, float], ...]


NO_WORD = FirstWord((("", 1.0),))
"""The engine is certain that there is no speech."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The transcript of a speech segment, final or so far.

    Attributes:
        segment: The speech segment.
        until: Stream position up to which it covers the segment's audio.
        text: Plain words; "" if no speech was recognized.
        low_confidence: True if the engine reports that the words are a guess.
        punctuation: Expected punctuation after these words; None if the engine does not provide it.
        is_draft: Likely, but a little of the speech is not decoded yet. Returned only to callers that accept drafts.
        other_language: Code of another language that was detected, where the words are improbable in the requested one;
            UNKNOWN_LANGUAGE if it cannot be determined; "" otherwise.
        guess: All words, if `text` lacks some that the engine takes for noise; else "". Use them only where the VAD is
            certain of speech.
        language: Code of the language of the words, from a recognizer that follows several; else "".
    """

    segment: SegmentId
    until: "Samples"
    text: str
    low_confidence: bool = False
    punctuation: Punctuation | None = None
    is_draft: bool = False
    other_language: str = ""
    guess: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class TokenProbability:
    """A token of a transcript, as the engine splits words, and the natural logarithm of its probability.

    Attributes:
        start_s: Start of its word, from the beginning of the segment; None unless times were requested.
        end_s: End of its word.
    """

    text: str
    log_probability: float
    start_s: float | None = None
    end_s: float | None = None


@runtime_checkable
class TokenRecognizer(Protocol):
    """A recognizer that knows the probabilities of its tokens. They cost processor time, so they must be requested."""

    def keep_tokens(self, *, enabled: bool, timed: bool = False) -> None:
        """Starts or stops to keep the tokens of final transcripts; `timed`: with the times of their words."""
        ...

    def tokens_of(self, text: str) -> tuple[TokenProbability, ...] | None:
        """Returns the tokens of a recent final transcript with these words, or None."""
        ...


@runtime_checkable
class PromptedRecognizer(Protocol):
    """A recognizer that takes a text before the words: names and terms to expect, a style, a spelling."""

    def set_prompt(self, text: str) -> None:
        """Sets the text for later decodes of this conversation; "": none. It is shortened to what the engine takes."""
        ...


@runtime_checkable
class RecordingRecognizer(Protocol):
    """A recognizer that makes fewer word errors in a recording than in live speech, as it may take longer."""

    def expect_recording(self, *, is_recording: bool) -> None:
        """Says whether the next sound is of a recording. It takes longer only while no conversation is recognized."""
        ...


@runtime_checkable
class LanguageDetector(Protocol):
    """A recognizer that notices that the user speaks another language than it was told."""

    @property
    def other_language(self) -> str:
        """Code of the language in which the user seems to speak; "" for none. Known shortly after a transcript."""
        ...


@runtime_checkable
class LanguageFollower(Protocol):
    """A recognizer that can recognize each utterance of a conversation in its own language."""

    def follow_languages(self, languages: "ConversationLanguage") -> bool:
        """Follows the language of each utterance from the next segment on. Returns False if its model knows only one.

        Its transcripts then name their language. A turn in another language is the state for the next ones.
        """
        ...


@runtime_checkable
class ModelRecognizer(Protocol):
    """A recognizer with one of several models.

    Attributes:
        model: Name of the model; "" if it has none.
    """

    @property
    def model(self) -> str: ...


class RecognitionStream(Protocol):
    """The decoding of one speech segment."""

    segment: SegmentId

    def feed(self, pcm: "Pcm") -> None:
        """Appends the next samples of the segment (any length, gapless).

        Never blocks. The samples are copied. Raises SttError if the engine has failed or its bounded buffer is full.
        """
        ...

    def probability_dip(self) -> None:
        """Signals that the newest audio is less likely speech: it may end here, and a transcript may be requested soon.

        Useful for slow engines. Never blocks.
        """
        ...

    async def transcript(
        self, speech_end: "Samples | None" = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        """Returns the transcript of everything fed so far; the decoder stays open.

        Safe to cancel. May be called again after more audio was fed. The caller sets the deadline.

        Args:
            speech_end: Stream position after which there is no speech, as far as known. A transcript of the audio up to
                shortly after it is then sufficient.
            early: The transcript will be requested again soon. It may lack the very last audio to arrive sooner.
            draft: The transcript will be requested again at once. It may lack more, perhaps a word.

        Raises:
            SttError: The engine failed.
        """
        ...

    async def first_word(self) -> FirstWord | None:
        """Returns what the first word may be; None if the engine cannot tell. Much sooner than a transcript.

        Safe to cancel. Raises SttError if the engine failed.
        """
        ...

    def close(self) -> None:
        """Ends the segment after its transcript was used; the decoder may adapt to it. Idempotent."""
        ...

    def cancel(self) -> None:
        """Discards the segment and any decode in progress. Idempotent."""
        ...


class SharedRecognizer(Protocol):
    """The part of a recognizer that all conversations share: its model, its threads or its process.

    Attributes:
        name: The engine's name in the configuration.
    """

    name: str

    @property
    def works(self) -> bool:
        """Whether it is loaded and has not failed."""
        ...

    @property
    def multilingual(self) -> bool:
        """Whether it knows many languages, once it is loaded."""
        ...

    def transcriber(self, *, background: bool = False, language: str = "") -> "Recognizer":
        """Returns a recognizer for one conversation, or for a recording in the `background`; costs nothing.

        `language`: of its words, as "de"; "": that of the configuration.
        """
        ...

    async def load(self) -> None:
        """Loads it, or loads it again after a failure. Raises EngineLoadError."""
        ...

    async def aclose(self) -> None:
        """Stops it. Idempotent; bounded in time."""
        ...


class Recognizer(Protocol):
    """A speech-to-text engine with the decoder state of one conversation. Not shared between conversations.

    Attributes:
        name: The engine's name in the configuration.
        detail: One line for the screen: model, threads, device.
    """

    name: str

    @property
    def detail(self) -> str: ...

    @property
    def works(self) -> bool:
        """Whether the engine works, as far as known without a check."""
        ...

    async def load(self) -> None:
        """Loads the engine, or reloads it after a failure, and runs it once so that the first segment is not slower.

        Raises EngineLoadError.
        """
        ...

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> RecognitionStream:
        """Opens a segment. `on_interim` is called on the event loop whenever the interim transcript has changed.

        It is also called with drafts: all words of the newest decode, which the next one may still change.

        Opening a second segment cancels an open one. Raises SttError if the engine has failed.
        """
        ...

    def reset(self) -> bool:
        """Resets the state of conversation, speaker and microphone. Returns False if the engine cannot do that."""
        ...

    async def aclose(self) -> None:
        """Stops the engine. Idempotent; bounded in time."""
        ...
