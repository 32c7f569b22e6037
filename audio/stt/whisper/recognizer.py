"""Speech to text by faster-whisper: free speech, in a thread, by decoding the growing segment again and again."""

from collections.abc import Callable

from audio.stt import SegmentId, Transcript
from audio.stt.whisper.model import WhisperSettings
from audio.stt.whisper.shared_model import NAME, SharedWhisper
from audio.stt.whisper.stream import WhisperStream


class WhisperRecognizer:
    """One conversation's recognizer with a model of its own. Implements `Recognizer`.

    Where several conversations are held, each takes a seat at a `SharedWhisper` instead.
    """

    name = NAME

    def __init__(self, settings: WhisperSettings) -> None:
        """Nothing is loaded yet."""
        self._model = SharedWhisper(settings)
        self._seat = self._model.transcriber()  # it keeps the language that was detected, also over a restart

    @property
    def detail(self) -> str:
        """Model, device, threads, compute type, window and language; before `load` only that it is not loaded."""
        return self._seat.detail

    @property
    def works(self) -> bool:
        """See `Recognizer.works`."""
        return self._seat.works

    async def load(self) -> None:
        """Load the model, or load it anew after a failure or a hang. Raises EngineLoadError."""
        await self.aclose()
        await self._model.load()

    def open(self, segment: SegmentId, on_partial: Callable[[Transcript], None]) -> WhisperStream:
        """Begin a segment; one still open is cancelled. Raises SttError where nothing is loaded."""
        return self._seat.open(segment, on_partial)

    def reset(self) -> bool:
        """See `Recognizer.reset`."""
        return self._seat.reset()

    async def aclose(self) -> None:
        """Let the model go; a decode under way is waited for, a second at most. Idempotent."""
        await self._seat.aclose()
        await self._model.aclose()
