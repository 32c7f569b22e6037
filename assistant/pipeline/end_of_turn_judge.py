"""Collects the evidence for an end of turn and has it estimated, at each silence and after each new piece of evidence.

    frame ─▶ prosody ───┐
    transcript ─────────┼─▶ EOT probability ─▶ turn taking: silence timeout
    Smart Turn ─────────┘

New evidence is estimated with the next frame, because turn taking decides at frames. Work that the same evidence
starts, such as a decode or an LLM request, therefore goes first.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnEstimator, EndOfTurnEvidence
from assistant.end_of_turn.priors import SpeakerPauseStats, expected_answer
from assistant.pipeline.engine_recovery import reason_of
from audio.end_of_turn.prosody import ProsodyTrack
from audio.end_of_turn.prosody_features import prosody_at
from audio.frame import Frame
from audio.ring import Ring
from audio.stt import Punctuation, SegmentId
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples, samples_of_s
from audio.vad import VadResult

LEAD_S = 0.7
"""Audio before the onset that Smart Turn receives too."""

SMART_AFTER_MS = 100.0
"""Silence after which Smart Turn is asked. Of all silences 40 % are shorter. Its answer takes 80 ms, and no profile
ends a turn before 160 ms.
"""

WARM_S = 0.6
WARM_PITCH_HZ = 150
"""Length and pitch of the synthetic speech that `judge_once` estimates."""

SMART_TIMEOUT_S = 0.5
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
    news: bool = True  # whether evidence is new since the last estimate
    listened: bool = False  # whether Smart Turn was asked, which happens once in a silence
    unread: tuple[str, Punctuation | None] | None = None  # latest transcript and punctuation


@dataclass(slots=True)
class EndOfTurnJudge:
    """Estimates whether the user has finished speaking. Not thread-safe: call it on the event loop.

    Attributes:
        estimator: Computes the EOT probability from the evidence.
        listener: Smart Turn; None where it is not available.
        understands: Whether a whole sentence is one that a skill understands, whoever answers it.
        reads: Whether the estimator knows the grammar of the conversation's language.
        told: Receives every estimate.
        report_problem: Receives problem descriptions, one sentence each.
        tasks: Owns the asynchronous work; set before the first frame.
    """

    estimator: EndOfTurnEstimator
    listener: AudioEndOfTurnModel | None
    understands: Callable[[str], bool]
    reads: bool
    told: Callable[[SegmentId, EndOfTurnEstimate], None]
    report_problem: Callable[[str], None]
    tasks: asyncio.TaskGroup = field(init=False)
    _track: ProsodyTrack = field(default_factory=ProsodyTrack)
    _ring: Ring = field(default_factory=lambda: Ring(samples_of_s(8.0)))
    _at: Samples = Samples(0)
    _onset: Samples | None = None
    _silent_since: Samples | None = None
    _turn_end: Samples = Samples(0)  # end of the last speech of the previous turn
    _silence: _Silence | None = None
    _habits: SpeakerPauseStats = field(default_factory=SpeakerPauseStats)
    _assistant_said: str = ""

    def __post_init__(self) -> None:
        self._track.resting = True

    # ---- frames and segments ----

    def hear(self, frame: Frame, voicing: VadResult) -> None:
        """Processes a frame and its VAD result."""
        self._at = frame.end
        self._track.push(frame, voicing)
        self._ring.write(frame.start, frame.pcm)
        if self._onset is None:
            return
        if not voicing.speaking:
            self._silent_since = voicing.boundary
        elif voicing.possible_end is None:
            self._silence = None
            if self._silent_since is not None:
                self._habits = self._habits.with_pause(ms_of_samples(voicing.boundary - self._silent_since))
                self._silent_since = None
        if self._silence is not None:
            if self._silence.news:
                self._estimate(self._silence, self._onset)
            self._have_it_heard(self._silence)

    def began(self, onset: Samples) -> None:
        """Starts a speech segment."""
        self._onset = onset
        self._track.resting = False
        self._silent_since = self._silence = None

    def ended(self, *, turn: bool) -> None:
        """Ends a speech segment. `turn`: it was a turn, so its pauses count as the speaker's habits."""
        if turn:
            self._turn_end = self._at if self._silent_since is None else self._silent_since
        self._onset = self._silent_since = self._silence = None
        self._track.resting = True
        self._habits = self._habits.with_turn() if turn else self._habits.without_turn()

    def went_on(self) -> None:
        """Records that the user continued a turn that had been taken for finished."""
        onset = self._at if self._onset is None else self._onset
        self._habits = self._habits.with_return(ms_of_samples(onset - self._turn_end))

    def assistant_said(self, text: str) -> None:
        """Sets the reply text that was heard. The kind of question it ends with tells which answer to expect."""
        self._assistant_said = text

    # ---- silences ----

    def silence(self, segment: SegmentId, end: Samples) -> None:
        """Starts a silence at `end`, or changes the beginning of the current one. Evidence follows."""
        if self._onset is None:
            return
        if self._silence is not None and self._silence.segment == segment:
            self._silence.end, self._silence.news = end, True
            self._silence.evidence = replace(self._silence.evidence, prosody=None)
            return
        evidence = EndOfTurnEvidence(0.0, habits=self._habits, expected=expected_answer(self._assistant_said))
        self._silence = _Silence(segment, end, evidence)
        self._have_it_heard(self._silence)

    def words(self, segment: SegmentId, text: str, closure: Punctuation | None = None) -> None:
        """Adds the transcript of the whole turn and the punctuation that the recognizer expects after it."""
        silence = self._silence
        if silence is not None and silence.segment == segment:
            silence.unread, silence.news = (text, closure), True

    def _have_it_heard(self, silence: _Silence) -> None:
        if self.listener is None or self._onset is None or silence.listened:
            return
        if ms_of_samples(self._at - silence.end) < SMART_AFTER_MS:
            return
        silence.listened = True
        since = Samples(max(self._ring.oldest, self._onset - samples_of_s(LEAD_S)))
        sound = self._ring.read(since, self._at)
        self.tasks.create_task(self._listen(self.listener, silence, sound), name=f"smart turn {silence.segment}")

    async def _listen(self, listener: AudioEndOfTurnModel, silence: _Silence, sound: Pcm) -> None:
        try:
            async with asyncio.timeout(SMART_TIMEOUT_S):
                probability = await listener.probability(sound)
        except TimeoutError:
            return
        except Exception as error:  # noqa: BLE001 - see reason_of
            self.listener = None
            self.report_problem(f"turn ends are judged by sound and words only from here on: {reason_of(error)}")
            return
        if self._silence is silence:
            silence.evidence, silence.news = replace(silence.evidence, smart=probability), True

    def _estimate(self, silence: _Silence, onset: Samples) -> None:
        silence.news = False
        if silence.evidence.prosody is None:
            prosody = prosody_at(self._track, onset, silence.end)
            silence.evidence = replace(silence.evidence, prosody=prosody)
        if silence.unread is not None:
            (text, closure), silence.unread = silence.unread, None
            known = self.understands(text)
            said, expected = (text, closure) if self.reads else (None, None)
            silence.evidence = replace(silence.evidence, text=said, closure=expected, known_sentence=known)
        lasted_ms = ms_of_samples(self._at - silence.end)
        self.told(silence.segment, self.estimator.estimate(replace(silence.evidence, silence_ms=lasted_ms)))


def judge_once(estimator: EndOfTurnEstimator) -> None:
    """Estimates one synthetic silence in advance. The first estimate loads tables and parts of numpy, about 40 ms."""
    judge = EndOfTurnJudge(
        estimator, None, lambda _text: False, True, lambda _segment, _estimate: None, lambda _what: None
    )
    segment, speech = SegmentId(0), samples_of_s(WARM_S)
    sound = (np.arange(speech) % (MIC_RATE_HZ // WARM_PITCH_HZ) * 100).astype(np.int16)
    judge.began(Samples(0))
    for start in range(0, speech, FRAME_SAMPLES):
        frame = Frame(Samples(start), sound[start : start + FRAME_SAMPLES])
        judge.hear(frame, VadResult(True, Samples(0), 1.0))
    judge.silence(segment, Samples(speech))
    judge.words(segment, "what time is it")
    judge.hear(Frame(Samples(speech), np.zeros(FRAME_SAMPLES, np.int16)), VadResult(False, Samples(speech), 0.0))
