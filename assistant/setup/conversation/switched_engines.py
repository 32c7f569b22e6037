"""The engines of one conversation, which its client may change while it runs."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Generic, TypeVar

from assistant.pipeline.change_gate import ChangeGate
from assistant.pipeline.engines import Engines
from audio.stt import (
    LanguageDetector,
    ModelRecognizer,
    PromptedRecognizer,
    RecognitionStream,
    Recognizer,
    SegmentId,
    TokenProbability,
    TokenRecognizer,
    Transcript,
)
from audio.time_limit import ends_requests
from audio.tts import Chunk, Voice
from audio.tts.relief_voice import relief_of
from llm.chat import PLAIN, ChatEvent, ChatModel, ChatOptions, Message

Engine = TypeVar("Engine", bound=Recognizer | Voice | ChatModel)


class SwitchedEngines:
    """Engines whose recognizer, voice and language model can be replaced.

    Attributes:
        first: The engines with which the conversation began.
        first_effect_of: See `SkillEffects`; that of the first engines.
        current: The engines in use.
        gate: Holds the replies to be made while `current` is about to change.
        engines: What the conversation uses: each part passes its calls on to the part in use.
    """

    def __init__(self, first: Engines) -> None:
        self.first = self.current = first
        self.first_effect_of = first.skill_effects.effect_of
        self.gate = first.change
        self.engines = replace(
            first,
            recognizer=_SwitchedRecognizer(lambda: self.current.recognizer),
            model=_SwitchedModel(lambda: self.current.model, self.gate),
            voice=_SwitchedVoice(lambda: self.current.voice),
            normalize_text=self._normalized,
            is_known_sentence=self._is_known_sentence,
            warm_connections=None if first.warm_connections is None else self._warm,
            on_answer_heard=self._on_answer_heard,
            summarizer=None if first.summarizer is None else _SwitchedModel(self._summarizer),
            direct_model=_SwitchedModel(lambda: self.current.direct_model or self.current.model, self.gate),
        )

    def _normalized(self, text: str) -> str:
        return self.current.normalize_text(text)

    def _is_known_sentence(self, text: str) -> bool:
        return self.current.is_known_sentence(text)

    def _on_answer_heard(self, messages: Sequence[Message]) -> None:
        self.current.on_answer_heard(messages)

    async def _warm(self) -> None:
        if self.current.warm_connections is not None:
            await self.current.warm_connections()

    def _summarizer(self) -> ChatModel:
        summarizer = self.current.summarizer or self.first.summarizer
        assert summarizer is not None
        return summarizer


class _Switched(Generic[Engine]):
    """Passes the calls that all engines have on to the engine in use.

    Args:
        current: Returns the engine in use.
    """

    def __init__(self, current: Callable[[], Engine]) -> None:
        self._current: Callable[[], Engine] = current

    @property
    def name(self) -> str:
        return self._current().name

    @name.setter
    def name(self, _name: str) -> None:
        raise AttributeError("the name is that of the engine in use")

    @property
    def detail(self) -> str:
        return self._current().detail

    async def load(self) -> None:
        await self._current().load()

    async def aclose(self) -> None:
        await self._current().aclose()

    @property
    def ends_requests(self) -> bool:
        return ends_requests(self._current())


class _SwitchedRecognizer(_Switched[Recognizer]):
    """Implements `Recognizer`, `TokenRecognizer`, `PromptedRecognizer`, `LanguageDetector` and `ModelRecognizer`."""

    @property
    def model(self) -> str:
        recognizer = self._current()
        return recognizer.model if isinstance(recognizer, ModelRecognizer) else ""

    @property
    def works(self) -> bool:
        return self._current().works

    def open(self, segment: SegmentId, on_interim: Callable[[Transcript], None]) -> RecognitionStream:
        return self._current().open(segment, on_interim)

    def keep_tokens(self, *, enabled: bool, timed: bool = False) -> None:
        recognizer = self._current()
        if isinstance(recognizer, TokenRecognizer):
            recognizer.keep_tokens(enabled=enabled, timed=timed)

    def tokens_of(self, text: str) -> tuple[TokenProbability, ...] | None:
        recognizer = self._current()
        return recognizer.tokens_of(text) if isinstance(recognizer, TokenRecognizer) else None

    def set_prompt(self, text: str) -> None:
        recognizer = self._current()
        if isinstance(recognizer, PromptedRecognizer):
            recognizer.set_prompt(text)

    @property
    def other_language(self) -> str:
        recognizer = self._current()
        return recognizer.other_language if isinstance(recognizer, LanguageDetector) else ""

    def reset(self) -> bool:
        return self._current().reset()


class _SwitchedVoice(_Switched[Voice]):
    """Implements `Voice`."""

    @property
    def relief(self) -> str:
        return relief_of(self._current())

    def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        return self._current().speak(text, speed, ahead_s)


class _SwitchedModel(_Switched[ChatModel]):
    """Implements `ChatModel`. `gate`: holds its requests during a change; None: nothing does."""

    def __init__(self, current: Callable[[], ChatModel], gate: ChangeGate | None = None) -> None:
        super().__init__(current)
        self._gate = gate

    def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        if self._gate is None or self._gate.is_open:
            return self._current().stream(messages, options)
        return self._stream_after_change(self._gate, messages, options)

    async def _stream_after_change(
        self, gate: ChangeGate, messages: Sequence[Message], options: ChatOptions
    ) -> AsyncGenerator[ChatEvent]:
        await gate.pass_through()
        async with aclosing(self._current().stream(messages, options)) as events:
            async for event in events:
                yield event
