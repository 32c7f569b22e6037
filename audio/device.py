"""Describes sound devices and selects one by name or number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from audio.errors import DeviceError

Direction = Literal["input", "output"]

_SHOWN = 6
"""Maximum number of candidates named in an error message; `repartee devices` lists all."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device, as listed by PortAudio.

    Attributes:
        index: Position in the list; changes when devices are plugged in.
        name: The system's name.
        host_api: Host API through which it is reached.
        input_channels: Number of input channels; 0 if it is no microphone.
        output_channels: Number of output channels; 0 if it is no loudspeaker.
        default_rate_hz: The device's default rate.
        low_input_latency_s: Lowest proposed input latency.
        low_output_latency_s: Lowest proposed output latency.
        default_input: Whether it is the system's default microphone.
        default_output: Whether it is the system's default loudspeaker.
    """

    index: int
    name: str
    host_api: str
    input_channels: int
    output_channels: int
    default_rate_hz: int
    low_input_latency_s: float
    low_output_latency_s: float
    default_input: bool
    default_output: bool

    def channels(self, direction: Direction) -> int:
        """Returns the number of channels in a direction; 0: none."""
        return self.input_channels if direction == "input" else self.output_channels

    def is_default(self, direction: Direction) -> bool:
        """Returns whether it is the system's default in a direction."""
        return self.default_input if direction == "input" else self.default_output

    @property
    def full_name(self) -> str:
        """The name with the host API: Windows lists each device once per host API."""
        return f"{self.name}, {self.host_api}"


def noun(direction: Direction) -> str:
    """Returns the everyday word for a device of this direction."""
    return "microphone" if direction == "input" else "loudspeaker"


def pick(devices: Sequence[Device], device_name: str, direction: Direction) -> Device:
    """Returns the device that `device_name` denotes. Pure.

    Args:
        devices: From `audio.devices.list_devices`.
        device_name: "" for the default, an index, a name, or a part of a name or of "name, host API".
        direction: Required direction.

        Raises DeviceError if none matches, or several with different names; the message names the candidates.
    """
    able = [device for device in devices if device.channels(direction) > 0]
    if not able:
        raise DeviceError(
            f"no {noun(direction)} was found: connect one, or start the sound server (`repartee devices` lists all "
            "devices)"
        )
    if not device_name.strip():
        return next((device for device in able if device.is_default(direction)), able[0])
    if device_name.strip().isdecimal():
        return _by_index(able, int(device_name), direction)
    return _by_name(able, device_name.strip(), direction)


def _by_index(able: Sequence[Device], index: int, direction: Direction) -> Device:
    for device in able:
        if device.index == index:
            return device
    raise DeviceError(f"device {index} is not a {noun(direction)}: choose {_named(able, with_index=True)}")


def _by_name(able: Sequence[Device], device_name: str, direction: Direction) -> Device:
    folded_name = device_name.casefold()
    exact = [device for device in able if folded_name in (device.name.casefold(), device.full_name.casefold())]
    meant = exact or [device for device in able if folded_name in device.full_name.casefold()]
    if not meant:
        raise DeviceError(
            f'no {noun(direction)} is called "{device_name}": choose {_named(able)}, or write a part of the name'
        )
    if len({device.name for device in meant}) > 1:
        raise DeviceError(f'"{device_name}" may be {_named(meant)}: write more of the name, or its number')
    # One device on several host APIs: prefer that of the default device, else the first one listed.
    own = next((device.host_api for device in able if device.is_default(direction)), meant[0].host_api)
    return next((device for device in meant if device.host_api == own), meant[0])


def _named(devices: Sequence[Device], *, with_index: bool = False) -> str:
    names = [f'{device.index} "{device.name}"' if with_index else f'"{device.name}"' for device in devices]
    names = list(dict.fromkeys(names))
    more = [f"{len(names) - _SHOWN} more (`repartee devices`)"] if len(names) > _SHOWN else []
    shown = names[:_SHOWN] + more
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
