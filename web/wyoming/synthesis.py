"""Text to speech: `synthesize`, and the streamed `synthesize-start`, `-chunk` and `-stop`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.tts import SynthesizeStopped, SynthesizeTextFormat, SynthesizeVoice

from assistant.models.language_names import NAMES
from assistant.setup.conversation.chosen_engines import EngineChoices
from assistant.setup.conversation.engine_options import base_of
from audio.errors import EngineLoadError
from audio.units import REPLY_RATE_HZ, Pcm
from web.client_audio.text_synthesis import SynthesisError, TextSynthesis, foreign_script, sentences_of
from web.wyoming.description import OF_LANGUAGE
from web.wyoming.events import EventWriter, WyomingError

MAX_TEXT_CHARS = 20_000
"""Longest text of one request: half an hour of speech."""
MAX_WAITING = 256
"""Parts of a streamed text that wait for the voice; then the client is not read."""

CHUNK_MS = 100
"""Longest sound of one event."""
_CHUNK_SAMPLES = REPLY_RATE_HZ * CHUNK_MS // 1000


@dataclass(slots=True)
class TextStream:
    """The text of one request, as it arrives."""

    _parts: asyncio.Queue[str | None] = field(default_factory=lambda: asyncio.Queue(MAX_WAITING))
    _chars: int = 0
    _closed: bool = False

    async def add_text(self, text: str) -> None:
        """Adds text; waits while too much of it waits for the voice. Raises WyomingError."""
        self._chars += len(text)
        if self._chars > MAX_TEXT_CHARS:
            raise WyomingError("text_too_long", f"a text may have at most {MAX_TEXT_CHARS} characters")
        if text and not self._closed:
            await self._parts.put(text)

    async def end(self) -> None:
        """Notes that the text is complete."""
        if not self._closed:
            await self._parts.put(None)

    def close(self) -> None:
        """Drops the text that waits, and what still comes: its request has ended."""
        self._closed = True
        while not self._parts.empty():
            self._parts.get_nowait()

    async def parts(self) -> AsyncGenerator[str]:
        """Yields the text in parts as it arrives."""
        while (part := await self._parts.get()) is not None:
            yield part


@dataclass(slots=True)
class VoiceWish:
    """The voice that a client asks for; "" for the server's own.

    Attributes:
        name: Name of the voice.
        language: Code of the language.
    """

    name: str = ""
    language: str = ""

    @classmethod
    def of(cls, choices: EngineChoices, voice: SynthesizeVoice | None, text_format: object) -> "VoiceWish":
        """Returns the checked wish of a request. Raises WyomingError."""
        if not isinstance(text_format, str | None):
            raise WyomingError("invalid_value", "text_format must be a text")
        if text_format not in {None, SynthesizeTextFormat.TEXT}:
            raise WyomingError("not_supported", "text_format: the voices read plain text only; send no SSML")
        name, language = ("", "") if voice is None else (voice.name or "", voice.language or "")
        if not (isinstance(name, str) and isinstance(language, str)):
            raise WyomingError("invalid_value", "voice: name and language must be texts")
        if voice is not None and voice.speaker is not None:
            raise WyomingError("not_supported", "speaker: each voice of this server has one speaker; leave it out")
        settings, options = choices.loader.settings, choices.options()
        own = base_of(settings.assistant.language)
        name, _, of_language = name.partition(OF_LANGUAGE)
        language = language or of_language
        if name == choices.default_voice and not of_language:
            name = ""
        if name:
            offered = [offer for offer in options.voices if offer.name == name]
            if not offered:
                known = ", ".join(sorted({choices.default_voice, *(offer.name for offer in options.voices)}))
                raise WyomingError("voice_not_found", f"there is no such voice; this server has {known[:500]}")
            language = language or offered[0].language
        language = base_of(language)
        if language and language != own and not name and not _speaks(choices, language):
            raise WyomingError("language_not_supported", "no voice of this server speaks that language; leave it out")
        return cls(name, "" if language == own else language)


def _speaks(choices: EngineChoices, language: str) -> bool:
    """Returns whether a voice that clients may choose speaks a language."""
    return any(
        voice.language == language or (not voice.language and language in NAMES) for voice in choices.options().voices
    )


async def synthesize(
    choices: EngineChoices,
    wish: VoiceWish,
    text: TextStream,
    writer: EventWriter,
    tasks: asyncio.TaskGroup,
    *,
    streamed: bool,
) -> None:
    """Sends the sound of a text as it is synthesized. Raises WyomingError, ClientGoneError.

    `tasks`: owns the work. `streamed`: whether the client has streamed the text, and waits for `synthesize-stopped`.
    """
    language = wish.language or choices.loader.settings.assistant.language
    begun = False
    try:
        async with choices.voice(wish.name, wish.language) as (voice, normalize_text):
            synthesis = TextSynthesis(lambda: voice, normalize_text)
            async with aclosing(sentences_of(text.parts())) as sentences:
                async for sentence in sentences:
                    if (foreign := foreign_script(sentence, language)) and not begun:
                        raise WyomingError("text_not_speakable", f"the text {foreign}")
                    async with aclosing(_sound_of(synthesis, sentence, tasks)) as sound:
                        async for pcm in sound:
                            if not begun:
                                begun = True
                                await writer.send(AudioStart(REPLY_RATE_HZ, 2, 1))
                            await writer.send(*_chunks(pcm))
    except EngineLoadError as error:
        raise WyomingError("voice_failed", f"the voice cannot be loaded: {error}") from error
    except SynthesisError as error:
        raise WyomingError("voice_failed", str(error)) from error
    ending = [] if begun else [AudioStart(REPLY_RATE_HZ, 2, 1)]  # nothing to speak: an empty sound
    await writer.send(*ending, AudioStop(), *([SynthesizeStopped()] if streamed else []))


def _chunks(pcm: Pcm) -> list[AudioChunk]:
    sound = pcm.astype("<i2")
    parts = (sound[start : start + _CHUNK_SAMPLES] for start in range(0, len(sound), _CHUNK_SAMPLES))
    return [AudioChunk(REPLY_RATE_HZ, 2, 1, part.tobytes()) for part in parts]


async def _sound_of(synthesis: TextSynthesis, sentence: str, tasks: asyncio.TaskGroup) -> AsyncGenerator[Pcm]:
    """Yields the sound of a sentence, which a task synthesizes without waiting for the client. Raises SynthesisError.

    So a client that reads slowly does not keep the voice from other clients.
    """
    made: asyncio.Queue[Pcm | SynthesisError | None] = asyncio.Queue()

    async def make() -> None:
        try:
            async with aclosing(synthesis.sound(sentence)) as sound:
                async for pcm in sound:
                    made.put_nowait(pcm)
        except SynthesisError as error:
            made.put_nowait(error)
        finally:
            made.put_nowait(None)

    making = tasks.create_task(make(), name="sentence")
    try:
        while (pcm := await made.get()) is not None:
            if isinstance(pcm, SynthesisError):
                raise pcm
            yield pcm
    finally:
        making.cancel()
