"""Calls PortAudio in a single thread, with a timeout for every call.

PortAudio is not thread-safe. Its device list is fixed at initialization, and reinitializing it ends all streams. A
hanging sound server blocks the thread that closes a stream. So all calls are made in one thread, and callers get a
future that completes in time. While a stream is open, a separate process lists the devices (`device_watcher`).
"""

import asyncio
import atexit
import concurrent.futures
import ctypes
import os
import queue
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

from audio.card.stream import CardStream, L, Make, Opened, StreamRequest
from audio.device import Device, pick
from audio.errors import DeviceError, SoundSystemHungError
from audio.portaudio.alsa_config import lacking
from audio.portaudio.device_watcher import DeviceWatcher
from audio.portaudio.faults import TRY_OTHERWISE, code_of, fault, named
from audio.portaudio.host_apis import parameters_of, rates_of
from audio.portaudio.listing import end, fresh, listed, load, same

LIMIT_S = 5.0
"""Timeout of a call, in seconds. Bluetooth headsets take 2 s to open."""

FIRST_LIMIT_S = 15.0
"""Timeout of the first call, in seconds: it loads 140 MB of libraries (ALSA plug-ins), perhaps from a slow disk."""

LEAVE_LIMIT_S = 1.0
"""Timeout of ending the library at exit, in seconds."""

WAITING = 32
"""Queue capacity for calls. More mean that the library hangs."""

T = TypeVar("T")
_Job = Callable[[], None]


class PortAudio:
    """Implements `CardLibrary`. Its thread starts with the first call and ends with the program."""

    def __init__(self, lookout: DeviceWatcher | None = None) -> None:
        """`lookout`: lists devices while streams are open."""
        self._lookout = lookout or DeviceWatcher()
        self._jobs: queue.Queue[_Job] = queue.Queue(WAITING)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        # Used in the thread only:
        self._library: Any = None  # sounddevice has no types
        self._devices: tuple[Device, ...] = ()
        self._renewed_for: tuple[Device, ...] | None = None  # the list for which streams were last ended
        self._streams: list[CardStream[Any]] = []

    @property
    def in_use(self) -> bool:
        """Whether any call was made."""
        return self._thread is not None

    # ---- on an event loop ----

    def open(self, wish: StreamRequest, make: Make[L]) -> "asyncio.Future[CardStream[L]]":
        """See `CardLibrary.open`."""
        return self._submit(partial(self._open, wish, make), self._end)

    def close(self, stream: CardStream[L]) -> "asyncio.Future[None]":
        """See `CardLibrary.close`."""
        return self._submit(partial(self._end, stream), lambda _: None, late=True)

    def look(self) -> "asyncio.Future[tuple[Device, ...]]":
        """See `CardLibrary.look`."""
        return self._submit(self._look, lambda _: None)

    def _submit(self, job: Callable[[], T], drop: Callable[[T], None], *, late: bool = False) -> "asyncio.Future[T]":
        """Runs a job in the thread. A result that comes too late or is unwanted is passed to `drop` in the thread.

        A job whose future is already done is skipped unless `late` is set. So retries that accumulate while the sound
        system hangs are not all executed when it recovers.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        limit_s = self._limit_s()
        limit = loop.call_later(limit_s, _expire, future, limit_s)
        future.add_done_callback(lambda _: limit.cancel())

        def unwanted(result: concurrent.futures.Future[T]) -> None:
            if result.exception() is None:
                _outcome(partial(drop, result.result()))

        def answer(result: concurrent.futures.Future[T]) -> None:
            error = result.exception()
            if future.done():
                with suppress(queue.Full):
                    self._jobs.put_nowait(partial(unwanted, result))
            elif error is None:
                future.set_result(result.result())
            else:
                future.set_exception(error)

        def work() -> None:
            if future.done() and not late:
                return
            result = _outcome(job)
            if not future.done():
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(answer, result)
                    return
            unwanted(result)

        try:
            self._put_job(work)
        except DeviceError as error:
            future.set_exception(error)
        return future

    # ---- blocking ----

    def list_now(self) -> tuple[Device, ...]:
        """See `list_devices`. Blocks."""
        return self._wait(self._look, self._limit_s())

    def leave(self) -> None:
        """Ends all streams and the library at exit, if they respond."""
        if self._thread is None:
            return
        try:
            self._wait(self._leave, LEAVE_LIMIT_S)
        except DeviceError:
            _keep_libraries_loaded()

    def _wait(self, job: Callable[[], T], limit_s: float) -> T:
        """Runs a job in the thread and waits for it. Raises DeviceError."""
        answers: queue.SimpleQueue[concurrent.futures.Future[T]] = queue.SimpleQueue()
        self._put_job(lambda: answers.put(_outcome(job)))
        try:
            return answers.get(timeout=limit_s).result()
        except queue.Empty as error:
            raise _hang_error(limit_s) from error

    def _limit_s(self) -> float:
        """Returns the timeout of a call made now."""
        return LIMIT_S if self._library is not None else FIRST_LIMIT_S

    def _put_job(self, job: _Job) -> None:
        with self._starting:
            if self._thread is None:
                # A daemon, so that a thread that hangs in the sound system does not keep the program from ending.
                self._thread = threading.Thread(target=self._work, name="portaudio", daemon=True)
                self._thread.start()
                atexit.register(self.leave)
        try:
            self._jobs.put_nowait(job)
        except queue.Full as error:
            raise _hang_error(LIMIT_S) from error

    # ---- in the thread ----

    def _work(self) -> None:
        while True:
            self._jobs.get()()

    def _ready(self) -> Any:
        """Returns the library; loads and initializes it at the first call."""
        if self._library is None:
            if lacking(os.environ, sys.platform):
                self._lookout.look()  # it may abort the process: use the separate one
            library = load()
            # Replaced by `leave`: the library's handler waits indefinitely for a hanging sound server.
            atexit.unregister(library._exit_handler)
            self._library = library
            self._devices = listed(library)
        return self._library

    def _look(self) -> tuple[Device, ...]:
        if self._streams:
            return self._lookout.look()
        if self._library is None:
            self._ready()
        else:
            self._devices = fresh(self._library)
        return self._devices

    def _open(self, wish: StreamRequest, make: Make[L]) -> CardStream[L]:
        first = self._library is None
        library = self._ready()
        if wish.fresh and not first:
            self._renew(library)
        try:
            device = pick(self._devices, wish.device_name, wish.direction)
        except DeviceError:
            if first or not self._renew(library):
                raise
            device = pick(self._devices, wish.device_name, wish.direction)
        stream = self._start(library, wish, device, make)
        self._streams.append(stream)
        return stream

    def _renew(self, library: Any) -> bool:
        """Lists the devices again if any are new or newly the default; ends streams for it. Returns whether so."""
        # Ending streams interrupts the audio, so it is done only if there are new devices.
        if self._streams and not self._anything_new():
            return False
        for stream in list(self._streams):
            stream.interrupted = True
            self._end(stream)
        before, self._devices = self._devices, fresh(library)
        return not same(before, self._devices)

    def _anything_new(self) -> bool:
        """Returns whether the other process lists other devices than we do; True only once for the same list.

        ALSA lists only devices that can be opened: cards that we hold, and plug-ins on top of them, are missing there.
        """
        seen, ours = self._lookout.look(), {stream.device.full_name for stream in self._streams}
        if (self._renewed_for is not None and same(seen, self._renewed_for)) or same(seen, self._devices):
            return False
        names = [device.full_name for device in seen]
        held = ours.difference(names)
        if held and names == [device.full_name for device in self._devices if device.full_name not in held]:
            return False
        self._renewed_for = seen
        return True

    def _start(self, library: Any, wish: StreamRequest, device: Device, make: Make[L]) -> CardStream[L]:
        """Tries suitable rates and channel counts, best first. Raises DeviceError."""
        rates = rates_of(parameters_of(device.host_api, device.name), wish.rate_hz, device.default_rate_hz)
        # One channel is enough, but some devices insist on two, and microphone arrays on all they have.
        max_channels = device.channels(wish.direction)
        channels = sorted({1, min(2, max_channels), max_channels})
        failed: BaseException | None = None
        for rate_hz, count in ((rate, count) for rate in rates for count in channels):
            try:
                return started(library, wish, device, make, rate_hz=rate_hz, channels=count)
            except (library.PortAudioError, ValueError, OSError) as error:
                failed = error
                if code_of(error) not in TRY_OTHERWISE:
                    break
        assert failed is not None
        raise fault(failed, device, wish.direction, rates) from failed

    def _end(self, stream: CardStream[L]) -> None:
        if stream in self._streams:
            self._streams.remove(stream)
            stream.handle.abort()  # errors are ignored: a lost device cannot be stopped
            stream.handle.close()

    def _leave(self) -> None:
        for stream in list(self._streams):
            self._end(stream)
        self._lookout.close()
        if self._library is not None:
            end(self._library)


@cache
def shared() -> PortAudio:
    """Returns the program's instance: PortAudio exists once per process."""
    return PortAudio()


def library_in_use() -> bool:
    """Returns whether the program has used PortAudio, which may then print messages until the end."""
    return shared().in_use


def _outcome(job: Callable[[], T]) -> "concurrent.futures.Future[T]":
    """Runs a job and returns its outcome."""
    result: concurrent.futures.Future[T] = concurrent.futures.Future()
    try:
        result.set_result(job())
    except Exception as error:  # noqa: BLE001 - the thread serves both cards and must live on
        result.set_exception(named(error))
    return result


def _expire(future: "asyncio.Future[T]", limit_s: float) -> None:
    if not future.done():
        future.set_exception(_hang_error(limit_s))


def _keep_libraries_loaded() -> None:
    """Keeps the sound system's libraries loaded at exit for the thread that hangs in them.

    Otherwise the process would crash and its exit status would be lost. Only glibc passes the exit status to a handler,
    which runs before libraries are unloaded.
    """
    if sys.platform == "linux":
        with suppress(KeyError, AttributeError, OSError):
            ctypes.CDLL(sys.modules["sounddevice"]._libname)  # a second reference, because Python closes its own
        here = ctypes.CDLL(None)
        with suppress(AttributeError):
            here.on_exit(here._exit, None)  # registered last, called first


def _hang_error(limit_s: float) -> SoundSystemHungError:
    return SoundSystemHungError(
        f"the sound system has not answered for {limit_s:g} s: restart it (PulseAudio: pulseaudio --kill; PipeWire: "
        "systemctl --user restart pipewire)"
    )


def started(
    library: Any, wish: StreamRequest, device: Device, make: Make[L], *, rate_hz: int, channels: int
) -> CardStream[L]:
    """Opens and starts a stream, in PortAudio's thread. Raises what the library raises."""
    parameters = parameters_of(device.host_api, device.name)
    inward = wish.direction == "input"
    block_ms = parameters.input_block_ms if inward else parameters.output_block_ms
    latency_ms = max(parameters.input_latency_ms if inward else parameters.output_latency_ms, wish.buffer_ms)
    lanes: list[L] = []  # filled before `start`, which triggers the first callback

    def callback(data: Any, frames: int, times: Any, flags: Any) -> None:
        first_s = times.inputBufferAdcTime if inward else times.outputBufferDacTime
        flagged = bool(flags.input_overflow if inward else flags.output_underflow)
        lanes[0].block(data, frames, times.currentTime, first_s, flagged=flagged)

    def ended() -> None:
        for lane in lanes:
            lane.ended()

    kind = library.RawInputStream if inward else library.RawOutputStream
    handle = kind(
        samplerate=rate_hz,
        blocksize=round(rate_hz * block_ms / 1000),
        device=device.index,
        channels=channels,
        dtype="int16",
        latency=latency_ms / 1000 or "low",
        callback=callback,
        finished_callback=ended,
    )
    opened = Opened(device.name, device.host_api, rate_hz, block_ms, round(handle.latency * 1000, 1))
    lanes.append(make(opened, channels))
    try:
        handle.start()
    except library.PortAudioError:
        handle.close()
        raise
    return CardStream(opened, device, lanes[0], handle)
