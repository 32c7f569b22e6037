"""Turns a detector's scores into speech onsets and offsets. Shared by all detectors."""

from collections import deque
from dataclasses import dataclass
from itertools import islice

import numpy as np

from audio.errors import VadError
from audio.frame import Frame
from audio.units import FRAME_MS, FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import POSSIBLE_SPEECH, VadResult
from audio.vad.hysteresis import Hysteresis, HysteresisSettings
from audio.vad.level import MAX_FRAMES, SILENCE_DB, LevelHistory

# How far before the detected onset sound is searched for: an "s" or "f" before the first vowel. The gap is a plosive's
# closure.
_ONSET_REACH_SAMPLES = samples_of_ms(200)
_ONSET_GAP_SAMPLES = samples_of_ms(60)

# Sound this far below the peak of the speech is reverberation. Detectors still report a voice in it, and an end dated
# too late would make the response latency look shorter. The end is moved back by at most this reach.
_ECHO_DB = 32.0
_END_REACH_SAMPLES = samples_of_ms(200)

# A possible onset, one to three frames before the detector opens: `POSSIBLE_SPEECH`, or a level 6 dB above
# the mean of this silence, which counts as at least -70 dBFS (docs/lab/turn-taking.md, "Resume guard"). After 4 s of
# silence the answer is audible, and possible onsets are not reported any more.
_POSSIBLE_ONSET_DB = 6.0
_SILENCE_FLOOR_DB = -70.0
_POSSIBLE_ONSET_REACH_SAMPLES = samples_of_ms(4000)

# A frame stands out from a silence if it is 10 dB louder than the loudest frame of its last two seconds. The first
# 200 ms are left out, because the room still reverberates. The newest 120 ms are left out too, because they may belong
# to the same sound. Less than 200 ms of silence are not enough.
_ABOVE_SILENCE_DB = 10.0
_KNOWN_FRAMES = 2000 // FRAME_MS
_NEWEST_FRAMES = 120 // FRAME_MS
_MIN_FRAMES = _REVERBERANT_FRAMES = 200 // FRAME_MS
_BEGINNING_SAMPLES = samples_of_ms(400)


_WINDOW_FRAMES = 1500 // FRAME_MS
_STEADY_FRAMES = 300 // FRAME_MS
_START_FRAMES = 100 // FRAME_MS
_STEADY_SPREAD_DB = 3.0
_MIN_FLOOR_DB = -68.0


class NoiseGate:
    """A noise gate: open while the level exceeds the noise floor by a margin.

    The floor falls at once. It rises to the minimum of the last 1.5 s: speech has pauses within that time, a louder
    room has none. It also rises to a level that stays within 3 dB for 300 ms, as fans, hiss, hum and tones do and
    voices do not.

    Attributes:
        floor_db: The current noise floor, dBFS.
    """

    def __init__(self, margin_db: float) -> None:
        self._margin_db = margin_db
        self._levels_db: deque[float] = deque(maxlen=_WINDOW_FRAMES)
        self._recent_db: deque[float] = deque(maxlen=_STEADY_FRAMES)
        self.reset()

    def reset(self) -> None:
        """Resets all state."""
        self.floor_db = _MIN_FLOOR_DB
        self._levels_db.clear()
        self._recent_db.clear()

    @property
    def threshold_db(self) -> float:
        """The level that a frame must exceed, dBFS."""
        return self.floor_db + self._margin_db

    def is_open(self, frame_db: float) -> bool:
        """Updates the floor with the next frame's level and returns whether it exceeds the threshold."""
        self._levels_db.append(frame_db)
        self._recent_db.append(frame_db)
        target_db = self._steady_db()
        if len(self._levels_db) == _WINDOW_FRAMES:
            target_db = max(target_db, min(self._levels_db))
        self.floor_db = max(min(self.floor_db, frame_db), target_db, _MIN_FLOOR_DB)
        return len(self._levels_db) >= _START_FRAMES and frame_db > self.threshold_db

    def _steady_db(self) -> float:
        # At the start of a stream, 100 ms of a steady level are enough for the first floor. A stream that begins in the
        # middle of a word varies by more.
        recent_db = self._recent_db
        if len(recent_db) < _START_FRAMES:
            return SILENCE_DB
        low_db = min(recent_db)
        return low_db if max(recent_db) - low_db <= _STEADY_SPREAD_DB else SILENCE_DB


@dataclass(frozen=True, slots=True)
class TrackSettings:
    """Settings by which scores become spans of speech.

    Attributes:
        hysteresis: When speech opens and closes.
        margin_db: How far above the noise floor audio must be to pass the gate and to belong to an onset.
        end_bias_ms: Median error of the raw end against labels; see the engine's constant.
    """

    hysteresis: HysteresisSettings
    margin_db: float
    end_bias_ms: float


_Waiting = tuple[bool, bool]
"""A frame whose level is not computed yet: whether it is inserted silence, and whether it was inside speech."""


class SpeechTracker:
    """Tracks speech and silence frame by frame. Call `push_frame`, then `step` for each score, then `result`.

    Levels are computed for several frames at once, when an onset or end is dated or a level is needed.
    """

    def __init__(self, settings: TrackSettings) -> None:
        self._bias_samples = samples_of_ms(settings.end_bias_ms)
        self._levels = LevelHistory()
        self._gate = NoiseGate(settings.margin_db)
        self._hysteresis = Hysteresis(settings.hysteresis)
        self._sound = np.zeros(MAX_FRAMES * FRAME_SAMPLES, np.int16)
        self._waiting: list[_Waiting] = []  # one entry per frame in `_sound`
        self._silence_db: deque[float] = deque(maxlen=_KNOWN_FRAMES + _NEWEST_FRAMES)
        self._room_db: deque[float] = deque(maxlen=_KNOWN_FRAMES + _NEWEST_FRAMES)  # including earlier silences
        self.reset()

    def set_scores(self, settings: HysteresisSettings) -> None:
        """Replaces the thresholds for speech, from the next step on."""
        self._hysteresis.set_scores(settings)

    def reset(self) -> None:
        """Resets all state."""
        self._levels.reset()
        self._gate.reset()
        self._hysteresis.reset()
        self._waiting.clear()
        self._silence_db.clear()
        self._room_db.clear()
        self._background_below_db: float | None = None
        self._loud = False
        self._opened_at = Samples(0)
        self._boundary = Samples(0)
        self._peak_db = 0.0
        self._end: Samples | None = None
        self._possible_end: Samples | None = None
        self._closed_at: Samples | None = None
        self._silence_sum_db = 0.0  # sum over the frames of this silence except the newest
        self._silence_frames = 0
        self._rise_db = 0.0

    @property
    def speaking(self) -> bool:
        """Whether speech is open after the last step."""
        return self._hysteresis.speaking

    @property
    def above_noise_floor(self) -> bool:
        """Whether the newest frame exceeds the noise floor."""
        self._catch_up()
        return self._loud

    @property
    def above_silence(self) -> bool:
        """Whether the newest frame is louder than everything in the silence before it.

        Available in silence and in the first 0.4 s of speech; False later.
        """
        if self._end is None or (self.speaking and self._end - self._opened_at > _BEGINNING_SAMPLES):
            return False
        self._catch_up()
        clear_db = _above_silence_db(self._silence_db)
        return clear_db is not None and self._levels.frame_db >= clear_db

    def push_frame(self, frame: Frame) -> None:
        """Appends the next frame. Raises VadError if it does not follow the last one."""
        if frame.pcm.shape != (FRAME_SAMPLES,):
            raise VadError(f"A frame has {FRAME_SAMPLES} samples, but this one has the shape {frame.pcm.shape}.")
        if self._end is not None and frame.start != self._end:
            raise VadError(
                f"A frame starts at sample {frame.start}, not {self._end}: fill the gap with silence, or reset."
            )
        self._end = frame.end
        position = len(self._waiting) * FRAME_SAMPLES
        self._sound[position : position + FRAME_SAMPLES] = frame.pcm
        self._waiting.append((frame.is_inserted, self.speaking))
        if len(self._waiting) == MAX_FRAMES:
            self._catch_up()

    def _catch_up(self) -> None:
        """Computes the levels of the waiting frames."""
        if not self._waiting or self._end is None:
            return
        levels_db = self._levels.take(self._sound[: len(self._waiting) * FRAME_SAMPLES], self._end)
        for level_db, (is_inserted, speaking) in zip(levels_db, self._waiting, strict=True):
            # Inserted silence contains no information about the room.
            self._loud = not is_inserted and self._gate.is_open(level_db)
            self._rise_db = 0.0
            if speaking:
                self._peak_db = max(self._peak_db, level_db)
            elif not is_inserted:
                self._note_silence(level_db)
        self._waiting.clear()

    def _note_silence(self, level_db: float) -> None:
        if self._silence_frames:
            self._rise_db = level_db - max(self._silence_sum_db / self._silence_frames, _SILENCE_FLOOR_DB)
        self._silence_sum_db += level_db
        self._silence_frames += 1
        self._room_db.append(level_db)
        if self._silence_frames > _REVERBERANT_FRAMES:
            self._silence_db.append(level_db)

    def step(self, score: float, start: Samples, end: Samples) -> None:
        """Processes a detector's score, 0..1, of the span [start, end) within the frames pushed."""
        hysteresis = self._hysteresis
        was_speaking = hysteresis.speaking
        hysteresis.step(score, start, end)
        if hysteresis.speaking and not was_speaking:
            self._open(start if hysteresis.began is None else hysteresis.began)
        elif was_speaking and not hysteresis.speaking:
            self._boundary = self._dated_end(hysteresis.voiced_until, end)
            self._closed_at, self._silence_sum_db, self._silence_frames = end, 0.0, 0
            self._silence_db.clear()
        self._possible_end = self._dated_end(hysteresis.voiced_until, end) if hysteresis.fading else None

    def result(self, probability: float) -> VadResult:
        """Returns the result after the newest frame."""
        possible_onset = not self.speaking and self._is_possible_onset(probability)
        above_silence = self.speaking and self.above_silence
        background_level = self.speaking and self._is_background_level(above_silence=above_silence)
        return VadResult(
            self.speaking,
            self._boundary,
            probability,
            self._possible_end,
            possible_onset,
            above_silence,
            background_level,
        )

    def _is_background_level(self, *, above_silence: bool) -> bool:
        """Returns whether this speech is so far no louder than the room before it, by the levels computed so far."""
        if above_silence or (self._background_below_db is not None and self._peak_db >= self._background_below_db):
            self._background_below_db = None  # final for this speech
        return self._background_below_db is not None

    def _is_possible_onset(self, probability: float) -> bool:
        if self._closed_at is None or self._end is None:
            return False
        if self._end - self._closed_at > _POSSIBLE_ONSET_REACH_SAMPLES:
            return False  # saves the computation of levels
        if probability >= POSSIBLE_SPEECH:
            return True
        self._catch_up()
        return self._rise_db >= _POSSIBLE_ONSET_DB

    def _open(self, raw: Samples) -> None:
        self._catch_up()
        onset = self._levels.onset(raw, self._gate.threshold_db, _ONSET_REACH_SAMPLES, _ONSET_GAP_SAMPLES)
        self._boundary = Samples(max(self._boundary, onset, 0))
        self._opened_at = self._end or raw
        self._peak_db = self._levels.frame_db
        self._background_below_db = _above_silence_db(self._room_db)

    def _dated_end(self, raw: Samples, now: Samples) -> Samples:
        self._catch_up()
        dated = min(raw - self._bias_samples, now)
        since = Samples(max(raw - _END_REACH_SAMPLES, self._boundary))
        last = self._levels.last_sound(since, Samples(max(dated, raw)), self._peak_db - _ECHO_DB)
        if last is not None:
            dated = min(dated, last)
        return Samples(min(max(dated, self._boundary), now))


def _above_silence_db(silence_db: deque[float]) -> float | None:
    """Returns the level from which audio stands out from a silence; None if too little of the silence is known."""
    known = len(silence_db) - _NEWEST_FRAMES
    return None if known < _MIN_FRAMES else max(_SILENCE_FLOOR_DB, *islice(silence_db, known)) + _ABOVE_SILENCE_DB
