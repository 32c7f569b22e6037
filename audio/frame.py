"""The frame: what a microphone border hands in, every 20 ms without exception."""

from dataclasses import dataclass

from audio.units import FRAME_SAMPLES, Pcm, Samples


@dataclass(frozen=True, slots=True)
class Frame:
    """20 ms of the microphone's line.

    Attributes:
        start: Stream position of the first sample.
        pcm: int16, shape (FRAME_SAMPLES,), 16 kHz mono. A view into a reused buffer: copy what is to be kept.
        invented: True where no sound came and the border put in silence so that the line goes on.
    """

    start: Samples
    pcm: Pcm
    is_inserted: bool = False

    @property
    def end(self) -> Samples:
        """Stream position after the last sample."""
        return Samples(self.start + FRAME_SAMPLES)
