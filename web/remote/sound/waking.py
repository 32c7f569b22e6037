"""Lets the microphone of `talk --server` sleep until this machine hears its wake word: before that, nothing is sent.

frame ─▶ WakeWordListener ── awake ──▶ sent to the server
                          └── asleep ─▶ held for 2 s, then dropped
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from audio.frame import Frame
from audio.wake import WakeWordDetection
from audio.wake.gate import Activity
from audio.wake.listener import WakeWordListener
from audio.wake.resting import RestingDevices

MAX_AWAITED_S = 30.0
"""Longest time in s for which speech is sent while a reply is awaited: the server may never answer."""


@dataclass(slots=True)
class Waking:
    """The wake words of one conversation with a server. Not thread-safe.

    Attributes:
        listener: Detects the words and holds what is not sent.
        phrases: The words as they are spoken, by name.
        on_nothing_heard: Called when nobody has spoken after the wake word and the conversation sleeps again.
        devices: Rest while the conversation sleeps.
    """

    listener: WakeWordListener
    phrases: Mapping[str, str]
    on_nothing_heard: Callable[[], None] = lambda: None
    devices: RestingDevices | None = None
    _awaits_speech: bool = False  # after the wake word, until something happens
    _awaits_reply_since_s: float | None = None  # loop time; None while none is awaited, or while the user speaks

    @property
    def awake(self) -> bool:
        """Whether frames are sent."""
        return self.listener.awake

    def activity(self, *, sounding: bool, hearing: bool, pending: bool) -> Activity:
        """Returns what keeps the conversation awake.

        Args:
            sounding: Whether a reply plays.
            hearing: Whether the server hears the user speak.
            pending: Whether a reply is awaited.
        """
        if not pending or hearing or sounding:
            self._awaits_reply_since_s = None
        if sounding:
            return Activity.REPLY
        if hearing or not pending:
            return Activity.SPEECH if hearing else Activity.NONE
        now_s = asyncio.get_running_loop().time()
        self._awaits_reply_since_s = now_s if self._awaits_reply_since_s is None else self._awaits_reply_since_s
        return Activity.SPEECH if now_s - self._awaits_reply_since_s < MAX_AWAITED_S else Activity.NONE

    def take(self, frame: Frame, activity: Activity) -> Iterator[Frame]:
        """Takes the next frame; yields the frames to send. `activity`: what goes on in the conversation."""
        was_awake = self.awake
        for taken, heard in self.listener.take(frame, activity):
            if heard:
                yield taken
        if activity is not Activity.NONE:
            self._awaits_speech = False
        if self.awake and not was_awake:
            self._awaits_speech = activity is Activity.NONE
        elif was_awake and not self.awake and self._awaits_speech:
            self._awaits_speech = False
            self.on_nothing_heard()
        if self.devices is not None:
            self.devices.rest(not self.awake)

    def sleep(self) -> None:
        """Sleeps at once and silently, because another satellite answers."""
        self.listener.gate.sleep()
        self._awaits_speech = False

    def is_spoken_in(self, detection: WakeWordDetection, text: str) -> bool:
        """Returns whether a reply contains the word itself, which the microphone then hears from the loudspeaker."""
        return _letters(self.phrases[detection.word]) in _letters(text)


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
