"""Removes noise from a client's microphone by WebRTC's audio processing.

Its delay and cost are in docs/lab/protocol.md ("Session fields").
"""

from typing import TYPE_CHECKING, Literal

import numpy as np

from audio.errors import AudioError
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm
from declarations.extra import installing

if TYPE_CHECKING:
    from livekit.rtc import AudioFrame, AudioProcessingModule

MicrophoneKind = Literal["near_field", "far_field"]

_STEP_SAMPLES = MIC_RATE_HZ // 100


class NoiseReduction:
    """Cleans the frames of one microphone: noise suppression and a high-pass filter. Not thread-safe.

    A far microphone also gets gain control, because its voices are quiet.

    Attributes:
        kind: The kind of microphone.
    """

    def __init__(self, kind: MicrophoneKind) -> None:
        """Loads the library: 40 ms the first time, so best in a thread. Raises AudioError if it cannot be loaded."""
        self.kind = kind
        self._module, self._frame_type = _load(gain_control=kind == "far_field")

    def clean(self, pcm: Pcm) -> Pcm:
        """Returns the cleaned frame, int16, 20 ms at 16 kHz. Raises AudioError if the library fails."""
        cleaned = np.empty(FRAME_SAMPLES, np.int16)
        for start in range(0, FRAME_SAMPLES, _STEP_SAMPLES):
            step = self._frame_type(
                bytearray(pcm[start : start + _STEP_SAMPLES].tobytes()), MIC_RATE_HZ, 1, _STEP_SAMPLES
            )
            try:
                self._module.process_stream(step)
            except RuntimeError as error:
                raise AudioError("noise reduction failed inside livekit") from error
            cleaned[start : start + _STEP_SAMPLES] = np.frombuffer(step.data, np.int16)
        return cleaned


def _load(*, gain_control: bool) -> "tuple[AudioProcessingModule, type[AudioFrame]]":
    try:
        from livekit.rtc import AudioFrame, AudioProcessingModule  # noqa: PLC0415 - an extra, 40 ms to import

        module = AudioProcessingModule(
            noise_suppression=True, high_pass_filter=True, auto_gain_control=gain_control, echo_cancellation=False
        )
    except Exception as error:
        why = f"noise reduction needs the package livekit ({type(error).__name__}): {installing('desktop')}"
        raise AudioError(why) from error
    return module, AudioFrame
