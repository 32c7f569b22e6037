"""Keeps one stream of a sound card open: reopens it when it ends or stalls, and reports a device that is gone.

A stream ends or stalls on a busy machine, too. So the device is only reported as gone if the library cannot open it
again.
"""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic

from audio.card.stream import CardLibrary, CardStream, L, Make, Opened, StreamRequest
from audio.card.stream_watchdog import StreamWatchdog
from audio.device import Device, Direction, noun, pick
from audio.errors import DeviceError, SoundSystemHungError
from audio.portaudio.host_apis import parameters_of

_MEANWHILE = {
    "input": "you are not heard until it is back",
    "output": "until it is back, replies are silent but count as spoken",
}

RESTART_REPORT_INTERVAL_S = 60.0
"""Shortest time between two reports that a stream was started again, in seconds."""


class StreamSupervisor(Generic[L]):
    """Supervises one stream. Not thread-safe: call it on the event loop.

    It has no task: the user of the stream calls `tick`, which never waits.

    Attributes:
        stream: The open stream, or None: paused, lost, not begun, ended, being lengthened.
        lengthening: It is being reopened with a longer buffer.
        stopped: It ended or stalled and is being reopened; whether the device is gone is not known yet.
    """

    def __init__(
        self,
        direction: Direction,
        device_name: str,
        rate_hz: int,
        *,
        library: CardLibrary,
        make: Make[L],
        report: Callable[[str], None],
    ) -> None:
        """Creates the supervisor of a device.

        Args:
            direction: Input or output.
            device_name: See `pick`.
            rate_hz: See `StreamRequest`.
            library: Opens and closes streams.
            make: Creates the callback of a stream.
            report: Called with sentences for the user.
        """
        self.stream: CardStream[L] | None = None
        self.lengthening = False
        self.stopped = False
        self._direction: Direction = direction
        self._device_name = device_name
        self._rate_hz = rate_hz
        self._buffer_ms = 0.0
        self._library = library
        self._make = make
        self._report = report
        self._watchdog = StreamWatchdog()
        self._opening: asyncio.Future[CardStream[L]] | None = None
        self._listing: asyncio.Future[tuple[Device, ...]] | None = None
        self._lost: Opened | None = None  # the lost stream, until it is back
        self._last_report = ""
        self._silently = False
        self._begun = self._paused = self._ended = False
        self._restart_reported_s = -math.inf

    @property
    def opened(self) -> Opened | None:
        """The parameters of the open stream."""
        return None if self.stream is None else self.stream.opened

    async def begin(self, now_s: float) -> None:
        """Opens the stream for the first time. Raises DeviceError."""
        self._begun = True
        if self._paused or self._ended:
            return
        stream = await self._library.open(self._request(), self._make)
        if self._paused or self._ended or self.stream is not None:
            with suppress(DeviceError):
                await self._library.close(stream)  # paused, ended or changed meanwhile
            return
        self.stream = stream
        self._watchdog.opened(now_s)

    def tick(self, now_s: float) -> None:
        """Checks the stream; call it every 100 ms or more often."""
        if not self._begun or self._paused or self._ended:
            return
        if self._opening is not None:
            self._finish_opening(self._opening, now_s)
        elif self.stream is None:
            self._open_if_due(now_s)
        elif self.stream.lane.finished or self._watchdog.is_stalled(now_s, self.stream.lane.last_s):
            self._handle_stop(self.stream, now_s)
        else:
            self._follow_default(self.stream, now_s)

    async def use(self, device_name: str, now_s: float) -> None:
        """Switches to another device. Raises DeviceError and keeps the old one if it is unknown or cannot be opened."""
        if self._paused or not self._begun:
            pick(await self._library.look(), device_name, self._direction)
            self._device_name = device_name
            return
        stream = await self._library.open(StreamRequest(self._direction, device_name, self._rate_hz), self._make)
        self._device_name, self._buffer_ms, self._lost, self._last_report = device_name, 0.0, None, ""
        if self._paused or self._ended:
            _ignore_result(self._library.close(stream))
            return
        self._forget_opening()
        self.stopped = False
        old, self.stream = self.stream, stream
        self._watchdog.opened(now_s)
        if old is not None:
            _ignore_result(self._library.close(old))

    def lengthen(self, buffer_ms: float) -> None:
        """Reopens the stream with a buffer of `buffer_ms`; `lengthening` is True until that succeeds or fails."""
        if self.stream is not None:
            self._buffer_ms, self.lengthening, self._silently = buffer_ms, True, True
            self._reopen(self.stream, self._request())

    async def pause(self) -> None:
        """Closes the stream until `resume`."""
        self._paused = True
        self.stopped = False
        self._forget_opening()
        await self._close()

    def resume(self, now_s: float) -> None:
        """Reopens the stream at the next ticks. A failure is reported and retried."""
        if self._paused:
            self._paused = False
            self._lost, self._last_report = None, ""
            self._watchdog = StreamWatchdog()
            self._watchdog.retry_now(now_s)

    async def aclose(self) -> None:
        """Closes the stream permanently. Idempotent."""
        self._ended = True
        self._forget_opening()
        if self._listing is not None:
            _ignore_result(self._listing)
        await self._close()

    # ---- loss and recovery ----

    def _handle_stop(self, stream: CardStream[L], now_s: float) -> None:
        self.stream, self._lost = None, stream.opened
        _ignore_result(self._library.close(stream))
        self._silently = stream.interrupted  # closed by the library to list new devices
        if stream.interrupted:
            self._watchdog.retry_now(now_s)
            return
        self._watchdog.lost(now_s)
        self.stopped = True

    def _handle_failure(self, error: DeviceError, now_s: float) -> None:
        """Reports why the stream cannot be opened: first that its device is gone, later the reason."""
        self._watchdog.failed(now_s)
        if self.stopped and self._lost is not None and not isinstance(error, SoundSystemHungError):
            self.stopped = False
            self._report_once(
                f'the {noun(self._direction)} "{self._lost.device}" is gone (unplugged, or the sound system was '
                f"restarted): {_MEANWHILE[self._direction]}. Repartee keeps looking for it"
            )
        elif self._watchdog.should_report(now_s):
            self._report_once(str(error))

    def _open_if_due(self, now_s: float) -> None:
        if self._watchdog.due(now_s):
            self._opening = self._library.open(self._request(fresh=self._watchdog.lists_devices_again), self._make)

    def _finish_opening(self, opening: "asyncio.Future[CardStream[L]]", now_s: float) -> None:
        if not opening.done():
            return
        self._opening, lengthening, self.lengthening = None, self.lengthening, False
        try:
            self.stream = opening.result()
        except DeviceError as error:
            self._silently = False
            self._buffer_ms = 0.0 if lengthening else self._buffer_ms  # the buffer length may be the reason
            self._handle_failure(error, now_s)
            return
        self._watchdog.opened(now_s)
        self._report_recovery(self.stream.opened, now_s)

    def _report_recovery(self, opened: Opened, now_s: float) -> None:
        before, self._lost = self._lost, None
        quietly, self._silently, self._last_report = self._silently, False, ""
        stopped, self.stopped = self.stopped, False
        if before is None:
            return
        what, unchanged = noun(self._direction), (before.device, before.rate_hz) == (opened.device, opened.rate_hz)
        if quietly and unchanged:
            return
        if stopped and unchanged:
            if now_s - self._restart_reported_s >= RESTART_REPORT_INTERVAL_S:
                self._restart_reported_s = now_s
                self._report(
                    f'the sound of the {what} "{opened.device}" stopped for a moment and was started again: this '
                    "machine is busy, or its sound system was restarted"
                )
            return
        if before.device == opened.device:
            changed = "" if before.rate_hz == opened.rate_hz else f", now at {opened.rate_hz} Hz"
            self._report(f'the {what} "{opened.device}" is back{changed}')
        else:
            self._report(f'the {what} is now "{opened.device}", at {opened.rate_hz} Hz')

    def _follow_default(self, stream: CardStream[L], now_s: float) -> None:
        """Switches to a new default device, on systems that do not move streams themselves."""
        if self._device_name or parameters_of(stream.opened.host_api, stream.opened.device).moves_streams:
            return
        if self._listing is None:
            self._listing = self._library.look() if self._watchdog.device_check_due(now_s) else None
            return
        if not self._listing.done():
            return
        looking, self._listing = self._listing, None
        with suppress(DeviceError):  # the current stream is not affected
            devices, own = looking.result(), stream.device.full_name
            if not any(device.full_name == own and device.channels(self._direction) for device in devices):
                return  # ALSA lists only devices that can be opened; ours is in use
            default = pick(devices, "", self._direction)
            if default.full_name != own:
                self._buffer_ms = 0.0  # it belonged to the old device
                self._reopen(stream, self._request(fresh=True))

    def _reopen(self, stream: CardStream[L], wish: StreamRequest) -> None:
        """Closes the stream and opens the requested one."""
        self.stream, self._lost = None, stream.opened
        _ignore_result(self._library.close(stream))
        self._opening = self._library.open(wish, self._make)

    # ---- helpers ----

    def _request(self, *, fresh: bool = False) -> StreamRequest:
        return StreamRequest(self._direction, self._device_name, self._rate_hz, fresh, self._buffer_ms)

    def _report_once(self, sentence: str) -> None:
        if sentence != self._last_report:
            self._last_report = sentence
            self._report(sentence)

    def _forget_opening(self) -> None:
        """Abandons an opening in progress; its stream is closed as soon as it is open."""
        opening, self._opening = self._opening, None
        self.lengthening = False
        if opening is None:
            return
        if opening.done():
            if opening.exception() is None:
                _ignore_result(self._library.close(opening.result()))
        else:
            opening.cancel()

    async def _close(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            with suppress(DeviceError):  # it hangs, and delivers nothing any more
                await self._library.close(stream)


def _ignore_result(future: "asyncio.Future[Any]") -> None:
    """Ignores the result of a future; its failure is reported elsewhere."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
