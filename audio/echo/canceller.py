"""Echo cancellation for open loudspeakers: WebRTC's audio processing, fed by the clocks of both cards.

The figures behind what is decided here are in docs/echo.md (bench/echo.py).
"""

from typing import TYPE_CHECKING

import numpy as np

from audio.echo.reference import ReferenceLine
from audio.errors import AudioError, EchoUnavailable
from audio.extra import installing
from audio.units import FRAME_MS, FRAME_SAMPLES, MIC_RATE_HZ, Pcm, ms_of_samples

if TYPE_CHECKING:
    from livekit.rtc import AudioFrame, AudioProcessingModule

LEAD_MS = 40.0
"""The reference is given so much before it leaves. It must not come after its echo (5 ms too late cost 20 dB), and may
come half a second before it: a loudspeaker's clock that is late by less than this does no harm."""

LEAST_LEAD_MS = 10.0
_LOWER_MS = 5.0
_LATE_FRAMES = 5
"""A card that takes its blocks just in time has told of nothing so far ahead: after so many frames without the whole
reference the lead becomes smaller."""

_SPARE_MS = 10.0
_SPARE_FRAMES = 100
"""Two seconds in which always so much more had been told than was asked for: another card, or one that has settled.
Then the lead becomes larger again, at once and not bit by bit: the canceller has to find every change."""
_MOST_SPARE_FRAMES = 3000
"""Every time that was too much it waits for twice as long, up to a minute: cards whose word changes do not swing it."""

_STEP_MS = 10
_STEP_SAMPLES = MIC_RATE_HZ * _STEP_MS // 1000


class EchoCanceller:
    """`FrameCleaner` and `Heard` of the cards, by WebRTC's echo canceller (AEC3) and high-pass filter. Not thread-safe.

    A reference that comes late, or not at all, is silence: nothing here waits.

    Attributes:
        delay_ms: How much before it leaves the reference is given, as the canceller is told. It becomes smaller where a
            card tells of its blocks too late for it, and larger again where one tells of them in time.
        reference: What was told of the loudspeaker; its counts are for the trace.
    """

    def __init__(self, *, noise_suppression: bool = False, gain_control: bool = False) -> None:
        """Load the library: 40 ms where numpy and asyncio are loaded, more on a cold disk; best in a thread.

        Both options are off because they harm more than they help: suppressed noise makes what is left of the echo
        stand out as a voice, and the gain control lifts noise by 15 dB.

        Raises EchoUnavailable where it cannot be loaded.
        """
        self.delay_ms = LEAD_MS
        self.reference = ReferenceLine()
        self._late_frames = 0
        self._spare_frames, self._least_spare_ms = 0, np.inf
        self._wait_frames = _SPARE_FRAMES
        self._raised = False
        self._module, self._frame_type = _load(noise_suppression=noise_suppression, gain_control=gain_control)
        self._module.set_stream_delay_ms(round(self.delay_ms))

    def heard(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        """See `Heard`."""
        self.reference.push(pcm, rate_hz, leaves_s)

    def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
        """See `FrameCleaner`; the frame itself is left as it is. Raises ValueError for another length, AudioError."""
        if pcm.shape != (FRAME_SAMPLES,):
            raise ValueError(f"a frame holds {FRAME_SAMPLES} samples, this one {pcm.shape}: cut it at the border")
        late_before = self.reference.late_samples
        leaves_s = captured_s + self.delay_ms / 1000
        reference = self.reference.read(leaves_s, FRAME_SAMPLES)
        self._follow(self.reference.late_samples - late_before)
        self._lead_again(leaves_s + FRAME_MS / 1000)
        cleaned = np.empty(FRAME_SAMPLES, np.int16)
        for at in range(0, FRAME_SAMPLES, _STEP_SAMPLES):
            step = slice(at, at + _STEP_SAMPLES)
            cleaned[step] = self._step(pcm[step], reference[step])
        return cleaned

    def _step(self, pcm: Pcm, reference: Pcm) -> Pcm:
        far, near = self._frame(reference), self._frame(pcm)
        try:
            self._module.process_reverse_stream(far)
            self._module.process_stream(near)
        except RuntimeError as error:
            raise AudioError(
                "Echo cancellation failed inside livekit: restart, or use audio.echo half-duplex."
            ) from error
        return np.frombuffer(near.data, np.int16)

    def _frame(self, pcm: Pcm) -> "AudioFrame":
        return self._frame_type(bytearray(pcm.tobytes()), MIC_RATE_HZ, 1, _STEP_SAMPLES)

    def _follow(self, late_samples: int) -> None:
        """Give the reference later where the card cannot tell of it so soon."""
        if late_samples == 0:
            self._late_frames = 0
            return
        self._late_frames += 1
        if self._late_frames < _LATE_FRAMES or self.delay_ms <= LEAST_LEAD_MS:
            return
        self._late_frames = 0
        if self._raised:
            self._raised, self._wait_frames = False, min(2 * self._wait_frames, _MOST_SPARE_FRAMES)
        late_ms = min(ms_of_samples(late_samples), FRAME_MS) + _LOWER_MS
        self._lead(max(self.delay_ms - late_ms, LEAST_LEAD_MS))

    def _lead_again(self, until_s: float) -> None:
        """Give the reference sooner where the card tells of it in time again; it was asked for up to `until_s`."""
        told_s = self.reference.ends_s
        if self.delay_ms >= LEAD_MS or told_s is None:
            return
        spare_ms = (told_s - until_s) * 1000
        if spare_ms < _SPARE_MS:
            self._spare_frames, self._least_spare_ms = 0, np.inf
            return
        self._spare_frames += 1
        self._least_spare_ms = min(self._least_spare_ms, spare_ms)
        if self._spare_frames >= self._wait_frames:
            self._raised = True
            self._lead(min(self.delay_ms + self._least_spare_ms - _LOWER_MS, LEAD_MS))

    def _lead(self, delay_ms: float) -> None:
        self.delay_ms = delay_ms
        self._spare_frames, self._least_spare_ms = 0, np.inf
        self._module.set_stream_delay_ms(round(delay_ms))


def _load(*, noise_suppression: bool, gain_control: bool) -> "tuple[AudioProcessingModule, type[AudioFrame]]":
    try:
        from livekit.rtc import AudioFrame, AudioProcessingModule  # noqa: PLC0415 - an extra, 40 ms to import

        module = AudioProcessingModule(
            echo_cancellation=True,
            high_pass_filter=True,
            noise_suppression=noise_suppression,
            auto_gain_control=gain_control,
        )
    except Exception as error:
        raise EchoUnavailable(
            f"Echo cancellation needs the package livekit ({type(error).__name__}): {installing('desktop')}, "
            "or set audio.echo to headphones or half-duplex."
        ) from error
    return module, AudioFrame
