"""Speaks with Pico: German, French, Spanish, Italian and English with small voices that need no download."""

from collections.abc import Callable, Iterator

from audio.engine_lateness import EngineLateness
from audio.execution_provider import ProviderRequest
from audio.thread_times import ThreadTimes
from audio.tts.pico.process import PicoProcess
from audio.tts.pico.text import spoken_text
from audio.tts.sound import LOUDNESS_REFERENCE
from audio.tts.streaming.phonemes import WordPhonemes
from audio.tts.streaming.sentence_audio import ReplyAudio, ReplySentence
from audio.tts.streaming.sentence_sound import SentenceSound, Sound, StopSwitch
from audio.tts.streaming.streamed_voice import PieceRequest, StreamedVoice
from audio.tts.text_pieces import words


class PicoTts(StreamedVoice[PicoProcess]):
    """Implements `Voice` by Pico, with a process of its own, for any number of conversations.

    A text is synthesized at once, at most 200 characters of it (60 ms); that of a cancelled reply is dropped. The times
    of its words are estimated from their letters.
    """

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

    def model_detail(self, model: PicoProcess) -> str:
        """See `StreamedVoice.model_detail`."""
        return f"{self._voice}, speed {self._speed:g}"

    def reference_sound(self, model: PicoProcess, switch: StopSwitch) -> Iterator[Sound]:
        """See `StreamedVoice.reference_sound`."""
        yield model.sound(LOUDNESS_REFERENCE)

    def reply_parts(self, request: PieceRequest) -> Callable[[PicoProcess, StopSwitch], Iterator[ReplyAudio]]:
        """See `StreamedVoice.reply_parts`."""
        text, offset = request.piece.text, request.piece.offset

        def work(model: PicoProcess, switch: StopSwitch) -> Iterator[ReplyAudio]:
            sound = model.sound(spoken_text(text), request.speed)
            # Its letters stand for phonemes, so that the time of each word is its share of the letters and pauses.
            placed = [
                WordPhonemes(start + offset, end + offset, 0, start, end, guessed=True) for start, end in words(text)
            ]
            whole = SentenceSound(iter((sound,)), None, sound.size)
            yield from ReplySentence(
                whole, model.rate_hz, request.gain, request.pause_ms, phonemes=text, words=placed
            ).audio()

        return work
