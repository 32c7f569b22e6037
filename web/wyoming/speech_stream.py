"""Recognizes the speech of one stream while it arrives, so that its words are ready when it ends.

    live sound ─▶ frames ─▶ VAD ── speech ──▶ recognizer, which decodes at each pause
                             └──── silence ─▶ withheld, and dropped if it lasts
    a file ─▶ held until it ends or a part is long enough ─▶ recognizer, which decodes once, and thoroughly

A client that sends a file is ahead of real time. The recognizer would decode its beginning several times, so sound is
held while more arrives. Sound that follows real time is passed on within 10 ms, and so is what a client sends at once
after its network stood still.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from audio.errors import EngineError, VadError
from audio.frame import Frame
from audio.stt import RecognitionStream, Recognizer, RecordingRecognizer, SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Pcm, Samples, s_of_samples, samples_of_ms, samples_of_s
from audio.vad import Vad
from web.client_audio.recording_segments import CUT_FROM_S, quietest
from web.wyoming.events import WyomingError

log = logging.getLogger(__name__)

QUIET_S = 0.01
"""Time without more sound after which held sound is passed on. A file's chunks follow each other within 1 ms."""
LIVE_FROM_S = 0.1
"""Time after which held sound is passed on if it follows real time: small chunks of a live client."""
LIVE_SPEED = 3.0
"""Multiple of real time up to which sound is live."""
FILE_FROM_S = 3.0
"""Held sound, ahead of real time, from which a stream is a file. Clients that keep sound for a wake word send less."""
PACE_S = 1.0
"""Time that a file's sound must follow real time, to be live from there."""

MAX_HELD_S = 28.0
"""Held sound of which a part is recognized at once: less than Whisper's window of 30 s."""

SECTION_FROM_S = 20.0
"""Length of live speech from which a pause ends a section, which is then recognized for itself."""

TAIL_MS = 300
"""Silence after speech that the recognizer gets: it decodes at the pause, and a later decode would hear no more."""
BATCH_MS = 600
"""Speech that the recognizer gets at once while it goes on: it decodes the words so far no more often."""
PRE_ROLL_MS = 300
"""Sound before speech that the recognizer gets."""
MAX_SILENCE_MS = 1000
"""Longest silence between two words that the recognizer gets."""

FRAMES_AT_ONCE = 10
"""Frames that the detector gets at once, before other tasks run: up to 1 ms each."""

MAX_SOUND_S = 1800.0
"""Longest stream."""
TRANSCRIPT_TIMEOUT_S = 60.0
"""Time limit for the words of a section."""

_NOTHING = np.zeros(0, np.int16)


@dataclass(slots=True)
class SpeechStream:
    """One stream of speech. Not thread-safe.

    Attributes:
        recognizer: A recognizer of its own.
        vad: A detector of its own; None after it has failed.
        tasks: Owns the work.
        on_words: Receives all words that will not change any more, whenever there are more.
        language: Code of the language of the last words, from a recognizer that follows several; else "".
    """

    recognizer: Recognizer
    vad: Vad | None
    tasks: asyncio.TaskGroup
    on_words: Callable[[str], None] = lambda _words: None
    language: str = ""
    _held: list[Pcm] = field(default_factory=list)
    _held_samples: int = 0
    _held_since_s: float = 0.0
    _is_file: bool = False
    _began_s: float | None = None  # time of the first sound
    _pace_from_s: float = 0.0  # time from which the pace of a file is measured
    _pace_samples: int = 0  # samples that arrived since then
    _failure: WyomingError | None = None
    _timer: asyncio.TimerHandle | None = None
    _total: int = 0  # samples of the stream so far
    _position: Samples = Samples(0)  # of the VAD
    _was_file: bool = False  # the VAD has not heard all
    _speaking: bool = False
    _heard_speech: bool = False
    _speech_end: Samples | None = None  # of the last speech, in the sound that the recognizer got
    _silence: int = 0  # samples of silence that the recognizer got since then
    _withheld: list[Pcm] = field(default_factory=list)
    _batch: list[Pcm] = field(default_factory=list)  # speech for the recognizer
    _batch_samples: int = 0
    _fed: int = 0  # samples that the recognizer got, with the batch
    _section_start: int = 0
    _stream: RecognitionStream | None = None
    _section: asyncio.Task[None] | None = None  # recognizes the section before
    _words: list[str] = field(default_factory=list)  # of the sections before

    async def take(self, pcm: Pcm) -> None:
        """Takes the next sound. Waits while too much is not recognized yet. Raises WyomingError."""
        self._check()
        self._total += len(pcm)
        if self._total > samples_of_s(MAX_SOUND_S):
            raise WyomingError("audio_too_long", f"a stream may have at most {MAX_SOUND_S:g} s of sound")
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        if self._held_samples < FRAME_SAMPLES:
            self._held_since_s = now_s
        self._held.append(pcm)
        self._held_samples += len(pcm)
        if self._timer is not None:
            self._timer.cancel()
        elapsed_s, held_s = now_s - self._held_since_s, s_of_samples(self._held_samples)
        self._judge_pace(len(pcm), now_s)
        if self._is_file:
            if held_s > MAX_HELD_S:
                await self._recognize_held()
                self._pace_from_s, self._pace_samples = loop.time(), 0
        elif elapsed_s >= LIVE_FROM_S and held_s <= LIVE_SPEED * elapsed_s:
            self._pass_on()
        else:
            self._timer = loop.call_later(QUIET_S, self._pass_on)

    async def finish(self) -> str:
        """Returns the words of the whole stream. Raises WyomingError."""
        if self._timer is not None:
            self._timer.cancel()
        has_more = bool(self._position) and not self._is_file
        while has_more or self._section is not None:
            if self._section is not None:
                await self._section
            has_more = has_more and self._pass_step()
            await asyncio.sleep(0)
        if self._timer is not None:
            self._timer.cancel()
        if not self._heard_speech:
            self._feed_withheld()
        rest = self._take_held()
        self._expect_recording(is_recording=self._is_file or not self._position)
        if len(rest) >= FRAME_SAMPLES or self._stream is not None or not self._words:
            self._feed(rest)
        await self._end_section(self._speech_end)
        self._check()
        return self._text

    async def aclose(self) -> None:
        """Drops what is not recognized yet, and the recognizer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._section is not None:
            self._section.cancel()
        if self._stream is not None:
            self._stream.cancel()
        await self.recognizer.aclose()

    # ---- sound ----

    def _judge_pace(self, samples: int, now_s: float) -> None:
        """Decides from the time at which sound arrives whether the stream is a file."""
        if self._began_s is None:
            self._began_s = now_s
        self._pace_samples += samples
        if not self._is_file:
            ahead_s = s_of_samples(self._total) - (now_s - self._began_s)
            self._is_file = min(ahead_s, s_of_samples(self._held_samples)) > FILE_FROM_S
            self._was_file = self._was_file or self._is_file
        elif now_s - self._pace_from_s >= PACE_S:
            self._is_file = s_of_samples(self._pace_samples) > LIVE_SPEED * (now_s - self._pace_from_s)
        else:
            return
        self._pace_from_s, self._pace_samples = now_s, 0

    def _take_held(self) -> Pcm:
        held = np.concatenate([_NOTHING, *self._held])
        self._held, self._held_samples = [], 0
        return held

    def _pass_on(self) -> None:
        """Passes held sound on, unless the section before is still being recognized. Other tasks run in between."""
        if self._pass_step():
            self._timer = asyncio.get_running_loop().call_later(0, self._pass_on)

    def _pass_step(self) -> bool:
        """Passes some held sound on, frame by frame. Returns whether there is more."""
        if self._section is not None:
            return False
        sound = self._take_held()
        whole = min(len(sound) // FRAME_SAMPLES, FRAMES_AT_ONCE) * FRAME_SAMPLES
        self._held, self._held_samples = [sound[whole:]], len(sound) - whole
        for start in range(0, whole, FRAME_SAMPLES):
            self._process(sound[start : start + FRAME_SAMPLES])
        return len(sound) - whole >= FRAME_SAMPLES

    def _process(self, pcm: Pcm) -> None:
        if self.vad is None:
            self._feed(pcm)
            return
        frame = Frame(self._position, pcm)
        self._position = frame.end
        try:
            result = self.vad.process(frame)
        except VadError as error:
            log.warning("a Wyoming stream is recognized without voice activity detection: %s", error)
            self.vad = None
            self._feed_withheld()
            self._feed(pcm)
            return
        was_speaking, self._speaking = self._speaking, result.speaking
        if result.speaking:
            self._silence = 0
            if not was_speaking:
                self._begin_speech(Samples(result.boundary))
            end = result.possible_end
            self._feed(pcm, at_once=end is not None)
            self._speech_end = None if end is None else Samples(self._fed - (frame.end - end))
        elif self._heard_speech and self._silence < samples_of_ms(TAIL_MS):
            self._feed(pcm)
            self._silence += len(pcm)
            if was_speaking:
                self._speech_end = Samples(self._fed - (frame.end - result.boundary))
        else:
            self._withhold(pcm)
            is_long = self._fed - self._section_start >= samples_of_s(SECTION_FROM_S)
            if is_long and self._stream is not None and self._section is None:
                self._section = self.tasks.create_task(self._recognize_section(), name="section")

    def _withhold(self, pcm: Pcm) -> None:
        self._withheld.append(pcm)
        most_s = MAX_SILENCE_MS / 1000 if self._heard_speech else MAX_HELD_S
        if len(self._withheld) * FRAME_SAMPLES > samples_of_s(most_s):
            self._withheld.pop(0)

    def _begin_speech(self, onset: Samples) -> None:
        """Feeds the silence before speech; all of it if it is short."""
        if not self._heard_speech:
            before = int(self._position - FRAME_SAMPLES - onset) + samples_of_ms(PRE_ROLL_MS)
            frames = -(-before // FRAME_SAMPLES)
            self._withheld = self._withheld[-frames:]
        self._heard_speech = True
        self._feed_withheld()

    def _feed_withheld(self) -> None:
        withheld, self._withheld = self._withheld, []
        for pcm in withheld:
            self._feed(pcm, at_once=False)

    def _feed(self, pcm: Pcm, *, at_once: bool = True) -> None:
        """Gives sound to the recognizer; while speech goes on a batch at a time, since each decode takes time."""
        self._fed += len(pcm)
        self._batch.append(pcm)
        self._batch_samples += len(pcm)
        if at_once or self._batch_samples >= samples_of_ms(BATCH_MS):
            self._feed_batch()

    def _feed_batch(self) -> None:
        start, batch = self._fed - self._batch_samples, self._batch
        self._batch, self._batch_samples = [], 0
        if self._failure is not None or start == self._fed:
            return
        try:
            if self._stream is None:
                self._section_start = start
                self._stream = self.recognizer.open(SegmentId(start), self._interim)
            self._stream.feed(np.concatenate(batch))
        except EngineError as error:
            self._fail(error)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    # ---- words ----

    @property
    def _text(self) -> str:
        return " ".join(filter(None, self._words))

    def _interim(self, transcript: Transcript) -> None:
        if not transcript.is_draft:
            self.on_words(" ".join(filter(None, (self._text, transcript.text.strip()))))

    def _expect_recording(self, *, is_recording: bool) -> None:
        if isinstance(self.recognizer, RecordingRecognizer):
            self.recognizer.expect_recording(is_recording=is_recording)

    async def _recognize_held(self) -> None:
        """Recognizes a part of a long file. Raises WyomingError."""
        if self._section is not None:
            await self._section
        self._feed_withheld()
        sound = self._take_held()
        self._expect_recording(is_recording=True)
        position = quietest(sound, samples_of_s(CUT_FROM_S))
        self._held, self._held_samples = [sound[position:]], len(sound) - position
        self._feed(sound[:position])
        await self._end_section(None)
        self._expect_recording(is_recording=False)
        self.on_words(self._text)

    async def _recognize_section(self) -> None:
        """Recognizes what was said before a pause; what is said meanwhile is held."""
        await self._end_section(self._speech_end)
        self.on_words(self._text)
        self._section = None
        self._pass_on()

    async def _end_section(self, speech_end: Samples | None) -> None:
        """Adds the words of the section."""
        self._feed_batch()
        stream, self._stream = self._stream, None
        if stream is not None:
            try:
                async with asyncio.timeout(TRANSCRIPT_TIMEOUT_S):
                    transcript = await stream.transcript(speech_end)
            except (EngineError, TimeoutError) as error:
                self._fail(error)
            else:
                self.language = transcript.language or self.language
                if not (transcript.low_confidence and self._only_noise):
                    self._words.append(transcript.text.strip())
            finally:
                stream.close()

    @property
    def _only_noise(self) -> bool:
        """Whether the detector has heard no speech in the whole stream. It does not hear files."""
        return bool(self._position) and not self._heard_speech and not self._was_file and self.vad is not None

    def _fail(self, error: Exception) -> None:
        log.warning("a Wyoming stream was not recognized: %s", error or type(error).__name__)
        self._failure = WyomingError("recognizer_failed", "the recognizer failed; try again in a moment")
