"""The one thread that calls espeak-ng, shared by all voices of the process.

A thread and not a process: the library lets go of the interpreter lock while it works and needs it for about 30 us
per 160 ms of sound, so that a loop beside it is late by 0.3 ms in the median even while units are made without a
pause (docs/tts.md); a process would add its start and a copy of the sound.
"""

import threading

from audio.tts.engine_thread import EngineThread
from audio.tts.espeak_library import EspeakLibrary


class EspeakWorker(EngineThread[EspeakLibrary]):
    """A copy of the library and the thread that owns it.

    Attributes:
        voices: As of `EspeakLibrary`.
        variants: As of `EspeakLibrary`.
    """

    def __init__(self, library: EspeakLibrary) -> None:
        self.voices = library.voices
        self.variants = library.variants
        super().__init__("espeak-ng", library)


class _Shared:
    """The process's worker, made on first use and replaced after a hang."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: EspeakWorker | None = None

    def worker(self) -> EspeakWorker:
        """Blocks for the loading, 6 ms from a warm disk. Raises EngineLoadError."""
        with self._lock:
            if self._worker is None:
                self._worker = EspeakWorker(EspeakLibrary())
            elif self._worker.gave_up:
                self._worker = EspeakWorker(EspeakLibrary(private_copy=True))
            return self._worker


SHARED = _Shared()
