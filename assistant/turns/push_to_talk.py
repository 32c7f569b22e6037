"""The key that is held while one speaks: what is heard, and when it is over. Pure.

The key is pressed and let go at a moment of the event loop, the sound of that moment arrives later. So both are
positions on the microphone's line: what lies before the press or after the release is silence to whoever listens, and
the turn ends with the frame that brings the release, not sooner. Who lets go in the midst of a word is heard out.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult

SHORTEST = samples_of_ms(100)
"""A key that is held for less was touched by accident, or to interrupt: that is no turn. One that is let go for less
was held."""

TAIL = samples_of_ms(300)
"""So much after the release is heard at most, of a voice that sounds at the release. A syllable takes 200 ms."""

VOICED = 0.5
"""A frame of at least this probability is of a word: of one that has just begun a detector says so before it opens."""

LATE = samples_of_ms(200)
"""A detector that has heard nobody by the release may still be about to: a word just before it takes that long."""

MOST_GAPS = 20
"""Kept in one turn, until their frames have come; of more, the oldest are taken for held."""

_SILENCE = np.zeros(FRAME_SAMPLES, np.int16)
_SILENCE.flags.writeable = False


@dataclass(slots=True)
class PushToTalk:
    """The key of one conversation."""

    _pressed: Samples | None = None
    _released: Samples | None = None
    _tail: bool = False  # what sounded at the release still does
    _gaps: deque[tuple[Samples, Samples]] = field(default_factory=lambda: deque(maxlen=MOST_GAPS))  # let go in between

    @property
    def held(self) -> bool:
        """It is held down now."""
        return self._pressed is not None and self._released is None

    @property
    def waits(self) -> bool:
        """It was let go, and what was said before that is still on its way: the microphone is still needed."""
        return self._released is not None

    def press(self, at: Samples) -> bool:
        """Here it is pressed; what was let go and is not over yet goes on. False where it is held already."""
        if self.held:
            return False
        if self._pressed is None:
            self._pressed = at
            self._gaps.clear()
        elif self._released is not None and at - self._released >= SHORTEST:
            self._gaps.append((self._released, at))
        self._released = None
        return True

    def release(self, at: Samples) -> None:
        """Here it is let go."""
        if self.held:
            self._released = at

    def heard(self, frame: Frame) -> Frame:
        """The frame if the key was held during any of it, or is let go in the midst of a word; else silence."""
        begins, up = self._pressed, self._up_at(frame.start, frame.end)
        if begins is not None and frame.end > begins and (up is None or self._tail):
            return frame
        return Frame(frame.start, _SILENCE, is_inserted=True)

    def judged(self, at: Samples, voicing: VadResult) -> None:
        """What the detector says of the frame up to `at`: is a release in the midst of a word, and is that over?"""
        pressed, released = self._pressed, self._up_at(at, at)
        if pressed is None or released is None or released - pressed < SHORTEST:
            self._tail = False
            return
        going_on = self._tail or at - released < FRAME_SAMPLES
        self._tail = going_on and voicing.probability >= VOICED and at < released + TAIL

    def _up_at(self, start: Samples, end: Samples) -> Samples | None:
        """Since when the key is up where this stretch of the line lies; None where it is held."""
        for let_go, pressed in self._gaps:
            if start >= let_go and end <= pressed:
                return let_go
        return self._released if self._released is not None and start >= self._released else None

    def due(self, at: Samples, onset: Samples | None) -> Literal["submit", "clear"] | None:
        """What is due once the line has come this far; the key is free again where anything is.

        Args:
            at: The end of what was heard.
            onset: Where the speech that is being heard began; None where nobody speaks.
        """
        pressed, released = self._pressed, self._released
        if pressed is None or released is None or self._tail or at < released + (LATE if onset is None else 0):
            return None
        self._pressed = self._released = None
        # Speech from before the press is a turn that was let go too soon: it goes on, and ends with this.
        tapped = released - pressed < SHORTEST and (onset is None or onset > pressed - SHORTEST)
        return "clear" if tapped else "submit"
