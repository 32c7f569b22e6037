"""Plays a conversation to the real VAD, the real speaker embedder and the real turn taking, in virtual time.

Transcripts arrive after a fixed time and always have words: what the recognizer makes of a mixture is not measured.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from assistant.config.settings import Settings
from assistant.pipeline.speakers.voice_watch import VoiceWatch
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, TranscriptRequests
from assistant.setup.derived_settings import turn_settings
from assistant.speakers.focus import VoiceFocus
from assistant.speakers.speaker_labels import SpeakerLabels
from assistant.turns.effects import (
    CommitTurn,
    InterruptReply,
    OpenSegment,
    RequestTranscript,
    TurnDiscarded,
    TurnStarted,
)
from assistant.turns.events import (
    FinalTranscript,
    FrameProcessed,
    InterimTranscript,
    PlaybackProgress,
    ReplyEnded,
    ReplyId,
    ReportedEvent,
)
from assistant.turns.log.event_log import EventLog
from assistant.turns.settings import FocusThresholds, TurnSettings
from assistant.turns.turn_taking import TurnTaking
from audio.frame import Frame
from audio.speaker_embedding.embedder import Embedding, SpeakerEmbedder
from audio.stt import Transcript
from audio.units import FRAME_SAMPLES, Pcm, Samples, samples_of_ms
from audio.vad import VadResult
from audio.vad.silero.detector import SileroVad

WORDS = "what time is it"
TRANSCRIPT_MS, EMBEDDING_MS, REPLY_BEGINS_MS = 80.0, 60.0, 200.0
"""Times from a request to its answer, and from the commit to the first sound of a reply."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A turn that is answered.

    Attributes:
        segment: Where its sound begins.
        at: When it was committed.
        speech_end: The end of its speech.
    """

    segment: Samples
    at: Samples
    speech_end: Samples


@dataclass(slots=True)
class Outcome:
    """The events of a conversation that count.

    Attributes:
        committed: The turns that are answered.
        ignored: Turns that were ignored because another voice speaks.
        started: The onsets of all turns.
        interrupted: When replies were interrupted.
        windows: The number of embeddings.
    """

    committed: list[Committed] = field(default_factory=list)
    ignored: int = 0
    started: list[Samples] = field(default_factory=list)
    interrupted: list[Samples] = field(default_factory=list)
    windows: int = 0


class _Embedder:
    """Computes embeddings at once and delivers them `EMBEDDING_MS` later. Those of the same sound are kept."""

    _known: ClassVar[dict[bytes, Embedding]] = {}

    def __init__(self, embedder: SpeakerEmbedder, position: Callable[[], Samples], outcome: Outcome) -> None:
        self._embedder, self._position, self._outcome = embedder, position, outcome

    async def embedding(self, pcm: Pcm) -> Embedding | None:
        due, key = self._position() + samples_of_ms(EMBEDDING_MS), pcm.tobytes()
        if key not in self._known:
            self._known[key] = self._embedder.embedding(pcm)
        self._outcome.windows += 1
        while self._position() < due:  # noqa: ASYNC110 - frames are the clock
            await asyncio.sleep(0)
        return self._known[key]


class Conversation:
    """One conversation, with a focus on the voice of its first turn or without.

    Attributes:
        outcome: What has happened so far.
        watch: Judges whose voice speech is; None without a focus.
        event_log: The events of turn taking.
    """

    def __init__(self, embedder: SpeakerEmbedder | None, reply_s: float = 0.3) -> None:
        """Begins a conversation. `embedder`: None without a focus. `reply_s`: how long replies are audible."""
        settings = turn_settings(Settings(), "faster-whisper")
        settings = TurnSettings(
            hangover_ms=settings.hangover_ms,
            speculate_after_ms=settings.speculate_after_ms,
            interrupt_after_ms=settings.interrupt_after_ms,
            focus=None if embedder is None else FocusThresholds(),
        )
        self.outcome, self._reply = Outcome(), samples_of_ms(1000 * reply_s)
        self.event_log = EventLog(b"bench")
        self._requests = TranscriptRequests(TurnTaking(settings))
        self._position = self._segment = Samples(0)
        self._due: list[tuple[Samples, ReportedEvent]] = []
        self._playing: tuple[ReplyId, Samples] | None = None
        self.watch: VoiceWatch | None = None
        if embedder is not None:
            source = _Embedder(embedder, lambda: self._position, self.outcome)
            self.watch = VoiceWatch(
                source, VoiceFocus("first"), SpeakerLabels(), lambda: self._position, self._handle, lambda _what: None
            )

    def play(self, pcm: Pcm, detected: Sequence[VadResult]) -> Outcome:
        """Plays the whole sound with its VAD results."""
        return asyncio.run(self._play(pcm, detected))

    async def _play(self, pcm: Pcm, detected: Sequence[VadResult]) -> Outcome:
        async with asyncio.TaskGroup() as tasks:
            if self.watch is not None:
                self.watch.tasks = tasks
            for frame, result in zip(frames_of(pcm), detected, strict=True):
                self._position = frame.end
                self._deliver()
                self._handle(FrameProcessed(frame.end, result))
                if self.watch is not None:
                    self.watch.process(frame, result)
                self._play_reply()
                await asyncio.sleep(0)
            self._position = Samples(10**9)
        return self.outcome

    def _deliver(self) -> None:
        due = [event for at, event in self._due if at <= self._position]
        self._due = [(at, event) for at, event in self._due if at > self._position]
        for event in due:
            self._handle(event)

    def _play_reply(self) -> None:
        if self._playing is None or self._position < self._playing[1]:
            return
        reply_id, begins = self._playing
        words = (self._position - begins) // samples_of_ms(300)
        self._handle(PlaybackProgress(self._position, reply_id, words, audible=True))
        if self._playing is not None and self._position - begins >= self._reply:
            self._playing = None
            self._handle(ReplyEnded(self._position, reply_id))

    def _handle(self, event: ReportedEvent) -> None:
        self.event_log.add_event(event, self._requests.turns.settings)
        for effect in self._requests.handle(event):
            self._apply(effect)

    def _apply(self, effect: SessionEffect) -> None:
        match effect:
            case OpenSegment():
                self._segment = Samples(effect.segment)
            case TurnStarted():
                self.outcome.started.append(effect.onset)
                if self.watch is not None:
                    self.watch.turn_started(effect.turn, effect.onset)
            case RecognizerRequest():
                words = Transcript(effect.segment, self._position, WORDS)
                at = Samples(self._position + samples_of_ms(TRANSCRIPT_MS))
                self._due.append((at, FinalTranscript(at, effect.reply_id, words)))
            case RequestTranscript():
                words = Transcript(effect.segment, self._position, WORDS)
                at = Samples(self._position + samples_of_ms(TRANSCRIPT_MS))
                self._due.append((at, InterimTranscript(at, words, was_requested=True)))
            case CommitTurn():
                if effect.speech_end is not None:
                    self.outcome.committed.append(Committed(self._segment, self._position, effect.speech_end))
                    if self.watch is not None:
                        self.watch.turn_committed(effect.reply_id.turn)
                self._playing = effect.reply_id, Samples(self._position + samples_of_ms(REPLY_BEGINS_MS))
            case InterruptReply():
                self.outcome.interrupted.append(self._position)
                self._playing = None
            case TurnDiscarded() if effect.reason == "other voice":
                self.outcome.ignored += 1
            case _:
                pass


def frames_of(pcm: Pcm) -> list[Frame]:
    """Returns the frames of a sound."""
    starts = range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES)
    return [Frame(Samples(start), np.ascontiguousarray(pcm[start : start + FRAME_SAMPLES])) for start in starts]


def vad_results(pcm: Pcm) -> list[VadResult]:
    """Returns the VAD result of each frame of a sound."""
    vad = SileroVad()
    return [vad.process(frame) for frame in frames_of(pcm)]
