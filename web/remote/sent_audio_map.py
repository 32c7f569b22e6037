"""What was sent to a server, and which part of the microphone's line each of it is. Pure.

The server's line of sound is longer than what was sent: it also holds the silence that it put in while nothing came
(muted, push-to-talk, a lost connection), and says how much of that lies before a position. The rest was sent from here.
"""

from dataclasses import dataclass, field

from audio.units import Samples, ms_of_samples, samples_of_ms

MOST_STRETCHES = 256
"""A stretch ends where the sound pauses: more than so many pauses back nobody asks."""


@dataclass(slots=True)
class _Stretch:
    """Sound that was captured and sent without a break."""

    sent: int  # samples of the line that were sent before it
    start: int  # on the line
    samples: int


@dataclass(slots=True)
class SentAudioMap:
    """The sound that has been sent on all connections of a conversation, in samples of the microphone's line."""

    _stretches: list[_Stretch] = field(default_factory=list)

    @property
    def ms(self) -> float:
        """How much it is in all."""
        return ms_of_samples(self._end)

    def begin(self) -> None:
        """Another conversation: nothing was sent yet."""
        self._stretches.clear()

    def add(self, start: Samples, samples: int) -> None:
        """So many samples from this position of the line on were sent."""
        last = self._stretches[-1] if self._stretches else None
        if last is not None and last.start + last.samples == start:
            last.samples += samples
            return
        self._stretches.append(_Stretch(self._end, start, samples))
        del self._stretches[:-MOST_STRETCHES]

    def lost(self, heard_ms: float) -> None:
        """The connection broke, and with it what was under way: the server got so much."""
        heard = samples_of_ms(heard_ms)
        while len(self._stretches) > 1 and self._stretches[-1].sent >= heard:
            self._stretches.pop()
        if self._stretches:
            last = self._stretches[-1]
            last.samples = min(last.samples, max(0, heard - last.sent))

    def captured(self, sent_ms: float) -> Samples | None:
        """The place on the microphone's line of a place in what was sent; None where nothing was sent before it."""
        at = samples_of_ms(sent_ms)
        found = next((one for one in reversed(self._stretches) if one.sent < at), None)
        return None if found is None else Samples(found.start + at - found.sent)

    @property
    def _end(self) -> int:
        return self._stretches[-1].sent + self._stretches[-1].samples if self._stretches else 0
