"""Passes the frames of one conversation on while it is awake; while it sleeps, only the wake word is listened for.

    frame ─▶ wake-word detector ─▶ gate ── awake ──▶ heard: VAD, recognizer, end of turn
                                     └─── asleep ─▶ held for 2 s, then skipped

A detection comes up to 0.2 s after the word, when the question behind it may have begun. So the frames after the word
are heard from the held ones. The word itself becomes silence: it is no part of the question. Its estimated end may be
150 ms wrong, so the silence ends at the quietest place near it.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from audio.frame import Frame
from audio.units import FRAME_MS, Samples, samples_of_ms
from audio.wake import WakeWordDetection, WakeWordDetector
from audio.wake.gate import Activity, WakeWordGate
from audio.wake.level_history import LevelHistory

HELD_S = 2.0
"""Sound kept while the conversation sleeps, in seconds: longer than a wake word and its detection."""

_SEARCH = samples_of_ms(150)
"""Largest error of an estimated end of a word, as `WakeWordDetection` says."""

_STEP, _WINDOW = samples_of_ms(5), samples_of_ms(20)
"""Step of the search for the quietest place, and the length of sound that is compared."""

_HELD_FRAMES = round(HELD_S * 1000 / FRAME_MS)

_WORD_MS = 600
"""Length of sound before the end of a wake word, in milliseconds, of which its level is taken."""


@dataclass(slots=True)
class WakeWordListener:
    """The wake words of one conversation. Not thread-safe.

    Attributes:
        detector: Detects the wake words. None: it is being loaded, or has failed, and no word wakes the conversation.
        gate: Decides whether the conversation is awake.
        accept: Called with each detection; returns whether it counts. The reply itself may contain the word.
        on_failure: Called with the error of a detector, which is then not used any more.
    """

    detector: WakeWordDetector | None
    gate: WakeWordGate
    accept: Callable[[WakeWordDetection], bool] = lambda _detection: True
    on_failure: Callable[[Exception], None] = lambda _error: None
    _held: deque[Frame] = field(default_factory=deque)
    _word_end: Samples = Samples(0)  # of the word that has woken the conversation
    _levels: LevelHistory = field(default_factory=LevelHistory)

    @property
    def awake(self) -> bool:
        """Whether the conversation is awake."""
        return self.gate.awake

    def level_dbfs(self, detection: WakeWordDetection) -> float:
        """Returns the level of a word that was just detected, in dBFS."""
        return self._levels.level_dbfs(Samples(detection.end - samples_of_ms(_WORD_MS)), detection.end)

    def release(self) -> list[Frame]:
        """Returns the frames that are still held: another listener, or none, takes the next ones."""
        held, self._held = list(self._held), deque()
        return held

    def take(self, frame: Frame, activity: Activity) -> Iterator[tuple[Frame, bool]]:
        """Takes the next frame; yields the frames to process, in order and without gaps, and whether each is heard.

        Frames that are not heard are to be kept only, as sound before the next speech. `activity`: what goes on in the
        conversation.
        """
        self._levels.add_frame(frame)
        detection = self._detect(frame)
        if detection is not None and self.accept(detection):
            if not self.gate.awake:
                self._word_end = _quietest_place([*self._held, frame], detection.end)
            self.gate.wake(detection.end)
        self.gate.add_frame(frame.end, activity)
        if not self.gate.awake:
            self._held.append(Frame(frame.start, frame.pcm.copy(), frame.is_inserted))
            if len(self._held) > _HELD_FRAMES:
                yield self._held.popleft(), False
            return
        by_word = frame.start < self._word_end or detection is not None
        while self._held:
            held = self._held.popleft()
            if by_word:
                yield _without_word(held, self._word_end), held.end > self._word_end
            else:  # a timer rings, or typed text is answered: nobody has spoken to the assistant
                yield held, False
        yield _without_word(frame, self._word_end), frame.end > self._word_end

    def _detect(self, frame: Frame) -> WakeWordDetection | None:
        if self.detector is None:
            return None
        try:
            return self.detector.process(frame)
        except Exception as error:  # noqa: BLE001 - a broken detector must not end the conversation
            self.detector = None
            self.on_failure(error)
            return None


def _quietest_place(frames: Sequence[Frame], estimated: Samples) -> Samples:
    """Returns the quietest place near an estimated end of a word; of equally quiet ones the nearest.

    What has not arrived yet is not known, so the places before the estimate reach no further than those after it.
    """
    half = _WINDOW // 2
    reach = min(_SEARCH, frames[-1].end - estimated - half, estimated - frames[0].start - half)
    sound = np.concatenate([frame.pcm for frame in frames]).astype(np.float32)
    levels: dict[int, float] = {}
    for place in sorted(range(-reach, reach + 1, _STEP), key=abs):
        begin = estimated + place - frames[0].start - half
        levels[estimated + place] = float(np.square(sound[begin : begin + _WINDOW]).sum())
    return Samples(min(levels, key=levels.__getitem__, default=estimated))


def _without_word(frame: Frame, word_end: Samples) -> Frame:
    """Returns the frame with silence up to the end of the wake word."""
    if frame.start >= word_end:
        return frame
    pcm = frame.pcm.copy()
    pcm[: word_end - frame.start] = np.int16(0)
    return Frame(frame.start, pcm, frame.is_inserted)
