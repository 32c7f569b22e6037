"""The one thread that calls espeak-ng, shared by all voices of the process.

A thread and not a process: the library lets go of the interpreter lock while it works and needs it for about 30 us
per 160 ms of sound, so that a loop beside it is late by 0.3 ms in the median even while units are made without a
pause (docs/tts.md); a process would add its start and a copy of the sound. A thread of our own and not a
ThreadPoolExecutor: its queue is bounded, and being a daemon it cannot keep the process from ending should the
library hang.
"""

import queue
import threading
from collections.abc import Callable

from audio.errors import TtsError
from audio.tts.espeak_library import EspeakLibrary

Job = Callable[[EspeakLibrary], None]
"""Runs in the worker's thread; must not raise."""

_WAITING_JOBS = 64
"""A job is one unit, a few ms long: 64 are more conversations than one process holds."""


class EspeakWorker:
    """A copy of the library and the thread that owns it.

    Attributes:
        voices: As of `EspeakLibrary`.
        variants: As of `EspeakLibrary`.
        gave_up: No more jobs are taken: the library hung.
    """

    def __init__(self, library: EspeakLibrary) -> None:
        self.voices = library.voices
        self.variants = library.variants
        self._library = library
        self._jobs: queue.Queue[Job] = queue.Queue(_WAITING_JOBS)
        self.gave_up = False
        threading.Thread(target=self._work, name="espeak-ng", daemon=True).start()

    def submit(self, job: Job) -> None:
        """Run `job` after those before it. Never blocks. Raises TtsError."""
        if self.gave_up:
            raise TtsError("espeak-ng hung earlier and was given up: load the voice again")
        try:
            self._jobs.put_nowait(job)
        except queue.Full as full:
            raise TtsError(f"espeak-ng has {_WAITING_JOBS} units waiting already: say this one later") from full

    def give_up(self) -> None:
        """The library hangs: take no more jobs, and let the thread end if it ever comes back. Idempotent."""
        self.gave_up = True

    def _work(self) -> None:
        while not self.gave_up:
            job = self._jobs.get()
            if not self.gave_up:
                job(self._library)


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
