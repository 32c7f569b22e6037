"""Turns the spectral frames of a sentence into sound, piece by piece: the same samples as in one piece. Pure.

A frame is the sum of three spectra: pulses at the pitch through a filter, noise through a filter, and a part with its
own phases. The inverse transforms of the frames overlap by three quarters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Spectrum = npt.NDArray[np.complex64]

RATE_HZ = 24_000
HOP_SAMPLES = 300
"""Samples of one frame: 12.5 ms."""

_WINDOW_SAMPLES = 1200
_OVERLAP = _WINDOW_SAMPLES // HOP_SAMPLES
_BINS = _WINDOW_SAMPLES // 2 + 1

_PIECE_FRAMES = (12, 32, 96, 256)
"""Frames of the first pieces; further ones are as long as the last. The first one is short and still plays when the
second one is ready."""

_CONTEXT_FRAMES = 2
"""Frames after a sample that still change it."""

_LOWEST_PITCH_HZ = 40.0
"""Below this pitch a frame is unvoiced."""

_HIGHEST_HARMONIC_HZ = 11_000.0
_LOUDEST = 7.0
"""Largest logarithm of a magnitude."""

_NOISE_SEED = 1
"""Seed of the noise, so that the same text gives the same samples."""

_WINDOW = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW_SAMPLES) / _WINDOW_SAMPLES)).astype(np.float32)
_PULSE_WINDOW = _WINDOW / np.float32(HOP_SAMPLES)
"""Window of the pulses: with it, the spectrum of one harmonic has the magnitude 1."""

_SQUARED_WINDOW = np.square(_WINDOW).reshape(_OVERLAP, HOP_SAMPLES)
_LATER = (((np.arange(HOP_SAMPLES) + 0.5) / HOP_SAMPLES - 0.5) % 1.0).astype(np.float32)
"""Weight of the later of two pitches for each sample of a frame: pitches are those of the frames' centers."""


@dataclass(frozen=True, slots=True)
class Spectra:
    """The network's output for a sentence of n frames.

    Attributes:
        pulses: Logarithm of the magnitude of the pulses, shape (601, n).
        pulse_phases: Their phases, before tanh, shape (601, n).
        noise: Logarithm of the magnitude of the noise, shape (601, n).
        rest: Logarithm of the magnitude of the rest, shape (601, n).
        rest_phases: Its phases in radians, shape (601, n).
        pitch_hz: Shape (n,); below 40: unvoiced.
    """

    pulses: Floats
    pulse_phases: Floats
    noise: Floats
    rest: Floats
    rest_phases: Floats
    pitch_hz: Floats

    @property
    def frames(self) -> int:
        return int(self.pitch_hz.size)


def sound_pieces(spectra: Spectra, lead_frames: int, *, with_noise: bool = True) -> Iterator[Floats]:
    """Yields the sound of a sentence in growing pieces; all together are `spectra.frames * HOP_SAMPLES` samples.

    Args:
        spectra: At least 4 frames.
        lead_frames: Silent frames at the beginning, which the first piece contains in addition.
        with_noise: False leaves out the noise.
    """
    pulses, overlap, noise = _Pulses(spectra.pitch_hz), _Overlap(spectra.frames), np.random.default_rng(_NOISE_SEED)
    begin = number = 0
    while begin < spectra.frames:
        size = _PIECE_FRAMES[min(number, len(_PIECE_FRAMES) - 1)] + (0 if number else lead_frames + _CONTEXT_FRAMES)
        end = begin + size if spectra.frames - begin >= size * 3 // 2 else spectra.frames
        piece = slice(begin, end)
        frames = pulses.spectrum(end)
        frames *= _filter(spectra.pulses[:, piece], np.float32(np.pi) * np.tanh(spectra.pulse_phases[:, piece]))
        if with_noise:
            random = noise.standard_normal((end - begin, 2 * _BINS), dtype=np.float32).view(np.complex64)
            random *= _magnitude(spectra.noise[:, piece]).T
            frames += random
        frames += _filter(spectra.rest[:, piece], spectra.rest_phases[:, piece])
        yield overlap.add_frames(frames)
        begin, number = end, number + 1


class _Pulses:
    """Pulses at the pitch of a sentence: the sum of all harmonics below 11 kHz with the magnitude 1."""

    def __init__(self, pitch_hz: Floats) -> None:
        self._pitch_hz = np.pad(pitch_hz, 1, mode="edge")
        self._frames = pitch_hz.size
        self._made = 0  # frames of samples so far
        self._begun = 0  # frames of spectra so far
        self._cycles = 0.0  # phase of the last sample
        self._samples = np.zeros(0, np.float32)  # from the beginning of the next window on

    def spectrum(self, end: int) -> Spectrum:
        """Returns the spectra of the next frames up to `end`, shape (n, 601)."""
        made = [self._samples, self._next(min(end + 1, self._frames))]
        if self._begun == 0:  # before its beginning and after its end the sound is mirrored
            made[0] = made[1][_WINDOW_SAMPLES // 2 : 0 : -1]
        if end == self._frames:
            both = np.concatenate(made)
            made = [both, both[-2 : -2 - HOP_SAMPLES : -1]]
        samples = np.concatenate(made)
        windows = np.lib.stride_tricks.sliding_window_view(samples, _WINDOW_SAMPLES)[::HOP_SAMPLES]
        windows = windows[: end - self._begun] * _PULSE_WINDOW
        self._samples = samples[(end - self._begun) * HOP_SAMPLES :]
        self._begun = end
        return np.fft.rfft(windows, axis=1).astype(np.complex64, copy=False)

    def _next(self, end: int) -> Floats:
        """Returns the samples of the frames up to `end`."""
        pitch = self._pitch_hz[self._made : end + 2]
        self._made = end
        half = HOP_SAMPLES // 2
        hz = np.empty((pitch.size - 2, HOP_SAMPLES), np.float32)
        hz[:, :half] = pitch[:-2, None] * (1 - _LATER[:half]) + pitch[1:-1, None] * _LATER[:half]
        hz[:, half:] = pitch[1:-1, None] * (1 - _LATER[half:]) + pitch[2:, None] * _LATER[half:]
        return self._sum_of_harmonics(hz.reshape(-1))

    def _sum_of_harmonics(self, hz: Floats) -> Floats:
        """Returns the samples for the pitch of each sample."""
        voiced = hz > _LOWEST_PITCH_HZ
        np.maximum(hz, _LOWEST_PITCH_HZ, out=hz)
        cycles = self._cycles + np.cumsum(hz, dtype=np.float64) / RATE_HZ
        self._cycles = float(cycles[-1] % 1) if cycles.size else self._cycles
        half_phase = (np.pi * (cycles % 1)).astype(np.float32)
        # sum of cos(h t) for h = 1..H is sin((H + 1/2) t) / (2 sin(t/2)) - 1/2, and H where t is 0
        order = np.floor(_HIGHEST_HARMONIC_HZ / hz) + np.float32(0.5)
        below = 2 * np.sin(half_phase)
        at_peak = np.abs(below) <= 2e-3
        below[at_peak] = 1
        sound: Floats = np.sin(2 * order * half_phase) / below
        sound[at_peak] = order[at_peak]
        sound -= np.float32(0.5)
        sound[~voiced] = 0
        return sound


class _Overlap:
    """Adds the inverse transforms of frames, each over the three before it. Two frames of each piece are held back."""

    def __init__(self, frames: int) -> None:
        """`frames`: of the whole sentence."""
        self._frames = frames
        self._added = 0
        self._open = np.zeros((_OVERLAP - 1, HOP_SAMPLES), np.float32)  # sums to which later frames are added

    def add_frames(self, frames: Spectrum) -> Floats:
        """Adds the next frames, shape (n, 601), and returns the samples that are now complete."""
        count = frames.shape[0]
        parts = np.fft.irfft(frames, _WINDOW_SAMPLES, axis=1).astype(np.float32, copy=False)
        parts *= _WINDOW
        parts = parts.reshape(count, _OVERLAP, HOP_SAMPLES)
        sums = np.zeros((count + _OVERLAP - 1, HOP_SAMPLES), np.float32)
        sums[: _OVERLAP - 1] = self._open
        for part in range(_OVERLAP):
            sums[part : part + count] += parts[:, part]
        first, self._added = self._added, self._added + count
        last = self._added == self._frames
        self._open = sums[count:]
        # The first two and the last of the sums lie outside of the sound.
        begin, end = (2 if first == 0 else 0), (count + 2 if last else count)
        done = sums[begin:end]
        done /= self._weight(first + begin, first + end)
        return done.reshape(-1)

    def _weight(self, begin: int, end: int) -> Floats:
        """Returns the sum of the squared windows of the frames that were added to the sums from `begin` to `end`."""
        frame = np.arange(begin, end)[:, None] - np.arange(_OVERLAP)
        there = ((frame >= 0) & (frame < self._frames)).astype(np.float32)
        weight: Floats = there @ _SQUARED_WINDOW
        return np.maximum(weight, np.float32(1e-11))


def _filter(magnitudes: Floats, phases: Floats) -> Spectrum:
    """Returns the spectra of logarithms of magnitudes and phases in radians, both of shape (601, n), shape (n, 601)."""
    spectrum = np.empty(magnitudes.shape[::-1], np.complex64)
    np.cos(phases.T, out=spectrum.real)
    np.sin(phases.T, out=spectrum.imag)
    spectrum *= _magnitude(magnitudes).T
    return spectrum


def _magnitude(logarithms: Floats) -> Floats:
    magnitudes = np.exp(np.minimum(logarithms, np.float32(_LOUDEST)))
    return np.asarray(magnitudes, np.float32)
