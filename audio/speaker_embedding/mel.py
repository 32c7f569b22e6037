"""Computes the input of the speaker embedder: log-mel spectra of 40 bands, 100 a second.

The result equals that of the package's own code, which uses librosa: 16 kHz, 25 ms Hamming windows without padding at
the ends, an FFT of 512 points, power, Slaney's mel filters of equal area from 0 to 8 kHz, log10.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from audio.units import FULL_SCALE, MIC_RATE_HZ, Pcm

MELS = 40
HOP_SAMPLES = 160
WINDOW_FRAMES = 80
"""Mel frames of one input of the network."""

_FFT, _WINDOW = 512, 400
_MIN_POWER = 1e-10

WINDOW_SAMPLES = (WINDOW_FRAMES - 1) * HOP_SAMPLES + _FFT
"""Samples of one input of the network: 0.82 s."""

# Slaney's mel scale: linear below 1 kHz (15 mel), then 27 steps for each factor of 6.4.
_LINEAR_HZ_PER_MEL = 200 / 3
_KNEE_HZ, _KNEE_MEL = 1000.0, 15.0
_LOG_STEP = np.log(6.4) / 27


def log_mel(pcm: Pcm) -> npt.NDArray[np.float32]:
    """Returns the log-mel spectra of int16 samples at 16 kHz, shape (frames, 40); no frames below 512 samples."""
    if len(pcm) < _FFT:
        return np.zeros((0, MELS), np.float32)
    sound = np.asarray(pcm, dtype=np.float64) / FULL_SCALE
    pieces = np.lib.stride_tricks.sliding_window_view(sound, _FFT)[::HOP_SAMPLES]
    spectrum = np.fft.rfft(pieces * _window(), axis=1)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    mel: npt.NDArray[np.float32] = np.log10(power @ _bank().T + _MIN_POWER).astype(np.float32)
    return mel


def mel_windows(pcm: Pcm, stride_frames: int = WINDOW_FRAMES // 2) -> npt.NDArray[np.float32]:
    """Returns the network's inputs for a sound, shape (windows, 80, 40). A shorter sound is padded to one input."""
    mel = log_mel(pcm)
    if len(mel) < WINDOW_FRAMES:
        mel = np.pad(mel, ((0, WINDOW_FRAMES - len(mel)), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(mel, WINDOW_FRAMES, axis=0)[::stride_frames]
    return np.ascontiguousarray(windows.transpose(0, 2, 1))


@cache
def _window() -> npt.NDArray[np.float64]:
    """Returns the periodic Hamming window in the middle of the FFT's samples."""
    hamming = np.hamming(_WINDOW + 1)[:-1]
    margin = (_FFT - _WINDOW) // 2
    return np.pad(hamming, margin)


@cache
def _bank() -> npt.NDArray[np.float64]:
    """Returns triangular filters of equal area on the mel scale, shape (40, 257)."""
    top = _KNEE_MEL + np.log(MIC_RATE_HZ / 2 / _KNEE_HZ) / _LOG_STEP
    mels = np.linspace(0, top, MELS + 2)
    corners = np.where(mels < _KNEE_MEL, mels * _LINEAR_HZ_PER_MEL, _KNEE_HZ * np.exp(_LOG_STEP * (mels - _KNEE_MEL)))
    left, middle, right = corners[:-2, np.newaxis], corners[1:-1, np.newaxis], corners[2:, np.newaxis]
    bins = np.linspace(0, MIC_RATE_HZ / 2, _FFT // 2 + 1)
    triangles = np.minimum((bins - left) / (middle - left), (right - bins) / (right - middle))
    bank: npt.NDArray[np.float64] = np.maximum(triangles, 0) * (2 / (right - left))
    return bank
