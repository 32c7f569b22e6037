"""A recognizer whose engine recognizes the words of a whole segment at once."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from audio.errors import EngineLoadError, SttError
from audio.stt import MAX_TURN_S, FirstWord, RecognitionStream, Recognizer, SegmentId, SharedRecognizer, Transcript
from audio.thread_times import ThreadTimes
from audio.threads.engine_thread import EngineHungError, EngineThread, ResultStream, load_engine
from audio.threads.shared_loading import SharedLoading
from audio.units import MIC_RATE_HZ, Pcm, Samples, samples_of_ms, samples_of_s

MAX_SAMPLES = samples_of_s(MAX_TURN_S + 60)
"""Longest segment: the longest turn, and a minute of speech that has not become a turn yet."""

MARGIN_SAMPLES = samples_of_ms(40)
"""Audio after the end of speech that a transcript covers, as one end in ten is dated too early (docs/lab/vad.md)."""


class SegmentEngine(Protocol):
    """A loaded engine. It is called in a thread of its own, one segment after the other."""

    def words(self, pcm: Pcm) -> str:
        """Returns the words of speech: int16, shape (n,), 16 kHz. "" if there are none. Raises SttError."""
        ...


class SegmentRecognizer(SharedRecognizer):
    """Implements `SharedRecognizer` for an engine of which only the loading and a `SegmentEngine` are written."""

    multilingual = False

    def __init__(self, name: str, load: Callable[[], SegmentEngine], detail: str = "") -> None:
        """Creates it without loading it.

        Args:
            name: Name of the engine.
            load: Loads the engine, in any thread. Raises EngineLoadError.
            detail: One line for the screen.
        """
        self.name = name
        self.detail = detail
        self._load_engine = load
        self._loading = SharedLoading(name, self._load)
        self._thread: EngineThread[SegmentEngine] | None = None

    @property
    def works(self) -> bool:
        """See `SharedRecognizer.works`."""
        return self._thread is not None and not self._thread.suspect and not self._thread.gave_up

    def transcriber(self, *, background: bool = False, language: str = "") -> Recognizer:
        """See `SharedRecognizer.transcriber`. Requests are answered in their order."""
        return _Recognizer(self)

    async def load(self) -> None:
        """Loads the engine, or loads it again after a failure, and recognizes a second of silence."""
        if not self.works:
            await self._loading.wait()

    async def aclose(self) -> None:
        """Stops the engine. Idempotent."""
        await self._loading.stop()
        if self._thread is not None:
            self._thread.give_up()
        self._thread = None

    async def words(self, pcm: Pcm) -> str:
        """Returns the words of a segment. Safe to cancel. Raises SttError."""
        if self._thread is None:
            raise SttError(f"{self.name} is not loaded: load it first")
        return await self._words(self._thread, pcm)

    async def _words(self, thread: EngineThread[SegmentEngine], pcm: Pcm) -> str:
        results: ResultStream[str] = ResultStream(1, SttError(f"{self.name} answered twice"))

        def work(engine: SegmentEngine) -> None:
            if results.cancelled:
                return
            try:
                results.put_item(engine.words(pcm))
            except SttError as failure:
                results.put_item(failure)
            except Exception as failure:  # noqa: BLE001 - the thread serves all conversations and must live on
                thread.suspect = True
                results.put_item(SttError(f"{self.name} failed ({type(failure).__name__}): load it again"))

        try:
            thread.submit(work)
            return await results.next(thread.hang_reason) or ""
        except EngineHungError as hung:
            thread.give_up()
            raise SttError(f"{self.name} hung ({hung}): load it again") from hung
        finally:
            results.cancelled = True

    async def _load(self) -> None:
        if self._thread is not None:
            self._thread.give_up()
            await self._thread.gone()
            self._thread = None
        times = ThreadTimes()

        def loaded() -> SegmentEngine:
            with times.started_here(self.name):
                return self._load_engine()

        thread, _ = await load_engine(self.name, loaded, SttError, times)
        try:
            await self._words(thread, np.zeros(MIC_RATE_HZ, np.int16))
        except BaseException as failure:
            thread.give_up()
            if isinstance(failure, SttError):
                raise EngineLoadError(f"{self.name} cannot be used: {failure}") from failure
            raise
        self._thread = thread


class _Recognizer(Recognizer):
    """The recognizer of one conversation. It has no state."""

    def __init__(self, shared: SegmentRecognizer) -> None:
        self.name = shared.name
        self._shared = shared

    @property
    def detail(self) -> str:
        return self._shared.detail

    @property
    def works(self) -> bool:
        return self._shared.works

    @property
    def ends_requests(self) -> bool:
        """See `SelfWatching`."""
        return True

    async def load(self) -> None:
        await self._shared.load()

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> RecognitionStream:
        return _Stream(self._shared, segment)

    def reset(self) -> bool:
        return True

    async def aclose(self) -> None:
        """Closes nothing: the engine belongs to all conversations."""


class _Stream(RecognitionStream):
    """A segment, which is recognized when its transcript is requested."""

    def __init__(self, shared: SegmentRecognizer, segment: SegmentId) -> None:
        self.segment = segment
        self._shared = shared
        self._chunks: list[Pcm] = []
        self._samples = 0
        self._latest: Transcript | None = None

    def feed(self, pcm: Pcm) -> None:
        if self._samples + len(pcm) > MAX_SAMPLES:
            raise SttError(f"the segment is longer than {MAX_SAMPLES // MIC_RATE_HZ} s")
        self._chunks.append(pcm.copy())
        self._samples += len(pcm)

    def probability_dip(self) -> None:
        """Begins nothing early."""

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        until = Samples(self.segment + self._samples)
        enough = until if speech_end is None else min(until, speech_end + MARGIN_SAMPLES)
        if self._latest is None or self._latest.until < enough:
            words = await self._shared.words(np.concatenate([np.zeros(0, np.int16), *self._chunks]))
            self._latest = Transcript(self.segment, until, words)
        return self._latest

    async def first_word(self) -> FirstWord | None:
        return None

    def close(self) -> None:
        self._chunks.clear()

    def cancel(self) -> None:
        self._chunks.clear()
