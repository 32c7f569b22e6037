"""Smart Turn v3.2: a network that estimates from the last seconds of audio whether the user has finished.

The network is downloaded separately. The input follows the publisher's code: 8 s at 16 kHz ending now, zero-padded at
the front, scaled to zero mean and unit variance, as Whisper's log-mel spectrogram of 80 bands, shape (1, 80, 800). The
output is one probability. If that is too slow, the network gets the last half of it. That takes half the time and is
nearly as accurate.
"""

from collections.abc import Sequence
from functools import cache
from math import exp
from pathlib import Path

import numpy as np
import numpy.typing as npt

from audio.end_of_turn.smart_turn.graph import FRAMES_PER_POSITION, MELS, POSITIONS, shortened
from audio.errors import EngineError, EngineLoadError
from audio.execution_provider import OpenedSession, ProviderRequest, ProviderUnavailableError, open_session
from audio.units import FULL_SCALE, MIC_RATE_HZ, Pcm

DEFAULT_PROVIDER = ProviderRequest("turn.provider")

WINDOW_SAMPLES = 8 * MIC_RATE_HZ
MEL_FRAMES = FRAMES_PER_POSITION * POSITIONS
SHORT_POSITIONS = 200
_SHORT_SHIFT = 0.77
"""Offset of the short network's logit: the mean over 2015 silences of 442 recordings (docs/lab/turn-taking.md)."""

_FFT, _HOP = 400, 160
_MIN_POWER = 1e-10
_DYNAMIC_RANGE = 8.0
_MIN_VARIANCE = 1e-7

# Slaney's mel scale: linear below 1 kHz (15 mel), then 27 steps for each factor of 6.4.
_LINEAR_HZ_PER_MEL = 200 / 3
_KNEE_HZ, _KNEE_MEL = 1000.0, 15.0
_LOG_STEP = np.log(6.4) / 27


class SmartTurn:
    """The network. It has no state, so conversations may share it. `probability` blocks for 30-260 ms.

    Run it in a thread: onnxruntime releases the GIL.

    Attributes:
        short: Whether it uses 4 s instead of 8 s.
        provider: Where it computes.
        fallback: See `OpenedSession.fallback`.
    """

    def __init__(self, path: Path, *, short: bool = False, provider: ProviderRequest = DEFAULT_PROVIDER) -> None:
        """Loads the published network at `path` to run on one thread. Raises EngineLoadError."""
        if not path.is_file():
            raise EngineLoadError(f"Smart Turn is missing at {path}: run `repartee models pull smart-turn-v3.2`.")
        self.short = short
        self._positions = SHORT_POSITIONS if short else POSITIONS
        opened = _session(path, self._positions, provider)
        self._session, self.provider, self.fallback = opened.session, opened.provider, opened.fallback
        self._input = str(self._session.get_inputs()[0].name)
        self._takes_batches = False

    def probability(self, pcm: Pcm) -> float:
        """Returns the probability that the turn is over after this audio, 0..1. Raises EngineError.

        `pcm`: int16, shape (n,); only the last seconds are used.
        """
        return self.probabilities([pcm])[0]

    def probabilities(self, pcms: Sequence[Pcm]) -> list[float]:
        """Returns the probability after each of several sounds; see `probability` and `use_batches`."""
        features = np.stack([log_mel(pcm, self._positions) for pcm in pcms])
        batches = [features] if self._takes_batches else list(features[:, np.newaxis])
        return [self._corrected(probability) for batch in batches for probability in self._run(batch)]

    def use_batches(self) -> bool:
        """Judges several sounds in one run from now on, if the network gives the same results so. Returns whether."""
        generator = np.random.default_rng(1)
        sounds = [generator.integers(-3000, 3000, seconds * MIC_RATE_HZ).astype(np.int16) for seconds in (1, 2)]
        single = [self.probability(sound) for sound in sounds]
        self._takes_batches = True
        try:
            self._takes_batches = bool(np.allclose(self.probabilities(sounds), single, atol=1e-3))
        except (EngineError, ValueError):
            self._takes_batches = False
        return self._takes_batches

    def _run(self, features: npt.NDArray[np.float32]) -> list[float]:
        try:
            outputs = self._session.run(None, {self._input: features})
        except Exception as error:
            raise EngineError(
                "Smart Turn failed inside onnxruntime: restart Repartee, or remove the Smart Turn model."
            ) from error
        probabilities = np.clip(np.asarray(outputs[0]).reshape(len(features), -1)[:, 0], 0.0, 1.0)
        return [float(probability) for probability in probabilities]

    def _corrected(self, probability: float) -> float:
        odds = exp(_SHORT_SHIFT) if self.short else 1.0
        return probability * odds / (probability * odds + 1 - probability)


def log_mel(pcm: Pcm, positions: int = POSITIONS) -> npt.NDArray[np.float32]:
    """Computes the last `positions` of the network's input for the last 8 s of audio, shape (80, 2 * positions)."""
    sound = np.zeros(WINDOW_SAMPLES, dtype=np.float32)
    recent = pcm[-WINDOW_SAMPLES:]
    if recent.size:
        np.divide(recent, FULL_SCALE, out=sound[-recent.size :], dtype=np.float32)
    # The padding is scaled too, as in training.
    sound = (sound - sound.mean()) / np.sqrt(sound.var() + _MIN_VARIANCE)
    padded = np.pad(sound, _FFT // 2, mode="reflect")
    pieces = np.lib.stride_tricks.sliding_window_view(padded, _FFT)[::_HOP][:MEL_FRAMES][
        -FRAMES_PER_POSITION * positions :
    ]
    spectrum = np.fft.rfft(pieces * _window(), axis=1)
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    logs = np.log10(np.maximum(_bank() @ power.T, _MIN_POWER))
    logs = np.maximum(logs, logs.max() - _DYNAMIC_RANGE)
    mel: npt.NDArray[np.float32] = ((logs + 4) / 4).astype(np.float32)
    return mel


@cache
def _window() -> npt.NDArray[np.float64]:
    return np.hanning(_FFT + 1)[:-1]


@cache
def _bank() -> npt.NDArray[np.float64]:
    """Returns triangular filters of equal area on the mel scale, shape (80, 201)."""
    top = _KNEE_MEL + np.log(MIC_RATE_HZ / 2 / _KNEE_HZ) / _LOG_STEP
    mels = np.linspace(0, top, MELS + 2)
    corners = np.where(mels < _KNEE_MEL, mels * _LINEAR_HZ_PER_MEL, _KNEE_HZ * np.exp(_LOG_STEP * (mels - _KNEE_MEL)))
    left, middle, right = corners[:-2, np.newaxis], corners[1:-1, np.newaxis], corners[2:, np.newaxis]
    bins = np.linspace(0, MIC_RATE_HZ / 2, _FFT // 2 + 1)
    triangles = np.minimum((bins - left) / (middle - left), (right - bins) / (right - middle))
    bank: npt.NDArray[np.float64] = np.maximum(triangles, 0) * (2 / (right - left))
    return bank


def _session(path: Path, positions: int, provider: ProviderRequest) -> OpenedSession:
    try:
        import onnxruntime  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Without VNNI, 8-bit products overflow in AVX2 unless this is set: half a command scored 0.73 instead of 0.02.
        # It costs no time, and with VNNI it changes nothing.
        options.add_session_config_entry("session.x64quantprecision", "1")
        network = path if positions == POSITIONS else shortened(path.read_bytes(), positions)
        return open_session(network, options, provider)
    except ProviderUnavailableError:
        raise
    except Exception as error:
        raise EngineLoadError(
            f"onnxruntime cannot load Smart Turn from {path} ({type(error).__name__}): remove it and pull it again."
        ) from error
