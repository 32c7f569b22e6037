"""Detects wake words with the quantized networks of microWakeWord, which read 30 ms at a time.

The features of a frame are computed once for all words; each word has a network of its own. See docs/talk.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audio.errors import EngineLoadError
from audio.frame import Frame
from audio.units import Samples, samples_of_ms
from audio.wake import WakeWordDetection
from declarations.extra import installing

if TYPE_CHECKING:
    from pymicro_wakeword import MicroWakeWord

END_TO_DETECTION_MS = {"okay_nabu": 120.0, "hey_jarvis": 190.0, "hey_mycroft": 0.0, "alexa": 240.0}
"""Time from the end of a word to its detection, in milliseconds, by synthesized calls (bench/sound/wake_words.py): such
that Whisper tiny.en recognizes most questions that follow without a pause exactly. The medians are 123, 108, -61 and
184 ms; what follows "hey Jarvis", "hey Mycroft" and "Alexa" then loses its first consonant."""

REPEAT_AFTER_MS = 1000.0
"""A word that is detected again within this time, in milliseconds, is the same call: its probability varies."""


@dataclass(slots=True)
class _Word:
    name: str
    network: "MicroWakeWord"
    ignored_until: Samples = Samples(0)


class MicroWakeWords:
    """Implements `WakeWordDetector`. Not thread-safe."""

    def __init__(self, words: Sequence[str]) -> None:
        """Loads the networks of these words: about 30 ms. Raises EngineLoadError without the library."""
        try:
            from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures, Model  # noqa: PLC0415 - an extra

            self._features = MicroWakeWordFeatures()
            self._words = [_Word(word, MicroWakeWord.from_builtin(Model(word))) for word in words]
        except Exception as error:
            raise EngineLoadError(
                f"Wake words by sound need the package pymicro-wakeword ({type(error).__name__}): {installing('wake')}."
            ) from error

    def process(self, frame: Frame) -> WakeWordDetection | None:
        """See `WakeWordDetector`."""
        detection = None
        for features in self._features.process_streaming(frame.pcm.tobytes()):
            for word in self._words:
                if not word.network.process_streaming(features):
                    continue
                if frame.start >= word.ignored_until and detection is None:
                    end = max(0, frame.end - samples_of_ms(END_TO_DETECTION_MS[word.name]))
                    detection = WakeWordDetection(word.name, Samples(end))
                word.ignored_until = Samples(frame.end + samples_of_ms(REPEAT_AFTER_MS))
        return detection
