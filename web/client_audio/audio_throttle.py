"""Paces the processing of a client's audio, between messages and within a message that holds a whole recording."""

import asyncio
from collections.abc import Awaitable, Callable

from web.client_audio.audio_backlog import AudioBacklog
from web.limits.session_limits import AudioThrottle


class AudioPacer:
    """Waits while a client's audio is further ahead of real time than the throttle's burst allows.

    Attributes:
        backlog: Queue for audio that has to wait; None: the caller waits.
        is_recording: Whether the audio may be a recording; see `SessionConfig.takes_recordings`.
    """

    def __init__(
        self,
        throttle: AudioThrottle,
        rest: Callable[[float], Awaitable[bool]],
        takes_audio: Callable[[], bool] = lambda: True,
        backlog: AudioBacklog | None = None,
        recording_throttle: AudioThrottle | None = None,
    ) -> None:
        """Sets the pace of one connection.

        Args:
            throttle: The burst and the rate.
            rest: Sleeps for this number of seconds; returns False if the client has left meanwhile.
            takes_audio: Whether more audio is wanted; False once another connection has taken over.
            backlog: Queue for audio that has to wait.
            recording_throttle: Burst and rate while `is_recording`; None: the same.
        """
        self.backlog = backlog
        self.is_recording = False
        self._live_throttle = throttle
        self._recording_throttle = recording_throttle or throttle
        self._rest = rest
        self._takes_audio = takes_audio
        self._due_s = 0.0

    @property
    def _throttle(self) -> AudioThrottle:
        return self._recording_throttle if self.is_recording else self._live_throttle

    def lets_pass(self, sound_s: float) -> bool:
        """Returns whether this much audio may be processed now, without waiting."""
        now_s = asyncio.get_running_loop().time()
        return now_s >= self._due_s and sound_s <= self._throttle.room_s(now_s)

    async def wait(self) -> bool:
        """Waits until more audio may be processed; returns False if no more is wanted."""
        wait_s = self._due_s - asyncio.get_running_loop().time()
        return (wait_s <= 0 or await self._rest(wait_s)) and self._takes_audio()

    def took(self, samples: int) -> None:
        """Counts processed samples, at the throttle's sample rate."""
        now_s = asyncio.get_running_loop().time()
        self._due_s = now_s + self._throttle.wait_s(samples, now_s)
