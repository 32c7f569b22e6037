"""The sound cards of this machine: which there are, and which of them somebody means."""

from audio.device import Device, Direction, noun, pick
from audio.portaudio.owner import shared

__all__ = ["Device", "Direction", "list_devices", "noun", "pick"]


def list_devices() -> tuple[Device, ...]:
    """What is there now. Blocks for about 50 ms; streams that are open are not disturbed.

    Raises DeviceError where there is no PortAudio library, or where it does not answer.
    """
    return shared().list_now()
