"""The engines that run in replicas of Ray Serve. Each class has one instance in a process of its own.

A replica loads its engine from its own machine's models and runs it once, before it gets requests. The methods are
coroutines on the replica's event loop; the engines compute in threads. A cancelled request ends its work. Ray calls
`check_health` every `HEALTH_CHECK_S` and replaces a replica whose engine hangs or no longer works.
"""

import asyncio
import math
import os
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from assistant.config.settings import Settings
from assistant.models.model_choice import model_choice
from assistant.models.needs import Need
from assistant.registry.listening import measured_recognizer, turn_end_engine
from assistant.setup import build
from assistant.setup.listening.recognizer_loader import recognizer_request
from assistant.setup.providers import turn_provider
from assistant.setup.voices.choice import voice_candidates
from assistant.setup.voices.factory import make_voice
from assistant.support.cpu import cores
from audio.cluster import ReplicaInfo
from audio.cluster.wire import received_pcm, sent_chunk, sent_info
from audio.errors import EngineError, EngineLoadError
from audio.execution_provider import SHOWN, fallback_of
from audio.hang_detection import HangDetector
from audio.thread_times import ThreadTimes
from audio.tts import Voice
from audio.units import MIC_RATE_HZ, Pcm

T = TypeVar("T")

HEALTH_CHECK_S = 5.0
"""Interval of the health checks, in seconds."""

MAX_BATCH = 8
"""Silences that the end-of-turn estimator judges in one run."""


class WatchedThread:
    """The thread in which an engine computes, one piece of work after the other."""

    def __init__(self, name: str, trial: Callable[[], object], times: ThreadTimes | None = None) -> None:
        """Creates it.

        Args:
            name: The engine's name, for messages.
            trial: Runs the engine once; raises an exception if it does not work.
            times: The threads that the engine's library has started; None: none.
        """
        self._name = name
        self._trial = trial
        self._times = times or ThreadTimes()
        self._thread = ThreadPoolExecutor(1, name, self._times.add_current)
        # Loading with its first run takes longer than any work after it.
        self._hang = HangDetector(self._times.sample(0).processor_s or 0.0, HEALTH_CHECK_S)
        self._steps = 0  # begun and finished work
        self._is_suspect = False

    async def run(self, work: Callable[[], T]) -> T:
        """Runs work in the thread and returns its result. Work that has not begun is cancelled with the caller."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._watched, work)

    async def check(self) -> None:
        """Raises EngineError if the engine hangs. If it has failed, runs it once and raises what that raises."""
        if self._steps % 2 and (reason := self._hang.observe(self._times.sample(self._steps))):
            raise EngineError(f"{self._name} hangs: {reason}")
        if self._is_suspect:
            await self.run(self._trial)
            self._is_suspect = False

    def _watched(self, work: Callable[[], T]) -> T:
        self._steps += 1
        try:
            return work()
        except Exception:
            self._is_suspect = True
            raise
        finally:
            self._steps += 1


class Replica:
    """Counts the requests of a replica and describes it."""

    def __init__(self, version: str, detail: str) -> None:
        """Creates it for a loaded engine. `version`: see `ReplicaInfo`; `detail`: one line about the engine."""
        self._info = ReplicaInfo(version, detail, "cpu", "", False, socket.gethostname(), os.getpid(), 0, 0)
        self._ongoing = self._served = 0

    async def describe(self) -> dict[str, Any]:
        """Returns its `ReplicaInfo` as a dictionary."""
        return sent_info(replace(self._info, ongoing=self._ongoing, served=self._served))

    def _begin(self) -> None:
        self._ongoing += 1

    def _end(self) -> None:
        self._ongoing -= 1
        self._served += 1


class RecognizerReplica(Replica):
    """The model of a recognizer. One decode runs at a time, on the replica's threads."""

    def __init__(self, settings: Settings, version: str) -> None:
        """Loads the model. Raises EngineLoadError."""
        engine, times = measured_recognizer(), ThreadTimes()
        assert engine.cluster is not None, "only such a recognizer is deployed"
        request = recognizer_request(settings, engine)
        with times.started_here(engine.thread):
            self._model = model = engine.cluster.replica(request)
        self._thread = WatchedThread(engine.name, model.trial, times)
        super().__init__(version, model.detail)
        self._info = replace(
            self._info, device=model.device, compute_type=model.compute_type, multilingual=model.multilingual
        )

    async def check_health(self) -> None:
        """Raises an exception if the model hangs or no longer works."""
        await self._thread.check()

    async def answer(self, question: str, *arguments: object) -> Any:
        """Returns the answer to a question of a gateway; None if it was cancelled. See `ReplicaModel`."""
        unwanted = threading.Event()
        self._begin()
        try:
            return await self._thread.run(
                partial(self._model.answer, lambda: not unwanted.is_set(), question, *arguments)
            )
        finally:
            unwanted.set()
            self._end()


class VoiceReplica(Replica):
    """The best voice of this machine. The engine orders the texts of its requests."""

    def __init__(self, settings: Settings, version: str) -> None:
        """Chooses the voice. Raises EngineLoadError."""
        self._voice, self._why = _voice(settings)
        self._loading = asyncio.Lock()
        self._is_loaded = self._is_suspect = False
        super().__init__(version, self._voice.name)

    async def check_health(self) -> None:
        """Loads the voice before the first request, and again if it hangs or has failed. Raises EngineLoadError.

        Ray waits for the first check of a new replica.
        """
        async with self._loading:
            if self._is_loaded and not self._is_suspect:
                return
            self._is_suspect = False
            try:
                await self._voice.load()
            except BaseException:
                self._is_suspect = True
                raise
            self._is_loaded = True
            why = "".join(f", {text}" for text in (self._why, fallback_of(self._voice)) if text)
            self._info = replace(self._info, detail=f"{self._voice.name} {self._voice.detail}{why}")

    async def describe(self) -> dict[str, Any]:
        """Returns its `ReplicaInfo` as a dictionary."""
        await self.check_health()
        return await super().describe()

    async def speak(self, text: str, speed: float) -> AsyncGenerator[dict[str, Any]]:
        """Yields the audio of a text; see `Voice.speak`."""
        if not self._is_loaded:
            await self.check_health()
        self._begin()
        try:
            async with aclosing(self._voice.speak(text, speed)) as chunks:
                async for chunk in chunks:
                    yield sent_chunk(chunk)
        except Exception:
            self._is_suspect = True  # the next check loads it again
            raise
        finally:
            self._end()


class TurnEndReplica(Replica):
    """The end-of-turn estimator. What waits is judged in one batch."""

    def __init__(self, settings: Settings, version: str) -> None:
        """Loads the estimator and runs it once. Raises EngineLoadError, EngineError."""
        engine, times = turn_end_engine(), ThreadTimes()
        if engine.replica is None or engine.models is None:
            raise EngineLoadError(f"{engine.label} does not run on a cluster.")
        need = Need(engine.models.catalogue[0].name, engine.models.name, engine.models.purpose)
        with times.started_here(engine.label):
            self._network = network = engine.replica(build.place_of(need), turn_provider(settings))
        batches = "in batches" if network.use_batches() else "one at a time"
        silence = np.zeros(MIC_RATE_HZ, np.int16)
        self._thread = WatchedThread(engine.label, partial(network.probabilities, [silence]), times)
        super().__init__(version, f"{need.name}, {batches}, {network.fallback or SHOWN[network.provider]}")

    async def check_health(self) -> None:
        """Raises an exception if the network hangs or no longer works."""
        await self._thread.check()

    async def judge(self, sounds: Sequence[bytes]) -> list[float]:
        """Returns the probability for each of the sounds."""
        pcms: list[Pcm] = [received_pcm(sound) for sound in sounds]
        for _ in pcms:
            self._begin()
        try:
            return await self._thread.run(partial(self._network.probabilities, pcms))
        finally:
            for _ in pcms:
                self._end()


def local_settings(settings: Settings) -> Settings:
    """Returns the settings of the replicas: the same engines on their own machine, and nothing of the rest.

    An engine has as many threads as its replica reserves cores, unless `stt.threads` is set. Sections that may hold
    addresses and names of the user are left out.
    """
    threads = settings.stt.threads or math.ceil(settings.cluster.replica_cpus)
    engine = measured_recognizer().name
    return Settings(
        assistant=replace(settings.assistant, instructions="", greeting=""),
        stt=replace(settings.stt, engine=engine, model=model_choice(settings).name, threads=threads),
        tts=replace(settings.tts, engine="auto"),
        turn=replace(settings.turn, smart_turn="auto"),
        engines=settings.engines,
    )


def _voice(settings: Settings) -> tuple[Voice, str]:
    """Returns the voice of this machine, not loaded, and why it is not the expected one; "" if it is.

    It is chosen as without a cluster (`load_voice`), among the engines that may run in a replica.
    """
    problem = first = ""
    for candidate in voice_candidates(settings):
        first = first or candidate.engine.name
        if candidate.engine.on_cluster and not candidate.lacking:
            local = replace(settings, stt=replace(settings.stt, threads=settings.stt.threads or cores().whole))
            why = f"instead of {first}, because {problem}" if problem else candidate.instead
            return make_voice(local, candidate), why
        problem = problem or candidate.lacking or f"{first} does not run on a cluster"
    raise EngineLoadError(f"no voice for {settings.assistant.language}: {problem}.")
