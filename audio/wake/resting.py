"""Lets the sound devices rest while only a wake word is listened for."""

from audio.microphone import Microphone, RestingMicrophone
from audio.speaker import RestingSpeaker, Speaker


class RestingDevices:
    """The microphone and the loudspeaker of a conversation, those of them that can rest."""

    def __init__(self, microphone: Microphone, speaker: Speaker) -> None:
        """Lets nothing rest yet."""
        self._microphone = microphone if isinstance(microphone, RestingMicrophone) else None
        self._speaker = speaker if isinstance(speaker, RestingSpeaker) else None

    def rest(self, on: bool) -> None:
        """Begins or ends the rest."""
        if self._microphone is not None:
            self._microphone.rest(on)
        if self._speaker is not None:
            self._speaker.may_rest = on
