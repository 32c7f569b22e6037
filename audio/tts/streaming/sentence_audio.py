"""Turns the sound of a sentence into reply audio: trimmed, at its loudness and rate, with word marks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import soxr

from audio.level import soften
from audio.tts import Chunk, WordMark
from audio.tts.sound import CHUNK_SAMPLES
from audio.tts.streaming.phonemes import WordPhonemes, weight
from audio.tts.streaming.sentence_sound import SentenceSound, Sound
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples, reply_samples_of_ms

_SILENCE_AMPLITUDE = 10 ** (-50 / 20)
"""Silence threshold, -50 dBFS at the reply's loudness: 4 dB below audibility. A voice's silence is not digital zero."""

_WINDOWS_PER_S = 200
_FADE_IN_S = 0.002
_FADE_OUT_S = 0.01
_DECAY_S = 0.02
"""Length kept, faded, after the last loud window, in seconds: sounds decay."""


@dataclass(frozen=True, slots=True)
class ReplyAudio:
    """Finished audio of a sentence or a part of it, at REPLY_RATE_HZ.

    Attributes:
        pcm: The audio; the last part ends with the pause after the sentence.
        marks: Marks of the words that begin in it, counted from its first sample.
    """

    pcm: Pcm
    marks: tuple[WordMark, ...]


class ReplySentence:
    """Turns the sound of a sentence into reply audio, piece by piece.

    The leading silence is cut, and the trailing one becomes a pause. So sound is held back while it may be the trailing
    silence. The resampler holds back 42 ms.
    """

    def __init__(
        self,
        sentence_sound: SentenceSound,
        rate_hz: int,
        gain: float,
        pause_ms: float,
        *,
        phonemes: Sequence[str],
        words: Sequence[WordPhonemes],
    ) -> None:
        self._sentence_sound = sentence_sound
        self._rate_hz = rate_hz
        self._gain = np.float32(gain)
        self._pause_samples = reply_samples_of_ms(pause_ms)
        self._phonemes = phonemes
        self._words = list(words)
        self._audible = _AudibleSpan(rate_hz)
        self._resampler = soxr.ResampleStream(rate_hz, REPLY_RATE_HZ, 1, dtype="float32", quality="HQ")
        self._ends = sentence_sound.ends
        self._begun = False  # the leading silence is cut
        self._held = np.zeros(0, np.float32)
        self._released = 0  # samples of the sentence before `_held`
        self._given = 0  # samples of reply audio so far
        self._marked = 0  # end of the last mark, in samples of reply audio

    def audio(self) -> Iterator[ReplyAudio]:
        """Yields the audio as the sentence is synthesized. That of a silent sentence is empty, with marks.

        Raises StoppedError, TtsError.
        """
        pieces = self._sentence_sound.pieces
        if self._ends is None:  # they are estimated from the whole sentence
            pieces = iter((np.concatenate([np.zeros(0, np.float32), *pieces]),))
        left = self._sentence_sound.samples
        for piece in pieces:
            left -= piece.size
            sound = piece * self._gain
            self._audible.add_samples(sound)
            self._held = np.concatenate((self._held, sound))
            if left > 0 and self._audible.begin is not None:
                pcm = soften(self._resampler.resample_chunk(self._release(self._audible.begin, self._audible.end)))
                if pcm.size:
                    yield self._part(pcm, self._audible.begin)
        yield self._last_part()

    def _release(self, begin: int, end: int) -> Sound:
        """Returns the sound that is certainly not trailing silence."""
        self._skip_silence(begin)
        # The sound that the fade-out at the end of the sentence may cover is held until the end is known.
        faded = self._released + self._held.size - round(_FADE_OUT_S * self._rate_hz)
        return self._take(max(self._released, min(end, faded)))

    def _skip_silence(self, begin: int) -> None:
        if self._begun:
            return
        self._begun = True
        self._take(begin)
        rise = min(round(_FADE_IN_S * self._rate_hz), self._held.size)
        self._held[:rise] *= (np.arange(rise, dtype=np.float32) + 1) / (rise + 1)

    def _take(self, until: int) -> Sound:
        count = until - self._released
        taken, self._held = self._held[:count], self._held[count:]
        self._released = until
        return taken

    def _last_part(self) -> ReplyAudio:
        begin, end = self._audible.begin, self._audible.end
        if begin is None:
            silent = ReplySamples(0)
            marks = tuple(WordMark(w.text_start, w.text_end, silent, silent, True) for w in self._words)
            return ReplyAudio(np.zeros(0, np.int16), marks)
        self._skip_silence(begin)
        sound = self._take(min(self._released + self._held.size, end + round(_DECAY_S * self._rate_hz)))
        fall = min(round(_FADE_OUT_S * self._rate_hz), sound.size)
        sound[sound.size - fall :] *= np.linspace(1, 0, fall, dtype=np.float32)
        at_rate = self._resampler.resample_chunk(sound, last=True)
        # A word whose mark was given before may be longer than what is audible of it.
        samples = max(_reply_at(end - begin, self._rate_hz) + self._pause_samples, self._marked)
        pcm = np.zeros(max(0, samples - self._given), np.float32)
        pcm[: at_rate.size] = at_rate[: pcm.size]
        return self._part(soften(pcm), begin, end)

    def _part(self, pcm: Pcm, begin: int, end: int | None = None) -> ReplyAudio:
        """Returns a part with its marks. `begin`, `end`: the audible span; no end before the last part."""
        until = self._given + pcm.size
        marks: list[WordMark] = []
        while self._words and (end is not None or self._reply_place(self._words[0].begin, begin) < until):
            word = self._words.pop(0)
            start = max(self._marked, self._reply_place(word.begin, begin, end))
            self._marked = max(start, self._reply_place(word.end, begin, end))
            estimated = word.guessed or self._sentence_sound.ends is None
            start, stop = ReplySamples(start - self._given), ReplySamples(self._marked - self._given)
            marks.append(WordMark(word.text_start, word.text_end, start, stop, estimated))
        self._given = until
        return ReplyAudio(pcm, tuple(marks))

    def _reply_place(self, phoneme: int, begin: int, end: int | None = None) -> int:
        """Returns where a phoneme begins, in samples of reply audio."""
        if self._ends is None:
            self._ends = _estimated_ends(self._phonemes, begin, self._audible.end)
        place = max(int(self._ends[phoneme]), begin)
        return _reply_at((place if end is None else min(place, end)) - begin, self._rate_hz)


class _AudibleSpan:
    """Finds the span from the first to after the last 5 ms window above the threshold.

    Attributes:
        begin: Its first sample; None while there is none.
        end: The sample after it, so far.
    """

    def __init__(self, rate_hz: int) -> None:
        self.begin: int | None = None
        self.end = 0
        self._window = rate_hz // _WINDOWS_PER_S
        self._rest = np.zeros(0, np.float32)
        self._done = 0

    def add_samples(self, sound: Sound) -> None:
        """Adds the next samples, at the reply's loudness."""
        sound = np.concatenate((self._rest, sound))
        whole = sound.size // self._window * self._window
        power = np.square(sound[:whole]).reshape(-1, self._window).mean(axis=1)
        loud = np.flatnonzero(power > _SILENCE_AMPLITUDE**2)
        if loud.size:
            self.begin = self._done + int(loud[0]) * self._window if self.begin is None else self.begin
            self.end = self._done + int(loud[-1] + 1) * self._window
        self._rest, self._done = sound[whole:], self._done + whole


def chunks(part: ReplyAudio, offset: int, marks: Sequence[WordMark] = ()) -> Iterator[Chunk]:
    """Yields the audio in chunks. `offset`: samples of the text before it; marks count from the text's first sample.

    `marks` are those of preceding words without audio of their own.
    """
    moved = [
        replace(mark, start=ReplySamples(mark.start + offset), end=ReplySamples(mark.end + offset))
        for mark in (*marks, *part.marks)
    ]
    size = part.pcm.size
    for start in range(0, size, CHUNK_SAMPLES):
        stop = min(size, start + CHUNK_SAMPLES)
        begun = len(moved) if stop == size else sum(1 for mark in moved if mark.start < offset + stop)
        yield Chunk(part.pcm[start:stop], tuple(moved[:begun]))
        moved = moved[begun:]


def _estimated_ends(phonemes: Sequence[str], begin: int, end: int) -> npt.NDArray[np.int64]:
    """Returns the end of every phoneme in samples, as `SentenceSound.ends`, for a voice without durations."""
    weights = np.array([weight(symbol) for symbol in phonemes])
    # Speech ends with the audio: punctuation at the end is the pause after it.
    audible = np.flatnonzero(weights == 1.0)
    weights[audible[-1] + 1 if audible.size else 0 :] = 0
    share = np.concatenate(([0.0], np.cumsum(weights))) / max(1.0, weights.sum())
    places: npt.NDArray[np.int64] = begin + np.rint(share * (end - begin)).astype(np.int64)
    return places


def _reply_at(sample: int, rate_hz: int) -> ReplySamples:
    return ReplySamples(round(sample * REPLY_RATE_HZ / rate_hz))
