"""Decides what is left out when the engines are late, so that replies still come. No I/O, no clock."""

from dataclasses import dataclass
from enum import IntEnum


class Degradation(IntEnum):
    """The parts that are left out because the engines are late, in this order. Each level includes those before it."""

    NONE = 0
    NO_INTERIMS = 1
    """The recognizer decodes only what is requested, or will be if the pause is the end: no interim transcripts."""
    FEWER_RETRIES = 2
    """A transcript that fails a check is decoded again only at the end of a turn, where words would be lost."""
    SHORT_CHUNKS = 3
    """The voice synthesizes sentences in shorter parts, so that the first one is heard sooner."""
    CHEAP_VOICE = 4
    """espeak-ng speaks instead of a neural voice."""
    TONE = 5
    """A tone and a line on the screen tell that the reply is late."""

    @property
    def text(self) -> str:
        """A clause that tells what is left out at this level, for logs and the screen."""
        return _TEXTS[self]


_TEXTS = {
    Degradation.NONE: "nothing is left out",
    Degradation.NO_INTERIMS: "no words are shown while you speak",
    Degradation.FEWER_RETRIES: "doubtful words are checked once more only at the end of a turn",
    Degradation.SHORT_CHUNKS: "replies are spoken in short pieces",
    Degradation.CHEAP_VOICE: "the simple voice speaks",
    Degradation.TONE: "a tone tells that the reply is late",
}

RISES_AT = (1.0, 2.0, 3.0, 5.0, 10.0)
"""Lateness from which each level above NONE applies; see `DegradationPolicy.record_wait`."""

FALLS_BELOW = 0.5
"""Share of a level's lateness below which the engines must stay before that level ends."""

CALM_S = 10.0
"""Time that they must stay below it, in seconds; twice as long each time the level comes back within `RELAPSE_S`."""

LONGEST_CALM_S = 160.0
"""The longest such time, in seconds."""

RELAPSE_S = 30.0
"""A level that comes back within this time, in seconds, ended too early."""

WAIT_S = 0.5
"""Wait for an engine that counts as a lateness of 1, in seconds: a wait that people notice."""

SHORTEST_DECODE_S = 4.0
"""Length of speech, in seconds, as which shorter speech counts in the real-time factor of a recognizer: its work has a
fixed part, which takes 1.5 s with a large model on a free machine."""

REAL_TIME_FACTOR = 0.7
"""Computing time over sound that counts as a lateness of 1. From 1 on, a voice cannot keep up with its own speech."""


@dataclass(slots=True)
class DegradationPolicy:
    """Maps the lateness of the engines to a level. A level rises at once, and falls one step after a calm time.

    The lateness is a number without unit: 1 is what people notice. `now_s` is the time of any steady clock, in seconds.

    Attributes:
        level: What is left out now.
    """

    level: Degradation = Degradation.NONE
    _calm_since_s: float | None = None
    _calm_s: float = CALM_S
    _fell_at_s: float | None = None

    def record_wait(self, wait_s: float, now_s: float) -> bool:
        """Records how long a request has waited for an engine, in seconds. Returns whether the level changed."""
        return self.record(wait_s / WAIT_S, now_s)

    def record_job(self, took_s: float, sound_s: float, now_s: float) -> bool:
        """Records how long an engine computed for a length of sound. Returns whether the level changed."""
        return sound_s > 0 and self.record(took_s / sound_s / REAL_TIME_FACTOR, now_s)

    def record_decode(self, took_s: float, speech_s: float, now_s: float) -> bool:
        """Records how long a recognizer decoded a length of speech. Returns whether the level changed.

        Slow decodes alone leave out nothing but decodes: the voice may be fast.
        """
        lateness = took_s / max(speech_s, SHORTEST_DECODE_S) / REAL_TIME_FACTOR
        return self.record(min(lateness, RISES_AT[Degradation.FEWER_RETRIES - 1]), now_s)

    def record(self, lateness: float, now_s: float) -> bool:
        """Records a lateness. Returns whether the level changed."""
        level = Degradation(sum(lateness >= rises_at for rises_at in RISES_AT))
        if level > self.level:
            relapsed = self._fell_at_s is not None and now_s - self._fell_at_s < RELAPSE_S
            self._calm_s = min(2 * self._calm_s, LONGEST_CALM_S) if relapsed else CALM_S
            self.level, self._calm_since_s = level, None
            return True
        if self.level == Degradation.NONE or lateness >= FALLS_BELOW * RISES_AT[self.level - 1]:
            self._calm_since_s = None
            return False
        if self._calm_since_s is None:
            self._calm_since_s = now_s
        if now_s - self._calm_since_s < self._calm_s:
            return False
        self.level, self._calm_since_s, self._fell_at_s = Degradation(self.level - 1), None, now_s
        return True
