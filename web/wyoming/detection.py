"""Wake words and voice activity: `detect` and the sound after it, or sound without request and `audio-start`."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from wyoming.vad import VoiceStarted, VoiceStopped
from wyoming.wake import Detect, Detection, NotDetected

from assistant.setup.conversation.chosen_engines import EngineChoices
from assistant.setup.listening.wake_words import installed_wake_words, wake_word_detector
from audio.errors import EngineLoadError, VadError
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples, samples_of_ms
from audio.vad import Vad
from audio.wake import WakeWordDetector
from web.limits.session_limits import AudioThrottle
from web.wyoming.events import EventWriter, WyomingError
from web.wyoming.sound_input import SoundInput

MAX_STREAMS = 32
"""Streams with a detector at a time: each costs 0.6 to 5 % of a core. They take no place of a conversation."""

AHEAD_S, SPEED = 2.0, 8.0
"""Time that sound may be ahead, and the multiple of real time at which it is then taken: a detector computes in the
event loop."""
_STEP_SAMPLES = 5 * FRAME_SAMPLES
"""Sound after which other tasks run."""

STOPPED_AFTER_MS = 500.0
"""Silence after which somebody has stopped speaking: longer than the pauses between words."""


@dataclass(slots=True)
class Detectors:
    """Makes the detectors of streams, a limited number at a time.

    Attributes:
        choices: The engines.
        streams: Streams that have one.
    """

    choices: EngineChoices
    streams: int = field(default=0, init=False)

    def words(self) -> tuple[str, ...]:
        """Returns the wake words that clients may wait for."""
        allowed = self.choices.loader.settings.server.wake_words.split()
        return tuple(word for word in installed_wake_words() if word in allowed)

    async def wake_words(self, request: Detect, writer: EventWriter, sound: SoundInput) -> "WakeWordStream":
        """Returns the answer to `detect`; `sound`: the sound that follows. Raises WyomingError."""
        known, names = self.words(), request.names or []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise WyomingError("invalid_value", "names must be a list of texts")
        if not known:
            raise WyomingError("no_wake_word", "this server has no wake words (extra wake; server.wake_words)")
        if any(name not in known for name in names):
            raise WyomingError("wake_word_not_found", f"this server has the wake words {', '.join(known)}")
        self._check_limit()
        try:
            detector = await asyncio.to_thread(wake_word_detector, tuple(dict.fromkeys(names)) or known)
        except EngineLoadError as error:
            raise WyomingError("wake_word_failed", f"the wake words cannot be loaded: {error}") from error
        return WakeWordStream(self, writer, sound, detector, request.context)

    def voices(self, writer: EventWriter, sound: SoundInput) -> "VoiceStream":
        """Returns the answer to sound without a request and without `audio-start`. Raises WyomingError."""
        self._check_limit()
        return VoiceStream(self, writer, sound, self.choices.loader.detector())

    def _check_limit(self) -> None:
        if self.streams >= MAX_STREAMS:
            message = f"the server listens to {MAX_STREAMS} streams already; try again in a moment"
            raise WyomingError("server_full", message)


class _FrameStream(ABC):
    """Cuts the sound of a stream into frames. Implements `SoundRequest`."""

    takes_slot: ClassVar[bool] = False

    def __init__(self, detectors: Detectors, writer: EventWriter, sound: SoundInput) -> None:
        """Counts the stream until it is closed."""
        self.writer = writer
        self._sound = sound
        self._detectors = detectors
        self._open = True
        self._position = Samples(0)
        self._rest = np.zeros(0, np.int16)
        self._throttle = AudioThrottle(MIC_RATE_HZ, AHEAD_S, SPEED)
        detectors.streams += 1

    @abstractmethod
    async def process(self, frame: Frame) -> None:
        """Processes the next frame. Raises WyomingError, ClientGoneError."""

    @abstractmethod
    async def finish(self) -> None:
        """Answers: the sound is complete. Raises ClientGoneError."""

    async def take(self, pcm: Pcm) -> None:
        """Takes the next sound; waits if it is far ahead of real time. Raises WyomingError, ClientGoneError."""
        loop = asyncio.get_running_loop()
        sound = np.concatenate([self._rest, pcm])
        whole = len(sound) // FRAME_SAMPLES * FRAME_SAMPLES
        self._rest = sound[whole:]
        for start in range(0, whole, FRAME_SAMPLES):
            frame = Frame(self._position, sound[start : start + FRAME_SAMPLES])
            self._position = frame.end
            await self.process(frame)
            if self._position % _STEP_SAMPLES == 0:
                await asyncio.sleep(self._throttle.wait_s(_STEP_SAMPLES, loop.time()))

    def client_ms(self, position: int) -> int:
        """Returns a position in the sound on the client's clock, in ms."""
        return (self._sound.began_ms or 0) + round(ms_of_samples(position))

    async def aclose(self) -> None:
        """Frees the place of the stream. Idempotent."""
        if self._open:
            self._open = False
            self._detectors.streams -= 1


class WakeWordStream(_FrameStream):
    """Reports the wake words of a stream."""

    def __init__(
        self,
        detectors: Detectors,
        writer: EventWriter,
        sound: SoundInput,
        detector: WakeWordDetector,
        context: dict[str, Any] | None = None,
    ) -> None:
        """`context`: of the request; comes back with the answer."""
        super().__init__(detectors, writer, sound)
        self._detector = detector
        self._context = context
        self._detected = False

    async def process(self, frame: Frame) -> None:
        """Sends `detection` for each wake word. Raises ClientGoneError."""
        detection = self._detector.process(frame)
        if detection is not None:
            self._detected = True
            end_ms = self.client_ms(detection.end)
            await self.writer.send(Detection(detection.word, end_ms, context=self._context))

    async def finish(self) -> None:
        """Sends `not-detected` if there was no wake word. Raises ClientGoneError."""
        if not self._detected:
            await self.writer.send(NotDetected(self._context))


class VoiceStream(_FrameStream):
    """Reports when somebody begins and stops to speak."""

    def __init__(self, detectors: Detectors, writer: EventWriter, sound: SoundInput, vad: Vad) -> None:
        """`vad`: a detector of its own."""
        super().__init__(detectors, writer, sound)
        self._vad = vad
        self._speaking = False
        self._speech_end = Samples(0)

    async def process(self, frame: Frame) -> None:
        """Sends `voice-started` and `voice-stopped`. Raises WyomingError, ClientGoneError."""
        try:
            result = self._vad.process(frame)
        except VadError as error:
            raise WyomingError("vad_failed", "voice activity detection failed; try again in a moment") from error
        if result.speaking:
            self._speech_end = frame.end
            if not self._speaking:
                self._speaking = True
                await self.writer.send(VoiceStarted(self.client_ms(result.boundary)))
        elif self._speaking:
            self._speech_end = min(self._speech_end, Samples(result.boundary))
            if frame.end - self._speech_end >= samples_of_ms(STOPPED_AFTER_MS):
                await self._stop()

    async def finish(self) -> None:
        """Sends `voice-stopped` if somebody speaks at the end. Raises ClientGoneError."""
        if self._speaking:
            await self._stop()

    async def _stop(self) -> None:
        self._speaking = False
        await self.writer.send(VoiceStopped(self.client_ms(self._speech_end)))
