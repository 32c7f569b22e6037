"""Implements push-to-talk: passes microphone frames while the key is held, and reports when the turn is over.

No I/O, no clock. The key changes on the event loop, but the sound of that moment arrives later. Press and release are
therefore positions on the sample clock. Frames before the press and after the release are replaced by silence. The turn
ends with the frame that contains the release. A word that is being spoken at the release is still passed to its end.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from assistant.turns.settings import PushToTalkThresholds
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult

_SILENCE = np.zeros(FRAME_SAMPLES, np.int16)
_SILENCE.flags.writeable = False


@dataclass(slots=True)
class PushToTalk:
    """Tracks the push-to-talk key of one conversation.

    Attributes:
        thresholds: The thresholds of the key.
    """

    thresholds: PushToTalkThresholds = field(default_factory=PushToTalkThresholds)
    _pressed: Samples | None = None
    _released: Samples | None = None
    _word_continues: bool = False  # the word that was spoken at the release continues
    _gaps: deque[tuple[Samples, Samples]] = field(default_factory=deque)  # release, press

    @property
    def _min_press(self) -> Samples:
        return samples_of_ms(self.thresholds.min_press_ms)

    @property
    def held(self) -> bool:
        """Whether the key is down now."""
        return self._pressed is not None and self._released is None

    @property
    def released(self) -> Samples | None:
        """Time at which the key was released, until the turn is over."""
        return self._released

    @property
    def awaits_frames(self) -> bool:
        """Whether the key was released, but frames from before the release are still to come."""
        return self._released is not None

    def press(self, position: Samples) -> bool:
        """Presses the key. A turn that was released and is not over yet continues.

        Returns:
            False if the key is down already.
        """
        if self.held:
            return False
        if self._pressed is None:
            self._pressed = position
            self._gaps.clear()
        elif self._released is not None and position - self._released >= self._min_press:
            self._gaps.append((self._released, position))
            if len(self._gaps) > self.thresholds.max_gaps:
                self._gaps.popleft()
        self._released = None
        return True

    def release(self, position: Samples) -> None:
        """Releases the key."""
        if self.held:
            self._released = position

    def mute_or_pass(self, frame: Frame) -> Frame:
        """Returns the frame if the key was down during part of it or a word continues after the release; else silence.

        The silent frame has the same start and is marked as inserted.
        """
        begins, up = self._pressed, self._release_before(frame.start, frame.end)
        if begins is not None and frame.end > begins and (up is None or self._word_continues):
            return frame
        return Frame(frame.start, _SILENCE, is_inserted=True)

    def add_vad_result(self, position: Samples, vad: VadResult) -> None:
        """Updates whether a word continues after the release. `vad` is of the frame that ends at `position`."""
        pressed, released = self._pressed, self._release_before(position, position)
        if pressed is None or released is None or released - pressed < self._min_press:
            self._word_continues = False
            return
        going_on = self._word_continues or position - released < FRAME_SAMPLES
        in_time = position < released + samples_of_ms(self.thresholds.max_tail_ms)
        self._word_continues = going_on and in_time and vad.probability >= self.thresholds.likely_speech

    def _release_before(self, start: Samples, end: Samples) -> Samples | None:
        """Returns when the key was released before this span, or None if it was down during the span."""
        for released, pressed in self._gaps:
            if start >= released and end <= pressed:
                return released
        return self._released if self._released is not None and start >= self._released else None

    def take_action(self, position: Samples, onset: Samples | None) -> Literal["submit", "clear"] | None:
        """Returns what to do with the turn at this position: submit it, clear it, or nothing yet.

        If something is due, the key state is reset.

        Args:
            position: The end of the last frame.
            onset: The onset of the current speech; None if nobody speaks.
        """
        pressed, released = self._pressed, self._released
        if (
            pressed is None
            or released is None
            or self._word_continues
            or position < released + (samples_of_ms(self.thresholds.vad_delay_ms) if onset is None else 0)
        ):
            return None
        self._pressed = self._released = None
        # Speech from before the press is a turn that was released too soon. It continues and ends with this release.
        tapped = released - pressed < self._min_press and (onset is None or onset > pressed - self._min_press)
        return "clear" if tapped else "submit"
