"""One segment heard by Whisper: which part of it to decode when, and which decode answers for its words."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from audio.errors import SttError
from audio.stt import SegmentId, Words
from audio.stt.whisper_agreement import Agreement
from audio.stt.whisper_desk import Decode, WhisperDesk
from audio.stt.whisper_model import Decoded
from audio.stt.whisper_quiet import TrailingQuiet
from audio.stt.whisper_window import SETTLE_S, WINDOW_S, cut_at
from audio.units import MIC_RATE_HZ, Pcm, Samples, samples_of_ms, samples_of_s

LANE_S = 120.0
"""Sound that may wait to be decoded for good; beyond that the model counts as hanging."""

_LACKING_SAMPLES = samples_of_ms(200)
"""Quiet that a decode may lack at its end and still be the final one."""

_PAUSE_SAMPLES = samples_of_ms(60)
"""Quiet from which a decode is begun, so that it is done when the words are asked for after the hangover."""

_REST = 2.0
"""A partial waits until so many times the duration of the last decode has been heard: half of the thread stays free."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Somebody who waits for the words up to `need`; a decode up to `enough` lacks only quiet."""

    need: int
    enough: int
    answer: asyncio.Future[Words]


class WhisperHearing:
    """One segment. Implements `Hearing`. Positions are in samples from the segment's beginning."""

    def __init__(
        self, desk: WhisperDesk, segment: SegmentId, interval: Samples, on_partial: Callable[[Words], None]
    ) -> None:
        """Begin; `interval` is the least new sound from one partial to the next."""
        self.segment = segment
        self._desk = desk
        self._interval = interval
        self._on_partial = on_partial
        self._open = True
        self._failure: SttError | None = None
        self._waiting: list[_Waiting] = []
        self._chunks: list[Pcm] = []  # the sound from `_window` to `_fed`
        self._window = 0
        self._fed = 0
        self._quiet = TrailingQuiet()
        self._settled: list[str] = []  # the words before `_window`
        self._settled_rough = False
        self._latest: tuple[int, Decoded] | None = None  # until where, and what: good enough to be final
        self._tried = 0  # until where the last decode was begun
        self._pause_tried = 0  # the same of one that is good enough to be final
        self._rest = 0.0
        self._agreement = Agreement()
        self._agreed_until = 0
        self._partial = ""
        desk.enter(self)

    # Hearing

    def feed(self, pcm: Pcm) -> None:
        """Take samples. Raises SttError where the model failed or its lane is full, or after the end."""
        self._check()
        if self._fed + len(pcm) - self._window > samples_of_s(LANE_S):
            self.fail(SttError(f"faster-whisper is {LANE_S:g} s behind: use a smaller model or more threads"))
            self._check()
        self._chunks.append(pcm.copy())
        self._fed += len(pcm)
        self._quiet.feed(pcm)
        self._desk.serve()

    async def words(self) -> Words:
        """The words of everything fed so far. Raises SttError where the model fails, or after the end."""
        self._check()
        waiting = _Waiting(
            self._fed,
            self._fed - min(self._quiet.samples, _LACKING_SAMPLES),
            asyncio.get_running_loop().create_future(),
        )
        self._waiting.append(waiting)
        self._answer()
        self._desk.serve()
        try:
            return await waiting.answer
        finally:
            self._waiting = [other for other in self._waiting if other is not waiting]

    def close(self) -> None:
        """End the segment. Words already asked for still come."""
        self._open = False

    def cancel(self) -> None:
        """End the segment: what is being decoded is of no use to anybody but those who wait for it already."""
        self._open = False

    # Customer

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for its words."""
        return any(not waiting.answer.done() for waiting in self._waiting)

    @property
    def over(self) -> bool:
        """Whether it wants nothing any more."""
        return self._failure is not None or not (self._open or self.awaited)

    def next(self) -> Decode | None:
        """What to decode now: old sound that must go, what somebody waits for, a pause, a partial."""
        length = self._fed - self._window
        if length == 0:
            return None
        if length > samples_of_s(WINDOW_S if self.awaited else SETTLE_S):
            cut = cut_at(self._sound())
            return Decode(self._window + cut, "settle", self._sound()[:cut])
        if self.awaited:
            return self._begin("final")
        quiet = self._quiet.samples
        if quiet >= _PAUSE_SAMPLES:
            # Once for a pause: another one would be in the way of the words that will be asked for next.
            return self._begin("final") if self._pause_tried < self._fed - quiet else None
        return self._begin("partial") if self._fed - self._tried >= max(self._interval, self._rest) else None

    def done(self, decode: Decode, decoded: Decoded, took_s: float) -> None:
        """Take what was decoded."""
        self._rest = took_s * _REST * MIC_RATE_HZ
        if decode.kind == "settle":
            self._settle(decode, decoded)
        elif decode.kind == "final" or not decoded.doubt:
            if self._latest is None or decode.until >= self._latest[0]:
                self._latest = (decode.until, decoded)
            self._tell_partial(decode, decoded)
        self._answer()

    def fail(self, error: SttError) -> None:
        """Whoever waits, asks or feeds from now on is told."""
        self._failure = self._failure or error
        for waiting in self._waiting:
            if not waiting.answer.done():
                waiting.answer.set_exception(error)

    def _check(self) -> None:
        if not self._open:
            raise SttError(f"Segment {self.segment} has ended; open a new one.")
        if self._failure is not None:
            raise self._failure

    def _sound(self) -> Pcm:
        if len(self._chunks) != 1:
            self._chunks = [np.concatenate(self._chunks)]
        return self._chunks[0]

    def _begin(self, kind: Literal["partial", "final"]) -> Decode:
        self._tried = self._fed
        if kind == "final":
            self._pause_tried = self._fed
        return Decode(self._fed, kind, self._sound())

    def _settle(self, decode: Decode, decoded: Decoded) -> None:
        sound = self._sound()[decode.until - self._window :]
        self._chunks = [sound.copy()]
        self._window = decode.until
        self._settled.append(decoded.text)
        self._settled_rough = self._settled_rough or _rough(decoded)
        self._latest = None  # it began at the old window
        self._agreement = Agreement()

    def _answer(self) -> None:
        for waiting in self._waiting:
            if waiting.answer.done():
                continue
            if self._fed == self._window:
                waiting.answer.set_result(self._words(waiting.need, "", rough=self._settled_rough))
            elif self._latest is not None and self._latest[0] >= waiting.enough:
                until, decoded = self._latest
                rough = self._settled_rough or _rough(decoded)
                waiting.answer.set_result(self._words(max(until, waiting.need), decoded.text, rough=rough))

    def _tell_partial(self, decode: Decode, decoded: Decoded) -> None:
        until, self._agreed_until = self._agreed_until, decode.until
        words = self._words(until, self._agreement.hear(decoded.text), rough=self._settled_rough or _rough(decoded))
        if self._open and words.text != self._partial:
            self._partial = words.text
            self._on_partial(words)

    def _words(self, until: int, text: str, *, rough: bool) -> Words:
        whole = " ".join(part for part in (*self._settled, text) if part)
        return Words(self.segment, Samples(self.segment + until), whole, rough)


def _rough(decoded: Decoded) -> bool:
    return bool(decoded.doubt and decoded.text)
