"""Speech to text: `transcribe` and the sound after it, answered by interim words and a `transcript`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.event import Eventable

from assistant.pipeline.missing_engines import NoRecognizer
from assistant.setup.conversation.chosen_engines import EngineChoices
from assistant.setup.conversation.engine_options import base_of
from audio.errors import EngineLoadError
from audio.stt import PromptedRecognizer, Recognizer
from audio.units import Pcm
from web.wire.incoming.transcription_fields import MAX_KEYWORD_CHARS, MAX_KEYWORDS
from web.wire.outgoing.input_events import StableTranscript
from web.wyoming.description import PROGRAM, languages_of
from web.wyoming.events import EventWriter, WyomingError
from web.wyoming.speech_stream import SpeechStream


@dataclass(frozen=True, slots=True)
class TranscriptionWish:
    """The checked fields of `transcribe`.

    Attributes:
        language: Code of the language; "" for the server's own.
        expected: Names and terms to expect, the important ones first.
    """

    language: str = ""
    expected: tuple[str, ...] = ()

    @classmethod
    def of(cls, choices: EngineChoices, request: Transcribe) -> "TranscriptionWish":
        """Returns the wish of a client. Raises WyomingError."""
        listening = next((choice.name for choice in choices.loader.chosen if choice.stage == "stt"), "")
        if not isinstance(request.name, str | None) or not isinstance(request.language, str | None):
            raise WyomingError("invalid_value", "name and language must be texts")
        if request.name not in {None, "", PROGRAM, listening}:
            raise WyomingError("model_not_found", f"this server has the model {listening}; leave the name out")
        language = request.language or ""
        known = languages_of(choices, choices.options())
        if language and base_of(language) not in known:
            understood = ", ".join(known)
            raise WyomingError("language_not_supported", f"this server understands {understood}; send one of these")
        names = (*_texts(request.transcript_names), *_texts(request.transcript_terms))
        return cls(base_of(language), names[:MAX_KEYWORDS])


def _texts(values: object) -> Sequence[str]:
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise WyomingError("invalid_value", "transcript_names and transcript_terms must be lists of texts")
    return tuple(value[:MAX_KEYWORD_CHARS] for value in values)


@dataclass(slots=True)
class Transcription:
    """One request, from its sound to its transcript.

    Attributes:
        speech: Recognizes the sound.
        writer: Sends the words.
        language: Code of the language that is recognized.
    """

    speech: SpeechStream
    writer: EventWriter
    language: str
    takes_slot: ClassVar[bool] = True
    _stable: StableTranscript = field(default_factory=lambda: StableTranscript("minimal"), init=False)

    @classmethod
    async def begin(
        cls, choices: EngineChoices, wish: TranscriptionWish, writer: EventWriter, tasks: asyncio.TaskGroup
    ) -> "Transcription":
        """Begins with a recognizer of its own. Raises WyomingError."""
        recognizer = await _recognizer(choices, wish.language)
        if isinstance(recognizer, PromptedRecognizer) and wish.expected:
            recognizer.set_prompt(", ".join(wish.expected))
        try:
            vad = choices.loader.detector()
        except BaseException:
            await recognizer.aclose()
            raise
        speech = SpeechStream(recognizer, vad, tasks)
        language = wish.language or base_of(choices.loader.settings.assistant.language)
        transcription = cls(speech, writer, language)
        speech.on_words = transcription.send_interim
        return transcription

    async def take(self, pcm: Pcm) -> None:
        """Takes the next sound. Raises WyomingError."""
        await self.speech.take(pcm)

    async def finish(self) -> None:
        """Sends the transcript. Raises WyomingError, ClientGoneError."""
        text = await self.speech.finish()
        start: list[Eventable] = [] if self._stable.has_sent else [TranscriptStart(language=self.language)]
        rest = self._stable.finish(text)
        chunks = [TranscriptChunk(rest)] if rest else []
        language = self.speech.language or self.language
        await self.writer.send(*start, *chunks, Transcript(text, language=language), TranscriptStop())

    async def aclose(self) -> None:
        """Drops the request."""
        await self.speech.aclose()

    def send_interim(self, words: str) -> None:
        """Sends the words that will not change any more; a client that does not read gets them with later ones."""
        if not self.writer.has_room:
            return
        begun = self._stable.has_sent
        if more := self._stable.add_interim(words):
            if not begun:
                self.writer.post(TranscriptStart(language=self.language))
            self.writer.post(TranscriptChunk(more))


async def _recognizer(choices: EngineChoices, language: str) -> Recognizer:
    """Returns a working recognizer. Raises WyomingError."""
    try:
        recognizer = await choices.recognizer(language)
        if not recognizer.works:
            await recognizer.load()
    except EngineLoadError as error:
        message = "the recognizer cannot be loaded; the server's operator can run `repartee doctor`"
        raise WyomingError("recognizer_failed", message) from error
    if recognizer.name == NoRecognizer.name:
        raise WyomingError("no_recognizer", "this server has no speech recognizer (repartee models pull)")
    return recognizer
