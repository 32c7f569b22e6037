"""The enrolled voices of the page: which there are, another one, and their removal, for this machine only.

    GET  /v1/repartee/voices          their names, and whether the model is there
    POST /v1/repartee/voices/add      makes a voice of a recording and keeps it
    POST /v1/repartee/voices/remove   removes one, or all

A voice lives on the server's machine. The recording is not kept, and no answer has an embedding.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Send

from assistant.enrolment.recording import MAX_RECORD_S, EnrolmentError, SpeechCollector, voiceprint_of
from assistant.enrolment.voice_file import EnrolledVoice, VoiceFile, VoiceFileError, voices_path
from assistant.enrolment.voice_names import VoiceNameError, same_name, voice_name
from assistant.models.needs import installed
from assistant.setup.build import spare_vad
from assistant.support.paths import HomeError
from audio.errors import EngineError, EngineLoadError
from audio.resample import StreamResampler
from audio.speaker_embedding.catalogue import SPEAKER_EMBEDDER
from audio.speaker_embedding.embedder import SpeakerEmbedder
from audio.units import REPLY_RATE_HZ, Pcm
from web.access.body_limits import MAX_VOICE_BYTES, VOICE_ADD_PATH, VOICE_REMOVE_PATH
from web.http_api.bodies import BodyReader
from web.http_api.errors import ApiError
from web.http_api.serving import AudioSlots, Handler, ServerState, respond
from web.page_api.setup import SetupParts
from web.wire.items.sound_field import audio_bytes
from web.wire.values.fields import Field, Table, flag, text
from web.wire.values.session_config import AudioFormat

PATH = "/v1/repartee/voices"

COMMAND = "repartee voices"

Result = TypeVar("Result")


def _sound(value: object, path: str) -> Pcm:
    audio = audio_bytes(value, path, AudioFormat.PCM, MAX_VOICE_BYTES)
    return np.frombuffer(audio, "<i2")[: round(MAX_RECORD_S * REPLY_RATE_HZ)].astype(np.int16)


_NAME = Field(text(max_chars=1000))
_ADD: Table = {
    "name": Field(_NAME.check, required=True),
    "agreed": Field(flag, required=True),
    "audio": Field(_sound, required=True),
}
_REMOVE: Table = {"name": _NAME, "all": Field(flag)}


@dataclass(slots=True)
class PageVoices:
    """Answers the requests. The file is used in a thread.

    Attributes:
        parts: Who may change the server, and where the user's data is.
        bodies: Reads the requests.
        state: Whether the server takes requests.
    """

    parts: SetupParts
    bodies: BodyReader
    state: ServerState
    _slots: AudioSlots = field(default_factory=lambda: AudioSlots(1))
    _file: VoiceFile | None = None

    async def all(self, request: Request, send: Send) -> None:
        """Answers GET: the voices, and whether the model that compares them is there."""
        self._check(request)
        voices = await self._call(self._opened().voices)
        has_model = await asyncio.to_thread(installed, SPEAKER_EMBEDDER) is not None
        focus = self.parts.settings.voice.focus
        body = {"voices": list(map(_described, voices)), "has_model": has_model, "focus": focus}
        await respond(request, JSONResponse(body), send)

    async def add(self, request: Request, send: Send) -> None:
        """Answers POST: keeps the voice of a recording, 24 kHz, to which the person has agreed."""
        self._check(request, changes=True)
        self.state.check()
        with self._slots.take_slot():
            fields = await self.bodies.fields(request, _ADD)
            if not fields["agreed"]:
                raise ApiError(400, "voice_not_agreed", "the person has to agree that the voice is kept", "agreed")
            await self._call(partial(self._add, fields["name"], fields["audio"]))
        await self.all(request, send)

    async def remove(self, request: Request, send: Send) -> None:
        """Answers POST: removes the voice of this name, or `all`."""
        self._check(request, changes=True)
        fields: dict[str, Any] = await self.bodies.fields(request, _REMOVE)
        if ("name" in fields) == bool(fields.get("all")):
            raise ApiError(400, "invalid_value", "name one voice, or all", "name")
        removed = await self._call(partial(self._opened().remove, fields.get("name")))
        if "name" in fields and not removed:
            raise ApiError(404, "voice_not_found", "there is no such voice; it may have been removed")
        await self.all(request, send)

    # ---- private ----

    def _check(self, request: Request, *, changes: bool = False) -> None:
        if problem := self.parts.why_not(request, changes=changes):
            raise ApiError(403, "not_this_machine", f"{problem}; run `{COMMAND}` on the server's machine instead")

    def _opened(self) -> VoiceFile:
        if self._file is None:
            try:
                path = voices_path(self.parts.environ)
            except HomeError as error:
                raise ApiError(503, "voices_unavailable", str(error)) from error
            self._file = VoiceFile(path, lambda: datetime.now(UTC).timestamp())
        return self._file

    def _add(self, typed: str, pcm: Pcm) -> None:
        """Adds a voice; called in a thread. Raises ApiError, and VoiceFileError."""
        file = self._opened()
        try:
            name = voice_name(typed)
            if any(same_name(name, known.name) for known in file.voices()):
                raise ApiError(409, "voice_taken", "there is a voice of this name already; remove it first", "name")
            embedder = SpeakerEmbedder.load(installed(SPEAKER_EMBEDDER))
            collector, resampler = SpeechCollector(spare_vad()), StreamResampler(REPLY_RATE_HZ)
            collector.add_sound(np.concatenate([resampler.push_samples(pcm), resampler.flush()]))
            file.add(voiceprint_of(name, collector.checked_speech(), embedder.embedding))
        except VoiceNameError as error:
            raise ApiError(400, "voice_name_wrong", str(error), "name") from error
        except EnrolmentError as error:
            raise ApiError(400, error.code, str(error), "audio") from error
        except EngineLoadError as error:
            raise ApiError(503, "voice_model_missing", str(error)) from error
        except EngineError as error:
            raise ApiError(503, "voices_unavailable", str(error)) from error

    async def _call(self, call: Callable[[], Result]) -> Result:
        """Uses the file in a thread. Raises ApiError."""
        try:
            return await asyncio.to_thread(call)
        except VoiceFileError as error:
            raise ApiError(503, "voices_unavailable", str(error)) from error


def voice_routes(voices: PageVoices, answered: Callable[[str, Handler], ASGIApp]) -> list[BaseRoute]:
    """Returns the routes. `answered`: makes the endpoint for a method and a handler."""
    return [
        Route(PATH, answered("GET", voices.all)),
        Route(VOICE_ADD_PATH, answered("POST", voices.add)),
        Route(VOICE_REMOVE_PATH, answered("POST", voices.remove)),
    ]


def _described(voice: EnrolledVoice) -> dict[str, object]:
    added_at = datetime.fromtimestamp(voice.added_s, UTC).isoformat(timespec="seconds")
    return {
        "name": voice.name,
        "speech_s": round(voice.voiceprint.speech_s),
        "added_at": added_at,
        "usable": voice.is_usable,
    }
