"""Wake words that are detected by their sound, before voice activity detection and recognition.

It imports neither a recognizer nor ONNX Runtime: a microphone that only waits for its wake word needs this room alone.
"""

from dataclasses import dataclass
from typing import Protocol

from audio.frame import Frame
from audio.units import Samples


@dataclass(frozen=True, slots=True)
class WakeWordDetection:
    """A wake word that was said.

    Attributes:
        word: The name of the wake word.
        end: Estimated end of the word on the sample clock. It may lie up to 150 ms before or after the frame that
            shows the word.
    """

    word: str
    end: Samples


class WakeWordDetector(Protocol):
    """Detects wake words in the frames of one microphone."""

    def process(self, frame: Frame) -> WakeWordDetection | None:
        """Returns the wake word that this frame completes; None without one. Each word is reported once.

        Frames follow each other without gaps. Takes less than 1 ms.
        """
        ...
