"""`repartee talk --headless` as a whole program: a virtual sound card, the real detector and a scripted server."""

import subprocess
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.programs.program import REPARTEE
from support.servers.scripted_server import Reply, Script, serving
from support.sound.speech import sound_of, spoken
from support.sound.virtual_card import Recorder, VirtualCard, virtual_card, write_wav

from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from audio.level import audible_onset
from audio.tts.espeak.voice import EspeakVoice
from audio.units import REPLY_RATE_HZ
from repartee.satellite import DeviceWishes, SatelliteOptions, become_satellite, options_of
from repartee.server_talk import run_headless

OPTIONS = SatelliteOptions(
    "ws://127.0.0.1:1",
    None,
    None,
    DeviceWishes("", "", "auto"),
    {"okay_nabu": "okay nabu"},
    ("audio.wake.micro.engine", "make"),
    8.0,
    8.0,
    True,
    "Kitchen",
    "led",
    "/run/state",
)
WAKE_WORD = pytest.importorskip("pymicro_wakeword", reason="the extra wake is not installed") and "okay_nabu"


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as one:
        yield one


@contextmanager
def satellite(card: VirtualCard, url: str, *options: str) -> Iterator[list[str]]:
    """Runs a satellite and yields its lines; it ends with SIGTERM, which is no failure."""
    command = [str(REPARTEE), "talk", "--headless", "--server", url, "--wake-word", WAKE_WORD, *options]
    with subprocess.Popen(
        command, env=card.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        lines: list[str] = []
        assert process.stdout is not None
        reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")))  # type: ignore[union-attr]
        reader.start()
        try:
            yield lines
        finally:
            process.terminate()
            status = process.wait(timeout=10)
            reader.join()
    assert status == 0, lines


def until(lines: list[str], text: str, count: int = 1, within_s: float = 30.0) -> None:
    deadline_s = time.monotonic() + within_s
    while sum(text in line for line in lines) < count:
        assert time.monotonic() < deadline_s, lines
        time.sleep(0.02)


def states(lines: list[str]) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith("state:")]


def call(folder: Path) -> Path:
    """Returns a recording: a sentence for others, a pause, the wake word, and a question."""
    voice, quiet = EspeakVoice(), np.random.default_rng(1).normal(0, 20, REPLY_RATE_HZ).astype(np.int16)
    other, word, question = (
        sound_of(spoken(voice, text)) for text in ("We could go to the beach.", "Okay Nabu", "What time is it?")
    )
    sound = np.concatenate([quiet, other, quiet, quiet, word, quiet[: REPLY_RATE_HZ // 5], question, quiet])
    return write_wav(folder / "call.wav", sound, REPLY_RATE_HZ)


REPLY = Reply("It is noon.", (3000 * np.sin(np.arange(REPLY_RATE_HZ) / 8)).astype(np.int16))


@pytest.mark.slow
@pytest.mark.calm
def test_satellite_wakes_answers_and_sleeps_again(card: VirtualCard, tmp_path: Path) -> None:
    state_file = tmp_path / "state"
    options = ["--set", "talk.listen_s=1", "--set", f"satellite.state_file={state_file}", "--room", "Kitchen"]
    with (
        serving(Script([replace(REPLY, transcript="what time is it")])) as server,
        satellite(card, f"ws://127.0.0.1:{server.port}", *options) as lines,
    ):
        until(lines, "state: asleep")
        with Recorder(card) as heard:
            card.speak(call(tmp_path)).wait()
            until(lines, "state: asleep", 2)
        time.sleep(0.2)
        assert state_file.read_text() == "asleep\n"
        sent_s = sum(map(len, server.audio_chunks)) / REPLY_RATE_HZ
    assert states(lines)[:2] == ["disconnected", "asleep"]
    assert {"listening", "hearing", "speaking"} <= set(states(lines))
    assert sent_s < 6  # the question, the reply and the window, and not the sentence before them
    assert audible_onset(heard.pcm, heard.rate_hz) is not None
    assert not any("what time is it" in line or "noon" in line for line in lines)
    assert state_file.read_text() == "disconnected\n"  # after the end


@pytest.mark.slow
@pytest.mark.calm
def test_satellite_waits_for_its_server_and_returns_to_it(card: VirtualCard) -> None:
    with serving(Script([REPLY])) as server:
        port = server.port
    with satellite(card, f"ws://127.0.0.1:{port}") as lines:
        until(lines, "no server listens there")
        for count in (1, 2):
            with serving(Script([REPLY]), port):
                until(lines, "state: asleep", count)
            until(lines, "state: disconnected", count + 1)
    assert sum("problem: " in line for line in lines) <= 5  # not one for each attempt


def test_options_reach_the_process_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[SatelliteOptions] = []

    def note(_program: str, _arguments: list[str], environ: dict[str, str]) -> None:
        given.append(options_of(environ["REPARTEE_SATELLITE_PROCESS"]))

    monkeypatch.setattr("os.execve", note)
    become_satellite(OPTIONS)
    assert given == [OPTIONS]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ([], "--headless: add --wake-word"),
        (["talk.wake_word=hey_you"], "no wake word is called 'hey_you'"),
        (["talk.wake_word=okay_nabu", "talk.mode=push-to-talk"], "needs talk.mode = open"),
        (["talk.wake_word=okay_nabu", "satellite.state_command=led 'on"], "correct its quotes"),
        (["satellite.state_command=led\0"], "satellite.state_command.*one line without control characters"),
        (["satellite.state_file=/run/a\nb"], "satellite.state_file.*one line without control characters"),
    ],
    ids=["no wake word", "unknown word", "other mode", "quotes", "control character", "line break"],
)
def test_mistake_is_told_before_the_process_begins(settings: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        run_headless("ws://127.0.0.1:1", load_settings(None, {}, settings), {}, tls_fingerprint=None, tls_ca=None)
