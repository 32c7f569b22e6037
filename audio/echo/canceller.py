"""Echo cancellation for open loudspeakers by WebRTC's audio processing, based on the clocks of both cards.

The measurements behind the constants are in docs/lab/echo.md (bench/sound/echo.py).
"""

from typing import TYPE_CHECKING

import numpy as np

from audio.echo.reference import ReferenceLine
from audio.errors import AudioError, EchoUnavailable
from audio.units import FRAME_MS, FRAME_SAMPLES, MIC_RATE_HZ, Pcm, ms_of_samples
from declarations.extra import installing

if TYPE_CHECKING:
    from livekit.rtc import AudioFrame, AudioProcessingModule

LEAD_MS = 40.0
"""Time by which the reference is passed on before playback, in milliseconds.

It must not come after its echo (5 ms too late cost 20 dB), and may come half a second before it. A loudspeaker clock
that is late by less than this does no harm.
"""

MIN_LEAD_MS = 10.0
_LOWER_MS = 5.0
_LATE_FRAMES = 5
"""Number of successive frames with an incomplete reference after which the lead is reduced.

A card that requests its blocks just in time does not know the audio that far ahead.
"""

_SPARE_MS = 10.0
_SPARE_FRAMES = 100
"""Number of frames (two seconds) with a margin of `_SPARE_MS` after which the lead is increased again.

This happens with another card or a card that has settled. The lead is increased in one step, because the canceller must
adapt to every change.
"""
_MAX_SPARE_FRAMES = 3000
"""Limit of the wait (one minute). The wait doubles after each increase that was too much, to avoid oscillation."""

_STEP_MS = 10
_STEP_SAMPLES = MIC_RATE_HZ * _STEP_MS // 1000


class EchoCanceller:
    """Implements `FrameCleaner` and `EchoReference` by WebRTC's echo canceller (AEC3) and high-pass filter.

    Not thread-safe. A reference that is late or missing counts as silence: nothing here waits.

    Attributes:
        delay_ms: Current lead of the reference, as reported to the canceller. It is reduced if a card reports its
            blocks too late for it, and increased again when a card reports them in time.
        reference: Audio of the loudspeaker; its counters are written to the trace.
        rests: Whether nothing plays and nobody is heard: frames are returned as they are, and no reference is kept.
    """

    def __init__(self, *, noise_suppression: bool = False, gain_control: bool = False) -> None:
        """Loads the library: 40 ms if numpy and asyncio are loaded, more from a cold disk; best in a thread.

        Both options are off because they do more harm than good: with noise suppression the residual echo resembles a
        voice, and the gain control raises noise by 15 dB.

        Raises EchoUnavailable if it cannot be loaded.
        """
        self.delay_ms = LEAD_MS
        self.reference = ReferenceLine()
        self.rests = False
        self._late_frames = 0
        self._spare_frames, self._min_spare_ms = 0, np.inf
        self._wait_frames = _SPARE_FRAMES
        self._raised = False
        self._module, self._frame_type = _load(noise_suppression=noise_suppression, gain_control=gain_control)
        self._module.set_stream_delay_ms(round(self.delay_ms))

    def add_reference(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        """See `EchoReference.add_reference`."""
        if not self.rests:
            self.reference.push_block(pcm, rate_hz, leaves_s)

    def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
        """See `FrameCleaner.clean`. Raises ValueError for another length, AudioError."""
        if pcm.shape != (FRAME_SAMPLES,):
            raise ValueError(f"a frame has {FRAME_SAMPLES} samples, but this one has the shape {pcm.shape}")
        late_before = self.reference.late_samples
        leaves_s = captured_s + self.delay_ms / 1000
        reference = self.reference.read(leaves_s, FRAME_SAMPLES)
        self._reduce_lead(self.reference.late_samples - late_before)
        self._increase_lead(leaves_s + FRAME_MS / 1000)
        cleaned = np.empty(FRAME_SAMPLES, np.int16)
        for start in range(0, FRAME_SAMPLES, _STEP_SAMPLES):
            step = slice(start, start + _STEP_SAMPLES)
            cleaned[step] = self._step(pcm[step], reference[step])
        return cleaned

    def _step(self, pcm: Pcm, reference: Pcm) -> Pcm:
        far, near = self._frame(reference), self._frame(pcm)
        try:
            self._module.process_reverse_stream(far)
            self._module.process_stream(near)
        except RuntimeError as error:
            raise AudioError(
                "Echo cancellation failed inside livekit: restart Repartee, or set audio.echo to half-duplex."
            ) from error
        return np.frombuffer(near.data, np.int16)

    def _frame(self, pcm: Pcm) -> "AudioFrame":
        return self._frame_type(bytearray(pcm.tobytes()), MIC_RATE_HZ, 1, _STEP_SAMPLES)

    def _reduce_lead(self, late_samples: int) -> None:
        """Reduces the lead if the card cannot report its audio that early."""
        if late_samples == 0:
            self._late_frames = 0
            return
        self._late_frames += 1
        if self._late_frames < _LATE_FRAMES or self.delay_ms <= MIN_LEAD_MS:
            return
        self._late_frames = 0
        if self._raised:
            self._raised, self._wait_frames = False, min(2 * self._wait_frames, _MAX_SPARE_FRAMES)
        late_ms = min(ms_of_samples(late_samples), FRAME_MS) + _LOWER_MS
        self._set_lead(max(self.delay_ms - late_ms, MIN_LEAD_MS))

    def _increase_lead(self, until_s: float) -> None:
        """Increases the lead if the card reports in time again. `until_s`: end of the last requested reference."""
        told_s = self.reference.ends_s
        if self.delay_ms >= LEAD_MS or told_s is None:
            return
        spare_ms = (told_s - until_s) * 1000
        if spare_ms < _SPARE_MS:
            self._spare_frames, self._min_spare_ms = 0, np.inf
            return
        self._spare_frames += 1
        self._min_spare_ms = min(self._min_spare_ms, spare_ms)
        if self._spare_frames >= self._wait_frames:
            self._raised = True
            self._set_lead(min(self.delay_ms + self._min_spare_ms - _LOWER_MS, LEAD_MS))

    def _set_lead(self, delay_ms: float) -> None:
        self.delay_ms = delay_ms
        self._spare_frames, self._min_spare_ms = 0, np.inf
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
