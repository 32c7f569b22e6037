"""Engines for protocol clients: transcripts and answers are scripted, in order, wherever the sound is."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

import pytest
from support.conversations.simulation import NOON, LoudnessVad, ScriptedVoice

from assistant.pipeline.engines import Engines
from assistant.setup.engine_loader import EngineLoader
from assistant.skills.effects import SkillEffects
from audio.errors import BusyError
from audio.stt import RecognitionStream, SegmentId, Transcript
from audio.units import Pcm, Samples
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, FunctionCall, Message, Token

Answer = str | FunctionCall
"""Output of the LLM: words, or a function call."""


SCRIPTED = "scripted recognizer"


@dataclass(slots=True)
class SequenceRecognizer:
    """A recognizer that returns scripted transcripts, one for each utterance, and repeats the last one."""

    transcripts: Sequence[str] = ("what time is it",)
    delay_ms: float = 10.0
    name: str = SCRIPTED
    detail: str = ""
    closed: bool = False
    works: bool = True
    refused: int = 0  # as many transcripts are refused, because others come first
    _heard: dict[SegmentId, str] = field(default_factory=dict)

    async def load(self) -> None:
        pass

    async def aclose(self) -> None:
        self.closed = True

    def reset(self) -> bool:
        return False

    def open(self, segment: SegmentId, on_partial: Callable[[Transcript], None]) -> RecognitionStream:
        return _Stream(segment, self)

    def on_sound(self, segment: SegmentId, pcm: Pcm) -> None:
        """Gets the sound of a segment; the script needs none."""

    def transcript_of(self, segment: SegmentId) -> str:
        return self._heard.setdefault(segment, self.transcripts[min(len(self._heard), len(self.transcripts) - 1)])


@dataclass(slots=True)
class _Stream:
    segment: SegmentId
    recognizer: SequenceRecognizer
    fed: int = 0

    def feed(self, pcm: Pcm) -> None:
        self.fed += len(pcm)
        self.recognizer.on_sound(self.segment, pcm)

    def probability_dip(self) -> None:
        pass

    async def transcript(
        self, speech_end: Samples | None = None, *, early: bool = False, draft: bool = False
    ) -> Transcript:
        await asyncio.sleep(self.recognizer.delay_ms / 1000)
        if self.recognizer.refused and not early and not draft:
            self.recognizer.refused -= 1
            raise BusyError(12, 7.0)
        return Transcript(self.segment, Samples(self.segment + self.fed), self.recognizer.transcript_of(self.segment))

    async def first_word(self) -> None:
        pass

    def close(self) -> None:
        pass

    def cancel(self) -> None:
        pass


@dataclass(slots=True)
class SequenceModel:
    """An LLM that gives scripted answers, one for each request, and repeats the last one."""

    answers: Sequence[Answer | tuple[Answer, ...]] = ("It is ten o'clock. Anything else?",)
    token_ms: float = 5.0
    name: str = "scripted model"
    detail: str = ""
    asked: list[tuple[Message, ...]] = field(default_factory=list)
    options: list[ChatOptions] = field(default_factory=list)
    cancelled: int = 0

    async def load(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        answer = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(tuple(messages))
        self.options.append(options)
        finished = False
        try:
            for part in answer if isinstance(answer, tuple) else (answer,):
                if isinstance(part, FunctionCall):
                    yield part
                    continue
                for number, word in enumerate(part.split(" ")):
                    await asyncio.sleep(self.token_ms / 1000)
                    yield Token(f" {word}" if number else word)
            yield Finished("stop", prompt_tokens=11, completion_tokens=7, cached_tokens=4)
            finished = True
        finally:
            self.cancelled += not finished


def script_recognizer(monkeypatch: pytest.MonkeyPatch, *transcripts: str) -> None:
    """Makes every `EngineLoader` load a `SequenceRecognizer` with these transcripts instead of Whisper."""

    async def make(loader: EngineLoader) -> SequenceRecognizer:
        loader.record_choice("stt", SCRIPTED, "", "as scripted", asyncio.get_running_loop().time())
        return SequenceRecognizer(transcripts)

    monkeypatch.setattr(EngineLoader, "_make_recognizer", make)
    monkeypatch.setattr(EngineLoader, "lacking_recognizer", "")


def engines_of(recognizer: SequenceRecognizer, model: SequenceModel, voice: ScriptedVoice) -> Engines:
    """Returns the engines of one conversation; loud sound is speech."""
    return Engines(
        LoudnessVad(),
        LoudnessVad("spare"),
        recognizer,
        model,
        voice,
        SkillEffects(lambda _messages: None, lambda: NOON),
    )
