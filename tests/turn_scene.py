"""Drives the turn-taking machine with synthetic frames, transcripts and playback reports."""

from dataclasses import replace

from assistant.turns.events import (
    Effect,
    Event,
    FinalTranscript,
    FrameProcessed,
    InterimTranscript,
    PlaybackProgress,
    PrepareReply,
    ReplyId,
    ReplyRequested,
    RequestTranscript,
    ResumeReply,
    Transcribe,
)
from assistant.turns.machine import TurnTaking
from assistant.turns.settings import TurnSettings
from assistant.turns.states import Phase
from audio.stt import SegmentId, Transcript
from audio.units import Samples, samples_of_ms
from audio.vad import VadResult

SOME_SEGMENT = SegmentId(0)


def at(ms: float) -> Samples:
    return samples_of_ms(ms)


def words(text: str, segment: SegmentId = SOME_SEGMENT) -> Transcript:
    return Transcript(segment, Samples(0), text)


class Scene:
    """A conversation told by hand: stretches of voice and silence, and what the session would report."""

    def __init__(self, settings: TurnSettings | None = None) -> None:
        self.turns = TurnTaking(settings or TurnSettings())
        self.now_ms = 0.0
        self.edge_ms = self.onset_ms = 0.0
        self.speaking = False
        self.effects: list[Effect] = []

    def phase(self) -> Phase:
        return self.turns.phase

    def tell(self, event: Event) -> tuple[Effect, ...]:
        effects = self.turns.tell(event)
        self.effects.extend(effects)
        return effects

    def speech(self, ms: float) -> tuple[Effect, ...]:
        return self._add_frames(ms, speaking=True)

    def silence(self, ms: float) -> tuple[Effect, ...]:
        return self._add_frames(ms, speaking=False)

    def possible_end(self, ms: float) -> tuple[Effect, ...]:
        """The detector has not closed yet, but hears no voice any more."""
        if self.speaking:
            self.onset_ms, self.edge_ms, self.speaking = self.edge_ms, self.now_ms, False
        told: tuple[Effect, ...] = ()
        for _ in range(0, int(ms), 20):
            self.now_ms += 20
            voicing = VadResult(True, at(self.onset_ms), 0.1, possible_end=at(self.edge_ms))
            told += self.tell(FrameProcessed(at(self.now_ms), voicing))
        return told

    def uncertain_speech(self, ms: float, probability: float = 0.58) -> tuple[Effect, ...]:
        """Something that may be voice, and never surely is."""
        return self._add_frames(ms, speaking=True, probability=probability)

    def possible_onset(self, ms: float) -> tuple[Effect, ...]:
        """Silence that may be the beginning of a voice."""
        return self._add_frames(ms, speaking=False, stirs=True)

    def speech_above_noise(self, ms: float, probability: float) -> tuple[Effect, ...]:
        """The first syllable: louder than anything in the silence before it."""
        return self._add_frames(ms, speaking=True, probability=probability, clear=True)

    def background_speech(self, ms: float) -> tuple[Effect, ...]:
        """Surely a voice, and no louder than what was heard before it."""
        return self._add_frames(ms, speaking=True, murmur=True)

    def _add_frames(
        self,
        ms: float,
        *,
        speaking: bool,
        probability: float = 1.0,
        stirs: bool = False,
        clear: bool = False,
        murmur: bool = False,
    ) -> tuple[Effect, ...]:
        if speaking != self.speaking:
            self.speaking, self.edge_ms = speaking, self.now_ms
        told: list[Effect] = []
        end_ms = self.now_ms + ms
        while self.now_ms < end_ms:
            self.now_ms += 20
            sure = speaking * probability
            voicing = VadResult(
                speaking, at(self.edge_ms), sure, possible_onset=stirs, above_noise=clear, background_level=murmur
            )
            told += self.tell(FrameProcessed(at(self.now_ms), voicing))
        return tuple(told)

    def transcript(self, reply: ReplyId, text: str) -> tuple[Effect, ...]:
        return self.tell(FinalTranscript(at(self.now_ms), reply, words(text)))

    def requested_transcript(
        self, text: str, effects: tuple[Effect, ...], *, rough: bool = False
    ) -> tuple[Effect, ...]:
        """The words that a voice into a reply was asked for come."""
        [asked] = [effect for effect in effects if isinstance(effect, RequestTranscript)]
        heard = replace(words(text, asked.segment), low_confidence=rough)
        return self.tell(InterimTranscript(at(self.now_ms), heard, was_requested=True))

    def progress(self, reply: ReplyId, words_heard: int, *, audible: bool = True) -> tuple[Effect, ...]:
        return self.tell(PlaybackProgress(at(self.now_ms), reply, words_heard, audible))

    def commit_reply(self, text: str = "what time is it", *, words_heard: int = 0, audible: bool = False) -> ReplyId:
        """Up to a committed reply of which so much was heard."""
        self.silence(500)
        self.speech(800)
        self.silence(500)
        reply = ReplyId(1, 1)
        self.transcript(reply, text)
        assert self.phase() is Phase.REPLYING
        if audible:
            self.progress(reply, words_heard)
        return reply


FIRST = ReplyId(1, 1)


def low_confidence_transcript(scene: Scene, reply: ReplyId, text: str = "the") -> tuple[Effect, ...]:
    """What a recognizer makes of anything."""
    return scene.tell(FinalTranscript(at(scene.now_ms), reply, replace(words(text), low_confidence=True)))


def last_requested(scene: Scene) -> ReplyId:
    """The attempt whose words were asked for last."""
    return next(effect.reply for effect in reversed(scene.effects) if isinstance(effect, Transcribe))


def interrupt_briefly(scene: Scene) -> ReplyId:
    """Somebody speaks into the reply for long enough, and then no more: the attempt at their turn."""
    scene.speech(300)
    scene.silence(400)
    return next(effect.reply for effect in reversed(scene.effects) if isinstance(effect, Transcribe))


def has_resumed(scene: Scene) -> bool:
    return any(isinstance(effect, ResumeReply) for effect in scene.effects)


def unheard_announcement(settings: TurnSettings | None = None) -> Scene:
    """A timer rings, and nothing of it is heard yet."""
    scene = Scene(settings)
    scene.tell(ReplyRequested(at(0), "announcement", "Your timer is done."))
    scene.silence(20)
    return scene


def announcement_count(scene: Scene) -> int:
    return sum(isinstance(effect, PrepareReply) and effect.is_literal for effect in scene.effects)


SLOW_TO_SETTLE = TurnSettings(hangover_ms=300, speculate_after_ms=40, settle_ms=160)


def draft_transcript(scene: Scene, text: str) -> tuple[Effect, ...]:
    """A silence whose first asking is answered with a draft."""
    scene.speech(800)
    scene.possible_end(40)
    return scene.tell(FinalTranscript(at(scene.now_ms), FIRST, replace(words(text), is_draft=True)))
