"""Turns a sentence of a Piper voice into reply audio: trimmed, at its loudness and rate, with word marks. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import soxr

from audio.level import soften
from audio.tts import Chunk, WordMark
from audio.tts.piper_model import SentenceSound, Sound
from audio.tts.piper_words import WordPhonemes, weight
from audio.tts.sound import CHUNK_SAMPLES
from audio.units import REPLY_RATE_HZ, Pcm, ReplySamples, reply_samples_of_ms

_SILENCE_AMPLITUDE = 10 ** (-50 / 20)
"""Silence threshold, -50 dBFS at the reply's loudness: 4 dB below audibility. A voice's silence is not digital zero."""

_WINDOWS_PER_S = 200
_FADE_IN_S = 0.002
_FADE_OUT_S = 0.01
_DECAY_S = 0.02
"""Length kept, faded, after the last loud window, in seconds: sounds decay."""


@dataclass(frozen=True, slots=True)
class ReplySentence:
    """A finished sentence: its audio at REPLY_RATE_HZ with the pause after it, and its word marks."""

    pcm: Pcm
    marks: tuple[WordMark, ...]


def finished(
    sentence_sound: SentenceSound,
    rate_hz: int,
    gain: float,
    pause_ms: float,
    *,
    phonemes: Sequence[str],
    words: Sequence[WordPhonemes],
) -> ReplySentence:
    """Cuts the leading silence, makes the trailing one `pause_ms` long, and marks the words."""
    begin, end = _audible_span(sentence_sound.sound * np.float32(gain), rate_hz)
    if begin == end:
        marks = tuple(WordMark(w.text_start, w.text_end, ReplySamples(0), ReplySamples(0), True) for w in words)
        return ReplySentence(np.zeros(0, np.int16), marks)
    stop = min(sentence_sound.sound.size, end + round(_DECAY_S * rate_hz))
    sound = sentence_sound.sound[begin:stop] * np.float32(gain)
    _fade(sound, rate_hz)
    at_rate = soxr.resample(sound, rate_hz, REPLY_RATE_HZ, quality="HQ")
    audible = _reply_at(end - begin, rate_hz)
    pause = np.zeros(reply_samples_of_ms(pause_ms), np.float32)
    tail = at_rate[audible : audible + pause.size]
    pause[: tail.size] = tail
    pcm = soften(np.concatenate((at_rate[:audible], pause)))
    places = _places(sentence_sound, phonemes, begin, end)
    marks = tuple(_mark(word, places, rate_hz, begin, end, said=sentence_sound.ends is not None) for word in words)
    return ReplySentence(pcm, marks)


def chunks(sentence: ReplySentence, offset: int, marks: Sequence[WordMark] = ()) -> Iterator[Chunk]:
    """Yields the sentence in chunks. `offset`: samples of the text before it; marks count from the text's first sample.

    `marks` are those of preceding words without audio of their own.
    """
    moved = [
        replace(mark, start=ReplySamples(mark.start + offset), end=ReplySamples(mark.end + offset))
        for mark in (*marks, *sentence.marks)
    ]
    size = sentence.pcm.size
    for start in range(0, size, CHUNK_SAMPLES):
        stop = min(size, start + CHUNK_SAMPLES)
        begun = len(moved) if stop == size else sum(1 for mark in moved if mark.start < offset + stop)
        yield Chunk(sentence.pcm[start:stop], tuple(moved[:begun]))
        moved = moved[begun:]


def _audible_span(sound: Sound, rate_hz: int) -> tuple[int, int]:
    """Returns the span from the first to after the last 5 ms window above the threshold; (0, 0) if there is none."""
    window = rate_hz // _WINDOWS_PER_S
    whole = sound.size // window * window
    power = np.square(sound[:whole]).reshape(-1, window).mean(axis=1)
    loud = np.flatnonzero(power > _SILENCE_AMPLITUDE**2)
    return (int(loud[0]) * window, int(loud[-1] + 1) * window) if loud.size else (0, 0)


def _fade(sound: Sound, rate_hz: int) -> None:
    rise = min(round(_FADE_IN_S * rate_hz), sound.size)
    fall = min(round(_FADE_OUT_S * rate_hz), sound.size)
    sound[:rise] *= (np.arange(rise, dtype=np.float32) + 1) / (rise + 1)
    sound[sound.size - fall :] *= np.linspace(1, 0, fall, dtype=np.float32)


def _places(sentence_sound: SentenceSound, phonemes: Sequence[str], begin: int, end: int) -> npt.NDArray[np.int64]:
    """Returns the end of every phoneme in samples; the first entry is the start of the first phoneme."""
    if sentence_sound.ends is not None:
        return sentence_sound.ends
    weights = np.array([weight(symbol) for symbol in phonemes])
    # Speech ends with the audio: punctuation at the end is the pause after it.
    audible = np.flatnonzero(weights == 1.0)
    weights[audible[-1] + 1 if audible.size else 0 :] = 0
    share = np.concatenate(([0.0], np.cumsum(weights))) / max(1.0, weights.sum())
    places: npt.NDArray[np.int64] = begin + np.rint(share * (end - begin)).astype(np.int64)
    return places


def _mark(
    word: WordPhonemes, places: npt.NDArray[np.int64], rate_hz: int, begin: int, end: int, *, said: bool
) -> WordMark:
    start = min(max(int(places[word.begin]), begin), end) - begin
    stop = min(max(int(places[word.end]), begin), end) - begin
    estimated = word.guessed or not said
    return WordMark(word.text_start, word.text_end, _reply_at(start, rate_hz), _reply_at(stop, rate_hz), estimated)


def _reply_at(sample: int, rate_hz: int) -> ReplySamples:
    return ReplySamples(round(sample * REPLY_RATE_HZ / rate_hz))
