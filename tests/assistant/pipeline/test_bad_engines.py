"""Real engines that crash, hang or cannot be loaded during a conversation with a recording, in real time."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from program import repartee
from real_time_conversation import WHAT_TIME, RealTimeConversation, bare_environment, question_twice
from rich.console import Console
from simulation import SimulationResult, check_stages

from assistant.commands.demo import demo
from assistant.config.loading import load_settings
from assistant.pipeline.engines import Engines
from assistant.pipeline.reply_manager import RECOGNIZER_FAILED
from assistant.setup.derived_settings import session_settings, turn_settings
from assistant.setup.engine_loader import EngineLoader, close_engine
from audio.recording import open_recording
from audio.stt.pocketsphinx import PocketsphinxRecognizer
from audio.tts.espeak_library import EspeakLibrary
from audio.tts.espeak_worker import SHARED
from audio.vad import silero
from audio.wav import WavMicrophone

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


def pid_of(engines: Engines) -> int:
    assert isinstance(engines.recognizer, PocketsphinxRecognizer)
    return engines.recognizer.pid


def is_running(pid: int) -> bool:
    return pid > 0 and Path(f"/proc/{pid}").exists()


async def run_conversation(
    recording: Path, at_s: float, action: Callable[[Engines], None], *overrides: str
) -> SimulationResult:
    """Runs a conversation with a recording and a fault. Checks that no recognizer process is left."""
    async with engines_of(*overrides) as (engines, engine_loader):
        conversation = RealTimeConversation(
            WavMicrophone(open_recording(recording), tail_s=1.0),
            engines,
            turn_settings(engine_loader.settings, engines.recognizer.name),
            session_settings(engine_loader.settings),
        )
        conversation.actions.append((at_s, lambda: action(engines)))
        result = await conversation.run()
        pid = pid_of(engines)
        assert is_running(pid)
    assert not is_running(pid)
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


# Speech to text.


class EngineProcess:
    """Sends a signal to the recognizer's process and stores its id."""

    def __init__(self, number: signal.Signals) -> None:
        self.pid = 0
        self._number = number

    def __call__(self, engines: Engines) -> None:
        self.pid = pid_of(engines)
        os.kill(self.pid, self._number)

    @property
    def gone(self) -> bool:
        return self.pid > 0 and not is_running(self.pid)


@pytest.mark.calm
@pytest.mark.parametrize(
    "at_s",
    [
        pytest.param(0.2, id="before the turn"),
        pytest.param(MID_TURN_S, id="mid-turn"),
    ],
)
def test_killed_recognizer_is_replaced_and_loses_no_word(tmp_path: Path, at_s: float) -> None:
    """The audio of the turn is kept and transcribed by the new process."""
    process = EngineProcess(signal.SIGKILL)
    # Time for a new process to be there, and for the answer, before the second question is asked.
    result = asyncio.run(
        run_conversation(question_twice(tmp_path / "twice.wav", 5.0), at_s, process, "stt.timeout_s=5")
    )
    assert len(result.records) == 2
    check_time_answer(result, 1)
    check_time_answer(result, 2)
    (trouble,) = result.problems
    assert "pocketsphinx is being restarted" in trouble
    assert process.gone
    errors = [[event.detail for event in record.events if event.name == "error"] for record in result.records]
    assert errors == [[trouble], []]


@pytest.mark.alone
def test_recognizer_that_hangs_mid_turn_times_out(tmp_path: Path) -> None:
    process = EngineProcess(signal.SIGSTOP)
    result = asyncio.run(
        run_conversation(question_twice(tmp_path / "twice.wav", 3.5), MID_TURN_S, process, "stt.timeout_s=0.8")
    )
    assert [record.turn for record in result.records] == [1, 2]
    first = result.records[0]
    assert (first.outcome, first.error) == ("answered", "speech recognition failed")
    assert 790 < first.stages["stt"].ms < 1000
    assert " ".join(result.chunks[:2]) == RECOGNIZER_FAILED
    assert "no answer within 0.8 s" in result.problems[0]
    assert process.gone, "a stopped process is not left behind"
    check_time_answer(result, 2)


# Text to speech.


@pytest.mark.calm
def test_hanging_voice_is_replaced_and_its_text_shown(tmp_path: Path) -> None:
    released = threading.Event()

    def hang(_library: EspeakLibrary) -> None:
        released.wait(15)

    def action(_: Engines) -> None:
        SHARED.worker().submit(hang)

    try:
        twice = question_twice(tmp_path / "twice.wav", 2.5)
        result = asyncio.run(run_conversation(twice, MID_TURN_S, action, "tts.timeout_s=0.6"))
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
    monkeypatch.setattr(silero, "network_path", lambda: tmp_path / "gone.onnx")
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
    ("override", "message"),
    [
        ("tts.voice=no-such-voice", 'no voice "no-such-voice": set tts.voice'),
        ("assistant.language=de", "English only, not 'de'"),
        ("assistant.language=xx", '"xx"'),
    ],
    ids=["unknown voice", "language of another recognizer", "unknown language"],
)
def test_engine_that_cannot_be_loaded_gives_a_one_line_error(tmp_path: Path, override: str, message: str) -> None:
    arguments = ("demo", "--wav", WHAT_TIME, "--out", "out", "--set", override)
    done = repartee(*arguments, cwd=tmp_path, env=bare_environment())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("repartee: ")
    assert message in line
    assert "Traceback" not in done.stdout
