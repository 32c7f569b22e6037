"""The turn of whoever speaks: what of it is known, and the attempts at answering it while it lasts. Pure.

An attempt starts at a silence: its words are asked for, and asked for again when they have settled. Others than before
begin it anew. When it ends, and whether it is answered, is decided in `assistant.turns.machine`.
"""

from dataclasses import dataclass, field
from typing import Literal

from assistant.turns.backchannel import plain_words
from assistant.turns.events import (
    AbandonReason,
    DiscardSegment,
    DropAttempt,
    DropReason,
    Effect,
    Effects,
    FinalTranscript,
    PrepareReply,
    ReplyId,
    Transcribe,
    TranscriptFailed,
    TurnDiscarded,
)
from assistant.turns.resume_guard import ResumeGuard
from assistant.turns.settings import TurnSettings
from audio.stt import SegmentId
from audio.units import Samples, ms_of_samples, s_of_samples, samples_of_ms, samples_of_s
from audio.vad import VadResult

EARLY_ATTEMPTS = 8
EARLY_ATTEMPTS_PER_S = 1.0
"""A turn may cost this many requests before a silence is sure, and as many more for each second that it lasts."""

RECHECK_MS = 40.0
RECHECK_APART_MS = 30.0
"""Words that were asked for early are asked for again after so long, if the time when they have settled is not near."""

LATE_ATTEMPT_MS = 160.0
"""A silence that has lasted this long is worth an attempt, and an estimate, whatever the turn has cost."""

SURELY_VOICE = 0.75
"""What the detector's probability of a voice reaches somewhere in whatever is said, and not in noise (docs/vad.md)."""

Void = Literal["", "noise", "overheard", "called", "backchannel"]
"""Why words are none to be answered; "" if they are."""

_WITHOUT_TEXT = frozenset({"noise", "backchannel"})


@dataclass(slots=True)
class Attempt:
    """At answering a turn.

    Attributes:
        text: All words of the turn; None before they have come.
        added: Those of them that are not in the history yet.
        asked_ms: After how much silence its words were asked for.
        settled: Nothing better will come.
        draft: Nothing has confirmed its words yet: it is never committed with them.
        void: Why its words are none to be answered.
    """

    reply: ReplyId
    text: str | None = None
    new_text: str = ""
    low_confidence: bool = False
    transcript_lost: bool = False
    asked_ms: float = 0.0
    settled: bool = False
    draft: bool = False
    ignored_because: Void = ""

    @property
    def ready(self) -> bool:
        """Its words have come."""
        return self.text is not None


@dataclass(slots=True)
class UserTurn:
    """The one turn that is open.

    Attributes:
        earlier: Words of segments that were committed and then retracted.
        attempts: So far, dropped ones too: no id is used twice.
        begun: Of them, without those that only asked for words again.
        recheck: Its words asked for again.
        forced: Ended by its length or the client: the voice that still goes on does not reopen it.
        overlong: Ended by its length in the midst of voice.
        submitted: Ended by the client.
        wait_ms: For the silence at hand, as it was judged last.
        owed: An answer is due even if nothing more was said.
        surest: How probably the detector heard a voice where it was surest of one.
        look: Wherever a silence has lasted long enough.
        cut: The reply that goes on if it turns out to be nothing: it cut that one, or came before that went on.
        early: It cut a reply right behind its beginning: whoever speaks goes on with what they had said.
    """

    number: int
    segment: SegmentId
    onset: Samples
    speech_end: Samples
    earlier: tuple[str, ...] = ()
    earlier_rough: bool = False
    attempts: int = 0
    begun: int = 0
    attempt: Attempt | None = None
    recheck: Attempt | None = None
    endpoint: Samples | None = None
    forced: bool = False
    overlong: bool = False
    submitted: bool = False
    wait_ms: float | None = None
    reply_owed: bool = False
    cut: ReplyId | None = None
    early: bool = False
    answered: bool = True
    surest: float = 0.0
    resume_guard: ResumeGuard = field(default_factory=ResumeGuard)

    def hears(self, voicing: VadResult) -> None:
        """A frame of it; what is no voice says nothing."""
        self.surest = max(self.surest, certainty(voicing))

    def vouched_for(self) -> None:
        """Somebody says that there is a turn, or was called by name in it: it does not take the detector's word."""
        self.surest = 1.0

    def too_long(self, at: Samples, settings: TurnSettings) -> bool:
        """It has lasted as long as a turn may."""
        return at - self.onset >= samples_of_s(settings.max_turn_s)

    # ---- attempts ----

    def speculate(self, at: Samples, speech_end: Samples, settings: TurnSettings) -> Effects:
        """A silence, or what may become one: prepare an answer, in case."""
        self.speech_end = speech_end
        speculate_ms = settings.speculate_after_ms
        if speculate_ms is None or settings.manual:
            return ()
        attempt, silence = self.attempt, at - speech_end
        if attempt is None:
            early = self.begun < EARLY_ATTEMPTS + EARLY_ATTEMPTS_PER_S * s_of_samples(at - self.onset)
            after_ms = speculate_ms if early else max(speculate_ms, LATE_ATTEMPT_MS)
            if silence < samples_of_ms(after_ms):
                return ()
            return (self.begin_attempt(at, speech_end, settings, draft=True),)
        if attempt.settled or not attempt.ready or self.recheck is not None:
            return ()
        return self._ask_again(attempt, ms_of_samples(silence), speech_end, settings)

    def begin_attempt(self, at: Samples, speech_end: Samples, settings: TurnSettings, *, draft: bool = False) -> Effect:
        """Ask for the words, to answer them; `draft`: or for a draft of them, where they have not settled."""
        self.attempts += 1
        self.begun += 1
        asked_ms = ms_of_samples(at - speech_end)
        settled = asked_ms >= settings.settle_ms or self.forced
        self.attempt = Attempt(ReplyId(self.number, self.attempts), asked_ms=asked_ms, settled=settled)
        return Transcribe(
            self.attempt.reply,
            self.segment,
            speech_end,
            early=not settled,
            draft=draft and self.answered and not settled,
        )

    def _ask_again(self, attempt: Attempt, silence_ms: float, speech_end: Samples, settings: TurnSettings) -> Effects:
        """Ask for the words again when they have settled, and on the way there, to learn of others sooner."""
        settle_ms = settings.settle_ms
        again_ms = attempt.asked_ms + RECHECK_MS
        if silence_ms < (again_ms if again_ms <= settle_ms - RECHECK_APART_MS else settle_ms):
            return ()
        return (self._recheck(attempt, silence_ms, speech_end, settled=silence_ms >= settle_ms),)

    def settle(self, at: Samples, settings: TurnSettings) -> Effects:
        """Words have come: where they have had time to settle they are asked for again at once.

        The next frame, with which that would be done else, is up to 20 ms away.
        """
        attempt = self.attempt
        if attempt is None or not attempt.ready or self.recheck is not None:
            return ()
        return () if ms_of_samples(at - self.speech_end) < settings.settle_ms else self.confirm(at)

    def confirm(self, at: Samples) -> Effects:
        """The turn is over, and its words were asked for before they had settled: they are asked for once more."""
        attempt = self.attempt
        if attempt is None or attempt.settled or attempt.transcript_lost:
            return ()
        return (self._recheck(attempt, ms_of_samples(at - self.speech_end), self.speech_end, settled=True),)

    def _recheck(self, attempt: Attempt, silence_ms: float, speech_end: Samples, *, settled: bool) -> Effect:
        attempt.asked_ms, attempt.settled = silence_ms, settled  # or will be, with the answer
        self.attempts += 1
        reply = ReplyId(self.number, self.attempts)
        self.recheck = Attempt(reply, asked_ms=silence_ms, settled=settled)
        return Transcribe(reply, self.segment, speech_end, early=not settled)

    def drop_attempts(self, why: DropReason) -> Effects:
        """What was prepared is of no use."""
        dropped = tuple(
            DropAttempt(attempt.reply, why) for attempt in (self.attempt, self.recheck) if attempt is not None
        )
        self.attempt = self.recheck = None
        return dropped

    # ---- their words ----

    def told(self, event: FinalTranscript | TranscriptFailed, *, doubted: bool = False) -> Effects | None:
        """The words that an attempt asked for, or that they are lost; None as in `transcribed`.

        `doubted`: A guess is only believed if this was surely a voice.
        """
        if isinstance(event, TranscriptFailed):
            return self.transcribed(event.reply, "", rough=False, unheard=True, void="")
        words, text = event.transcript, event.transcript.text.strip()
        noise = doubted and words.low_confidence and bool(text) and self.surest < SURELY_VOICE
        only_listens = self.cut is not None and self.answered and not (self.early or self.forced or self.reply_owed)
        said: Void = "" if event.ignored_because == "backchannel" and not only_listens else event.ignored_because
        void: Void = "noise" if noise else said
        effects = self.transcribed(event.reply, text, rough=words.low_confidence, unheard=False, void=void)
        attempt = self.attempt
        if not words.is_draft or effects is None or attempt is None or attempt.reply != event.reply:
            return effects
        attempt.draft = True
        return (*effects, self._recheck(attempt, attempt.asked_ms, self.speech_end, settled=False))

    def transcribed(self, reply: ReplyId, text: str, *, rough: bool, unheard: bool, void: Void) -> Effects | None:
        """The words that an attempt asked for; None where it was dropped, and they come too late to matter."""
        if self.recheck is not None and self.recheck.reply == reply:
            self.recheck.ignored_because = void
            return self._rechecked(self.recheck, text, rough=rough, unheard=unheard)
        attempt = self.attempt
        if attempt is None or attempt.reply != reply or attempt.ready:
            return None
        if void in _WITHOUT_TEXT:
            text, rough = "", False
        attempt.text, attempt.new_text = " ".join((*self.earlier, text)).strip(), text
        attempt.low_confidence, attempt.transcript_lost, attempt.ignored_because = (
            rough or self.earlier_rough,
            unheard,
            void,
        )
        return (prepared(attempt),) if self.answered and (attempt.text or unheard or self.reply_owed) else ()

    def _rechecked(self, recheck: Attempt, text: str, *, rough: bool, unheard: bool) -> Effects | None:
        """The words, asked for again: the same, and the attempt goes on, or others, and it begins anew."""
        attempt, self.recheck = self.attempt, None
        assert attempt is not None, "what is asked for again was asked for before"
        if recheck.ignored_because == attempt.ignored_because and recheck.ignored_because in _WITHOUT_TEXT:
            text = attempt.new_text
        same = plain_words(text) == plain_words(attempt.new_text)
        if attempt.draft and same and not unheard and recheck.ignored_because != "noise":
            # As sure as the words, not as the draft: of less sound a decoder is sometimes sure of what nobody said.
            attempt.draft, attempt.ignored_because, attempt.low_confidence = (
                False,
                recheck.ignored_because,
                rough or self.earlier_rough,
            )
            return (DropAttempt(recheck.reply, "same words"),)
        if not attempt.draft and (unheard or same):
            attempt.ignored_because = (
                attempt.ignored_because if unheard or recheck.ignored_because == "noise" else recheck.ignored_because
            )
            # One decoder may know the words before the other, which is surer of them, does.
            attempt.low_confidence = (attempt.low_confidence and (rough or unheard)) or self.earlier_rough
            return (DropAttempt(recheck.reply, "same words"),)
        self.attempt = recheck
        self.begun += attempt.draft  # it cost a request of its own
        others = self.transcribed(recheck.reply, text, rough=rough, unheard=unheard, void=recheck.ignored_because)
        return (DropAttempt(attempt.reply, "other words"), *(others or ()))

    def nothing(self, at: Samples, why: AbandonReason) -> Effects:
        """It ends without an answer."""
        dropped = self.drop_attempts(why)
        nothing = TurnDiscarded(self.number, at, self.speech_end, why, self.submitted)
        return (*dropped, DiscardSegment(self.segment, self.number), nothing)


def certainty(voicing: VadResult) -> float:
    """How sure the detector is that somebody speaks in this frame; the trace keeps it of voice."""
    return as_traced(voicing.probability) if voicing.speaking else 0.0


def as_traced(probability: float) -> float:
    """As finely as the trace keeps it, in 8 bits, so that a replay of the trace decides alike."""
    return round(probability * 255) / 255


def prepared(attempt: Attempt) -> PrepareReply:
    """Its answer is to be begun."""
    assert attempt.text is not None, "words have come"
    return PrepareReply(attempt.reply, attempt.text, attempt.new_text, attempt.transcript_lost)
