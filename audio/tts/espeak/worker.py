"""The single thread that calls espeak-ng, shared by all voices of the process.

A thread is sufficient: the library releases the GIL while it works and needs it for about 30 us per 160 ms of audio.
The median delay of a loop beside it is 0.3 ms under continuous synthesis (docs/lab/tts.md). A process would add its
start time and a copy of the audio.
"""

import threading

from audio.errors import EngineLoadError, TtsError
from audio.threads.engine_thread import EngineThread
from audio.tts.espeak.library import EspeakLibrary

MOST_COPIES = 4
"""Copies of the library, hung ones included. A copy takes 3 MB and a thread, which stay if it hangs."""


class EspeakWorker(EngineThread[EspeakLibrary]):
    """A loaded copy of the library and the thread that owns it.

    Attributes:
        voices: See `EspeakLibrary`.
        variants: See `EspeakLibrary`.
    """

    def __init__(self, library: EspeakLibrary) -> None:
        self.voices = library.voices
        self.variants = library.variants
        super().__init__("espeak-ng", library, TtsError)


class _Shared:
    """Creates the process's worker on first use and replaces it after a hang."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: EspeakWorker | None = None
        self._copies = 1

    def worker(self) -> EspeakWorker:
        """Returns the worker. Blocks while it loads, 6 ms from a warm disk. Raises EngineLoadError."""
        with self._lock:
            if self._worker is None:
                self._worker = EspeakWorker(EspeakLibrary())
            elif self._worker.gave_up:
                if self._copies == MOST_COPIES:
                    raise EngineLoadError(f"espeak-ng hung {MOST_COPIES} times: restart the program")
                self._copies += 1
                self._worker = EspeakWorker(EspeakLibrary(private_copy=True))
            return self._worker


SHARED = _Shared()
