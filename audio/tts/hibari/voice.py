"""Speaks American English with Hibari: neural, small; the network runs once a sentence, its sound is made in pieces."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from audio.engine_lateness import EngineLateness
from audio.execution_provider import ProviderRequest
from audio.pronunciation import Pronunciations
from audio.thread_times import ThreadTimes
from audio.tts.hibari.model import HibariModel
from audio.tts.hibari.phonemizer import Phonemizer
from audio.tts.sound import LOUDNESS_REFERENCE, SENTENCE_PAUSE_MS
from audio.tts.streaming.sentence_audio import ReplyAudio, ReplySentence
from audio.tts.streaming.sentence_sound import Sound, StopSwitch
from audio.tts.streaming.streamed_voice import PieceRequest, StreamedVoice


class HibariTts(StreamedVoice[HibariModel]):
    """Implements `Voice` by Hibari's voice "heart"."""

    name = "hibari"
    title = "Hibari"

    def __init__(
        self,
        *,
        speed: float = 1.0,
        target_dbfs: float = -20.0,
        pronunciations: Pronunciations | None = None,
        lateness: EngineLateness | None = None,
    ) -> None:
        """Creates the voice without loading it.

        Args:
            speed: 0.5..2; 1 is the voice's own speed.
            target_dbfs: RMS of speech without pauses, -60..0. Peaks are limited to -1 dBFS.
            pronunciations: Words with their phonemes.
            lateness: Decides what is left out when the sound is late; None: nothing ever is.

        Raises:
            ValueError: A number outside its range.
        """
        for key, value, low, high in (("speed", speed, 0.5, 2), ("target_dbfs", target_dbfs, -60, 0)):
            if not low <= value <= high:
                raise ValueError(f"tts.{key} is {value}: Hibari accepts {low} to {high}")
        super().__init__(language="en", target_dbfs=target_dbfs, provider=ProviderRequest("", "cpu"), lateness=lateness)
        self._speed = speed
        self._phonemizer: Phonemizer | None = None
        self._pronunciations = pronunciations or Pronunciations()

    def load_model(self, times: ThreadTimes) -> HibariModel:
        """See `StreamedVoice.load_model`."""
        with times.started_here("Hibari"):
            model = HibariModel(self._phonemizer)
        self._phonemizer = model.phonemizer
        return model

    def model_detail(self, model: HibariModel) -> str:
        """See `StreamedVoice.model_detail`."""
        return f"heart (en_US), speed {self._speed:g}"

    def reference_sound(self, model: HibariModel, switch: StopSwitch) -> Iterator[Sound]:
        """See `StreamedVoice.reference_sound`."""
        for sentence in model.phonemizer.sentences(LOUDNESS_REFERENCE):
            yield np.concatenate(tuple(model.sentence(sentence.phonemes, switch).pieces))

    def reply_parts(self, request: PieceRequest) -> Callable[[HibariModel, StopSwitch], Iterator[ReplyAudio]]:
        """See `StreamedVoice.reply_parts`."""
        piece = request.piece
        pronounced = self._pronunciations.pronounced(piece.text)
        speed = self._speed * request.speed

        def work(model: HibariModel, switch: StopSwitch) -> Iterator[ReplyAudio]:
            parts = list(model.phonemizer.sentences(piece.text, pronounced, request.most_phonemes))
            for number, part in enumerate(parts, 1):
                words = [
                    replace(word, text_start=word.text_start + piece.offset, text_end=word.text_end + piece.offset)
                    for word in part.words
                ]
                pause_ms = request.pause_ms if number == len(parts) else SENTENCE_PAUSE_MS if part.is_end else 0
                made = model.sentence(part.phonemes, switch, speed)
                yield from ReplySentence(
                    made, model.rate_hz, request.gain, pause_ms, phonemes=part.phonemes, words=words
                ).audio()

        return work
