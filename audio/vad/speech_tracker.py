"""From scores to edges: what every detector here shares after it has judged a stretch of sound."""

from collections import deque
from dataclasses import dataclass
from itertools import islice

import numpy as np

from audio.errors import VadError
from audio.frame import Frame
from audio.units import FRAME_MS, FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult
from audio.vad.gate import NoiseGate
from audio.vad.hysteresis import Hysteresis, HysteresisSettings
from audio.vad.level import MOST_FRAMES, LevelHistory

# How far sound is followed back from where a detector fired: an "s" or "f" before the first vowel. The gap is a
# plosive's closure.
_ONSET_REACH_SAMPLES = samples_of_ms(200)
_ONSET_GAP_SAMPLES = samples_of_ms(60)

# Sound this far below the loudest of a stretch is its echo in the room: detectors go on hearing a voice in it, and an
# end dated too late makes the answer look sooner than it was. It is looked for no further back than this.
_ECHO_DB = 32.0
_END_REACH_SAMPLES = samples_of_ms(200)

# What may be the beginning of a voice, one to three frames before a detector is sure of it: sound half as likely as
# would open it, or 6 dB louder than the mean of this silence, which counts as no softer than -70 dBFS
# (docs/turn-taking.md, "The last look"). Whoever was silent for 4 s hears the answer.
_STIRS_SCORE = 0.25
_STIRS_DB = 6.0
_HUSH_DB = -70.0
_STIRS_REACH_SAMPLES = samples_of_ms(4000)

# What is clear of a silence: 10 dB louder than the loudest frame of its last two seconds. Not of its first 200 ms, in
# which a room still rings, nor of the newest 120 ms, which may be of the same sound. Less than 200 ms tell nothing.
_CLEAR_DB = 10.0
_KNOWN_FRAMES = 2000 // FRAME_MS
_NEWEST_FRAMES = 120 // FRAME_MS
_FEWEST_FRAMES = _RINGING_FRAMES = 200 // FRAME_MS
_BEGINNING_SAMPLES = samples_of_ms(400)


@dataclass(frozen=True, slots=True)
class TrackSettings:
    """How scores become stretches of speech.

    Attributes:
        hysteresis: When speech opens and closes.
        margin_db: How far above the noise floor sound has to be to pass the gate and to belong to an onset.
        end_bias_ms: Median error of the raw end against labels; see the engine's constant.
    """

    hysteresis: HysteresisSettings
    margin_db: float
    end_bias_ms: float


_Waiting = tuple[bool, bool]
"""Of a frame whose level is still to be taken: the border put it in; somebody was speaking when it came."""


class SpeechTracker:
    """Speech or silence since when, frame by frame. Call `push`, then `step` for each score, then `voicing`.

    Levels are taken of several frames at once, when somebody asks: an edge is to be dated, or whether it is loud.
    """

    def __init__(self, settings: TrackSettings) -> None:
        self._bias_samples = samples_of_ms(settings.end_bias_ms)
        self._levels = LevelHistory()
        self._gate = NoiseGate(settings.margin_db)
        self._hysteresis = Hysteresis(settings.hysteresis)
        self._sound = np.zeros(MOST_FRAMES * FRAME_SAMPLES, np.int16)
        self._waiting: list[_Waiting] = []  # what is known of the frames in `_sound`
        self._silence_db: deque[float] = deque(maxlen=_KNOWN_FRAMES + _NEWEST_FRAMES)
        self._room_db: deque[float] = deque(maxlen=_KNOWN_FRAMES + _NEWEST_FRAMES)  # of the silences before it, too
        self.reset()

    def reset(self) -> None:
        """Forget everything heard."""
        self._levels.reset()
        self._gate.reset()
        self._hysteresis.reset()
        self._waiting.clear()
        self._silence_db.clear()
        self._room_db.clear()
        self._murmurs_below_db: float | None = None
        self._loud = False
        self._opened_at = Samples(0)
        self._edge = Samples(0)
        self._peak_db = 0.0
        self._heard_until: Samples | None = None
        self._fading: Samples | None = None
        self._closed_at: Samples | None = None
        self._hush_db = 0.0  # the sum over the frames of this silence but the newest
        self._hush_frames = 0
        self._rise_db = 0.0

    @property
    def speaking(self) -> bool:
        """The state after the last step."""
        return self._hysteresis.speaking

    @property
    def loud(self) -> bool:
        """Whether the newest frame stands clear of the noise floor."""
        self._catch_up()
        return self._loud

    @property
    def clear(self) -> bool:
        """In a silence, and in the first 0.4 s of speech: the newest frame is louder than anything in that silence."""
        if self._heard_until is None or (self.speaking and self._heard_until - self._opened_at > _BEGINNING_SAMPLES):
            return False
        self._catch_up()
        clear_db = _clear_of(self._silence_db)
        return clear_db is not None and self._levels.frame_db >= clear_db

    def push(self, frame: Frame) -> None:
        """Take the next frame. Raises VadError if it is not the next frame."""
        if frame.pcm.shape != (FRAME_SAMPLES,):
            raise VadError(f"A frame holds {FRAME_SAMPLES} samples, this one {frame.pcm.shape}: cut it at the border.")
        if self._heard_until is not None and frame.start != self._heard_until:
            raise VadError(
                f"A frame starts at sample {frame.start}, not {self._heard_until}: fill gaps with silence or reset."
            )
        self._heard_until = frame.end
        at = len(self._waiting) * FRAME_SAMPLES
        self._sound[at : at + FRAME_SAMPLES] = frame.pcm
        self._waiting.append((frame.is_inserted, self.speaking))
        if len(self._waiting) == MOST_FRAMES:
            self._catch_up()

    def _catch_up(self) -> None:
        """Take the levels of the frames that wait."""
        if not self._waiting or self._heard_until is None:
            return
        levels_db = self._levels.take(self._sound[: len(self._waiting) * FRAME_SAMPLES], self._heard_until)
        for level_db, (invented, speaking) in zip(levels_db, self._waiting, strict=True):
            # Silence the border put in says nothing about the room.
            self._loud = not invented and self._gate.is_open(level_db)
            self._rise_db = 0.0
            if speaking:
                self._peak_db = max(self._peak_db, level_db)
            elif not invented:
                self._hush(level_db)
        self._waiting.clear()

    def _hush(self, level_db: float) -> None:
        if self._hush_frames:
            self._rise_db = level_db - max(self._hush_db / self._hush_frames, _HUSH_DB)
        self._hush_db += level_db
        self._hush_frames += 1
        self._room_db.append(level_db)
        if self._hush_frames > _RINGING_FRAMES:
            self._silence_db.append(level_db)

    def step(self, score: float, start: Samples, end: Samples) -> None:
        """Take a detector's score, 0..1, of [start, end), within the frames pushed."""
        hysteresis = self._hysteresis
        was_speaking = hysteresis.speaking
        hysteresis.step(score, start, end)
        if hysteresis.speaking and not was_speaking:
            self._open(start if hysteresis.began is None else hysteresis.began)
        elif was_speaking and not hysteresis.speaking:
            self._edge = self._dated_end(hysteresis.voiced_until, end)
            self._closed_at, self._hush_db, self._hush_frames = end, 0.0, 0
            self._silence_db.clear()
        self._fading = self._dated_end(hysteresis.voiced_until, end) if hysteresis.fading else None

    def voicing(self, probability: float) -> VadResult:
        """The state after the newest frame."""
        stirs = not self.speaking and self._stirs(probability)
        clear = self.speaking and self.clear
        murmur = self.speaking and self._murmurs(clear=clear)
        return VadResult(self.speaking, self._edge, probability, self._fading, stirs, clear, murmur)

    def _murmurs(self, *, clear: bool) -> bool:
        """Whether this stretch is so far no louder than the room before it, by the levels that were taken."""
        if clear or (self._murmurs_below_db is not None and self._peak_db >= self._murmurs_below_db):
            self._murmurs_below_db = None  # and never again
        return self._murmurs_below_db is not None

    def _stirs(self, probability: float) -> bool:
        if self._closed_at is None or self._heard_until is None:
            return False
        if self._heard_until - self._closed_at > _STIRS_REACH_SAMPLES:
            return False  # and levels are dear
        if probability >= _STIRS_SCORE:
            return True
        self._catch_up()
        return self._rise_db >= _STIRS_DB

    def _open(self, raw: Samples) -> None:
        self._catch_up()
        onset = self._levels.onset(raw, self._gate.threshold_db, _ONSET_REACH_SAMPLES, _ONSET_GAP_SAMPLES)
        self._edge = Samples(max(self._edge, onset, 0))
        self._opened_at = self._heard_until or raw
        self._peak_db = self._levels.frame_db
        self._murmurs_below_db = _clear_of(self._room_db)

    def _dated_end(self, raw: Samples, now: Samples) -> Samples:
        self._catch_up()
        dated = min(raw - self._bias_samples, now)
        since = Samples(max(raw - _END_REACH_SAMPLES, self._edge))
        last = self._levels.last_sound(since, Samples(max(dated, raw)), self._peak_db - _ECHO_DB)
        if last is not None:
            dated = min(dated, last)
        return Samples(min(max(dated, self._edge), now))


def _clear_of(silence_db: deque[float]) -> float | None:
    """The level from which sound stands clear of a silence; None where too little of it is known."""
    known = len(silence_db) - _NEWEST_FRAMES
    return None if known < _FEWEST_FRAMES else max(_HUSH_DB, *islice(silence_db, known)) + _CLEAR_DB
