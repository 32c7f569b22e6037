"""Defines the settings of turn taking: its modes, and every threshold of its decisions.

`TurnSettings` holds them all, the thresholds in one group for each kind of decision. How the EOT probability becomes a
silence timeout is set in `assistant.end_of_turn.estimator`, by the profile in `TurnSettings.profile`. All names and
values are part of the trace, so a replay uses the thresholds of the conversation.

The source of a threshold is in parentheses. Those without one were chosen by hand for the reason that is given.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from assistant.end_of_turn.estimator import EndOfTurnProfile
from audio.stt import MAX_TURN_S
from audio.vad import CERTAIN_SPEECH, LIKELY_SPEECH


class EndsTurn(StrEnum):
    """Names the party that ends the user's turn. The values are part of the trace format.

    - AUTO: the program, after a silence. A client may end the turn sooner.
    - PUSH_TO_TALK: the release of the push-to-talk key. Attempts are made before, in pauses.
    - CLIENT: the client. There are no attempts before, and a reply is only given on request.
    """

    AUTO = "auto"
    PUSH_TO_TALK = "push_to_talk"
    CLIENT = "client"


class InterruptedBy(StrEnum):
    """Names the cause that may interrupt a reply where turns end by silence. The values are part of the trace format.

    With push-to-talk the key interrupts, and where the client ends turns, only the client.

    - VOICE: any speech that is not a backchannel.
    - WAKE_PHRASE: speech that is addressed to the assistant. Its transcript is requested like that of a turn.
    - CLIENT: the client. Speech during a reply becomes a turn after it.
    - NOTHING: nothing. Speech during a reply is ignored, unless it is still going on when the reply ends.
    """

    VOICE = "voice"
    WAKE_PHRASE = "wake_phrase"
    CLIENT = "client"
    NOTHING = "nothing"


# Each frame compares modes, and looking up a member of an enum takes longer than all the rest in Python 3.11.
_AUTO, _PUSH_TO_TALK, _CLIENT, _VOICE = EndsTurn.AUTO, EndsTurn.PUSH_TO_TALK, EndsTurn.CLIENT, InterruptedBy.VOICE


@dataclass(frozen=True, slots=True)
class TurnStartThresholds:
    """Thresholds of whether speech begins a turn: speech candidates, and what is joined to them."""

    certain_speech: float = CERTAIN_SPEECH
    """Speech probability, 0..1, from which a frame is certainly speech, also during a reply. One such frame confirms a
    candidate."""

    confirm_after_ms: float = 400.0
    """Amount of low-probability speech in ms, above 0, that confirms a candidate."""

    background_certain_ms: float = 100.0
    """Amount of certain speech in ms that confirms a candidate which is so far no louder than the background; the two
    values above do not (docs/lab/vad.md, "Turn onset"). 0: they do."""

    background_certain_share: float = 0.6
    """Share, 0..1, of such speech that must be certain. Voices of a coffee shop reach 0.42, see
    `words/speech_evidence.py`."""

    max_gap_ms: float = 400.0
    """Longest silence in ms between two unconfirmed onsets that are joined. The first word of a turn may be soft."""

    request_after_ms: float = 160.0
    """Silence in ms after unconfirmed speech, also during a reply, before its transcript is requested; below
    `max_gap_ms`. The VAD may report only the beginning of a short word, and the recognizer needs its end
    (docs/lab/experiments.md, "Rules switched off")."""

    max_transcript_wait_ms: float = 800.0
    """Longest wait in ms for the transcript of unconfirmed speech, also during a reply. `tiny.en` takes about 500 ms on
    two cores, including a second request after a low-confidence result."""

    max_span_ms: float = 2000.0
    """Longest span in ms of joined onsets. The audio kept for recognizers covers a few seconds."""

    min_continued_speech_ms: float = 300.0
    """Speech in ms after a cut that shows that the user continues. Every VAD reports an offset sooner."""

    max_queued_turns: int = 8
    """Limit on the turns that wait for the transcript of the one before. If there are more, the last ones are joined.
    Where sound alone decides, the oldest is given up."""


@dataclass(frozen=True, slots=True)
class AttemptThresholds:
    """Thresholds of when an attempt starts in a pause of a turn."""

    max_early: int = 8
    """Limit on the attempts of a turn that start early in a silence, whatever its length."""

    max_early_per_s: float = 1.0
    """Early attempts in addition for each second of the turn."""

    late_after_ms: float = 160.0
    """Silence in ms from which an attempt and an estimate are made, even beyond the limit on early attempts."""

    foreseen_sentence_end: float = 0.9
    """Probability, 0..1, of a sentence end after the words so far from which an attempt begins before the silence.
    Above 1: it never does (docs/lab/turn-taking.md, "Foreseen ends")."""

    max_foreseen: int = 2
    """Limit on the attempts of a turn that begin before a silence, whatever its length."""

    max_foreseen_per_s: float = 0.5
    """Such attempts in addition for each second of the turn."""

    max_speech_after_draft_ms: float = 200.0
    """Speech in ms after a draft that it may lack. With more, it lacks a word more often than not (docs/lab/stt.md)."""

    foreseen_for_ms: float = 400.0
    """Speech in ms after the audio of a draft, after which its attempt is dropped: what it may lack, and 200 ms, since
    the VAD reports a silence up to 150 ms after its beginning."""


@dataclass(frozen=True, slots=True)
class RecheckThresholds:
    """Thresholds of when the recognizer's adapter, `assistant/pipeline/transcript_requests.py`, asks again."""

    settle_ms: float = 60.0
    """Silence in ms after which a transcript does not change any more. The value depends on the recognizer; see
    `assistant/setup/derived_settings.py`."""

    recheck_ms: float = 40.0
    """Time in ms after which an early transcript is requested again. The user's last word may have been cut."""

    min_recheck_lead_ms: float = 30.0
    """Shortest time in ms from that request to `settle_ms`; otherwise it is made then."""


@dataclass(frozen=True, slots=True)
class TurnEndThresholds:
    """Thresholds of the end of a turn, in addition to the silence timeout."""

    max_resume_wait_ms: float = 140.0
    """Longest delay in ms of the end of turn and of the reply while the user may be resuming. The VAD confirms speech
    sooner; a possible onset that lasts longer is background noise (docs/lab/experiments.md, "Rules switched off")."""

    soft_below_logit: float = 0.5
    """Evidence logit of the end of a turn below which its reply begins softly, so that the user goes on easily if they
    had only paused. On *train*, 37 of 100 plain ends and 40 of 100 cut pauses are below it."""


@dataclass(frozen=True, slots=True)
class ListeningSoundThresholds:
    """Thresholds of when a pause of the user is attended with a listening sound, a soft "mhm"."""

    after_ms: float = 700.0
    """Silence in ms after which the sound begins, if the turn sounds unfinished. Most pauses within a turn are shorter,
    and a sound in each of them would hurry the user."""

    min_time_left_ms: float = 300.0
    """Shortest time in ms until the silence timeout. The sound takes 300 to 500 ms; the reply would cut a later one."""

    min_interval_s: float = 8.0
    """Shortest time in s between the beginnings of two sounds. More often sounds like impatience."""


@dataclass(frozen=True, slots=True)
class OverlapThresholds:
    """Thresholds of whether speech interrupts a reply, in addition to `TurnSettings.interrupt_after_ms`."""

    likely_speech: float = LIKELY_SPEECH
    """Speech probability, 0..1, from which a frame counts towards an interruption if the speech is early or clearly
    above the noise. Other frames count from `TurnStartThresholds.certain_speech`."""

    early_ms: float = 1000.0
    """Speech within this time, in ms, of the reply's first sound continues the turn; it is never a backchannel. A
    listener needs about 400 ms to hear a word and 200 to 300 ms more to react; who pauses goes on up to a second later
    (docs/lab/turn-taking.md, "Resume guard")."""

    max_early_hold_ms: float = 300.0
    """Longest time in ms for which early speech holds the reply before it is decided. Above 0.25 s a gap is heard. 0:
    nothing holds an audible reply, and early speech interrupts it, as in older traces."""

    min_early_speech_ms: float = 100.0
    """Speech in ms that early speech needs if no frame is certainly speech. A noise such as a train gives one
    VAD window above 0.5."""

    backchannel_factor: float = 2.0
    """Factor, at least 1, by which more speech is needed to interrupt if the words so far are a backchannel."""

    background_speech_ms: float = 1000.0
    """Speech in ms, no louder than the background, that interrupts without a transcript. Background voices, as in a
    coffee shop, are usually shorter (docs/lab/experiments.md, "Voices of a room" and "Rules switched off")."""

    echo_interrupt_after_ms: float = 300.0
    """Value of `TurnSettings.interrupt_after_ms` from which `background_speech_ms` does not apply, and the sound of a
    reply is not held. There the microphone hears the reply's own echo."""

    words_after_ms: float = 0.0
    """Time in ms after the onset of an overlap at which its words so far are requested. Such speech interrupts with
    words only; see `max_wordless_ms`. 0: certain speech interrupts at once. Set for recognizers that decode fast
    enough; see `assistant/setup/derived_settings.py` (docs/lab/turn-taking.md, "Overlaps")."""

    words_interval_ms: float = 60.0
    """Time in ms after words that did not decide, at which they are requested again."""

    first_word_until_ms: float = 0.0
    """Speech in ms until which only the first word is examined, which takes less time than words. 0: it never is. Set
    for recognizers that can; see `words_after_ms`."""

    first_word_interval_ms: float = 0.0
    """Time in ms after a first word that did not decide, at which it is examined again, in the next frame at the
    earliest."""

    max_ignorable: float = 0.04
    """Probability, 0..1, up to which the first word begins a backchannel or is no word, and the speech interrupts
    (docs/lab/turn-taking.md, "Overlaps")."""

    max_words_wait_ms: float = 500.0
    """Longest wait in ms for the words so far. If the recognizer is slower, certain speech interrupts without words."""

    max_wordless_ms: float = 3000.0
    """Speech in ms that interrupts without words although words were requested: the recognizer may be wrong."""

    max_ducking_ms: float = 1000.0
    """Longest ducking in ms for an undecided overlap. Speech that stays undecided for longer is background or noise."""


@dataclass(frozen=True, slots=True)
class ReplyThresholds:
    """Thresholds of replies that no user turn caused: announcements, and the rest of an interrupted reply."""

    resume_delay_ms: float = 700.0
    """Silence in ms after a false interruption before the reply resumes. A user who hums may be about to speak: of 74
    who went on after at most 0.7 s of speech, two paused for longer than this (docs/lab/turn-taking.md, "Overlaps")."""

    backchannel_resume_delay_ms: float = 700.0
    """The same if the words are known to be a backchannel. 700 in traces without this field."""

    max_announcements: int = 20
    """Limit on the waiting announcements. If there are more, the oldest are dropped."""

    max_announcement_failures: int = 2
    """Number of failures after which an announcement is given up. A failure: nothing of it was audible and nobody
    spoke."""


@dataclass(frozen=True, slots=True)
class PushToTalkThresholds:
    """Thresholds of the push-to-talk key."""

    min_press_ms: float = 100.0
    """Shortest press and release in ms. A shorter press is a tap, not a turn; a shorter release is ignored."""

    max_tail_ms: float = 300.0
    """Longest stretch of speech in ms after the release that is still passed. A syllable takes 200 ms."""

    likely_speech: float = LIKELY_SPEECH
    """Speech probability, 0..1, from which a frame counts as part of a word. The VAD reports it before it opens."""

    vad_delay_ms: float = 200.0
    """Time after the release, in ms, in which the VAD may still report speech from before the release."""

    max_gaps: int = 20
    """Limit on the releases remembered within one turn. If there are more, the oldest are treated as held."""


@dataclass(frozen=True, slots=True)
class WakePhraseThresholds:
    """Thresholds of the wake phrase."""

    letters_per_error: int = 8
    """Letters of the phrase for each wrong, missing or extra letter that is accepted. "hey commuter" matches "hey
    computer"; "the computer" (two letters off) does not. A phrase of seven letters or fewer must match exactly."""

    after_phrase_window_s: float = 5.0
    """Time in s to start speaking after the wake phrase alone, even if replies open no window."""


@dataclass(frozen=True, slots=True)
class FocusThresholds:
    """Thresholds of the focus on some voices. `assistant/speakers/thresholds.py` has those of the verdicts."""

    other_lasts_ms: float = 1500.0
    """Time in ms after speech of another voice in which further speech is presumed to be that voice's: during a reply
    it neither ducks nor interrupts until it is judged. Pauses within television speech are mostly shorter."""

    own_lead_ms: float = 300.0
    """Time in ms before the last verdict on another voice at which the user's own voice may have begun. A verdict
    that half a second is another voice's may contain so much of the next voice; the pre-roll is added to it."""

    min_own_ms: float = 300.0
    """Speech in ms before that of another voice in the same turn from which it is the user's own: a short word."""

    max_presumed_ms: float = 800.0
    """Time in ms for which speech is presumed to be another voice's without a verdict. The first one comes after
    600 ms of speech and at most 100 ms of computing, unless the machine is too busy."""

    max_own_windows: int = 2
    """Verdicts in a row that are not "other", after which ignored speech counts as the user's own: one may be wrong.
    So many verdicts "other" in a row are needed during a reply, since the first may be on its echo."""

    unsure_windows: int = 3
    """Verdicts "unsure" in a row on a turn, 1.8 s of speech, after which it is the user's own whatever follows: with
    other people beside the user, a later "other" is mostly wrong."""

    own_pause_ms: float = 1200.0
    """Silence of the user in ms, while another voice speaks, that ends a turn without an estimate of its end. Longer
    than `hangover_ms`, because the verdict on the user's next words takes 700 ms."""

    waits_for_words: bool = False
    """Whether the words of a turn are waited for before it is ignored, since they may contain the wake phrase."""


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """Holds the modes and thresholds of turn taking. The field names are part of the trace format.

    The fields up to `profile` are set in the configuration, or derived from it; the modes by the kind of conversation.

    Attributes:
        hangover_ms: Silence that ends a turn if there is no EOT estimate.
        profile: Maps the EOT probability to the silence timeout; None: always `hangover_ms`.
        speculate_after_ms: Silence that starts an attempt; None: the attempt starts at the end of turn.
        interrupt_after_ms: Speech during a reply that interrupts it. Only frames that are certainly speech count.
            For less speech the transcript is requested; without words the reply continues at full volume. Below 300 ms,
            speech no louder than the background interrupts only with words, or when it is long.
        max_turn_s: Maximum length of a turn, for continuous noise or a forgotten key. If the turn had words, speech
            that continues is the next turn; otherwise it is ignored up to the next pause.
        stuck_after_s: Time without progress after which a turn or a reply is given up.
        pre_roll_ms: How much before the detected onset a segment begins, so that the first word is complete.
        ends_turn: Who ends the user's turn.
        interrupted_by: What interrupts a reply. The wake phrase, once it is recognized, interrupts in every mode.
        answers: Turns are answered automatically. Otherwise the client requests replies. A client chooses this for
            itself, whoever ends the turns.
        idle_timeout_ms: Silence in ms after a heard reply, after which the assistant speaks again; None: it waits.
        has_client: A client takes part, which may end turns, too. If it cuts speech in two, speech after the cut is
            another turn. It is independent of `ends_turn`: without a client, speech that continues after a cut is
            ignored up to the next pause.
        start: Thresholds of whether speech begins a turn.
        attempts: Thresholds of when an attempt starts.
        rechecks: Thresholds of when its transcript is requested again.
        end: Thresholds of the end of a turn, in addition to the silence timeout.
        listening_sounds: Thresholds of listening sounds; None: there are none.
        overlap: Thresholds of whether speech interrupts a reply.
        replies: Thresholds of announcements and resumed replies.
        push_to_talk: Thresholds of the push-to-talk key.
        wake_phrase: Thresholds of the wake phrase.
        silence_is_final: Silence ends a turn for good: speech after it is the next turn, however late the transcript of
            this one arrives. Otherwise the turn continues until its reply is heard.
        sound_decides: Sound alone begins and ends turns, whatever the recognizer does. Their beginnings and ends are
            reported at once, also while earlier turns wait for their transcripts. With `silence_is_final` only.
        focus: Thresholds of the focus on some voices; None: the assistant listens to all.
        transcript_stuck_after_s: Wait for the transcript of a turn after which it is given up; None: `stuck_after_s`.
            The recognizer ends every request itself, late on a busy machine.
    """

    hangover_ms: float = 400.0
    speculate_after_ms: float | None = None
    interrupt_after_ms: float = 300.0
    max_turn_s: float = MAX_TURN_S
    stuck_after_s: float = 10.0
    pre_roll_ms: float = 300.0
    profile: EndOfTurnProfile | None = None
    ends_turn: EndsTurn = EndsTurn.AUTO
    interrupted_by: InterruptedBy = InterruptedBy.VOICE
    answers: bool = True
    idle_timeout_ms: float | None = None
    has_client: bool = False
    start: TurnStartThresholds = field(default_factory=TurnStartThresholds)
    attempts: AttemptThresholds = field(default_factory=AttemptThresholds)
    rechecks: RecheckThresholds = field(default_factory=RecheckThresholds)
    end: TurnEndThresholds = field(default_factory=TurnEndThresholds)
    listening_sounds: ListeningSoundThresholds | None = None
    overlap: OverlapThresholds = field(default_factory=OverlapThresholds)
    replies: ReplyThresholds = field(default_factory=ReplyThresholds)
    push_to_talk: PushToTalkThresholds = field(default_factory=PushToTalkThresholds)
    wake_phrase: WakePhraseThresholds = field(default_factory=WakePhraseThresholds)
    silence_is_final: bool = False
    sound_decides: bool = False
    transcript_stuck_after_s: float | None = None
    focus: FocusThresholds | None = None

    @property
    def transcript_limit_s(self) -> float:
        """The wait for a transcript after which its turn is given up, in seconds."""
        return self.stuck_after_s if self.transcript_stuck_after_s is None else self.transcript_stuck_after_s

    @property
    def hears_echo(self) -> bool:
        """Whether the microphone may hear the loudspeaker; see `OverlapThresholds.echo_interrupt_after_ms`."""
        return self.interrupt_after_ms >= self.overlap.echo_interrupt_after_ms

    @property
    def ends_by_silence(self) -> bool:
        """Whether silence ends turns."""
        return self.ends_turn is _AUTO

    @property
    def ends_by_key(self) -> bool:
        """Whether the push-to-talk key ends turns."""
        return self.ends_turn is _PUSH_TO_TALK

    @property
    def ends_by_client(self) -> bool:
        """Whether only the client ends turns."""
        return self.ends_turn is _CLIENT

    @property
    def attempts_in_pauses(self) -> bool:
        """Whether attempts are made before the turn is over."""
        return self.speculate_after_ms is not None and self.ends_turn is not _CLIENT

    @property
    def voice_interrupts(self) -> bool:
        """Whether any speech may interrupt a reply."""
        return self.interrupted_by is _VOICE and self.ends_turn is _AUTO

    @property
    def answers_at_end(self) -> bool:
        """Whether a turn is answered when it ends, without a request."""
        return self.answers and self.ends_turn is not _CLIENT
