"""Plays listening sounds, soft "mhm" in pauses of the user, and removes their echo from transcripts."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from assistant.pipeline.recorder import Recorder
from assistant.turns.effects import PlayListeningSound
from assistant.turns.words.backchannel import without_hums
from audio.level import amplified
from audio.stt import SegmentId
from audio.units import Pcm, ReplySamples, Samples, ms_of_reply_samples, samples_of_s

GAIN_DB = -12.0
"""Gain of a listening sound relative to replies, in dB: it must not take the floor."""

ECHO_S = 1.5
"""Longest time in s from the beginning of a sound to the end of its echo: the sound, the loudspeaker's latency and the
room."""

_MAX_POSITIONS = 8  # sounds whose echo is looked for; a turn of 60 s has at most that many


@dataclass(frozen=True, slots=True)
class ListeningSound:
    """The listening sound of a voice.

    Attributes:
        text: What it says.
        pcm: Its audio at the level of replies: int16 (n,) at 24 kHz.
    """

    text: str
    pcm: Pcm


class SoundOutput(Protocol):
    """Plays a short sound that is not part of a reply. A reply that begins replaces it."""

    def chime(self, pcm: Pcm) -> None:
        """Plays a sound, int16 (n,) at 24 kHz, unless a reply plays."""
        ...

    def stop_chime(self) -> None:
        """Stops the sound at once, if it still plays."""
        ...


@dataclass(slots=True)
class ListeningSounds:
    """Plays the listening sounds of one conversation. Not thread-safe: call it on the event loop.

    They are not part of a reply: they enter neither the history nor the response latency.

    Attributes:
        recorder: Collects the trace of each turn.
        position: Returns the position on the sample clock up to which frames were processed.
        gain_db: Returns the gain of replies.
        sound: The sound; None: there is none.
        output: Plays it; None: nothing does.
    """

    recorder: Recorder
    position: Callable[[], Samples]
    gain_db: Callable[[], float] = lambda: 0.0
    sound: ListeningSound | None = None
    output: SoundOutput | None = None
    _played_at: deque[Samples] = field(default_factory=lambda: deque(maxlen=_MAX_POSITIONS))
    _turn: int | None = None  # the turn whose sound plays
    _began_s: float = 0.0  # when it began

    def play_sound(self, effect: PlayListeningSound) -> None:
        """Plays the sound."""
        if self.sound is None or self.output is None:
            return
        self._played_at.append(self.position())
        self._turn, self._began_s = effect.turn, _now_s()
        self.output.chime(amplified(self.sound.pcm, self.gain_db() + GAIN_DB))
        self.recorder.event(effect.turn, "listening_sound", self._began_s)

    def stop(self) -> None:
        """Stops the sound, because the user speaks."""
        turn, self._turn = self._turn, None
        if turn is None or self.sound is None or self.output is None:
            return
        self.output.stop_chime()
        heard_ms = (_now_s() - self._began_s) * 1000
        if heard_ms < ms_of_reply_samples(ReplySamples(len(self.sound.pcm))):
            self.recorder.event(turn, "listening_sound_cut", _now_s(), f"after {heard_ms:.0f} ms")

    def without_echo(self, text: str, segment: SegmentId) -> str:
        """Returns the transcript of a segment without words that are the echo of sounds during or right before it."""
        if self.sound is None:
            return text
        since = segment - samples_of_s(ECHO_S)
        sounds = sum(position > since for position in self._played_at)
        return without_hums(text, self.sound.text, sounds) if sounds else text


def _now_s() -> float:
    return asyncio.get_running_loop().time()
