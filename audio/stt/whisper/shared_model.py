"""A loaded Whisper model shared by several conversations."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from audio.engine_lateness import EngineLateness
from audio.errors import EngineLoadError, SttError
from audio.languages.conversation_language import ConversationLanguage
from audio.queue_wait import QueueWait
from audio.restart_backoff import RestartBackoff
from audio.stt import SegmentId, TokenProbability, Transcript
from audio.stt.whisper.decode_scheduler import LANGUAGE_CHECKS, ConversationShare, DecodeScheduler, ModelWorkers
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.stt.whisper.section import NAME
from audio.stt.whisper.segment_decoder import SegmentDecoder
from audio.stt.whisper.stream import WhisperStream
from audio.stt.whisper.worker_threads import WhisperThread
from audio.units import samples_of_ms

MAX_PROMPT_CHARS = 1000
"""Longest text before the words, in characters. Whisper takes 111 tokens of it, which seldom have 9 characters each."""

INTERIM_INTERVAL_SAMPLES = samples_of_ms(300)
"""Minimum new audio between two interim decodes of a segment."""

LOAD_LIMIT_S = 300.0
"""Timeout of loading, in seconds: 3 GB from a disk that reads 10 MB a second."""

GONE_S = 5.0
"""Time that the threads of an abandoned model have to end before another one may be loaded, in seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class _Loading:
    """A model that is being loaded, shared by all callers."""

    thread: WhisperThread
    result: asyncio.Future[None]


class SharedWhisper:
    """A model with its threads and a recognizer for each conversation.

    Not thread-safe: call it on one event loop. The creator closes it.

    Attributes:
        settings: As passed to the constructor.
        closed: Whether the owner has closed it. Conversations cannot reload it then.
    """

    name = NAME
    detects_languages = True
    """Whether its decodes may choose among several languages."""

    def __init__(self, settings: WhisperSettings, lateness: EngineLateness | None = None) -> None:
        """Creates it without loading the model.

        Args:
            settings: The model's settings; its language is the initial one of each conversation.
            lateness: Decides what is left out when decodes are late; None: nothing ever is.
        """
        self.settings = settings
        self.closed = False
        self._scheduler = DecodeScheduler(lateness)
        self._loading: _Loading | None = None
        self._abandoned: WhisperThread | None = None
        self._backoff = RestartBackoff(NAME)

    @property
    def detail(self) -> str:
        """Model, device, threads, compute type and window; without a model, that it is not loaded."""
        settings, model = self.settings, self._scheduler.model
        if model is None:
            return f"{NAME} {settings.called}, not loaded"
        threads = "1 thread" if settings.cpu_threads == 1 else f"{settings.cpu_threads} threads"
        on = "CUDA" if model.device == "cuda" else f"CPU, {threads}"
        if model.workers > 1:
            on += f", {model.workers} decodes at once"
        return f"{NAME} {settings.called}, {model.compute_type} on {on}, {settings.encoder_window} window"

    @property
    def queue_wait(self) -> QueueWait:
        """See `QueuedEngine`."""
        return self._scheduler.queue_wait

    @property
    def works(self) -> bool:
        """Whether a model is loaded and has not failed."""
        return self._scheduler.model is not None

    @property
    def multilingual(self) -> bool:
        """Whether a model is loaded that knows languages other than English."""
        model = self._scheduler.model
        return model is not None and model.multilingual

    def transcriber(self, *, background: bool = False, language: str = "") -> "SharedWhisperRecognizer":
        """Returns a recognizer for one conversation, or for a recording in the `background`; costs nothing.

        `language`: of its words, as "de"; "": that of the settings. Another one needs a multilingual model.
        """
        spoken = language.partition("-")[0].lower() or self.settings.spoken
        return SharedWhisperRecognizer(self, ConversationShare(spoken, background=background))

    async def load(self) -> None:
        """Loads the model, even if it was closed before; see `revive`. Raises EngineLoadError."""
        self.closed = False
        await self.revive()

    async def revive(self) -> None:
        """Reloads the model if it failed or hung, after the one before it is gone.

        Concurrent callers wait for the same loading. Safe to cancel: the loading continues. Raises EngineLoadError,
        also if the owner has closed it.
        """
        if self.closed:
            raise EngineLoadError(f"The shared {NAME} was stopped by its owner and accepts no more conversations.")
        if self.works:
            return
        if self._loading is None:
            await self._wait_for_abandoned()
        if self.works:  # another caller has loaded it meanwhile
            return
        loading = self._loading or self._begin()
        await asyncio.wait([loading.result])
        loading.result.result()

    async def _wait_for_abandoned(self) -> None:
        """Waits until the models before are gone: two would take twice the memory. Raises EngineLoadError."""
        for thread in (self._scheduler.abandoned, self._abandoned):
            if thread is not None and not await thread.end(GONE_S):
                raise EngineLoadError(
                    f"{NAME} hangs and cannot be stopped; it is loaded again when its threads have ended. If that does "
                    "not happen, restart the program."
                )

    async def aclose(self) -> None:
        """Releases the model and fails pending requests; waits up to 1 s for a running decode. Idempotent."""
        self.closed = True
        if self._loading is not None:
            self._on_load_failed(self._loading, EngineLoadError(f"{NAME} was stopped while it was being loaded."))
        thread = self._scheduler.close(SttError(f"{NAME} was stopped: load the recognizer again"))
        if thread is not None:
            await thread.end()

    def open(
        self, share: ConversationShare, segment: SegmentId, on_interim: Callable[[Transcript], None]
    ) -> WhisperStream:
        """Opens a segment of a conversation. Raises SttError if no model is loaded or loading."""
        return WhisperStream(self._scheduler, share, segment, INTERIM_INTERVAL_SAMPLES, on_interim)

    def _load_model(self) -> SegmentDecoder:
        """Loads the model; blocks. Runs in the model's thread. Raises EngineLoadError."""
        return LoadedWhisper(self.settings)

    def _begin(self) -> _Loading:
        """Begins to load a model. Raises EngineLoadError if that is too early."""
        loop = asyncio.get_running_loop()
        self._backoff.check(time.monotonic())
        self._backoff.record_load(time.monotonic())
        spare = self.settings.spare_worker and self.settings.device != "cuda"
        loading = self._loading = _Loading(WhisperThread(self.settings.workers + spare), loop.create_future())
        alarm = loop.call_later(LOAD_LIMIT_S, self._on_load_timeout, loading)
        loading.result.add_done_callback(lambda _: alarm.cancel())
        loading.result.add_done_callback(
            asyncio.Future.exception
        )  # marks the exception as retrieved; there may be no caller left
        self._scheduler.expect_model()

        def load() -> SegmentDecoder:
            with loading.thread.times.started_here(NAME):
                return self._load_model()

        loading.thread.submit(
            load,
            lambda model: self._on_loaded(loading, model),
            lambda error: self._on_load_failed(loading, error),
        )
        return loading

    def _on_loaded(self, loading: _Loading, model: SegmentDecoder) -> None:
        if loading is self._loading:
            self._loading = None
            loading.result.set_result(None)
            # Loading with its first decode takes longer than any step after it.
            need_s = loading.thread.times.sample(0).processor_s or 0.0
            spare = int(self.settings.spare_worker and model.device != "cuda")
            self._scheduler.install(ModelWorkers(model, loading.thread, need_s, spare))

    def _on_load_failed(self, loading: _Loading, error: Exception) -> None:
        if loading is self._loading:
            self._loading = None
            loading.thread.give_up()
            self._abandoned = loading.thread
            loading.result.set_exception(error)
            self._scheduler.close(SttError(f"{NAME} could not be loaded ({error}): load the recognizer again"))

    def _on_load_timeout(self, loading: _Loading) -> None:
        reason = f"{NAME} {self.settings.called} did not load within {LOAD_LIMIT_S:g} s: try a smaller model."
        self._on_load_failed(loading, EngineLoadError(reason))


class SharedWhisperRecognizer:
    """The recognizer of one conversation on a shared model. Implements `Recognizer`."""

    name = NAME

    def __init__(self, shared: SharedWhisper, share: ConversationShare) -> None:
        self._shared = shared
        self._share = share
        self._language = share.language
        self._languages: ConversationLanguage | None = None  # at the beginning of the conversation
        self._stream: WhisperStream | None = None

    @property
    def detail(self) -> str:
        """Details of the model, and the conversation's language."""
        language = self._share.language or "language not yet detected"
        if self._share.languages is not None:
            language = " or ".join(self._share.languages.candidates)
        shared = self._shared.detail
        return f"{shared}, {language}" if self._shared.works else shared

    @property
    def model(self) -> str:
        """See `ModelRecognizer`."""
        return self._shared.settings.called

    @property
    def works(self) -> bool:
        """See `Recognizer.works`."""
        return self._shared.works

    @property
    def ends_requests(self) -> bool:
        """See `SelfWatching`."""
        return True

    async def load(self) -> None:
        """Checks that the shared model works. If it failed or hangs, reloads it once for all conversations.

        Raises EngineLoadError.
        """
        await self._shared.revive()

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> WhisperStream:
        """Opens a segment and cancels an open one. Raises SttError if no model is loaded or loading."""
        if self._stream is not None:
            self._stream.cancel()
        self._stream = self._shared.open(self._share, segment, on_interim)
        return self._stream

    def keep_tokens(self, *, enabled: bool, timed: bool = False) -> None:
        """See `TokenRecognizer`."""
        self._share.tokens.enabled, self._share.tokens.timed = enabled, timed

    def tokens_of(self, text: str) -> tuple[TokenProbability, ...] | None:
        """See `TokenRecognizer`."""
        return self._share.tokens.of(text)

    def set_prompt(self, text: str) -> None:
        """See `PromptedRecognizer`."""
        self._share.prompt = text[:MAX_PROMPT_CHARS]

    def expect_recording(self, *, is_recording: bool) -> None:
        """See `RecordingRecognizer`."""
        self._share.thorough = is_recording

    @property
    def other_language(self) -> str:
        """See `LanguageDetector`."""
        return self._share.other_language

    def follow_languages(self, languages: ConversationLanguage) -> bool:
        """See `LanguageFollower`."""
        if not (self._shared.multilingual and self._shared.detects_languages):
            return False
        self._languages = self._share.languages = languages
        self._language = self._share.language = languages.current
        return True

    def reset(self) -> bool:
        """See `Recognizer.reset`. A language set to automatic is detected again."""
        self._drop()
        self._share.languages = self._languages
        self._share.language_checks, self._share.other_language = LANGUAGE_CHECKS, ""
        self._share.language = self._language
        return self._shared.works

    async def aclose(self) -> None:
        """Drops the requests of this conversation; the model stays loaded. Idempotent."""
        self._drop()

    def _drop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()
            stream.fail(SttError(f"{NAME} was stopped: load the recognizer again"))
