"""Real engines that crash, hang or cannot be loaded during a conversation with a recording, in real time."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import pytest
from real_time import WHAT_TIME, Hold, bare_environment, said_twice
from rehearsal import Performance, adds_up
from rich.console import Console

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

REPARTEE = Path(sys.executable).parent / "repartee"


@asynccontextmanager
async def engines_of(*overrides: str) -> AsyncGenerator[tuple[Engines, EngineLoader]]:
    """Returns the engines of `repartee demo`. Speech at double rate keeps the tests short."""
    workshop = EngineLoader(load_settings(None, {}, ["tts.speed=2", *overrides]).settings, {})
    engines = await workshop.engines()
    try:
        yield engines, workshop
    finally:
        await close_engine(engines.recognizer, pytest.fail)
        await workshop.aclose(pytest.fail)


def pid_of(engines: Engines) -> int:
    assert isinstance(engines.recognizer, PocketsphinxRecognizer)
    return engines.recognizer.pid


def is_running(pid: int) -> bool:
    return pid > 0 and Path(f"/proc/{pid}").exists()


async def run_conversation(
    recording: Path, at_s: float, happens: Callable[[Engines], None], *overrides: str
) -> Performance:
    """Runs a conversation with a recording and a fault. Checks that no recognizer process is left."""
    async with engines_of(*overrides) as (engines, workshop):
        hold = Hold(
            WavMicrophone(open_recording(recording), tail_s=1.0),
            engines,
            turn_settings(workshop.settings, engines.recognizer.name),
            session_settings(workshop.settings),
        )
        hold.cues.append((at_s, lambda: happens(engines)))
        performance = await hold.perform()
        pid = pid_of(engines)
        assert is_running(pid)
    assert not is_running(pid)
    for record in performance.records:
        adds_up(record)
    return performance


def check_time_answer(performance: Performance, turn: int) -> None:
    """Checks that the question was transcribed and answered correctly."""
    record = performance.records[turn - 1]
    assert (record.turn, record.outcome, record.error) == (turn, "answered", None)
    assert record.words is not None
    assert record.words.user == "what time is it"
    assert record.words.assistant.startswith("It's ")
    assert record.words.assistant.endswith("M.")


# Speech to text.


class Victim:
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
    victim = Victim(signal.SIGKILL)
    # Time for a new process to be there, and for the answer, before the second question is asked.
    performance = asyncio.run(
        run_conversation(said_twice(tmp_path / "twice.wav", 5.0), at_s, victim, "stt.timeout_s=5")
    )
    assert len(performance.records) == 2
    check_time_answer(performance, 1)
    check_time_answer(performance, 2)
    (trouble,) = performance.troubles
    assert "pocketsphinx is being restarted" in trouble
    assert victim.gone
    errors = [[event.detail for event in record.events if event.name == "error"] for record in performance.records]
    assert errors == [[trouble], []]


@pytest.mark.alone
def test_recognizer_that_hangs_mid_turn_times_out(tmp_path: Path) -> None:
    victim = Victim(signal.SIGSTOP)
    performance = asyncio.run(
        run_conversation(said_twice(tmp_path / "twice.wav", 3.5), MID_TURN_S, victim, "stt.timeout_s=0.8")
    )
    assert [record.turn for record in performance.records] == [1, 2]
    first = performance.records[0]
    assert (first.outcome, first.error) == ("answered", "speech recognition failed")
    assert 790 < first.stages["stt"].ms < 1000
    assert " ".join(performance.units[:2]) == RECOGNIZER_FAILED
    assert "no answer within 0.8 s" in performance.troubles[0]
    assert victim.gone, "a stopped process is not left behind"
    check_time_answer(performance, 2)


# Text to speech.


@pytest.mark.calm
def test_hanging_voice_is_replaced_and_its_text_shown(tmp_path: Path) -> None:
    released = threading.Event()

    def hang(_library: EspeakLibrary) -> None:
        released.wait(15)

    def happens(_: Engines) -> None:
        SHARED.worker().submit(hang)

    try:
        twice = said_twice(tmp_path / "twice.wav", 2.5)
        performance = asyncio.run(run_conversation(twice, MID_TURN_S, happens, "tts.timeout_s=0.6"))
    finally:
        released.set()
    assert [record.turn for record in performance.records] == [1, 2]
    first = performance.records[0]
    assert (first.outcome, first.response_latency_ms) == ("failed", None)
    assert first.error is not None
    assert "0.6 s" in first.error
    assert first.error in performance.troubles
    assert any(trouble.startswith("not spoken: It's ") for trouble in performance.troubles)
    assert not any("could not be restarted" in trouble for trouble in performance.troubles)
    check_time_answer(performance, 2)


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
    ("override", "says"),
    [
        ("tts.voice=no-such-voice", 'no voice "no-such-voice": set tts.voice'),
        ("assistant.language=de", "English only, not 'de'"),
        ("assistant.language=xx", '"xx"'),
    ],
)
def test_engine_that_cannot_be_loaded_gives_a_one_line_error(tmp_path: Path, override: str, says: str) -> None:
    done = subprocess.run(
        [REPARTEE, "demo", "--wav", WHAT_TIME, "--out", "out", "--set", override],
        cwd=tmp_path,
        env=bare_environment(),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("repartee: ")
    assert says in line
    assert "Traceback" not in done.stdout
