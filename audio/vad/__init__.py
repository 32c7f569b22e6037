"""Voice activity: for every frame, is somebody speaking, and since or until when."""

from dataclasses import dataclass
from typing import Protocol

from audio.frame import Frame
from audio.units import Samples


@dataclass(frozen=True, slots=True)
class VadResult:
    """What the detector says after one frame.

    Attributes:
        speaking: The detector's state after hysteresis. It opens after a few voiced frames and closes after a
            short hold (60-100 ms); how long a silence ends a turn is not its business.
        edge: While speaking: the onset, dated back to the first sample of this stretch of speech. While silent:
            the position after the last sample of speech, dated back and less the detector's calibrated bias
            (0 before any speech).
        probability: 0..1, of speech in this frame; kept in the trace.
        fading: While speaking: the speech may have ended here (dated back like `edge`), as the newest sound has it;
            None where nothing speaks for that. The state follows only if it stays so.
        stirs: While silent: the newest sound may be the beginning of a voice. The state follows if it is one.
        clear: In the first 0.4 s of speaking: this frame is louder than anything in the silence before it.
        murmur: While speaking: this stretch of it is so far no louder than what was heard in the two seconds of silence
            before it, as the voices of a room are. False also where less than 0.2 s of silence are known.
    """

    speaking: bool
    boundary: Samples
    probability: float
    possible_end: Samples | None = None
    possible_onset: bool = False
    above_noise: bool = False
    background_level: bool = False


class Vad(Protocol):
    """A voice activity detector of one microphone; not shared, not thread-safe.

    Attributes:
        name: As in the configuration.
        end_bias_ms: How late, in the median, the detector's raw end of speech is against labels; already
            subtracted from `VadResult.boundary`, kept for the trace.
    """

    name: str
    end_bias_ms: float

    def process(self, frame: Frame) -> VadResult:
        """Take the next frame (gapless, in order) and say what it means. Raises VadError."""
        ...

    def reset(self) -> None:
        """Forget everything heard: a new conversation."""
        ...
