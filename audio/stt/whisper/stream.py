"""Decodes one speech segment with Whisper: decides what to decode when, and which result answers a request."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from audio.errors import SttError
from audio.languages.conversation_language import ConversationLanguage
from audio.languages.words import evidence_words
from audio.stt import FirstWord, SegmentId, Transcript
from audio.stt.whisper.decode_scheduler import EARLY, ConversationShare, Decode, DecodeScheduler, Kind
from audio.stt.whisper.encoder_window import SETTLE_S, WINDOW_S, cut_at
from audio.stt.whisper.local_agreement import Agreement
from audio.stt.whisper.model import Decoded
from audio.stt.whisper.trailing_silence import TrailingSilence
from audio.units import MIC_RATE_HZ, Pcm, Samples, samples_of_ms, samples_of_s

MAX_BACKLOG_S = 120.0
"""Audio that may wait for its final decode, in seconds; beyond that the model counts as hanging."""

_LACKING_SAMPLES = samples_of_ms(700)
"""Silence that a final decode may lack at its end: the longest hangover of a profile.

The decode of a pause starts after 60 ms of silence. With a smaller value than the hangover its result would be useless
and a second decode would be needed.
"""

_PAUSE_SAMPLES = samples_of_ms(60)
"""Silence after which a decode starts, so that it is done when the transcript is requested after the hangover."""

_RESUMED_SAMPLES = samples_of_ms(300)
"""Sound without a pause after which the user counts as speaking again: a key, a click or a breath is shorter."""

_INTERIM_INTERVAL_FACTOR = 4.0
"""New audio before the next interim decode, as a multiple of the duration of the conversation's last decode.

It is multiplied by the number of segments per worker. So four fifths of the model's time stay free, whatever the number
of speakers. A decode can be aborted only at its midpoint, and a requested transcript would wait for that.
"""

_SEVERAL_SEGMENTS_FACTOR = 2.0
"""Further multiple with more segments than workers: of their decodes, those at dips are more often the last one
(docs/lab/stt.md)."""


_EXAMINED_SAMPLES = samples_of_ms(60)
"""Sound after an examination of the first word, within which another one is requested if it did not decide."""

_DIP_SAMPLES = samples_of_ms(100)
"""Time after a dip within which its decode may start, if the model was busy."""

_DIP_TOOK_S = 0.25
"""Decodes slower than this are not started at dips, in seconds.

An early transcript and a second decode to confirm it would come later than a decode started on request. Model `base`
takes 0.13 to 0.2 s on one thread.
"""

LACKING_EARLY_SAMPLES = samples_of_ms(40)
"""Speech that an early transcript may lack at its end."""

LACKING_DRAFT_SAMPLES = samples_of_ms(200)
"""Speech that a draft may lack at its end."""

_RECHECK_WITHIN_SAMPLES = samples_of_ms(160)
"""Time within which an early transcript is requested again, or the user has continued to speak."""

_MARGIN_SAMPLES = samples_of_ms(40)
"""Audio after the end of speech that the final transcript covers, as one end in ten is dated too early
(docs/lab/vad.md)."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A pending request for the transcript.

    Attributes:
        ticket: Its place in the scheduler's order.
        requested_until: Position up to which the transcript was requested.
        sufficient_until: Position up to which a decode lacks no speech.
        early: The transcript will be requested again.
        draft_from: Position from which a decode suffices for a draft; None: no draft.
        answer: Receives the transcript.
    """

    ticket: int
    requested_until: int
    sufficient_until: int
    early: bool
    draft_from: int | None
    answer: asyncio.Future[Transcript]

    @property
    def is_pending(self) -> bool:
        """Whether no final result has arrived. After a draft, decoding continues because it will be requested again."""
        answer = self.answer
        return not answer.done() or (not answer.cancelled() and answer.exception() is None and answer.result().is_draft)


class WhisperStream:
    """The decoding of one segment. Implements `RecognitionStream`. Positions are samples from its beginning."""

    def __init__(
        self,
        scheduler: DecodeScheduler,
        share: ConversationShare,
        segment: SegmentId,
        interval: Samples,
        on_interim: Callable[[Transcript], None],
    ) -> None:
        """Opens the segment. Raises SttError if there is no model.

        `interval` is the minimum new audio between two interim decodes.
        """
        self.segment = segment
        self.share = share
        self._scheduler = scheduler
        self._interval = interval
        self._on_interim = on_interim
        self._open = True
        self._failure: SttError | None = None
        self._requests: list[_Request] = []
        self._first_word: tuple[int, asyncio.Future[FirstWord | None]] | None = None  # ticket and answer of a request
        self._examined_until = -_EXAMINED_SAMPLES  # where the first word was examined last
        self._draft_ticket: int | None = None  # ticket of the request that got a draft
        self._chunks: list[Pcm] = []  # the audio from `_window` to `_fed`
        self._window = 0
        self._fed = 0
        self._trailing_silence = TrailingSilence()
        self._settled: list[str] = []  # the words before `_window`
        self._settled_guesses: list[str] = []  # the same, with words that were taken for noise
        self._settled_low_confidence = False
        self._settled_evidence: dict[str, int] = {}  # words before `_window` that are evidence for each language
        self._latest: tuple[int, Decoded] | None = None  # position and result; good enough to be final
        self._provisional: tuple[int, Decoded] | None = None  # likewise; only good enough for an early request
        self._recheck_until = 0  # position up to which an early transcript will be requested again
        self._end_reported_at = 0  # position at which a request last told the end of speech; 0 if speech went on
        self._pause_until = 0  # end of the last pause so far
        self._dip: int | None = None  # position of the last drop of the speech probability
        self._started_until = 0  # end of the last started decode
        self._final_started_until = 0  # end of the last started decode that may be final
        self._sure_until = 0  # up to here the sound is certainly in the language of the turn before
        self._language = ""  # of the last transcript, if the conversation has several
        self._agreement = Agreement()
        self._agreed_until = 0
        self._last_interim = ""
        scheduler.add_client(self)

    # RecognitionStream

    def feed(self, pcm: Pcm) -> None:
        """Appends samples. Raises SttError if the model failed, the buffer is full or the segment has ended."""
        self._check()
        if self._fed + len(pcm) - self._window > samples_of_s(MAX_BACKLOG_S):
            self.fail(SttError(f"faster-whisper is {MAX_BACKLOG_S:g} s behind: use a smaller model or more threads"))
            self._check()
        if not self._requests:
            self._draft_ticket = None  # the caller that got a draft has given up
        self._chunks.append(pcm.copy())
        self._fed += len(pcm)
        self._trailing_silence.feed(pcm)
        if self._trailing_silence.samples >= _PAUSE_SAMPLES:
            self._pause_until = self._fed
        self._scheduler.serve()

    def probability_dip(self) -> None:
        """Decodes the audio so far as soon as the model is free, which suffices for an early request at the end."""
        self._dip = self._fed
        self._scheduler.serve()

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        """Returns the transcript of everything fed so far.

        Raises SttError if the model fails or the segment is closed, and BusyError if other conversations come first for
        too long; it may be requested again.
        """
        self._check()
        if not early and not draft and self._draft_ticket is None:
            self._scheduler.check_wait(self)
        sufficient_until = self._fed - self._trailing_silence.samples
        if speech_end is not None:
            end = speech_end - self.segment
            if early:
                self._recheck_until = min(end + _MARGIN_SAMPLES, self._fed)
            self._end_reported_at = self._fed
            sufficient_until = min(
                sufficient_until, end - LACKING_EARLY_SAMPLES if early else max(end, self._recheck_until)
            )
        sure = self._recheck_until
        # A request after a draft keeps the ticket of the first one.
        ticket, self._draft_ticket = self._scheduler.ticket(self._draft_ticket), None
        request = _Request(
            ticket,
            self._fed,
            max(sufficient_until, self._fed - _LACKING_SAMPLES),
            early,
            speech_end - self.segment - LACKING_DRAFT_SAMPLES if draft and speech_end is not None else None,
            asyncio.get_running_loop().create_future(),
        )
        self._requests.append(request)
        self._answer_requests()
        self._scheduler.serve()
        try:
            return await request.answer
        except asyncio.CancelledError:
            if self._recheck_until == sure:
                # The user continued: this transcript will not be requested again.
                self._recheck_until = self._end_reported_at = 0
            raise
        finally:
            self._requests = [other for other in self._requests if other is not request]

    async def first_word(self) -> FirstWord | None:
        """See `RecognitionStream`. None if it is later than the first window, or the language is not known yet.

        Raises SttError if the model fails or the segment is closed.
        """
        self._check()
        if self.share.language is None or self._window > 0:
            return None
        answer: asyncio.Future[FirstWord | None] = asyncio.get_running_loop().create_future()
        self._first_word = request = self._scheduler.ticket(), answer
        self._scheduler.serve()
        try:
            return await answer
        finally:
            if self._first_word is request:
                self._first_word = None

    def close(self) -> None:
        """Ends the segment. Pending requests are still answered. Its language is that of the turn."""
        if self._open:
            self.share.turn_ended(self._language)
        self._open = False

    def cancel(self) -> None:
        """Ends the segment. Only pending requests are still decoded."""
        self._open = False

    # DecodeClient

    @property
    def oldest_ticket(self) -> int | None:
        """The ticket of the oldest pending request; None if there is none."""
        tickets = [request.ticket for request in self._requests if request.is_pending]
        return min([*tickets, *(self._first_word or ())[:1]], default=None)

    @property
    def is_finished(self) -> bool:
        """Whether it needs no more decodes."""
        return self._failure is not None or not (self._open or self.oldest_ticket is not None)

    def needed_decode(self, segments_per_worker: float) -> Kind | None:
        """Returns what to decode now: old audio to settle, a requested transcript, a pause, an interim transcript."""
        length = self._fed - self._window
        awaited = self.oldest_ticket is not None
        if length == 0 or (self.share.background and not awaited):
            return None
        if awaited:
            return self._requested_decode(length)
        if length > samples_of_s(SETTLE_S):
            return "settle"
        if not self._end_is_decoded and self._final_until < self._final_from:
            return "pause"
        examined = self._fed - self._examined_until < _EXAMINED_SAMPLES
        if self._end_is_decoded or self._trailing_silence.samples >= _PAUSE_SAMPLES or examined:
            return None  # another decode would delay the next requested transcript or examination
        return self._needed_early_decode(segments_per_worker)

    def _requested_decode(self, length: int) -> Kind:
        if self._first_word is not None:
            return "first_word"
        if length > samples_of_s(WINDOW_S):
            return "settle"
        return "soon" if all(request.early for request in self._requests if request.is_pending) else "final"

    def _needed_early_decode(self, segments_per_worker: float) -> Kind | None:
        fresh, took = self._fed - self._started_until, self.share.took_s * segments_per_worker * MIC_RATE_HZ
        new = self._dip is not None and self._dip > self._started_until and self._fed - self._dip <= _DIP_SAMPLES
        if new and fresh >= took * segments_per_worker and self.share.took_s <= _DIP_TOOK_S:
            return "probability_dip"  # at once for a single segment, rarely for many
        factor = _INTERIM_INTERVAL_FACTOR * (_SEVERAL_SEGMENTS_FACTOR if segments_per_worker > 1 else 1.0)
        return "interim" if fresh >= max(self._interval, factor * took) else None

    def satisfied_by(self, decode: Decode) -> bool:
        """Returns whether this decode satisfies all requests, or will if the current silence continues."""
        if decode.kind == "first_word":
            return self._first_word is not None
        if decode.start != self._window or self._first_word is not None:
            return False
        if self.oldest_ticket is None:
            return 0 < self._final_from <= decode.until
        return all(decode.until >= request.sufficient_until for request in self._requests)

    @property
    def _final_from(self) -> int:
        """Position that a decode must reach to be final if nothing more is said."""
        quiet = self._trailing_silence.samples
        sure = self._recheck_until if self._fed - self._recheck_until <= _RECHECK_WITHIN_SAMPLES else 0
        return max(sure, self._fed - quiet if quiet >= _PAUSE_SAMPLES else 0)

    @property
    def _end_is_decoded(self) -> bool:
        """Whether the speech has ended as far as known, and a decode covers the end that was reported.

        Noise after the end is then no pause of its own: its decode would delay those of other conversations. A dip
        says that the detector has heard speech again, and so does sound that lasts.
        """
        until, end = self._final_until, self._end_reported_at
        has_dip = self._dip is not None and self._dip > end
        spoken_again = has_dip or self._fed - max(end, self._pause_until) >= _RESUMED_SAMPLES
        return 0 < self._recheck_until <= until and not spoken_again and self._fed - until <= _LACKING_SAMPLES

    @property
    def _final_until(self) -> int:
        """Position up to which a decode that may be final has begun."""
        return max(self._final_started_until, self._latest[0] if self._latest is not None else 0)

    def start_decode(self, kind: Kind) -> Decode:
        """Returns the decode for the reason `kind`, which starts now."""
        sound = self._sound()
        if kind == "settle":
            sound = sound[: cut_at(sound)]
        elif kind != "first_word":
            self._started_until = self._fed
            if kind not in EARLY:
                self._final_started_until = self._fed
        languages, until = self._languages(), self._window + len(sound)
        is_settled = languages != self.share.languages  # without languages, decodes are in that of the turn before
        if languages is not None and not is_settled and not languages.may_differ(until, self._sure_until):
            languages = None
        return Decode(self._window, until, kind, sound, languages)

    def on_decoded(self, decode: Decode, decoded: Decoded, took_s: float) -> None:
        """Processes the result of a decode."""
        if decode.kind == "first_word":
            self._answer_first_word(decoded.first_word)
            return
        self.share.took_s = took_s
        if decoded.sure_of_current:
            self._sure_until = max(self._sure_until, decode.until)
        if decode.start != self._window:
            return  # an interim decode whose beginning was settled meanwhile
        good = not decoded.was_aborted
        if decode.kind == "soon" and decoded.was_aborted:
            # Sufficient for an early request. Meanwhile the full window is tried, as in a pause.
            self._provisional, self._final_started_until = (decode.until, decoded), 0
        newest = self._latest is None or decode.until >= self._latest[0]
        if decode.kind == "settle":
            self._settle(decode, decoded)
        elif good and newest:
            self._latest = (decode.until, decoded)
        self._answer_requests()
        if decode.kind != "settle" and good and newest:  # last, because the listener may raise
            self._report_interim(decode, decoded)
            self._report_draft(decode, decoded)

    def fail(self, error: SttError) -> None:
        """Fails all pending and later requests with `error`."""
        self._failure = self._failure or error
        answers: list[asyncio.Future[Any]] = [request.answer for request in self._requests]
        for answer in (*answers, *([self._first_word[1]] if self._first_word is not None else [])):
            if not answer.done():
                answer.set_exception(error)

    def _answer_first_word(self, word: FirstWord | None) -> None:
        request, self._first_word = self._first_word, None
        self._examined_until = self._fed
        if request is not None and not request[1].done():
            request[1].set_result(word)

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
        self._settled_guesses.append(decoded.text or decoded.guess)
        self._settle_language(decoded)
        self.share.tokens.settle(self.segment, decoded.tokens)
        self._settled_low_confidence = self._settled_low_confidence or _has_low_confidence(decoded)
        self._latest = self._provisional = None  # they start at the old window
        self._agreement = self._agreement.after_cut(decoded.text)

    def _settle_language(self, decoded: Decoded) -> None:
        before = self._languages()
        self._settled_evidence = self._evidence(decoded.text, decoded)
        if self._languages() != before:
            self._sure_until = 0  # it was certain of the language before

    def _evidence(self, text: str, decoded: Decoded | None) -> dict[str, int]:
        """Returns the words that are evidence for each language of the segment, with those of the last decode."""
        evidence = dict(self._settled_evidence)
        if decoded is not None and text and self.share.languages is not None:
            evidence[decoded.language] = evidence.get(decoded.language, 0) + evidence_words(text)
        return evidence

    def _languages(self) -> ConversationLanguage | None:
        """Returns the languages of the next decode: the current one is that of the settled words."""
        languages, evidence = self.share.languages, self._settled_evidence
        if languages is None or not any(evidence.values()):
            return languages
        return languages.after_turn(max(evidence, key=lambda language: evidence[language]))

    def _answer_requests(self) -> None:
        for request in self._requests:
            if request.answer.done():
                continue
            if self._fed == self._window:
                words = self._transcript(request.requested_until, "", low_confidence=self._settled_low_confidence)
                request.answer.set_result(replace(words, guess=self._guess("", words.text)))
            elif (result := self._sufficient_result(request)) is not None:
                until, decoded = result
                self.share.tokens.add_transcript(self.segment, decoded.tokens)
                low_confidence = self._settled_low_confidence or _has_low_confidence(decoded)
                words = self._transcript(
                    max(until, request.requested_until), decoded.text, low_confidence=low_confidence, decoded=decoded
                )
                self._language = words.language or self._language
                request.answer.set_result(
                    replace(
                        words,
                        punctuation=decoded.punctuation,
                        other_language=decoded.other_language,
                        guess=self._guess(decoded.text or decoded.guess, words.text),
                    )
                )
            elif (result := self._draft_result(request)) is not None:
                until, decoded = result
                words = self._transcript(until, decoded.text, low_confidence=False, decoded=decoded)
                request.answer.set_result(replace(words, is_draft=True))
                self._draft_ticket = request.ticket

    def _draft_result(self, request: _Request) -> tuple[int, Decoded] | None:
        if (
            request.draft_from is None
            or self._latest is None
            or self._settled_low_confidence
            or self._scheduler.has_several_clients
        ):
            return None  # with many segments a wrong draft costs CPU time of others
        until, decoded = self._latest
        return self._latest if until >= request.draft_from and decoded.text and not decoded.failed_check else None

    def _sufficient_result(self, request: _Request) -> tuple[int, Decoded] | None:
        results = (self._latest, self._provisional if request.early else None)
        return next(
            (result for result in results if result is not None and result[0] >= request.sufficient_until), None
        )

    def _report_interim(self, decode: Decode, decoded: Decoded) -> None:
        until, self._agreed_until = self._agreed_until, decode.until
        low_confidence = self._settled_low_confidence or _has_low_confidence(decoded)
        stable = self._agreement.update(decoded.text)
        words = self._transcript(until, stable, low_confidence=low_confidence, decoded=decoded)
        if self._open and words.text != self._last_interim:
            self._last_interim = words.text
            self._on_interim(words)

    def _report_draft(self, decode: Decode, decoded: Decoded) -> None:
        """Reports all words of a decode that nobody has requested, if they are likely."""
        usable = decoded.text and not decoded.failed_check and not self._settled_low_confidence
        if not usable or not self._open or self._requests or self._scheduler.has_several_clients:
            return
        words = self._transcript(decode.until, decoded.text, low_confidence=False, decoded=decoded)
        self._on_interim(replace(words, punctuation=decoded.punctuation, is_draft=True))

    def _transcript(self, until: int, text: str, *, low_confidence: bool, decoded: Decoded | None = None) -> Transcript:
        whole = " ".join(part for part in (*self._settled, text) if part)
        evidence = self._evidence(text, decoded)
        language = max(evidence, key=lambda language: evidence[language], default="")  # of equal ones, the earlier one
        return Transcript(self.segment, Samples(self.segment + until), whole, low_confidence, language=language)

    def _guess(self, newest: str, text: str) -> str:
        """Returns all words, also words that were taken for noise; "" if there are none of these."""
        whole = " ".join(part for part in (*self._settled_guesses, newest) if part)
        return "" if whole == text else whole


def _has_low_confidence(decoded: Decoded) -> bool:
    return bool(decoded.failed_check and decoded.text)
