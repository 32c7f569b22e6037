"""Synthesizes one text in an engine's thread, part by part, so that the parts of several texts take turns."""

import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from audio.engine_lateness import EngineLateness
from audio.errors import TtsError
from audio.threads.engine_thread import EngineThread, ResultStream
from audio.tts.streaming.sentence_sound import StoppedError, StopSwitch

M = TypeVar("M")
T = TypeVar("T")

_WAITING_PARTS = 1024
"""Queue capacity: more pieces of sentences than a text of 200 characters can have."""


class SynthesisJob(Generic[M, T]):
    """Synthesizes one piece of text in the model's thread, part by part, into a stream."""

    def __init__(
        self,
        thread: EngineThread[M],
        work: Callable[[M, StopSwitch], Iterator[T]],
        due_s: float = 0.0,
        *,
        awaited: bool = False,
        length_s: Callable[[T], float] = lambda _part: 0.0,
        lateness: EngineLateness | None = None,
    ) -> None:
        """Creates a job.

        Args:
            thread: The model's thread.
            work: Makes the parts.
            due_s: When its first part is due.
            awaited: See `EngineThread.submit`.
            length_s: Returns the playing time of a part.
            lateness: Is told how long it took; None: nobody is.
        """
        self.stream: ResultStream[T] = ResultStream(
            _WAITING_PARTS, TtsError(f"{thread.name} made more sound from a chunk than its letters can have")
        )
        self.thread = thread
        self._work = work
        self._due_s = due_s
        self._awaited = awaited
        self._length_s = length_s
        self._last_part_s = self._took_s = self._made_s = 0.0
        self._lateness = lateness
        self._items: Iterator[T] | None = None
        self._switch = StopSwitch()

    def begin(self) -> None:
        """Submits the job to the thread. Raises TtsError."""
        awaited, self._awaited = self._awaited, False
        self.thread.submit(self._run, self._due_s, awaited=awaited)

    def _run(self, model: M) -> None:
        """Makes the next part, then submits itself for the following one. Runs in the model's thread.

        A part is due when the one before it begins to play, so that the first parts of other texts come before parts
        that are heard later.
        """
        if self.stream.cancelled:
            return
        if self._items is None:
            self._items = self._work(model, self._switch)
        began_s = time.monotonic()
        try:
            item = next(self._items)
            self._took_s += time.monotonic() - began_s
            self.thread.made += 1
            self.stream.put_item(item)
            self._due_s += self._last_part_s
            self._last_part_s = self._length_s(item)
            self._made_s += self._last_part_s
            self.begin()
        except StopIteration:
            if self._lateness is not None:
                self._lateness.record_job(self._took_s, self._made_s)
            self.stream.put_item(None)
        except StoppedError:
            return
        except TtsError as failure:
            self.stream.put_item(failure)
        except Exception as failure:  # noqa: BLE001 - the thread serves all later units and must live on
            self.thread.suspect = True
            self.stream.put_item(TtsError(f"{self.thread.name} failed inside a chunk ({type(failure).__name__})"))

    def cancel(self) -> None:
        """Cancels the job: the model stops between two operators."""
        self.stream.cancelled = True
        self._switch.stop()

    def close(self, reason: str) -> None:
        """Fails the job at once with `reason`."""
        self.stream.fail(TtsError(reason))
        self._switch.stop()
