"""Drives turn taking and the recognizer's adapter with synthetic frames, transcripts and playback reports."""

from collections.abc import Iterable
from dataclasses import replace

from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffect, SessionEffects, TranscriptRequests
from assistant.turns.effects import CloseSegment, CommitTurn, PrepareReply, RequestTranscript, ResumeReply
from assistant.turns.events import (
    FinalTranscript,
    FrameProcessed,
    InterimTranscript,
    PlaybackProgress,
    ReplyId,
    ReplyRequested,
    ReportedEvent,
)
from assistant.turns.settings import RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from assistant.turns.turn_taking import TurnTaking
from audio.stt import SegmentId, Transcript
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult

SOME_SEGMENT = SegmentId(0)


def at(ms: float) -> Samples:
    return samples_of_ms(ms)


def words(text: str, segment: SegmentId = SOME_SEGMENT) -> Transcript:
    return Transcript(segment, Samples(0), text)


class Scene:
    """Feeds turn taking with stretches of speech and silence, and with the reports of a session.

    The recognizer's adapter takes part: transcripts are requested, and requested again, as in a session.

    Each method returns the effects of its events. `effects` collects the effects of all events.
    """

    def __init__(self, settings: TurnSettings | None = None) -> None:
        self.turns = TurnTaking(settings or TurnSettings())
        self.requests = TranscriptRequests(self.turns)
        self.now_ms = 0.0
        self.edge_ms = self.onset_ms = 0.0
        self.speaking = False
        self.effects: list[SessionEffect] = []

    def phase(self) -> Phase:
        return self.turns.phase

    def handle(self, event: ReportedEvent) -> SessionEffects:
        effects = self.requests.handle(event)
        self.effects.extend(effects)
        return effects

    def speech(self, ms: float) -> SessionEffects:
        return self._add_frames(ms, speaking=True)

    def silence(self, ms: float) -> SessionEffects:
        return self._add_frames(ms, speaking=False)

    def possible_end(self, ms: float) -> SessionEffects:
        """Adds frames in which the VAD still reports speech, with a possible end."""
        if self.speaking:
            self.onset_ms, self.edge_ms, self.speaking = self.edge_ms, self.now_ms, False
        emitted: SessionEffects = ()
        for _ in range(0, int(ms), 20):
            self.now_ms += 20
            vad = VadResult(True, at(self.onset_ms), 0.1, possible_end=at(self.edge_ms))
            emitted += self.handle(FrameProcessed(at(self.now_ms), vad))
        return emitted

    def uncertain_speech(self, ms: float, probability: float = 0.58) -> SessionEffects:
        """Adds speech frames with a low probability."""
        return self._add_frames(ms, speaking=True, probability=probability)

    def possible_onset(self, ms: float) -> SessionEffects:
        """Adds silent frames with a possible onset."""
        return self._add_frames(ms, speaking=False, possible_onset=True)

    def speech_above_noise(self, ms: float, probability: float) -> SessionEffects:
        """Adds speech frames that are louder than the silence before."""
        return self._add_frames(ms, speaking=True, probability=probability, above_noise=True)

    def background_speech(self, ms: float, probability: float = 1.0) -> SessionEffects:
        """Adds speech frames that are no louder than the background."""
        return self._add_frames(ms, speaking=True, probability=probability, background=True)

    def _add_frames(
        self,
        ms: float,
        *,
        speaking: bool,
        probability: float = 1.0,
        possible_onset: bool = False,
        above_noise: bool = False,
        background: bool = False,
    ) -> SessionEffects:
        if speaking != self.speaking:
            self.speaking, self.edge_ms = speaking, self.now_ms
        emitted: list[SessionEffect] = []
        end_ms = self.now_ms + ms
        while self.now_ms < end_ms:
            self.now_ms += 20
            certainty = speaking * probability
            vad = VadResult(
                speaking,
                at(self.edge_ms),
                certainty,
                possible_onset=possible_onset,
                above_noise=above_noise,
                background_level=background,
            )
            emitted += self.handle(FrameProcessed(at(self.now_ms), vad))
        return tuple(emitted)

    def transcript(self, reply_id: ReplyId, text: str) -> SessionEffects:
        return self.handle(FinalTranscript(at(self.now_ms), reply_id, words(text)))

    def requested_transcript(
        self, text: str, effects: SessionEffects, *, low_confidence: bool = False
    ) -> SessionEffects:
        """Delivers the transcript that the `RequestTranscript` among `effects` asked for."""
        [asked] = [effect for effect in effects if isinstance(effect, RequestTranscript)]
        heard = replace(words(text, asked.segment), low_confidence=low_confidence)
        return self.handle(InterimTranscript(at(self.now_ms), heard, was_requested=True))

    def progress(self, reply_id: ReplyId, words_heard: int, *, audible: bool = True) -> SessionEffects:
        return self.handle(PlaybackProgress(at(self.now_ms), reply_id, words_heard, audible))

    def commit_reply(self, text: str = "what time is it", *, words_heard: int = 0, audible: bool = False) -> ReplyId:
        """Runs a turn up to its committed reply, of which so many words were heard."""
        self.silence(500)
        self.speech(800)
        self.silence(500)
        reply_id = ReplyId(1, 1)
        self.transcript(reply_id, text)
        assert self.phase() is Phase.REPLYING
        if audible:
            self.progress(reply_id, words_heard)
        return reply_id


FIRST = ReplyId(1, 1)
"""The first attempt of the first turn."""


def at_reply_onset(settings: TurnSettings | None = None) -> tuple[Scene, ReplyId]:
    """Returns a scene with a reply that has just become audible, and the reply. Three words count as heard."""
    scene = Scene(settings)
    return scene, scene.commit_reply(words_heard=3, audible=True)


def during_reply(settings: TurnSettings | None = None) -> tuple[Scene, ReplyId]:
    """Returns a scene one second after the onset of a reply, and the reply."""
    scene, reply = at_reply_onset(settings)
    scene.silence(1000)
    return scene, reply


def low_confidence_transcript(scene: Scene, reply_id: ReplyId, text: str = "the") -> SessionEffects:
    """Delivers a low-confidence transcript."""
    return scene.handle(FinalTranscript(at(scene.now_ms), reply_id, replace(words(text), low_confidence=True)))


def commit_of(effects: Iterable[SessionEffect]) -> CommitTurn:
    """Returns the only commit among the effects."""
    (commit,) = [effect for effect in effects if isinstance(effect, CommitTurn)]
    return commit


def discards(effect: SessionEffect) -> bool:
    """Returns whether the effect closes a segment that was not used."""
    return isinstance(effect, CloseSegment) and not effect.used


def last_requested(scene: Scene) -> ReplyId:
    """Returns the attempt whose transcript was requested last."""
    return next(effect.reply_id for effect in reversed(scene.effects) if isinstance(effect, RecognizerRequest))


def interrupt_briefly(scene: Scene) -> ReplyId:
    """Speaks long enough to interrupt a reply, then stops. Returns the attempt of the new turn."""
    scene.speech(300)
    scene.silence(400)
    return next(effect.reply_id for effect in reversed(scene.effects) if isinstance(effect, RecognizerRequest))


def has_resumed(scene: Scene) -> bool:
    return any(isinstance(effect, ResumeReply) for effect in scene.effects)


def unheard_announcement(settings: TurnSettings | None = None) -> Scene:
    """Returns a scene in which an announcement has started but is not audible."""
    scene = Scene(settings)
    scene.handle(ReplyRequested(at(0), "announcement", "Your timer is done."))
    scene.silence(20)
    return scene


def announcement_count(scene: Scene) -> int:
    return sum(isinstance(effect, PrepareReply) and effect.text_is_reply for effect in scene.effects)


SLOW_TO_SETTLE = TurnSettings(hangover_ms=300, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=160))


def draft_transcript(scene: Scene, text: str) -> SessionEffects:
    """Runs a turn up to a silence and delivers a draft as its first transcript."""
    scene.speech(800)
    scene.possible_end(40)
    return scene.handle(FinalTranscript(at(scene.now_ms), FIRST, replace(words(text), is_draft=True)))
