"""Maps positions in the audio sent to a server to positions on the microphone line. No I/O, no clock.

The server's line is longer than the sent audio: it includes silence that the server inserted while nothing arrived
(muted, push-to-talk, lost connection). The server tells how much silence lies before a position; the rest was sent.
"""

from dataclasses import dataclass, field

from audio.units import Samples, ms_of_samples, samples_of_ms

MAX_STRETCHES = 256
"""Stretches kept. A stretch ends where the audio pauses; older positions are not asked for."""


@dataclass(slots=True)
class _Stretch:
    """Audio that was captured and sent without a break."""

    sent: int  # samples of the line that were sent before it
    start: int  # on the line
    samples: int


@dataclass(slots=True)
class SentAudioMap:
    """The audio sent on all connections of a conversation, in samples of the microphone line."""

    _stretches: list[_Stretch] = field(default_factory=list)
    _before: int = 0  # samples that were sent before the first stretch

    @property
    def ms(self) -> float:
        """Total length."""
        return ms_of_samples(self._end)

    def begin(self) -> None:
        """Starts another conversation."""
        self._stretches.clear()
        self._before = 0

    def add_samples(self, start: Samples, samples: int) -> None:
        """Adds samples that were sent, from this position of the line on."""
        last = self._stretches[-1] if self._stretches else None
        if last is not None and last.start + last.samples == start:
            last.samples += samples
            return
        self._stretches.append(_Stretch(self._end, start, samples))
        del self._stretches[:-MAX_STRETCHES]

    def drop_unreceived(self, heard_ms: float) -> None:
        """Removes audio that was lost with a connection: the server received only `heard_ms`.

        Another server, which continues the conversation, counts from 0.
        """
        heard = samples_of_ms(heard_ms)
        while self._stretches and self._stretches[-1].sent >= heard:
            self._stretches.pop()
        if self._stretches:
            last = self._stretches[-1]
            last.samples = min(last.samples, heard - last.sent)
        else:
            self._before = heard

    def captured(self, sent_ms: float) -> Samples | None:
        """Returns the microphone line position of a position in the sent audio; None if nothing was sent before it."""
        position = samples_of_ms(sent_ms)
        stretch = next((candidate for candidate in reversed(self._stretches) if candidate.sent < position), None)
        return None if stretch is None else Samples(stretch.start + position - stretch.sent)

    @property
    def _end(self) -> int:
        return self._stretches[-1].sent + self._stretches[-1].samples if self._stretches else self._before
