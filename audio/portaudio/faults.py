"""Converts PortAudio errors to messages with a remedy. Pure."""

from audio.device import Device, Direction, noun
from audio.errors import DeviceError

# From portaudio.h, PaErrorCode.
HOST_ERROR = -9999
INVALID_CHANNELS = -9998
INVALID_RATE = -9997
INVALID_DEVICE = -9996
NO_FORMAT = -9994
UNAVAILABLE = -9985

TRY_OTHERWISE = frozenset({HOST_ERROR, INVALID_CHANNELS, INVALID_RATE, NO_FORMAT})
"""Errors after which another rate or number of channels may work."""


def code_of(error: BaseException) -> int:
    """Returns PortAudio's error code; 0 if there is none."""
    code = error.args[1] if len(error.args) > 1 else 0
    return code if isinstance(code, int) else 0


def hint_of(error: BaseException) -> str:
    """Returns the message of the system below PortAudio, or of PortAudio itself, in one line."""
    host = error.args[2] if len(error.args) > 2 else None
    text = str(host[2]) if isinstance(host, tuple) and len(host) > 2 and host[2] else str(error.args[0] or error)
    return " ".join(text.split())


def named(error: Exception) -> DeviceError:
    """Returns the error if it is a DeviceError, else a DeviceError for an unexpected failure."""
    if isinstance(error, DeviceError):
        return error
    failed = DeviceError(f"the sound system failed ({type(error).__name__}: {error}): restart it, then try again")
    failed.__cause__ = error
    return failed


def fault(error: BaseException, device: Device, direction: Direction, rates_hz: tuple[int, ...]) -> DeviceError:
    """Returns an error that says why the device could not be opened, and what to do."""
    name, code, hint = f'the {noun(direction)} "{device.name}"', code_of(error), hint_of(error)
    if code == UNAVAILABLE or "busy" in hint.lower():
        return DeviceError(
            f"{name} is busy: another program uses it ({hint}); close that program, or choose another device "
            "(`repartee devices` lists them)"
        )
    if code in (INVALID_RATE, NO_FORMAT):
        tried = ", ".join(f"{rate} Hz" for rate in rates_hz)
        return DeviceError(
            f"{name} accepts none of the sample rates {tried}: set it to 48000 Hz in the system's sound "
            "settings, or choose another device"
        )
    if code in (INVALID_CHANNELS, INVALID_DEVICE):
        return DeviceError(f"{name} is gone, or is no longer a {noun(direction)} ({hint}): choose another device")
    return DeviceError(
        f"{name} cannot be opened ({hint}): check that the sound server runs and lets this program use it, or "
        "choose another device (`repartee devices` lists them)"
    )
