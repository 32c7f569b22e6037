"""Generates a microphone's sound: clips, with room noise between them. No I/O, no clock."""

import numpy as np

from audio.units import Pcm, reply_samples_of_ms

FADE = reply_samples_of_ms(50)
"""Duration of a crossfade between two rooms, in samples. A step in the noise would be an onset."""


class MicrophoneSource:
    """An endless stream of sound at REPLY_RATE_HZ.

    Attributes:
        taken: Number of samples taken so far.
    """

    def __init__(self, room: Pcm) -> None:
        """`room` is the noise that repeats while nothing is said."""
        self.taken = 0
        self._room = room
        self._queue = np.zeros(0, np.float32)

    def enter(self, room: Pcm) -> None:
        """Changes the room noise after everything that is queued."""
        old = self._tone(self.end, FADE)
        self._room = room
        rising = np.linspace(0, 1, FADE, dtype=np.float32)
        self._queue = np.concatenate([self._queue, old * (1 - rising) + self._tone(self.end, FADE) * rising])

    def say(self, pcm: Pcm) -> int:
        """Queues a clip and crossfades its edges into the room noise. Returns the position of its first sample."""
        position = self.end
        fade = min(FADE, pcm.size // 4)
        share = np.ones(pcm.size, np.float32)
        share[:fade] = np.linspace(0, 1, fade)
        share[pcm.size - fade :] = np.linspace(1, 0, fade)
        self._queue = np.concatenate([self._queue, pcm * share + self._tone(position, pcm.size) * (1 - share)])
        return position

    def take(self, samples: int) -> Pcm:
        """Returns the next samples of the stream, int16, shape (samples,)."""
        piece = self._queue[:samples]
        self._queue = self._queue[samples:]
        if piece.size < samples:
            piece = np.concatenate([piece, self._tone(self.taken + piece.size, samples - piece.size)])
        self.taken += samples
        pcm: Pcm = piece.round().clip(-32_768, 32_767).astype(np.int16)
        return pcm

    @property
    def end(self) -> int:
        """Returns the position after everything that is queued."""
        return self.taken + self._queue.size

    def _tone(self, position: int, samples: int) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
        return self._room[np.arange(position, position + samples) % self._room.size].astype(np.float32)
