"""The sound of a sentence as its model makes it, and the switch that stops the model."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnxruntime

from audio.errors import TtsError

Sound = npt.NDArray[np.float32]

_FATAL = 4


class StopSwitch:
    """Stops the synthesis of a text, from any thread."""

    def __init__(self) -> None:
        self.options = onnxruntime.RunOptions()
        self.options.log_severity_level = _FATAL  # onnxruntime would print an intended stop as an error

    def stop(self) -> None:
        """Stops the synthesis between two operators; a run that starts later ends at once. Idempotent."""
        self.options.terminate = True

    @property
    def stopped(self) -> bool:
        return bool(self.options.terminate)


class StoppedError(Exception):
    """The synthesis was stopped by its switch."""


@dataclass(frozen=True, slots=True)
class SentenceSound:
    """The audio of one sentence.

    Attributes:
        pieces: The sound as it is made: float32, shape (n,), about -1..1, at the voice's own rate. Taking a piece
            raises StoppedError, TtsError.
        ends: End of every phoneme, in samples of the sound, int64, shape (phonemes + 1,). The first entry is the start
            of the first phoneme. None if the voice does not provide durations.
        samples: How many samples all pieces together have.
    """

    pieces: Iterator[Sound]
    ends: npt.NDArray[np.int64] | None
    samples: int


def checked(pieces: Iterator[Sound], switch: StopSwitch, engine: str) -> Iterator[Sound]:
    """Yields the pieces of an engine as float32. Raises StoppedError, TtsError."""
    while True:
        try:
            piece = next(pieces, None)
        except Exception as failure:
            raise failure_of(switch, failure, engine) from failure
        if piece is None:
            return
        if not np.isfinite(piece).all():
            raise TtsError(f"{engine}'s output is not sound: fetch the voice again or choose another one")
        yield piece.astype(np.float32, copy=False)


def failure_of(switch: StopSwitch, failure: Exception, engine: str) -> StoppedError | TtsError:
    """Returns the error for an exception of onnxruntime."""
    if switch.stopped:
        return StoppedError()
    return TtsError(f"{engine} failed inside a chunk ({type(failure).__name__}): load the voice again")
