"""The loudspeaker of this machine, through PortAudio."""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

from audio.card.buffer_length import UNDERRUN_COUNT, UNDERRUN_WINDOW_S, BufferLength
from audio.card.playback_callback import PlaybackCallback
from audio.card.stream import CardLibrary, CardStream, LoopWaker, Opened
from audio.card.stream_supervisor import StreamSupervisor
from audio.level import mean_dbfs, rms_dbfs
from audio.portaudio.owner import shared
from audio.speaker import QueuedSpeaker
from audio.units import REPLY_RATE_HZ, Pcm

_SILENT_TICK_S = 0.02
_TICK_S = 0.1
_MAX_SILENT_SAMPLES = REPLY_RATE_HZ
"""Maximum number of samples played silently at once after the event loop was blocked; the next tick continues."""

_LEVEL_MS = 100.0

_QUIET_S = 0.5
"""Time after the last pulled sample, in seconds, after which it has left any buffer."""


_REST_AFTER_S = 2.0
"""Silence in seconds after which a loudspeaker that may rest closes its stream: longer than any pause of a reply."""


_RESUME_S = 2.0
"""Longest time in seconds that a sound waits for the stream of a loudspeaker that rested."""


class EchoReference(Protocol):
    """Receives the played audio as the reference of an echo canceller."""

    def add_reference(self, pcm: Pcm, rate_hz: int, leaves_s: float) -> None:
        """Receives a block sent to the card: int16 (n,), a reused view, and the loop time of its first sample."""
        ...


class CardSpeaker(QueuedSpeaker):
    """Implements `Speaker` on a sound card.

    Without a device, a reply plays silently in real time: it counts as spoken and ends. The user is told when the
    device is gone. While a stream that ended or stalled is started again, the reply waits.

    If the card underruns repeatedly, its buffer is lengthened between two replies. A reply that starts while the stream
    is reopened waits for it.

    Attributes:
        silent_samples: Samples of replies that were played without a device and not heard.
        may_rest: Whether the stream is closed while nothing is played, as its callback costs 2 % of a core. The next
            sound opens it again, and waits for it.
    """

    def __init__(
        self,
        device_name: str = "",
        *,
        report: Callable[[str], None],
        echo_reference: EchoReference | None = None,
        library: CardLibrary | None = None,
    ) -> None:
        """Creates a loudspeaker, which `run` opens.

        Args:
            device_name: See `audio.devices.pick`.
            report: Called with a sentence for the user when the device is lost, recovered or changed.
            echo_reference: Receives every block, silent ones included, on the event loop.
            library: Opens the stream; None: the program's own library.
        """
        super().__init__()
        self.silent_samples = 0
        self.may_rest = False
        self._resting = False  # the stream is closed, or being opened again
        self._resumed_s: float | None = None  # loop time since which it is being opened again
        self._reference = echo_reference
        self._report = report
        self._supervisor = StreamSupervisor(
            "output", device_name, REPLY_RATE_HZ, library=library or shared(), make=self._make_callback, report=report
        )
        self._stream: CardStream[PlaybackCallback] | None = None  # the stream whose blocks are reported
        self._levels_dbfs: deque[float] = deque(maxlen=1)
        self._underflows = 0  # of streams that are closed
        self._buffer = BufferLength()
        self._opened: Opened | None = None  # the stream opened last
        self._last_played_s = 0.0  # loop time of the last audio
        self._silent_from_s = 0.0  # end of the silent playback without a device
        self._wake = asyncio.Event()
        self._begun = False
        self._loop: asyncio.AbstractEventLoop
        self._timer: asyncio.TimerHandle

    @property
    def latency_s(self) -> float:
        """Time from the card taking a sample to playing it, in seconds, as last reported by the card."""
        return 0.0 if self._stream is None else self._stream.lane.clock.latency_s

    @property
    def opened(self) -> Opened | None:
        """The open stream, or the one that is closed to rest; None while closed or lost."""
        return self._opened if self._resting else self._supervisor.opened

    @property
    def level_dbfs(self) -> float:
        """Level of the last 100 ms sent to the card; -inf without audio."""
        return mean_dbfs(self._levels_dbfs)

    @property
    def underflows(self) -> int:
        """Number of underruns reported by the card."""
        return self._underflows + (0 if self._stream is None else self._stream.lane.underflows)

    # ---- the device ----

    async def use(self, device_name: str) -> None:
        """Switches to another device. Raises DeviceError and keeps the old one if that fails."""
        await self._supervisor.use(device_name, asyncio.get_running_loop().time())
        self._wake.set()

    async def aclose(self) -> None:
        """Closes the stream: pending `play_chunk` calls return False, `run` ends. Idempotent."""
        self._ended = True
        self._changed.set()
        self._wake.set()
        await self._supervisor.aclose()

    async def run(self) -> None:
        """Plays until it is cancelled or `aclose` is called. Call it once. Raises DeviceError if no device opens."""
        if self._begun:
            raise RuntimeError("a CardSpeaker can be used only once: create another one")
        self._begun = True
        self._loop = loop = asyncio.get_running_loop()
        self._wake_regularly(loop)
        try:
            await self._supervisor.begin(loop.time())
            self._silent_from_s = loop.time()
            while not self._ended:
                await self._rest_or_resume(loop.time())
                self._supervisor.tick(loop.time())
                self._follow()
                self._wake.clear()
                await self._wake.wait()  # `_wake_regularly` sets it regularly
        finally:
            self._timer.cancel()
            await self.aclose()

    async def _rest_or_resume(self, now_s: float) -> None:
        """Closes the stream if it may rest, and opens it when it may not, or for a sound."""
        if not self._mixer.idle:
            self._last_played_s = now_s
        wanted = self.may_rest and self._mixer.idle
        if self._resting and not wanted:
            self._supervisor.resume(now_s)
            self._resumed_s = now_s if self._resumed_s is None else self._resumed_s
            # Without the device, the sound is played silently.
            self._resting = self._supervisor.stream is None and now_s - self._resumed_s < _RESUME_S
        elif wanted and self._stream is not None and now_s - self._last_played_s >= _REST_AFTER_S:
            self._resting, self._resumed_s = True, None
            await self._supervisor.pause()

    def _wake_regularly(self, loop: asyncio.AbstractEventLoop) -> None:
        self._wake.set()
        resting = self._resting and self.may_rest and self._mixer.idle
        tick_s = _SILENT_TICK_S if self._supervisor.stream is None and not resting else _TICK_S
        self._timer = loop.call_later(tick_s, self._wake_regularly, loop)

    def _make_callback(self, opened: Opened, channels: int) -> PlaybackCallback:
        """Creates the callback. Called in the library's thread."""
        return PlaybackCallback(opened, channels, self._mixer, self._loop, LoopWaker(self._loop, self._wake.set))

    def _follow(self) -> None:
        """Reports what was played since the last call, by the open stream or silently without one."""
        if self._supervisor.stream is not self._stream:
            self._change(self._supervisor.stream)
        now_s = self._loop.time()
        if self._stream is not None:
            self._report_to_reference(self._stream.lane)
            self._lengthen_after_underruns(self._stream.lane, now_s)
        elif self._supervisor.lengthening or self._supervisor.stopped or self._resting:
            self._silent_from_s = now_s
        else:
            self._play_silently(now_s)
        self._tell()

    def _lengthen_after_underruns(self, lane: PlaybackCallback, now_s: float) -> None:
        self._buffer.note_underflows(lane.underflows, now_s)
        if not self._mixer.idle:
            self._last_played_s = now_s
        if now_s - self._last_played_s >= _QUIET_S and self._buffer.too_short:
            self._supervisor.lengthen(self._buffer.lengthen())

    def _report_to_reference(self, lane: PlaybackCallback) -> None:
        for block in lane.ring.take():
            pcm = block.pcm[:, 0]
            self._levels_dbfs.append(rms_dbfs(pcm))
            if self._reference is not None:
                self._reference.add_reference(pcm, REPLY_RATE_HZ, block.at_s)

    def _change(self, stream: CardStream[PlaybackCallback] | None) -> None:
        self._mixer.serve(None if stream is None else stream.lane)
        if self._stream is not None:
            lane = self._stream.lane
            self._report_to_reference(lane)
            self._underflows += lane.underflows
            self._silent_from_s = self._loop.time()
            # The device plays nothing until the stream is opened again, for which the reply waits.
            if stream is None and lane.last_s and not self._supervisor.stopped:
                self._mixer.missed(None, round((self._silent_from_s - lane.last_s) * REPLY_RATE_HZ))
        self._stream = stream
        if stream is not None:
            self._last_played_s = max(self._last_played_s, self._loop.time())  # a rest begins later
            self._note_buffer_length(stream.opened)
        blocks = 1 if stream is None else max(1, round(_LEVEL_MS / stream.opened.block_ms))
        self._levels_dbfs = deque(maxlen=blocks)

    def _note_buffer_length(self, opened: Opened) -> None:
        before, self._opened = self._opened, opened
        if before is None or before.device != opened.device:
            self._buffer = BufferLength()
        if not self._buffer.opened(opened.latency_ms, self._loop.time()) or before is None:
            return
        often = f"had gaps {UNDERRUN_COUNT} times in {UNDERRUN_WINDOW_S:g} s, because this machine is busy"
        holds, held = f"{opened.latency_ms:.0f} ms", f"{before.latency_ms:.0f}"
        if opened.latency_ms > before.latency_ms:
            what = f"Its buffer is now {holds} instead of {held} ms, so replies are heard later"
        else:
            what = f"Its buffer of {holds} is at its maximum: close other programs"
        self._report(f'the loudspeaker "{opened.device}" {often}. {what}')

    def _play_silently(self, now_s: float) -> None:
        """Consumes the reply in real time without a device, so that nothing waits for it."""
        due = min(int((now_s - self._silent_from_s) * REPLY_RATE_HZ), _MAX_SILENT_SAMPLES)
        if due <= 0:
            return
        played = self._mixer.pull(None, due, math.inf)  # it is never played
        self._silent_from_s += due / REPLY_RATE_HZ
        if played is not None and played[1] is not None:
            self.silent_samples += played[1].samples
