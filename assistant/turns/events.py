"""Defines the events of the turn-taking machine in `assistant.turns.turn_taking`; its effects: `effects.py`.

Every `position` is one on the sample clock.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assistant.speakers.verdict import VoiceVerdict
from audio.sound_id import SoundId
from audio.stt import SegmentId, Transcript
from audio.units import Samples
from audio.vad import VadResult

if TYPE_CHECKING:
    from assistant.end_of_turn.estimator import EndOfTurnEstimate


@dataclass(frozen=True, slots=True, order=True)
class ReplyId(SoundId):
    """Identifies one attempt at a reply. All audio for the speaker carries the id of its attempt."""

    turn: int
    attempt: int


AbandonReason = Literal[
    "no words", "noise", "stuck", "requested", "cleared", "overheard", "called", "backchannel",
    "other voice",
]  # fmt: skip
"""Reason for which a turn ends without a reply.

- no words: the transcript is empty.
- noise: the transcript has low confidence, and the VAD was not certain of a voice.
- stuck: a transcript or a reply did not arrive in time.
- requested: another reply was requested.
- cleared: the client discarded the input.
- overheard: the speech was not addressed to the assistant.
- called: the turn is the wake phrase alone.
- backchannel: the speech that interrupted a reply was only a backchannel.
- other voice: it was the speech of a voice that the assistant does not listen to.
"""

Origin = Literal["spoken", "greeting", "announcement", "ring", "requested", "repeated", "resumed"]
"""Cause of a reply.

- spoken: speech of the user.
- greeting: the start of the conversation.
- announcement: an event without user input.
- ring: a timer, alarm or reminder that rings until it is stopped.
- requested: a request of the client, for example typed text.
- repeated: the last reply is said again.
- resumed: the rest of an interrupted reply is said.
"""

DropReason = AbandonReason | Literal["went on", "same words", "other words"]
"""Reason for dropping an attempt: its turn ended, the user continued, or later words were the same or others."""

Acceptable = Literal["draft", "early", "settled"]
"""Stability that a requested transcript must have.

- draft: it may lack the last word. A reply is only prepared from it.
- early: it has all words so far. They may still change.
- settled: it does not change any more, however short the silence is, because the turn is over for good.
"""


@dataclass(frozen=True, slots=True)
class FrameProcessed:
    """Reports the VAD result of one microphone frame, which ends at `position`.

    Frames arrive every 20 ms and also serve as the machine's clock.
    """

    position: Samples
    vad: VadResult


@dataclass(frozen=True, slots=True)
class InterimTranscript:
    """Reports the interim transcript of the open segment.

    Attributes:
        has_wake_phrase: The transcript contains the wake phrase. It interrupts a reply in every mode.
        was_requested: The transcript answers a `RequestTranscript`. If the speech has ended, no better one follows.
        is_echo: The words were the reply's own, picked up from the loudspeaker. The transcript is then empty.
        after_question: The last sentence of the reply that was heard is a question, so "yeah" is an answer.
        ignorable: The transcript is empty, and only the first word was examined: the probability that it begins a
            backchannel or an echo, or is no word; see `ignorable_probability`. None: there is a transcript.
    """

    position: Samples
    transcript: Transcript
    has_wake_phrase: bool = False
    was_requested: bool = False
    is_echo: bool = False
    after_question: bool = False
    ignorable: float | None = None


@dataclass(frozen=True, slots=True)
class DraftTranscript:
    """Reports the words of a decode that was made while the user speaks.

    Attributes:
        transcript: A draft. It may lack the last words up to `transcript.until`, and all that is said after it.
        sentence_end: Probability, 0..1, that a sentence ends after its last word.
    """

    position: Samples
    transcript: Transcript
    sentence_end: float


@dataclass(frozen=True, slots=True)
class EndOfTurnScored:
    """Reports an estimate, made during a silence, of whether the turn is over."""

    position: Samples
    segment: SegmentId
    estimate: "EndOfTurnEstimate"


@dataclass(frozen=True, slots=True)
class TranscriptExpected:
    """Reports that a transcript for the current attempt follows: its first one, or a later one that may be better.

    Attributes:
        reply_id: The id of the transcript. The first one has the id of the attempt. If a later one has other words,
            they begin an attempt with this id.
        settled: It will not change any more. A turn is only committed with such a transcript.
    """

    position: Samples
    reply_id: ReplyId
    settled: bool


@dataclass(frozen=True, slots=True)
class FinalTranscript:
    """Reports a final transcript for an attempt.

    Attributes:
        ignored_because: Why the transcript is not answered; "" if it is answered. A transcript that is ignored has no
            text. One with text, a backchannel or words to somebody else, is only ignored if it interrupted a reply.
        answer_expected: The user is told aloud if clear speech has no words: in a call, and after a question.
        calls_assistant: The transcript contains the wake phrase. Reported only where voices are judged.
    """

    position: Samples
    reply_id: ReplyId
    transcript: Transcript
    ignored_because: Literal["", "overheard", "called", "backchannel"] = ""
    answer_expected: bool = False
    calls_assistant: bool = False


@dataclass(frozen=True, slots=True)
class VoiceJudged:
    """Reports whose voice the recent speech is, where the assistant listens to some voices only.

    Attributes:
        since: Where the judged speech begins.
        until: Where it ends. A late verdict ends well before `position`, and says nothing about speech after it.
        verdict: Whose voice it is. An unsure verdict counts as the user's own voice.
    """

    position: Samples
    since: Samples
    until: Samples
    verdict: VoiceVerdict


@dataclass(frozen=True, slots=True)
class TranscriptFailed:
    """Reports that speech recognition failed or timed out. The reply then tells the user so."""

    position: Samples
    reply_id: ReplyId
    segment: SegmentId


@dataclass(frozen=True, slots=True)
class PlaybackProgress:
    """Reports how much of the reply the user has heard.

    Attributes:
        words_heard: The number of complete words that were played.
        audible: Some sound of the reply was played.
        has_effect: The reply has called a tool or changed something, so it is not made again once a word was heard.
    """

    position: Samples
    reply_id: ReplyId
    words_heard: int
    audible: bool
    has_effect: bool = False


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """Reports that the reply has ended: it was played completely, or it failed and said so."""

    position: Samples
    reply_id: ReplyId


@dataclass(frozen=True, slots=True)
class ReplyRequested:
    """Requests a reply that no user speech caused.

    What happens depends on the origin:

    - greeting: said if nobody speaks now; otherwise never.
    - announcement: said as soon as nobody speaks, or `at_once`.
    - ring: begins if nobody speaks now; otherwise never.
    - requested: answers the history as it is, including typed text. It replaces the current reply.
    - repeated: says the last reply again. It replaces the current reply, unless a new one is about to begin.
    - resumed: says the rest of an interrupted reply, in response to `ResumeReply`.

    Attributes:
        text: The text to say; "" for "requested".
        after_current_reply: The current reply is complete as generated so far. It is played to its end before this one.
        at_once: An announcement replaces the current reply. Speech in progress becomes a turn after it.
    """

    position: Samples
    origin: Literal["greeting", "announcement", "ring", "requested", "repeated", "resumed"]
    text: str = ""
    after_current_reply: bool = False
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class InputCommitted:
    """The client ends the turn.

    Attributes:
        after_current_reply: The current reply is not interrupted; see `ReplyRequested`.
    """

    position: Samples
    after_current_reply: bool = False


@dataclass(frozen=True, slots=True)
class KeyPressed:
    """The push-to-talk key is pressed. It ends a reply; a turn that was released just before continues."""

    position: Samples


@dataclass(frozen=True, slots=True)
class InputCleared:
    """The client discards the current input."""

    position: Samples


@dataclass(frozen=True, slots=True)
class ReplyCancelled:
    """The client cancels the current reply.

    Attributes:
        including_request: Also cancels a reply that was requested while the transcript was still pending.
    """

    position: Samples
    including_request: bool = False


@dataclass(frozen=True, slots=True)
class FellAsleep:
    """The conversation waits for its wake word from here on: no frame is reported until it wakes."""

    position: Samples


ReportedEvent = (
    FrameProcessed | InterimTranscript | DraftTranscript | EndOfTurnScored | FinalTranscript | TranscriptFailed
    | PlaybackProgress | ReplyEnded | ReplyRequested | InputCommitted | KeyPressed | InputCleared | ReplyCancelled
    | VoiceJudged | FellAsleep
)  # fmt: skip
"""The events that a session reports. A trace holds these; the others follow from them."""

Event = ReportedEvent | TranscriptExpected
