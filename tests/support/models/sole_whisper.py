"""A Whisper recognizer that loads and closes its own model."""

from collections.abc import Callable

from audio.stt import SegmentId, TokenProbability, Transcript
from audio.stt.whisper.model import WhisperSettings
from audio.stt.whisper.section import NAME
from audio.stt.whisper.shared_model import SharedWhisper
from audio.stt.whisper.stream import WhisperStream


class WhisperRecognizer:
    """A recognizer with its own model for one conversation. Implements `Recognizer`."""

    name = NAME

    def __init__(self, settings: WhisperSettings) -> None:
        """Creates the recognizer without loading the model."""
        self._model = SharedWhisper(settings)
        self._recognizer = self._model.transcriber()  # keeps the detected language over a restart

    @property
    def detail(self) -> str:
        """Model, device, threads, compute type, window and language; before `load`, that it is not loaded."""
        return self._recognizer.detail

    @property
    def works(self) -> bool:
        """See `Recognizer.works`."""
        return self._recognizer.works

    async def load(self) -> None:
        """Loads the model, or reloads it after a failure or a hang. Raises EngineLoadError."""
        await self.aclose()
        await self._model.load()

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> WhisperStream:
        """Opens a segment and cancels an open one. Raises SttError if nothing is loaded."""
        return self._recognizer.open(segment, on_interim)

    def keep_tokens(self, *, wanted: bool, timed: bool = False) -> None:
        """See `TokenRecognizer`."""
        self._recognizer.keep_tokens(wanted=wanted, timed=timed)

    def tokens_of(self, text: str) -> tuple[TokenProbability, ...] | None:
        """See `TokenRecognizer`."""
        return self._recognizer.tokens_of(text)

    def set_prompt(self, text: str) -> None:
        """See `PromptedRecognizer`."""
        self._recognizer.set_prompt(text)

    def reset(self) -> bool:
        """See `Recognizer.reset`."""
        return self._recognizer.reset()

    async def aclose(self) -> None:
        """Releases the model; waits for a running decode, at most one second. Idempotent."""
        await self._recognizer.aclose()
        await self._model.aclose()
