"""Simulates a reply in a room while users may speak: loudspeaker, room, canceller, VAD and turn taking."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from assistant.turns.effects import DuckReply, Effect, InterruptReply, RequestTranscript, RetractReply, UnduckReply
from assistant.turns.events import FrameProcessed, InterimTranscript, PlaybackProgress, ReplyRequested
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from audio.frame import Frame
from audio.level import gain_for
from audio.playout import CAPACITY_SAMPLES, Playout
from audio.sound_id import NamedSound
from audio.speaker import DUCK_DB
from audio.stt import Transcript
from audio.units import FRAME_MS, FRAME_SAMPLES, FULL_SCALE, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, Samples, ms_of_samples
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from bench.sound.echo_room import Air, Room

SPEECH_DBFS = -26.0
"""Level of a user at the microphone in dBFS; the reply leaves at -20 dBFS."""

LATENCY_S = 0.06
"""Output latency as reported by the card, in seconds: from accepting a block to the block leaving."""

_BLOCK_SAMPLES = REPLY_RATE_HZ // 100
_BLOCK_S = _BLOCK_SAMPLES / REPLY_RATE_HZ


class Canceller(Protocol):
    """Combines `FrameCleaner` and `Heard`."""

    def clean(self, pcm: Pcm, captured_s: float) -> Pcm: ...
    def add_reference(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None: ...


class NoCanceller:
    """No canceller, as with headphones."""

    def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
        """Returns the sound unchanged."""
        del captured_s
        return pcm

    def add_reference(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        """Ignores the reply."""


@dataclass(frozen=True, slots=True)
class BargeIn:
    """A user speaking into a reply: int16 at 16 kHz, its position in the scene, and the bounds of its speech."""

    pcm: Pcm
    position: int
    begins: int
    ends: int


@dataclass(slots=True)
class Course:
    """Result of a scene.

    Attributes:
        raw: The microphone's sound, int16 at 16 kHz.
        cleaned: Input of the VAD.
        ducks: Positions at which the reply was ducked.
        interrupts: Positions at which it was interrupted.
        speech: VAD decision per frame.
    """

    raw: Pcm
    cleaned: Pcm
    ducks: list[int] = field(default_factory=list)
    interrupts: list[int] = field(default_factory=list)
    speech: list[bool] = field(default_factory=list)


class _Card:
    """The loudspeaker: a repeated reply, its ducking, and the blocks with their times."""

    def __init__(self, reply: Pcm, room: Room, canceller: Canceller, air: Air) -> None:
        self.playout = Playout()
        self._reply, self._room, self._canceller, self._air = reply, room, canceller, air
        self._position, self._starts, self._sound = 0, 0, NamedSound("")
        self._blocks = 0

    @property
    def playing(self) -> bool:
        """Returns whether the reply is playing."""
        return self.playout.is_open(self._sound)

    def begin(self) -> None:
        """Starts a reply where the last one stopped."""
        self._starts += 1
        self._sound = NamedSound(f"start {self._starts}")
        self.playout.open(self._sound)

    def stop(self) -> None:
        """Stops the reply."""
        self.playout.close(self._sound)

    def until(self, time_s: float) -> None:
        """Plays everything that leaves up to this time."""
        while True:
            leaves_s = self._blocks * _BLOCK_S * (1 + self._room.drift_ppm * 1e-6)
            if leaves_s >= time_s:
                return
            if self.playing and self.playout.room_samples > CAPACITY_SAMPLES // 2:
                piece = np.take(
                    self._reply, np.arange(self._position, self._position + REPLY_RATE_HZ // 2), mode="wrap"
                )
                self._position += len(piece)
                self.playout.offer(self._sound, piece)
            block = self.playout.pull(_BLOCK_SAMPLES)
            self._canceller.add_reference(block, REPLY_RATE_HZ, leaves_s)
            self._air.play_samples(block)
            self._blocks += 1


class _Listener:
    """The VAD and turn taking while the assistant speaks."""

    def __init__(self, network: SileroNetwork) -> None:
        self._vad = SileroVad(network)
        self.speaking = False
        self.begin(0)

    def begin(self, position: int) -> None:
        """Reports that a reply became audible."""
        self._turns = TurnTaking(TurnSettings())
        self._turns.handle(ReplyRequested(Samples(position), "greeting", "Hello."))

    def hear(self, frame: Frame) -> Sequence[Effect]:
        """Processes the next frame."""
        vad_result = self._vad.process(frame)
        self.speaking = vad_result.speaking
        if self._turns.replying is not None:
            self._turns.handle(PlaybackProgress(frame.end, self._turns.replying, 3, audible=True))
        effects = self._turns.handle(FrameProcessed(frame.end, vad_result))
        for effect in effects:
            if isinstance(effect, RequestTranscript):  # no transcripts in this bench
                nothing = InterimTranscript(frame.end, Transcript(effect.segment, frame.end, ""), was_requested=True)
                effects += self._turns.handle(nothing)
        return effects


def play_scene(
    room: Room,
    reply: Pcm,
    seconds: float,
    canceller: Canceller,
    *,
    network: SileroNetwork,
    barge_ins: Sequence[BargeIn] = (),
    stops: bool = True,
) -> Course:
    """Plays a scene.

    Args:
        room: The simulated room.
        reply: Reply at 24 kHz, repeated for the whole scene.
        seconds: Duration.
        canceller: A fresh canceller under test.
        network: Network of the VAD.
        barge_ins: User speech into the reply. The reply starts again 3 s before each.
        stops: Whether an interruption stops the reply. Otherwise it continues, so that interruptions can be counted.
    """
    frames = round(seconds * 1000 / FRAME_MS)
    people = np.zeros(frames * FRAME_SAMPLES)
    for barge_in in barge_ins:
        spoken = barge_in.pcm * gain_for(SPEECH_DBFS, barge_in.pcm, MIC_RATE_HZ) / FULL_SCALE
        people[barge_in.position : barge_in.position + len(spoken)] += spoken[: max(len(people) - barge_in.position, 0)]
    starts = {(barge_in.begins // FRAME_SAMPLES) - 3000 // FRAME_MS for barge_in in barge_ins}
    air = Air(room)
    card = _Card(reply, room, canceller, air)
    listener = _Listener(network)
    course = Course(np.zeros(len(people), np.int16), np.zeros(len(people), np.int16))
    card.begin()
    waiting = False  # an interruption ends with its voice
    for number in range(frames):
        start = number * FRAME_SAMPLES
        now_s = (start + FRAME_SAMPLES) / MIC_RATE_HZ
        if number in starts:
            card.begin()
            listener.begin(start)
        card.until(now_s + LATENCY_S)
        sound = air.hear() + people[start : start + FRAME_SAMPLES]
        course.raw[start : start + FRAME_SAMPLES] = np.rint(np.clip(sound * FULL_SCALE, -32_768, 32_767))
        cleaned = canceller.clean(course.raw[start : start + FRAME_SAMPLES], start / MIC_RATE_HZ)
        course.cleaned[start : start + FRAME_SAMPLES] = cleaned
        frame = Frame(Samples(start), cleaned)
        for effect in listener.hear(frame):
            _perform(effect, card, course, frame.end, stops=stops)
            waiting = waiting or isinstance(effect, InterruptReply | RetractReply)
        course.speech.append(listener.speaking)
        if waiting and not stops and not listener.speaking:
            waiting = False
            listener.begin(frame.end)
    return course


def _perform(effect: Effect, card: _Card, course: Course, position: int, *, stops: bool) -> None:
    if isinstance(effect, DuckReply):
        course.ducks.append(position)
        card.playout.duck(DUCK_DB)
    elif isinstance(effect, UnduckReply):
        card.playout.unduck()
    elif isinstance(effect, InterruptReply | RetractReply):
        course.interrupts.append(position)
        if stops:
            card.stop()
        else:
            card.playout.unduck()


def erle_db(course: Course, begin_s: float, end_s: float) -> float:
    """Returns the echo return loss enhancement: the attenuation by cleaning, in dB, in a span of the scene."""
    span = slice(int(begin_s * MIC_RATE_HZ), int(end_s * MIC_RATE_HZ))
    before = float(np.mean(np.square(course.raw[span], dtype=np.float64)))
    after = float(np.mean(np.square(course.cleaned[span], dtype=np.float64)))
    return 10 * float(np.log10((before + 1e-3) / (after + 1e-3)))


def delays_ms(course: Course, barge_in: BargeIn) -> tuple[float | None, float | None]:
    """Returns the delays from speech onset to ducking and interruption; None if more than 400 ms after its end."""
    last = barge_in.ends + MIC_RATE_HZ * 2 // 5

    def first(places: list[int]) -> float | None:
        candidates = [place for place in places if barge_in.begins <= place <= last]
        return ms_of_samples(candidates[0] - barge_in.begins) if candidates else None

    return first(course.ducks), first(course.interrupts)
