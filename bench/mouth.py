"""A microphone's sound without a microphone: clips, and between them the room. Pure: no clock."""

import numpy as np

from audio.units import Pcm, reply_samples_of_ms

FADE = reply_samples_of_ms(50)
"""Over which one room becomes the other: a step in the noise would be an onset."""


class Mouth:
    """Sound at REPLY_RATE_HZ, as long as anybody takes it.

    Attributes:
        taken: Samples that were taken so far.
    """

    def __init__(self, room: Pcm) -> None:
        """In a room: what is heard while nothing is said, repeated."""
        self.taken = 0
        self._room = room
        self._said = np.zeros(0, np.float32)

    def enter(self, room: Pcm) -> None:
        """From where what is said ends, this room."""
        old = self._tone(self.end, FADE)
        self._room = room
        rising = np.linspace(0, 1, FADE, dtype=np.float32)
        self._said = np.concatenate([self._said, old * (1 - rising) + self._tone(self.end, FADE) * rising])

    def say(self, pcm: Pcm) -> int:
        """Say it next; its edges fade into the room. Returns the position of its first sample."""
        at = self.end
        fade = min(FADE, pcm.size // 4)
        share = np.ones(pcm.size, np.float32)
        share[:fade] = np.linspace(0, 1, fade)
        share[pcm.size - fade :] = np.linspace(1, 0, fade)
        self._said = np.concatenate([self._said, pcm * share + self._tone(at, pcm.size) * (1 - share)])
        return at

    def take(self, samples: int) -> Pcm:
        """The next samples of the stream, int16, shape (samples,)."""
        piece = self._said[:samples]
        self._said = self._said[samples:]
        if piece.size < samples:
            piece = np.concatenate([piece, self._tone(self.taken + piece.size, samples - piece.size)])
        self.taken += samples
        pcm: Pcm = piece.round().clip(-32_768, 32_767).astype(np.int16)
        return pcm

    @property
    def end(self) -> int:
        """The position after all that is said."""
        return self.taken + self._said.size

    def _tone(self, at: int, samples: int) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
        return self._room[np.arange(at, at + samples) % self._room.size].astype(np.float32)
