"""Text to speech by replicas of a voice on a cluster."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from audio.cluster import ClusterConnection, ReplicaInfo
from audio.cluster.answers import ask_replica
from audio.cluster.wire import received_chunk
from audio.errors import AudioError, ReplicaLostError, TtsError
from audio.threads.shared_loading import SharedLoading
from audio.time_limit import time_limit
from audio.tts import Chunk
from audio.units import ReplySamples

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""Replicas that are asked for one text, if each of them ends before the text does."""


class ClusterVoice:
    """Implements `Voice` by replicas on the cluster, for all conversations of a gateway.

    A text whose replica ends is spoken by another one. What was already given is not given again: the audio goes on
    from the same position. Piper varies its durations a little, so a syllable can be cut or doubled there.
    """

    name = "ray"

    def __init__(self, connection: ClusterConnection, *, timeout_s: float) -> None:
        """Creates the voice without a connection.

        Args:
            connection: Stays open; its owner closes it.
            timeout_s: Longest wait for the next audio chunk, in seconds.
        """
        self._connection = connection
        self._timeout_s = timeout_s
        self._info: ReplicaInfo | None = None
        self._loading = SharedLoading("the voice on the cluster", self._load)

    @property
    def ends_requests(self) -> bool:
        """See `SelfWatching`."""
        return True

    @property
    def detail(self) -> str:
        """The replicas' voice."""
        return "not connected" if self._info is None else f"{self._info.detail}, on the cluster"

    async def load(self) -> None:
        """Waits until a replica answers; see `Voice.load`. Raises EngineLoadError."""
        await self._loading.wait()

    async def _load(self) -> None:
        self._info = await asyncio.to_thread(ask_replica, self._connection, "voice")

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        """Yields the audio of the text; see `Voice.speak`. Replicas ignore `ahead_s`: first text first."""
        given = 0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                async with aclosing(self._chunks(text, speed, given)) as chunks:
                    async for chunk in chunks:
                        yield chunk
                        given += chunk.pcm.size
            except ReplicaLostError as error:
                if attempt == ATTEMPTS:
                    raise TtsError(f"{error}, {ATTEMPTS} times for one text") from error
                log.warning("tts: a text is spoken by another replica, because %s", error)
            else:
                return

    async def aclose(self) -> None:
        """Stops waiting for the cluster. The connection stays open. Idempotent."""
        await self._loading.stop()
        self._info = None

    async def _chunks(self, text: str, speed: float, skipped: int) -> AsyncGenerator[Chunk]:
        """Yields the chunks of one request without its first `skipped` samples. Raises ReplicaLostError, TtsError."""
        position = 0
        try:
            async with aclosing(self._connection.stream("voice", "speak", text, speed)) as items:
                while True:
                    async with time_limit(self._timeout_s):
                        item = await anext(items, None)
                    if item is None:
                        return
                    chunk = received_chunk(item)
                    rest = _after(chunk, position, skipped)
                    position += chunk.pcm.size
                    if rest is not None:
                        yield rest
        except ReplicaLostError:
            raise
        except TimeoutError as late:
            raise TtsError(
                f"the voice on the cluster produced no audio within {self._timeout_s:g} s: run `repartee cluster "
                "status`, or allow more replicas"
            ) from late
        except AudioError as error:
            raise TtsError(str(error)) from error


def _after(chunk: Chunk, start: int, skipped: int) -> Chunk | None:
    """Returns the part of a chunk, which begins at `start`, from the position `skipped` on; None if there is none."""
    if start >= skipped:
        return chunk
    if start + chunk.pcm.size <= skipped:
        return None
    marks = tuple(
        mark if mark.start >= skipped else replace(mark, start=ReplySamples(skipped))
        for mark in chunk.marks
        if mark.end > skipped
    )
    return Chunk(chunk.pcm[skipped - start :], marks)
