"""The length of audio that a client appends to its input buffer."""

from web.wire.commands import Append


def length_s(command: Append) -> float:
    """Returns the length of the audio in seconds."""
    return len(command.audio) / command.format.sample_bytes / command.format.rate_hz
