"""Lists the sound cards of this machine and selects one of them."""

from audio.device import Device, Direction, noun, pick
from audio.portaudio.owner import shared

__all__ = ["Device", "Direction", "list_devices", "noun", "pick"]


def list_devices() -> tuple[Device, ...]:
    """Returns the current devices. Blocks for about 50 ms; open streams are not disturbed.

    Raises DeviceError if the PortAudio library is missing or does not respond.
    """
    return shared().list_now()
