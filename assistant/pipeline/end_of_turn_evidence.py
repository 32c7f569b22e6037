"""Collects the evidence for an end of turn. Estimates the EOT probability in each silence, and again with new evidence.

    frame ─▶ prosody ───┐
    transcript ─────────┼─▶ EOT probability ─▶ turn taking: silence timeout
    Smart Turn ─────────┘

New evidence leads to a new estimate at the next frame, because turn taking decides only at frames. Until then, the work
that the same evidence has started, such as an LLM request, can run.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from assistant.end_of_turn.dictation.dictation_rules import NOTHING, Dictation, DictationRules
from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnEstimator, EndOfTurnEvidence
from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.end_of_turn.questions import Question, question_of
from assistant.pipeline.engine_recovery import reason_of
from assistant.support.notice import notice
from audio.end_of_turn.prosody import ProsodyTrack
from audio.end_of_turn.prosody_features import prosody_at
from audio.frame import Frame
from audio.ring import Ring
from audio.stt import Punctuation, SegmentId
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples, samples_of_s
from audio.vad import VadResult

AUDIO_LEAD_S = 0.7
"""Audio before the onset that Smart Turn receives too."""

SMART_TURN_AFTER_MS = 100.0
"""Silence after which Smart Turn is asked. 40 % of all silences are shorter. Its answer takes 80 ms, and no profile
ends a turn before 160 ms.
"""

WARM_S = 0.6
WARM_PITCH_HZ = 150
"""Length and pitch of the synthetic speech that `warm_up_estimator` estimates."""

SMART_TURN_TIMEOUT_S = 0.5
"""A later answer of Smart Turn no longer decides anything."""


class AudioEndOfTurnModel(Protocol):
    """A model that estimates from audio whether a turn is over (Smart Turn)."""

    async def probability(self, pcm: Pcm) -> float:
        """Returns the probability, 0..1, that the turn is over after this audio. Raises EngineError."""
        ...


@dataclass(slots=True)
class _Silence:
    """The current silence and the evidence collected in it."""

    segment: SegmentId
    end: Samples
    evidence: EndOfTurnEvidence
    question: Question  # what the assistant's last words asked for
    has_new_evidence: bool = True  # whether evidence is new since the last estimate
    audio_model_asked: bool = False  # whether Smart Turn was asked, which happens once in a silence
    new_transcript: tuple[str, Punctuation | None] | None = None  # latest transcript and punctuation


@dataclass(slots=True)
class EvidenceCollector:
    """Estimates whether the user has finished speaking. Not thread-safe: call it on the event loop.

    Attributes:
        estimator: Computes the EOT probability from the evidence.
        audio_model: Smart Turn; None where it is not available.
        is_known_sentence: Whether a whole sentence is understood by a skill, even if the LLM answers it.
        knows_grammar: Whether the estimator knows the grammar of the conversation's language.
        on_estimate: Receives every estimate.
        report_problem: Receives problem descriptions, one sentence each.
        dictation_rules: Say what the user dictates.
        pause_stats: The user's pauses so far.
        tasks: Owns the asynchronous work; set before the first frame.
    """

    estimator: EndOfTurnEstimator
    audio_model: AudioEndOfTurnModel | None
    is_known_sentence: Callable[[str], bool]
    knows_grammar: bool
    on_estimate: Callable[[SegmentId, EndOfTurnEstimate], None]
    report_problem: Callable[[str], None]
    dictation_rules: DictationRules = field(default_factory=DictationRules)
    pause_stats: SpeakerPauseStats = field(default_factory=SpeakerPauseStats)
    tasks: asyncio.TaskGroup = field(init=False)
    _prosody: ProsodyTrack = field(default_factory=ProsodyTrack)
    _ring: Ring = field(default_factory=lambda: Ring(samples_of_s(8.0)))
    _position: Samples = Samples(0)
    _onset: Samples | None = None
    _silent_since: Samples | None = None
    _turn_end: Samples = Samples(0)  # end of the last speech of the previous turn
    _silence: _Silence | None = None
    _reply_text: str = ""
    _dictation: Dictation = NOTHING  # in the latest transcript of this segment
    _asked: int = 0  # requests to Smart Turn that have no answer yet

    def __post_init__(self) -> None:
        self._prosody.resting = True

    @property
    def pending(self) -> bool:
        """Whether Smart Turn has been asked and has not answered yet."""
        return self._asked > 0

    # ---- frames and segments ----

    def process(self, frame: Frame, vad_result: VadResult) -> None:
        """Processes a frame and its VAD result."""
        self._position = frame.end
        self._prosody.push_frame(frame, vad_result)
        self._ring.write(frame.start, frame.pcm)
        if self._onset is None:
            return
        if not vad_result.speaking:
            self._silent_since = vad_result.boundary
        elif vad_result.possible_end is None:
            self._silence = None
            if self._silent_since is not None:
                self.pause_stats = self.pause_stats.with_pause(ms_of_samples(vad_result.boundary - self._silent_since))
                self._silent_since = None
        if self._silence is not None:
            if self._silence.has_new_evidence:
                self._estimate(self._silence, self._onset)
            self._ask_audio_model(self._silence)

    def skip(self, frame: Frame) -> None:
        """Keeps a frame that is not processed, as sound before the next speech."""
        self._ring.write(frame.start, frame.pcm)

    def pass_silence(self, start: Samples, silence: Pcm) -> None:
        """Keeps silence that is not processed, as sound before the next speech. No segment is open."""
        self._ring.write(start, silence)

    def start_segment(self, onset: Samples) -> None:
        """Starts a speech segment."""
        self._onset = onset
        self._prosody.resting = False
        self._silent_since = self._silence = None
        self._dictation = NOTHING

    def end_segment(self, *, turn: bool) -> None:
        """Ends a speech segment. `turn`: it was a turn, so its pauses count as the speaker's habits."""
        if turn:
            self._turn_end = self._position if self._silent_since is None else self._silent_since
        self._onset = self._silent_since = self._silence = None
        self._prosody.resting = True
        self.pause_stats = self.pause_stats.with_turn() if turn else self.pause_stats.without_turn()

    def turn_continued(self) -> None:
        """Records that the user continued a turn that had been judged finished: a pause was taken for an end."""
        onset = self._position if self._onset is None else self._onset
        self.pause_stats = self.pause_stats.with_return(ms_of_samples(onset - self._turn_end))

    def on_reply_heard(self, text: str) -> None:
        """Sets the reply text that was heard. The kind of question it ends with tells which answer to expect."""
        self._reply_text = text

    # ---- silences ----

    def start_estimation(self, segment: SegmentId, end: Samples) -> None:
        """Starts the estimation of the silence that begins at `end`. Evidence may follow.

        Called again with another `end`, it moves the beginning of the current silence.
        """
        if self._onset is None:
            return
        if self._silence is not None and self._silence.segment == segment:
            self._silence.end, self._silence.has_new_evidence = end, True
            self._silence.evidence = replace(self._silence.evidence, prosody=None)
            return
        question = question_of(self._reply_text)
        evidence = EndOfTurnEvidence(0.0, pause_stats=self.pause_stats, expected=question.expected)
        self._silence = _Silence(segment, end, evidence, question)
        self._ask_audio_model(self._silence)

    def add_transcript(self, segment: SegmentId, text: str, punctuation: Punctuation | None = None) -> None:
        """Adds the transcript of the whole turn and the punctuation that the recognizer expects after it."""
        silence = self._silence
        if silence is not None and silence.segment == segment:
            silence.new_transcript, silence.has_new_evidence = (text, punctuation), True

    def _dictation_of(self, text: str, question: Question) -> Dictation:
        self._dictation = self.dictation_rules.dictation_of(text, question, self._dictation)
        return self._dictation

    def _ask_audio_model(self, silence: _Silence) -> None:
        if self.audio_model is None or self._onset is None or silence.audio_model_asked:
            return
        if ms_of_samples(self._position - silence.end) < SMART_TURN_AFTER_MS:
            return
        silence.audio_model_asked = True
        self._asked += 1
        since = Samples(max(self._ring.oldest, self._onset - samples_of_s(AUDIO_LEAD_S)))
        sound = self._ring.read(since, self._position)
        self.tasks.create_task(
            self._run_audio_model(self.audio_model, silence, sound), name=f"smart turn {silence.segment}"
        )

    async def _run_audio_model(self, audio_model: AudioEndOfTurnModel, silence: _Silence, pcm: Pcm) -> None:
        try:
            async with asyncio.timeout(SMART_TURN_TIMEOUT_S):
                probability = await audio_model.probability(pcm)
        except TimeoutError:
            return
        except Exception as error:  # noqa: BLE001 - see reason_of
            self.audio_model = None
            self.report_problem(notice("smart_turn_failed", reason=reason_of(error)))
            return
        finally:
            self._asked -= 1
        if self._silence is silence:
            silence.evidence, silence.has_new_evidence = replace(silence.evidence, smart_turn=probability), True

    def _estimate(self, silence: _Silence, onset: Samples) -> None:
        silence.has_new_evidence = False
        if silence.evidence.prosody is None:
            prosody = prosody_at(self._prosody, onset, silence.end)
            silence.evidence = replace(silence.evidence, prosody=prosody)
        if silence.new_transcript is not None:
            (text, punctuation), silence.new_transcript = silence.new_transcript, None
            known = self.is_known_sentence(text)
            words, expected = (text, punctuation) if self.knows_grammar else (None, None)
            dictation = NOTHING if known else self._dictation_of(text, silence.question)
            silence.evidence = replace(
                silence.evidence, text=words, punctuation=expected, known_sentence=known, dictation=dictation
            )
        silence_ms = ms_of_samples(self._position - silence.end)
        self.on_estimate(silence.segment, self.estimator.estimate(replace(silence.evidence, silence_ms=silence_ms)))


def warm_up_estimator(estimator: EndOfTurnEstimator) -> None:
    """Estimates one synthetic silence in advance. The first estimate loads tables and parts of numpy, about 40 ms."""
    collector = EvidenceCollector(
        estimator, None, lambda _text: False, True, lambda _segment, _estimate: None, lambda _what: None
    )
    segment, speech = SegmentId(0), samples_of_s(WARM_S)
    sound = (np.arange(speech) % (MIC_RATE_HZ // WARM_PITCH_HZ) * 100).astype(np.int16)
    collector.start_segment(Samples(0))
    for start in range(0, speech, FRAME_SAMPLES):
        frame = Frame(Samples(start), sound[start : start + FRAME_SAMPLES])
        collector.process(frame, VadResult(True, Samples(0), 1.0))
    collector.start_estimation(segment, Samples(speech))
    collector.add_transcript(segment, "what time is it")
    collector.process(Frame(Samples(speech), np.zeros(FRAME_SAMPLES, np.int16)), VadResult(False, Samples(speech), 0.0))
