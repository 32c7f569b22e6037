"""The loudspeaker of this machine, through PortAudio."""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

from audio.card.buffer_length import DRY_TIMES, DRY_WITHIN_S, BufferLength
from audio.card.play_lane import PlaybackCallback
from audio.card.stream import CardLibrary, CardStream, LoopWaker, Opened
from audio.card.stream_supervisor import StreamSupervisor
from audio.level import mean_dbfs, rms_dbfs
from audio.portaudio.owner import shared
from audio.speaker import DUCK_DB, QueuedSpeaker
from audio.units import REPLY_RATE_HZ, Pcm

_SILENT_TICK_S = 0.02
_TICK_S = 0.1
_SILENT_MOST_SAMPLES = REPLY_RATE_HZ
"""Played in silence at once, after an event loop that was held up; the next tick goes on."""

_LEVEL_MS = 100.0

_QUIET_S = 0.5
"""Since the last sample was taken: it has left, whatever buffer it lay in."""


class EchoReference(Protocol):
    """Hears along: the reference of an echo canceller."""

    def heard(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        """A block as it goes to the card: int16 (n,), a view that is reused; the loop time of its first sample."""
        ...


class CardSpeaker(QueuedSpeaker):
    """Implements `Speaker`.

    While there is no device, a reply is played in silence, in real time: it counts as spoken, and ends. That is said
    when the device goes.

    Where the card runs dry again and again its buffer is made longer, between two replies; a reply that begins while
    the stream is opened again waits for it.

    Attributes:
        silent_samples: Of replies, played while there was no device: nobody heard them.
    """

    def __init__(
        self,
        wanted: str = "",
        *,
        report: Callable[[str], None],
        duck_db: float = DUCK_DB,
        heard: EchoReference | None = None,
        library: CardLibrary | None = None,
    ) -> None:
        """A loudspeaker that is opened by `run`.

        Args:
            wanted: See `audio.devices.pick`.
            report: Gets a sentence for the person whenever the device goes, comes back or changes.
            duck_db: How far `duck` lowers the loudness, at most 0.
            heard: Gets every block, silent ones included, on the event loop.
            library: Who opens the stream; the program's own where None.
        """
        super().__init__(duck_db)
        self.silent_samples = 0
        self._heard = heard
        self._report = report
        self._keeper = StreamSupervisor(
            "output", wanted, REPLY_RATE_HZ, library=library or shared(), make=self._lane, report=report
        )
        self._stream: CardStream[PlaybackCallback] | None = None  # whose blocks are told
        self._levels: deque[float] = deque(maxlen=1)
        self._underflows = 0  # of streams that are closed
        self._buffer = BufferLength()
        self._opened: Opened | None = None  # what was opened last
        self._busy_s = 0.0  # when something was played last
        self._silent_from_s = 0.0  # up to then a reply was played, while there is no device
        self._came = asyncio.Event()
        self._begun = False
        self._loop: asyncio.AbstractEventLoop
        self._look: asyncio.TimerHandle

    @property
    def latency_s(self) -> float:
        """From the card taking a sample to the sample leaving, as the card last said."""
        return 0.0 if self._stream is None else self._stream.lane.clock.latency_s

    @property
    def opened(self) -> Opened | None:
        """The open stream; None while closed or lost."""
        return self._keeper.opened

    @property
    def level_dbfs(self) -> float:
        """Of the last 100 ms that went to the card; -inf where nothing did."""
        return mean_dbfs(self._levels)

    @property
    def underflows(self) -> int:
        """How often the card had nothing to play because we were late, as it says."""
        return self._underflows + (0 if self._stream is None else self._stream.lane.underflows)

    def chime(self, pcm: Pcm) -> None:
        """A short sound of our own, int16 (n,) at 24 kHz, when no reply plays; at most 2 s, part of no reply."""
        self._mixer.chime(pcm)

    # ---- the device ----

    async def use(self, wanted: str) -> None:
        """Another device. Raises DeviceError and keeps the old one."""
        await self._keeper.use(wanted, asyncio.get_running_loop().time())
        self._came.set()

    async def aclose(self) -> None:
        """Close the stream: whoever waits in `play` gets False, `run` ends. Idempotent."""
        self._ended = True
        self._changed.set()
        self._came.set()
        await self._keeper.aclose()

    async def run(self) -> None:
        """Plays until it is cancelled or `aclose` is called. Once. Raises DeviceError where no device can be opened."""
        if self._begun:
            raise RuntimeError("a CardSpeaker runs once: make another one")
        self._begun = True
        self._loop = loop = asyncio.get_running_loop()
        self._look_again(loop)
        try:
            await self._keeper.begin(loop.time())
            self._silent_from_s = loop.time()
            while not self._ended:
                self._keeper.tick(loop.time())
                self._follow()
                self._came.clear()
                await self._came.wait()  # not for ever: `_look_again` sets it
        finally:
            self._look.cancel()
            await self.aclose()

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        self._came.set()
        tick_s = _SILENT_TICK_S if self._keeper.stream is None else _TICK_S
        self._look = loop.call_later(tick_s, self._look_again, loop)

    def _lane(self, opened: Opened, channels: int) -> PlaybackCallback:
        """Called in the library's thread."""
        return PlaybackCallback(opened, channels, self._mixer, self._loop, LoopWaker(self._loop, self._came.set))

    def _follow(self) -> None:
        """Of the stream that is open now, or of silence in its place: what was played since, to whom it concerns."""
        if self._keeper.stream is not self._stream:
            self._change(self._keeper.stream)
        now_s = self._loop.time()
        if self._stream is not None:
            self._hear_along(self._stream.lane)
            self._lengthen_if_dry(self._stream.lane, now_s)
        elif self._keeper.lengthening:
            self._silent_from_s = now_s
        else:
            self._play_silently(now_s)
        self._tell()

    def _lengthen_if_dry(self, lane: PlaybackCallback, now_s: float) -> None:
        self._buffer.told(lane.underflows, now_s)
        if not self._mixer.idle:
            self._busy_s = now_s
        if now_s - self._busy_s >= _QUIET_S and self._buffer.too_short:
            self._keeper.lengthen(self._buffer.lengthen())

    def _hear_along(self, lane: PlaybackCallback) -> None:
        for block in lane.ring.take():
            pcm = block.pcm[:, 0]
            self._levels.append(rms_dbfs(pcm))
            if self._heard is not None:
                self._heard.heard(pcm, REPLY_RATE_HZ, block.at_s)

    def _change(self, stream: CardStream[PlaybackCallback] | None) -> None:
        self._mixer.serve(None if stream is None else stream.lane)
        if self._stream is not None:
            lane = self._stream.lane
            self._hear_along(lane)
            self._underflows += lane.underflows
            self._silent_from_s = self._loop.time()
            # Since its last block nothing was played: the second until it was given up for lost.
            if stream is None and lane.last_s:
                self._mixer.missed(None, round((self._silent_from_s - lane.last_s) * REPLY_RATE_HZ))
        self._stream = stream
        if stream is not None:
            self._note_length(stream.opened)
        blocks = 1 if stream is None else max(1, round(_LEVEL_MS / stream.opened.block_ms))
        self._levels = deque(maxlen=blocks)

    def _note_length(self, opened: Opened) -> None:
        before, self._opened = self._opened, opened
        if before is None or before.device != opened.device:
            self._buffer = BufferLength()
        if not self._buffer.opened(opened.latency_ms, self._loop.time()) or before is None:
            return
        often = f"ran dry {DRY_TIMES} times in {DRY_WITHIN_S:g} s, for this machine is busy"
        holds, held = f"{opened.latency_ms:.0f} ms", f"{before.latency_ms:.0f}"
        if opened.latency_ms > before.latency_ms:
            what = f"Its buffer is {holds} now, not {held}: answers are heard later by that"
        else:
            what = f"Its buffer of {holds} grows no more: end what else runs here"
        self._report(f'the loudspeaker "{opened.device}" {often}. {what}')

    def _play_silently(self, now_s: float) -> None:
        """Nobody must wait for a reply that cannot be heard."""
        due = min(int((now_s - self._silent_from_s) * REPLY_RATE_HZ), _SILENT_MOST_SAMPLES)
        if due <= 0:
            return
        played = self._mixer.pull(None, due, math.inf)  # it never leaves
        self._silent_from_s += due / REPLY_RATE_HZ
        if played is not None and played[1] is not None:
            self.silent_samples += played[1].samples
