"""Voice activity detection: whether somebody is speaking in a frame, and the onset or offset."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:  # declarations of engines import this at every start, without numpy
    from audio.frame import Frame
    from audio.units import Samples

POSSIBLE_SPEECH = 0.25
"""Speech probability from which a frame may be the beginning of speech."""

LIKELY_SPEECH = 0.5
"""Speech probability from which a frame is more likely speech than not. The detectors open at it."""

DEFAULT_THRESHOLD = LIKELY_SPEECH
THRESHOLDS = 0.1, 0.95
"""Smallest and largest threshold of a detector. Below, all sound would count as speech, and above, none."""

CERTAIN_SPEECH = 0.75
"""Speech probability from which a frame is certainly speech: understood speech reaches it within 240 ms, noise hardly
ever (docs/lab/vad.md, "How sure the detector is of speech")."""


@dataclass(frozen=True, slots=True)
class VadResult:
    """The detector's result after one frame.

    Attributes:
        speaking: The state after hysteresis. It opens after a few voiced frames and closes after a short hold
            (60-100 ms). It does not decide how long a silence ends a turn.
        boundary: While speaking: the onset, dated back to the first sample of this speech. While silent: the offset,
            the position after the last sample of speech, minus the detector's calibrated bias (0 before any speech).
        probability: Speech probability of this frame, 0..1; written to the trace.
        possible_end: While speaking: where the speech may have ended according to the newest audio (dated like
            `boundary`); else None. The state follows only if this continues.
        possible_onset: While silent: speech may begin in the newest audio. The state follows if it is confirmed.
        above_noise: In the first 0.4 s of speech: this frame is louder than everything in the silence before it.
        background_level: While speaking: this speech is so far no louder than the two seconds of silence before it,
            as background voices are. False if less than 0.2 s of silence are known.
    """

    speaking: bool
    boundary: "Samples"
    probability: float
    possible_end: "Samples | None" = None
    possible_onset: bool = False
    above_noise: bool = False
    background_level: bool = False


class Vad(Protocol):
    """A voice activity detector for one microphone. Not shared; not thread-safe.

    Attributes:
        name: The engine's name in the configuration.
        end_bias_ms: Median delay of the detector's raw end of speech against labels, in ms. It is already subtracted
            from `VadResult.boundary`; written to the trace.
    """

    name: str
    end_bias_ms: float

    def process(self, frame: "Frame") -> VadResult:
        """Processes the next frame (gapless, in order) and returns its result. Raises VadError."""
        ...

    def reset(self) -> None:
        """Resets all state for a new conversation."""
        ...


@runtime_checkable
class AdjustableVad(Protocol):
    """A detector whose threshold can be set during a conversation."""

    def set_threshold(self, threshold: float) -> None:
        """Sets the speech probability from which it reports speech; the default is `DEFAULT_THRESHOLD`."""
        ...


@runtime_checkable
class NetworkVad(Protocol):
    """A detector that runs a network.

    Attributes:
        runtime: The library that computes the network.
    """

    runtime: str
