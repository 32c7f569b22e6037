"""Runs a voice's model: the samples of one sentence, whole or in growing pieces."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime

from audio.tts.piper.cut import InnerTensors, NotUnderstoodError
from audio.tts.streaming.sentence_sound import Sound

ModelInput = npt.NDArray[np.int64] | Sound

PIECE_FRAMES = (12, 32, 96, 256)
"""Frames of the first pieces; further ones are as long as the last. A frame is 256 samples, 11.6 ms at 22 050 Hz.

The first piece is short, so that the first sound comes soon, and long enough that it still plays when the second one is
ready. Where the processors are busy, the first piece is longer and the others are shorter: see `piece_frames`.
"""

_HELD_FRAMES = 4
"""Frames that the resampler holds back."""

_CONTEXT_FRAMES = 40
"""Work for the context of a piece, in frames: 24 of the decoder, and 64 of the flow, which costs a quarter."""

_MARGIN = 1.5
"""Safety factor: the next piece may take this many times as long as the slowest of the latest pieces."""

_PACES = 4
"""Pieces whose pace counts: the frames that are made in the playing time of one."""

_EASY_PACE = 4.0
"""Below this pace, the share of the context counts, and pieces are as long as possible."""

_USUAL_PACE = 14.0
"""Pace of a medium voice on an idle machine."""

_LONGEST_LEAD_FRAMES = 16
"""Frames before the first phoneme that the first piece may contain in addition."""

_DECODER_CONTEXTS = (12, 16, 24)
"""Frames that a decoder looks to either side, in the order in which they are tried: 10 in medium voices, 14 in high."""

_FLOW_CONTEXTS = (32, 48)
"""Frames that a flow looks to either side: 8 in each of its 4 blocks."""

_TOLERANCE = 1e-4
"""Largest difference between a piece and the whole, as a share of the largest value.

Rounding gives 1e-5, a context that is too short 4e-3.
"""


@dataclass(frozen=True, slots=True)
class Utterance:
    """The model's inputs for one sentence, and its run options, which can stop it."""

    inputs: Mapping[str, ModelInput]
    options: onnxruntime.RunOptions


@dataclass(frozen=True, slots=True)
class Synthesized:
    """The samples of one sentence.

    Attributes:
        frames: Frames of every phoneme id, shape (ids,); None if the voice does not give them.
        samples: How many samples all pieces together have.
        pieces: The sound, float32 of shape (n,) each, made as they are taken.
    """

    frames: Sound | None
    samples: int
    pieces: Iterator[Sound]


class Synthesis(Protocol):
    """A loaded model."""

    def synthesize(self, utterance: Utterance) -> Synthesized:
        """Begins a sentence. This and its pieces raise what onnxruntime raises."""
        ...


class WholeSentences:
    """Makes each sentence in one piece."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session

    def synthesize(self, utterance: Utterance) -> Synthesized:
        """See `Synthesis`."""
        sound, *rest = self._session.run(None, utterance.inputs, utterance.options)
        sound = np.reshape(sound, -1)
        return Synthesized(np.reshape(rest[0], -1) if rest else None, sound.size, iter((sound,)))


class Streamed:
    """Makes each sentence in growing pieces, which together are the same samples."""

    def __init__(
        self,
        inner: InnerTensors,
        sessions: tuple[onnxruntime.InferenceSession, onnxruntime.InferenceSession, onnxruntime.InferenceSession],
        rate_hz: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`sessions`: of the encoder, the flow and the decoder. `rate_hz`: of the voice."""
        encoder, flow, decoder = sessions
        self._inner = inner
        self._encoder = encoder
        self._flow = _Part(flow)
        self._decoder = _Part(decoder)
        self._rate_hz = rate_hz
        self._clock = clock
        self._flow_context = self._decoder_context = self._hop = 0
        self._paces: deque[float] = deque(maxlen=_PACES)  # of the latest pieces

    def find_contexts(self, utterance: Utterance) -> None:
        """Measures how far the flow and the decoder look: a piece must equal the same piece of the whole.

        Args:
            utterance: Any text. The measurement is made on noise in its voice.

        Raises:
            NotUnderstoodError: They look further than known voices do.
        """
        noise = np.random.default_rng(1).standard_normal((1, self._encode(utterance).values.shape[1], 112), np.float32)
        latent = _Latent(noise, np.ones((1, 1, 112), np.float32), np.zeros(0, np.float32))
        frames = self._flow_piece(utterance, latent, 0, 112)
        for self._flow_context in _FLOW_CONTEXTS:
            if _agree(self._flow_piece(utterance, latent, 52, 60), frames[:, :, 52:60]):
                break
        else:
            raise NotUnderstoodError(f"its flow looks further than {self._flow_context} frames")
        frames = frames[:, :, :64]
        sound = self._decoder_piece(utterance, frames, 0, 64)
        self._hop = sound.size // 64
        for self._decoder_context in _DECODER_CONTEXTS:
            if _agree(self._decoder_piece(utterance, frames, 28, 36), sound[28 * self._hop : 36 * self._hop]):
                return
        raise NotUnderstoodError(f"its decoder looks further than {self._decoder_context} frames")

    def synthesize(self, utterance: Utterance) -> Synthesized:
        """See `Synthesis`."""
        latent = self._encode(utterance)
        samples = latent.values.shape[2] * self._hop
        return Synthesized(latent.durations, samples, self._pieces(utterance, latent))

    def _pieces(self, utterance: Utterance, latent: "_Latent") -> Iterator[Sound]:
        count = latent.values.shape[2]
        frames: Sound | None = None
        lead = int(latent.durations[0]) if latent.durations.size else 0  # the first id is the sign for the beginning
        lead = min(lead, _LONGEST_LEAD_FRAMES)
        frame_s = self._hop / self._rate_hz
        begin = number = 0
        began_s = heard_s = self._clock()
        while begin < count:
            pace = min(self._paces, default=_USUAL_PACE)
            ahead = begin - lead - _HELD_FRAMES - (began_s - heard_s) / frame_s
            size = piece_frames(number, ahead, pace) + (0 if number else lead)
            # A short rest is not worth a piece of its own, because each costs its context too.
            end = count if count - begin < size * 3 // 2 else begin + size
            needed = min(count, end + self._decoder_context)
            if frames is None:
                frames = self._flow_piece(utterance, latent, 0, needed)
            elif needed > frames.shape[2]:
                more = self._flow_piece(utterance, latent, frames.shape[2], needed)
                frames = np.concatenate((frames, more), axis=2)
            yield self._decoder_piece(utterance, frames, begin, end)
            # The time since the last piece includes the pieces of other sentences in between.
            ready_s = self._clock()
            self._paces.append((end - begin + _CONTEXT_FRAMES) * frame_s / max(ready_s - began_s, 1e-6))
            heard_s = ready_s if number == 0 else heard_s
            begin, number, began_s = end, number + 1, ready_s

    def _encode(self, utterance: Utterance) -> "_Latent":
        values, *mask, durations = self._encoder.run(None, utterance.inputs, utterance.options)
        mask = mask[0] if mask else np.ones((1, 1, values.shape[2]), np.float32)
        return _Latent(values, mask, durations.reshape(-1))

    def _flow_piece(self, utterance: Utterance, latent: "_Latent", begin: int, end: int) -> Sound:
        """Returns the spectral frames from `begin` to `end`."""
        low, high = max(0, begin - self._flow_context), min(latent.values.shape[2], end + self._flow_context)
        inputs = {self._inner.latent: latent.values[:, :, low:high]}
        if self._inner.mask is not None:
            inputs[self._inner.mask] = latent.mask[:, :, low:high]
        return self._flow.run(utterance, inputs)[:, :, begin - low : end - low]

    def _decoder_piece(self, utterance: Utterance, frames: Sound, begin: int, end: int) -> Sound:
        """Returns the samples of the frames from `begin` to `end`."""
        low, high = max(0, begin - self._decoder_context), min(frames.shape[2], end + self._decoder_context)
        sound = self._decoder.run(utterance, {self._inner.frames: frames[:, :, low:high]}).reshape(-1)
        hop = sound.size // (high - low)
        return sound[(begin - low) * hop : (end - low) * hop]


@dataclass(frozen=True, slots=True)
class _Latent:
    """Output of the encoder for a sentence: frames, their mask, and the frames of every phoneme id."""

    values: Sound
    mask: Sound
    durations: Sound


class _Part:
    """A session with one output, which may need the speaker."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._needs_speaker = any(port.name == "sid" for port in session.get_inputs())

    def run(self, utterance: Utterance, inputs: Mapping[str, Sound]) -> Sound:
        speaker = {"sid": utterance.inputs["sid"]} if self._needs_speaker else {}
        output: Sound = self._session.run(None, {**inputs, **speaker}, utterance.options)[0]
        return output


def piece_frames(number: int, ahead: float, pace: float) -> int:
    """Returns the frames of the next piece of a sentence.

    Args:
        number: Index of the piece.
        ahead: Frames that are made and not yet played.
        pace: Frames that are made in the playing time of one.
    """
    pace /= _MARGIN
    if pace <= 1:
        return 1 << 30  # the whole sentence: it could not be made as fast as it plays
    if number == 0:
        # Enough for the second piece, and for pieces that do not become shorter and shorter.
        needed = max((PIECE_FRAMES[1] + _CONTEXT_FRAMES) / pace, _CONTEXT_FRAMES / (pace - 1))
        return max(PIECE_FRAMES[0], _HELD_FRAMES + math.ceil(needed))
    longest = PIECE_FRAMES[min(number, len(PIECE_FRAMES) - 1) if pace >= _EASY_PACE else -1]
    return max(PIECE_FRAMES[0], int(min(longest, ahead * pace - _CONTEXT_FRAMES)))


def _agree(piece: Sound, whole: Sound) -> bool:
    return bool(np.abs(piece - whole).max() <= _TOLERANCE * np.abs(whole).max())
