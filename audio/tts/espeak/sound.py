"""Turns the library's output into reply audio: trimmed, at the right rate and loudness, with word marks.

Incremental; no I/O, no clock: raw buffers in; chunks out as soon as all words that begin in them are placed.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import soxr

from audio.level import soften
from audio.tts import Chunk, WordMark
from audio.tts.espeak.library import ESPEAK_RATE_HZ, WordEvent
from audio.tts.espeak.text import word_at
from audio.tts.sound import CHUNK_SAMPLES
from audio.tts.text_pieces import words
from audio.units import FULL_SCALE, REPLY_RATE_HZ, Pcm, ReplySamples

QUALITY = "HQ"
"""Resampler quality. HQ holds back 42 ms, LQ 1 ms. Synthesis is 1500 times faster than real time: HQ costs 0.03 ms."""

_SILENT = 16
"""Largest sample of silence (-66 dBFS). espeak-ng's own silence is zero to the bit."""

_FADE_IN = ESPEAK_RATE_HZ * 2 // 1000
_FADE_OUT = ESPEAK_RATE_HZ * 3 // 1000

_MAX_WAIT = 3 * ESPEAK_RATE_HZ
"""A chunk waits for the end of its last word, but at most for 3 s of audio; then the end is estimated."""

_Sound = npt.NDArray[np.float32]


class WordPlaces:
    """Computes when each word sounds. All positions are samples at ESPEAK_RATE_HZ from the first audible one.

    The library reports fewer words than there are ("of the" is one) or more ("12.50" is four). Words without an event
    share the time of the preceding word in proportion to their lengths, and are marked as estimated.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = words(text)
        self._next = 0  # the first word without a place
        self._latest = 0  # the word of the latest event
        self._start = 0  # where the words from _next up to _latest begin

    @property
    def placed_until(self) -> int | None:
        """Position before which no unplaced word begins; None when all are placed."""
        return self._start if self._next < len(self._spans) else None

    def event(self, offset: int, length: int, position: int, sound_end: int) -> list[WordMark]:
        """Processes the start of a word at `position`; the last sound before it ended at `sound_end`."""
        word = word_at(self._text, self._spans, offset, length)
        if word <= self._latest:
            return []
        marks = self._place(word, position, sound_end) if position > self._start else []
        self._latest = word
        return marks

    def waited(self, position: int, sound_end: int) -> list[WordMark]:
        """Notes that audio is known up to `position` without another word start."""
        if self._next > self._latest:
            self._start = max(position, self._start)
        elif position - self._start > _MAX_WAIT:
            return self._place(self._next + 1, position, sound_end, estimated=True)
        return []

    def finish(self, sound_end: int) -> list[WordMark]:
        """Places all remaining words at the end of the audio."""
        self._start = min(self._start, sound_end)
        return self._place(len(self._spans), sound_end, sound_end)

    def _place(self, until: int, position: int, sound_end: int, *, estimated: bool = False) -> list[WordMark]:
        """Places words from `_next` up to `until` between `_start` and `sound_end`. The next begins at `position`."""
        spans = self._spans[self._next : until]
        position = max(position, self._start)
        end = min(position, max(sound_end, self._start))  # words in silence have no length, because this may be the end
        letters = sum(stop - start for start, stop in spans)
        marks, spoken_letters, start = [], 0, self._start
        for span in spans:
            spoken_letters += span[1] - span[0]
            stop = self._start + (end - self._start) * spoken_letters // letters
            marks.append(WordMark(*span, reply_at(start), reply_at(stop), estimated or len(spans) > 1))
            start = stop
        self._next, self._start = max(until, self._next), position
        return marks


class EspeakChunkAudio:
    """Produces the audio chunks of one text. Not thread-safe."""

    def __init__(self, text: str, gain: float) -> None:
        """Creates it. `gain` sets the loudness; it is constant, so that the volume does not pump."""
        self._gain = gain
        self._places = WordPlaces(text)
        self._resampler = soxr.ResampleStream(ESPEAK_RATE_HZ, REPLY_RATE_HZ, 1, dtype="float32", quality=QUALITY)
        self._lead: int | None = None  # leading silence that was cut; None before the first sound
        self._seen = 0  # raw samples received, including the lead
        self._sound_end = 0  # position after the last audible sample, without the lead
        self._held = np.zeros(0, np.int16)  # the last sound and the silence after it, perhaps the end
        self._fade_in = _FADE_IN
        self._ready = np.zeros(0, np.int16)
        self._given = 0  # reply samples returned
        self._marks: list[WordMark] = []

    def feed(self, raw: Pcm, events: tuple[WordEvent, ...]) -> Iterator[Chunk]:
        """Processes the next buffer with the words that begin in it (offsets in the text, samples in this buffer)."""
        base = self._seen
        self._seen += raw.size
        sounding = np.flatnonzero(np.abs(raw.astype(np.int32)) > _SILENT)
        if self._lead is None:
            if not sounding.size:
                return
            self._lead = base + int(sounding[0])
            raw = raw[sounding[0] :]
        base -= self._lead
        for event in events:
            position = max(0, base + event.sample)
            before = bisect_left(sounding, event.sample)
            sound_end = base + int(sounding[before - 1]) + 1 if before else self._sound_end
            self._marks += self._places.event(event.offset, event.length, position, sound_end)
        if sounding.size:
            self._sound_end = base + int(sounding[-1]) + 1
        until = self._seen - self._lead
        self._marks += self._places.waited(until, self._sound_end)
        self._pass_on(raw, until)
        yield from self._whole_chunks()

    def finish(self, pause_ms: float) -> Iterator[Chunk]:
        """Ends the text: fades the end, keeps at most `pause_ms` of the silence after it, yields all that is left."""
        if self._lead is None:
            return
        end = reply_at(self._sound_end)  # words that were placed in the silence after it are at its end, too
        marks = self._marks + self._places.finish(self._sound_end)
        self._marks = [replace(mark, start=min(mark.start, end), end=min(mark.end, end)) for mark in marks]
        silence = self._seen - self._lead - self._sound_end
        pause = min(silence, round(pause_ms * ESPEAK_RATE_HZ / 1000))
        last = _floats(self._held[: self._held.size - silence + pause])
        fade = min(_FADE_OUT, last.size - pause)
        last[last.size - pause - fade : last.size - pause] *= np.linspace(1, 0, fade, dtype=np.float32)
        last[last.size - pause :] = 0
        self._resample(last, last=True)
        while self._ready.size > CHUNK_SAMPLES:
            yield self._cut(CHUNK_SAMPLES)
        yield Chunk(self._ready, tuple(self._marks))

    def _pass_on(self, raw: Pcm, until: int) -> None:
        """Holds back what may be the end of the text and resamples the rest."""
        held = np.concatenate((self._held, raw))
        sure = max(0, held.size - (until - self._sound_end) - _FADE_OUT)
        self._held = held[sure:]
        self._resample(_floats(held[:sure]), last=False)

    def _resample(self, sound: _Sound, *, last: bool) -> None:
        if self._fade_in and sound.size:
            done = _FADE_IN - self._fade_in
            ramp = (np.arange(done, _FADE_IN, dtype=np.float32)[: sound.size] + 1) / (_FADE_IN + 1)
            sound[: ramp.size] *= ramp
            self._fade_in -= ramp.size
        made = self._resampler.resample_chunk(sound, last=last)
        self._ready = np.concatenate((self._ready, soften(made * np.float32(self._gain))))

    def _whole_chunks(self) -> Iterator[Chunk]:
        while self._ready.size >= CHUNK_SAMPLES:
            placed = self._places.placed_until
            if placed is not None and reply_at(placed) < self._given + CHUNK_SAMPLES:
                return
            yield self._cut(CHUNK_SAMPLES)

    def _cut(self, size: int) -> Chunk:
        self._given += size
        begun = sum(1 for mark in self._marks if mark.start < self._given)
        chunk = Chunk(self._ready[:size], tuple(self._marks[:begun]))
        self._ready, self._marks = self._ready[size:], self._marks[begun:]
        return chunk


def reply_at(sample: int) -> ReplySamples:
    """Converts a position at ESPEAK_RATE_HZ to REPLY_RATE_HZ, rounded to the nearest."""
    return ReplySamples(round(sample * REPLY_RATE_HZ / ESPEAK_RATE_HZ))


def _floats(pcm: Pcm) -> _Sound:
    return pcm.astype(np.float32) / np.float32(FULL_SCALE)
