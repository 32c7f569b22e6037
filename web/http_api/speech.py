"""POST /v1/audio/speech: text in, sound out as it is synthesized, by the voice of the conversations."""

import asyncio
import base64
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.types import Send

from audio.formats.stream_encoder import FileFormat, StreamEncoder
from audio.tts import Voice
from audio.units import REPLY_RATE_HZ, Pcm, s_of_reply_samples
from web.client_audio.text_synthesis import SynthesisError, TextSynthesis, foreign_script, sentences_of, single
from web.http_api.bodies import BodyReader
from web.http_api.engine_names import MODEL_HEADER, OPENAI_SPEECH, VOICE_HEADER, model_named, voice_named
from web.http_api.errors import ApiError
from web.http_api.serving import WAIT_STEP_S, AudioSlots, ServerState, sse, stream, unless_client_leaves
from web.wire.values.fields import TEXT, Field, Table, hint, number, one_of, text

MAX_INPUT_CHARS = 4096
"""Longest text; the limit of OpenAI's service."""

AHEAD_S = 2.0
"""Longest lead of the synthesis over real time at the next sentence, while there is a conversation."""

_LENGTH_UNKNOWN = 0xFFFF_FFFF
_CONTENT_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": f"audio/pcm;rate={REPLY_RATE_HZ};channels=1",
}


@dataclass(frozen=True, slots=True)
class Speech:
    """Synthesizes texts.

    Attributes:
        voice: Returns the voice that the conversations share.
        configured_voice: Returns the setting tts.voice.
        language: Returns the language of the voice.
        normalize_text: Converts written to spoken text.
        bodies: Reads the requests.
        slots: Limits the audio requests.
        state: Whether the server takes requests.
    """

    voice: Callable[[], Voice]
    configured_voice: Callable[[], str]
    language: Callable[[], str]
    normalize_text: Callable[[str], str]
    bodies: BodyReader
    slots: AudioSlots
    state: ServerState

    async def create(self, request: Request, send: Send) -> None:
        """Answers POST /v1/audio/speech."""
        self.state.check()
        fields = await self.bodies.fields(request, self._fields())
        sentences = [sentence async for sentence in sentences_of(single(fields["input"]))]
        if not sentences:
            raise ApiError(400, "invalid_value", "input has no words to speak", "input")
        self._check_script(fields["input"])
        with self.slots.take_slot():
            await unless_client_leaves(request, self.state, self._answer(send, fields, sentences))

    def _check_script(self, text: str) -> None:
        """Raises ApiError if the voice can speak nothing of the text."""
        if foreign := foreign_script(text, self.language()):
            raise ApiError(400, "invalid_value", f"input {foreign}", "input")

    def _fields(self) -> Table:
        own = tuple(filter(None, (self.voice().name, self.configured_voice())))
        return {
            "input": Field(text(min_chars=1, max_chars=MAX_INPUT_CHARS), required=True),
            "model": Field(model_named(OPENAI_SPEECH, own[0])),
            "voice": Field(voice_named(own)),
            "instructions": Field(hint(TEXT)),  # the voice has one manner
            "response_format": Field(one_of(*_CONTENT_TYPES)),
            "speed": Field(number(0.25, 4)),
            "stream_format": Field(one_of("audio", "sse")),
        }

    async def _answer(self, send: Send, fields: dict[str, Any], sentences: list[str]) -> None:
        sound = self._sound(sentences, fields.get("speed", 1.0))
        form = fields.get("response_format", "mp3")
        match form:
            case "pcm":
                parts = _raw(sound)
            case "wav":
                parts = _with_header(sound)
            case _:
                parts = _encoded(sound, form)
        used = {MODEL_HEADER: self.voice().name, VOICE_HEADER: self.configured_voice() or self.voice().name}
        if fields.get("stream_format") == "sse":
            await stream(send, "text/event-stream", _events(parts), used)
        else:
            await stream(send, _CONTENT_TYPES[form], parts, used)

    async def _sound(self, sentences: list[str], speed: float) -> AsyncGenerator[Pcm]:
        """Yields the sound of the sentences. Raises ApiError if the voice fails, once it was loaded again."""
        loop = asyncio.get_running_loop()
        began_s, made_s = loop.time(), 0.0
        synthesis = TextSynthesis(self.voice, self.normalize_text, speed)
        for sentence in sentences:
            while self.state.in_conversation and made_s > loop.time() - began_s + AHEAD_S:  # noqa: ASYNC110 - a pace
                await asyncio.sleep(WAIT_STEP_S)
            await self.state.give_way()
            try:
                async with aclosing(synthesis.sound(sentence)) as sound:
                    async for pcm in sound:
                        made_s += s_of_reply_samples(pcm.size)
                        yield pcm
            except SynthesisError as error:
                raise ApiError(503, "voice_failed", str(error)) from error


async def _raw(sound: AsyncGenerator[Pcm]) -> AsyncGenerator[bytes]:
    async with aclosing(sound):
        async for pcm in sound:
            yield pcm.astype("<i2").tobytes()


async def _with_header(sound: AsyncGenerator[Pcm]) -> AsyncGenerator[bytes]:
    """Yields a WAV file of unknown length, as programs write into a pipe."""
    first = True
    async with aclosing(_raw(sound)) as parts:
        async for part in parts:
            yield wav_header() + part if first else part
            first = False


async def _encoded(sound: AsyncGenerator[Pcm], form: FileFormat) -> AsyncGenerator[bytes]:
    """Yields a file as it is made. The codec computes in a thread; it takes 2 % of the length of the sound."""
    encoder = await asyncio.to_thread(StreamEncoder, form)
    async with aclosing(sound):
        async for pcm in sound:
            if part := await asyncio.to_thread(encoder.encode, pcm):
                yield part
    if part := await asyncio.to_thread(encoder.finish):
        yield part


def wav_header() -> bytes:
    """Returns the header of a WAV file of unknown length: 16 bit, mono, at the rate of replies."""
    form = struct.pack("<HHIIHH", 1, 1, REPLY_RATE_HZ, 2 * REPLY_RATE_HZ, 2, 16)
    riff = b"RIFF" + struct.pack("<I", _LENGTH_UNKNOWN) + b"WAVE"
    return riff + b"fmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", _LENGTH_UNKNOWN)


async def _events(parts: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    begun = False
    async with aclosing(parts):
        try:
            async for part in parts:
                begun = True
                yield sse({"type": "speech.audio.delta", "audio": base64.b64encode(part).decode()})
        except ApiError as error:
            if not begun:
                raise
            yield sse({"type": "error", **error.body})
            return
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    yield sse({"type": "speech.audio.done", "usage": usage})
