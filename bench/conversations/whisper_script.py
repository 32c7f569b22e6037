"""Returns the words of some sound as a perfect recognizer would: the words of the recording that it is part of.

Finds the recording and the position in it by the waveform itself, so it needs no information about what is playing.
Interim transcripts grow as usual, several conversations do not disturb each other, and noise has no words.
No I/O, no clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import soxr

from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm
from bench.conversations.recordings import Recording

MATCH_HZ = 1000
"""Sample rate for matching. The pitch below 500 Hz identifies a position in a recording, and matching is fast."""

MATCHED_S = 4.0
"""Length of sound to match, in seconds, up to its end."""

APART_S = 1.5
"""Silence between two recordings in seconds: a piece may begin before a recording or end after it."""

MATCHES = 0.5
"""Minimum correlation. Sound from a recording has nearly 1, regardless of resampling and volume."""

RECENT = 16
"""Number of recently matched blocks that are searched first; the next piece is usually there.

The search adds to the measured decoding time: 1 ms for an immediate match, or 10 ms for 12 minutes of sound.
"""

SURE = 0.9
"""Correlation that is certainly a unique match."""

MIN_ENERGY = 1.0
"""Minimum energy per sample, in squared PCM16 steps. Softer sound is digital silence, which matches everything."""

SOFTEST = 0.01
"""Minimum energy of a match relative to the sound. A recording with less energy there is no match."""

WORDS_PER_S = 2.5
UNKNOWN = "I would like to know what the weather will be like in the city on the day after tomorrow please".split()
"""Words for recordings without a transcript, repeated at a usual pace.

They end where the speaker ends: a turn cut off after "in the" would get a longer silence timeout.
"""

BLOCK = 16384
"""Number of samples per transform."""

_MATCHED = round(MATCHED_S * MATCH_HZ)
_APART = round(APART_S * MATCH_HZ)
_STEP = BLOCK - _MATCHED
"""Number of positions in a block at which a whole piece fits."""

Wave = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Known:
    begins: int  # position on the line of all recordings
    ends: int
    words: tuple[str, ...]
    ends_s: tuple[float, ...]  # when each word has been said


@dataclass(frozen=True, slots=True)
class _Found:
    likeness: float
    place: int = 0  # position of the first sample on the line
    block: int = 0


class Script:
    """The words of some recordings and the position of each word. The recordings are placed one after another."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        """Only speech has words."""
        self._known: list[_Known] = []
        pieces = [np.zeros(_APART, np.float32)]
        begins = _APART
        for recording in recordings:
            if recording.kind != "noise":
                wave = _wave(recording.pcm, REPLY_RATE_HZ)
                self._known.append(_Known(begins, begins + wave.size, *_words(recording)))
                pieces += [wave, np.zeros(_APART, np.float32)]
                begins += wave.size + _APART
        self._blocks = -(-begins // _STEP)
        line = np.zeros(self._blocks * _STEP + _MATCHED, np.float32)
        line[:begins] = np.concatenate(pieces)
        starts = np.arange(self._blocks) * _STEP
        self._spectra = np.fft.rfft(np.stack([line[start : start + BLOCK] for start in starts]))
        self._energies = np.concatenate([[0.0], np.cumsum(np.square(line, dtype=np.float64))])  # before each sample
        self._recent: tuple[int, ...] = ()

    def words(self, pcm: Pcm) -> str:
        """Returns the words in the sound, shape (n,), at MIC_RATE_HZ; "" if it is from no known recording."""
        wave = _wave(pcm, MIC_RATE_HZ)
        sought = wave[-_MATCHED:]
        energy = float(np.square(sought, dtype=np.float64).sum())
        if not self._known or energy < MIN_ENERGY * sought.size:
            return ""
        match = self._find(sought, energy)
        if match.likeness < MATCHES:
            return ""
        self._recent = (match.block, *(other for other in self._recent if other != match.block))[:RECENT]
        ends = match.place + sought.size
        known = max(self._known, key=lambda segment: min(segment.ends, ends) - max(segment.begins, match.place))
        until_s = (ends - known.begins) / MATCH_HZ
        since_s = until_s - wave.size / MATCH_HZ
        timed_words = zip(known.words, known.ends_s, strict=True)
        return " ".join(word for word, end_s in timed_words if since_s < end_s <= until_s)

    def _find(self, sought: Wave, energy: float) -> _Found:
        """Returns the best matching position."""
        spectrum = np.conj(np.fft.rfft(sought, BLOCK))
        best = _Found(0.0)
        for block in self._order():
            products = np.fft.irfft(self._spectra[block] * spectrum, BLOCK)[:_STEP]
            first = block * _STEP
            before = self._energies[first : first + _STEP + sought.size]
            there = before[sought.size :] - before[:_STEP]
            likeness = products / np.sqrt(np.maximum(there, SOFTEST * energy) * energy)
            place = int(likeness.argmax())
            best = max(
                best, _Found(float(likeness[place]), first + place, block), key=lambda candidate: candidate.likeness
            )
            if best.likeness >= SURE:
                break
        return best

    def _order(self) -> Iterable[int]:
        yield from self._recent
        yield from (block for block in range(self._blocks) if block not in self._recent)


def _words(recording: Recording) -> tuple[tuple[str, ...], tuple[float, ...]]:
    # A word can be understood before its reverberation ends: it ends at the earliest end that the label allows.
    lasts_s = max(recording.end_s - recording.end_unsure_s - recording.start_s, 0.0)
    words = (recording.transcript or "").split()
    if not words:
        count = max(1, round(lasts_s * WORDS_PER_S))
        words = [UNKNOWN[place % len(UNKNOWN)] for place in range(-count, 0)]
    return tuple(words), tuple(recording.start_s + lasts_s * (place + 1) / len(words) for place in range(len(words)))


def _wave(pcm: Pcm, rate_hz: int) -> Wave:
    wave: Wave = soxr.resample(pcm.astype(np.float32), rate_hz, MATCH_HZ, quality="LQ")
    return wave
