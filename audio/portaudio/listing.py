"""Lists PortAudio's devices as `Device` objects."""

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from typing import Any

from audio.device import Device
from audio.errors import DeviceError
from audio.portaudio.host_apis import PREFERRED


def load() -> Any:
    """Imports the module sounddevice. Raises DeviceError if it, or the PortAudio library, is missing."""
    try:
        library = import_module("sounddevice")
    except OSError as error:
        raise DeviceError(
            "microphones and loudspeakers need the PortAudio library, which is missing: install it "
            "(Debian and Ubuntu: apt-get install libportaudio2; Fedora: dnf install portaudio; macOS: brew install "
            "portaudio)"
        ) from error
    except ImportError as error:
        raise DeviceError(f"the package sounddevice cannot be imported ({error}): run `make setup` again") from error
    silence_alsa(sys.platform)
    return library


def silence_alsa(platform: str) -> None:
    """Lets ALSA print nothing: it writes a line to standard error for each underrun and each device that fails.

    Its threads call the handler, so it is a function of C that does nothing: one of Python would need the interpreter.
    """
    if platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libasound.so.2").snd_lib_error_set_handler(ctypes.CDLL(None).getpid)


def listed(sounddevice: Any) -> tuple[Device, ...]:
    """Returns the devices at the time the library was initialized."""
    apis = list(sounddevice.query_hostapis())
    inputs = _default(apis, "default_input_device")
    outputs = _default(apis, "default_output_device")
    return tuple(
        Device(
            index,
            str(entry["name"]),
            str(apis[entry["hostapi"]]["name"]),
            int(entry["max_input_channels"]),
            int(entry["max_output_channels"]),
            round(entry["default_samplerate"]),
            float(entry["default_low_input_latency"]),
            float(entry["default_low_output_latency"]),
            default_input=index == inputs,
            default_output=index == outputs,
        )
        for index, entry in enumerate(sounddevice.query_devices())
    )


def fresh(sounddevice: Any) -> tuple[Device, ...]:
    """Reinitializes the library and returns the current devices. Ends all open streams."""
    end(sounddevice)
    sounddevice._initialize()
    return listed(sounddevice)


def end(sounddevice: Any) -> None:
    """Terminates the library if it is initialized; it is not after a failed initialization."""
    if sounddevice._initialized:
        sounddevice._terminate()


def as_facts(devices: Sequence[Device]) -> list[dict[str, object]]:
    """Converts devices for JSON."""
    return [asdict(device) for device in devices]


def from_facts(facts: Sequence[Mapping[str, Any]]) -> tuple[Device, ...]:
    """Converts devices from JSON. Raises TypeError if a field is missing or unknown."""
    return tuple(Device(**fact) for fact in facts)


def same(first: Sequence[Device], other: Sequence[Device]) -> bool:
    """Returns whether both lists have the same devices and defaults."""
    key: Callable[[Device], object] = lambda device: (device.full_name, device.default_input, device.default_output)  # noqa: E731
    return [key(device) for device in first] == [key(device) for device in other]


def _default(apis: Sequence[Mapping[str, Any]], key: str) -> int:
    """Returns the default device of the most preferred host API that has one; -1: none."""
    order = {name: place for place, name in enumerate(PREFERRED)}
    with_one = [api for api in apis if api[key] >= 0]
    best = min(with_one, key=lambda api: order.get(api["name"], len(order)), default=None)
    return -1 if best is None else int(best[key])
