"""One segment heard by Whisper: which part of it to decode when, and which decode answers for its words."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from audio.errors import SttError
from audio.stt import SegmentId, Transcript
from audio.stt.whisper.decode_scheduler import EARLY, ConversationShare, Decode, DecodeScheduler, Kind
from audio.stt.whisper.encoder_window import SETTLE_S, WINDOW_S, cut_at
from audio.stt.whisper.local_agreement import Agreement
from audio.stt.whisper.model import Decoded
from audio.stt.whisper.trailing_silence import TrailingSilence
from audio.units import MIC_RATE_HZ, Pcm, Samples, samples_of_ms, samples_of_s

LANE_S = 120.0
"""Sound that may wait to be decoded for good; beyond that the model counts as hanging."""

_LACKING_SAMPLES = samples_of_ms(700)
"""Quiet that a decode may lack at its end and still be the final one: the longest hangover of a profile. The decode of
a pause is begun after 60 ms of it, and with less than the hangover it would be in vain and a second one waited for."""

_PAUSE_SAMPLES = samples_of_ms(60)
"""Quiet from which a decode is begun, so that it is done when the words are asked for after the hangover."""

_REST = 4.0
"""A partial waits until so many times the duration of the conversation's last decode has been heard, and that times the
segments that share a worker: four fifths of the model's time stay free, however many speak. A decode can be broken off
at its half only, and words that somebody waits for would come after it."""


_DIP_SAMPLES = samples_of_ms(100)
"""So long after a dip its decode may begin, should the model have been busy."""

_DIP_TOOK_S = 0.25
"""Longer decodes are not begun at dips: early words and a second decode to confirm them would come later than the one
that is begun when words are asked for. `base` takes 0.13 to 0.2 s on one thread."""

LACKING_EARLY_SAMPLES = samples_of_ms(40)
"""Speech that early words may lack at their end ..."""

LACKING_DRAFT_SAMPLES = samples_of_ms(200)
"""... speech that a draft may lack ..."""

_SURE_SAMPLES = samples_of_ms(160)
"""So long behind them, or sooner, words that were asked for early are asked for again, or the voice has gone on."""

_MARGIN_SAMPLES = samples_of_ms(40)
"""... and what the final ones reach beyond it: a detector dates one end in ten earlier than that (docs/vad.md)."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Somebody who waits for the words up to `need`; a decode up to `enough` lacks no speech. `early`: asks again.

    `draft_from`: a decode up to there will do for a draft; None: none will.
    """

    ticket: int
    need: int
    enough: int
    early: bool
    draft_from: int | None
    answer: asyncio.Future[Transcript]

    @property
    def waits(self) -> bool:
        """Its words have not come; behind a draft they are decoded before they are asked for again."""
        answer = self.answer
        return not answer.done() or (not answer.cancelled() and answer.exception() is None and answer.result().is_draft)


class WhisperStream:
    """One segment. Implements `RecognitionStream`. Positions are in samples from the segment's beginning."""

    def __init__(
        self,
        desk: DecodeScheduler,
        account: ConversationShare,
        segment: SegmentId,
        interval: Samples,
        on_partial: Callable[[Transcript], None],
    ) -> None:
        """Begin; `interval` is the least new sound from one partial to the next. Raises SttError: no model."""
        self.segment = segment
        self.account = account
        self._desk = desk
        self._interval = interval
        self._on_partial = on_partial
        self._open = True
        self._failure: SttError | None = None
        self._waiting: list[_Waiting] = []
        self._place: int | None = None  # in the queue, of who got a draft
        self._chunks: list[Pcm] = []  # the sound from `_window` to `_fed`
        self._window = 0
        self._fed = 0
        self._quiet = TrailingSilence()
        self._settled: list[str] = []  # the words before `_window`
        self._settled_rough = False
        self._latest: tuple[int, Decoded] | None = None  # until where, and what: good enough to be final
        self._spoilt: tuple[int, Decoded] | None = None  # likewise, good enough for who asks again only
        self._sure = 0  # up to where words that were asked for early will be asked for again
        self._dip: int | None = None  # where the sound was last less surely speech than before
        self._tried = 0  # until where the last decode was begun
        self._pause_tried = 0  # the same of one that is good enough to be final
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
        if not self._waiting:
            self._place = None  # whoever got a draft does not want the words any more
        self._chunks.append(pcm.copy())
        self._fed += len(pcm)
        self._quiet.feed(pcm)
        self._desk.serve()

    def probability_dip(self) -> None:
        """Decode what there is, as soon as the model is free: if the speech ends here, that will do for early words."""
        self._dip = self._fed
        self._desk.serve()

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        """The words of everything fed so far. Raises SttError where the model fails, or after the end."""
        self._check()
        enough = self._fed - self._quiet.samples
        if speech_end is not None:
            end = speech_end - self.segment
            if early:
                self._sure = min(end + _MARGIN_SAMPLES, self._fed)
            enough = min(enough, end - LACKING_EARLY_SAMPLES if early else max(end, self._sure))
        sure = self._sure
        # Who got a draft asks again at once, and has waited since then.
        ticket, self._place = self._place or self._desk.ticket(), None
        waiting = _Waiting(
            ticket,
            self._fed,
            max(enough, self._fed - _LACKING_SAMPLES),
            early,
            speech_end - self.segment - LACKING_DRAFT_SAMPLES if draft and speech_end is not None else None,
            asyncio.get_running_loop().create_future(),
        )
        self._waiting.append(waiting)
        self._answer()
        self._desk.serve()
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            if self._sure == sure:
                self._sure = 0  # the voice went on: nobody will ask again for the words up to there
            raise
        finally:
            self._waiting = [other for other in self._waiting if other is not waiting]

    def close(self) -> None:
        """End the segment. Words already asked for still come."""
        self._open = False

    def cancel(self) -> None:
        """End the segment: nothing is decoded any more but for those who wait for it already."""
        self._open = False

    # Customer

    @property
    def asked(self) -> int | None:
        """The ticket of whoever waits longest for its words; None where nobody does."""
        return min((waiting.ticket for waiting in self._waiting if waiting.waits), default=None)

    @property
    def over(self) -> bool:
        """Whether it wants nothing any more."""
        return self._failure is not None or not (self._open or self.asked is not None)

    def wants(self, crowd: float) -> Kind | None:
        """What to decode now: old sound that must go, what somebody waits for, a pause, a partial."""
        length = self._fed - self._window
        awaited = self.asked is not None
        if length == 0:
            return None
        if length > samples_of_s(WINDOW_S if awaited else SETTLE_S):
            return "settle"
        if awaited:
            return "soon" if all(waiting.early for waiting in self._waiting if waiting.waits) else "final"
        if max(self._pause_tried, self._latest[0] if self._latest is not None else 0) < self._due:
            return "pause"
        if self._quiet.samples >= _PAUSE_SAMPLES:
            return None  # another one would be in the way of the words that will be asked for next
        return self._wants_early(crowd)

    def _wants_early(self, crowd: float) -> Kind | None:
        fresh, took = self._fed - self._tried, self.account.took_s * crowd * MIC_RATE_HZ
        new = self._dip is not None and self._dip > self._tried and self._fed - self._dip <= _DIP_SAMPLES
        if new and fresh >= took * crowd and self.account.took_s <= _DIP_TOOK_S:
            return "dip"  # alone as soon as the last decode is done, in a crowd hardly ever
        return "partial" if fresh >= max(self._interval, _REST * took) else None

    def served_by(self, decode: Decode) -> bool:
        """Whether this decode is enough for whoever waits, or will be if what is quiet now stays so."""
        if decode.start != self._window:
            return False
        if self.asked is None:
            return 0 < self._due <= decode.until
        return all(decode.until >= waiting.enough for waiting in self._waiting)

    @property
    def _due(self) -> int:
        """Up to where a decode must reach to be final, should nothing more be said."""
        quiet = self._quiet.samples
        sure = self._sure if self._fed - self._sure <= _SURE_SAMPLES else 0
        return max(sure, self._fed - quiet if quiet >= _PAUSE_SAMPLES else 0)

    def take(self, kind: Kind) -> Decode:
        """The decode of what it wants, which is being begun."""
        sound = self._sound()
        if kind == "settle":
            sound = sound[: cut_at(sound)]
        else:
            self._tried = self._fed
            if kind not in EARLY:
                self._pause_tried = self._fed
        return Decode(self._window, self._window + len(sound), kind, sound)

    def done(self, decode: Decode, decoded: Decoded, took_s: float) -> None:
        """Take what was decoded."""
        self.account.took_s = took_s
        if decode.start != self._window:
            return  # a partial beside which the beginning of its sound was settled
        good = not decoded.was_aborted
        if decode.kind == "soon" and decoded.was_aborted:
            # Will do for whoever asks again; meanwhile the full window is tried, as in a pause.
            self._spoilt, self._pause_tried = (decode.until, decoded), 0
        newest = self._latest is None or decode.until >= self._latest[0]
        if decode.kind == "settle":
            self._settle(decode, decoded)
        elif good and newest:
            self._latest = (decode.until, decoded)
        self._answer()
        if decode.kind != "settle" and good and newest:
            self._tell_partial(decode, decoded)  # last: the listener may raise

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

    def _settle(self, decode: Decode, decoded: Decoded) -> None:
        sound = self._sound()[decode.until - self._window :]
        self._chunks = [sound.copy()]
        self._window = decode.until
        self._settled.append(decoded.text)
        self._settled_rough = self._settled_rough or _rough(decoded)
        self._latest = self._spoilt = None  # they began at the old window
        self._agreement = self._agreement.behind(decoded.text)

    def _answer(self) -> None:
        for waiting in self._waiting:
            if waiting.answer.done():
                continue
            if self._fed == self._window:
                waiting.answer.set_result(self._words(waiting.need, "", rough=self._settled_rough))
            elif (found := self._serving(waiting)) is not None:
                until, decoded = found
                rough = self._settled_rough or _rough(decoded)
                words = self._words(max(until, waiting.need), decoded.text, rough=rough)
                waiting.answer.set_result(
                    replace(words, punctuation=decoded.closure, other_language=decoded.other_language)
                )
            elif (found := self._draft(waiting)) is not None:
                until, decoded = found
                words = self._words(until, decoded.text, rough=False)
                waiting.answer.set_result(replace(words, is_draft=True))
                self._place = waiting.ticket

    def _draft(self, waiting: _Waiting) -> tuple[int, Decoded] | None:
        if waiting.draft_from is None or self._latest is None or self._settled_rough or self._desk.crowded:
            return None  # in a crowd a wrong one takes the processor from somebody else's words
        until, decoded = self._latest
        return self._latest if until >= waiting.draft_from and decoded.text and not decoded.doubt else None

    def _serving(self, waiting: _Waiting) -> tuple[int, Decoded] | None:
        found = (self._latest, self._spoilt if waiting.early else None)
        return next((one for one in found if one is not None and one[0] >= waiting.enough), None)

    def _tell_partial(self, decode: Decode, decoded: Decoded) -> None:
        until, self._agreed_until = self._agreed_until, decode.until
        words = self._words(until, self._agreement.hear(decoded.text), rough=self._settled_rough or _rough(decoded))
        if self._open and words.text != self._partial:
            self._partial = words.text
            self._on_partial(words)

    def _words(self, until: int, text: str, *, rough: bool) -> Transcript:
        whole = " ".join(part for part in (*self._settled, text) if part)
        return Transcript(self.segment, Samples(self.segment + until), whole, rough)


def _rough(decoded: Decoded) -> bool:
    return bool(decoded.doubt and decoded.text)
