"""Stands for the loudspeaker on a machine without one: nothing is played, because replies are shown as text."""

import math
from typing import NoReturn

from audio.card.stream import Opened
from audio.errors import DeviceError
from audio.speaker import WavSpeaker
from audio.units import Pcm


class NoSpeaker(WavSpeaker):
    """Implements what `Cards` needs of a `CardSpeaker`."""

    opened: Opened | None = None
    level_dbfs = -math.inf
    silent_samples = 0
    underflows = 0

    def __init__(self) -> None:
        """Creates the loudspeaker that is missing."""
        super().__init__(lambda _at_s, _pcm: None)

    def chime(self, _pcm: Pcm) -> None:
        """Plays nothing."""

    async def use(self, _wanted: str) -> NoReturn:
        """Raises DeviceError: a conversation that began without a loudspeaker goes on without one."""
        raise DeviceError("replies are shown as text, because there was no loudspeaker at the start: start again")
