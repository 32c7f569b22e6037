"""Units of microphone audio with their positions on the sample clock: a 20 ms frame, and a span of silence."""

from dataclasses import dataclass

from audio.units import FRAME_SAMPLES, Pcm, Samples


@dataclass(frozen=True, slots=True)
class SilentSpan:
    """Silence that the input inserted in one piece, because no audio arrived for long.

    Attributes:
        start: Stream position of its first sample.
        end: Position after its last sample, a whole number of frames later.
    """

    start: Samples
    end: Samples


@dataclass(frozen=True, slots=True)
class Frame:
    """20 ms of microphone audio.

    Attributes:
        start: Stream position of the first sample.
        pcm: int16, shape (FRAME_SAMPLES,), 16 kHz mono. A view into a reused buffer: copy it to keep it.
        is_inserted: True if no audio arrived and the input filled the gap with silence.
    """

    start: Samples
    pcm: Pcm
    is_inserted: bool = False

    @property
    def end(self) -> Samples:
        """Returns the stream position after the last sample."""
        return Samples(self.start + FRAME_SAMPLES)
