"""The one owner of PortAudio: every call into it is made by one thread, and none is waited for for ever.

PortAudio is not made for several threads, its list of devices stands still from its beginning to its end, and ending it
ends every stream. A sound server that hangs, hangs whoever closes a stream of it. So there is one thread; who asks gets
a future that ends in time; and while a stream is open, devices are looked for in a process of its own
(`lookout`).
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

from audio.card.stream import CardStream, L, Make, StreamRequest
from audio.device import Device, pick
from audio.errors import DeviceError
from audio.portaudio.alsa_config import lacking
from audio.portaudio.device_watcher import DeviceWatcher
from audio.portaudio.faults import TRY_OTHERWISE, code_of, fault, named
from audio.portaudio.host_apis import manner_of, rates_of
from audio.portaudio.listing import end, fresh, listed, load, same
from audio.portaudio.stream import started

LIMIT_S = 5.0
"""For one call. Bluetooth headsets take 2 s to open."""

FIRST_LIMIT_S = 15.0
"""For the first, which loads the library and a hundred more for plug-ins of ALSA: 140 MB, perhaps from a slow disk."""

LEAVE_LIMIT_S = 1.0
"""For ending the library when the program ends."""

WAITING = 32
"""Calls in line. More mean that the library hangs."""

T = TypeVar("T")
_Job = Callable[[], None]


class PortAudio:
    """Implements `CardLibrary`. Its thread begins with the first call and ends with the program."""

    def __init__(self, lookout: DeviceWatcher | None = None) -> None:
        """`lookout`: who looks for devices while streams are open."""
        self._lookout = lookout or DeviceWatcher()
        self._jobs: queue.Queue[_Job] = queue.Queue(WAITING)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        # Of the thread:
        self._library: Any = None  # sounddevice has no types
        self._devices: tuple[Device, ...] = ()
        self._looked: tuple[Device, ...] | None = None  # for which streams were ended last
        self._streams: list[CardStream[Any]] = []

    @property
    def in_use(self) -> bool:
        """Whether anything was ever asked of it."""
        return self._thread is not None

    # ---- on an event loop ----

    def open(self, wish: StreamRequest, make: Make[L]) -> "asyncio.Future[CardStream[L]]":
        """See `CardLibrary.open`."""
        return self._ask(partial(self._open, wish, make), self._end)

    def close(self, stream: CardStream[L]) -> "asyncio.Future[None]":
        """See `CardLibrary.close`."""
        return self._ask(partial(self._end, stream), lambda _: None, late=True)

    def look(self) -> "asyncio.Future[tuple[Device, ...]]":
        """See `CardLibrary.look`."""
        return self._ask(self._look, lambda _: None)

    def _ask(self, job: Callable[[], T], drop: Callable[[T], None], *, late: bool = False) -> "asyncio.Future[T]":
        """Have it done by the thread; an answer that comes too late, or for nobody, is dropped by the thread too.

        What nobody waits for any longer when its turn comes is not begun, unless it matters `late` as well: who tries
        every few seconds while the sound system hangs does not want it all when it wakes.
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
            self._put(work)
        except DeviceError as error:
            future.set_exception(error)
        return future

    # ---- without one ----

    def list_now(self) -> tuple[Device, ...]:
        """See `list_devices`. Blocks."""
        return self._wait(self._look, self._limit_s())

    def leave(self) -> None:
        """End every stream and the library, if they let themselves be ended. The program ends."""
        if self._thread is None:
            return
        try:
            self._wait(self._leave, LEAVE_LIMIT_S)
        except DeviceError:
            _leave_nothing_to_unload()

    def _wait(self, job: Callable[[], T], limit_s: float) -> T:
        """Have it done by the thread. Raises DeviceError."""
        answers: queue.SimpleQueue[concurrent.futures.Future[T]] = queue.SimpleQueue()
        self._put(lambda: answers.put(_outcome(job)))
        try:
            return answers.get(timeout=limit_s).result()
        except queue.Empty as error:
            raise _hangs(limit_s) from error

    def _limit_s(self) -> float:
        """For a call that is made now."""
        return LIMIT_S if self._library is not None else FIRST_LIMIT_S

    def _put(self, job: _Job) -> None:
        with self._starting:
            if self._thread is None:
                # A daemon: a thread that hangs in the sound system must not keep the program from ending.
                self._thread = threading.Thread(target=self._work, name="portaudio", daemon=True)
                self._thread.start()
                atexit.register(self.leave)
        try:
            self._jobs.put_nowait(job)
        except queue.Full as error:
            raise _hangs(LIMIT_S) from error

    # ---- in the thread ----

    def _work(self) -> None:
        while True:
            self._jobs.get()()

    def _ready(self) -> Any:
        """The library, loaded and begun."""
        if self._library is None:
            if lacking(os.environ, sys.platform):
                self._lookout.look()  # it may end whoever asks: then a process that has nothing to lose
            library = load()
            # Ours stands in its place: its own waits for ever for a sound server that hangs.
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
            device = pick(self._devices, wish.wanted, wish.direction)
        except DeviceError:
            if first or not self._renew(library):
                raise
            device = pick(self._devices, wish.wanted, wish.direction)
        stream = self._start(library, wish, device, make)
        self._streams.append(stream)
        return stream

    def _renew(self, library: Any) -> bool:
        """See what was plugged in or made the default, if anything was; streams are ended for it. Whether it was."""
        # Whoever has streams open hears nothing while they are ended: so only for what is really there.
        if self._streams and not self._anything_new():
            return False
        for stream in list(self._streams):
            stream.interrupted = True
            self._end(stream)
        before, self._devices = self._devices, fresh(library)
        return not same(before, self._devices)

    def _anything_new(self) -> bool:
        """Whether the other process sees something else than we do; said once of the same list.

        ALSA lists what it can open: cards that we hold, and plug-ins on top of them, are missing there.
        """
        seen, ours = self._lookout.look(), {stream.device.full_name for stream in self._streams}
        if (self._looked is not None and same(seen, self._looked)) or same(seen, self._devices):
            return False
        names = [device.full_name for device in seen]
        held = ours.difference(names)
        if held and names == [device.full_name for device in self._devices if device.full_name not in held]:
            return False
        self._looked = seen
        return True

    def _start(self, library: Any, wish: StreamRequest, device: Device, make: Make[L]) -> CardStream[L]:
        """Try the rates and channels that may do, the best first. Raises DeviceError."""
        rates = rates_of(manner_of(device.host_api, device.name), wish.rate_hz, device.default_rate_hz)
        # One is all we need; some insist on two, and arrays of microphones on all they have.
        most = device.channels(wish.direction)
        channels = sorted({1, min(2, most), most})
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
            stream.handle.abort()  # errors are ignored: what has gone cannot be ended
            stream.handle.close()

    def _leave(self) -> None:
        for stream in list(self._streams):
            self._end(stream)
        self._lookout.close()
        if self._library is not None:
            end(self._library)


@cache
def shared() -> PortAudio:
    """The one of this program: there is one PortAudio in a process."""
    return PortAudio()


def library_in_use() -> bool:
    """Whether this program has asked PortAudio anything: what it prints may then come until the program has ended."""
    return shared().in_use


def _outcome(job: Callable[[], T]) -> "concurrent.futures.Future[T]":
    """What became of it."""
    result: concurrent.futures.Future[T] = concurrent.futures.Future()
    try:
        result.set_result(job())
    except Exception as error:  # noqa: BLE001 - the thread serves both cards and must live on
        result.set_exception(named(error))
    return result


def _expire(future: "asyncio.Future[T]", limit_s: float) -> None:
    if not future.done():
        future.set_exception(_hangs(limit_s))


def _leave_nothing_to_unload() -> None:
    """Let the program end as it would, but keep the sound system's libraries for the thread that is in them.

    It would crash without, and the program's own exit status would be lost. Only glibc tells the status to who wants
    to be called at the end, before libraries take themselves apart.
    """
    if sys.platform == "linux":
        with suppress(KeyError, AttributeError, OSError):
            ctypes.CDLL(sys.modules["sounddevice"]._libname)  # once more: Python's end closes its own
        here = ctypes.CDLL(None)
        with suppress(AttributeError):
            here.on_exit(here._exit, None)  # what is registered last is called first


def _hangs(limit_s: float) -> DeviceError:
    return DeviceError(
        f"the sound system has not answered for {limit_s:g} s: restart it (PulseAudio: pulseaudio --kill; PipeWire: "
        "systemctl --user restart pipewire)"
    )
