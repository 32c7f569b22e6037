"""A voice whose engine makes the sound of a text at once."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from audio.engines.voice import VoiceRequest
from audio.errors import TtsError
from audio.execution_provider import ProviderInUse, ProviderRequest
from audio.thread_times import ThreadTimes
from audio.tts.sound import LOUDNESS_REFERENCE
from audio.tts.streaming.phonemes import WordPhonemes
from audio.tts.streaming.sentence_audio import ReplyAudio, ReplySentence
from audio.tts.streaming.sentence_sound import SentenceSound, Sound, StopSwitch
from audio.tts.streaming.streamed_voice import LoadedModel, PieceRequest, StreamedVoice
from audio.tts.text_pieces import words


class TextEngine(Protocol):
    """A loaded engine. It is called in a thread of its own, one text after the other.

    Attributes:
        rate_hz: Sample rate of its sound.
    """

    rate_hz: int

    def sound(self, text: str, speed: float) -> Sound:
        """Returns the sound of a text of at most 200 characters: float32, shape (n,), about -1..1.

        Its loudness is measured and set, and the silence at its ends is replaced. `speed`: factor on the engine's
        normal speed. Raises TtsError.
        """
        ...


class TextModel(LoadedModel, TextEngine, Protocol):
    """A loaded engine that also says where it computes."""


M = TypeVar("M", bound=TextModel)


class WholeTextVoice(StreamedVoice[M]):
    """The part of a voice that is the same for all engines of this kind, for any number of conversations.

    A text is synthesized at once, at most 200 characters of it; that of a cancelled reply is dropped. The times of its
    words are estimated from their letters.
    """

    def spoken(self, text: str) -> str:
        """Returns what the engine is given for a text. Its length may differ."""
        return text

    def reference_sound(self, model: M, switch: StopSwitch) -> Iterator[Sound]:
        """See `StreamedVoice.reference_sound`."""
        yield model.sound(LOUDNESS_REFERENCE, 1.0)

    def reply_parts(self, request: PieceRequest) -> Callable[[M, StopSwitch], Iterator[ReplyAudio]]:
        """See `StreamedVoice.reply_parts`."""
        text, offset = request.piece.text, request.piece.offset

        def work(model: M, switch: StopSwitch) -> Iterator[ReplyAudio]:
            sound = model.sound(self.spoken(text), request.speed)
            # Its letters stand for phonemes, so that the time of each word is its share of the letters and pauses.
            placed = [
                WordPhonemes(start + offset, end + offset, 0, start, end, guessed=True) for start, end in words(text)
            ]
            whole = SentenceSound(iter((sound,)), None, sound.size)
            yield from ReplySentence(
                whole, model.rate_hz, request.gain, request.pause_ms, phonemes=text, words=placed
            ).audio()

        return work


class TextEngineVoice(WholeTextVoice["_Checked"]):
    """Implements `Voice` for an engine of which only the loading and a `TextEngine` are written."""

    def __init__(self, name: str, request: VoiceRequest, load: Callable[[], TextEngine], detail: str = "") -> None:
        """Creates the voice without loading it.

        Args:
            name: Name of the engine.
            request: The settings for which it is made.
            load: Loads the engine, in any thread. Raises EngineLoadError.
            detail: One line for the screen.
        """
        self.name = self.title = name
        self._load_engine = load
        self._speed = request.speed
        self._about = detail
        super().__init__(
            language=request.language,
            target_dbfs=request.volume_dbfs,
            provider=ProviderRequest("", "cpu"),
            lateness=request.lateness,
        )

    def load_model(self, times: ThreadTimes) -> "_Checked":
        """See `StreamedVoice.load_model`."""
        return _Checked(self._load_engine(), self.name, self._speed)

    def model_detail(self, model: "_Checked") -> str:
        """See `StreamedVoice.model_detail`."""
        return self._about


class _Checked:
    """An engine whose sound is checked. Implements `TextModel`."""

    provider: ProviderInUse = "cpu"
    fallback = ""

    def __init__(self, engine: TextEngine, name: str, speed: float) -> None:
        self.rate_hz = engine.rate_hz
        self._engine = engine
        self._name = name
        self._speed = speed

    def sound(self, text: str, speed: float) -> Sound:
        sound = np.asarray(self._engine.sound(text, self._speed * speed), np.float32)
        if sound.ndim != 1 or not np.isfinite(sound).all():
            raise TtsError(f"{self._name}'s output is not sound: choose another voice")
        return sound
