"""What a recognizer that understands everything would say of some sound: the words of the recording it is a piece of.

The recording and the place in it are found by the waveform itself, so that nobody has to tell which is being played:
partials grow as they would, several conversations do not disturb each other, and noise has no words. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import soxr

from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm
from bench.recordings import Recording

MATCH_HZ = 1000
"""Below 500 Hz a voice has its pitch, which no other has at the same moments: enough to find a place, and quick."""

MATCHED_S = 4.0
"""Of the sound that is looked for; its end says where it ends."""

MATCHES = 0.5
"""Least correlation: sound of a recording has nearly 1 with it, however it was resampled and how loud it is."""

RECENT = 16
"""Recordings found last, which are looked through first: the next piece is of one of them, as a rule. Of 137, all cost
40 ms alone and more where a decode is; these, 3."""

SURE = 0.9
"""Correlation with one of them that no other recording could have."""

LEAST_ENERGY = 1.0
"""Of a sample, in steps of PCM16 squared: what is softer is digital silence, which is like everything."""

SOFTEST = 0.01
"""Of the energy of the sound: where a recording has less of it, it is not what was heard."""

WORDS_PER_S = 2.5
UNKNOWN = "I would like to know what the weather will be like in the city on the day after tomorrow please".split()
"""The words where nobody wrote down what is said, again and again, at a person's pace."""

Wave = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Known:
    wave: Wave
    words: tuple[str, ...]
    ends_s: tuple[float, ...]  # when each word has been said


class Script:
    """The words of some recordings, and where in them each is."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        """Only speech has words."""
        self._known = [_known(recording) for recording in recordings if recording.kind != "noise"]
        longest = max((one.wave.size for one in self._known), default=1)
        self._size = 1 << (longest + round(MATCHED_S * MATCH_HZ)).bit_length()
        padded = np.zeros((len(self._known), self._size))
        for row, one in zip(padded, self._known, strict=True):
            row[: one.wave.size] = one.wave
        self._spectra = np.fft.rfft(padded)
        # Twice around, for a piece may begin before the recording does, which is near the end of its circle.
        around = np.pad(np.tile(np.square(padded), 2), ((0, 0), (1, 0)))
        self._energies = np.cumsum(around, axis=1, dtype=np.float64)  # of all samples before each
        self._recent: tuple[int, ...] = ()

    def words(self, pcm: Pcm) -> str:
        """What is said in the sound, shape (n,), at MIC_RATE_HZ; "" where it is of no recording that is known."""
        wave = _wave(pcm, MIC_RATE_HZ)
        sought = wave[-round(MATCHED_S * MATCH_HZ) :]
        energy = float(np.square(sought).sum())
        if not self._known or energy < LEAST_ENERGY * sought.size:
            return ""
        which, place, likeness = self._find(sought, energy, self._recent)
        if likeness < SURE:
            which, place, likeness = self._find(sought, energy, range(len(self._known)))
        if likeness < MATCHES:
            return ""
        self._recent = (which, *(other for other in self._recent if other != which))[:RECENT]
        begins = place - (self._size if place > self._size - sought.size else 0)
        until_s = (begins + sought.size) / MATCH_HZ
        since_s = until_s - wave.size / MATCH_HZ
        known = self._known[which]
        said = zip(known.words, known.ends_s, strict=True)
        return " ".join(word for word, end_s in said if since_s < end_s <= until_s)

    def _find(self, sought: Wave, energy: float, among: Sequence[int]) -> tuple[int, int, float]:
        """The recording of these that the sound is most like, where in it, and how much."""
        if not among:
            return 0, 0, 0.0
        rows = list(among)
        likeness = np.fft.irfft(self._spectra[rows] * np.conj(np.fft.rfft(sought, self._size)), self._size)
        energies = self._energies[rows]
        there = energies[:, sought.size : sought.size + self._size] - energies[:, : self._size]
        likeness /= np.sqrt(np.maximum(there, SOFTEST * energy) * energy)
        row, place = np.unravel_index(int(likeness.argmax()), likeness.shape)
        return rows[row], int(place), float(likeness[row, place])


def _known(recording: Recording) -> _Known:
    lasts_s = recording.end_s - recording.start_s
    words = (recording.transcript or "").split()
    if not words:
        count = max(1, round(lasts_s * WORDS_PER_S))
        words = [UNKNOWN[place % len(UNKNOWN)] for place in range(count)]
    ends_s = [recording.start_s + lasts_s * (place + 1) / len(words) for place in range(len(words))]
    return _Known(_wave(recording.pcm, REPLY_RATE_HZ), tuple(words), tuple(ends_s))


def _wave(pcm: Pcm, rate_hz: int) -> Wave:
    wave: Wave = soxr.resample(pcm.astype(np.float64), rate_hz, MATCH_HZ, quality="LQ")
    return wave
