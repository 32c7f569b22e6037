"""Real engines that crash, hang or cannot be loaded during a conversation with a recording, in real time."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from support.conversations.real_time_conversation import (
    WHAT_TIME,
    RealTimeConversation,
    bare_environment,
    question_twice,
)
from support.conversations.simulation import SimulationResult, check_stages
from support.engines.scripted_engines import script_recognizer
from support.models.phrase_whisper import phrase_settings
from support.programs.program import repartee

from assistant.commands.demo import demo
from assistant.config.loading import load_settings
from assistant.pipeline.engines import Engines
from assistant.setup.derived_settings import session_settings, turn_settings
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.loading import close_engine
from audio import hang_detection
from audio.formats.recording import open_recording
from audio.formats.wav import WavMicrophone
from audio.tts.espeak.library import EspeakLibrary
from audio.tts.espeak.worker import SHARED
from audio.vad.silero import detector
from audio.vad.silero.network import SileroNetwork

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(200)]

MID_TURN_S = 1.2
"""During the first question, which lasts from 0.7 to 1.6 s."""


@asynccontextmanager
async def engines_of(*overrides: str) -> AsyncGenerator[tuple[Engines, EngineLoader]]:
    """Returns the engines of `repartee demo`. Speech at double rate keeps the tests short."""
    engine_loader = EngineLoader(load_settings(None, {}, ["tts.speed=2", *overrides]).settings, {})
    engines = await engine_loader.engines()
    try:
        yield engines, engine_loader
    finally:
        await close_engine(engines.recognizer, pytest.fail)
        await engine_loader.aclose(pytest.fail)


async def run_conversation(
    recording: Path, at_s: float, action: Callable[[Engines], None], *overrides: str
) -> SimulationResult:
    """Runs a conversation with a recording and a fault."""
    async with engines_of(*overrides) as (engines, engine_loader):
        conversation = RealTimeConversation(
            WavMicrophone(open_recording(recording), tail_s=1.0),
            engines,
            turn_settings(engine_loader.settings, engines.recognizer.name),
            session_settings(engine_loader.settings),
        )
        conversation.actions.append((at_s, lambda: action(engines)))
        result = await conversation.run()
    for record in result.records:
        check_stages(record)
    return result


def check_time_answer(result: SimulationResult, turn: int) -> None:
    """Checks that the question was transcribed and answered correctly."""
    record = result.records[turn - 1]
    assert (record.turn, record.outcome, record.error) == (turn, "answered", None)
    assert record.words is not None
    assert record.words.user == "what time is it"
    assert record.words.assistant.startswith("It's ")
    assert record.words.assistant.endswith("M.")


# Text to speech.


@pytest.mark.calm
def test_hanging_voice_is_replaced_and_its_text_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script_recognizer(monkeypatch, "what time is it")
    monkeypatch.setattr(hang_detection, "BLOCKED_S", 0.6)
    released = threading.Event()

    def hang(_library: EspeakLibrary) -> None:
        released.wait(15)

    def action(_: Engines) -> None:
        SHARED.worker().submit(hang)

    try:
        twice = question_twice(tmp_path / "twice.wav", 2.5)
        result = asyncio.run(run_conversation(twice, MID_TURN_S, action, "tts.engine=espeak-ng"))
    finally:
        released.set()
    assert [record.turn for record in result.records] == [1, 2]
    first = result.records[0]
    assert (first.outcome, first.response_latency_ms) == ("failed", None)
    assert first.error is not None
    assert "0.6 s" in first.error
    assert first.error in result.problems
    assert any(trouble.startswith("not spoken: It's ") for trouble in result.problems)
    assert not any("could not be restarted" in trouble for trouble in result.problems)
    check_time_answer(result, 2)


# Engines that cannot be loaded.


def test_demo_without_silero_model_uses_webrtc_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script_recognizer(monkeypatch, "what time is it")
    monkeypatch.setattr(detector, "shared_network", lambda: SileroNetwork(tmp_path / "gone.onnx"))
    loaded = load_settings(None, {}, ["vad.engine=silero", f"trace.dir={tmp_path / 'traces'}"])
    screen = StringIO()
    asyncio.run(demo(WHAT_TIME, tmp_path / "out", loaded, {}, Console(file=screen, width=200)))
    assert "instead of silero, because Silero VAD's network is missing" in screen.getvalue()
    (line,) = (tmp_path / "out" / "trace.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["outcome"] == "answered"
    assert record["engines"]["vad"] == "webrtc"
    assert any(fallback.startswith("vad: webrtc, instead of silero, because ") for fallback in record["fallbacks"])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ((), "the demo needs speech recognition, but the Whisper model tiny.en is not downloaded; fetch it: repartee "),
        (("assistant.language=de",), "the Whisper model base is not downloaded; fetch it: repartee models pull base"),
        (
            ("assistant.language=de", "stt.model=tiny.en"),
            'the Whisper model tiny.en supports only English: set stt.model = "tiny", then ',
        ),
        ((*phrase_settings(), "tts.voice=no-such-voice"), 'no voice "no-such-voice": set tts.voice'),
        ((*phrase_settings(), "assistant.language=xx"), '"xx"'),
    ],
    ids=["no recognizer", "language without a model", "language of another model", "unknown voice", "unknown language"],
)
def test_engine_that_cannot_be_loaded_gives_a_one_line_error(
    tmp_path: Path, overrides: tuple[str, ...], message: str
) -> None:
    arguments: list[str | Path] = ["demo", "--wav", WHAT_TIME, "--out", "out"]
    for override in overrides:
        arguments += ["--set", override]
    done = repartee(*arguments, cwd=tmp_path, env=bare_environment())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("repartee: ")
    assert message in line
    assert "Traceback" not in done.stdout
