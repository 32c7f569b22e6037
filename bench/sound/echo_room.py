"""Simulates a loudspeaker, a room and a microphone: computes what the microphone picks up of a reply.

The sound passes, in this order: the loudspeaker's clock (which may run slow), its distortion (tanh), a delay unknown to
the card, the room's impulse response, an attenuation, and noise. The response is a direct sound 2 ms after the
loudspeaker and a tail of white noise that falls by 60 dB in `rt60_s` and has the energy of the direct sound. Together
they have the energy 1, so that the attenuation equals the level difference.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import soxr

from audio.resample import StreamResampler
from audio.units import FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm

Sound = npt.NDArray[np.float64]

_FINE_HZ = 48_000
_DIRECT_SAMPLES = MIC_RATE_HZ * 2 // 1000
_GUARD_SAMPLES = 16


@dataclass(frozen=True, slots=True)
class Room:
    """A simulated room.

    Attributes:
        delay_ms: Time from when the card reports that a sample leaves to when it does.
        gain_db: Level of the echo at the microphone relative to the reply.
        rt60_s: Time in which the room's reverberation falls by 60 dB.
        drift_ppm: How much slower the loudspeaker's clock runs than the microphone's.
        drive: Distortion of the loudspeaker: the slope at 0 is 1, and full scale becomes tanh(drive) / drive.
        noise_dbfs: Level of white noise at the microphone.
        seed: Random seed of the room and the noise.
    """

    delay_ms: float = 40.0
    gain_db: float = -10.0
    rt60_s: float = 0.3
    drift_ppm: float = 0.0
    drive: float = 1.0
    noise_dbfs: float = -66.0
    seed: int = 1

    def __str__(self) -> str:
        """Returns the parameters that differ between rooms, in one line."""
        return (
            f"{self.gain_db:g} dB, {self.delay_ms:g} ms late, rt60 {self.rt60_s:g} s, {self.drift_ppm:g} ppm, "
            f"drive {self.drive:g}, noise {self.noise_dbfs:g} dBFS"
        )


def impulse_response(room: Room) -> Sound:
    """Returns the response from loudspeaker to microphone at 16 kHz, with energy 1, without the attenuation."""
    random = np.random.default_rng(room.seed)
    at_s = np.arange(int(room.rt60_s * MIC_RATE_HZ)) / MIC_RATE_HZ
    response: Sound = random.normal(0, 1, len(at_s)) * 10 ** (-3 * at_s / room.rt60_s)
    response[: _DIRECT_SAMPLES + _GUARD_SAMPLES] = 0
    response /= np.sqrt(np.square(response).sum())
    response[_DIRECT_SAMPLES] = 1
    response /= np.sqrt(2)
    return response


def band_limited(pcm: Pcm) -> Pcm:
    """Removes from a reply at 24 kHz what a microphone at 16 kHz cannot pick up. The room's resampling is simple."""
    narrow = soxr.resample(pcm.astype(np.float32), REPLY_RATE_HZ, MIC_RATE_HZ, quality="HQ")
    wide = soxr.resample(narrow, MIC_RATE_HZ, REPLY_RATE_HZ, quality="HQ")[: len(pcm)]
    limited: Pcm = np.rint(np.clip(wide, -32_768, 32_767)).astype(np.int16)
    return limited


class Air:
    """The sound on its way from the loudspeaker to the microphone."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._fine = StreamResampler(REPLY_RATE_HZ, _FINE_HZ)
        self._played = np.zeros(0)  # at 48 kHz, on the loudspeaker's own clock
        self._played_from = 0
        self._heard = 0  # number of microphone samples for which the loudspeaker's sound is known
        response = impulse_response(room) * 10 ** (room.gain_db / 20)
        delay_samples = round(room.delay_ms * MIC_RATE_HZ / 1000)
        self._size = 1 << (len(response) + FRAME_SAMPLES - 1).bit_length()
        self._spectrum = np.fft.rfft(response, self._size)
        self._early = max(-delay_samples, 0)
        self._delay_samples = max(delay_samples, 0)
        self._coming = np.zeros(self._delay_samples + self._size)
        self._noise = np.random.default_rng(room.seed + 1)

    @property
    def begin_s(self) -> float:
        """Returns how far the loudspeaker is ahead of what its card reports."""
        return self._early / MIC_RATE_HZ

    def play_samples(self, pcm: Pcm) -> None:
        """Plays the loudspeaker's next samples, at 24 kHz."""
        sound = self._fine.push_samples(pcm).astype(np.float64) / FULL_SCALE
        drive = self._room.drive
        bent = np.tanh(sound * drive) / drive if drive else sound
        self._played = np.concatenate([self._played, bent])

    def hear(self) -> Sound:
        """Returns the microphone's next 20 ms, (320,), of full scale 1, with noise. Sound not played yet is silence."""
        pace = _FINE_HZ / MIC_RATE_HZ / (1 + self._room.drift_ppm * 1e-6)
        positions = (self._heard + self._early + np.arange(FRAME_SAMPLES)) * pace - self._played_from
        sound = np.interp(positions, np.arange(len(self._played)), self._played, right=0.0)
        keep = max(int(positions[-1]) - 2, 0)
        self._played, self._played_from = self._played[keep:], self._played_from + keep
        self._heard += FRAME_SAMPLES
        echo = np.fft.irfft(np.fft.rfft(sound, self._size) * self._spectrum, self._size)
        self._coming[self._delay_samples : self._delay_samples + self._size] += echo
        heard = self._coming[:FRAME_SAMPLES].copy()
        self._coming = np.concatenate([self._coming[FRAME_SAMPLES:], np.zeros(FRAME_SAMPLES)])
        noise = self._noise.normal(0, 10 ** (self._room.noise_dbfs / 20), FRAME_SAMPLES)
        together: Sound = heard + noise
        return together
