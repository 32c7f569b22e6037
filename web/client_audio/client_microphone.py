"""The microphone of a client: converts audio blocks from the network to gapless frames."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import replace

from assistant.events import SessionEvent, SpeechDiscarded, SpeechEnded, SpeechStarted, UserTurnCommitted
from audio.errors import AudioError
from audio.frame import Frame, SilentSpan
from audio.frame_batching import MAX_BATCH_S
from audio.noise_reduction import MicrophoneKind, NoiseReduction
from audio.units import FRAME_MS, Pcm, ms_of_samples, samples_of_ms
from web.client_audio.client_line import ClientLine
from web.client_audio.item_sounds import SpeechTape
from web.process.fair_share import FairShare

WAITING_FRAMES = 1500
"""30 s of frames may be queued, because a client may send a whole recording at once. Then `deliver` waits."""

YIELD_EVERY_FRAMES = 10
"""Frames after which other tasks of the event loop run."""

AHEAD_FRAMES = 15
"""300 ms. A conversation that is further behind its client catches up within its share of the event loop's time."""

OWN_FRAMES_PER_S = 62.5
OWN_FRAMES = 25
"""A token bucket: 1.25 times real time, with bursts of half a second, is processed outside the shared budget."""

AHEAD_S = 0.5
"""Sound that may be ahead of real time and is still processed while a transcript is pending, in seconds. Network jitter
is shorter."""

PACE = 1.25
"""Multiple of real time at which `AHEAD_S` is filled again."""

MAX_AHEAD_S = 10.0
"""Sound ahead of real time that counts, in seconds: live sound after a long recording then waits at most 8 s for a
transcript, and after 40 s (`PACE`) no longer."""

HELD_CHECK_S = 0.005
"""Interval in seconds at which a held recording checks whether the transcript has arrived."""

SLICE_S = 0.004
"""Processing time of frames that are ahead, after which the conversation pauses."""

SKIP_AFTER_S = 10.0
"""Time without audio in seconds after which silence is inserted in spans: by then nothing is looked for in it."""

SPAN_S = 0.5
"""Interval of these spans in seconds; timers, which are checked with each, are watched from 1 s before they are due."""

SETTLE_TIMEOUT_S = 10.0
"""Time limit for a conversation to process the next of the delivered frames. If it hangs, the client's command
proceeds; a slow machine only takes longer."""


class ClientMicrophone:
    """Implements `Microphone`. Blocks are delivered on the event loop; one conversation iterates over the frames.

    While no audio arrives (muted, push-to-talk, lost network) the line continues in silence. `ClientLine` tells this
    from a late block. In the user's turn it waits longer, because silence that nobody sent would end the turn. After
    long silence, as of a satellite that listens for its own wake word, spans replace the frames. Implements
    `RestingMicrophone` and `SkippingMicrophone`.

    Attributes:
        clock: Maps positions to the loop time at which the audio arrived.
        batches_silence: See `Microphone`.
        skips_silence: See `SkippingMicrophone`.
        on_silence: See `SkippingMicrophone`.
        rests: See `rest`.
        tape: Gets each frame, to keep the user's sound; None: it is not kept.
        noise_reduction: The kind of microphone whose noise is removed, from the next frame on; None: nothing is.
        holds_recording: Whether sound that is ahead of real time has to wait: a transcript is pending, and later sound
            must not be processed before it.
        on_problem: Called once if noise cannot be removed; the frames then stay as they are.
    """

    def __init__(self, rate_hz: int, share: FairShare | None = None) -> None:
        """Creates a client's microphone.

        Args:
            rate_hz: Sample rate of the blocks, until `deliver` sets another.
            share: Shares the event loop with the other conversations; None: not shared.
        """
        self.batches_silence = self.skips_silence = self.rests = False
        self.on_silence: Callable[[SilentSpan], None] = lambda _span: None
        self._open_turn = 0  # the newest turn that has begun
        self.tape: SpeechTape | None = None
        self.noise_reduction: MicrophoneKind | None = None
        self.holds_recording: Callable[[], bool] = lambda: False
        self.on_problem: Callable[[str], None] = lambda _what: None
        self._reducer: NoiseReduction | None = None
        self._line = ClientLine(rate_hz)
        self.clock = self._line.clock
        self._share = share or FairShare()
        # An event is set once everything before it was processed.
        self._waiting: deque[Frame | SilentSpan | asyncio.Event] = deque()
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._processed = 0  # frames that the conversation has taken
        self._ended = False
        self._own_frames = float(OWN_FRAMES)
        self._own_at_s = 0.0
        self._credit_s = AHEAD_S  # of sound; negative: the frames are ahead of real time
        self._credit_at_s = 0.0
        self._is_held = False
        self._silence_timer: asyncio.TimerHandle

    @property
    def received_ms(self) -> float:
        """Length of the audio received from the client."""
        return self._line.received_ms

    @property
    def full(self) -> bool:
        """Whether the conversation is far behind, so that `deliver` would wait."""
        return not self._room.is_set()

    @property
    def behind(self) -> bool:
        """Whether the conversation has 300 ms or more of the delivered audio still to process."""
        return len(self._waiting) >= AHEAD_FRAMES

    def inserted_ms(self, before_ms: float) -> float:
        """Returns how much of the line before this position is inserted silence."""
        return ms_of_samples(self._line.inserted_before(samples_of_ms(before_ms)))

    def on_turn_event(self, event: SessionEvent) -> None:
        """Notes whether the user's turn is open: a gap in it may be a stall of the network, and is waited for."""
        match event:
            case SpeechStarted(turn):
                self._open_turn, self._line.arrivals.in_turn = turn, True
            case SpeechEnded(turn) | UserTurnCommitted(turn) | SpeechDiscarded(turn) if turn >= self._open_turn:
                self._line.arrivals.in_turn = False

    def on_disconnect(self) -> None:
        """Marks the client as disconnected: no audio is expected until it is back."""
        self._line.arrivals.gone = True

    async def deliver(self, block: Pcm, rate_hz: int) -> None:
        """Adds a block, int16 (n,) at this sample rate. Waits while the conversation is far behind."""
        loop = asyncio.get_running_loop()
        if self._waiting:  # let the conversation and other tasks run first
            await asyncio.sleep(0)
        for start in range(0, len(block), rate_hz):  # a large block must not occupy the event loop
            await self._room.wait()
            if self._ended:
                return
            part = block[start : start + rate_hz]
            block_s = len(block) / rate_hz
            now_s = loop.time()
            if self._skips(now_s):
                self._insert_silence(now_s)  # up to the block
            self._enqueue(
                self._line.push_block(
                    part, rate_hz, now_s, block_s, batches_silence=self.batches_silence, rests=self.rests
                )
            )
            if len(block) > rate_hz:
                await asyncio.sleep(0)

    def rest(self, on: bool) -> None:
        """Implements `RestingMicrophone`."""
        self.rests = on

    def insert_silence(self) -> None:
        """Inserts the silence that is due now: the client has done something that a span would report late."""
        if self._skips(asyncio.get_running_loop().time()):
            self._changed.set()

    async def settle(self) -> None:
        """Waits until the conversation has processed all delivered audio. The last frame is padded.

        Up to 4 ms are left for the next frame, see `MicrophoneLine.settle`.
        """
        if self._ended:
            return
        self._enqueue(self._line.settle())
        heard = asyncio.Event()
        self._waiting.append(heard)
        self._changed.set()
        processed = -1
        while not heard.is_set() and (self._is_held or processed != self._processed):
            processed = self._processed
            with suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_TIMEOUT_S):
                    await heard.wait()

    def end(self, *, at_once: bool = False) -> None:
        """Ends the audio. The conversation gets the queued frames, unless `at_once` drops them. Idempotent."""
        if not self._ended:
            self._enqueue(self._line.finish())
        if at_once:
            for waiter in self._waiting:
                if isinstance(waiter, asyncio.Event):
                    waiter.set()
            self._waiting.clear()
        self._ended = True
        self._changed.set()
        self._room.set()

    async def frames(self) -> AsyncGenerator[Frame]:
        """Yields the frames from position 0 on, until `end`. May be iterated once."""
        loop = asyncio.get_running_loop()
        self._enqueue(self._line.idle(loop.time()))
        self._check_silence(loop)
        worked_s = 0.0
        try:
            while True:
                while self._waiting:
                    frame = self._waiting.popleft()
                    if isinstance(frame, asyncio.Event):
                        frame.set()
                        continue
                    if isinstance(frame, SilentSpan):
                        self._pass_silence(frame, loop)
                        continue
                    await self._wait_for_transcript(loop)
                    self._processed += 1
                    if len(self._waiting) < WAITING_FRAMES:
                        self._room.set()
                    began_s = loop.time()
                    ahead = self._is_ahead(began_s)
                    if self.tape is not None:
                        self.tape.add_frame(frame)
                    yield frame if self.noise_reduction is None else await self._cleaned(frame, self.noise_reduction)
                    if ahead:
                        worked_s += loop.time() - began_s
                        if worked_s >= SLICE_S:
                            await self._share.pause(worked_s)
                            worked_s = 0.0
                    if len(self._waiting) % YIELD_EVERY_FRAMES == YIELD_EVERY_FRAMES - 1:
                        await asyncio.sleep(0)  # a client that sent much at once must not occupy the event loop
                if self._ended:
                    return
                self._changed.clear()
                await self._changed.wait()  # ends: `_check_silence` sets it
                await self._share.turn()
                if not self._waiting and not self._ended:
                    self._insert_silence(loop.time())
        finally:
            self._silence_timer.cancel()

    def _pass_silence(self, span: SilentSpan, loop: asyncio.AbstractEventLoop) -> None:
        self._processed += 1
        self.on_silence(span)
        if not self.skips_silence:  # something is due: frames come again at once
            self._silence_timer.cancel()
            self._check_silence(loop)

    async def _wait_for_transcript(self, loop: asyncio.AbstractEventLoop) -> None:
        """Waits with the next frame while a transcript is pending, if the frame is ahead of real time."""
        while True:
            now_s = loop.time()
            passed_s, self._credit_at_s = now_s - self._credit_at_s, now_s
            self._credit_s = min(AHEAD_S, self._credit_s + PACE * passed_s)
            self._is_held = self._credit_s < 0 and not self._ended and self.holds_recording()
            if not self._is_held:
                break
            await asyncio.sleep(HELD_CHECK_S)
        self._credit_s = max(-MAX_AHEAD_S, self._credit_s - FRAME_MS / 1000)

    async def _cleaned(self, frame: Frame, kind: MicrophoneKind) -> Frame:
        """Returns the frame without noise."""
        try:
            if self._reducer is None or self._reducer.kind != kind:
                self._reducer = await asyncio.to_thread(NoiseReduction, kind)
            return replace(frame, pcm=self._reducer.clean(frame.pcm))
        except AudioError as error:
            self.noise_reduction = self._reducer = None
            self.on_problem(str(error))
            return frame

    def _is_ahead(self, now_s: float) -> bool:
        """Returns whether the next frame counts against the budget that all conversations share."""
        passed_s, self._own_at_s = now_s - self._own_at_s, now_s
        self._own_frames = min(OWN_FRAMES, self._own_frames + passed_s * OWN_FRAMES_PER_S)
        if self._own_frames >= 1:
            self._own_frames -= 1
            return False
        return len(self._waiting) >= AHEAD_FRAMES

    def _check_silence(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wakes `frames` if silence may be due. Checks rarely while audio arrives, otherwise once per frame or batch.

        A timeout for each frame would cost more than the frame itself. The timer only wakes `frames`: audio that
        arrived while the event loop was busy is read before silence is inserted.
        """
        now_s, silent_from_s = loop.time(), self._line.idle_from_s
        if now_s >= silent_from_s:
            self._changed.set()
        again_s = MAX_BATCH_S if self.batches_silence or self.rests else FRAME_MS / 1000
        if self._skips(now_s):
            again_s = SPAN_S
        self._silence_timer = loop.call_at(max(now_s + again_s, silent_from_s), self._check_silence, loop)

    def _skips(self, now_s: float) -> bool:
        """Returns whether spans of silence replace frames."""
        return self.skips_silence and self._line.silent_for_s(now_s) >= SKIP_AFTER_S

    def _insert_silence(self, now_s: float) -> None:
        span = self._line.pass_silence(now_s) if self._skips(now_s) else None
        if span is None:
            self._enqueue(self._line.idle(now_s))
        else:
            self._waiting.append(span)
            self._changed.set()

    def _enqueue(self, frames: list[Frame]) -> None:
        self._waiting.extend(frames)
        if frames:
            self._changed.set()
        if len(self._waiting) >= WAITING_FRAMES:
            self._room.clear()
