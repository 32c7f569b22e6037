"""One client of the Wyoming server: reads its events and runs its requests, one after another.

    request                          sound or text after it              answer
    describe                                                             info
    ping                                                                 pong
    transcribe, or nothing           audio-start, -chunk …, -stop        transcript-start, -chunk …, transcript, -stop
    synthesize                                                           audio-start, -chunk …, -stop
    synthesize-start                 synthesize-chunk …, -stop           the same, then synthesize-stopped
    transcript, recognize                                                handled-start, -chunk …, handled, handled-stop
    detect                           audio-start, -chunk …, -stop        detection …, not-detected
    –                                audio-chunk …, audio-stop           voice-started, voice-stopped, …

Sound without a request tells by `audio-start` that it is to be recognized, as the protocol's event flow has it.
Other events are ignored, as the protocol demands. An `error` ends the connection.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.event import Event
from wyoming.info import Describe
from wyoming.intent import Recognize
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop
from wyoming.wake import Detect

from assistant.setup.conversation.chosen_engines import EngineChoices
from audio.units import Pcm
from web.limits.session_acceptor import SessionAcceptor
from web.limits.session_limits import LOADING, AudioThrottle, SessionRefusedError
from web.wyoming.description import Descriptions
from web.wyoming.detection import Detectors
from web.wyoming.events import MAX_LINE_BYTES, ClientGoneError, EventWriter, FramingError, WyomingError, read_event
from web.wyoming.handling import Question, TextConversations, not_handled
from web.wyoming.sound_input import SoundInput
from web.wyoming.synthesis import TextStream, VoiceWish, synthesize
from web.wyoming.transcription import Transcription, TranscriptionWish

IDLE_TIMEOUT_S = 600.0
"""A client that sends nothing for this long, and waits for nothing, is disconnected."""
SOUND_TIMEOUT_S = 30.0
"""Time limit for the next event of a client that sends speech: it keeps a slot."""
TEXT_TIMEOUT_S = 120.0
"""Time limit for the next event of a client that streams text: a language model may call tools in between."""
EVENTS_PER_S, EVENT_BURST_S = 20, 3.0
"""Events of one client that are processed a second, and the seconds that they may be ahead; sound and text that is
streamed is not counted. A client that sends more waits."""
STREAMED = frozenset({AudioChunk(0, 0, 0, b"").event().type, SynthesizeChunk("").event().type})

LINGER_S = 5.0
"""Time limit for a refused client to disconnect."""
LOADING_TIMEOUT_S = 30.0
"""Longest wait for the engines. Clients that start with the server would otherwise give up."""
LOADING_STEP_S = 0.1

_log = logging.getLogger(__name__)

T = TypeVar("T")


class SoundRequest(Protocol):
    """A request that takes sound.

    Attributes:
        takes_slot: Whether it keeps a slot, so that sound must keep coming.
    """

    takes_slot: ClassVar[bool]

    async def take(self, pcm: Pcm) -> None:
        """Takes the next sound. Raises WyomingError."""
        ...

    async def finish(self) -> None:
        """Answers: the sound is complete. Raises WyomingError, ClientGoneError."""
        ...

    async def aclose(self) -> None:
        """Drops the request. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class WyomingParts:
    """The parts of the server that requests need.

    Attributes:
        choices: The engines.
        acceptor: Limits the requests that are worked on at a time.
        conversations: Answers texts.
        detectors: Listens for wake words and voices.
        descriptions: Describes the server.
    """

    choices: EngineChoices
    acceptor: SessionAcceptor
    conversations: TextConversations
    detectors: Detectors
    descriptions: Descriptions


@dataclass(slots=True)
class WyomingConnection:
    """The connection of one client."""

    parts: WyomingParts
    reader: asyncio.StreamReader
    writer: EventWriter
    _tasks: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    _throttle: AudioThrottle = field(default_factory=lambda: AudioThrottle(EVENTS_PER_S, EVENT_BURST_S, 1.0))
    _input: SoundInput = field(default_factory=SoundInput)
    _sound: SoundRequest | None = None  # takes the sound that arrives
    _slot: AsyncExitStack = field(default_factory=AsyncExitStack)  # of the request that takes sound
    _text: TextStream | None = None  # takes the text that arrives
    _work: asyncio.Task[None] | None = None  # a request whose answer is being sent
    _handlers: dict[str, Callable[[Event], Awaitable[None]]] = field(init=False)

    def __post_init__(self) -> None:
        self._handlers = {
            Describe().event().type: self._describe,
            Ping().event().type: self._ping,
            Transcribe().event().type: self._transcribe,
            AudioStart(0, 0, 0).event().type: self._audio_start,
            AudioChunk(0, 0, 0, b"").event().type: self._audio_chunk,
            AudioStop().event().type: self._audio_stop,
            Transcript("").event().type: self._transcript,
            Recognize("").event().type: self._recognize,
            Detect().event().type: self._detect,
            Synthesize("").event().type: self._synthesize,
            SynthesizeStart().event().type: self._synthesize_start,
            SynthesizeChunk("").event().type: self._synthesize_chunk,
            SynthesizeStop().event().type: self._synthesize_stop,
        }

    @property
    def idle(self) -> bool:
        """Whether no request is in progress."""
        return self._sound is None and self._text is None and self._work is None

    async def run(self) -> None:
        """Serves the client until it disconnects, or breaks the protocol."""
        try:
            async with self._tasks:
                try:
                    await self._serve()
                finally:
                    await self._drop_sound()
                    if self._work is not None:
                        self._work.cancel()
        except* ClientGoneError:
            pass

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while (event := await self._next_event()) is not None:
                handle = self._handlers.get(event.type)
                if handle is not None:
                    await handle(event)
                await asyncio.sleep(0 if event.type in STREAMED else self._throttle.wait_s(1, loop.time()))
            if self._text is None and self._work is not None:  # a client may stop sending and still read
                await self._work
        except WyomingError as error:
            await self._refuse(error)
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001 - the client is told, as for a request that fails later
            await self._refuse(_internal(error))

    async def _refuse(self, error: WyomingError) -> None:
        """Drops the requests that are not complete, and ends the connection with a reason."""
        await self._drop_sound()
        self._drop_text()
        await self.writer.fail(error)
        await self._ignore_rest()

    async def _ignore_rest(self) -> None:
        """Reads what a refused client still sends: closing the connection earlier would lose the reason."""
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(LINGER_S):
                while await self.reader.read(MAX_LINE_BYTES):
                    pass

    async def _next_event(self) -> Event | None:
        """Returns the next event; None when there is none in time or any more. Raises FramingError."""
        while True:
            limit_s = self._time_limit_s
            try:
                async with asyncio.timeout(limit_s):
                    return await read_event(self.reader)
            except TimeoutError:
                if limit_s != IDLE_TIMEOUT_S:
                    raise FramingError(f"the request was not completed: nothing came for {limit_s:g} s") from None
                if self._work is None:
                    return None
                await self._work

    @property
    def _time_limit_s(self) -> float:
        """The time limit for the next event."""
        if self._sound is not None and self._sound.takes_slot:
            return SOUND_TIMEOUT_S
        return IDLE_TIMEOUT_S if self._text is None else TEXT_TIMEOUT_S

    # ---- requests without sound ----

    async def _describe(self, _event: Event) -> None:
        await self._wait_until_ready()
        await self.writer.send(await self.parts.descriptions.info())

    async def _ping(self, event: Event) -> None:
        text = Ping.from_event(event).text
        await self.writer.send(Pong(text if isinstance(text, str) else None))

    async def _wait_until_ready(self) -> None:
        """Waits while the engines are loading, up to a limit. Raises WyomingError."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + LOADING_TIMEOUT_S
        while (notice := self.parts.acceptor.refusing()) is LOADING:
            if loop.time() > until_s:
                raise WyomingError(notice.code, notice.message)
            await asyncio.sleep(LOADING_STEP_S)

    async def _admit(self, slot: AsyncExitStack) -> None:
        """Takes a slot. Raises WyomingError."""
        try:
            await slot.enter_async_context(self.parts.acceptor.visit())
        except SessionRefusedError as error:
            raise WyomingError(error.close_notice.code, error.close_notice.message) from error

    async def _begin_work(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Answers a request while further events are read, after the request before is answered."""
        if self._work is not None:
            await self._work
        self._work = self._tasks.create_task(self._answer(work), name="request")

    async def _answer(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        failure: WyomingError | None = None
        try:
            await work()
        except WyomingError as error:
            failure = error
        except ClientGoneError:
            return
        except Exception as error:  # noqa: BLE001 - one request must not end the others
            failure = _internal(error)
        finally:
            self._work = None
        if failure is not None:
            await self.writer.fail(failure)

    # ---- requests with sound ----

    async def _transcribe(self, event: Event) -> None:
        await self._drop_sound()
        await self._wait_until_ready()
        await self._begin_speech(TranscriptionWish.of(self.parts.choices, _parsed(Transcribe.from_event, event)))

    async def _begin_speech(self, wish: TranscriptionWish) -> None:
        """Begins to recognize the sound that follows."""
        if self._work is not None:
            await self._work
        await self._admit(self._slot)
        self._input = SoundInput()
        self._sound = await Transcription.begin(self.parts.choices, wish, self.writer, self._tasks)

    async def _audio_start(self, event: Event) -> None:
        if self._sound is None:
            await self._wait_until_ready()
            await self._begin_speech(TranscriptionWish())
        self._input.begin(event)

    async def _audio_chunk(self, event: Event) -> None:
        if self._sound is None:
            await self._begin_voices()
        assert self._sound is not None
        for pcm in self._input.chunk(event):
            await self._sound.take(pcm)

    async def _begin_voices(self) -> None:
        """Begins to report the voices of sound without a request and without `audio-start`."""
        await self._wait_until_ready()
        self._input = SoundInput()
        self._sound = self.parts.detectors.voices(self.writer, self._input)

    async def _detect(self, event: Event) -> None:
        await self._drop_sound()
        await self._wait_until_ready()
        request = _parsed(Detect.from_event, event)
        self._input = SoundInput()
        self._sound = await self.parts.detectors.wake_words(request, self.writer, self._input)

    async def _audio_stop(self, _event: Event) -> None:
        sound, slot = self._sound, self._slot
        if sound is None:
            return
        self._sound, self._slot = None, AsyncExitStack()
        rest = self._input.end()

        async def finish() -> None:
            try:
                await sound.take(rest)
                await sound.finish()
            finally:
                await sound.aclose()
                await slot.aclose()

        await self._begin_work(finish)

    async def _drop_sound(self) -> None:
        """Drops a request whose sound is not complete."""
        sound, self._sound = self._sound, None
        if sound is not None:
            await sound.aclose()
        await self._slot.aclose()

    # ---- conversations ----

    async def _transcript(self, event: Event) -> None:
        request = _parsed(Transcript.from_event, event)
        await self._handle(Question.of(request.text, request.language, request.context))

    async def _recognize(self, event: Event) -> None:
        request = _parsed(Recognize.from_event, event)
        await self._handle(Question.of(request.text, None, request.context, is_recognize=True))

    async def _handle(self, question: Question) -> None:
        await self._wait_until_ready()

        async def handle() -> None:
            if question.text:
                await self.parts.conversations.handle(question, self.writer)
            else:
                await self.writer.send(not_handled(question, ""))

        await self._begin_work(handle)

    # ---- text to speech ----

    async def _synthesize(self, event: Event) -> None:
        if self._text is not None:
            return  # the whole of a text that is being streamed, for servers that cannot stream
        request = _parsed(Synthesize.from_event, event)
        text = TextStream()
        await text.add_text(_text_of(request.text))
        await text.end()
        await self._speak(text, request, streamed=False)

    async def _synthesize_start(self, event: Event) -> None:
        request = _parsed(SynthesizeStart.from_event, event)
        await self._end_text()
        text = TextStream()
        await self._speak(text, request, streamed=True)
        self._text = text

    async def _synthesize_chunk(self, event: Event) -> None:
        if self._text is not None:
            await self._text.add_text(_text_of(event.data.get("text")))

    async def _synthesize_stop(self, _event: Event) -> None:
        await self._end_text()

    async def _end_text(self) -> None:
        text, self._text = self._text, None
        if text is not None:
            await text.end()

    def _drop_text(self) -> None:
        """Drops a request whose text is not complete."""
        text, self._text = self._text, None
        if text is not None and self._work is not None:
            self._work.cancel()

    async def _speak(self, text: TextStream, request: Synthesize | SynthesizeStart, *, streamed: bool) -> None:
        """Begins to answer a request with the sound of a text."""
        await self._wait_until_ready()
        choices = self.parts.choices
        wish = VoiceWish.of(choices, request.voice, request.text_format)

        async def speak() -> None:
            try:
                async with AsyncExitStack() as slot:
                    await self._admit(slot)
                    await synthesize(choices, wish, text, self.writer, self._tasks, streamed=streamed)
            finally:
                text.close()

        await self._begin_work(speak)


def _internal(error: Exception) -> WyomingError:
    """Logs an unexpected error. Returns what the client is told."""
    _log.error("a Wyoming request failed", exc_info=error)
    return WyomingError("internal_error", "the request failed; see the server's log")


def _text_of(value: object) -> str:
    """Returns the text of an event. Raises WyomingError."""
    if not isinstance(value, str):
        raise WyomingError("invalid_value", "text must be a text")
    return value


def _parsed(parse: Callable[[Event], T], event: Event) -> T:
    """Parses an event by the library. Raises WyomingError."""
    try:
        return parse(event)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise WyomingError("invalid_event", f"fields of {event.type[:32]} are missing or wrong") from None
