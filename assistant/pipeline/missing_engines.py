"""Stand-ins for a recognizer whose model is missing, and for a voice where replies are text only."""

from collections.abc import AsyncGenerator, Callable

from audio.stt import SegmentId, Transcript
from audio.tts import Chunk
from audio.units import Pcm, Samples


class NoVoice:
    """Speaks nothing. Implements `Voice`."""

    name = "no voice"
    detail = ""

    async def load(self) -> None:
        """Does nothing."""

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields nothing."""
        nothing: tuple[Chunk, ...] = ()
        for chunk in nothing:
            yield chunk

    async def aclose(self) -> None:
        """Does nothing."""


class NoRecognizer:
    """Recognizes no words, and says why. Implements `Recognizer`."""

    name = "no recognizer"
    detail = ""
    works = True

    def __init__(self, why: str) -> None:
        """`why`: what is missing and the remedy, as a part of a sentence without a full stop."""
        self.why = why

    async def load(self) -> None:
        """Does nothing."""

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> "_NoStream":
        """Opens a segment. Its transcript is empty."""
        return _NoStream(segment)

    def reset(self) -> bool:
        """Returns True: there is no state."""
        return True

    async def aclose(self) -> None:
        """Does nothing."""


class _NoStream:
    """One segment. Implements `RecognitionStream`."""

    def __init__(self, segment: SegmentId) -> None:
        self.segment = segment
        self._fed = 0

    def feed(self, pcm: Pcm) -> None:
        """Counts the samples."""
        self._fed += len(pcm)

    def probability_dip(self) -> None:
        """Does nothing."""

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        """Returns the empty transcript."""
        return Transcript(self.segment, Samples(self.segment + self._fed), "")

    async def first_word(self) -> None:
        """Cannot tell."""

    def close(self) -> None:
        """Does nothing."""

    def cancel(self) -> None:
        """Does nothing."""
