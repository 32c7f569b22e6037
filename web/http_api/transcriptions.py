"""POST /v1/audio/transcriptions: a recording in, its words out, by the recognizer of the conversations."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Send

from assistant.pipeline.missing_engines import NoRecognizer
from audio.errors import AudioFileError, EngineError, EngineLoadError
from audio.formats.upload_decoder import TooLongError, decoded
from audio.stt import PromptedRecognizer, Recognizer, TokenRecognizer
from audio.units import s_of_samples
from web.client_audio.recording_segments import CUT_FROM_S, SEGMENT_S, cut, segment_words
from web.http_api.bodies import BodyReader, Form, checked_fields
from web.http_api.engine_names import MODEL_HEADER, OPENAI_TRANSCRIPTION, model_named
from web.http_api.errors import ApiError
from web.http_api.serving import AudioSlots, ServerState, respond, sse, stream, unless_client_leaves
from web.http_api.subtitles import srt, vtt
from web.session.session_update import logprobs_of
from web.wire.incoming.transcription_fields import MAX_KEYWORD_CHARS, MAX_KEYWORDS, MAX_PROMPT_CHARS
from web.wire.items.items import JsonObject
from web.wire.values.fields import (
    Field,
    FieldError,
    listing,
    missing_here,
    not_supported,
    number,
    one_of,
    text,
    wrong_value,
)

_EDGE = re.compile(r"^[^\w]+|[^\w]+$")
"""Punctuation around a word, which OpenAI's service leaves out."""


MAX_AUDIO_S = 1800
"""Longest recording."""

LOAD_TIMEOUT_S = 60.0

CUE_S = 6.0
"""Longest segment of subtitles: 14 s of text are too much at once. Shorter segments are recognized a little worse."""
CUE_FROM_S = 2.5

_FORMATS = {"diarized_json": "speakers are not told apart; use 'json', 'text', 'verbose_json', 'srt' or 'vtt'"}
_SUBTITLES = {"srt": (srt, "application/x-subrip"), "vtt": (vtt, "text/vtt")}
_STREAMED = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True)
class Segment:
    """A recognized part of a recording.

    Attributes:
        start: First sample.
        end: Sample after the last one.
        text: Its words; "" if there are none.
        logprobs: The probabilities of its tokens, if they were requested and the recognizer knows them.
        words: Its words with their times, if they were requested.
    """

    start: int
    end: int
    text: str
    logprobs: tuple[JsonObject, ...] = ()
    words: tuple[JsonObject, ...] = ()


@dataclass(slots=True)
class _Heard:
    """The segments recognized so far."""

    segments: list[Segment] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(segment.text for segment in self.segments if segment.text)

    @property
    def logprobs(self) -> list[JsonObject]:
        return [token for segment in self.segments for token in segment.logprobs]

    @property
    def words(self) -> list[JsonObject]:
        return [word for segment in self.segments for word in segment.words]

    @property
    def duration_s(self) -> float:
        return s_of_samples(self.segments[-1].end) if self.segments else 0.0

    @property
    def usage(self) -> dict[str, object]:
        return {"type": "duration", "seconds": round(self.duration_s, 3)}


@dataclass(frozen=True, slots=True)
class Transcriptions:
    """Transcribes recordings.

    Attributes:
        recognizer: Returns a recognizer that gives way to conversations.
        recognizer_name: Returns the name of the recognizer, as /v1/models lists it.
        language: Language of the conversations, the only one.
        bodies: Reads the requests.
        slots: Limits the audio requests.
        state: Whether the server takes requests.
    """

    recognizer: Callable[[], Awaitable[Recognizer]]
    recognizer_name: Callable[[], str]
    language: Callable[[], str]
    bodies: BodyReader
    slots: AudioSlots
    state: ServerState

    async def create(self, request: Request, send: Send) -> None:
        """Answers POST /v1/audio/transcriptions."""
        self.state.check()
        form = await self.bodies.form(request)
        fields = self._checked(form)
        if not form.file:
            raise ApiError(400, "missing_required_parameter", "file is missing or empty", "file")
        with self.slots.take_slot():
            await unless_client_leaves(request, self.state, self._answer(request, send, fields, form.file))

    def _checked(self, form: Form) -> dict[str, Any]:
        """Returns the checked fields of the form. Raises ApiError."""
        values: dict[str, object] = {}
        for sent_name, sent in form.fields.items():
            name = sent_name.partition("[")[0]  # lists have "[]" at their end, objects the name of a field
            values[name] = sent if name in _LISTS else {} if name != sent_name.removesuffix("[]") else sent[-1]
        table = {
            "model": Field(model_named(OPENAI_TRANSCRIPTION, self.recognizer_name())),
            "language": Field(self._language),
            "languages": Field(listing(self._language, maximum=8)),
            "response_format": Field(one_of("json", "text", "verbose_json", *_SUBTITLES, unsupported=_FORMATS)),
            "stream": Field(_flag),
            "temperature": Field(_temperature),
            "prompt": Field(text(max_chars=MAX_PROMPT_CHARS)),
            "keywords": Field(listing(text(max_chars=MAX_KEYWORD_CHARS), maximum=MAX_KEYWORDS)),
            "include": Field(listing(one_of("logprobs"), maximum=1)),
            "timestamp_granularities": Field(listing(one_of("word", "segment"), maximum=2)),
            "chunking_strategy": Field(_chunking),
            **dict.fromkeys(_SPEAKERS, Field(missing_here("speakers are not told apart"))),
        }
        fields = checked_fields(values, table)
        try:
            if _wants_words(fields) and fields.get("response_format", "json") != "verbose_json":
                raise not_supported("timestamp_granularities", "words have times only in 'verbose_json'")
            if fields.get("stream") and fields.get("response_format", "json") not in _STREAMABLE:
                raise not_supported("response_format", "with stream only 'json' and 'text'")
        except FieldError as error:
            raise ApiError.of_field(error) from error
        return fields

    def _language(self, value: object, path: str) -> None:
        path = path.partition("[")[0]
        language = str(value).replace("_", "-").lower().partition("-")[0]
        if language != self.language().lower().partition("-")[0]:
            raise not_supported(path, f"this server understands {self.language()!r}; leave it out")

    async def _answer(self, request: Request, send: Send, fields: dict[str, Any], content: bytes) -> None:
        recognizer = await self._loaded()
        if _wants_words(fields) and not isinstance(recognizer, TokenRecognizer):
            await recognizer.aclose()
            message = f"the recognizer {recognizer.name} knows no times of words"
            raise ApiError(400, "not_supported", message, "timestamp_granularities")
        _apply_wishes(recognizer, fields)
        heard = _Heard()
        try:
            limits = (CUE_S, CUE_FROM_S) if fields.get("response_format") in _SUBTITLES else (SEGMENT_S, CUT_FROM_S)
            segments = self._segments(recognizer, content, *limits)
            if fields.get("stream"):
                await stream(send, "text/event-stream", _events(segments, heard), self._headers)
                return
            async with aclosing(segments):
                async for segment in segments:
                    heard.segments.append(segment)
        finally:
            await recognizer.aclose()
        response: Response
        match fields.get("response_format", "json"):
            case "text":
                response = PlainTextResponse(f"{heard.text}\n")
            case "verbose_json":
                response = JSONResponse(self._verbose(heard, fields.get("timestamp_granularities", ("segment",))))
            case "srt" | "vtt" as form:
                write, content_type = _SUBTITLES[form]
                response = Response(write(heard.segments), media_type=content_type)
            case _:
                probabilities = {"logprobs": heard.logprobs} if "include" in fields else {}
                response = JSONResponse({"text": heard.text, **probabilities, "usage": heard.usage})
        response.headers.update(self._headers)
        await respond(request, response, send)

    @property
    def _headers(self) -> dict[str, str]:
        return {MODEL_HEADER: self.recognizer_name()}

    def _verbose(self, heard: _Heard, granularities: Sequence[str]) -> dict[str, object]:
        segments = [
            {
                "id": number,
                "start": round(s_of_samples(segment.start), 3),
                "end": round(s_of_samples(segment.end), 3),
                "text": segment.text,
                **_UNKNOWN,
            }
            for number, segment in enumerate(heard.segments)
        ]
        return {
            "task": "transcribe",
            "language": self.language(),
            "duration": round(heard.duration_s, 3),
            "text": heard.text,
            **({"segments": segments} if "segment" in granularities else {}),
            **({"words": heard.words} if "word" in granularities else {}),
            "usage": heard.usage,
        }

    async def _loaded(self) -> Recognizer:
        """Returns a working recognizer. Raises ApiError."""
        try:
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                recognizer = await self.recognizer()
                if not recognizer.works:
                    await recognizer.load()
        except (EngineLoadError, TimeoutError) as error:
            raise ApiError(
                503,
                "recognizer_failed",
                "the recognizer cannot be loaded; the server's operator can run `repartee doctor`",
            ) from error
        if recognizer.name == NoRecognizer.name:
            raise ApiError(503, "no_recognizer", "this server has no speech recognizer (repartee models pull)")
        return recognizer

    async def _segments(
        self, recognizer: Recognizer, content: bytes, longest_s: float = SEGMENT_S, from_s: float = CUT_FROM_S
    ) -> AsyncGenerator[Segment]:
        """Yields the recognized segments of a recording. Raises ApiError."""
        loop = asyncio.get_running_loop()
        start = 0
        try:
            async with aclosing(cut(decoded(content, MAX_AUDIO_S), longest_s, from_s)) as pieces:
                async for pcm in pieces:
                    await self.state.give_way()
                    began_s = loop.time()
                    words = await segment_words(recognizer, start, pcm)
                    probabilities, times = logprobs_of(recognizer, words) or (), timed_words(recognizer, words, start)
                    yield Segment(start, start + len(pcm), words, tuple(probabilities), times)
                    start += len(pcm)
                    if self.state.in_conversation:  # leaves half of the time to it
                        await asyncio.sleep(loop.time() - began_s)
        except TooLongError as error:
            raise ApiError(413, "audio_too_long", f"file is longer than {MAX_AUDIO_S} s of sound", "file") from error
        except AudioFileError as error:
            raise ApiError(400, "invalid_value", f"file: {error}", "file") from error
        except (EngineError, TimeoutError) as error:
            raise ApiError(503, "recognizer_failed", "the recognizer failed; try again in a moment") from error


def _apply_wishes(recognizer: Recognizer, fields: dict[str, Any]) -> None:
    if isinstance(recognizer, PromptedRecognizer):
        recognizer.set_prompt(". ".join(filter(None, (", ".join(fields.get("keywords", ())), fields.get("prompt")))))
    if isinstance(recognizer, TokenRecognizer):
        timed = _wants_words(fields)
        recognizer.keep_tokens(enabled=timed or "include" in fields, timed=timed)


async def _events(segments: AsyncGenerator[Segment], heard: _Heard) -> AsyncGenerator[bytes]:
    begun = False
    async with aclosing(segments):
        try:
            async for segment in segments:
                before = heard.text
                heard.segments.append(segment)
                if delta := heard.text[len(before) :]:
                    begun = True
                    yield sse({"type": "transcript.text.delta", "delta": delta})
        except ApiError as error:
            if not begun:
                raise
            yield sse({"type": "error", **error.body})
            return
    yield sse({"type": "transcript.text.done", "text": heard.text})


_SPEAKERS = ("known_speaker_names", "known_speaker_references")
_LISTS = frozenset({"include", "timestamp_granularities", "keywords", "languages", *_SPEAKERS})
_STREAMABLE = frozenset({"json", "text"})
_UNKNOWN = {
    "seek": 0,
    "tokens": [],
    "temperature": 0.0,
    "avg_logprob": 0.0,
    "compression_ratio": 1.0,
    "no_speech_prob": 0.0,
}
"""Fields of a segment that the recognizer does not tell, but that clients require."""


def _flag(value: object, path: str) -> bool:
    one_of(*_STREAMED)(value, path)
    return _STREAMED[str(value)]


def _temperature(value: object, path: str) -> None:
    try:
        temperature = float(str(value))
    except ValueError as error:
        raise FieldError("invalid_type", f"{path} must be a number", path) from error
    number(0, 1)(temperature, path)  # the recognizer always takes the likeliest words


def _wants_words(fields: dict[str, Any]) -> bool:
    return "word" in fields.get("timestamp_granularities", ())


def _chunking(value: object, path: str) -> None:
    """Checks `chunking_strategy`: a recording is always cut at its pauses, as with "auto"."""
    if value not in ("auto", {}):
        raise wrong_value(path, "is another word", "'auto' or an object")


def timed_words(recognizer: Recognizer, text: str, start: int) -> tuple[JsonObject, ...]:
    """Returns the words of a recent transcript with their times in s; none if the recognizer has not kept them.

    `start`: first sample of the segment.
    """
    tokens = recognizer.tokens_of(text) if isinstance(recognizer, TokenRecognizer) else None
    words: list[tuple[str, float, float]] = []
    for token in tokens or ():
        if token.start_s is None or token.end_s is None:
            return ()  # a model on a cluster, or times were not requested
        if not words or token.text.startswith(" "):
            words.append((token.text, token.start_s, token.end_s))
        elif _EDGE.sub("", token.text):
            before, start_s, _ = words[-1]
            words[-1] = before + token.text, start_s, token.end_s
    offset_s = s_of_samples(start)
    return tuple(
        {"word": word, "start": round(offset_s + start_s, 3), "end": round(offset_s + end_s, 3)}
        for word_text, start_s, end_s in words
        if (word := _EDGE.sub("", word_text))
    )
