"""A scripted replacement for the module sounddevice: connected devices, failing and hanging calls."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class PortAudioError(Exception):
    """Same shape as sounddevice's error: text, code, host error."""


class FakeStream:
    """A stream whose callbacks the test calls."""

    overflows = True

    def __init__(self, module: "FakeSounddevice", kind: str, **asked: Any) -> None:
        self.asked = asked
        self.kind = kind
        self.latency = 0.025
        self.started = self.closed = False
        self._module = module
        module.attempts.append((asked["samplerate"], asked["channels"]))
        refused = module.refuse(asked)
        if refused is not None:
            raise refused
        module.streams.append(self)

    def start(self) -> None:
        self.started = True

    def abort(self) -> None:
        self._module.hanging.wait()
        self.asked["finished_callback"]()

    def close(self) -> None:
        self.closed = True
        if self in self._module.streams:
            self._module.streams.remove(self)

    def call(self, data: Any, frames: int) -> None:
        """Processes one block."""
        times = SimpleNamespace(currentTime=1.0, inputBufferAdcTime=0.9, outputBufferDacTime=1.1)
        flags = SimpleNamespace(input_overflow=self.overflows, output_underflow=False)
        self.asked["callback"](data, frames, times, flags)


class FakeSounddevice:
    """Replaces the module.

    Attributes:
        plugged: Name, host API, input and output channels, default rate.
        default: Index of the default device.
        refuse: Returns the error for opening a stream with these arguments, or None.
        attempts: Rate and channels of every attempt to open a stream.
        hanging: While cleared, ending a stream blocks.
    """

    PortAudioError = PortAudioError

    def __init__(self, *plugged: tuple[str, str, int, int, int]) -> None:
        self.plugged = list(plugged)
        self.default = 0
        self.refuse: Callable[[dict[str, Any]], Exception | None] = lambda _: None
        self.attempts: list[tuple[int, int]] = []
        self.streams: list[FakeStream] = []
        self.threads: set[str] = set()
        self.hanging = threading.Event()
        self.hanging.set()
        self._initialized = 0  # as the module counts initializations
        self._initialize()

    def _initialize(self) -> None:
        self._initialized += 1
        self._seen = list(self.plugged)
        self._seen_default = self.default

    def _terminate(self) -> None:
        assert not self.streams, "streams are ended before the library is"
        if not self._initialized:
            raise PortAudioError("PortAudio not initialized", -10000)
        self._initialized -= 1

    def _exit_handler(self) -> None:
        raise AssertionError("waits for ever for a sound server that hangs")

    def query_hostapis(self) -> tuple[dict[str, Any], ...]:
        names = list(dict.fromkeys(api for _, api, *_ in self._seen))
        own = {name: [i for i, entry in enumerate(self._seen) if entry[1] == name] for name in names}
        first = {name: self._seen_default if self._seen_default in own[name] else own[name][0] for name in names}
        return tuple(
            {"name": name, "default_input_device": first[name], "default_output_device": first[name]} for name in names
        )

    def query_devices(self) -> list[dict[str, Any]]:
        self.threads.add(threading.current_thread().name)
        names = [api["name"] for api in self.query_hostapis()]
        return [
            {
                "name": name,
                "hostapi": names.index(api),
                "max_input_channels": inward,
                "max_output_channels": outward,
                "default_samplerate": float(rate_hz),
                "default_low_input_latency": 0.01,
                "default_low_output_latency": 0.01,
            }
            for name, api, inward, outward, rate_hz in self._seen
        ]

    def RawInputStream(self, **asked: Any) -> FakeStream:  # noqa: N802 - as the module calls it
        return FakeStream(self, "input", **asked)

    def RawOutputStream(self, **asked: Any) -> FakeStream:  # noqa: N802
        return FakeStream(self, "output", **asked)
