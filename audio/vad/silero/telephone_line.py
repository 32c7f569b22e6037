"""Recognizes telephone lines and prepares their sound for Silero, which misses speech without high frequencies.

A telephone passes 300-3400 Hz. On such sound the network scores much speech at 0.1 to 0.5. Two corrections raise these
scores; sound at full band is not changed (docs/lab/vad.md, "Telephone lines"):

- The empty upper band is filled with a weak mirror image of the lower one. At 16 kHz that is a multiplication of every
  other sample: x[n] * (1 + a * (-1)^n).
- The odds of speech that the network reports are multiplied by a constant, so that all thresholds keep their meaning.
  This begins with the first likely speech and lasts for half a minute after the last, because it also raises noise.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audio.units import FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, Pcm, Samples, samples_of_s
from audio.vad import LIKELY_SPEECH

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TelephoneSettings:
    """Settings for recognizing a telephone line and correcting its scores. Source of all values: docs/lab/vad.md.

    Attributes:
        mirror_gain: Amplitude of the mirror image relative to the sound, 0..1. Between 0.05 and 0.15 the missed speech
            hardly differs.
        odds_factor: Factor of the odds of speech: a score of 0.35 becomes 0.5 (opens), 0.22 becomes 0.35 (keeps open).
        speaker_score: A score, before it is corrected, from which somebody is speaking on the line.
        speaker_samples: For how long after such a score the following ones are corrected.
        max_high_db: A line is narrow if the energy above `high_hz` is at most this, relative to the energy from
            `low_hz`, in dB. Clips at full band: -36 and more; the same over a telephone line: -63 and less.
        low_hz: From and to: the band of a telephone, in Hz.
        high_hz: From and to: frequencies that a telephone does not pass, in Hz.
        sound_dbfs: Level in `low_hz` from which a frame is examined; below, the rounding to 16 bits fills the band.
        known_frames: Number of examined frames without which the line counts as full band.
        memory_frames: After this many examined frames a frame weighs 1/e of the newest.
    """

    mirror_gain: float = 0.1
    odds_factor: float = 13 / 7
    speaker_score: float = LIKELY_SPEECH
    speaker_samples: Samples = samples_of_s(30)
    max_high_db: float = -50.0
    low_hz: tuple[float, float] = (300.0, 3400.0)
    high_hz: tuple[float, float] = (4000.0, 7500.0)
    sound_dbfs: float = -60.0
    known_frames: int = 4
    memory_frames: int = 50


SETTINGS = TelephoneSettings()

_EXAMINED_EVERY = 2
"""Every second frame is examined: 40 ms. The line of a conversation hardly ever changes."""

_HANN = np.hanning(FRAME_SAMPLES + 1)[:-1].astype(np.float32) / np.float32(FULL_SCALE)
# A sine of full scale has a power of -3 dBFS.
_POWER_OF_BINS = 2 / (FRAME_SAMPLES**2 * 0.375)


def _bins(band_hz: tuple[float, float]) -> slice:
    low, high = (round(edge_hz * FRAME_SAMPLES / MIC_RATE_HZ) for edge_hz in band_hz)
    return slice(low, high + 1)


class TelephoneLine:
    """Tells whether the sound of the last seconds came over a telephone, and corrects scores if somebody speaks on it.

    Attributes:
        is_narrow: Nothing is heard above the band of a telephone. False until enough sound was heard.
    """

    def __init__(self, settings: TelephoneSettings = SETTINGS) -> None:
        self._settings = settings
        self._low, self._high = _bins(settings.low_hz), _bins(settings.high_hz)
        self._least = 10 ** (settings.sound_dbfs / 10)
        self._ratio = 10 ** (settings.max_high_db / 10)
        self._decay = math.exp(-1 / settings.memory_frames)
        self.reset()

    def reset(self) -> None:
        """Forgets the line."""
        self.is_narrow = False
        self._frames = 0
        self._examined = 0
        self._low_power = self._high_power = 0.0
        self._corrected_samples = 0  # how much of the following sound is corrected

    def push_frame(self, pcm: Pcm) -> None:
        """Processes the next frame."""
        self._frames += 1
        if self._frames % _EXAMINED_EVERY:
            return
        spectrum = np.fft.rfft(pcm * _HANN)
        low, high = spectrum[self._low], spectrum[self._high]
        low_power = float(np.vdot(low, low).real) * _POWER_OF_BINS
        if low_power < self._least:
            return
        self._low_power = self._low_power * self._decay + low_power
        self._high_power = self._high_power * self._decay + float(np.vdot(high, high).real) * _POWER_OF_BINS
        self._examined += 1
        known = self._examined >= self._settings.known_frames
        self.is_narrow = known and self._high_power <= self._ratio * self._low_power

    def pass_quiet(self, samples: int) -> None:
        """Passes over this much quiet sound, an even number of frames, which is not examined."""
        self._corrected_samples = max(self._corrected_samples - samples, 0)

    def corrected(self, score: float, samples: int) -> float:
        """Returns the speech probability of the next window, which has `samples` samples and the network's `score`."""
        if score >= self._settings.speaker_score:
            self._corrected_samples = self._settings.speaker_samples
        else:
            self._corrected_samples = max(self._corrected_samples - samples, 0)
        if not (self.is_narrow and self._corrected_samples):
            return score
        speech = score * self._settings.odds_factor
        return speech / (1 - score + speech)


def mirror_weights(samples: int, settings: TelephoneSettings = SETTINGS) -> Float32:
    """Returns the weights that add the mirror image to an even number of samples, shape (samples,)."""
    weights = np.full(samples, 1 + settings.mirror_gain, dtype=np.float32)
    weights[1::2] = 1 - settings.mirror_gain
    return weights
