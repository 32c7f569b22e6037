"""GET /v1/repartee/voice-sample: one short sentence in a voice, a language and at a speed."""

import io
import wave
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

from assistant.setup.conversation.chosen_engines import EngineChoices
from assistant.setup.conversation.engine_options import base_of
from audio.errors import EngineLoadError, TtsError
from audio.tts import Voice
from audio.units import REPLY_RATE_HZ, Pcm
from web.http_api.errors import ApiError
from web.http_api.serving import AudioSlots, ServerState, respond, unless_client_leaves
from web.wire.incoming.session_fields import SPEED
from web.wire.values.fields import listed

PATH = "/v1/repartee/voice-sample"

MAX_SAMPLES = 2
"""Samples that are synthesized at a time."""

MAX_S = 15.0
"""Longest sample. The sentences take three seconds."""

SENTENCES = {
    "ar": "مرحبا، هكذا يبدو صوتي.",
    "cs": "Dobrý den, takto zní můj hlas.",
    "da": "Hej, sådan lyder min stemme.",
    "de": "Hallo, so klingt meine Stimme.",
    "el": "Γεια σας, έτσι ακούγεται η φωνή μου.",
    "en": "Hello, this is how my voice sounds.",
    "es": "Hola, así suena mi voz.",
    "fi": "Hei, tältä ääneni kuulostaa.",
    "fr": "Bonjour, voici le son de ma voix.",
    "hi": "नमस्ते, मेरी आवाज़ ऐसी है।",
    "hu": "Üdvözlöm, így szól a hangom.",
    "it": "Ciao, questa è la mia voce.",
    "ja": "こんにちは、これが私の声です。",
    "ko": "안녕하세요, 제 목소리는 이렇습니다.",
    "nl": "Hallo, zo klinkt mijn stem.",
    "no": "Hei, slik høres stemmen min ut.",
    "pl": "Dzień dobry, tak brzmi mój głos.",
    "pt": "Olá, é assim que soa a minha voz.",
    "ro": "Bună ziua, așa sună vocea mea.",
    "ru": "Здравствуйте, так звучит мой голос.",
    "sv": "Hej, så här låter min röst.",
    "tr": "Merhaba, sesim böyle.",
    "uk": "Добрий день, так звучить мій голос.",
    "zh": "你好，这是我的声音。",
}  # fmt: skip
"""By language; English for others."""


@dataclass(frozen=True, slots=True)
class VoiceSample:
    """Speaks the sentence.

    Attributes:
        choices: The engines that clients may choose.
        slots: Limits the samples at a time.
        state: Whether the server takes requests.
    """

    choices: EngineChoices
    slots: AudioSlots
    state: ServerState

    async def get(self, request: Request, send: Send) -> None:
        """Answers GET /v1/repartee/voice-sample."""
        self.state.check()
        voice, language, speed = self._requested_voice(request)
        with self.slots.take_slot():
            await unless_client_leaves(request, self.state, self._answer(request, send, voice, language, speed))

    def _requested_voice(self, request: Request) -> tuple[str, str, float]:
        """Returns voice, language and speed. Raises ApiError for a wrong one, by its name."""
        query, options = request.query_params, self.choices.options()
        own = base_of(self.choices.loader.settings.assistant.language)
        language = base_of(query.get("language", own))
        if language != own and language not in options.languages:
            raise _wrong("language", "is not a language of this server", listed(options.languages or (own,)))
        voice = query.get("voice", "")
        own_voice = (self.choices.default_voice,) if language == own else ()
        allowed = tuple(dict.fromkeys((*options.voices_of(language), *own_voice)))
        if voice and voice not in allowed:
            raise _wrong("voice", f"is not a voice of this server for {language!r}", listed(allowed) or "none")
        try:
            speed = float(query.get("speed", "1"))
        except ValueError:
            speed = 0.0
        if not SPEED[0] <= speed <= SPEED[1]:
            raise _wrong("speed", "is out of range", f"{SPEED[0]:g} to {SPEED[1]:g}")
        return voice, language, speed

    async def _answer(self, request: Request, send: Send, name: str, language: str, speed: float) -> None:
        await self.state.give_way()
        try:
            async with self.choices.voice(name, language) as (voice, normalized):
                text = normalized(SENTENCES.get(language, SENTENCES["en"]))
                sound = await _spoken(voice, text, speed)
        except (EngineLoadError, TtsError) as error:
            raise ApiError(503, "voice_failed", f"this voice cannot speak: {error}", "voice") from error
        await respond(request, Response(_wav(sound), media_type="audio/wav"), send)


async def _spoken(voice: Voice, text: str, speed: float) -> Pcm:
    """Returns the sound of the text, at most `MAX_S` of it. Raises TtsError."""
    parts: list[Pcm] = []
    left = int(MAX_S * REPLY_RATE_HZ)
    async with aclosing(voice.speak(text, speed)) as chunks:
        async for chunk in chunks:
            parts.append(chunk.pcm[:left])
            left -= len(parts[-1])
            if left <= 0:
                break
    return np.concatenate(parts) if parts else np.zeros(0, np.int16)


def _wav(pcm: Pcm) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(REPLY_RATE_HZ)
        writer.writeframes(pcm.astype("<i2").tobytes())
    return file.getvalue()


def _wrong(name: str, what: str, allowed: str) -> ApiError:
    return ApiError(400, "invalid_value", f"{name} {what}; allowed: {allowed}", name)
