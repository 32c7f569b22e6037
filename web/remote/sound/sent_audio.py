"""Encodes the frames that are sent to a server, and knows which part of the microphone line was sent."""

from collections.abc import Callable
from dataclasses import dataclass, field

from audio.frame import Frame
from audio.resample import StreamResampler
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm
from web.remote.sound.sent_audio_map import SentAudioMap


@dataclass(slots=True)
class SentAudio:
    """The audio sent on all connections of a conversation.

    Attributes:
        send: Queues a piece, int16 (n,) at 24 kHz; returns False if it is dropped.
        map: Where the sent audio lies on the microphone line.
    """

    send: Callable[[Pcm], bool]
    map: SentAudioMap = field(default_factory=SentAudioMap)
    _resampler: StreamResampler = field(default_factory=lambda: StreamResampler(MIC_RATE_HZ, REPLY_RATE_HZ))
    _sending: bool = False

    def send_frame(self, frame: Frame) -> None:
        """Sends a frame."""
        if self.send(self._resampler.push_samples(frame.pcm)):
            self.map.add_samples(frame.start, FRAME_SAMPLES)
            self._sending = True
        else:
            self._resampler.flush()  # a gap: the audio after it starts anew

    def pause(self) -> None:
        """Ends a stretch of audio: sends the samples that the resampler held back."""
        if self._sending:
            self._sending = False
            self.send(self._resampler.flush())

    def connection_lost(self) -> None:
        """Ends a stretch of audio whose connection is lost."""
        self._sending = False

    def connected(self, received_ms: float | None) -> None:
        """Begins on a new connection. `received_ms`: what the server has received; None: another conversation."""
        if received_ms is None:
            self.map.begin()
        else:
            self.map.drop_unreceived(received_ms)
        self._sending = False
        self._resampler.flush()
