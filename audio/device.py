"""A device of a sound card, and which of several somebody means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from audio.errors import DeviceError

Direction = Literal["input", "output"]

_SHOWN = 6
"""Candidates named in an error: more would be a list, for which there is `repartee devices`."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device, as PortAudio lists it.

    Attributes:
        index: Its place in the list; changes when something is plugged in.
        name: What the system calls it.
        host_api: By which of the system's interfaces it is reached.
        input_channels: 0: no microphone.
        output_channels: 0: no loudspeaker.
        default_rate_hz: What it calls its own rate.
        low_input_latency_s: The least it proposes.
        low_output_latency_s: The least it proposes.
        default_input: The system's choice of microphone.
        default_output: The system's choice of loudspeaker.
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
        """How many it has that way; 0: none."""
        return self.input_channels if direction == "input" else self.output_channels

    def is_default(self, direction: Direction) -> bool:
        """Whether it is the system's choice."""
        return self.default_input if direction == "input" else self.default_output

    @property
    def full_name(self) -> str:
        """With the host API: on Windows each device is listed once for every one of them."""
        return f"{self.name}, {self.host_api}"


def noun(direction: Direction) -> str:
    """What people call it."""
    return "microphone" if direction == "input" else "loudspeaker"


def pick(devices: Sequence[Device], wanted: str, direction: Direction) -> Device:
    """The device that `wanted` means. Pure.

    Args:
        devices: From `audio.devices.list_devices`.
        wanted: "" for the default, an index, a name, or a part of a name or of "name, host API".
        direction: Which way it must go.

    Raises DeviceError where none is meant, or several with different names; the text names the candidates.
    """
    able = [device for device in devices if device.channels(direction) > 0]
    if not able:
        raise DeviceError(
            f"no {noun(direction)} was found: plug one in, or start the sound server (`repartee devices` lists what "
            "there is)"
        )
    if not wanted.strip():
        return next((device for device in able if device.is_default(direction)), able[0])
    if wanted.strip().isdecimal():
        return _by_index(able, int(wanted), direction)
    return _by_name(able, wanted.strip(), direction)


def _by_index(able: Sequence[Device], index: int, direction: Direction) -> Device:
    for device in able:
        if device.index == index:
            return device
    raise DeviceError(f"device {index} is no {noun(direction)}; there are {_named(able, with_index=True)}")


def _by_name(able: Sequence[Device], wanted: str, direction: Direction) -> Device:
    said = wanted.casefold()
    exact = [device for device in able if said in (device.name.casefold(), device.full_name.casefold())]
    meant = exact or [device for device in able if said in device.full_name.casefold()]
    if not meant:
        raise DeviceError(
            f'no {noun(direction)} is called "{wanted}"; there are {_named(able)}: name one of them, or a part of it'
        )
    if len({device.name for device in meant}) > 1:
        raise DeviceError(f'"{wanted}" may be {_named(meant)}: say more of the name, or its number')
    # The same device by several host APIs: the one by which the default is reached, else the first that is listed.
    own = next((device.host_api for device in able if device.is_default(direction)), meant[0].host_api)
    return next((device for device in meant if device.host_api == own), meant[0])


def _named(devices: Sequence[Device], *, with_index: bool = False) -> str:
    names = [f'{device.index} "{device.name}"' if with_index else f'"{device.name}"' for device in devices]
    names = list(dict.fromkeys(names))
    more = [f"{len(names) - _SHOWN} more (`repartee devices`)"] if len(names) > _SHOWN else []
    shown = names[:_SHOWN] + more
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
