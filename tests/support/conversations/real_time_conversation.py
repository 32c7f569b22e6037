"""Real-time conversations: any engines around the real session, many conversations on one loop."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soundfile
from support.conversations.simulation import (
    NOON,
    LoudnessVad,
    ScriptedMicrophone,
    ScriptedRecognizer,
    ScriptedVoice,
    SimulationResult,
    Utterance,
)

from assistant.events import SessionEvent
from assistant.history.history import History
from assistant.pipeline.engines import Engines, SessionSettings
from assistant.pipeline.recorder import Recorder
from assistant.pipeline.session import Session
from assistant.skills.effects import SkillEffects
from assistant.trace.record import TurnRecord
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from audio.microphone import Microphone
from audio.speaker import WavSpeaker
from audio.units import MIC_RATE_HZ, Pcm
from llm.chat import ChatModel

RECORDINGS = Path(__file__).parents[2] / "recordings"
WHAT_TIME = RECORDINGS / "rhasspy3_what-time-is-it.wav"
"""2 s; "what time is it" is said from 0.7 to 1.6 s."""


@dataclass(slots=True)
class RealTimeConversation:
    """A conversation to run.

    Attributes:
        actions: (seconds after the start, action).
    """

    microphone: Microphone
    engines: Engines
    turns: TurnSettings = field(default_factory=TurnSettings)
    settings: SessionSettings = field(default_factory=SessionSettings)
    keep_words: bool = True
    actions: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    async def run(self) -> SimulationResult:
        """Runs the conversation until the microphone ends and the last reply was played."""
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        events: list[tuple[int, SessionEvent]] = []
        records: list[TurnRecord] = []
        sound: list[tuple[float, Pcm]] = []
        speaker = WavSpeaker(lambda at_s, pcm: sound.append((at_s * 1000, pcm.copy())))

        def show(event: SessionEvent) -> None:
            events.append((round((loop.time() - start_s) * 1000), event))

        recorder = Recorder(
            conversation_id="real-time",
            started_at="2026-01-01T00:00:00+00:00",
            salt=b"salt",
            engines={"vad": self.engines.vad.name, "stt": self.engines.recognizer.name},
            fallbacks=[],
            keep_words=self.keep_words,
            speech_end_bias_ms=self.engines.vad.end_bias_ms,
            counters=lambda: {"underruns": speaker.counts.underruns},
            write=records.append,
            on_event=show,
        )
        conversation = History("Be brief.", 20)
        session = Session(
            self.microphone,
            speaker,
            self.engines,
            TurnTaking(self.turns),
            conversation,
            recorder,
            self.settings,
            show,
        )
        for at_s, do in self.actions:
            loop.call_at(start_s + at_s, do)
        await session.run()
        return SimulationResult(events, records, sound, conversation)


def scripted(
    utterances: list[Utterance],
    length_ms: int,
    model: ChatModel,
    turns: TurnSettings,
    effects: SkillEffects | None = None,
) -> RealTimeConversation:
    """Returns a conversation with scripted user, VAD, recognizer and voice, and a real model."""
    effects = effects or SkillEffects(lambda _messages: None, lambda: NOON)
    recognizer, spare = ScriptedRecognizer(utterances), LoudnessVad("spare")
    engines = Engines(LoudnessVad(), spare, recognizer, model, ScriptedVoice(), effects)
    return RealTimeConversation(ScriptedMicrophone(utterances, length_ms), engines, turns, keep_words=False)


def question_twice(path: Path, between_s: float) -> Path:
    """Writes a recording of the question for the time, and again `between_s` after the end of the first."""
    clip, rate_hz = soundfile.read(WHAT_TIME, dtype="int16")
    assert rate_hz == MIC_RATE_HZ
    pause = np.zeros(round(between_s * rate_hz), np.int16)
    soundfile.write(path, np.concatenate((clip, pause, clip)), rate_hz)
    return path


def bare_environment() -> Mapping[str, str]:
    """Returns this process's environment without settings of the program."""
    return {name: value for name, value in os.environ.items() if not name.startswith("REPARTEE_")}
