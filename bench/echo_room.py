"""A loudspeaker, a room and a microphone that are not there: what the microphone hears of a reply.

The way of the sound, in this order: the loudspeaker's clock (it may run slow), its bending of loud sound (tanh), a
delay that the card says nothing about, the room's impulse response, its attenuation, noise. The response is a direct
sound 2 ms after the loudspeaker and a tail of white noise that falls by 60 dB in `rt60_s`, as strong in all as the
direct sound; both together have the energy 1, so that the attenuation is that of the level.
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
    """One place.

    Attributes:
        delay_ms: From when the card says that a sample leaves to when it does.
        gain_db: The echo's level at the microphone against the reply's own.
        rt60_s: How long the room's echo takes to fall by 60 dB.
        drift_ppm: How much slower the loudspeaker's clock runs than the microphone's.
        drive: How far the loudspeaker bends: the slope at 0 is 1, full scale comes out as tanh(drive) / drive.
        noise_dbfs: White noise at the microphone.
        seed: Of the room and the noise.
    """

    delay_ms: float = 40.0
    gain_db: float = -10.0
    rt60_s: float = 0.3
    drift_ppm: float = 0.0
    drive: float = 1.0
    noise_dbfs: float = -66.0
    seed: int = 1

    def __str__(self) -> str:
        """What differs between rooms, in a line."""
        return (
            f"{self.gain_db:g} dB, {self.delay_ms:g} ms late, rt60 {self.rt60_s:g} s, {self.drift_ppm:g} ppm, "
            f"drive {self.drive:g}, noise {self.noise_dbfs:g} dBFS"
        )


def impulse_response(room: Room) -> Sound:
    """From the loudspeaker to the microphone at 16 kHz, energy 1, without the attenuation."""
    random = np.random.default_rng(room.seed)
    at_s = np.arange(int(room.rt60_s * MIC_RATE_HZ)) / MIC_RATE_HZ
    response: Sound = random.normal(0, 1, len(at_s)) * 10 ** (-3 * at_s / room.rt60_s)
    response[: _DIRECT_SAMPLES + _GUARD_SAMPLES] = 0
    response /= np.sqrt(np.square(response).sum())
    response[_DIRECT_SAMPLES] = 1
    response /= np.sqrt(2)
    return response


def band_limited(pcm: Pcm) -> Pcm:
    """A reply at 24 kHz without what a microphone at 16 kHz cannot hear: the room resamples it simply."""
    narrow = soxr.resample(pcm.astype(np.float32), REPLY_RATE_HZ, MIC_RATE_HZ, quality="HQ")
    wide = soxr.resample(narrow, MIC_RATE_HZ, REPLY_RATE_HZ, quality="HQ")[: len(pcm)]
    limited: Pcm = np.rint(np.clip(wide, -32_768, 32_767)).astype(np.int16)
    return limited


class Air:
    """What is under way between loudspeaker and microphone."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._fine = StreamResampler(REPLY_RATE_HZ, _FINE_HZ)
        self._played = np.zeros(0)  # at 48 kHz, of the loudspeaker's own clock
        self._played_from = 0
        self._heard = 0  # microphone samples whose loudspeaker sound went into the air
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
        """How much the loudspeaker is ahead of what its card says."""
        return self._early / MIC_RATE_HZ

    def play(self, pcm: Pcm) -> None:
        """The loudspeaker's next samples, at 24 kHz."""
        sound = self._fine.push(pcm).astype(np.float64) / FULL_SCALE
        drive = self._room.drive
        bent = np.tanh(sound * drive) / drive if drive else sound
        self._played = np.concatenate([self._played, bent])

    def hear(self) -> Sound:
        """The microphone's next 20 ms, (320,), of full scale 1, noise included; what was not played yet is silence."""
        pace = _FINE_HZ / MIC_RATE_HZ / (1 + self._room.drift_ppm * 1e-6)
        at = (self._heard + self._early + np.arange(FRAME_SAMPLES)) * pace - self._played_from
        sound = np.interp(at, np.arange(len(self._played)), self._played, right=0.0)
        keep = max(int(at[-1]) - 2, 0)
        self._played, self._played_from = self._played[keep:], self._played_from + keep
        self._heard += FRAME_SAMPLES
        echo = np.fft.irfft(np.fft.rfft(sound, self._size) * self._spectrum, self._size)
        self._coming[self._delay_samples : self._delay_samples + self._size] += echo
        heard = self._coming[:FRAME_SAMPLES].copy()
        self._coming = np.concatenate([self._coming[FRAME_SAMPLES:], np.zeros(FRAME_SAMPLES)])
        noise = self._noise.normal(0, 10 ** (self._room.noise_dbfs / 20), FRAME_SAMPLES)
        together: Sound = heard + noise
        return together
