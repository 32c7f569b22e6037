"""Speech to text by faster-whisper: free speech, in a thread, by decoding the growing segment again and again."""

from collections.abc import Callable
from dataclasses import replace

from audio.errors import SttError
from audio.stt import SegmentId, Words
from audio.stt.whisper_desk import WhisperDesk
from audio.stt.whisper_hearing import WhisperHearing
from audio.stt.whisper_model import Device, LoadedWhisper, WhisperSettings
from audio.stt.whisper_thread import WhisperThread
from audio.stt.whisper_window import EncoderWindow
from audio.units import samples_of_s


class WhisperTranscriber:
    """One conversation's recognizer. Implements `Transcriber`."""

    name = "faster-whisper"

    def __init__(
        self,
        model: str,
        *,
        language: str | None = "en",
        device: Device = "auto",
        compute_type: str = "auto",
        cpu_threads: int = 2,
        encoder_window: EncoderWindow = "adaptive",
        hot_words: str = "",
        initial_prompt: str = "",
        partial_interval_s: float = 0.3,
    ) -> None:
        """Nothing is loaded yet.

        Args:
            model: A folder, or a name (tiny, base.en, owner/name) in the local Hugging Face cache.
            language: As "en" or "en-US"; None: detected once, on the first segment with enough speech.
            device: "auto": CUDA where there is one.
            compute_type: As of CTranslate2; "auto": int8 on a CPU, float16 on CUDA.
            cpu_threads: On a CPU.
            encoder_window: "full": always 30 s; "adaptive": as much as there is sound, see `encoder_frames`.
            hot_words: Names and terms that are likely to be said.
            initial_prompt: Text as if said before: for its style and spelling.
            partial_interval_s: Least new sound from one partial to the next.
        """
        spoken = None if language is None else language.partition("-")[0].lower()
        self._settings = WhisperSettings(
            model, spoken, device, compute_type, cpu_threads, encoder_window, hot_words, initial_prompt
        )
        self._interval = samples_of_s(partial_interval_s)
        self._desk: WhisperDesk | None = None
        self._hearing: WhisperHearing | None = None

    @property
    def detail(self) -> str:
        """Model, device, threads, compute type and window; before `load` only that it is not loaded."""
        settings = self._settings
        if self._desk is None:
            return f"faster-whisper {settings.model}, not loaded"
        model = self._desk.model
        on = "CUDA" if model.device == "cuda" else f"CPU, {settings.cpu_threads} threads"
        language = self._desk.language or "language not yet detected"
        window = f"{settings.encoder_window} window"
        return f"faster-whisper {settings.model}, {model.compute_type} on {on}, {window}, {language}"

    async def load(self) -> None:
        """Load the model, or load it anew after a failure or a hang. Raises EngineLoadError."""
        await self.aclose()
        thread = WhisperThread()
        try:
            model = await thread.run(lambda: LoadedWhisper(self._settings))
        except BaseException:
            thread.give_up()
            raise
        self._desk = WhisperDesk(thread, model, self._settings.language)

    def open(self, segment: SegmentId, on_partial: Callable[[Words], None]) -> WhisperHearing:
        """Begin a segment; one still open is cancelled. Raises SttError where nothing is loaded."""
        if self._desk is None:
            raise SttError("faster-whisper is not loaded; load the recognizer first.")
        if self._hearing is not None:
            self._hearing.cancel()
        self._hearing = WhisperHearing(self._desk, segment, self._interval, on_partial)
        return self._hearing

    async def aclose(self) -> None:
        """Let the model go; a decode under way is waited for, a second at most. Idempotent."""
        desk, self._desk = self._desk, None
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None
        if desk is not None:
            self._settings = replace(self._settings, language=desk.language)  # detected once per conversation
            desk.fail(SttError("faster-whisper was stopped: load the recognizer again"))
            await desk.thread.end()
