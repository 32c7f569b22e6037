"""Speaks with Piper: neural, one model per voice; a sentence is made in pieces, and its first one is heard at once."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from audio.engine_lateness import EngineLateness
from audio.errors import TtsError
from audio.execution_provider import SHOWN, ProviderRequest
from audio.pronunciation import Pronunciations
from audio.thread_times import ThreadTimes
from audio.tts.piper.files import read_voice
from audio.tts.piper.model import PiperModel
from audio.tts.piper.words import place_words, with_pronunciations
from audio.tts.sound import LOUDNESS_REFERENCE, SENTENCE_PAUSE_MS
from audio.tts.streaming.phoneme_bounds import bounded
from audio.tts.streaming.phonemes import Phonemes, is_audible
from audio.tts.streaming.sentence_audio import ReplyAudio, ReplySentence
from audio.tts.streaming.sentence_sound import Sound, StopSwitch
from audio.tts.streaming.streamed_voice import PieceRequest, StreamedVoice
from audio.tts.text_pieces import words

log = logging.getLogger(__name__)

DEFAULT_PROVIDER = ProviderRequest("tts.piper.provider")

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""Text that loudness is measured on for a voice that knows only letters."""


class PiperTts(StreamedVoice[PiperModel]):
    """Implements `Voice` by Piper."""

    name = "piper"
    title = "Piper"

    def __init__(
        self,
        voice: str | PathLike[str],
        *,
        language: str = "en",
        speaker: int | str | None = None,
        speed: float = 1.0,
        target_dbfs: float = -20.0,
        provider: ProviderRequest = DEFAULT_PROVIDER,
        threads: int | None = None,
        pronunciations: Pronunciations | None = None,
        lateness: EngineLateness | None = None,
    ) -> None:
        """Creates the voice without loading it.

        Args:
            voice: Path of a .onnx file with its json file beside it.
            language: Language of the conversation; a voice of another language is refused.
            speaker: Number or name, for voices with several speakers; None: the voice's default.
            speed: 0.5..2; 1 is the voice's own speed.
            target_dbfs: RMS of speech without pauses, -60..0. Peaks are limited to -1 dBFS.
            provider: Where it computes.
            threads: Threads of onnxruntime for one operator; None: one per core.
            pronunciations: Words with their phonemes.
            lateness: Decides what is left out when the sound is late; None: nothing ever is.

        Raises:
            ValueError: A number outside its range.
        """
        for key, value, low, high in (("speed", speed, 0.5, 2), ("target_dbfs", target_dbfs, -60, 0)):
            if not low <= value <= high:
                raise ValueError(f"tts.{key} is {value}: Piper accepts {low} to {high}")
        super().__init__(language=language, target_dbfs=target_dbfs, provider=provider, lateness=lateness)
        self._voice = Path(voice)
        self._speaker = speaker
        self._speed = speed
        self._threads = threads
        self._pronunciations = pronunciations or Pronunciations()

    def load_model(self, times: ThreadTimes) -> PiperModel:
        """See `StreamedVoice.load_model`."""
        files = read_voice(self._voice, self._language)
        with times.started_here("Piper"):  # the compute threads start here
            return PiperModel(
                files, speaker=self._speaker, speed=self._speed, provider=self._provider, threads=self._threads
            )

    def model_detail(self, model: PiperModel) -> str:
        """See `StreamedVoice.model_detail`."""
        speaker = "" if self._speaker is None else f", speaker {self._speaker}"
        detail = f"{self._voice.stem} ({model.language}){speaker}, speed {self._speed:g}, {SHOWN[model.provider]}"
        if model.whole_because:
            log.info("Piper synthesizes whole sentences with %s: %s", self._voice.stem, model.whole_because)
            return f"{detail}, whole sentences: {model.whole_because}"
        return detail

    def reference_sound(self, model: PiperModel, switch: StopSwitch) -> Iterator[Sound]:
        """See `StreamedVoice.reference_sound`."""
        for phonemes in model.phonemes(LOUDNESS_REFERENCE if model.reads_digits else _LETTERS):
            try:
                yield np.concatenate(tuple(model.sentence(phonemes, switch).pieces))
            except TtsError as failure:
                if failure.__cause__ is None:
                    raise
                why = " ".join(str(failure.__cause__).split())
                raise TtsError(
                    f"it failed at its first words ({why}): fetch both of its files again, or set tts.voice to "
                    "another one"
                ) from failure

    def reply_parts(self, request: PieceRequest) -> Callable[[PiperModel, StopSwitch], Iterator[ReplyAudio]]:
        """See `StreamedVoice.reply_parts`."""
        piece = request.piece
        spans = words(piece.text)
        pronounced = self._pronunciations.pronounced(piece.text)

        def alone(model: PiperModel) -> Callable[[str], list[list[str]]]:
            def phonemes_of(word: str) -> list[list[str]]:
                own = self._pronunciations.pronounced(word)
                return [model.known(own[0].phonemes)] if own else model.phonemes(word)

            return phonemes_of

        def work(model: PiperModel, switch: StopSwitch) -> Iterator[ReplyAudio]:
            cut = [bounded(phonemes, request.most_phonemes) for phonemes in model.phonemes(piece.text)]
            parts = [(part, part is not of[-1]) for of in cut for part in of if any(map(is_audible, part))]
            sentences: list[Phonemes] = [part for part, _ in parts]
            placed = place_words(piece.text, spans, sentences, model.phonemes)
            if pronounced:
                sentences = [model.known(phonemes) for phonemes in with_pronunciations(sentences, placed, pronounced)]
                placed = place_words(piece.text, spans, sentences, alone(model))
            for number, phonemes in enumerate(sentences):
                here = [
                    replace(word, text_start=word.text_start + piece.offset, text_end=word.text_end + piece.offset)
                    for word in placed
                    if word.sentence == number
                ]
                last_part = number == len(sentences) - 1
                pause_ms = request.pause_ms if last_part else 0 if parts[number][1] else SENTENCE_PAUSE_MS
                made = model.sentence(phonemes, switch, request.speed)
                yield from ReplySentence(
                    made, model.rate_hz, request.gain, pause_ms, phonemes=phonemes, words=here
                ).audio()

        return work
