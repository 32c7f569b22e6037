"""Speaks with Pico: German, French, Spanish, Italian and English with small voices that need no download."""

import re

from audio.engine_lateness import EngineLateness
from audio.execution_provider import ProviderRequest
from audio.thread_times import ThreadTimes
from audio.tts.pico.process import PicoProcess
from audio.tts.streaming.whole_text_voice import WholeTextVoice

MAX_WORD_CHARS = 40
"""Longest word for Pico. It computes some words of 150 letters without end, refuses others and skips 80 digits."""

_UNKNOWN = re.compile(r"[^\w\s.,;:!?'\"()%€$£&@#+/=°§«»„“”’¿¡-]|_|(?<!\w)['’]+(?!\w)")
"""Signs that have no sound, and `<`, which begins a command. Apostrophes between blanks would be read by name."""

_PAUSE = re.compile(r"\s*[–—…]\s*")
"""Signs of a pause that Pico ignores."""

_RUN = re.compile(r"([.,;:!?])(?:\s*[.,;:!?])+(?!\d)")
"""Punctuation of which Pico reads the second sign by its name: "..." and "?!"."""

_WORD_PART = re.compile(rf"\S{{{MAX_WORD_CHARS}}}(?=\S)")


class PicoTts(WholeTextVoice[PicoProcess]):
    """Implements `Voice` by Pico, with a process of its own. A text takes 60 ms at most."""

    name = "pico"
    title = "Pico"

    def __init__(
        self,
        *,
        language: str,
        voice: str,
        speed: float = 1.0,
        target_dbfs: float = -20.0,
        lateness: EngineLateness | None = None,
    ) -> None:
        """Creates the voice without loading it.

        Args:
            language: Language of the conversation: "de", "en-GB".
            voice: One of the library's voices, as "de-DE".
            speed: 0.5..2; 1 is the voice's own speed.
            target_dbfs: RMS of speech without pauses, -60..0. Peaks are limited to -1 dBFS.
            lateness: Decides what is left out when the sound is late; None: nothing ever is.

        Raises:
            ValueError: A number outside its range.
        """
        for key, value, low, high in (("speed", speed, 0.5, 2), ("target_dbfs", target_dbfs, -60, 0)):
            if not low <= value <= high:
                raise ValueError(f"tts.{key} is {value}: Pico accepts {low} to {high}")
        super().__init__(
            language=language,
            target_dbfs=target_dbfs,
            provider=ProviderRequest("", "cpu"),
            lateness=lateness,
        )
        self._voice = voice
        self._speed = speed

    def load_model(self, times: ThreadTimes) -> PicoProcess:
        """See `StreamedVoice.load_model`."""
        process = PicoProcess(self._voice, self._speed)
        times.watch_process(process.pid)
        return process

    def spoken(self, text: str) -> str:
        """See `WholeTextVoice.spoken`."""
        return spoken_text(text)

    def model_detail(self, model: PicoProcess) -> str:
        """See `StreamedVoice.model_detail`."""
        return f"{self._voice}, speed {self._speed:g}"


def spoken_text(text: str) -> str:
    """Returns the text without markup and signs that Pico reads by name, and with breaks in words it cannot compute."""
    text = _UNKNOWN.sub(" ", _PAUSE.sub(", ", text))
    return _WORD_PART.sub(r"\g<0> ", _RUN.sub(r"\1", text))
