"""Watches whose voice the speech of a conversation is: asks for speaker embeddings, and reports the verdicts.

    frame with speech ─▶ window of 0.8 s, every 0.6 s ─▶ embedder ─▶ VoiceFocus ─▶ VoiceJudged ─▶ turn taking

It keeps the embeddings of the open turn, for the label of its speaker, and forgets them with the conversation.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from assistant.speakers.focus import VoiceFocus
from assistant.speakers.speaker_labels import SpeakerLabels
from assistant.speakers.verdict import VoiceVerdict
from assistant.speakers.voiceprint import Voiceprint
from assistant.support.notice import notice
from assistant.turns.events import VoiceJudged
from audio.errors import EngineError
from audio.frame import Frame
from audio.speaker_embedding.embedder import Embedding
from audio.units import FRAME_SAMPLES, Pcm, Samples, s_of_samples, samples_of_ms
from audio.vad import VadResult

WINDOW = samples_of_ms(820)
"""Samples of speech that one embedding hears; see `audio/speaker_embedding/mel.py`."""

STEP = samples_of_ms(600)
"""Samples of speech after which the next embedding is made. Each takes 20 to 30 ms of CPU (docs/performance.md)."""

MIN_SPEECH = samples_of_ms(300)
"""Least speech of a stretch, in samples, of which an embedding is made when it ends, for the label of its speaker."""

MIN_JUDGED = samples_of_ms(600)
"""Least speech of a stretch, in samples, whose voice is judged. Shorter speech is too unlike longer speech."""

MIN_REST = samples_of_ms(200)
"""Least speech, in samples, since the last embedding for which another one is made when the speech ends."""

MAX_WINDOWS = 120
"""Limit on the embeddings that are kept of one turn: one minute of speech."""


class EmbeddingSource(Protocol):
    """Computes speaker embeddings; see `audio/speaker_embedding/service.py`."""

    async def embedding(self, pcm: Pcm) -> Embedding | None:
        """Returns the embedding of speech; None if it was skipped under load. Raises EngineError."""


class _Window(NamedTuple):
    """The embedding of a window.

    Attributes:
        embedding: The embedding.
        speech_s: The speech in s that no window before it has.
        until: Where it ends.
        verdict: Whose voice it is.
    """

    embedding: Embedding
    speech_s: float
    until: Samples
    verdict: VoiceVerdict


@dataclass(slots=True)
class _Stretch:
    """Speech without a pause.

    Attributes:
        onset: Where it began.
        speech: Its samples with speech so far.
        requested: Its samples when the last embedding was requested.
        windows: The embeddings of its windows.
        own_since: Where the speech began that may be the user's own: after the last window of another voice.
        other_since: Where the speech began that may be another voice's: after the last window of the user's own.
    """

    onset: Samples
    speech: int = 0
    requested: int = 0
    windows: list[Embedding] = field(default_factory=list)
    own_since: Samples = Samples(0)
    other_since: Samples = Samples(0)

    def __post_init__(self) -> None:
        self.own_since = self.other_since = self.onset

    def add_verdict(self, verdict: VoiceVerdict, until: Samples) -> Samples:
        """Takes the verdict on the windows so far, which end at `until`. Returns where the judged speech begins."""
        if verdict == "other":
            self.own_since = until
            return self.other_since
        if verdict == "own":
            self.other_since = until
        return self.own_since


@dataclass(slots=True)
class VoiceWatch:
    """Watches the voices of one conversation. Not thread-safe: call it on the event loop.

    Attributes:
        embedder: Computes the embeddings.
        focus: Judges whose voice speech is.
        labels: Labels the speakers.
        position: Returns the end of the last frame.
        dispatch: Receives the verdicts.
        report_problem: Receives a sentence when embeddings are skipped or fail, once.
        tasks: Owns the requests. Set it before the first frame.
    """

    embedder: EmbeddingSource
    focus: VoiceFocus
    labels: SpeakerLabels
    position: Callable[[], Samples]
    dispatch: Callable[[VoiceJudged], None]
    report_problem: Callable[[str], None]
    tasks: asyncio.TaskGroup = field(init=False)
    _recent: deque[Pcm] = field(default_factory=lambda: deque(maxlen=-(-WINDOW // FRAME_SAMPLES)))
    _stretch: _Stretch | None = None
    _turn: list[_Window] = field(default_factory=list)  # speech of the open turn, and shortly before it
    _turn_number: int = 0
    _turn_onset: Samples = Samples(0)
    _committed: tuple[int, str] = (0, "")  # the last turn that was committed, and its label
    _reported: bool = False
    _reported_ignored: bool = False

    def process(self, frame: Frame, vad: VadResult) -> None:
        """Takes the next frame and its VAD result."""
        stretch = self._stretch
        if vad.speaking:
            if stretch is None:
                stretch = self._stretch = _Stretch(vad.boundary)
                self._recent.clear()  # the speech before may be another person's
            self._recent.append(frame.pcm.copy())
            stretch.speech += FRAME_SAMPLES
            if stretch.speech - stretch.requested >= STEP:
                self._request(stretch)
        elif stretch is not None:
            self._stretch = None
            if stretch.speech >= MIN_SPEECH and stretch.speech - stretch.requested >= MIN_REST:
                self._request(stretch)

    def turn_started(self, turn: int, onset: Samples) -> None:
        """Notes that a user turn has begun, or goes on. Speech before its onset does not count for its speaker."""
        if turn != self._turn_number:
            self._turn_number, self._turn_onset = turn, onset
            self._turn = [window for window in self._turn if window.until > onset]

    def turn_committed(self, turn: int, *, called: bool = False) -> None:
        """Notes that a turn is answered: its voice may be the one that the assistant listens to from now on.

        `called`: the turn has the wake phrase.
        """
        if turn != self._turn_number or not self._turn:
            return
        speech = self._speech_of_turn()
        voice = Voiceprint.of("", speech)
        self._committed = turn, self.labels.learn(voice.embedding, voice.speech_s)
        self.focus.learn(speech, called=called)

    def turn_ignored(self, turn: int) -> None:
        """Notes that a turn was ignored as another voice's. Reports that, once, and that it was ignored too often."""
        if turn != self._turn_number or not self._turn:
            return
        if self.focus.let_go(self._speech_of_turn()):
            self.report_problem(notice("voice_let_go"))
        elif not self._reported_ignored:
            self._reported_ignored = True
            self.report_problem(notice("voice_ignored"))

    def label_of(self, turn: int) -> str:
        """Returns the label of the speaker of a turn so far; "" if it is not known."""
        if turn == self._committed[0]:
            return self._committed[1]
        if turn != self._turn_number or not self._turn:
            return ""
        voice = Voiceprint.of("", self._speech_of_turn())
        return self.labels.label(voice.embedding, voice.speech_s)

    def _speech_of_turn(self) -> list[tuple[Embedding, float]]:
        """Returns the embeddings of the turn with seconds of speech, without another voice beside the user's own."""
        own = [window for window in self._turn if window.verdict != "other"]
        return [(window.embedding, window.speech_s) for window in own or self._turn]

    # ---- embeddings ----

    def _request(self, stretch: _Stretch) -> None:
        """Requests the embedding of the last window of speech."""
        new, stretch.requested = stretch.speech - stretch.requested, stretch.speech
        pcm = np.concatenate(self._recent)
        self.tasks.create_task(self._judge(stretch, pcm, s_of_samples(new), self.position()), name="who speaks")

    async def _judge(self, stretch: _Stretch, pcm: Pcm, new_s: float, until: Samples) -> None:
        try:
            embedding = await self.embedder.embedding(pcm)
        except EngineError as error:
            self._report(str(error).removesuffix("."))
            embedding = None
        else:
            if embedding is None:
                self._report("this machine is too slow")
        verdict: VoiceVerdict = "unsure"  # also where nothing is known, so that nobody waits for it
        if embedding is not None:
            if len(pcm) >= MIN_JUDGED:
                stretch.windows.append(embedding)
                verdict = self.focus.judge(stretch.windows)
            if until > self._turn_onset:
                self._turn = [*self._turn, _Window(embedding, new_s, until, verdict)][-MAX_WINDOWS:]
        if self.focus.voices:
            self.dispatch(VoiceJudged(self.position(), stretch.add_verdict(verdict, until), until, verdict))

    def _report(self, reason: str) -> None:
        if not self._reported:
            self._reported = True
            self.report_problem(notice("voices_not_judged", reason=reason))


def labels_of(focus: VoiceFocus) -> SpeakerLabels:
    """Returns the labels of a conversation in which the voices that are enrolled have their names."""
    return SpeakerLabels(focus.enrolled)
