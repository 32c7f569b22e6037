"""The wake words that this machine hears for a conversation with a server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assistant.commands.talk.cards import Cards, chime
from assistant.pipeline.engine_recovery import reason_of
from assistant.support.notice import notice
from audio.errors import EngineLoadError
from audio.units import samples_of_s
from audio.wake import WakeWordDetector
from audio.wake.gate import WakeWordGate
from audio.wake.listener import WakeWordListener
from audio.wake.resting import RestingDevices
from web.remote.sound.waking import Waking


@dataclass(slots=True)
class WakeWords:
    """The wake words of one conversation, and what loads their detector.

    Attributes:
        phrases: The words as they are spoken, by name.
        make: Returns a detector of the words with these names. Blocking: 50 ms. Raises EngineLoadError.
        after_word_s: How long after the wake word speech may begin.
        listen_s: How long after a reply speech may begin without the wake word.
    """

    phrases: Mapping[str, str]
    make: Callable[[Sequence[str]], WakeWordDetector]
    after_word_s: float
    listen_s: float
    _is_reloaded: bool = False

    def waking(self, cards: Cards, report: Callable[[str], None], *, sounds: bool) -> Waking:
        """Loads the detector. Raises EngineLoadError.

        Args:
            cards: The sound devices, which rest while the conversation sleeps.
            report: Called with problems.
            sounds: Whether a sound signals that nothing was heard.
        """
        gate = WakeWordGate(samples_of_s(self.after_word_s), samples_of_s(self.listen_s))
        listener = WakeWordListener(self.make(list(self.phrases)), gate)
        waking = Waking(listener, self.phrases, devices=RestingDevices(cards.microphone, cards.speaker))
        listener.on_failure = lambda error: self._reload(listener, error, report)
        if sounds:
            waking.on_nothing_heard = lambda: cards.speaker.chime(chime(falling=True))
        return waking

    def _reload(self, listener: WakeWordListener, error: Exception, report: Callable[[str], None]) -> None:
        """Loads the detector once more. Raises EngineLoadError if it fails again: the machine would be deaf."""
        if self._is_reloaded:
            raise EngineLoadError(f"the wake word's detector failed twice ({reason_of(error)}): start again") from error
        self._is_reloaded = True
        report(notice("wake_word_reloads", reason=reason_of(error)))
        listener.detector = self.make(list(self.phrases))
