"""The WebRTC detector behind a noise gate. Needs no model and 0.03 ms a frame; less accurate in babble noise."""

import webrtcvad

from audio.frame import Frame
from audio.units import MIC_RATE_HZ, samples_of_ms
from audio.vad import VadResult
from audio.vad.hysteresis import HysteresisSettings
from audio.vad.speech_tracker import SpeechTracker, TrackSettings

# Mode 2 has 13 false starts a minute in the quiet around speech, mode 3 has two. Mode 2 opens 20 ms earlier.
_MODE = 3
# Brings the median error of the end, as dated in speech_tracker.py, within the labels' 30 ms (bench/vad.py).
END_BIAS_MS = -12.0

# A hold of 60 ms closes 20 ms sooner and splits speech a fifth more often. Margins of 9 and 12 dB lose 1.2 and 2.6 %
# more of the speech, for 10 and 50 % fewer false starts in noise (bench/vad.py).
SETTINGS = TrackSettings(
    hysteresis=HysteresisSettings(
        open_score=0.5, close_score=0.5, open_samples=samples_of_ms(60), hold_samples=samples_of_ms(80)
    ),
    margin_db=6.0,
    end_bias_ms=END_BIAS_MS,
)


class WebrtcVad:
    """Uses webrtcvad's decision only while the audio exceeds the noise floor. Implements `Vad`."""

    name = "webrtc"

    def __init__(self) -> None:
        self.end_bias_ms = END_BIAS_MS
        self._tracker = SpeechTracker(SETTINGS)
        self._classifier = webrtcvad.Vad(_MODE)

    def process(self, frame: Frame) -> VadResult:
        """Processes the next frame (gapless, in order) and returns its result. Raises VadError."""
        self._tracker.push_frame(frame)
        voiced = self._classifier.is_speech(frame.pcm.tobytes(), MIC_RATE_HZ)
        probability = 1.0 if voiced and self._tracker.above_noise_floor else 0.0
        self._tracker.step(probability, frame.start, frame.end)
        return self._tracker.result(probability)

    def reset(self) -> None:
        """Resets all state for a new conversation."""
        self._tracker.reset()
        self._classifier = webrtcvad.Vad(_MODE)
